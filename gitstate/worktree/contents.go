package worktree

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"git-ralph/gitstate/object"
)

// modeOf is the mode that git would give to what st describes. Where the file
// system cannot keep a mode (core.filemode, core.symlinks), the index decides.
func (e *Engine) modeOf(f *file, st stat) object.Mode {
	switch {
	case f.mode == object.ModeGitlink && st.kind == kindDir:
		return object.ModeGitlink
	case st.kind == kindLink:
		return object.ModeSymlink
	case !e.settings.symlinks && f.mode == object.ModeSymlink:
		return object.ModeSymlink
	case !e.settings.fileMode:
		if f.mode == object.ModeExecutable {
			return object.ModeExecutable
		}
		return object.ModeRegular
	case st.perm&0o100 != 0:
		return object.ModeExecutable
	}
	return object.ModeRegular
}

// contents reads the present file under the name of f, which is its last known
// state (new files have the racy bit and no ids). It returns keep=false when it
// is no longer a file.
func (s *scan) contents(t *task, dir folder, f *file, name string, now stat) (nf file, keep bool, err error) {
	nf = *f
	nf.name = f.name
	nf.bits &^= bitHidden | bitLarge | bitRead
	nf.mode = s.e.modeOf(f, now)
	nf.setStat(now, s.started)
	path := join(t.path, name)
	switch now.kind {
	case kindDir:
		if f.mode != object.ModeGitlink {
			return nf, false, nil
		}
		return s.submodule(t, f, nf)
	case kindLink:
		if s.purpose == forLook {
			return nf, true, nil
		}
		target, err := dir.readlink(name)
		if absent(err) || errors.Is(err, errNotRegular) {
			return nf, false, nil
		}
		if err != nil {
			return nf, false, fmt.Errorf("read link %q: %w", path, err)
		}
		nf.raw = object.Sum(object.Blob, []byte(target))
		nf.form = formBlob
		if !s.purpose.stores() || nf.raw == f.raw && !f.raw.IsZero() {
			return s.identify(f, nf), true, nil
		}
		if nf.raw, err = s.e.repo.Store.Write(object.Blob, []byte(target)); err != nil {
			return nf, false, fmt.Errorf("store link %q: %w", path, err)
		}
		return s.identify(f, nf), true, nil
	case kindFile:
	default:
		return nf, false, nil
	}
	if s.purpose == forRestore && f.raw.IsZero() && f.class != tracked {
		return nf, true, nil // it will be removed: no need to read it
	}
	if s.purpose == forLook {
		if max := s.e.opts.MaxFile; max > 0 && now.size > max && f.class != tracked {
			nf.bits |= bitLarge
		}
		return nf, true, nil
	}
	for try := 0; ; try++ {
		nf, keep, err = s.read(dir, f, nf, name)
		if err == nil || !errors.Is(err, errMoving) || try == 4 {
			break
		}
	}
	if err != nil {
		if permission(err) && s.purpose != forCheckpoint && (f.class == tracked || !f.raw.IsZero()) {
			// The agent made it unreadable; its contents are unknown.
			nf.raw, nf.id = object.Zero, object.Zero
			nf.bits |= bitRacy | bitLarge
			return nf, true, nil
		}
		return nf, false, fmt.Errorf("read %q: %w", path, err)
	}
	return nf, keep, nil
}

// errMoving says that a file changed while it was read.
var errMoving = errors.New("it keeps changing")

