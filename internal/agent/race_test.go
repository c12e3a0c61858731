//go:build race

package agent

// underRace says that the race detector runs; the real clients are tried without it.
const underRace = true
