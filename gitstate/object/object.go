// Package object reads and writes git objects: loose ones directly, packed ones
// through one `git cat-file --batch-command`. Commits and trees that git ralph
// makes for itself are Records, which go-git's object types encode and decode.
// Writing is durable and in two steps: Write puts an object into a temporary
// file, Sync makes everything written since the last Sync permanent with one
// round of fsync and only then gives the files their names. An object that is
// there already gets a new time stamp, so that a gc of unreachable objects
// that runs at this moment leaves it alone.
package object

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"

	"git-ralph/internal/proc"
)

// ID is a SHA-1 object name.
type ID = plumbing.Hash

// Hex is an id as text, "" for Zero.
func Hex(id ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

// Zero is the id of nothing.
var Zero = plumbing.ZeroHash

// EmptyTree is the tree without entries.
var EmptyTree = plumbing.NewHash("4b825dc642cb6eb9a060e54bf8d69288fbee4904")

// ParseID reads 40 hexadecimal digits.
func ParseID(s string) (ID, error) {
	if !plumbing.IsHash(s) || len(s) != 40 {
		return Zero, fmt.Errorf("%q is not an object name", s)
	}
	return plumbing.NewHash(s), nil
}

// Type is the kind of an object.
type Type = plumbing.ObjectType

// The kinds of objects.
const (
	Blob   = plumbing.BlobObject
	Tree   = plumbing.TreeObject
	Commit = plumbing.CommitObject
)

// ErrNotFound says that no such object exists.
var ErrNotFound = errors.New("object not found")

// Store reads and writes the objects of one repository. It is safe for use by
// several goroutines.
type Store struct {
	dir string // <common dir>/objects
	git *proc.Git

	mu      sync.Mutex
	pending map[ID]string // temporary files of objects not yet synced
	spares  map[ID]bool   // objects with a second name, see spare.go
	fresh   []ID          // those of spares that no ref leads to yet

	catMu sync.Mutex
	cat   *catFile

	fileMode, dirMode fs.FileMode
}

// Open gives access to the objects below commonDir. Shared is the value of
// core.sharedRepository ("" = umask).
func Open(git *proc.Git, commonDir, shared string) *Store {
	s := &Store{dir: filepath.Join(commonDir, "objects"), git: git,
		pending: map[ID]string{}, spares: map[ID]bool{}, fileMode: 0o444}
	switch strings.ToLower(shared) {
	case "group", "true", "1", "yes", "on":
		s.fileMode, s.dirMode = 0o440, 0o2770
	case "all", "world", "everybody", "2":
		s.fileMode, s.dirMode = 0o444, 0o2775
	default:
		// The permissions themselves, such as 0640.
		if n, err := strconv.ParseUint(shared, 8, 32); err == nil && n&0o600 == 0o600 {
			perm := fs.FileMode(n & 0o666)
			s.fileMode, s.dirMode = perm&0o444, 0o2000|perm|perm&0o444>>2
		}
	}
	return s
}

// Close drops what was written and not synced and ends the helper process.
func (s *Store) Close() error {
	s.mu.Lock()
	for id, tmp := range s.pending {
		os.Remove(tmp)
		delete(s.pending, id)
	}
	s.mu.Unlock()
	s.catMu.Lock()
	defer s.catMu.Unlock()
	if s.cat == nil {
		return nil
	}
	err := s.cat.child.Close()
	s.cat = nil
	return err
}

func (s *Store) path(id ID) string {
	h := id.String()
	return filepath.Join(s.dir, h[:2], h[2:])
}

// Sum is the id that data would have.
func Sum(t Type, data []byte) ID { return plumbing.ComputeHash(t, data) }

// Write stores an object until Sync and returns its id.
func (s *Store) Write(t Type, data []byte) (ID, error) {
	return s.WriteFrom(t, int64(len(data)), bytes.NewReader(data))
}

// WriteFrom stores an object of size bytes read from r. It fails when r is
// shorter or longer.
func (s *Store) WriteFrom(t Type, size int64, r io.Reader) (ID, error) {
	small := size <= 1<<20
	if small {
		// Hash first: most small objects of a journal entry exist already.
		data := make([]byte, size)
		if _, err := io.ReadFull(r, data); err != nil {
			return Zero, fmt.Errorf("read an object of %d bytes: %w", size, err)
		}
		if n, _ := r.Read(make([]byte, 1)); n != 0 {
			return Zero, fmt.Errorf("read an object of %d bytes: it grew", size)
		}
		id := Sum(t, data)
		if s.freshen(id) {
			return id, nil
		}
		r = bytes.NewReader(data)
	}
	f, err := s.temp()
	if err != nil {
		return Zero, fmt.Errorf("write an object: %w", err)
	}
	fail := func(err error) (ID, error) {
		f.Close()
		os.Remove(f.Name())
		return Zero, fmt.Errorf("write an object: %w", err)
	}
	w := objfile.NewWriter(f)
	if err := w.WriteHeader(t, size); err != nil {
		return fail(err)
	}
	n, err := io.Copy(w, io.LimitReader(r, size))
	if err != nil {
		return fail(err)
	}
	if n != size {
		return fail(fmt.Errorf("expected %d bytes, got %d", size, n))
	}
	if !small {
		if m, _ := r.Read(make([]byte, 1)); m != 0 {
			return fail(fmt.Errorf("it grew beyond %d bytes", size))
		}
	}
	if err := w.Close(); err != nil {
		return fail(err)
	}
	id := w.Hash()
	if s.fileMode != 0o444 || s.dirMode != 0 {
		err = f.Chmod(s.fileMode)
	}
	if err != nil {
		return fail(err)
	}
	if err := f.Close(); err != nil {
		return fail(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, dup := s.pending[id]; dup {
		os.Remove(f.Name())
	} else {
		s.pending[id] = f.Name()
	}
	return id, nil
}

// Freshen gives an object that is there as a loose file, or waits for Sync, a new
// time, so that no gc of unreachable objects takes it. It says whether it could;
// an object that is only in a pack has to be written again to be safe.
func (s *Store) Freshen(id ID) bool { return s.freshen(id) }

// temp makes a temporary file that has its final mode already, which saves a
// call an object.
func (s *Store) temp() (*os.File, error) {
	for {
		name := filepath.Join(s.spareDir(), tempPrefix+strconv.Itoa(os.Getpid())+"-"+strconv.FormatUint(rand.Uint64(), 36))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o444)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			for _, dir := range []string{s.dir, s.spareDir()} {
				if err := s.mkdir(dir); err != nil {
					return nil, err
				}
			}
		case !errors.Is(err, fs.ErrExist):
			return f, err
		}
	}
}

// freshen reports whether the object is a loose file or waits for Sync, and
// gives a loose file a new time. An object that is only in a pack is written
// again, because a running gc may have decided to drop the pack, and a young
// loose copy survives that.
func (s *Store) freshen(id ID) bool {
	s.mu.Lock()
	_, waiting := s.pending[id]
	s.mu.Unlock()
	if waiting {
		return true
	}
	p := s.path(id)
	st, err := os.Stat(p)
	if err != nil || st.Size() == 0 {
		return false
	}
	now := time.Now()
	return os.Chtimes(p, now, now) == nil && s.keepSpare(id, p)
}

func (s *Store) mkdir(dir string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mkdirLocked(dir)
}

func (s *Store) mkdirLocked(dir string) error {
	err := os.Mkdir(dir, 0o777)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make %q: %w", dir, err)
	}
	if err == nil && s.dirMode != 0 {
		os.Chmod(dir, fs.ModeSetgid|s.dirMode&0o777)
	}
	return nil
}

