package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/worktree/index"
	"git-ralph/internal/stable"
)

// indexView is the user's index as it was read: never written from here.
type indexView struct {
	state IndexState
	key   indexKey
	whole bool      // state comes from that one file alone
	sum   object.ID // of the bytes of that file; zero = it has none
}

// indexKey says that an index file is still the one that was read.
type indexKey struct {
	size, mtime, ctime int64
	ino                uint64
	racy               bool
}

// IndexState is the index as entries, to compare in a tamper check and to
// restore after an agent has changed it. It has no stat data.
type IndexState struct {
	Tree     object.ID    // of all entries of stage 0 without intent-to-add; zero when there are unmerged ones
	Unmerged []StageEntry // stages 1 to 3
	Bits     []EntryBits  // entries with flags, by path
}

// StageEntry is an entry of an unmerged path.
type StageEntry struct {
	Path  string
	Stage uint8
	Mode  object.Mode
	ID    object.ID
}

// EntryBits are the flags of one entry; entries without flags are left out.
type EntryBits struct {
	Path  string
	Flags index.Flags
}

// Equal reports whether two indexes have the same entries and flags.
func (a IndexState) Equal(b IndexState) bool {
	return a.Tree == b.Tree && slices.Equal(a.Unmerged, b.Unmerged) && slices.Equal(a.Bits, b.Bits)
}

// IndexPath is the user's index.
func (r Repo) IndexPath() string { return filepath.Join(r.GitDir, "index") }

// readIndex reads the user's index. No index file is an empty index. A split
// one is made whole by git in a private copy.
func (e *Engine) readIndex(ctx context.Context) (*index.File, indexKey, error) {
	key, data, done, err := e.readIndexBytes()
	defer done()
	if errors.Is(err, fs.ErrNotExist) {
		return &index.File{Version: 2, NullHash: e.settings.skipHash}, key, nil
	}
	if err != nil {
		return nil, key, fmt.Errorf("read the index: %w", err)
	}
	f, err := index.Decode(data)
	if errors.Is(err, index.ErrSplit) {
		f, err = e.unsplit(ctx, data)
	}
	if err != nil {
		return nil, key, fmt.Errorf("read the index: %w", err)
	}
	if err := e.expandSparse(f); err != nil {
		return nil, key, err
	}
	return f, key, nil
}

// readIndexBytes reads the index file. Done ends the use of data, and the next index is
// read into the same memory.
func (e *Engine) readIndexBytes() (key indexKey, data []byte, done func(), err error) {
	var room []byte
	if old := e.bytes.Swap(nil); old != nil {
		room = *old
	}
	key, data, err = readIndexFile(e.repo.IndexPath(), room)
	return key, data, func() {
		if cap(data) <= 8<<20 {
			e.bytes.Store(&data)
		}
	}, err
}

// readIndexFile reads an index file, into room if that is large enough.
func readIndexFile(path string, room []byte) (indexKey, []byte, error) {
	in, err := os.Open(path)
	if err != nil {
		return indexKey{}, nil, err
	}
	defer in.Close()
	fi, err := in.Stat()
	if err != nil {
		return indexKey{}, nil, err
	}
	st := infoStat(fi)
	key := indexKey{st.size, st.mtime, st.ctime, st.ino, late(st, time.Now().UnixNano())}
	data := slices.Grow(room[:0], int(st.size))[:st.size]
	if _, err := readFull(in, data); err != nil {
		return key, nil, err
	}
	return key, data, nil
}

