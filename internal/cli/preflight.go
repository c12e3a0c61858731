package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/agent"
	"git-ralph/internal/config"
	"git-ralph/internal/view"
	"git-ralph/loop"
	"git-ralph/loop/recovery"
	"git-ralph/loop/session"
)

// workKind says whether the tasks of the plan are what will be worked on, so that something must be able to prove them.
type workKind bool

const (
	planWork  workKind = true
	otherWork workKind = false
)

// preflight refuses, before anything is changed, what would go wrong in the
// night. Every refusal is exit code 8 with the way out.
func (a *App) preflight(ctx context.Context, set *config.Resolved, s state.State, f *RunFlags,
	work workKind) (*loop.Loop, error) {
	repo, err := a.Repo()
	if err != nil {
		return nil, err
	}
	j, err := a.Journal()
	if err != nil {
		return nil, err
	}
	version, ok, err := repo.GitVersion(ctx)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, gitstate.Hint(8, "install git 2.38 or newer", "git %s is too old", version)
	}
	if err := a.askTrust(ctx, set, f.Yes); err != nil {
		return nil, err
	}
	if err := set.Preflight(); err != nil {
		return nil, &gitstate.HintError{Err: err, Hint: hintOf(err), Code: 8}
	}
	if _, err := repo.Identity(ctx); err != nil {
		return nil, err
	}
	if err := recovery.CheckJournal(ctx, repo, j, s); err != nil {
		return nil, err
	}
	if a.linked == nil && !f.Worktree {
		if err := a.broughtOver(ctx, j); err != nil {
			return nil, err
		}
	}
	if !f.Worktree || a.linked != nil { // where none is made yet, there is nothing to look at
		if err := a.checkWorktree(ctx, set); err != nil {
			return nil, err
		}
	}
	sandbox, err := a.sandbox(ctx, set, consent(f.Yes))
	if err != nil {
		return nil, err
	}
	a.warnGitSecrets(sandbox)
	if inside := loop.PathInside(a.Env, repo.Root); len(inside) > 0 {
		a.warn("PATH leads into the worktree: %s: agents can write there, so a fresh checkout is proved without it; "+
			"what the setup makes at the same place of the checkout is used", strings.Join(inside, ", "))
	}
	w, err := a.wire(set, sandbox)
	if err != nil {
		return nil, err
	}
	if work == planWork && !f.Unchecked {
		if err := w.CheckProvable(s.Plan); err != nil {
			return nil, err
		}
	}
	if work == planWork && len(pendingTasks(s.Plan)) > 0 {
		if err := a.critiqueStart(set, s.Plan, f.Unchecked); err != nil {
			return nil, err
		}
	}
	if err := a.warnUncovered(repo.Root, s.Plan); err != nil {
		return nil, err
	}
	if err := w.TrySigning(ctx); err != nil {
		return nil, err
	}
	client, err := a.checkClient(ctx, set, w)
	if err != nil {
		return nil, err
	}
	w.Settings.Versions = map[string]string{"git-ralph": Version, "git": version, set.Agent.Driver: client}
	w.Settings.Unchecked = f.Unchecked
	return w, nil
}

// checkClient refuses a client that cannot be used, and says which version it is.
func (a *App) checkClient(ctx context.Context, set *config.Resolved, l *loop.Loop) (version string, err error) {
	info, err := agent.Probe(ctx, set.Agent.Driver, a.agentOptions(set), clientEnv(l.Settings))
	if err != nil {
		return "", err
	}
	if !info.Supported {
		return "", gitstate.Hint(8, info.Hint, "%s", info.Problem)
	}
	if info.Warning != "" {
		a.warn("%s", info.Warning)
	}
	if r, ok := l.Agent.(session.Resumer); set.Agent.ResumeSession && !(ok && r.Resumes()) {
		a.warn("agent.resume_session has no effect with %s: its client cannot continue a session, so every attempt begins "+
			"a fresh one", set.Agent.Driver)
	}
	return info.Version, a.checkEfforts(l.Settings, set.Agent.Driver)
}

