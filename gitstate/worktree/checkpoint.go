package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate/object"
	"git-ralph/internal/stable"
)

func ctxBackground() context.Context { return context.Background() }

func readFull(r io.Reader, b []byte) (int, error) { return io.ReadFull(r, b) }

// Checkpoint is the worktree at one moment. It is immutable; it may be restored
// any number of times, also by another process (Store, Load).
type Checkpoint struct {
	Tree  object.ID  // tracked and untracked-not-ignored files, as `git add -A && git write-tree` has them
	Index IndexState // the user's index, as entries
	Head  string     // the ref that HEAD names; "" when it is detached
	Tip   object.ID  // the commit that HEAD leads to; zero on an unborn branch

	Untracked  []string // files that are not in the index and not ignored
	Ignored    []string // ignored files that are part of the checkpoint
	Nested     []string // other repositories, linked worktrees, submodules: left alone
	Oversized  []string // untracked files above Options.MaxFile: left alone
	Special    []string // sockets, FIFOs, devices, unsafe names: left alone
	Unreadable []string // untracked files and folders that may not be read: left alone
	Outputs    []string // of Options.Outputs those that git does not track: left alone
	Hidden     []string // files that differ from the index, whose flags hide them from git

	Files int // in the checkpoint, tracked and others

	e    *Engine
	root *node
}

// Checkpoint records the worktree. Objects are written to the store and are
// permanent after its Sync. It fails, and has changed nothing, when a tracked
// file cannot be read.
func (e *Engine) Checkpoint(ctx context.Context) (*Checkpoint, error) {
	fail := func(err error) (*Checkpoint, error) { return nil, fmt.Errorf("take a checkpoint: %w", err) }
	if e.settings.objectFormat != "" && e.settings.objectFormat != "sha1" {
		return fail(fmt.Errorf("the repository's objects are %s", e.settings.objectFormat))
	}
	base, own, err := e.base(ctx)
	if err != nil {
		return fail(err)
	}
	s := &scan{e: e, ctx: ctx, purpose: forCheckpoint, started: time.Now().UnixNano(), own: own}
	root, err := s.run(base)
	if err != nil {
		return fail(err)
	}
	if root, err = e.conv.settle(ctx, root, base); err != nil {
		return fail(err)
	}
	e.last = root
	c := &Checkpoint{e: e, root: root, Index: e.index.state, Files: root.count}
	if c.Head, c.Tip, err = e.head(ctx); err != nil {
		return fail(err)
	}
	if c.Tree, err = e.writeTrees(root); err != nil {
		return fail(err)
	}
	c.lists()
	return c, nil
}

// head reads HEAD: a plain ref from its file or from packed-refs, everything
// else by git, which costs two processes.
func (e *Engine) head(ctx context.Context) (string, object.ID, error) {
	if b, err := os.ReadFile(filepath.Join(e.repo.GitDir, "HEAD")); err == nil && e.settings.refStorage == "" {
		if ref, ok := strings.CutPrefix(strings.TrimSpace(string(b)), "ref: "); ok {
			b, err := os.ReadFile(filepath.Join(e.repo.CommonDir, filepath.FromSlash(ref)))
			if err == nil {
				if id, err := object.ParseID(strings.TrimSpace(string(b))); err == nil {
					return ref, id, nil
				}
			} else if errors.Is(err, fs.ErrNotExist) {
				if id, ok := e.packed(ref); ok {
					return ref, id, nil
				}
			}
		}
	}
	ref, err := e.repo.Git.Line(ctx, "symbolic-ref", "-q", "HEAD")
	if err != nil {
		ref = "" // detached
	}
	line, err := e.repo.Git.Line(ctx, "rev-parse", "--verify", "-q", "HEAD^{commit}")
	if err != nil {
		if ref != "" {
			return ref, object.Zero, nil // unborn
		}
		return "", object.Zero, fmt.Errorf("read HEAD: %w", err)
	}
	id, err := object.ParseID(line)
	return ref, id, err
}

