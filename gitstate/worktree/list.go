package worktree

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"git-ralph/gitstate/ignore"
	"git-ralph/gitstate/object"
)

// smallIgnored is the size up to which an ignored file outside ignored folders
// is part of the checkpoint.
const smallIgnored = 1 << 20

// list looks at a folder by reading its names.
func (s *scan) list(t *task) {
	dir, err := s.e.disk.open(t.path)
	if absent(err) {
		t.out = t.vanished(s)
		return
	}
	if permission(err) && s.purpose == forRestore && t.base.extra("") == nil && s.e.unlock(t.path) == nil {
		dir, err = s.e.disk.open(t.path)
	}
	if err != nil {
		s.unreadable(t, err)
		return
	}
	defer dir.close()
	self, err := dir.stat()
	if err != nil {
		s.fail(fmt.Errorf("look at %q: %w", t.path, err))
		t.out = t.vanished(s)
		return
	}
	if self.perm&0o100 == 0 {
		// Its names may be read, but nothing in it. That is as bad as an
		// unreadable folder, unless we are root. An lstat of a name that does not
		// exist tells.
		if _, err := dir.lstat(tempName()); permission(err) {
			if s.purpose != forRestore || t.base.extra("") != nil || s.e.unlock(t.path) != nil {
				s.unreadable(t, err)
				return
			}
			if self, err = dir.stat(); err != nil {
				s.unreadable(t, err)
				return
			}
		}
	}
	out := &node{path: t.path, name: t.name, present: true, perm: self.perm,
		mtime: self.mtime, ctime: self.ctime, ino: self.ino, listed: !late(self, s.started)}
	l, _ := s.pool.Get().(*listing)
	if l == nil {
		l = &listing{}
	}
	defer s.pool.Put(l)
	l.reset()
	isRepo := false
	if err := dir.list(func(d dirent) error {
		if string(d.name) == ".git" {
			isRepo = true
			return nil
		}
		l.add(d)
		return nil
	}); absent(err) {
		t.out = t.vanished(s) // it was removed between its open and its names
		return
	} else if err != nil {
		s.unreadable(t, err)
		return
	}
	if isRepo && t.path != "" {
		if s.nested(t, dir, out) {
			return
		}
	}
	t.out = out
	names := l.entries()
	s.rules(t, dir, out, names)
	s.names(t, dir, out, names, l)
	s.start(t)
}

// listing holds the names of one folder, in memory that is used again: names
// are only lent by the folder, and a scan reads many.
type listing struct {
	text  []byte
	ends  []int
	kinds []kind
	list  []dirent
	seen  []bool
}

func (l *listing) reset() {
	l.text, l.ends, l.kinds, l.list = l.text[:0], l.ends[:0], l.kinds[:0], l.list[:0]
}

func (l *listing) add(d dirent) {
	l.text = append(l.text, d.name...)
	l.ends = append(l.ends, len(l.text))
	l.kinds = append(l.kinds, d.kind)
}

func (l *listing) entries() []dirent {
	from := 0
	for i, end := range l.ends {
		l.list = append(l.list, dirent{name: l.text[from:end:end], kind: l.kinds[i]})
		from = end
	}
	return l.list
}

// marks returns n falses.
func (l *listing) marks(n int) []bool {
	l.seen = append(l.seen[:0], make([]bool, n)...)
	return l.seen
}

// unreadable records a folder that may not be read. What the index has in it
// cannot be judged, which is an error for a checkpoint.
func (s *scan) unreadable(t *task, err error) {
	if !t.untracked && t.base != nil && t.base.count > 0 && s.purpose == forCheckpoint || !permission(err) {
		s.fail(fmt.Errorf("read folder %q: %w", t.path, err))
		t.out = t.vanished(s)
		return
	}
	t.out = &node{path: t.path, name: t.name, present: true,
		extras: []extra{{name: "", what: extraUnreadable, kind: kindDir}}}
	if st, err := s.e.disk.lstat(t.path, ""); err == nil {
		t.out.perm = st.perm
	} else if t.base != nil {
		t.out.perm = t.base.perm
	}
	if t.base != nil {
		t.out.rules = t.base.rules
		for _, f := range t.base.files {
			if f.class == tracked {
				f.bits |= bitRacy
				t.out.files = append(t.out.files, f)
			}
		}
		for _, d := range t.base.dirs {
			s.descend(t, s.into(d, d.rules, d.rules))
		}
		s.start(t)
	}
}

