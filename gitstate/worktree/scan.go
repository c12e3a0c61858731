package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"git-ralph/gitstate/ignore"
	"git-ralph/gitstate/object"
)

// A scan makes a new snapshot of the worktree from an older one. Folders whose
// times prove that no name came or went are not listed again; files whose times
// prove that they are the same are not read. What did not change is shared with
// the older snapshot.
type scan struct {
	e       *Engine
	ctx     context.Context
	purpose purpose
	started int64 // before the first system call
	also    *node // a snapshot whose rules ignore as well; nil = none
	// own says that nobody else has the snapshot to start from, as when it was
	// just made of the index: its files are overwritten, not copied.
	own     bool
	queue   queue
	mu      sync.Mutex
	errs    []error
	between []string     // new paths that only one of two rule sets ignores
	pool    sync.Pool    // *listing
	copied  atomic.Int64 // bytes of large ignored files
	room    *room        // for what a capture stores; nil = no bound
}

// purpose is what a scan is for; it decides which rules hold and what is stored.
type purpose uint8

const (
	forCheckpoint purpose = iota // present rules; contents are stored
	forCapture                   // both the base's and the present rules ignore; contents are stored
	forRestore                   // the base's rules alone; nothing is stored, new files are not read
	forLook                      // present rules; nothing is read or stored
	forCompare                   // present rules; contents are read, nothing is stored
)

// stores reports whether new contents go into the object store.
func (p purpose) stores() bool { return p == forCheckpoint || p == forCapture }

// scan looks at the whole worktree. Base is the snapshot to start from, with
// the tracked files of the moment; it is not changed.
func (e *Engine) scan(ctx context.Context, base *node, why purpose) (*node, error) {
	return e.scanAlso(ctx, base, nil, why)
}

// scanAlso is scan with a further snapshot whose rules ignore as well.
func (e *Engine) scanAlso(ctx context.Context, base, also *node, why purpose) (*node, error) {
	s := &scan{e: e, ctx: ctx, purpose: why, also: also, started: time.Now().UnixNano()}
	return s.run(base)
}

func (s *scan) run(base *node) (*node, error) {
	e, why := s.e, s.purpose
	top, err := e.topRules()
	if err != nil {
		return nil, err
	}
	root := &task{base: base, rules: top, old: base.top}
	if why == forRestore {
		root.rules = base.top
	}
	if s.also != nil {
		root.old = s.also.top
	}
	s.queue.push(root)
	s.queue.run(e.opts.Workers, s.folder)
	if len(s.errs) > 0 {
		return nil, errors.Join(s.errs...)
	}
	if err := s.ctx.Err(); err != nil {
		return nil, err
	}
	if root.out == nil || !root.out.present {
		return nil, fmt.Errorf("the worktree %q is gone", e.repo.Root)
	}
	if root.out.top != root.rules || root.out.attributes != base.attributes {
		c := *root.out
		c.top, c.attributes = root.rules, base.attributes
		root.out = &c
	}
	return root.out, nil
}

func (s *scan) fail(err error) {
	s.mu.Lock()
	if len(s.errs) < 20 {
		s.errs = append(s.errs, err)
	}
	s.mu.Unlock()
}

// done is called when a folder itself is looked at; it is finished when all
// folders below it are.
func (s *scan) done(t *task) {
	for t != nil && t.pending.Add(-1) == 0 {
		s.finish(t)
		t = t.parent
	}
}

