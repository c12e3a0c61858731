package sandbox

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// abstractError says that abstract sockets could not be closed.
type abstractError struct{ err error }

func (e *abstractError) Error() string { return fmt.Sprintf("close abstract unix sockets: %v", e.err) }
func (e *abstractError) Unwrap() error { return e.err }

// closeAbstract keeps abstract unix sockets of processes outside closed to
// whatever the calling thread starts. The domain handles nothing of the file
// system, so that mounts of a client's own sandbox still work. The library
// would restrict every thread of this program by interrupting each of them,
// which costs a millisecond; only the thread that starts the command matters.
func closeAbstract() error {
	fd, err := llsys.LandlockCreateRuleset(&llsys.RulesetAttr{Scoped: llsys.ScopeAbstractUnixSocket}, 0)
	if err != nil {
		return &abstractError{err}
	}
	defer unix.Close(fd)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fd), 0, 0); errno != 0 {
		return &abstractError{errno}
	}
	return nil
}

// confine is the fallback without namespaces: the process, and whatever it
// starts, may write the worktree, temporary folders and Spec.Writable, and no
// git directory. Landlock adds rights from the root downwards and cannot take
// one away below, so it only fits a worktree whose git directory lies
// elsewhere. Changes of mode, owner and times are not covered, nor are unix
// sockets, and processes are not ended by it.
func confine(spec Spec) error {
	if err := landlockFits(spec); err != nil {
		return err
	}
	var dirs, files []string
	add := func(paths ...string) {
		for _, p := range paths {
			st, err := os.Stat(p)
			switch {
			case err != nil:
			case st.IsDir():
				dirs = append(dirs, p)
			default:
				files = append(files, p)
			}
		}
	}
	if !spec.WorktreeReadOnly {
		add(spec.Worktree)
	}
	add(spec.Writable...)
	add("/tmp", "/var/tmp", "/dev/shm", "/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/random", "/dev/urandom")
	if spec.Home != "" && spec.HomeUpper != "" {
		home := filepath.Join(spec.HomeUpper, "home")
		large, err := copyHome(spec.Home, home)
		if err != nil {
			return &homeError{err}
		}
		for _, p := range large {
			os.Symlink(p, filepath.Join(home, filepath.Base(p))) // there already: fine
		}
		add(home)
	}
	for _, b := range spec.Binds {
		if b.Writable {
			add(b.Source)
		}
	}
	rules := []landlock.Rule{
		landlock.RODirs("/"),
		landlock.RWDirs(dirs...).WithRefer().WithIoctlDev(),
		landlock.RWFiles(files...).WithIoctlDev(),
	}
	if err := landlock.V7.BestEffort().RestrictPaths(rules...); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	// Signals to processes outside and their abstract sockets, where the
	// kernel can (ABI 6).
	if err := landlock.V7.BestEffort().RestrictScoped(); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return dropCaps(false) // root could otherwise make device nodes where it may write
}

// landlockFits says whether no git directory lies where writing is allowed.
func landlockFits(spec Spec) error {
	open := append([]string{"/tmp", "/var/tmp", "/dev/shm"}, spec.Writable...)
	if !spec.WorktreeReadOnly {
		open = append(open, spec.Worktree)
	}
	for _, g := range append(append([]string{}, spec.GitDirs...), spec.ReadOnlyPaths...) {
		rg, err := resolve(g)
		if err != nil {
			continue
		}
		for _, o := range open {
			ro, err := resolve(o)
			if err != nil || !within(rg.real, ro.real) {
				continue
			}
			// The .git file of a linked worktree can be replaced; that it is
			// still the same is for the tamper check to say.
			if !rg.dir && rg.mode.IsRegular() && filepath.Base(rg.real) == ".git" {
				continue
			}
			return fmt.Errorf("landlock cannot protect %q inside the writable %q", g, o)
		}
	}
	return nil
}
