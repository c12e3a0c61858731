package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// outputsIn are the files below root that this process writes its output to, or a process of the
// same pipeline, such as tee: git ralph start | tee night.log. Restoring one to its state before
// an iteration would delete the night's output. Paths have slashes.
func outputsIn(root string) []string {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil
	}
	var out []string
	for _, pid := range pipeline() {
		fds, _ := os.ReadDir(filepath.Join("/proc", pid, "fd"))
		for _, fd := range fds {
			link := filepath.Join("/proc", pid, "fd", fd.Name())
			rel := under(real, link)
			if rel == "" || slices.Contains(out, rel) {
				continue
			}
			if st, err := os.Stat(link); err == nil && st.Mode().IsRegular() && written(pid, fd.Name()) {
				out = append(out, rel)
			}
		}
	}
	return out
}

// under is what link leads to as a path below root, "" = elsewhere, or in git's own folder.
func under(root, link string) string {
	to, err := os.Readlink(link)
	if err != nil {
		return ""
	}
	rel, err := filepath.Rel(root, to)
	if err != nil || !filepath.IsLocal(rel) || rel == ".git" || strings.HasPrefix(rel, ".git/") {
		return ""
	}
	return rel
}

// pipeline is this process (only its first three files count) and the others of its group.
func pipeline() []string {
	pids := []string{"self"}
	group, self := unix.Getpgrp(), strconv.Itoa(os.Getpid())
	all, _ := os.ReadDir("/proc")
	for _, p := range all {
		pid, err := strconv.Atoi(p.Name())
		if err != nil || p.Name() == self {
			continue
		}
		if of, err := unix.Getpgid(pid); err == nil && of == group {
			pids = append(pids, p.Name())
		}
	}
	return pids
}

// written says that a descriptor is open for writing. Of this process only standard output and
// standard error are not its own files.
func written(pid, fd string) bool {
	if pid == "self" && fd != "1" && fd != "2" {
		return false
	}
	info, err := os.ReadFile(filepath.Join("/proc", pid, "fdinfo", fd))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(info)) {
		if flags, ok := strings.CutPrefix(line, "flags:"); ok {
			mode, err := strconv.ParseUint(strings.TrimSpace(flags), 8, 64)
			return err == nil && mode&unix.O_ACCMODE != unix.O_RDONLY
		}
	}
	return false
}
