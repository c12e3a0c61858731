package loop

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ralph/gitstate/worktree"
	"git-ralph/internal/text"
	"git-ralph/loop/recovery"
	"git-ralph/loop/session"
)

// covered are the parts of the worktree that belong to the user and that no
// checkpoint holds: they are read-only for everything that runs in it. Linked
// worktrees come from git's own list; repositories in ignored folders are looked
// for once.
func (l *Loop) covered(before *worktree.Checkpoint) []string {
	if !l.looked {
		l.looked = true
		var missed []string
		l.ignoredRepos, missed = l.Engine.IgnoredRepositories(before)
		if len(missed) > 0 {
			l.Log("not looked at to the end for repositories of yours, which would be read-only for the agent: %s",
				text.List(missed))
		}
	}
	settings, err := l.Repo.Within(l.background())
	if err != nil {
		l.Log("git's settings could not be read: %v", err)
	}
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(before.Nested, before.Oversized, before.Outputs,
		l.ignoredRepos, l.linkedWorktrees(), settings))))
}

// sandboxed is Sandboxed for an iteration. Afterwards it restores files of the worktree that git reads or
// runs, before any of our git processes starts. Without a sandbox checkTamper does it.
func (l *Loop) sandboxed(it *Ready, use session.Use, f func(session.Starter) error) error {
	err := l.Sandboxed(it.id, use, f)
	if it.git == nil || !l.writeProtected() {
		return err
	}
	return errors.Join(err, it.git.PutBackWithin(l.isolated(), recovery.AsideOf(l.Repo, it.id)+"-git"))
}

// blameSpoiled rejects the iteration for changed files that git reads or runs.
func (r *Ready) blameSpoiled() (f findings) {
	for _, path := range r.git.TakeSpoiled() {
		f.tampered = []string{"config"}
		f.note("put back, because git reads or runs it: %s", path)
	}
	return f
}

// linkedWorktrees are the other worktrees of this repository, absolute.
func (l *Loop) linkedWorktrees() []string {
	var out []string
	base := filepath.Join(l.Repo.CommonDir, "worktrees")
	dirs, _ := os.ReadDir(base) // and no pattern: the path of the repository may have brackets
	for _, d := range dirs {
		file := filepath.Join(base, d.Name(), "gitdir")
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		dir := filepath.Dir(strings.TrimSpace(string(data)))
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(file), dir)
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		} else {
			continue // it is gone
		}
		// Our worktree, and one that contains it, must be writable.
		if rel, err := filepath.Rel(dir, l.Repo.Root); err == nil && (rel == "." || filepath.IsLocal(rel)) {
			continue
		}
		out = append(out, dir)
	}
	return out
}

// maxForeign is how many other repositories are compared without a boundary.
const maxForeign = 50

// foreign remembers what other repositories in ignored folders are like, where
// nothing keeps an agent from them.
func (l *Loop) foreign() map[string]string {
	if l.isolated() {
		return nil
	}
	prints := map[string]string{}
	for _, p := range l.foreignPaths() {
		prints[p] = l.Engine.Fingerprint(p)
	}
	return prints
}

func (l *Loop) foreignPaths() []string {
	paths := slices.Clone(l.ignoredRepos)
	for _, p := range l.linkedWorktrees() {
		if rel, err := filepath.Rel(l.Repo.Root, p); err == nil && filepath.IsLocal(rel) &&
			!slices.Contains(paths, filepath.ToSlash(rel)) {
			paths = append(paths, filepath.ToSlash(rel))
		}
	}
	return paths[:min(len(paths), maxForeign)]
}

// nameForeign names the repositories that changed. Nothing is restored.
func (l *Loop) nameForeign(was map[string]string) (notices []string) {
	for _, p := range slices.Sorted(maps.Keys(was)) {
		if l.Engine.Fingerprint(p) != was[p] {
			notices = append(notices, "another repository was changed meanwhile, and nothing of it was kept: "+p)
		}
	}
	return notices
}
