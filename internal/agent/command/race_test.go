//go:build unix && race

package command

// underRace says that the race detector runs, which makes reading a flood many
// times slower and its memory figures meaningless.
const underRace = true
