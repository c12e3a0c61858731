//go:build !linux

package proc

// MemoryKills is not known on this system.
func MemoryKills() int64 { return -1 }
