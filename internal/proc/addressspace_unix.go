//go:build linux || darwin

package proc

import "golang.org/x/sys/unix"

// AddressSpace is how many bytes of addresses this program may use, as
// `ulimit -v` sets it; bounded is false when nothing limits it.
func AddressSpace() (bytes uint64, bounded bool) {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &l) != nil || l.Cur == unix.RLIM_INFINITY {
		return 0, false
	}
	return l.Cur, true
}
