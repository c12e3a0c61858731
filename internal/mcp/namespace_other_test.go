//go:build !linux

package mcp

// childOther has no further jobs here.
func childOther(string) int { return 2 }
