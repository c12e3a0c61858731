package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// libraries are parts of the names of files that a program has open when it writes to
// git's directory without a git. Such a program takes git's locks and need not keep the
// lock file open.
var libraries = []string{"libgit2", "pygit2", "rugged", "nodegit", "jgit"}

// writers are programs with such a library built in.
var writers = []string{"jj", "gix", "ein", "gitui", "cargo"}

// LockHolder names a living process, other than a git or a git-ralph, that may hold one of git's lock files, ""
// = none was found. It has the file open, or it works there and uses a library that writes to git's directory.
// A process of another user than the file's owner holds it only as root.
func LockHolder(lock string, st os.FileInfo, dirs ...string) (who string) {
	t, err := table()
	if err != nil {
		return "a process that cannot be looked at"
	}
	sys, _ := st.Sys().(*syscall.Stat_t)
	for _, e := range t {
		if e.zombie || e.pid == os.Getpid() || strings.HasPrefix(strings.TrimPrefix(e.name, "."), "git-ralph") {
			continue
		}
		dir := "/proc/" + strconv.Itoa(e.pid)
		var of syscall.Stat_t
		if err := syscall.Stat(dir, &of); err != nil || sys != nil && of.Uid != sys.Uid && of.Uid != 0 {
			continue
		}
		if mayHold(e, dir, lock, dirs) {
			return fmt.Sprintf("process %d (%s)", e.pid, strings.ToValidUTF8(e.name, "?"))
		}
	}
	return ""
}

func mayHold(e entry, dir, lock string, dirs []string) bool {
	near := near(dir, dirs)
	if near && slices.Contains(writers, e.name) {
		return true
	}
	uses := func(path string) bool {
		name := filepath.Base(path)
		return path == lock ||
			near && slices.ContainsFunc(libraries, func(l string) bool { return strings.Contains(name, l) })
	}
	fds, _ := os.ReadDir(dir + "/fd")
	for _, fd := range fds {
		if path, err := os.Readlink(dir + "/fd/" + fd.Name()); err == nil && uses(path) {
			return true
		}
	}
	maps, _ := os.ReadFile(dir + "/maps")
	for line := range strings.Lines(string(maps)) {
		if i := strings.IndexByte(line, '/'); i >= 0 && uses(strings.TrimSpace(line[i:])) {
			return true
		}
	}
	return false
}

// near reports whether a process was started for one of these folders, as far as can be
// seen: it works there or in a folder above, or its arguments name it.
func near(dir string, dirs []string) bool {
	cwd, err := os.Readlink(dir + "/cwd")
	args, _ := os.ReadFile(dir + "/cmdline")
	return slices.ContainsFunc(dirs, func(d string) bool {
		return err != nil || cwd != "/" && (cwd == d || strings.HasPrefix(cwd, d+"/") || strings.HasPrefix(d, cwd+"/")) ||
			strings.Contains(string(args), d)
	})
}