// packed looks a ref up in packed-refs.
func (e *Engine) packed(ref string) (object.ID, bool) {
	data, err := os.ReadFile(filepath.Join(e.repo.CommonDir, "packed-refs"))
	if err != nil {
		return object.Zero, false
	}
	i := bytes.Index(data, []byte(" "+ref+"\n"))
	if i < 40 || i > 40 && data[i-41] != '\n' {
		return object.Zero, false
	}
	id, err := object.ParseID(string(data[i-40 : i]))
	return id, err == nil
}

// lists fills in the names that people are told.
func (c *Checkpoint) lists() {
	_ = c.root.walk(oddUntracked|oddIgnored|oddExtra|oddBits, func(n *node) error {
		for i := range n.files {
			f := &n.files[i]
			p := join(n.path, f.name)
			switch {
			case f.mode == object.ModeGitlink && f.present():
				c.Nested = append(c.Nested, p)
			case f.class == untracked && f.has(bitLarge):
				c.Oversized = append(c.Oversized, p)
			case f.class == untracked:
				c.Untracked = append(c.Untracked, p)
			case f.class == ignored:
				c.Ignored = append(c.Ignored, p)
			case f.has(bitHidden):
				c.Hidden = append(c.Hidden, p)
			}
		}
		for i := range n.extras {
			x := &n.extras[i]
			p := join(n.path, x.name)
			switch x.what {
			case extraNested:
				c.Nested = append(c.Nested, p)
			case extraSpecial:
				c.Special = append(c.Special, p)
			case extraOwn:
				if x.kind == kindFile {
					c.Outputs = append(c.Outputs, p)
				}
			case extraUnreadable:
				c.Unreadable = append(c.Unreadable, strings.TrimSuffix(p, "/"))
			}
		}
		return nil
	})
	for _, l := range []*[]string{&c.Untracked, &c.Ignored, &c.Nested, &c.Oversized, &c.Special, &c.Unreadable,
		&c.Outputs, &c.Hidden} {
		slices.Sort(*l)
	}
}

// Capture is what is in the worktree after the agent, judged against a checkpoint.
type Capture struct {
	Tree object.ID // for evidence: tracked files and those that the agent made; nothing that was untracked or is ignored
	Keep object.ID // HEAD's tree of the checkpoint with exactly Changes

	Changes []Change // what a commit of the attempt contains, by path

	PutBack        []string // touched, and not the agent's to change: untracked at the checkpoint, or hidden by the index
	IgnoredChanged []string // ignored files of the checkpoint that were changed or removed
	IgnoredWere    []Saved  // what those were
	Spoiled        []Saved  // ignored files too large to be put back that were changed or removed, as they were
	Excluded       []string // made by the agent, ignored by only one of the two rule sets
	TooLarge       []string // made or changed by the agent, above Options.MaxFile or more than the disk holds twice
	Nested         []string // repositories that appeared, changed or went
	Special        []string // FIFOs, sockets, devices, unsafe names that the agent made
	Unreadable     []string // what the agent made unreadable, or git cannot convert by its attributes

	cp   *Checkpoint
	root *node
}

