package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/guard/sandbox"
	"git-ralph/internal/config"
	"git-ralph/internal/proc"
	"git-ralph/loop"
)

// off is the sandbox of a run that a person started without one.
type off struct{}

func (off) Mechanism() string                 { return "off" }
func (off) Wrapper(loop.Use) proc.Wrapper     { return nil }
func (off) Inside(runDir, path string) string { return path }

// boundary puts commands behind the kernel.
type boundary struct {
	report sandbox.Report
	base   sandbox.Spec
	set    *config.Resolved
	uppers map[bool]string // folders of the home's changes: of the agent, of everything else
	binary string
	env    []string
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

// Wrapper describes the sandbox anew for every command, because the folder of
// the run fills while the run goes on.
func (b *boundary) Wrapper(use loop.Use) proc.Wrapper {
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
		return wrap(cmd)
	}
}

func (b *boundary) spec(use loop.Use) (sandbox.Spec, error) {
	s := b.report.Apply(b.base)
	s.Worktree, s.WorktreeReadOnly = use.Dir, use.ReadOnly
	for _, p := range use.ReadOnlyPaths {
		if !filepath.IsAbs(p) {
			p = filepath.Join(use.Dir, p)
		}
		s.ReadOnlyPaths = append(s.ReadOnlyPaths, p)
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
	s.Network = sandbox.NetworkOpen
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

func pathFolders(env []string) []string {
	for _, kv := range env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			return slices.DeleteFunc(filepath.SplitList(path), func(p string) bool { return !filepath.IsAbs(p) })
		}
	}
	return nil
}

// purpose tells the home folders of one repository apart.
func purpose(isAgent bool, repo *gitstate.Repo, beside string) string {
	who := "checks"
	if isAgent {
		who = "agent"
	}
	return strings.TrimSpace(who + " " + repo.WorktreeName() + " " + beside)
}

// sandbox finds out, by doing it once, what this machine allows, and what the
// settings make of that. It never takes less than they ask for in silence.
func (a *App) sandbox(ctx context.Context, set *config.Resolved, yes bool) (loop.Sandbox, error) {
	return a.sandboxFor(ctx, set, yes, "")
}

// sandboxFor is sandbox for a command that may run beside a loop of the same
// worktree: a home's changes belong to one sandbox at a time.
func (a *App) sandboxFor(ctx context.Context, set *config.Resolved, yes bool, beside string) (loop.Sandbox, error) {
	if set.Guard.Sandbox == "off" {
		if n := set.Guard.Network; n != "" && n != string(sandbox.NetworkOpen) {
			a.warn("without a sandbox nothing keeps checks to guard.network = %q", n)
		}
		a.warn("the sandbox is off: only the command guard and the comparison afterwards keep the agent from git")
		return off{}, nil
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
	base := sandbox.Spec{Worktree: repo.Root, Writable: expandHome(set.Guard.Writable, home), Hidden: expandHome(set.Guard.Hidden, home),
		Sockets: set.Guard.Sockets, Home: home, TempBytes: int64(set.Guard.TempSize)}
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
		// What an agent leaves in its home must not prepare the ground for checks.
		for _, isAgent := range []bool{true, false} {
			if uppers[isAgent], err = sandbox.HomeUpperDir(home, repo.CommonDir, purpose(isAgent, repo, beside)); err != nil {
				return nil, err
			}
		}
		base.HomeUpper = uppers[true]
	}
	if _, ok := os.LookupEnv("HOME"); !ok {
		base.Home, base.HomeUpper = "", ""
	}
	report, err := sandbox.Probe(ctx, base)
	if err != nil {
		return nil, fmt.Errorf("try the sandbox: %w", err)
	}
	b := &boundary{report: report, base: base, uppers: uppers, set: set, binary: binary, env: a.Env}
	if report.Mechanism == sandbox.Namespaces {
		return b, nil
	}
	if _, here := repo.LinkedHere(); report.Mechanism == sandbox.Landlock && (here || a.wantsLinked) {
		return a.landlocked(b, repo, beside)
	}
	if set.Guard.Sandbox != "require" && terminal(a.In) && terminal(a.Err) && !yes {
		fmt.Fprintf(a.Err, "this machine refuses the sandbox: %s\n", report.Detail)
		for _, way := range waysOut(report) {
			fmt.Fprintf(a.Err, "  %s\n", way)
		}
		ok, err := a.askWithin(ctx, "work without it this time? [y/N] ")
		if err != nil {
			return nil, err
		}
		if ok {
			return off{}, nil
		}
	}
	return nil, gitstate.Hint(8, strings.Join(waysOut(report), "\n"), "there is no sandbox here: %s", report.Detail)
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
