package worktree

import (
	"slices"
	"strings"

	"git-ralph/gitstate/ignore"
	"git-ralph/gitstate/object"
	"git-ralph/internal/stable"
)

// class is why a file is known.
type class uint8

const (
	tracked   class = iota // in the index at the checkpoint
	untracked              // not in the index, not ignored
	ignored                // ignored, outside ignored folders, small: kept beside the tree
)

// form is how the bytes on disk follow from the objects.
type form uint8

const (
	formBlob   form = iota // the blob of the tree itself
	formCRLF               // that blob with every LF as CRLF
	formOwn                // a blob of its own, which the checkpoint keeps beside the tree
	formFilter             // too large for that: only through git's smudge filter
)

// bits of a file.
const (
	bitAssume  uint16 = 1 << iota // assume-unchanged
	bitSkip                       // skip-worktree
	bitIntent                     // intent-to-add
	bitAbsent                     // in the index, not on disk
	bitRacy                       // touched so late that its times prove nothing
	bitIndex                      // stat comes from the index: cut to 32 bits, perm unknown
	bitLarge                      // above the size limit: not stored, id unknown
	bitHidden                     // differs from the index, and the index says not to look
	bitRead                       // raw was computed from the bytes on disk, not taken from the index
	bitSettled                    // conversions are settled: id, raw and form are right
)

// file is one name of a folder with contents: a file, a symbolic link, or a
// submodule. It is 104 bytes, and there may be a quarter of a million.
type file struct {
	name  string
	id    object.ID // as the tree has it; zero = not in the tree
	raw   object.ID // of the bytes on disk (a link's target, a submodule's fingerprint)
	mode  object.Mode
	kind  kind // on disk
	class class
	form  form
	bits  uint16
	perm  uint32
	size  int64
	mtime int64
	ctime int64
	ino   uint64
}

func (f *file) has(bit uint16) bool { return f.bits&bit != 0 }
func (f *file) present() bool       { return f.bits&bitAbsent == 0 }

// inTree reports whether the file is part of the tree that `git add -A` would make.
func (f *file) inTree() bool { return f.class != ignored && !f.id.IsZero() }

// setStat takes over what lstat says.
func (f *file) setStat(st stat, started int64) {
	f.kind, f.perm, f.size, f.mtime, f.ctime, f.ino = st.kind, st.perm, st.size, st.mtime, st.ctime, st.ino
	f.bits &^= bitIndex | bitRacy | bitAbsent
	if late(st, started) {
		f.bits |= bitRacy
	}
}

// tick is how much the clock of the file system may lag behind the system's:
// the kernel stamps files with the time of its last tick (4 ms, 10 ms on slow
// configurations). A file whose change time is younger than this may change
// again without its times showing it.
const tick = 12_000_000

// late reports whether times cannot prove that nothing changed after st was
// taken. It uses ctime, which nobody can set, or mtime where there is none.
func late(st stat, started int64) bool {
	t := st.ctime
	if t == 0 {
		t = st.mtime
	}
	return t >= started-tick
}

// sameStat reports whether st proves that the file is what f recorded.
func (f *file) sameStat(st stat) bool {
	if f.has(bitRacy|bitAbsent) || st.kind != f.kind {
		return false
	}
	if f.has(bitIndex) {
		return uint32(st.size) == uint32(f.size) && cut(st.mtime) == f.mtime && cut(st.ctime) == f.ctime &&
			uint32(st.ino) == uint32(f.ino) && (st.kind != kindFile || f.size != 0 || st.size == 0)
	}
	return st.size == f.size && st.mtime == f.mtime && st.ctime == f.ctime && st.ino == f.ino && st.perm == f.perm
}

// cut is a time as an index stores it: 32 bits of seconds.
func cut(ns int64) int64 {
	sec, nsec := ns/1e9, ns%1e9
	if nsec < 0 {
		sec, nsec = sec-1, nsec+1e9
	}
	return int64(uint32(sec))*1e9 + nsec
}

// extra is a known name in a folder whose contents we do not store.
type extra struct {
	name string
	what extraKind
	kind kind
	mark object.ID // nested: fingerprint of what is in it
	size int64
	ino  uint64 // nested and special: to know it again when it was moved; 0 = not known
	// For an ignored file that is too large to be restored; mark is its copy.
	perm         uint32
	mtime, ctime int64 // 0 = it is no such file
	racy         bool
}

type extraKind uint8

const (
	extraIgnored    extraKind = iota // an ignored folder, or an ignored file that is not kept
	extraNested                      // another repository, or a worktree of one
	extraSpecial                     // fifo, socket, device
	extraUnreadable                  // a folder or file that may not be read
	extraOwn                         // the repository's own git directory under another name, or an output
)

// odd are properties of whole subtrees: a walk that looks for one of them
// skips everything without it.
const (
	oddUntracked uint8 = 1 << iota
	oddIgnored
	oddExtra
	oddAttributes // a .gitattributes is here
	oddMode       // permissions that neither tree nor umask imply
	oddEmpty      // a folder without anything in the tree
	oddBits       // flags of the index, absent files, conversions
	oddOwnTree    // a tree that this process wrote
)

