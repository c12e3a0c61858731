package worktree

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"git-ralph/gitstate/object"
)

// PutBack restores only the given paths, files or folders, to the checkpoint.
func (e *Engine) PutBack(ctx context.Context, c *Checkpoint, paths []string, keep ...Keeper) (Report, error) {
	return e.putBack(ctx, c.root, paths, keep)
}

// RestoreOn is Restore after the branch has moved to commit tip: commits since
// the checkpoint stay.
func (e *Engine) RestoreOn(ctx context.Context, c *Checkpoint, tip object.ID, keep ...Keeper) (Report, error) {
	const what = "restore the checkpoint"
	root, err := e.movedTo(c, tip)
	if err != nil {
		return Report{}, fmt.Errorf("%s: %w", what, err)
	}
	return e.restore(ctx, root, nil, what, keep)
}

// movedTo is the checkpoint with the changes between its tip and another
// commit.
func (e *Engine) movedTo(c *Checkpoint, tip object.ID) (*node, error) {
	changes, err := e.difference(c.Tip, tip)
	if err != nil {
		return nil, err
	}
	root := c.root
	for _, ch := range changes {
		if ch.New.Mode != object.ModeGitlink && ch.Old.Mode != object.ModeGitlink {
			if root, err = e.withSide(root, ch.Path, ch.New); err != nil {
				return nil, err
			}
		}
	}
	return root, nil
}

// withSide is a copy of the snapshot in which path is one side of a change.
func (e *Engine) withSide(n *node, path string, s Side) (*node, error) {
	out := *n
	out.listed, out.treeOK = false, false
	name, rest := cutPath(path)
	if rest != "" {
		out.dirs = slices.Clone(n.dirs)
		i, ok := findDir(out.dirs, name)
		if !ok {
			d := &node{path: join(n.path, name), name: name, rules: n.rules, rulesKnown: n.rulesKnown}
			out.dirs = slices.Insert(out.dirs, i, d)
		}
		sub, err := e.withSide(out.dirs[i], rest, s)
		if err != nil {
			return nil, err
		}
		out.dirs[i] = sub
		out.present = out.present || sub.present
		if out.perm == 0 {
			out.perm = e.modes.dir
		}
		return &out, nil
	}
	out.files = slices.Clone(n.files)
	i, ok := findFile(out.files, name)
	if ok {
		out.files = slices.Delete(out.files, i, i+1)
	}
	if s.ID.IsZero() {
		return &out, nil
	}
	f := e.fileOf(name, s)
	if err := e.conv.smudged(e.seen(ctxBackground()), &f, join(n.path, name)); err != nil {
		return nil, err
	}
	out.files = slices.Insert(out.files, i, f)
	out.present = true
	if out.perm == 0 {
		out.perm = e.modes.dir
	}
	return &out, nil
}

// fileOf is the file that one side of a change has on disk.
func (e *Engine) fileOf(name string, s Side) file {
	f := file{name: name, id: s.ID, raw: s.ID, mode: s.Mode, kind: kindFile, perm: e.modes.of(s.Mode), bits: bitRacy}
	if s.Mode == object.ModeSymlink && e.settings.symlinks {
		f.kind = kindLink
	}
	return f
}

func (e *Engine) putBack(ctx context.Context, target *node, paths []string, keep []Keeper) (Report, error) {
	r := &restorer{e: e, ctx: ctx, locked: map[string]uint32{}, only: paths, keep: oneKeeper(keep)}
	if len(paths) == 0 {
		return r.report, nil
	}
	fail := func(err error) (Report, error) { return r.report, fmt.Errorf("put back paths: %w", err) }
	now, err := e.scan(ctx, target, forRestore)
	if err != nil {
		return fail(err)
	}
	r.plan(target, now)
	if err := r.spare(); err != nil {
		return fail(fmt.Errorf("store what is there first: %w", err))
	}
	r.apply()
	r.finish()
	// The rest of the tree is as it was, but what e.last says of these paths is not.
	if e.last != nil {
		e.last = forget(e.last, paths)
	}
	r.tell()
	if len(r.report.Failures) > 0 {
		return fail(&RestoreError{r.report.Failures})
	}
	return r.report, nil
}

// forget makes the folders of paths be looked at again.
func forget(n *node, paths []string) *node {
	out := *n
	out.dirs = slices.Clone(n.dirs)
	out.files = slices.Clone(n.files)
	touched := false
	for i, d := range out.dirs {
		var below []string
		for _, p := range paths {
			if p == d.path || strings.HasPrefix(p, d.path+"/") {
				below = append(below, p)
			}
		}
		if len(below) > 0 {
			out.dirs[i], touched = forget(d, below), true
		}
	}
	for _, p := range paths {
		dir, name := split(p)
		if dir == n.path {
			if i, ok := findFile(out.files, name); ok {
				out.files[i].bits |= bitRacy
			}
			touched, out.listed = true, false
		}
	}
	if !touched {
		return n
	}
	return &out
}

// overlay is the target of a restore after the checks: the captured worktree
// with the user's own files as at the checkpoint, without ignored files.
func overlay(cp, after *node) *node {
	if cp == after {
		return after
	}
	if after == nil {
		// The agent removed the folder: only the user's own files come back.
		if cp.odd&(oddUntracked|oddBits) == 0 {
			return nil
		}
		after = &node{path: cp.path, name: cp.name, rules: cp.rules, rulesKnown: cp.rulesKnown, perm: cp.perm}
	}
	out := *after
	out.listed = false
	out.files, out.dirs = nil, nil
	users := func(f *file) bool { return f.class == untracked || f.has(bitHidden) }
	for i := range after.files {
		f := after.files[i]
		if c := cp.file(f.name); c != nil && users(c) {
			continue
		}
		if d := cp.dir(f.name); d != nil && overlay(d, nil) != nil {
			continue // it has the place of a folder with the person's own files
		}
		if f.class != ignored {
			out.files = append(out.files, f)
		}
	}
	if cp != nil {
		for i := range cp.files {
			if users(&cp.files[i]) {
				f := cp.files[i]
				f.bits |= bitRacy
				out.files = append(out.files, f)
			}
		}
		for _, d := range cp.dirs {
			if x := after.extra(d.name); x != nil && x.what == extraNested {
				continue // a repository now: only a restore moves it aside
			}
			if after.dir(d.name) == nil {
				if o := overlay(d, nil); o != nil {
					out.dirs = append(out.dirs, o)
				}
			}
		}
	}
	for _, d := range after.dirs {
		if c := cp.file(d.name); c != nil && users(c) && c.present() {
			continue // it has the place of one of the person's own files
		}
		if o := overlay(cp.dir(d.name), d); o != nil {
			out.dirs = append(out.dirs, o)
		}
	}
	if cp == nil {
		out.listed = after.listed
	}
	// The person's own files need their folders.
	if !out.present && (slices.ContainsFunc(out.dirs, func(d *node) bool { return d.present }) ||
		slices.ContainsFunc(out.files, func(f file) bool { return f.present() })) {
		out.present, out.perm = true, cp.perm
	}
	out.sort()
	return &out
}
