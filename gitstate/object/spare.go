package object

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"git-ralph/internal/proc"
)

// A gc that prunes all unreachable objects, whatever their age, decides what is
// reachable before it removes anything. An object that is written and gets its
// ref in between is removed too. So every object that we write or rely on has a
// spare, a hard link in objects/ralph/, which git does not read. The spare is
// removed when no prune can be running any more. Until then a missing object is
// linked back.

// tempPrefix begins the names of temporary object files. In objects/ git only
// removes files with names of its own.
const tempPrefix = "new-"

// pruners are the commands of git that remove objects.
var pruners = []string{"gc", "prune", "prune-packed", "repack", "maintenance"}

// spareAge is the age at which spares of dead processes are removed.
const spareAge = time.Hour

func (s *Store) spareDir() string { return filepath.Join(s.dir, "ralph") }

func (s *Store) sparePath(id ID) string { return filepath.Join(s.spareDir(), id.String()) }

// name gives an object its two names. Where the file system has no hard links
// it gets only the one.
func (s *Store) name(id ID, tmp, to string) error {
	spare := s.sparePath(id)
	if err := os.Rename(tmp, spare); err != nil {
		return err
	}
	s.spares[id], s.fresh = true, append(s.fresh, id)
	err := s.link(spare, to)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	delete(s.spares, id)
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	return os.Rename(spare, to)
}

// link makes the object's own name. An existing file is kept unless it is
// empty, as after a power cut.
func (s *Store) link(spare, to string) error {
	for try := 0; ; try++ {
		err := os.Link(spare, to)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, fs.ErrExist):
			if st, err := os.Lstat(to); err != nil || st.Size() > 0 {
				return err
			}
			if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		case errors.Is(err, fs.ErrNotExist) && try < 20:
			// git gc removes a folder of objects that became empty, at any time.
			if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// keepSpare makes a spare of the object at p. False: p is gone.
func (s *Store) keepSpare(id ID, p string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spares[id] {
		return true
	}
	err := os.Link(p, s.sparePath(id))
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(p); err != nil {
			return false
		}
		if s.mkdirLocked(s.spareDir()) == nil {
			err = os.Link(p, s.sparePath(id))
		}
	}
	if s.spares[id] = err == nil || errors.Is(err, fs.ErrExist); s.spares[id] {
		s.fresh = append(s.fresh, id)
	}
	return true
}

// Hold protects an object that git has just written; an error says that it is
// not there any more.
func (s *Store) Hold(id ID) error {
	if s.freshen(id) {
		return nil
	}
	t, data, err := s.Read(id)
	if err != nil {
		return err
	}
	if _, err = s.Write(t, data); err == nil {
		err = s.Sync()
	}
	return err
}

// HoldNew is Hold for what git may have had before: an object that is in a pack already is left
// there.
func (s *Store) HoldNew(id ID) error {
	if s.freshen(id) || s.Has(id) {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrNotFound, id)
}