func (s *scan) finish(t *task) {
	base := t.base
	same := t.same && base != nil
	k := 0
	for i, sub := range t.subTask {
		if d := t.subs[i]; sub.nested != nil || d == nil || !same || k >= len(base.dirs) || base.dirs[k] != d {
			same = false
			break
		}
		k++
	}
	if same && k == len(base.dirs) && t.out == nil {
		t.out = base
	} else {
		out := t.out
		if out == nil {
			c := *base
			out = &c
		}
		out.dirs = make([]*node, 0, len(t.subTask))
		out.extras = out.extras[:len(out.extras):len(out.extras)]
		for i, sub := range t.subTask {
			if sub.nested != nil {
				out.extras = append(out.extras, *sub.nested)
			} else if d := t.subs[i]; d != nil {
				out.dirs = append(out.dirs, d)
			}
		}
		out.sort()
		out.treeOK = base != nil && base.treeOK && sameDirs(base, out)
		if out.treeOK {
			if t.taken {
				out.treeOK = !t.changed
			} else {
				out.treeOK = sameFiles(base, out)
			}
		}
		if out.treeOK {
			out.tree = base.tree
		}
		out.summarize(s.e.modes)
		out.odd |= oddOwnTree & oddOf(base)
		t.out = out
	}
	for _, sub := range t.subTask {
		s.e.tasks.Put(sub) // nobody is left who knows it
	}
	if t.parent != nil {
		t.parent.subs[t.slot] = t.out
		if !t.out.present && t.out.count == 0 {
			t.parent.subs[t.slot] = nil
		}
	}
}

// task is a task in memory that is used again: a scan has one a folder, of
// which a few live at a time.
func (s *scan) task() *task {
	t, _ := s.e.tasks.Get().(*task)
	if t == nil {
		return &task{}
	}
	clear(t.subs)
	clear(t.subTask)
	*t = task{subs: t.subs[:0], subTask: t.subTask[:0]}
	return t
}

// into is the task for a folder that is known.
func (s *scan) into(d *node, rules, old *ignore.Rules) *task {
	t := s.task()
	t.path, t.name, t.base, t.rules, t.old = d.path, d.name, d, rules, old
	return t
}

func oddOf(n *node) uint8 {
	if n == nil {
		return 0
	}
	return n.odd
}

// sameTree reports whether a and b certainly have the same tree: the same files
// with the same contents, and folders whose trees are known to be the same.
func sameTree(a, b *node) bool { return sameFiles(a, b) && sameDirs(a, b) }

func sameFiles(a, b *node) bool {
	i := 0
	for k := range b.files {
		f := &b.files[k]
		if !f.inTree() {
			continue
		}
		for i < len(a.files) && !a.files[i].inTree() {
			i++
		}
		if i >= len(a.files) || a.files[i].name != f.name || a.files[i].id != f.id || a.files[i].mode != f.mode {
			return false
		}
		i++
	}
	for ; i < len(a.files); i++ {
		if a.files[i].inTree() {
			return false
		}
	}
	return true
}

func sameDirs(a, b *node) bool {
	i := 0
	for _, d := range b.dirs {
		if d.treeOK && d.tree.IsZero() {
			continue
		}
		for i < len(a.dirs) && a.dirs[i].treeOK && a.dirs[i].tree.IsZero() {
			i++
		}
		if i >= len(a.dirs) || a.dirs[i].name != d.name || !d.treeOK || !a.dirs[i].treeOK || a.dirs[i].tree != d.tree {
			return false
		}
		i++
	}
	for ; i < len(a.dirs); i++ {
		if !a.dirs[i].treeOK || !a.dirs[i].tree.IsZero() {
			return false
		}
	}
	return true
}

// folder looks at one folder.
func (s *scan) folder(t *task) {
	t.pending.Store(1)
	defer s.done(t)
	if s.ctx.Err() != nil {
		t.out = t.vanished(s)
		return
	}
	if t.base == nil || !t.base.listed || t.relist {
		s.list(t) // nothing is known that could save reading the names
		return
	}
	st, err := s.e.disk.lstat(t.path, "")
	if t.path == "" && err == nil {
		st.kind = kindDir
	}
	if absent(err) || err == nil && st.kind != kindDir {
		t.out = t.vanished(s)
		return
	}
	if permission(err) {
		s.unreadable(t, err)
		return
	}
	if err != nil {
		s.fail(fmt.Errorf("look at %q: %w", t.path, err))
		return
	}
	if s.warm(t, st) {
		return
	}
	s.list(t)
}

// vanished is the folder as it is when nothing of it is on disk.
func (t *task) vanished(s *scan) *node {
	out := &node{path: t.path, name: t.name}
	if t.base == nil {
		return out
	}
	out.rules = t.base.rules
	for i := range t.base.files {
		if g, ok := gone(t.base.files[i]); ok {
			out.files = append(out.files, g)
		}
	}
	for _, d := range t.base.dirs {
		sub := s.into(d, nil, nil)
		s.descend(t, sub)
		sub.pending.Store(1)
		t.pending.Add(1)
		sub.out = sub.vanished(s)
		s.done(sub)
	}
	return out
}

