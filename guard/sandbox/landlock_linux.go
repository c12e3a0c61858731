package sandbox

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/landlock-lsm/go-landlock/landlock"
	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"git-ralph/internal/proc"
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

// confine is the fallback without namespaces. The process and its children may
// write the worktree, Spec.Writable and the shared temporary folders without
// protected paths, but no git directory. Landlock grants rights to whole
// subtrees and cannot take one away below, so it only fits a worktree whose
// git directory lies elsewhere. It covers neither unix sockets nor changes of
// mode, owner and times, and it ends no processes.
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
	add(sharedTemp(spec)...)
	add("/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts", "/dev/random", "/dev/urandom")
	if spec.Home != "" && spec.HomeUpper != "" {
		home := landlockHome(spec)
		large, err := copyHome(spec.Home, home, spec)
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
		landlock.RWDirs(dirs...).WithRefer().WithIoctlDev(),
		landlock.RWFiles(files...).WithIoctlDev(),
	}
	rules = append(rules, readable(spec)...)
	if err := landlock.V7.BestEffort().RestrictPaths(rules...); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	// Signals to processes outside and their abstract sockets, where the
	// kernel can (ABI 6).
	if err := landlock.V7.BestEffort().RestrictScoped(); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	return dropCaps(keepBounding) // root could otherwise make device nodes where it may write
}

// landlockHome is the home folder of a command that has no overlay of it.
func landlockHome(spec Spec) string { return filepath.Join(spec.HomeUpper, "home") }

// landlockEnv points HOME to that folder, and with it the variables that name a
// part of the home folder.
func landlockEnv(env []string, spec Spec) []string {
	if spec.Home == "" || spec.HomeUpper == "" {
		return env
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "GOPATH",
		"GOCACHE", "GOMODCACHE"} {
		old := proc.Getenv(env, name)
		if old == "" || !within(old, spec.Home) || withinAny(old, spec.Writable) {
			continue
		}
		if rel, err := filepath.Rel(spec.Home, old); err == nil {
			env = proc.SetEnv(env, name, filepath.Join(landlockHome(spec), rel))
		}
	}
	return proc.SetEnv(env, "HOME", landlockHome(spec))
}

// sharedTemp lists the shared temporary folders that the command may write. A
// folder with a protected path in it is left out, because Landlock cannot
// exclude a part of a folder.
func sharedTemp(spec Spec) []string {
	ours := append([]string{spec.Home, spec.HomeUpper}, spec.GitDirs...)
	ours = append(append(ours, spec.ReadOnlyPaths...), spec.CommandFiles...)
	var out []string
	for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
		real, err := resolve(dir)
		if err != nil {
			continue
		}
		free := true
		for _, p := range ours {
			if p == "" {
				continue
			}
			if r, err := resolve(p); err == nil {
				p = r.real
			}
			free = free && !within(p, real.real)
		}
		if free {
			out = append(out, dir)
		}
	}
	return out
}

// readable grants reading of all but the hidden places. A rule covers a whole
// subtree, so the folders above a hidden place get one rule per entry. Files
// that are added to them later cannot be read, but their names can be listed.
func readable(spec Spec) []landlock.Rule {
	hidden := map[string]bool{}
	for _, p := range hiddenPlaces(spec) {
		if r, err := resolve(p); err == nil {
			hidden[r.real] = true
		}
	}
	if len(hidden) == 0 {
		return []landlock.Rule{landlock.RODirs("/")}
	}
	way := map[string]bool{"/": true}
	for p := range hidden {
		for dir := filepath.Dir(p); dir != "/"; dir = filepath.Dir(dir) {
			way[dir] = true
		}
	}
	const read, run, list = llsys.AccessFSReadFile, llsys.AccessFSExecute, llsys.AccessFSReadDir
	rules := []landlock.Rule{landlock.PathAccess(list, "/")}
	var dirs, files []string
	for dir := range way {
		if hidden[dir] {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // not readable for us, so not for the command
		}
		for _, e := range entries {
			p := filepath.Join(dir, e.Name())
			switch {
			case hidden[p], way[p], e.Type()&os.ModeSymlink != 0:
			case e.IsDir():
				dirs = append(dirs, p)
			case e.Type().IsRegular():
				files = append(files, p)
			}
		}
	}
	return append(rules, landlock.PathAccess(read|run, dirs...).IgnoreIfMissing(),
		landlock.PathAccess(read|run, files...).IgnoreIfMissing())
}

// hiddenPlaces are those of the specification, and those of the home folder: the
// usual ones and settings that hold a login.
func hiddenPlaces(spec Spec) []string {
	out := append([]string{}, spec.Hidden...)
	if spec.Home != "" {
		out = append(out, hiddenIn(spec.Home, namesIn)...)
	}
	return append(out, settingsWithSecrets(spec.Home)...)
}

// landlockFits says whether no git directory lies where writing is allowed.
func landlockFits(spec Spec) error {
	open := append([]string{}, spec.Writable...)
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
			// The .git file of a linked worktree can be replaced. The tamper check
			// detects that.
			if !rg.dir && rg.mode.IsRegular() && filepath.Base(rg.real) == ".git" {
				continue
			}
			return fmt.Errorf("landlock cannot protect %q inside the writable %q", g, o)
		}
	}
	return nil
}
