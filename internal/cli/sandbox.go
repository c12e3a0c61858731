package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/guard/sandbox"
	"git-ralph/internal/agent"
	"git-ralph/internal/config"
	"git-ralph/internal/proc"
	"git-ralph/loop"
	"git-ralph/loop/session"
)

// off is the sandbox of a run that a person started without one.
type off struct {
	diskFree int64 // that commands have to leave
}

func (off) Mechanism() string                 { return "off" }
func (off) OwnLayer(string) string            { return "" }
func (off) HasLayer(string) bool              { return true }
func (off) DropLayer(string)                  {}
func (off) Inside(runDir, path string) string { return path }

func (o off) Wrapper(use session.Use) proc.Wrapper {
	return func(cmd proc.Command) (proc.Wrapped, error) {
		w, err := sandbox.Keeper(cmd)
		home, _ := os.UserHomeDir() // "" is no folder, and not watched
		w.Watch = proc.WatchDisk(o.diskFree, append([]string{use.Dir, use.RunDir, home}, sharedTemp()...)...)
		return w, err
	}
}

// boundary runs commands in a kernel sandbox.
type boundary struct {
	report sandbox.Report
	base   sandbox.Spec
	set    *config.Resolved
	// uppers are folders of the home's changes: that of the agent, and one that
	// holds the layers of everything else.
	uppers map[bool]string
	binary string
	env    []string
	warn   func(format string, args ...any)
	// shares are what a worker's worktree has of shareFrom.
	shares    []sandbox.Share
	shareFrom string
	// runs is where the folders of runs lie; "" = anywhere.
	runs string
}

func (b *boundary) Mechanism() string { return string(b.report.Mechanism) }

// Inside maps a file of the run's folder to where the sandbox shows it.
func (b *boundary) Inside(runDir, path string) string {
	rel, err := filepath.Rel(runDir, path)
	if b.report.Mechanism != sandbox.Namespaces || err != nil || strings.HasPrefix(rel, "..") {
		return path
	}
	return filepath.Join(sandbox.RunDir, rel)
}

func (b *boundary) OwnLayer(id string) string { return sandbox.OnceHome("", id) }

func (b *boundary) HasLayer(layer string) bool {
	return b.base.Home == "" || sandbox.HomeKept(filepath.Join(b.uppers[false], layer), b.report)
}

func (b *boundary) DropLayer(layer string) {
	if b.base.Home != "" && layer != "" {
		if err := sandbox.RemoveHomeUpper(filepath.Join(b.uppers[false], layer)); err != nil {
			b.warn("a layer of the home folder is left: %v", err)
		}
	}
}

// Wrapper describes the sandbox anew for every command, because the folder of
// the run fills while the run continues.
func (b *boundary) Wrapper(use session.Use) proc.Wrapper {
	return func(cmd proc.Command) (proc.Wrapped, error) {
		spec, err := b.spec(use)
		if err != nil {
			return proc.Wrapped{}, err
		}
		wrap, err := sandbox.Wrapper(spec)
		if err != nil {
			return proc.Wrapped{}, err
		}
		if b.report.Mechanism == sandbox.Landlock {
			cmd.Env = landlockEnv(cmd.Env, use)
		}
		w, err := wrap(cmd)
		written := append([]string{use.Dir, use.RunDir, filepath.Dir(b.uppers[use.Agent])}, spec.Writable...)
		if b.report.Mechanism == sandbox.Landlock {
			written = append(written, sharedTemp()...)
		}
		w.Watch = proc.WatchDisk(int64(b.set.Guard.DiskFree), written...)
		return w, err
	}
}

// sharedTemp are the temporary folders that every program may write.
func sharedTemp() []string { return []string{os.TempDir(), "/tmp", "/var/tmp", "/dev/shm"} }