// HoldTree protects what git has just written of a tree: what none of the others, from which it
// was made, has at the same place.
func (s *Store) HoldTree(id ID, others ...ID) error {
	if id == EmptyTree || slices.Contains(others, id) {
		return nil
	}
	if err := s.Hold(id); err != nil {
		return err
	}
	list, err := s.readUserTree(id)
	if err != nil {
		return err
	}
	there := make([]map[string]TreeEntry, len(others))
	for i, other := range others {
		there[i] = map[string]TreeEntry{}
		entries, err := s.readUserTree(other)
		if err != nil {
			return err
		}
		for _, e := range entries {
			there[i][e.Name] = e
		}
	}
	for _, e := range list {
		var same []ID
		for _, entries := range there {
			if old, ok := entries[e.Name]; ok && (old.Mode == ModeDir) == (e.Mode == ModeDir) {
				same = append(same, old.ID)
			}
		}
		switch {
		case e.Mode == ModeGitlink || slices.Contains(same, e.ID):
		case e.Mode == ModeDir:
			err = s.HoldTree(e.ID, same...)
		default:
			err = s.Hold(e.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) readUserTree(id ID) ([]TreeEntry, error) {
	if id == EmptyTree || id.IsZero() {
		return nil, nil
	}
	data, err := s.ReadType(id, Tree)
	if err != nil {
		return nil, err
	}
	return DecodeTree(data)
}

// Ensure makes sure that everything which was written or relied on since the
// last Settle is there.
func (s *Store) Ensure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.fresh {
		if err := s.ensure(id); err != nil {
			return err
		}
	}
	return nil
}

// Settle is Ensure after a ref was moved to the new objects.
func (s *Store) Settle() error {
	err := s.Ensure()
	s.mu.Lock()
	s.fresh = nil
	s.mu.Unlock()
	return err
}

func (s *Store) ensure(id ID) error {
	to := s.path(id)
	if _, err := os.Lstat(to); err == nil {
		return nil
	}
	if err := s.link(s.sparePath(id), to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("put object %s back: %w", id, err)
	}
	return nil
}

// EnsureAll is Ensure for everything since the last Release.
func (s *Store) EnsureAll() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, ok := range s.spares {
		if !ok {
			continue
		}
		if err := s.ensure(id); err != nil {
			return err
		}
	}
	return nil
}

// Release removes the spares of objects that refs now lead to. While a git may
// still be pruning, the spares stay for the next call or process. Dirs are where
// a git could be running.
func (s *Store) Release(dirs ...string) error {
	s.mu.Lock()
	none := len(s.spares) == 0
	s.mu.Unlock()
	if none {
		return nil
	}
	if s.pruning(dirs) {
		return s.EnsureAll()
	}
	// A prune has ended by now; restore what it removed.
	if err := s.EnsureAll(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.spares {
		os.Remove(s.sparePath(id))
	}
	clear(s.spares)
	return nil
}

// pruning reports whether a git may be removing objects.
func (s *Store) pruning(dirs []string) bool {
	running, known := proc.GitRunning(func(_ int, args string) bool {
		return !slices.ContainsFunc(pruners, func(word string) bool { return strings.Contains(args, "\x00"+word+"\x00") })
	}, dirs...)
	if known {
		return running
	}
	for _, name := range []string{"../gc.pid", "maintenance.lock"} {
		if _, err := os.Lstat(filepath.Join(s.dir, name)); err == nil {
			return true
		}
	}
	return false
}

// Heal looks after what dead processes left in objects/ralph/: objects that were
// pruned get their name back, files without one and old spares go.
func (s *Store) Heal() error { return s.heal(s.Has) }

func (s *Store) heal(has func(ID) bool) error {
	entries, err := os.ReadDir(s.spareDir())
	if errors.Is(err, fs.ErrNotExist) || len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for objects of dead runs: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(s.spareDir(), e.Name())
		if rest, ok := strings.CutPrefix(e.Name(), tempPrefix); ok {
			pid, _, _ := strings.Cut(rest, "-")
			if n, err := strconv.Atoi(pid); err == nil && !proc.Alive(n, 0, "") {
				os.Remove(path)
			}
			continue
		}
		st, err := e.Info()
		id, perr := ParseID(e.Name())
		if err != nil || perr != nil || st.Size() == 0 {
			continue
		}
		if _, err := os.Lstat(s.path(id)); err != nil && !has(id) {
			if err := s.link(path, s.path(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("put object %s back: %w", id, err)
			}
		}
		if time.Since(st.ModTime()) > spareAge {
			os.Remove(path)
		}
	}
	return nil
}

// PutBack is Heal. It says whether there is anything that could have been put back, by
// this process or by another one. It asks no git, and so may be called while an object is
// open: one that is packed gets a loose copy.
func (s *Store) PutBack() bool {
	list, err := os.ReadDir(s.spareDir())
	return err == nil && len(list) > 0 && s.heal(func(ID) bool { return false }) == nil
}

// Erase removes the loose file and the spare of an object that must not be used
// any more. Packed objects stay.
func (s *Store) Erase(id ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.spares, id)
	for _, path := range []string{s.sparePath(id), s.path(id)} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the object %s: %w", id, err)
		}
	}
	return nil
}
