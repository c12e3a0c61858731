package worktree

import (
	"git-ralph/gitstate/object"
)

// An ignored file above smallIgnored, outside of ignored folders, is usually a
// database or a log that a program has open, so it is never restored. A
// checkpoint keeps a copy of one up to maxCopied. It makes a new copy only when
// the file has changed, at most maxCopies bytes a checkpoint.
const (
	maxCopied = 16 << 20
	maxCopies = 64 << 20
)

// largeIgnored records such a file.
func (s *scan) largeIgnored(t *task, dir folder, name string, now stat) extra {
	x := extra{name: name, what: extraIgnored, kind: now.kind, size: now.size, ino: now.ino,
		perm: now.perm, mtime: now.mtime, ctime: now.ctime, racy: late(now, s.started)}
	if b := t.base.extra(name); b != nil && b.what == extraIgnored && b.sameStat(now) {
		x.mark, x.racy = b.mark, b.racy
	}
	limit := int64(maxCopied)
	if m := s.e.opts.MaxFile; m > 0 {
		limit = min(limit, m)
	}
	if s.purpose != forCheckpoint || !x.mark.IsZero() || now.size > limit || s.copied.Add(now.size) > maxCopies {
		return x
	}
	in, err := dir.openFile(name)
	if err != nil {
		return x
	}
	defer in.Close()
	// One that is being written to is named without a copy.
	if id, err := s.e.repo.Store.WriteFrom(object.Blob, now.size, in); err == nil {
		x.mark = id
	}
	return x
}

// sameStat reports whether st proves that the file is what x recorded.
func (x *extra) sameStat(st stat) bool {
	return !x.racy && x.kind == st.kind && x.size == st.size && x.ino == st.ino && x.mtime == st.mtime &&
		x.ctime == st.ctime
}

// spoiled reports whether a large ignored file is not what it was: x at the
// checkpoint, y now. What it was is returned, without an id where there is no copy.
func (e *Engine) spoiled(path string, x, y *extra) (Saved, bool) {
	was := Saved{Path: path, Mode: object.ModeRegular, Perm: x.perm, ID: x.mark}
	if y != nil && y.sameStat(stat{kind: x.kind, size: x.size, ino: x.ino, mtime: x.mtime, ctime: x.ctime}) && !x.racy {
		return was, false
	}
	if y == nil || y.size != x.size || y.kind != x.kind {
		return was, true
	}
	if x.mark.IsZero() {
		return was, y.mtime != x.mtime
	}
	dir, name := split(path)
	d, err := e.disk.open(dir)
	if err != nil {
		return was, true
	}
	defer d.close()
	in, err := d.openFile(name)
	if err != nil {
		return was, true
	}
	defer in.Close()
	sum, err := e.sum(in, x.size)
	return was, err != nil || sum != x.mark
}