// gone is the record of a file that is not on disk. Only tracked files get one,
// which marks them absent. Files that the index tells git not to check stay in
// the tree.
func gone(f file) (file, bool) {
	if f.class != tracked {
		return f, false
	}
	g := file{name: f.name, mode: f.mode, class: tracked, kind: f.kind,
		bits: f.bits&(bitAssume|bitSkip|bitIntent) | bitAbsent}
	if f.has(bitAssume | bitSkip) {
		g.id, g.raw = f.id, f.id
	}
	return g, true
}

// inherit finds the rules inside the folder. It returns false when they cannot
// be the ones that base's verdicts were made with.
func (s *scan) inherit(t *task) (rules *ignore.Rules, known bool) {
	b := t.base
	if b == nil {
		return t.rules, false
	}
	if s.purpose == forRestore {
		return b.rules, b.listed
	}
	if !b.listed || t.relist {
		return b.rules, false
	}
	if b.rulesFrom.IsZero() {
		return b.rules, b.rules == t.rules
	}
	return b.rules, b.rules.Parent() == t.rules
}

// warm handles a folder whose names are known to be the same. It returns false
// when it has to be listed.
func (s *scan) warm(t *task, st stat) bool {
	b := t.base
	rules, known := s.inherit(t)
	if !known || st.mtime != b.mtime || st.ctime != b.ctime || st.ino != b.ino || st.perm != b.perm {
		return false
	}
	if f := b.file(".gitignore"); f != nil && f.present() && s.purpose != forRestore {
		if now, err := s.e.disk.lstat(t.path, ".gitignore"); err != nil || !f.sameStat(now) {
			return false
		}
	}
	for i := range b.extras {
		// Changes in another repository do not change this folder's times.
		x := &b.extras[i]
		if x.what == extraNested || x.what == extraUnreadable {
			return false
		}
		if x.mtime != 0 {
			if now, err := s.e.disk.lstat(t.path, x.name); err != nil || !x.sameStat(now) {
				return false
			}
		}
	}
	var files []file
	var open folder
	defer func() {
		if open != nil {
			open.close()
		}
	}()
	for i := range b.files {
		f := &b.files[i]
		if !f.present() {
			continue
		}
		now, err := s.e.disk.lstat(t.path, f.name)
		if absent(err) {
			return false
		}
		if err != nil {
			s.fail(fmt.Errorf("look at %q: %w", join(t.path, f.name), err))
			return true
		}
		if f.mode != object.ModeGitlink && f.sameStat(now) {
			continue
		}
		if now.kind == kindDir && f.mode != object.ModeGitlink || now.kind > kindDir {
			return false
		}
		if open == nil {
			if open, err = s.e.disk.open(t.path); err != nil {
				return false
			}
		}
		nf, keep, err := s.contents(t, open, f, f.name, now)
		if err != nil || !keep {
			return false
		}
		if nf == *f {
			continue
		}
		if files == nil {
			files = append(files, b.files...)
		}
		files[i] = nf
	}
	if files != nil {
		c := *b
		c.files, c.treeOK, c.tree = files, false, object.Zero
		t.out = &c
	}
	t.same = true
	for _, d := range b.dirs {
		sub := s.into(d, rules, rules)
		sub.untracked, sub.keepAll = !d.hasTracked, t.keepAll
		s.descend(t, sub)
	}
	s.start(t)
	return true
}

// descend adds a folder below t; start sets those to work.
func (s *scan) descend(t, sub *task) {
	sub.parent, sub.slot = t, len(t.subTask)
	t.subTask = append(t.subTask, sub)
	t.subs = append(t.subs, nil)
}

func (s *scan) start(t *task) {
	if len(t.subTask) > 0 {
		t.pending.Add(int32(len(t.subTask)))
		s.queue.push(t.subTask...)
	}
}

// permission reports whether err means that the harness may not look.
func permission(err error) bool { return errors.Is(err, fs.ErrPermission) }
