package cli

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/view"
	"git-ralph/loop/recovery"
)

// found lists what the restores of an iteration took out of the worktree: what
// is in its evidence, then what was moved aside.
func (a *App) found(s state.State, e journal.Entry) ([]worktree.Saved, error) {
	// A recovery that was cut short leaves more than one piece of evidence.
	ref := gitstate.EvidenceRef(s.Journal.ID, e.Event.ID)
	refs, err := a.repo.ListRefs(a.Ctx, strings.TrimSuffix(ref, e.Event.ID))
	if err != nil {
		return nil, err
	}
	var out []worktree.Saved
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(refs))) {
		if name != ref && !strings.HasPrefix(name, ref+".") {
			continue
		}
		tree, err := a.repo.TreeOf(refs[name])
		if err != nil {
			return nil, err
		}
		more, err := recovery.ReadFound(a.repo, tree)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	dir := recovery.AsideOf(a.repo, e.Event.ID)
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		if d.IsDir() && !isRepository(p) {
			return nil
		}
		rel, err := filepath.Rel(dir, p)
		if err == nil {
			out = append(out, worktree.Saved{Path: filepath.ToSlash(rel), Aside: p})
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return err
	})
	return out, err
}

// isRepository says whether a folder that was moved aside is another repository,
// which comes back whole.
func isRepository(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, ".git"))
	return err == nil
}

// unclaimed are the files whose path is still free: nothing is there, or what
// was restored in their place, or what this restore has just written from a
// tree (possibly changed by a filter). The others are named.
func unclaimed(a *App, found []worktree.Saved, written []string) (ready []worktree.Saved, later []string) {
	for _, s := range found {
		if slices.Contains(written, s.Path) {
			ready = append(ready, s)
			continue
		}
		path := filepath.Join(a.repo.Root, filepath.FromSlash(s.Path))
		st, err := os.Lstat(path)
		if err == nil && st.Mode().IsRegular() && !(s.Was.IsZero() && s.ID.IsZero()) && st.Size() <= 64<<20 {
			if data, rerr := os.ReadFile(path); rerr == nil {
				switch object.Sum(object.Blob, data) {
				case s.ID:
					continue // it is there
				case s.Was:
					ready = append(ready, s)
					continue
				}
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			ready = append(ready, s)
			continue
		}
		later = append(later, s.Path)
	}
	return ready, later
}

// paths brings single files or folders: first what was found besides the
// attempt, then what the attempt itself left there.
func (c *RestoreCmd) paths(a *App, before, after object.ID, found []worktree.Saved) error {
	set, err := a.Settings(nil, nil)
	if err != nil {
		return err
	}
	engine, err := a.engine(set)
	if err != nil {
		return err
	}
	changes, err := worktree.DiffTrees(a.repo.Store, before, after)
	if err != nil {
		return err
	}
	var picked []worktree.Saved
	for _, arg := range c.Paths {
		rel, err := a.inWorktree(arg)
		if err != nil {
			return err
		}
		n := len(picked)
		covered := func(p string) bool { return rel == "." || p == rel || strings.HasPrefix(p, rel+"/") }
		has := func(p string) bool {
			return slices.ContainsFunc(picked, func(s worktree.Saved) bool { return s.Path == p })
		}
		for _, s := range found {
			if covered(s.Path) && !has(s.Path) {
				picked = append(picked, s)
			}
		}
		for _, ch := range changes {
			if covered(ch.Path) && !ch.New.ID.IsZero() && ch.New.Mode != object.ModeGitlink && !has(ch.Path) {
				picked = append(picked, worktree.Saved{Path: ch.Path, Mode: ch.New.Mode, ID: ch.New.ID})
			}
		}
		if len(picked) == n {
			return gitstate.Hint(1, "git ralph show "+strconv.Itoa(c.Number)+" lists what it has",
				"iteration %d left nothing at %s, and nothing of it was put aside", c.Number, rel)
		}
	}
	report, err := engine.Bring(a.Ctx, picked, gitstate.NewID(time.Now()))
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(map[string]any{"iteration": c.Number, "before": false, "restored": view.List(report.Restored),
			"removed": []string{}})
	}
	if len(report.Restored) == 0 {
		a.printf("the worktree has this already\n")
		return nil
	}
	a.printf("brought back: %s\n", strings.Join(report.Restored, ", "))
	c.tellAside(a, report)
	return nil
}

// tellAside says where the files are that lay in the way.
func (c *RestoreCmd) tellAside(a *App, r worktree.Report) {
	for _, s := range r.Saved {
		a.printf("what was there was moved aside: %s\n", s.Aside)
	}
}

// inWorktree is a path that was typed, from the worktree's root, with slashes.
func (a *App) inWorktree(arg string) (string, error) {
	path := arg
	if !filepath.IsAbs(path) {
		path = filepath.Join(a.Dir, path)
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(real, filepath.Base(path))
	}
	rel, err := filepath.Rel(a.repo.Root, path)
	if err != nil || rel != "." && !filepath.IsLocal(rel) {
		return "", usage("name files of this worktree", "%s is not in the worktree %s", arg, a.repo.Root)
	}
	return filepath.ToSlash(rel), nil
}