// rules settles which ignore rules hold in the folder.
func (s *scan) rules(t *task, dir folder, out *node, names []dirent) {
	var base *ignore.Rules
	if t.base != nil {
		base = t.base.rules
	}
	if s.purpose == forRestore {
		// A folder that the checkpoint does not know has no rules of its own:
		// an ignore file in it is one of the agent's.
		out.rules = t.rules
		if t.base != nil && t.base.rulesKnown {
			out.rules, out.rulesFrom = base, t.base.rulesFrom
		}
		out.rulesKnown = t.base != nil && t.base.rulesKnown
		return
	}
	out.rulesKnown = true
	out.rules = t.rules
	var data []byte
	var from object.ID
	found := false
	for _, n := range names {
		if string(n.name) == ".gitignore" {
			// A symbolic link is not followed: git treats it as absent.
			b, err := s.e.readSmall(dir, ".gitignore")
			var broken syscall.Errno
			switch {
			case err == nil:
				data, from, found = b, object.Sum(object.Blob, b), true
			case errors.As(err, &broken) && !absent(err) && !permission(err):
				// Without its rules ignored files would count as work.
				s.fail(fmt.Errorf("read %q: %w", join(t.path, ".gitignore"), err))
			}
		}
	}
	if !found && t.base != nil {
		if f := t.base.file(".gitignore"); f != nil && f.has(bitSkip) && !f.id.IsZero() && f.mode != object.ModeSymlink {
			if b, err := s.e.repo.Store.ReadType(f.id, object.Blob); err == nil {
				data, from, found = b, f.id, true
			}
		}
	}
	if !found {
		return
	}
	if base != nil && t.base.rulesFrom == from && base.Parent() == t.rules {
		out.rules, out.rulesFrom = base, from
		return
	}
	if l := ignore.Parse(data, t.path, s.e.settings.ignoreCase); !l.Empty() {
		out.rules, out.rulesFrom = t.rules.Push(l), from
	}
}

// shutOff reports whether the folder of t is ignored as a whole. Only folders that
// the index knows are looked into in spite of that.
func (s *scan) shutOff(t *task) bool {
	if t == nil || t.path == "" {
		return false
	}
	if v := t.shut.Load(); v != 0 {
		return v == 2
	}
	shut := s.shutOff(t.parent) || s.excluded(t.rules, t.old, t.path, aFolder)
	if shut {
		t.shut.Store(2)
	} else {
		t.shut.Store(1)
	}
	return shut
}

// entryType says what an ignore rule is matched against: some rules match folders only.
type entryType bool

const (
	aFolder entryType = true
	aFile   entryType = false
)

func (s *scan) excluded(rules, old *ignore.Rules, path string, dir entryType) bool {
	now := rules.Match(path, bool(dir)) == ignore.Ignored
	if s.purpose != forCapture && s.also == nil || old == rules {
		return now
	}
	before := old.Match(path, bool(dir)) == ignore.Ignored
	if now != before && s.purpose == forCapture {
		s.mu.Lock()
		s.between = append(s.between, path)
		s.mu.Unlock()
	}
	return now || before
}