func (s *scan) read(dir folder, f *file, nf file, name string) (file, bool, error) {
	in, err := dir.openFile(name)
	if absent(err) || errors.Is(err, errNotRegular) {
		return nf, false, nil
	}
	if err != nil {
		return nf, false, err
	}
	defer in.Close()
	fi, err := in.Stat()
	if err != nil {
		return nf, false, err
	}
	st := infoStat(fi)
	nf.setStat(st, s.started)
	nf.mode = s.e.modeOf(f, st)
	max := s.e.opts.MaxFile
	if s.purpose.stores() && max > 0 && st.size > max && (f.raw.IsZero() || f.class != tracked || f.size != st.size &&
		!f.has(bitIndex)) {
		nf.id, nf.raw = object.Zero, object.Zero
		nf.bits |= bitLarge
		return nf, true, nil
	}
	if !f.raw.IsZero() {
		sum, err := s.e.sum(in, st.size)
		if err != nil {
			return nf, false, err
		}
		if sum == f.raw || !s.purpose.stores() {
			nf.raw = sum
			nf.bits |= bitRead
			return s.identify(f, nf), true, nil
		}
		if max > 0 && st.size > max {
			nf.id, nf.raw = object.Zero, object.Zero
			nf.bits |= bitLarge
			return nf, true, nil
		}
		if _, err := in.Seek(0, io.SeekStart); err != nil {
			return nf, false, err
		}
	} else if !s.purpose.stores() {
		nf.raw, err = s.e.sum(in, st.size)
		return s.identify(f, nf), true, err
	}
	if !s.room.take(st.size) {
		nf.id, nf.raw = object.Zero, object.Zero
		nf.bits |= bitLarge
		return nf, true, nil
	}
	s.e.fail("store blob")
	id, err := s.e.repo.Store.WriteFrom(object.Blob, st.size, in)
	if err != nil {
		if after, e := in.Stat(); e == nil && (after.Size() != st.size || !after.ModTime().Equal(fi.ModTime())) {
			return nf, false, fmt.Errorf("%w: %w", errMoving, err)
		}
		return nf, false, err
	}
	nf.raw, nf.form = id, formBlob
	nf.bits |= bitRead
	if after, err := in.Stat(); err != nil || after.Size() != st.size || !after.ModTime().Equal(fi.ModTime()) {
		nf.bits |= bitRacy
	}
	return s.identify(f, nf), true, nil
}

// identify sets the tree id of a file whose bytes on disk are known.
func (s *scan) identify(f *file, nf file) file {
	switch {
	case nf.raw == f.raw && !f.raw.IsZero() && (!f.id.IsZero() || nf.class == ignored):
		// The same bytes: nothing about the object changes.
		nf.id, nf.form = f.id, f.form
		if f.has(bitHidden) {
			nf.bits |= bitHidden
		}
		if f.has(bitAssume|bitSkip) && s.purpose == forCheckpoint {
			nf.mode = f.mode
		}
	case nf.class == ignored:
		nf.id, nf.form = object.Zero, formOwn
	case nf.has(bitAssume|bitSkip) && nf.class == tracked && s.purpose == forCheckpoint && !f.id.IsZero():
		// The index tells git not to look: the tree keeps the index's blob, and
		// the bytes on disk are kept beside it.
		nf.id, nf.mode, nf.form = f.id, f.mode, formOwn
		nf.bits |= bitHidden
	default:
		// Conversions are settled when the scan knows all attributes.
		nf.id = nf.raw
		nf.bits &^= bitSettled
	}
	return nf
}

// sum is the id that size bytes of r have as a blob.
func (e *Engine) sum(r io.Reader, size int64) (object.ID, error) {
	h := sha1.New()
	var head [32]byte
	h.Write(append(strconv.AppendInt(append(head[:0], "blob "...), size, 10), 0))
	buf, _ := e.bufs.Get().(*[]byte)
	if buf == nil {
		b := make([]byte, 64<<10)
		buf = &b
	}
	defer e.bufs.Put(buf)
	n, err := io.CopyBuffer(onlyWriter{h}, io.LimitReader(r, size), *buf)
	if err != nil {
		return object.Zero, err
	}
	if n != size {
		return object.Zero, errMoving
	}
	var id object.ID
	h.Sum(id[:0])
	return id, nil
}

// onlyWriter and the limited reader keep io.CopyBuffer from bypassing the buffer.
type onlyWriter struct{ io.Writer }

// readSmall reads a file of settings: regular, at most 16 MiB.
func (e *Engine) readSmall(dir folder, name string) ([]byte, error) {
	in, err := dir.openFile(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return readAtMost(in, 16<<20)
}

func readAtMost(in *os.File, max int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(in, max+1))
	if err == nil && int64(len(b)) > max {
		return nil, fmt.Errorf("more than %d bytes", max)
	}
	return b, err
}

// bufferPool is what the engine reads through.
type bufferPool = sync.Pool