// Sync makes every object written since the last Sync permanent: contents are
// flushed first, then the files are named, then the folders are flushed.
func (s *Store) Sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pending) == 0 {
		return nil
	}
	ids := make([]ID, 0, len(s.pending))
	for id := range s.pending {
		ids = append(ids, id)
	}
	sort.Slice(ids, func(i, j int) bool { return bytes.Compare(ids[i][:], ids[j][:]) < 0 })
	files := make([]string, len(ids))
	for i, id := range ids {
		files[i] = s.pending[id]
	}
	if err := FlushFiles(s.dir, len(files), func(i int) (*os.File, error) { return os.Open(files[i]) }); err != nil {
		return fmt.Errorf("flush objects: %w", err)
	}
	dirs := map[string]bool{}
	var list []string // in the order of their last change
	for _, id := range ids {
		to := s.path(id)
		dir := filepath.Dir(to)
		if err := s.mkdirLocked(dir); err != nil {
			return err
		}
		if err := s.name(id, s.pending[id], to); err != nil {
			return fmt.Errorf("name object %s: %w", id, err)
		}
		delete(s.pending, id)
		if !dirs[dir] {
			dirs[dir], list = true, append(list, dir)
		}
	}
	// Names are sorted, so the folder that was changed last is the last one.
	if err := flushDirs(s.dir, append([]string{s.dir}, list...)); err != nil {
		return fmt.Errorf("flush folders of objects: %w", err)
	}
	return nil
}