// checkEfforts refuses a level of effort that a client would refuse at every run,
// and says where one has no effect.
func (a *App) checkEfforts(s loop.Settings, driver string) error {
	type use struct{ key, effort, driver string }
	uses := []use{{"agent.effort", s.Effort, driver}}
	coding := driver
	for _, name := range slices.Sorted(maps.Keys(s.Roles)) {
		r := s.Roles[name]
		if r.Effort != s.Effort || r.Driver != driver {
			uses = append(uses, use{"the role " + string(name), r.Effort, r.Driver})
		}
		if name == session.RoleCoding {
			coding = r.Driver
		}
	}
	for _, step := range s.Ladder {
		if step.Kind == loop.StepEffort {
			uses = append(uses, use{"agent.ladder", step.Value, coding})
		}
	}
	for _, u := range uses {
		if u.effort == "" {
			continue
		}
		levels, some := agent.Efforts(u.driver)
		switch {
		case !some:
			a.warn("%s: the effort %s has no effect with %s, which has no such choice", u.key, u.effort, u.driver)
		case !slices.Contains(levels, u.effort):
			return gitstate.Hint(8, "it takes "+strings.Join(levels, ", "), "%s: %s does not know the effort %s",
				u.key, u.driver, u.effort)
		}
	}
	return nil
}

// filesOf is a repository as package worktree wants it.
func filesOf(repo *gitstate.Repo) worktree.Repo {
	return worktree.Repo{Root: repo.Root, GitDir: repo.GitDir, CommonDir: repo.CommonDir, Git: repo.Git, Store: repo.Store}
}

// inTheWay is the first peculiarity that is refused.
func inTheWay(found worktree.Peculiarities) error {
	for _, p := range found.Refused() {
		return gitstate.Hint(8, p.Hint, "%s", p.Reason)
	}
	return nil
}

// unusual looks at what is unusual in the repository.
func (a *App) unusual(ctx context.Context, repo *gitstate.Repo, set *config.Resolved) error {
	found, err := worktree.Inspect(ctx, filesOf(repo),
		worktree.Options{MaxFile: int64(set.Worktree.MaxFile), CaptureIgnored: set.Worktree.CaptureIgnored})
	if err != nil {
		return err
	}
	return inTheWay(found)
}

// dirty lists the tracked files that have changes; an error when some are unmerged.
func dirty(ctx context.Context, repo *gitstate.Repo) ([]string, error) {
	out, err := repo.Git.Run(ctx, "status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=all")
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, gitstate.Hint(8,
			"git status fails as well: first fix what it names, a filter or a damaged file",
			"look for changed files: %w", err)
	}
	var dirty []string
	fields := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	for i := 0; i < len(fields); i++ {
		if len(fields[i]) < 4 {
			continue
		}
		if strings.HasPrefix(fields[i], "U") || strings.HasPrefix(fields[i], "AA") || strings.HasPrefix(fields[i], "DD") ||
			fields[i][1] == 'U' {
			return nil, gitstate.Hint(8, "resolve it and commit, or git merge --abort", "the index has unmerged files: %s",
				fields[i][3:])
		}
		dirty = append(dirty, fields[i][3:])
		if fields[i][0] == 'R' || fields[i][0] == 'C' {
			i++
		}
	}
	return dirty, nil
}

// some are the first of many paths.
func some(paths []string) string {
	if len(paths) > 10 {
		paths = append(slices.Clone(paths[:10]), fmt.Sprintf("and %d more", len(paths)-10))
	}
	return strings.Join(paths, ", ")
}

// checkWorktree looks at what is unusual in the repository and at changed tracked
// files before a run begins.
func (a *App) checkWorktree(ctx context.Context, set *config.Resolved) error {
	repo, err := a.Repo()
	if err != nil {
		return err
	}
	if err := a.unusual(ctx, repo, set); err != nil {
		return err
	}
	dirty, err := dirty(ctx, repo)
	if err != nil || len(dirty) == 0 {
		return err
	}
	if set.Loop.Dirty == "commit" {
		return a.commitDirty(ctx, dirty)
	}
	if a.linked != nil {
		return gitstate.Hint(8, "commit them there, or take them back: git -C "+repo.Root+" checkout -- .",
			"tracked files of the linked worktree have changes: %s", some(dirty))
	}
	return gitstate.Hint(8, "commit or stash them; or start with --dirty=commit, which commits them for you; or leave "+
		"them as they are and use a linked worktree: git ralph start --worktree",
		"tracked files have changes: %s", some(dirty))
}

// commitDirty commits the user's changes to tracked files as they lie there,
// by the user's own git: hooks, signature and identity are theirs.
func (a *App) commitDirty(ctx context.Context, files []string) error {
	repo, err := a.Repo()
	if err != nil {
		return err
	}
	msg := fmt.Sprintf("Work in progress before git ralph (%s)\n", view.Plural(len(files), "file"))
	if _, err := repo.Git.RunWith(ctx, strings.NewReader(msg), nil, "commit", "--quiet", "--all", "-F", "-"); err != nil {
		return gitstate.Hint(8, "commit them yourself", "the changed files could not be committed: %w", err)
	}
	a.warn("committed %s that had changes", view.Plural(len(files), "file"))
	return nil
}
