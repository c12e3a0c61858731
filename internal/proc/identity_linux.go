package proc

import (
	"os"
	"strings"
)

func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// startTime is field 22 of /proc/PID/stat: clock ticks since boot.
func startTime(pid int) (uint64, bool) {
	e, ok := readEntry(pid)
	return e.start, ok && !e.zombie
}
