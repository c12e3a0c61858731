//go:build unix && !race

package command

const underRace = false