// inside says whether a path lies below a folder. Both are absolute.
func inside(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

func (b *boundary) spec(use session.Use) (sandbox.Spec, error) {
	s := b.report.Apply(b.base)
	s.Worktree, s.WorktreeReadOnly = use.Dir, use.ReadOnly
	for _, p := range use.ReadOnlyPaths {
		if !filepath.IsAbs(p) {
			p = filepath.Join(use.Dir, p)
		}
		// Elsewhere nothing can be written anyway, unless a person allowed it.
		if !slices.Contains(s.Writable, p) &&
			slices.ContainsFunc(append(slices.Clone(s.Writable), use.Dir), func(dir string) bool { return inside(p, dir) }) {
			s.ReadOnlyPaths = append(s.ReadOnlyPaths, p)
		}
	}
	// A linked worktree or a fresh checkout has a .git file of its own.
	if dot := filepath.Join(use.Dir, ".git"); !slices.Contains(s.GitDirs, dot) {
		if _, err := os.Lstat(dot); err == nil {
			s.GitDirs = append([]string{dot}, s.GitDirs...)
		}
	}
	s.CommandFiles = append(append([]string{b.binary}, use.Files...), pathFolders(b.env)...)
	if s.Home != "" {
		s.HomeUpper = b.uppers[use.Agent]
	}
	if s.Home != "" && !use.Agent {
		s.HomeDiscard = !use.Home.Fill
		if layer := filepath.Join(b.uppers[false], use.Home.Layer); use.Home.Fill {
			s.HomeUpper = layer
		} else if use.Home.Layer != "" {
			s.HomeLower = layer
		}
	}
	if root := b.base.Worktree; use.Dir != root {
		b.emptied(&s, root)
	} else if len(b.shares) > 0 {
		s.Shares, s.ShareFrom, s.ShareLayer = b.shares, b.shareFrom, layerOf(root)
	}
	s.Hidden = slices.Concat(s.Hidden, loginsHidden(s.Home, use))
	s.Network = sandbox.NetworkOpen
	s.OwnMounts = use.Agent && agent.ConfinesItself(use.Driver)
	if !use.Agent {
		s.Network = sandbox.Network(b.set.Guard.Network)
	}
	if b.report.Mechanism == sandbox.Landlock {
		return b.landlockSpec(s, use)
	}
	list, err := os.ReadDir(use.RunDir)
	if err != nil {
		return s, fmt.Errorf("describe the sandbox: %w", err)
	}
	for _, f := range list {
		s.Binds = append(s.Binds, sandbox.Bind{Source: filepath.Join(use.RunDir, f.Name()),
			Target: filepath.Join(sandbox.RunDir, f.Name()), Writable: f.Name() == "handoff"})
	}
	return s, nil
}

// loginsHidden are the logins of clients that do not run there. A command of the user's
// own may start any client, so none is hidden from it.
func loginsHidden(home string, use session.Use) []string {
	own := agent.LoginOf(use.Driver).File
	if home == "" || use.Agent && own == "" {
		return nil
	}
	var out []string
	for _, d := range agent.Names() {
		if rel := agent.LoginOf(d).File; rel != "" && (!use.Agent || rel != own) {
			out = append(out, filepath.Join(home, rel))
		}
	}
	return out
}

// emptied hides the worktree from commands in a fresh checkout: ignored files
// there must not make the commit pass.
func (b *boundary) emptied(s *sandbox.Spec, root string) {
	if loop.Inside(s.Home, root) {
		return // without its home folder hardly a program runs
	}
	s.CommandFiles = slices.DeleteFunc(s.CommandFiles, func(p string) bool { return loop.Inside(p, root) })
	if b.report.Mechanism == sandbox.Landlock {
		s.Hidden = append(slices.Clone(s.Hidden), root)
		return
	}
	s.Emptied = []string{root}
}

func pathFolders(env []string) []string {
	for _, kv := range env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			return slices.DeleteFunc(filepath.SplitList(path), func(p string) bool { return !filepath.IsAbs(p) })
		}
	}
	return nil
}

// homeOwner says whose home folder it is.
type homeOwner bool

const (
	homeOfAgent  homeOwner = true
	homeOfChecks homeOwner = false
)

// purpose tells the home folders of one repository apart.
func purpose(isAgent homeOwner, repo *gitstate.Repo) string {
	who := "checks"
	if isAgent {
		who = "agent"
	}
	return strings.TrimSpace(who + " " + repo.WorktreeName())
}

