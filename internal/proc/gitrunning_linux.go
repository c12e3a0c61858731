package proc

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// GitRunning says whether a git process, which may hold a lock, works in one
// of these folders or below. known is false where processes cannot be looked
// at. Processes that skip names, and gits that only read objects, are left
// out; skip may be nil.
func GitRunning(skip func(pid int, args string) bool, dirs ...string) (running, known bool) {
	t, err := table()
	if err != nil {
		return false, false
	}
	for _, e := range t {
		if e.zombie {
			continue
		}
		proc := "/proc/" + strconv.Itoa(e.pid)
		if !strings.HasPrefix(strings.TrimPrefix(e.name, "."), "git") {
			continue
		}
		if skip != nil && e.name == "git-ralph" {
			continue // the caller knows the locks of these by their notes
		}
		if e.pid == os.Getpid() || e.ppid == os.Getpid() {
			continue // our own child holds no lock while it answers us
		}
		args, _ := os.ReadFile(proc + "/cmdline")
		if strings.Contains(string(args), "\x00cat-file\x00") || skip != nil && skip(e.pid, string(args)) {
			continue
		}
		cwd, err := os.Readlink(proc + "/cwd")
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it ended while we looked
		}
		if err != nil {
			return true, true // another user's git: it may be anywhere
		}
		for _, dir := range dirs {
			rel, err := filepath.Rel(dir, cwd)
			if err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
				return true, true
			}
		}
	}
	return false, true
}
