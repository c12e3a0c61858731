//go:build !race

package claude

const underRace = false