// names classifies every name of a folder.
func (s *scan) names(t *task, dir folder, out *node, names []dirent, l *listing) {
	b := t.base
	old := t.old
	if s.purpose == forCapture && b != nil && b.rulesKnown {
		old = b.rules
	}
	if s.also != nil {
		if n := s.also.at(t.path); n != nil && n.rulesKnown {
			old = n.rules
		}
	}
	relist := s.purpose != forRestore && (b == nil || b.rules != out.rules)
	var seenFiles, seenDirs []bool
	if b != nil {
		marks := l.marks(len(b.files) + len(b.dirs))
		seenFiles, seenDirs = marks[:len(b.files)], marks[len(b.files):]
		// Attribute files by which git wrote files are needed later.
		t.own = s.own && b.file(".gitattributes") == nil
		if !t.own {
			out.files = make([]file, 0, len(b.files))
		}
	}
	for _, n := range names {
		if s.e.settings.ignoreCase && b != nil {
			n.name = b.foldName(n.name)
		}
		if b != nil {
			if i, ok := findFileBytes(b.files, n.name); ok && s.known(t, dir, out, &b.files[i]) {
				seenFiles[i] = true
				continue
			}
			if i, ok := findDirBytes(b.dirs, n.name); ok && (n.kind == kindDir || n.kind == kindUnknown) {
				d := b.dirs[i]
				if d.hasTracked || !relist {
					seenDirs[i] = true
					sub := s.into(d, out.rules, old)
					sub.untracked, sub.relist, sub.keepAll = !d.hasTracked, relist, t.keepAll
					s.descend(t, sub)
					continue
				}
			}
		}
		s.fresh(t, dir, out, old, string(n.name), n.kind)
	}
	if b == nil {
		return
	}
	if t.own {
		t.reuseBase(out, seenFiles)
	} else {
		for i := range b.files {
			if !seenFiles[i] && !out.added(b.files[i].name) {
				if g, ok := gone(b.files[i]); ok {
					out.files = append(out.files, g)
				}
			}
		}
	}
	for i, d := range b.dirs {
		if !seenDirs[i] && d.hasTracked {
			// The scan of it finds it missing and keeps its index entries.
			s.descend(t, s.into(d, out.rules, old))
		}
	}
}

// added reports whether a file was found, before the files are sorted.
func (n *node) added(name string) bool {
	for i := range n.files {
		if n.files[i].name == name {
			return true
		}
	}
	return false
}

// known handles a name of a file of the base. It returns false when something
// of another kind is there now: that is treated as new.
func (s *scan) known(t *task, dir folder, out *node, f *file) bool {
	now, err := dir.lstat(f.name)
	if absent(err) {
		return false
	}
	if err != nil {
		s.fail(fmt.Errorf("look at %q: %w", join(t.path, f.name), err))
		return true
	}
	isLink := f.mode == object.ModeGitlink
	if now.kind > kindDir || now.kind == kindDir != isLink {
		return false
	}
	if f.class != tracked && s.purpose != forRestore && (t.base.rules != out.rules) {
		// The rules changed: classify it again.
		return false
	}
	if !isLink && f.sameStat(now) {
		nf := *f
		if nf.has(bitIndex) {
			s.settle(&nf, now)
		}
		t.found(out, f, nf)
		return true
	}
	nf, keep, err := s.contents(t, dir, f, f.name, now)
	if permission(err) && f.class != tracked {
		out.extras = append(out.extras, extra{name: f.name, what: extraUnreadable, kind: now.kind})
		return true
	}
	if err != nil {
		s.fail(err)
		return true
	}
	if keep {
		t.found(out, f, nf)
		return true
	}
	return false
}

// settle completes a file known from the index by its stat data.
func (s *scan) settle(f *file, now stat) {
	mode := s.e.modeOf(f, now)
	if f.mode != mode {
		if f.has(bitAssume | bitSkip) {
			mode = f.mode
		}
		f.mode = mode
	}
	f.setStat(now, s.started)
}

