package proc

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MemoryKills counts the processes that the kernel has ended because memory ran
// out: those of this process's cgroup and of the groups below it where the
// kernel counts so, else those of the machine. -1 = it is not known.
func MemoryKills() int64 {
	list, err := os.ReadFile("/proc/self/cgroup")
	if err == nil {
		for line := range strings.Lines(string(list)) {
			f := strings.SplitN(strings.TrimSpace(line), ":", 3)
			if len(f) == 3 && f[1] == "" {
				if n := oomKills(filepath.Join("/sys/fs/cgroup", f[2], "memory.events")); n >= 0 {
					return n
				}
			}
		}
	}
	return oomKills("/proc/vmstat")
}

// oomKills is the number behind oom_kill in a file of the kernel.
func oomKills(file string) int64 {
	data, err := os.ReadFile(file)
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "oom_kill "); ok {
			if n, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}
