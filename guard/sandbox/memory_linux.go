package sandbox

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// yieldMemory raises the OOM score of this process and its children, so that
// the kernel ends them before the program that started them: that one has to
// restore the worktree and to report. A score that is raised already rises
// further.
func yieldMemory() error {
	const file, more, most = "/proc/self/oom_score_adj", 500, 1000
	b, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("yield memory: %w", err)
	}
	now, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		return fmt.Errorf("yield memory: %w", err)
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(min(max(now, 0)+more, most))), 0); err != nil {
		return fmt.Errorf("yield memory: %w", err)
	}
	return nil
}

// memory is how many bytes this program may use: the machine's memory, or
// less where its cgroup or a cgroup above allows less.
var memory = sync.OnceValue(func() int64 {
	total := int64(1 << 30)
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		total = int64(uint64(info.Totalram) * uint64(info.Unit))
	}
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return total
	}
	return min(total, groupMemory("/sys/fs/cgroup", string(b)))
})

// groupMemory is the smallest limit of the groups in list, the contents of
// /proc/self/cgroup, and of those above them.
func groupMemory(root, list string) int64 {
	least := int64(math.MaxInt64)
	look := func(mount, group, name string) {
		for dir := filepath.Join("/", group); ; dir = filepath.Dir(dir) {
			b, err := os.ReadFile(filepath.Join(mount, dir, name))
			if n, perr := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && perr == nil && n > 0 {
				least = min(least, n)
			}
			if dir == "/" {
				return
			}
		}
	}
	for line := range strings.Lines(list) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(f) != 3:
		case f[1] == "memory":
			look(filepath.Join(root, "memory"), f[2], "memory.limit_in_bytes")
		case f[1] == "":
			look(root, f[2], "memory.max")
		}
	}
	return least
}