// Has reports whether the object exists.
func (s *Store) Has(id ID) bool {
	s.mu.Lock()
	_, waiting := s.pending[id]
	s.mu.Unlock()
	if waiting {
		return true
	}
	if st, err := os.Stat(s.path(id)); err == nil && st.Size() > 0 {
		return true
	}
	_, _, err := s.info(id)
	return err == nil
}

// Read returns an object's type and contents. A damaged or absent object is an
// error that names it.
func (s *Store) Read(id ID) (Type, []byte, error) { return s.readAtMost(id, 1<<31) }

func tooMany(id ID, size int64) error {
	return fmt.Errorf("read object %s: %d bytes are too many at once", id, size)
}

func (s *Store) readAtMost(id ID, most int64) (Type, []byte, error) {
	t, size, r, err := s.Open(id)
	if err != nil {
		return 0, nil, err
	}
	defer r.Close()
	if size > most {
		return 0, nil, tooMany(id, size)
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return 0, nil, fmt.Errorf("read object %s: %w", id, err)
	}
	return t, data, nil
}

// ReadType is Read for callers that know what they want.
func (s *Store) ReadType(id ID, want Type) ([]byte, error) {
	t, data, err := s.Read(id)
	if err != nil {
		return nil, err
	}
	if t != want {
		return nil, fmt.Errorf("object %s is a %s, not a %s", id, t, want)
	}
	return data, nil
}

// Open returns an object as a stream. The caller closes it, soon: while a
// packed object is open no other packed object can be read.
func (s *Store) Open(id ID) (Type, int64, io.ReadCloser, error) {
	for try := 0; ; try++ {
		t, size, r, err := s.open(id)
		if !errors.Is(err, ErrNotFound) || try == 3 {
			return t, size, r, err
		}
		// A repack beside us moves objects from file to file: look once more, by
		// a git that has seen none of the packs of before.
		s.catMu.Lock()
		if s.cat != nil {
			s.cat.child.Close()
			s.cat = nil
		}
		s.catMu.Unlock()
		time.Sleep(time.Duration(try) * 5 * time.Millisecond)
	}
}

func (s *Store) open(id ID) (Type, int64, io.ReadCloser, error) {
	s.mu.Lock()
	p, waiting := s.pending[id]
	s.mu.Unlock()
	if !waiting {
		p = s.path(id)
	}
	f, err := os.Open(p)
	if err != nil {
		if f, err = os.Open(s.sparePath(id)); err != nil {
			return s.catOpen(id)
		}
	}
	r, err := objfile.NewReader(f)
	if err != nil {
		f.Close()
		// A damaged loose file may hide a good packed copy: git decides.
		return s.catOpen(id)
	}
	t, size, err := r.Header()
	if err != nil {
		r.Close()
		f.Close()
		return s.catOpen(id)
	}
	return t, size, &looseReader{r, f}, nil
}

type looseReader struct {
	*objfile.Reader
	f *os.File
}

func (l *looseReader) Close() error {
	err := l.Reader.Close()
	return errors.Join(err, l.f.Close())
}
