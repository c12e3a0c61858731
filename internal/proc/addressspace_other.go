//go:build !linux && !darwin

package proc

// AddressSpace is not limited on this system.
func AddressSpace() (bytes uint64, bounded bool) { return 0, false }
