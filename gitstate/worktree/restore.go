package worktree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"git-ralph/gitstate/object"
)

// Report says what a restore did.
type Report struct {
	Restored []string // files written, or given their mode back
	Own      []string // those of them that git did not track at the checkpoint
	Removed  []string // files, links, special files and folders that were not there before
	Folders  []string // folders made again, or given their mode back
	Kept     []string // new folders that stay because ignored files are in them
	Aside    []string // repositories that appeared and were moved to Options.Aside, as names there
	// repositories that appeared and were left in place, other repositories
	// that changed, and what was too large to be kept and has changed
	Left []string
	// things without a copy that are gone: large files, special files, other repositories
	Gone     []string
	Back     []string // such things that were found under another name and moved back
	Saved    []Saved  // contents that were taken out of the worktree and that no capture holds
	Spoiled  []Saved  // ignored files too large to be put back that differ, as they were
	Failures []Failure
	Notices  []string // what a person should be told of the above, a sentence each
}

// Failure is one path that could not be restored.
type Failure struct {
	Path string
	Err  error
}

// RestoreError carries all failures of a restore. Everything that is not named
// in it is as it was at the checkpoint.
type RestoreError struct{ Failures []Failure }

func (r *RestoreError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d paths could not be restored: ", len(r.Failures))
	for i, f := range r.Failures {
		if i == 5 {
			fmt.Fprintf(&b, " and %d more", len(r.Failures)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%q: %v", f.Path, f.Err)
	}
	return b.String()
}

// Unwrap gives the causes.
func (r *RestoreError) Unwrap() []error {
	var out []error
	for _, f := range r.Failures {
		out = append(out, f.Err)
	}
	return out
}

// Restore restores the worktree to the checkpoint, byte for byte: contents,
// kinds, all permission bits, folders, and the checkpoint's ignored files. It
// removes new things that the checkpoint's rules do not ignore. It does not
// touch the user's index. A second scan verifies the result; a remaining
// difference is a failure. Restore continues after failures and reports all of
// them in a *RestoreError.
func (e *Engine) Restore(ctx context.Context, c *Checkpoint, keep ...Keeper) (Report, error) {
	return e.restore(ctx, c.root, nil, "restore the checkpoint", keep)
}

// RestoreTo undoes changes since the capture (by checks), so that the worktree
// is what was judged. Files that were untracked at the checkpoint are restored
// to it; ignored files are left alone.
func (e *Engine) RestoreTo(ctx context.Context, c *Capture, keep ...Keeper) (Report, error) {
	return e.restore(ctx, overlay(c.cp.root, c.root), c.cp.root, "put back what the checks changed", keep)
}

func (e *Engine) restore(ctx context.Context, target, also *node, what string, keep []Keeper) (Report, error) {
	r := &restorer{e: e, ctx: ctx, locked: map[string]uint32{}, keep: oneKeeper(keep)}
	now, err := e.scanAlso(ctx, target, also, forRestore)
	if err != nil {
		return r.report, fmt.Errorf("%s: %w", what, err)
	}
	r.plan(target, now)
	// A second round undoes what running processes did meanwhile.
	for round := 0; round < 2 && (round == 0 || r.plans() > 0); round++ {
		if err := r.spare(); err != nil {
			return r.report, fmt.Errorf("%s: store what is there first: %w", what, err)
		}
		if r.plans() == 0 {
			break
		}
		r.apply()
		e.fail("restore done")
		if now, err = e.scanAlso(ctx, target, also, forRestore); err != nil {
			return r.report, fmt.Errorf("%s: verify: %w", what, err)
		}
		r.plan(target, now)
	}
	for _, p := range r.pending() {
		r.failed(p, errors.New("it is still different"))
	}
	r.finish()
	e.last = e.adopt(target, now)
	r.tell()
	if len(r.report.Failures) > 0 {
		return r.report, fmt.Errorf("%s: %w", what, &RestoreError{r.report.Failures})
	}
	return r.report, nil
}

// tell makes notices of what was not simply restored.
func (r *restorer) tell() {
	p := &r.report
	for _, l := range []*[]string{&p.Left, &p.Gone, &p.Back} {
		slices.Sort(*l)
		*l = slices.Compact(*l)
	}
	say := func(format string, names []string) {
		if len(names) > 0 {
			p.Notices = append(p.Notices, fmt.Sprintf(format, strings.Join(names, ", ")))
		}
	}
	say("left as they are: %s", p.Left)
	say("gone, and not ours to make again: %s", p.Gone)
	say("moved back from where they were taken: %s", p.Back)
	say("moved aside to "+r.e.opts.Aside+": %s", p.Aside)
	say("new folders stay because ignored files are in them: %s", p.Kept)
}

// adopt gives a verified snapshot the target's ids: a restore scan compares
// bytes and does not know the ids in the tree.
func (e *Engine) adopt(target, now *node) *node {
	if target == now || target == nil {
		return now
	}
	out := *now
	out.files = nil
	for _, f := range now.files {
		t := target.file(f.name)
		if t == nil {
			// It was left and never read: the next scan reads it.
			out.listed = false
			continue
		}
		if t.raw == f.raw && t.kind == f.kind && !f.raw.IsZero() {
			f.id, f.mode, f.form, f.class = t.id, t.mode, t.form, t.class
			f.bits |= t.bits & (bitHidden | bitLarge)
		}
		out.files = append(out.files, f)
	}
	out.dirs = nil
	for _, d := range now.dirs {
		t := target.dir(d.name)
		if t == nil {
			// It is only here because ignored files are in it.
			out.listed = false
			continue
		}
		out.dirs = append(out.dirs, e.adopt(t, d))
	}
	out.treeOK = target.treeOK && sameTree(target, &out)
	out.tree = object.Zero
	if out.treeOK {
		out.tree = target.tree
	}
	out.summarize(e.modes)
	out.odd |= target.odd & oddOwnTree
	return &out
}

// restorer turns the difference between two snapshots into steps and does them.
type restorer struct {
	e      *Engine
	ctx    context.Context
	only   []string // paths; nil = everything
	report Report

	keep    Keeper
	known   map[string]Side // what the capture's tree has of the changed paths
	saved   bool            // Save was called
	savedMu sync.Mutex

	lockedMu sync.Mutex
	locked   map[string]uint32 // folders that were opened up to work in them, and their modes

	removes  []removal // children before their folders
	mkdirs   []*node   // parents first
	writes   []writing
	chmods   []writing
	dirModes []*node // parents first
	asides   []string
	backs    []back
}

type writing struct {
	path string
	want *file
	spared
}

func oneKeeper(keep []Keeper) Keeper {
	if len(keep) == 0 {
		return Keeper{}
	}
	return keep[0]
}

func (r *restorer) plans() int {
	return len(r.removes) + len(r.mkdirs) + len(r.writes) + len(r.chmods) + len(r.dirModes) + len(r.asides) + len(r.backs)
}

func (r *restorer) pending() []string {
	var out []string
	for _, x := range r.removes {
		out = append(out, x.path)
	}
	for _, x := range r.mkdirs {
		out = append(out, x.path)
	}
	for _, x := range append(r.writes, r.chmods...) {
		out = append(out, x.path)
	}
	for _, x := range r.dirModes {
		out = append(out, x.path)
	}
	for _, x := range r.backs {
		out = append(out, x.to)
	}
	return append(out, r.asides...)
}

func (r *restorer) failed(path string, err error) {
	if slices.ContainsFunc(r.report.Failures, func(f Failure) bool { return f.Path == path }) {
		return
	}
	r.report.Failures = append(r.report.Failures, Failure{path, err})
}

// wants reports whether the path is to be restored at all.
func (r *restorer) wants(path string) bool {
	if r.only == nil {
		return true
	}
	for _, p := range r.only {
		if path == p || strings.HasPrefix(path, p+"/") {
			return true
		}
	}
	return false
}

// leadsTo reports whether something below the folder, or the folder itself, is wanted.
func (r *restorer) leadsTo(dir string) bool {
	if r.only == nil || dir == "" || r.wants(dir) {
		return true
	}
	for _, p := range r.only {
		if strings.HasPrefix(p, dir+"/") {
			return true
		}
	}
	return false
}

func (r *restorer) plan(target, now *node) {
	r.removes, r.mkdirs, r.writes, r.chmods, r.dirModes, r.asides, r.backs = nil, nil, nil, nil, nil, nil, nil
	r.report.Left, r.report.Gone, r.report.Spoiled = nil, nil, nil
	r.compare(target, now)
	r.findMoved(target, now)
}

// compare plans what makes now equal to target. Both are the same path.
func (r *restorer) compare(target, now *node) {
	if target == now || !r.leadsTo(target.path) {
		return
	}
	wanted := target.path == "" || r.wants(target.path)
	switch {
	case target.present && (now == nil || !now.present):
		r.mkdirs = append(r.mkdirs, target)
	case target.present && now.perm != target.perm && wanted:
		r.dirModes = append(r.dirModes, target)
	case !target.present && now != nil && now.present && wanted:
		r.removeNew(now)
		return
	}
	if target.extra("") != nil {
		// It was unreadable at the checkpoint, so we must not touch its contents.
		return
	}
	for i := range target.files {
		t := &target.files[i]
		p := join(target.path, t.name)
		n := now.file(t.name)
		if n != nil && !n.present() {
			n = nil
		}
		if !r.wants(p) {
			continue
		}
		r.compareFile(p, t, n, target, now)
	}
	if now == nil {
		for _, d := range target.dirs {
			r.compare(d, nil)
		}
		return
	}
	for i := range now.files {
		n := &now.files[i]
		if p := join(now.path, n.name); n.present() && n.class != ignored && target.file(n.name) == nil && r.wants(p) {
			if target.owns(n.name) {
				continue
			}
			r.removeFile(p, n)
		}
	}
	for i := range now.extras {
		x := &now.extras[i]
		r.compareExtra(join(now.path, x.name), x, target.extra(x.name), position(target.file(x.name) != nil ||
			target.dir(x.name) != nil))
	}
	for i := range target.extras {
		x := &target.extras[i]
		if y := now.extra(x.name); (x.what == extraNested || x.what == extraSpecial) && (y == nil || y.kind != x.kind) &&
			r.only == nil {
			r.report.Gone = append(r.report.Gone, join(target.path, x.name))
		}
		if x.what == extraIgnored && x.mtime != 0 && r.only == nil {
			if s, ok := r.e.spoiled(join(target.path, x.name), x, now.extra(x.name)); ok {
				r.report.Spoiled = append(r.report.Spoiled, s)
			}
		}
	}
	for _, d := range now.dirs {
		if f := target.file(d.name); target.dir(d.name) == nil && d.present && (f == nil || !f.present()) &&
			!target.owns(d.name) {
			r.removeNew(d)
		}
	}
	for _, d := range target.dirs {
		r.compare(d, now.dir(d.name))
	}
}

// owns reports whether a name of the checkpoint existed without a copy, so that
// we must not remove what is there now. This excludes a FIFO, socket or device:
// what replaced it is new.
func (n *node) owns(name string) bool {
	x := n.extra(name)
	return x != nil && x.what != extraSpecial
}

func (r *restorer) compareFile(p string, t, n *file, target, now *node) {
	if !t.present() {
		if n != nil {
			r.removeFile(p, n)
		}
		return
	}
	if now != nil && t.kind != kindDir {
		// A folder in the place of a file: all of it has to go, ignored or not.
		if d := now.dir(t.name); d != nil && d.present {
			r.removeAll(d)
			n = nil
		}
	}
	switch {
	case t.mode == object.ModeGitlink:
		r.compareSubmodule(p, t, n)
	case t.has(bitLarge):
		switch {
		case n == nil:
			r.report.Gone = append(r.report.Gone, p)
		case n.size != t.size || n.mtime != t.mtime || n.kind != t.kind:
			r.report.Left = append(r.report.Left, p)
		}
	case n == nil || n.kind != t.kind || n.raw != t.raw:
		w := writing{path: p, want: t}
		if n != nil {
			w.was, w.had = *n, true
		}
		r.writes = append(r.writes, w)
	case t.kind == kindFile && n.perm != t.perm:
		r.chmods = append(r.chmods, writing{path: p, want: t})
	}
}

// compareSubmodule leaves contents alone; only an empty folder that went is
// made again.
func (r *restorer) compareSubmodule(p string, t, n *file) {
	switch {
	case n == nil && t.raw == emptyFolder():
		name := t.name
		r.mkdirs = append(r.mkdirs, &node{path: p, name: name, present: true, perm: t.perm})
	case n == nil:
		r.report.Gone = append(r.report.Gone, p)
	case n.raw != t.raw:
		r.report.Left = append(r.report.Left, p)
	}
}

// position says whether something of the checkpoint has to stand where this is.
type position bool

const (
	inTheWay    position = true
	outOfTheWay position = false
)

func (r *restorer) compareExtra(p string, n, t *extra, inTheWay position) {
	switch {
	case !r.wants(p):
	case n.what == extraNested:
		if t != nil && t.what == extraNested {
			if t.mark != n.mark && r.only == nil {
				r.report.Left = append(r.report.Left, p)
			}
			return
		}
		if r.e.opts.Aside == "" {
			r.report.Left = append(r.report.Left, p)
		} else {
			r.asides = append(r.asides, p)
		}
	case n.what == extraOwn, n.what == extraUnreadable:
	case n.what == extraIgnored && inTheWay == outOfTheWay:
	case t != nil && t.what == n.what && t.kind == n.kind:
	case n.kind == kindDir:
		// An ignored folder in place of a file of the checkpoint, or a name
		// that git refuses: its contents are unknown.
		r.removes = append(r.removes, removal{path: p, dir: true})
	default:
		// A FIFO, socket or device has no contents; of all else nothing is known.
		x := removal{path: p}
		x.safe = n.what == extraSpecial && n.kind > kindDir
		x.had, x.was = x.safe, file{kind: n.kind, ino: n.ino}
		r.removes = append(r.removes, x)
	}
}
