package proc

import "golang.org/x/sys/unix"

func bootID() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}

// startTime is microseconds since 1970.
func startTime(pid int) (uint64, bool) {
	e, ok := readEntry(pid)
	return e.start, ok && !e.zombie
}
