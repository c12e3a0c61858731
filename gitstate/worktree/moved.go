package worktree

import (
	"slices"
	"strings"

	"git-ralph/gitstate/object"
)

// back is something of the checkpoint that could not be kept, was carried away
// (with its folder, as a rule) and was found again by its inode.
type back struct {
	from, to string
	aside    string // where it waits until its folder is there
}

// maxLooked bounds the search for what was carried into ignored folders, in
// names.
const maxLooked = 200_000

// findMoved plans to move back what the checkpoint has only by name: large
// files, other repositories, submodules, special files. What has the same inode,
// size and times is the same thing, wherever it is; it is never removed.
func (r *restorer) findMoved(target, now *node) {
	missing := map[uint64]back{}
	was := map[uint64]file{}
	marks := map[uint64]object.ID{}
	_ = target.walk(oddExtra|oddBits, func(n *node) error {
		there := now.at(n.path)
		for i := range n.files {
			f := &n.files[i]
			if f.ino == 0 || !f.present() || !f.has(bitLarge) && f.mode != object.ModeGitlink {
				continue
			}
			if x := there.file(f.name); x == nil || !x.present() || x.ino != f.ino {
				missing[f.ino] = back{to: join(n.path, f.name)}
				was[f.ino], marks[f.ino] = *f, f.raw
			}
		}
		for i := range n.extras {
			x := &n.extras[i]
			if x.ino == 0 || x.what == extraIgnored || x.what == extraOwn {
				continue
			}
			if y := there.extra(x.name); y == nil || y.ino != x.ino {
				missing[x.ino] = back{to: join(n.path, x.name)}
				was[x.ino], marks[x.ino] = file{kind: x.kind, ino: x.ino}, x.mark
			}
		}
		return nil
	})
	if len(missing) == 0 {
		return
	}
	found := func(ino uint64, path string) {
		b, ok := missing[ino]
		if !ok || !r.wants(b.to) || path == b.to || !r.sameThing(path, was[ino], marks[ino]) {
			return
		}
		b.from = path
		r.backs = append(r.backs, b)
		delete(missing, ino)
	}
	var ignored []string
	_ = now.walk(0, func(n *node) error {
		for i := range n.files {
			if f := &n.files[i]; f.present() {
				found(f.ino, join(n.path, f.name))
			}
		}
		for i := range n.extras {
			x := &n.extras[i]
			switch {
			case x.what == extraIgnored && x.kind == kindDir:
				ignored = append(ignored, join(n.path, x.name))
			case x.ino != 0:
				found(x.ino, join(n.path, x.name))
			}
		}
		return nil
	})
	r.searchIgnored(ignored, func() bool { return len(missing) > 0 }, found)
	r.leaveBacks()
}

// searchIgnored tells found every inode below the ignored folders, as long as more asks for them and
// up to maxLooked names.
func (r *restorer) searchIgnored(ignored []string, more func() bool, found func(ino uint64, path string)) {
	looked := 0
	for len(ignored) > 0 && more() && looked < maxLooked {
		dir := ignored[0]
		ignored = ignored[1:]
		d, err := r.e.disk.open(dir)
		if err != nil {
			continue
		}
		_ = d.list(func(e dirent) error {
			looked++
			path := join(dir, string(e.name))
			if e.kind == kindDir {
				ignored = append(ignored, path)
			}
			if e.ino != 0 {
				found(e.ino, path)
			}
			return nil
		})
		d.close()
	}
}

// sameThing reports whether path is what the checkpoint knows by its inode, and
// not a new file with a reused inode.
func (r *restorer) sameThing(path string, was file, mark object.ID) bool {
	st, err := r.e.disk.lstat(path, "")
	if err != nil || st.kind != was.kind || st.ino != was.ino {
		return false
	}
	if st.kind == kindDir {
		return mark.IsZero() || r.e.fingerprint(path) == mark
	}
	return was.kind > kindDir || st.size == was.size && st.mtime == was.mtime
}

// leaveBacks removes what is moved back, and its contents, from the other steps.
func (r *restorer) leaveBacks() {
	moved := func(path string) bool {
		return slices.ContainsFunc(r.backs, func(b back) bool {
			return path == b.from || strings.HasPrefix(path, b.from+"/") || path == b.to
		})
	}
	r.removes = slices.DeleteFunc(r.removes, func(x removal) bool { return moved(x.path) })
	r.asides = slices.DeleteFunc(r.asides, moved)
	r.mkdirs = slices.DeleteFunc(r.mkdirs, func(n *node) bool { return moved(n.path) })
	r.report.Gone = slices.DeleteFunc(r.report.Gone, moved)
	r.report.Left = slices.DeleteFunc(r.report.Left, moved)
}

// moveStep is one of the two moves of something that was carried away.
type moveStep bool

const (
	toPlace  moveStep = true
	toSafety moveStep = false
)

// moveBack moves things back to their places. Before the other steps it takes
// them to where nothing of them can be removed; when the folders are made, to
// their names.
func (r *restorer) moveBack(last moveStep) {
	for i := range r.backs {
		b := &r.backs[i]
		if last == toSafety {
			err := r.inFolder(b.from, func(d folder, name string) error {
				return r.inFolder(b.to, func(to folder, toName string) error { return d.moveTo(to, name, toName) })
			})
			if err == nil {
				r.report.Back = append(r.report.Back, b.to)
				b.from = ""
				continue
			}
			err = r.inFolder(b.from, func(d folder, name string) (err error) {
				b.aside, err = r.e.takeAside(d, name, b.to, r.keep.Event)
				return err
			})
			if err != nil {
				r.failed(b.to, err)
				b.from = ""
			}
			continue
		}
		if b.from == "" {
			continue
		}
		err := r.inFolder(b.to, func(d folder, name string) error { return r.e.bringIn(d, b.aside, b.to) })
		if err != nil {
			// It is safe where it is.
			r.report.Saved = append(r.report.Saved, Saved{Path: b.to, Aside: b.aside})
			continue
		}
		r.report.Back = append(r.report.Back, b.to)
	}
}