// fresh handles a name that is new, or whose nature has changed.
func (s *scan) fresh(t *task, dir folder, out *node, old *ignore.Rules, name string, k kind) {
	path := join(t.path, name)
	if k == kindUnknown {
		st, err := dir.lstat(name)
		if err != nil {
			s.unseen(out, path, name, err)
			return
		}
		k = st.kind
	}
	if s.e.isOwn(path) {
		out.extras = append(out.extras, extra{name: name, what: extraOwn, kind: k})
		return
	}
	mode := object.ModeRegular
	if k == kindLink {
		mode = object.ModeSymlink
	}
	if object.CheckEntry(object.TreeEntry{Name: name, Mode: mode}) != nil { // git could not check it out
		out.extras = append(out.extras, extra{name: name, what: extraSpecial, kind: k, ino: inoOf(dir, name)})
		return
	}
	if b := t.base.file(name); b != nil && b.class == tracked && (k == kindFile || k == kindLink) {
		s.freshFile(t, dir, out, name, false, false)
		return
	}
	if k == kindFile && slices.Contains(s.e.opts.Outputs, path) {
		out.extras = append(out.extras, extra{name: name, what: extraOwn, kind: k})
		return
	}
	shut := !t.keepAll && s.shutOff(t)
	ign := t.keepAll || shut || s.excluded(out.rules, old, path, entryType(k == kindDir))
	keep := t.keepAll || ign && s.e.capture.match(path, k == kindDir)
	switch {
	case k == kindDir && (!ign || keep):
		var b *node
		if t.base != nil {
			b = t.base.dir(name)
		}
		sub := s.task()
		sub.path, sub.name, sub.base, sub.rules, sub.old = path, name, b, out.rules, old
		sub.untracked, sub.keepAll, sub.relist = true, keep, true
		s.descend(t, sub)
	case k == kindDir:
		out.extras = append(out.extras, extra{name: name, what: extraIgnored, kind: k})
	case k != kindFile && k != kindLink:
		if ign {
			out.extras = append(out.extras, extra{name: name, what: extraIgnored, kind: k})
			return
		}
		out.extras = append(out.extras, extra{name: name, what: extraSpecial, kind: k, ino: inoOf(dir, name)})
	case ign && shut && !keep:
		out.extras = append(out.extras, extra{name: name, what: extraIgnored, kind: k})
	default:
		s.freshFile(t, dir, out, name, ign, keep)
	}
}

// inoOf is the inode of a name of which nothing else is recorded.
func inoOf(dir folder, name string) uint64 {
	st, err := dir.lstat(name)
	if err != nil {
		return 0
	}
	return st.ino
}

// unseen handles a new name whose lstat failed: a removed one is skipped, one
// without permission is reported.
func (s *scan) unseen(out *node, path, name string, err error) {
	switch {
	case absent(err):
	case permission(err):
		out.extras = append(out.extras, extra{name: name, what: extraUnreadable})
	default:
		s.fail(fmt.Errorf("look at %q: %w", path, err))
	}
}

func (s *scan) freshFile(t *task, dir folder, out *node, name string, ign, keep bool) {
	now, err := dir.lstat(name)
	if err != nil {
		s.unseen(out, join(t.path, name), name, err)
		return
	}
	if now.kind != kindFile && now.kind != kindLink {
		return // something else by now: as good as never seen
	}
	if ign && !keep && now.size > smallIgnored {
		out.extras = append(out.extras, s.largeIgnored(t, dir, name, now))
		return
	}
	f := file{name: name, class: untracked, bits: bitRacy}
	if ign {
		f.class = ignored
	}
	if t.base != nil {
		// A tracked file that changed into a link, or back, is still tracked.
		if b := t.base.file(name); b != nil {
			if b.class == tracked {
				f.class = tracked
			}
			f.bits |= b.bits & (bitAssume | bitSkip | bitIntent)
			if b.class != tracked && b.sameStat(now) {
				// The rules changed, not the file.
				nf := *b
				nf.class = f.class
				if nf.class == untracked && nf.id.IsZero() && !nf.has(bitLarge) {
					nf.id, nf.mode = nf.raw, s.e.modeOf(&nf, now)
				}
				out.files = append(out.files, nf)
				return
			}
		}
	}
	nf, ok, err := s.contents(t, dir, &f, name, now)
	switch {
	case permission(err):
		out.extras = append(out.extras, extra{name: name, what: extraUnreadable, kind: now.kind})
	case err != nil && !errors.Is(err, errNotRegular):
		s.fail(err)
	case ok:
		out.files = append(out.files, nf)
	}
}
