package cli

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"git-ralph/gitstate"
	"git-ralph/guard/sandbox"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// waysOut lists what the user can do when the kernel refuses user namespaces.
func waysOut(r sandbox.Report, system string) []string {
	var out []string
	if r.Mechanism == sandbox.Landlock {
		out = append(out,
			"git ralph start --worktree: in a linked worktree Landlock keeps the agent from git; git ralph doctor in it says "+
				"what that leaves open")
	}
	where := "in a container allow user namespaces, for example --security-opt seccomp=unconfined"
	if system != "linux" {
		where = "in a virtual machine or a container with Linux there is one"
	}
	return append(out, where,
		"guard.sandbox = \"off\" in ralph.toml, or RALPH_GUARD_SANDBOX=off: what the agent does to git is then noticed, "+
			"not prevented")
}

// landlocked makes the boundary of a linked worktree where namespaces are
// refused. What Landlock cannot keep is refused by name.
func (a *App) landlocked(b *boundary, repo *gitstate.Repo) (session.Sandbox, error) {
	if n := b.set.Guard.Network; n != "" && n != string(sandbox.NetworkOpen) {
		return nil,
			gitstate.Hint(8,
				"network = \"open\" under [guard] in ralph.toml, or RALPH_GUARD_NETWORK=open; or allow user namespaces",
				"landlock cannot keep checks to guard.network = %q", n)
	}
	var err error
	if b.runs, err = cacheFolder("runs"); err != nil {
		return nil, err
	}
	if b.base.Home != "" {
		for isAgent := range b.uppers {
			if b.uppers[isAgent], err = landlockHome(repo, purpose(homeOwner(isAgent), repo)); err != nil {
				return nil, err
			}
		}
		sandbox.SweepHomes(b.uppers[false])
		b.base.HomeUpper = b.uppers[true]
	}
	if _, here := repo.LinkedHere(); !here {
		return b, nil // a dry run, before there is one
	}
	spec := b.report.Apply(b.base)
	spec.Network = sandbox.NetworkOpen
	spec.ReadOnlyPaths = []string{b.runs, filepath.Dir(b.base.HomeUpper)}
	if b.base.HomeUpper == "" {
		spec.ReadOnlyPaths = spec.ReadOnlyPaths[:1]
	}
	if _, err := sandbox.Wrapper(spec); err != nil {
		return nil, gitstate.Hint(8, "take it out of guard.writable; or allow user namespaces", "%w", err)
	}
	return b, nil
}

// landlockHome is the folder for the changes of a home folder. It may lie in
// the home folder, as there is no overlay; in a temporary folder others could
// write to it.
func landlockHome(repo *gitstate.Repo, purpose string) (string, error) {
	base, err := cacheFolder("homes")
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(repo.CommonDir + "\x00" + purpose))
	return filepath.Join(base, fmt.Sprintf("%x", sum[:12])), nil
}

// landlockSpec is the specification under Landlock. In the run's folder only
// the handoff and a temporary folder can be written. Nested repositories and
// the user's large files cannot be excluded from the worktree; changes to them
// are found afterwards.
func (b *boundary) landlockSpec(s sandbox.Spec, use session.Use) (sandbox.Spec, error) {
	if err := os.MkdirAll(filepath.Join(use.RunDir, "tmp"), 0o700); err != nil {
		return s, fmt.Errorf("describe the sandbox: %w", err)
	}
	s.ReadOnlyPaths = []string{use.RunDir}
	s.Writable = append(slices.Clone(s.Writable), filepath.Join(use.RunDir, "handoff"), filepath.Join(use.RunDir, "tmp"))
	return s, nil
}

// landlockEnv gives a command its own temporary folder, because the shared
// ones may be closed.
func landlockEnv(env []string, use session.Use) []string {
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		if name == "TMPDIR" || proc.Getenv(env, name) != "" {
			env = proc.SetEnv(env, name, filepath.Join(use.RunDir, "tmp"))
		}
	}
	return env
}