// node is one folder. Nodes are immutable once a scan is done: two snapshots
// share every folder in which nothing changed, and equal pointers mean equal
// contents.
type node struct {
	path   string
	name   string
	dirs   []*node // by name
	files  []file  // by name
	extras []extra // by name

	present      bool // is on disk
	listed       bool // times prove that the names are complete
	perm         uint32
	mtime, ctime int64
	ino          uint64

	rules      *ignore.Rules // in force inside this folder
	rulesKnown bool          // a scan has settled them
	rulesFrom  object.ID     // blob id of the ignore file of this folder that is part of them
	top        *ignore.Rules // of the root only: info/exclude and core.excludesFile
	attributes string        // of the root only: the attributes that conversions were settled by

	odd        uint8 // of the subtree
	hasTracked bool  // the subtree has files that the index knows
	count      int   // files in the subtree

	tree   object.ID // valid if treeOK; zero = nothing in the tree
	treeOK bool
}

func (n *node) dir(name string) *node {
	if n == nil {
		return nil
	}
	if i, ok := findDir(n.dirs, name); ok {
		return n.dirs[i]
	}
	return nil
}

func findDir(dirs []*node, name string) (int, bool) {
	return slices.BinarySearchFunc(dirs, name, func(d *node, s string) int { return strings.Compare(d.name, s) })
}

func (n *node) file(name string) *file {
	if n == nil {
		return nil
	}
	if i, ok := findFile(n.files, name); ok {
		return &n.files[i]
	}
	return nil
}

func findFile(files []file, name string) (int, bool) {
	return slices.BinarySearchFunc(files, name, func(f file, s string) int { return strings.Compare(f.name, s) })
}

func (n *node) extra(name string) *extra {
	if n == nil {
		return nil
	}
	i, ok := slices.BinarySearchFunc(n.extras, name, func(x extra, s string) int { return strings.Compare(x.name, s) })
	if !ok {
		return nil
	}
	return &n.extras[i]
}

// at is the folder at path; nil when it is not known.
func (n *node) at(path string) *node {
	for path != "" && n != nil {
		var name string
		name, path = cutPath(path)
		n = n.dir(name)
	}
	return n
}

// fileAt is the file at path; nil when it is not known.
func (n *node) fileAt(path string) *file {
	dir, name := split(path)
	return n.at(dir).file(name)
}

func (n *node) sort() {
	n.files = sortedFiles(n.files)
	slices.SortFunc(n.dirs, func(a, b *node) int { return strings.Compare(a.name, b.name) })
	if len(n.extras) > 1 {
		sortExtras(n.extras)
	}
}

// sortedFiles sorts pointers, which move less than the files do, and copies each file once.
func sortedFiles(files []file) []file {
	sorted := true
	for i := 1; i < len(files) && sorted; i++ {
		sorted = files[i-1].name <= files[i].name
	}
	if sorted {
		return files
	}
	order := make([]*file, len(files))
	for i := range files {
		order[i] = &files[i]
	}
	slices.SortFunc(order, func(a, b *file) int { return strings.Compare(a.name, b.name) })
	out := make([]file, len(files))
	for i, f := range order {
		out[i] = *f
	}
	return out
}

func sortExtras(list []extra) {
	stable.Sort(list, func(a, b extra) int { return strings.Compare(a.name, b.name) })
}

// modes are the permissions that files and folders have by default here.
type modes struct{ file, exec, dir uint32 }

func (m modes) of(mode object.Mode) uint32 {
	if mode == object.ModeExecutable {
		return m.exec
	}
	return m.file
}

// summarize computes what a node says about its whole subtree.
func (n *node) summarize(m modes) {
	var odd uint8
	n.count = len(n.files)
	n.hasTracked = false
	inTree := false
	for i := range n.files {
		f := &n.files[i]
		switch f.class {
		case tracked:
			n.hasTracked = true
		case untracked:
			odd |= oddUntracked
		case ignored:
			odd |= oddIgnored
		}
		if f.bits&^(bitRacy|bitIndex|bitRead|bitSettled) != 0 || f.form != formBlob || f.mode == object.ModeGitlink ||
			f.kind != kindLink && f.mode == object.ModeSymlink {
			odd |= oddBits
		}
		if f.kind == kindFile && !f.has(bitIndex) && f.perm != m.of(f.mode) {
			odd |= oddMode
		}
		if f.name == ".gitattributes" {
			odd |= oddAttributes
		}
		inTree = inTree || f.inTree() && f.present()
	}
	if len(n.extras) > 0 {
		odd |= oddExtra
	}
	for _, d := range n.dirs {
		odd |= d.odd
		n.count += d.count
		n.hasTracked = n.hasTracked || d.hasTracked
		inTree = inTree || d.present
	}
	if n.present && n.perm != m.dir {
		odd |= oddMode
	}
	if n.present && !inTree {
		odd |= oddEmpty
	}
	n.odd = odd
}

// walk calls f for every folder whose subtree has one of the odd properties,
// parents first. Mask 0 means every folder.
func (n *node) walk(mask uint8, f func(*node) error) error {
	if n == nil || mask != 0 && n.odd&mask == 0 {
		return nil
	}
	if err := f(n); err != nil {
		return err
	}
	for _, d := range n.dirs {
		if err := d.walk(mask, f); err != nil {
			return err
		}
	}
	return nil
}