// unsplit lets git join a split index, in a copy of it.
func (e *Engine) unsplit(ctx context.Context, data []byte) (*index.File, error) {
	tmp, err := os.CreateTemp("", "git-ralph-index-*")
	if err != nil {
		return nil, err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(data)
	if err = errors.Join(err, tmp.Close()); err != nil {
		return nil, err
	}
	defer os.Remove(tmp.Name() + ".lock")
	if _, err := e.repo.Git.WithIndex(tmp.Name()).Run(ctx, "-c", "core.splitIndex=false", "update-index",
		"--no-split-index"); err != nil {
		return nil, fmt.Errorf("join the split index: %w", err)
	}
	whole, err := os.ReadFile(tmp.Name())
	if err != nil {
		return nil, err
	}
	return index.Decode(whole)
}

// expandSparse replaces the folders of a sparse index by their files, which are
// not checked out.
func (e *Engine) expandSparse(f *index.File) error {
	if !slices.ContainsFunc(f.Entries, func(x index.Entry) bool { return x.SparseDir() }) {
		return nil
	}
	var out []index.Entry
	var add func(dir string, id object.ID) error
	add = func(dir string, id object.ID) error {
		list, err := e.repo.Store.ReadTree(id)
		if err != nil {
			return fmt.Errorf("expand the sparse folder %q: %w", dir, err)
		}
		for _, t := range list {
			if t.Mode == object.ModeDir {
				if err := add(dir+t.Name+"/", t.ID); err != nil {
					return err
				}
				continue
			}
			out = append(out, index.Entry{Path: dir + t.Name, Mode: t.Mode, ID: t.ID, Flags: index.SkipWorktree})
		}
		return nil
	}
	for _, x := range f.Entries {
		if !x.SparseDir() {
			out = append(out, x)
			continue
		}
		if err := add(strings.TrimSuffix(x.Path, "/")+"/", x.ID); err != nil {
			return err
		}
	}
	stable.Sort(out, func(a, b index.Entry) int { return strings.Compare(a.Path, b.Path) })
	f.Entries = out
	// Its counts were those of the sparse entries.
	f.Trees = nil
	f.Extensions = slices.DeleteFunc(f.Extensions, func(x index.Extension) bool { return x.Name == "sdir" })
	return nil
}

func stateOf(f *index.File, store *object.Store) (IndexState, error) {
	var s IndexState
	for i := range f.Entries {
		x := &f.Entries[i]
		if x.Stage != 0 {
			s.Unmerged = append(s.Unmerged, StageEntry{x.Path, x.Stage, x.Mode, x.ID})
		}
		if x.Flags != 0 {
			s.Bits = append(s.Bits, EntryBits{x.Path, x.Flags})
		}
	}
	merged := f
	if len(s.Unmerged) > 0 {
		c := *f
		c.Trees = nil
		c.Entries = slices.DeleteFunc(slices.Clone(f.Entries), func(x index.Entry) bool { return x.Stage != 0 })
		merged = &c
	}
	var err error
	if s.Tree, err = merged.WriteTree(store); err != nil {
		return s, fmt.Errorf("make the tree of the index: %w", err)
	}
	return s, nil
}

// nodesOf is the snapshot that the index alone describes.
func (e *Engine) nodesOf(f *index.File, mtime int64) *node {
	b := newNodeBuilder(e.modes, mtime)
	for i := range f.Entries {
		b.add(&f.Entries[i])
	}
	return b.finish(f.Trees)
}

// nodeBuilder makes a snapshot of the entries of an index, in their order.
type nodeBuilder struct {
	modes  modes
	mtime  int64 // of the index
	stack  []openNode
	files  [][]file // of the open folders, one buffer a depth: each folder gets a copy of the right size
	state  IndexState
	sparse bool
}

type openNode struct {
	n      *node
	prefix string // with a final slash
}

func newNodeBuilder(m modes, mtime int64) *nodeBuilder {
	return &nodeBuilder{modes: m, mtime: mtime, stack: []openNode{{n: &node{}}}, files: make([][]file, 1)}
}

// open makes the folder the one that entries are added to.
func (b *nodeBuilder) open(d openNode) {
	b.stack = append(b.stack, d)
	if len(b.files) < len(b.stack) {
		b.files = append(b.files, nil)
	}
}

func (b *nodeBuilder) pop() *node {
	top := b.stack[len(b.stack)-1].n
	b.stack = b.stack[:len(b.stack)-1]
	depth := len(b.stack)
	if len(b.files[depth]) > 0 {
		top.files = slices.Clone(b.files[depth])
		b.files[depth] = b.files[depth][:0]
	}
	top.sort()
	top.summarize(b.modes)
	return top
}

func (b *nodeBuilder) add(x *index.Entry) {
	b.sparse = b.sparse || x.SparseDir()
	if x.Flags != 0 {
		b.state.Bits = append(b.state.Bits, EntryBits{x.Path, x.Flags})
	}
	for !strings.HasPrefix(x.Path, b.stack[len(b.stack)-1].prefix) {
		b.pop()
	}
	top := b.stack[len(b.stack)-1]
	for {
		slash := strings.IndexByte(x.Path[len(top.prefix):], '/')
		if slash < 0 {
			break
		}
		end := len(top.prefix) + slash
		d := &node{path: x.Path[:end], name: x.Path[len(top.prefix):end]}
		top.n.dirs = append(top.n.dirs, d)
		top = openNode{d, x.Path[:end+1]}
		b.open(top)
	}
	name := x.Path[len(top.prefix):]
	files := &b.files[len(b.stack)-1]
	if x.Stage != 0 {
		b.state.Unmerged = append(b.state.Unmerged, StageEntry{x.Path, x.Stage, x.Mode, x.ID})
		if k := len(*files); k == 0 || (*files)[k-1].name != name {
			*files = append(*files, file{name: name, mode: x.Mode, class: tracked, kind: kindFile, bits: bitRacy | bitIndex})
		}
		return
	}
	*files = append(*files, entryFile(x, name, b.mtime))
}

func (b *nodeBuilder) finish(cache *index.CacheTree) *node {
	for len(b.stack) > 1 {
		b.pop()
	}
	root := b.pop()
	adoptTrees(root, cache)
	return root
}

// adoptTrees takes over the ids of folders that the index knows.
func adoptTrees(n *node, cache *index.CacheTree) {
	if cache == nil {
		return
	}
	if cache.Entries >= 0 && cache.Entries == n.count {
		n.tree, n.treeOK = cache.ID, true
		if cache.ID == object.EmptyTree {
			n.tree = object.Zero
		}
	}
	for _, s := range cache.Sub {
		if d := n.dir(s.Name); d != nil {
			adoptTrees(d, s)
		}
	}
}

// readNodes reads the user's index as a snapshot. Its entries are kept nowhere
// else: of a large index they would be most of what the process needs.
func (e *Engine) readNodes(ctx context.Context) (*node, *indexView, error) {
	key, data, done, err := e.readIndexBytes()
	if err == nil {
		b := newNodeBuilder(e.modes, key.mtime)
		f, err := index.Each(data, b.add)
		sum := index.Checksum(data)
		done()
		if err == nil && !b.sparse && len(b.state.Unmerged) == 0 && f.Trees != nil && f.Trees.Entries >= 0 {
			root := b.finish(f.Trees)
			if root.treeOK {
				b.state.Tree = f.Trees.ID
				if data = nil; root.count > 100_000 {
					// Collecting the bytes of a large index now costs a few per cent of
					// a scan of as many files and keeps the peak near git's own.
					runtime.GC()
				}
				return root, &indexView{key: key, state: b.state, whole: true, sum: sum}, nil
			}
		}
	}
	// Everything unusual, and an index whose tree is not known.
	f, key, err := e.readIndex(ctx)
	if err != nil {
		return nil, nil, err
	}
	state, err := stateOf(f, e.repo.Store)
	return e.nodesOf(f, key.mtime), &indexView{key: key, state: state}, err
}

// entryFile is the file that an index entry describes.
func entryFile(x *index.Entry, name string, mtime int64) file {
	n := file{name: name, id: x.ID, raw: x.ID, mode: x.Mode, class: tracked, kind: kindFile, bits: bitIndex,
		size: int64(x.Size), ino: uint64(x.Ino),
		mtime: int64(x.MtimeSec)*1e9 + int64(x.MtimeNsec), ctime: int64(x.CtimeSec)*1e9 + int64(x.CtimeNsec)}
	switch x.Mode {
	case object.ModeSymlink:
		n.kind = kindLink
	case object.ModeGitlink:
		n.kind, n.raw = kindDir, object.Zero
	}
	if x.Flags&index.AssumeUnchanged != 0 {
		n.bits |= bitAssume
	}
	if x.Flags&index.SkipWorktree != 0 {
		n.bits |= bitSkip
	}
	if x.Flags&index.IntentToAdd != 0 {
		n.bits |= bitIntent
		n.id, n.raw = object.Zero, object.Zero
	}
	// git's racy rule, with the tick of the file system's clock in our favour.
	if mtime <= n.mtime+tick || n.id.IsZero() {
		n.bits |= bitRacy
	}
	return n
}

// sameIndex reports whether the index file is the one that e.index was read from.
func (e *Engine) sameIndex() bool {
	fi, err := os.Lstat(e.repo.IndexPath())
	if err != nil || !fi.Mode().IsRegular() {
		return false
	}
	st := infoStat(fi)
	return indexKey{st.size, st.mtime, st.ctime, st.ino, false} == e.index.key
}

// base is the snapshot to start a checkpoint from: the newest one, with the
// tracked files of the index as it is now. Own says that nobody else has it.
func (e *Engine) base(ctx context.Context) (base *node, own bool, err error) {
	if e.index != nil && e.last != nil && e.sameIndex() {
		return e.last, false, nil
	}
	fresh, view, err := e.readNodes(ctx)
	if err != nil {
		return nil, false, err
	}
	if e.last != nil {
		fresh = e.merge(fresh, e.last)
		e.merging = nil
	}
	e.index = view
	return fresh, e.last == nil, nil
}

// merge combines what the last snapshot knows about the disk with the tracked
// files of a newly read index. Unchanged folders are shared with the last
// snapshot.
func (e *Engine) merge(fresh, last *node) *node {
	if last == nil {
		return fresh
	}
	out := *last
	out.files, out.dirs = e.merging[:0], make([]*node, 0, len(last.dirs))
	same := true
	k := 0
	for i := range fresh.files {
		ff := &fresh.files[i]
		for ; k < len(last.files) && last.files[k].name < ff.name; k++ {
			same = keepFile(&out, &last.files[k]) && same
		}
		if k >= len(last.files) || last.files[k].name != ff.name {
			out.files, same = append(out.files, *ff), false
			if last.extra(ff.name) != nil {
				out.listed = false
			}
			continue
		}
		nf := last.files[k]
		k++
		const own = bitAssume | bitSkip | bitIntent
		if nf.class != tracked || nf.bits&own != ff.bits&own || nf.bits&own != 0 && nf.id != ff.id {
			nf.class = tracked
			nf.bits = nf.bits&^(own|bitHidden) | ff.bits&own
			if nf.raw == ff.raw {
				nf.id, nf.form, nf.mode = ff.id, formBlob, ff.mode
			} else {
				nf.bits |= bitRacy
				if nf.bits&(bitAssume|bitSkip) != 0 {
					nf.id, nf.mode = ff.id, ff.mode
				}
			}
			if nf.has(bitAbsent) {
				nf, _ = gone(*ff)
			}
		}
		if nf != last.files[k-1] {
			same = false
		}
		out.files = append(out.files, nf)
	}
	for ; k < len(last.files); k++ {
		same = keepFile(&out, &last.files[k]) && same
	}
	// The buffer is for the folders below, too. Files that are the last snapshot's
	// are copied only when something else of the folder differs.
	e.merging = out.files
	if out.files = nil; !same {
		out.files = slices.Clone(e.merging)
	}
	sameFiles := same
	k = 0
	for _, fd := range fresh.dirs {
		for ; k < len(last.dirs) && last.dirs[k].name < fd.name; k++ {
			same = e.keepDir(&out, last.dirs[k]) && same
		}
		if k < len(last.dirs) && last.dirs[k].name == fd.name {
			d := e.merge(fd, last.dirs[k])
			same = same && d == last.dirs[k]
			out.dirs = append(out.dirs, d)
			k++
			continue
		}
		same = false
		out.listed = false
		out.dirs = append(out.dirs, fd)
	}
	for ; k < len(last.dirs); k++ {
		same = e.keepDir(&out, last.dirs[k]) && same
	}
	// A tree that the index now vouches for is part of a commit, most likely: it
	// need not be kept from gc by us any more.
	settled := last.odd&oddOwnTree != 0 && fresh.treeOK && last.treeOK && fresh.tree == last.tree
	if same && !settled {
		return last
	}
	if sameFiles {
		out.files = slices.Clone(last.files)
	}
	out.treeOK = last.treeOK && sameTree(last, &out)
	out.summarize(e.modes)
	if settled && out.treeOK {
		out.odd &^= oddOwnTree
	} else {
		out.odd |= last.odd & oddOwnTree
	}
	return &out
}

// keepFile keeps a file that the index does not have. One that it had until
// now has to be classified again, by listing the folder.
func keepFile(out *node, f *file) bool {
	if f.class == tracked {
		out.listed = false
		return false
	}
	out.files = append(out.files, *f)
	return true
}

func (e *Engine) keepDir(out *node, d *node) bool {
	if !d.hasTracked {
		out.dirs = append(out.dirs, d)
		return true
	}
	n := e.merge(&node{path: d.path, name: d.name}, d)
	if n.present || n.count > 0 {
		out.dirs = append(out.dirs, n)
	}
	// Whether it is ignored as a whole is for a new listing to say.
	out.listed = false
	return false
}