// consent says whether a person has agreed to a weaker sandbox.
type consent bool

const (
	consentGiven consent = true
	askFirst     consent = false
)

// sandbox probes what this machine allows and applies the settings to that.
// It never silently uses a weaker sandbox than they ask for.
func (a *App) sandbox(ctx context.Context, set *config.Resolved, yes consent) (session.Sandbox, error) {
	if set.Guard.Sandbox == "off" {
		if n := set.Guard.Network; n != "" && n != string(sandbox.NetworkOpen) {
			a.warn("without a sandbox nothing keeps checks to guard.network = %q", n)
		}
		a.warn("the sandbox is off: only the command guard and the comparison afterwards keep the agent from git")
		return off{int64(set.Guard.DiskFree)}, nil
	}
	repo, err := a.Repo()
	if err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	base := sandbox.Spec{Worktree: repo.Root, Writable: expandHome(set.Guard.Writable, home),
		Hidden:  expandHome(set.Guard.Hidden, home),
		Sockets: set.Guard.Sockets, Home: home, TempBytes: int64(set.Guard.TempSize), FixedAttributes: !set.Guard.Attributes,
		MaxProcesses: set.Guard.Processes}
	base.GitDirs = []string{repo.GitDir}
	if repo.CommonDir != repo.GitDir {
		base.GitDirs = append(base.GitDirs, repo.CommonDir)
	}
	if dot := filepath.Join(repo.Root, ".git"); dot != repo.GitDir {
		if _, err := os.Lstat(dot); err == nil {
			base.GitDirs = append(base.GitDirs, dot)
		}
	}
	uppers := map[bool]string{}
	if home != "" {
		// An agent must not influence checks through its home.
		for _, isAgent := range []bool{true, false} {
			if uppers[isAgent], err = sandbox.HomeUpperDir(home, repo.CommonDir, purpose(homeOwner(isAgent), repo)); err != nil {
				return nil, err
			}
		}
		sandbox.SweepHomes(uppers[false])
		base.HomeUpper = uppers[true]
	}
	if _, ok := os.LookupEnv("HOME"); !ok {
		base.Home, base.HomeUpper = "", ""
	}
	if err := tempFolder(); err != nil {
		return nil, err
	}
	report, err := sandbox.Probe(ctx, base)
	if err != nil {
		return nil, fmt.Errorf("try the sandbox: %w", err)
	}
	b := &boundary{report: report, base: base, uppers: uppers, set: set, binary: binary, env: a.Env, warn: a.warn}
	if report.Mechanism == sandbox.Namespaces {
		return b, nil
	}
	if _, here := repo.LinkedHere(); report.Mechanism == sandbox.Landlock && (here || a.wantsLinked) {
		return a.landlocked(b, repo)
	}
	if set.Guard.Sandbox != "require" && terminal(a.In) && terminal(a.Err) && yes == askFirst {
		fmt.Fprintf(a.Err, "this machine refuses the sandbox: %s\n", report.Detail)
		for _, way := range waysOut(report, runtime.GOOS) {
			fmt.Fprintf(a.Err, "  %s\n", way)
		}
		ok, err := a.askWithin(ctx, "work without it this time? [y/N] ")
		if err != nil {
			return nil, err
		}
		if ok {
			return off{int64(set.Guard.DiskFree)}, nil
		}
	}
	hint := strings.Join(waysOut(report, runtime.GOOS), "\n")
	return nil, gitstate.Hint(8, hint, "there is no sandbox here: %s", report.Detail)
}

// tempFolder makes sure that there is a temporary folder to work in.
func tempFolder() error {
	dir, err := proc.TempDir("try")
	if err != nil {
		return gitstate.Hint(8, "set TMPDIR to a folder that exists and that you may write", "make a temporary folder: %w",
			err)
	}
	return os.Remove(dir)
}

func expandHome(paths []string, home string) []string {
	var out []string
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, "~/"); ok && home != "" {
			p = filepath.Join(home, rest)
		}
		out = append(out, p)
	}
	return out
}