// Capture looks at the worktree again. It changes nothing but the object
// store. A path that the ignore rules of the checkpoint or the present ones
// exclude is not captured, unless it was in the index.
func (e *Engine) Capture(ctx context.Context, c *Checkpoint) (*Capture, error) {
	fail := func(err error) (*Capture, error) { return nil, fmt.Errorf("capture the worktree: %w", err) }
	s := &scan{e: e, ctx: ctx, purpose: forCapture, started: time.Now().UnixNano(),
		room: roomFor(e.repo.CommonDir)}
	root, err := s.run(c.root)
	if err != nil {
		return fail(err)
	}
	// An agent may write attributes that make git fail. Such files are reported
	// as the agent's and must not stop the run.
	e.conv.lenient, e.conv.refused = true, nil
	root, err = e.conv.settle(ctx, root, c.root)
	e.conv.lenient = false
	if err != nil {
		return fail(err)
	}
	e.last = root
	out := &Capture{cp: c, root: root, Unreadable: e.conv.refused}
	var user, evidence []Change
	for _, p := range s.between {
		if c.root.fileAt(p) == nil && c.root.at(p) == nil {
			dir, name := split(p)
			if c.root.at(dir).extra(name) == nil {
				out.Excluded = append(out.Excluded, p)
			}
		}
	}
	diffNodes(c.root, root, func(dir string, a, b *file, x, y *extra) {
		out.judge(dir, a, b, x, y)
	})
	out.giveWay()
	stable.Sort(out.Changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	for _, l := range []*[]string{&out.PutBack, &out.IgnoredChanged, &out.Excluded, &out.TooLarge, &out.Nested,
		&out.Special, &out.Unreadable} {
		slices.Sort(*l)
		*l = slices.Compact(*l)
	}
	// The evidence begins with the checkpoint's tree without the user's own files.
	for _, p := range c.Untracked {
		user = append(user, Change{Path: p})
	}
	evidence = append(user, out.Changes...)
	if out.Tree, err = ApplyChanges(e.repo.Store, c.Tree, evidence); err != nil {
		return fail(err)
	}
	head := object.EmptyTree
	if !c.Tip.IsZero() {
		commit, err := e.repo.Store.ReadCommit(c.Tip)
		if err != nil {
			return fail(err)
		}
		head = commit.Tree
	}
	if out.Keep, err = ApplyChanges(e.repo.Store, head, out.Changes); err != nil {
		return fail(err)
	}
	return out, nil
}

// ChangedAt is when a captured file changed last, by its change time, which
// nobody sets; zero when it is not there.
func (out *Capture) ChangedAt(path string) time.Time {
	f := out.root.fileAt(path)
	if f == nil || !f.present() {
		return time.Time{}
	}
	return time.Unix(0, max(f.ctime, f.mtime))
}

// giveWay drops changes that are in the way of a user's file to be restored: a
// folder in its place, or a file in place of its folder.
func (out *Capture) giveWay() {
	if len(out.PutBack) == 0 {
		return
	}
	files, folders := map[string]bool{}, map[string]bool{}
	for _, p := range out.PutBack {
		files[p] = true
		for dir, _ := split(p); dir != ""; dir, _ = split(dir) {
			folders[dir] = true
		}
	}
	out.Changes = slices.DeleteFunc(out.Changes, func(c Change) bool {
		inTheWay := !c.New.ID.IsZero() && folders[c.Path]
		for dir, _ := split(c.Path); dir != ""; dir, _ = split(dir) {
			inTheWay = inTheWay || !c.New.ID.IsZero() && files[dir]
		}
		return inTheWay
	})
}

// diffNodes calls f for every name that differs between two snapshots; a or b
// is nil where there is no file, x or y where there is no extra.
func diffNodes(a, b *node, f func(dir string, a, b *file, x, y *extra)) {
	if a == b {
		return
	}
	path := ""
	var af, bf []file
	var ax, bx []extra
	var ad, bd []*node
	if a != nil {
		path, af, ax, ad = a.path, a.files, a.extras, a.dirs
	}
	if b != nil {
		path, bf, bx, bd = b.path, b.files, b.extras, b.dirs
	}
	for len(af) > 0 || len(bf) > 0 {
		switch {
		case len(bf) == 0 || len(af) > 0 && af[0].name < bf[0].name:
			f(path, &af[0], nil, nil, nil)
			af = af[1:]
		case len(af) == 0 || bf[0].name < af[0].name:
			f(path, nil, &bf[0], nil, nil)
			bf = bf[1:]
		default:
			if af[0] != bf[0] {
				f(path, &af[0], &bf[0], nil, nil)
			}
			af, bf = af[1:], bf[1:]
		}
	}
	for len(ax) > 0 || len(bx) > 0 {
		switch {
		case len(bx) == 0 || len(ax) > 0 && ax[0].name < bx[0].name:
			f(path, nil, nil, &ax[0], nil)
			ax = ax[1:]
		case len(ax) == 0 || bx[0].name < ax[0].name:
			f(path, nil, nil, nil, &bx[0])
			bx = bx[1:]
		default:
			if ax[0] != bx[0] {
				f(path, nil, nil, &ax[0], &bx[0])
			}
			ax, bx = ax[1:], bx[1:]
		}
	}
	for len(ad) > 0 || len(bd) > 0 {
		switch {
		case len(bd) == 0 || len(ad) > 0 && ad[0].name < bd[0].name:
			diffNodes(ad[0], nil, f)
			ad = ad[1:]
		case len(ad) == 0 || bd[0].name < ad[0].name:
			diffNodes(nil, bd[0], f)
			bd = bd[1:]
		default:
			diffNodes(ad[0], bd[0], f)
			ad, bd = ad[1:], bd[1:]
		}
	}
}

// judge sorts one difference into what it means.
func (out *Capture) judge(dir string, a, b *file, x, y *extra) {
	if a != nil && !a.present() {
		a = &file{name: a.name, class: a.class, id: a.id, mode: a.mode, bits: a.bits}
	}
	switch {
	case x != nil || y != nil:
		out.judgeExtra(dir, x, y)
	case a != nil && a.mode == object.ModeGitlink || b != nil && b.mode == object.ModeGitlink:
		if a == nil || b == nil || a.present() != b.present() || a.mode != b.mode || a.raw != b.raw {
			name := ""
			if a != nil {
				name = a.name
			} else {
				name = b.name
			}
			out.Nested = append(out.Nested, join(dir, name))
		}
	case a == nil || a.class == tracked:
		out.judgeOwn(dir, a, b)
	default:
		p := join(dir, a.name)
		if b != nil && b.present() && b.raw == a.raw && b.kind == a.kind && b.has(bitLarge) == a.has(bitLarge) {
			if !a.has(bitLarge) || b.size == a.size && b.mtime == a.mtime {
				if b.perm == a.perm || a.class == ignored {
					return
				}
			}
		}
		if a.class == ignored {
			out.IgnoredChanged = append(out.IgnoredChanged, p)
			was := Saved{Path: p, Mode: object.ModeRegular, Perm: a.perm, ID: a.raw}
			if a.kind == kindLink {
				was.Mode, was.Perm = object.ModeSymlink, 0
			}
			if !was.ID.IsZero() {
				out.IgnoredWere = append(out.IgnoredWere, was)
			}
		} else {
			out.PutBack = append(out.PutBack, p)
		}
	}
}

// judgeOwn is about tracked files and files that the agent made.
func (out *Capture) judgeOwn(dir string, a, b *file) {
	var old, now Side
	var p string
	if a != nil {
		p = join(dir, a.name)
		if a.inTree() {
			old = Side{a.mode, a.id}
		}
	}
	size := int64(0)
	if b != nil {
		p = join(dir, b.name)
		if b.class == ignored {
			return // made by the agent, and ignored
		}
		if b.has(bitLarge) {
			if b.perm&0o400 == 0 && b.raw.IsZero() {
				out.Unreadable = append(out.Unreadable, p)
			} else {
				out.TooLarge = append(out.TooLarge, p)
			}
			return
		}
		if b.inTree() {
			now, size = Side{b.mode, b.id}, b.size
		}
	}
	if a != nil && a.has(bitHidden) {
		if b == nil || b.raw != a.raw || b.kind != a.kind {
			out.PutBack = append(out.PutBack, p)
		}
		return
	}
	if old != now {
		out.Changes = append(out.Changes, newChange(p, old, now, size))
	}
}

func (out *Capture) judgeExtra(dir string, x, y *extra) {
	z := y
	if z == nil {
		z = x
	}
	p := strings.TrimSuffix(join(dir, z.name), "/")
	switch {
	case x != nil && x.mtime != 0 && x.what == extraIgnored:
		if s, ok := out.cp.e.spoiled(p, x, y); ok {
			out.Spoiled = append(out.Spoiled, s)
		}
	case x != nil && y != nil && x.what == y.what && x.kind == y.kind && x.mark == y.mark && (x.ino == 0 || y.ino == 0):
		// A checkpoint of an earlier version, which did not note inodes.
	case x != nil && x.what == extraNested || y != nil && y.what == extraNested:
		out.Nested = append(out.Nested, p)
	case y != nil && y.what == extraSpecial:
		out.Special = append(out.Special, p)
	case y != nil && y.what == extraUnreadable:
		out.Unreadable = append(out.Unreadable, p)
	}
}
