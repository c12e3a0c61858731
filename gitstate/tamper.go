package gitstate

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Snapshot is git's own state before an agent runs: what it may not change.
// Refs of remotes and our own refs are left out, because a fetch of the user
// and our own writes are nobody's tampering.
type Snapshot struct {
	Head  string
	Refs  map[string]string
	Files map[string]FileState // config, hooks, info, alternates, worktrees' metadata
}

// FileState is one small file of the git directory.
type FileState struct {
	Mode fs.FileMode
	Sum  [32]byte
	Data []byte // nil beyond a size: such a file is named, not put back
	Link string
}

const maxKept = 256 << 10

// Difference is one thing that is not as it was.
type Difference struct {
	Kind     string // refs, HEAD, config, hooks, info, alternates, worktrees
	Name     string
	Old, New string
}

func (d Difference) String() string {
	if d.Kind == d.Name || d.Name == "" {
		return d.Kind
	}
	return d.Kind + " (" + d.Name + ")"
}

// watched are the parts of the git directory that can make git run something
// or look elsewhere.
var watched = []struct {
	kind, path string
	dir        bool
}{
	{"config", "config", false}, {"config", "config.worktree", false},
	{"hooks", "hooks", true}, {"info", "info", true},
	{"alternates", "objects/info/alternates", false}, {"alternates", "objects/info/http-alternates", false},
	{"info", "shallow", false}, {"info", "commondir", false}, {"info", "gitdir", false},
	{"worktrees", "worktrees", true}, {"config", "modules", true},
}

// TakeSnapshot reads it.
func (r *Repo) TakeSnapshot(ctx context.Context) (*Snapshot, error) {
	s := &Snapshot{Refs: map[string]string{}, Files: map[string]FileState{}}
	head, err := os.ReadFile(filepath.Join(r.GitDir, "HEAD"))
	if err != nil {
		return nil, fmt.Errorf("read HEAD: %w", err)
	}
	s.Head = strings.TrimSpace(string(head))
	if r.Reftable {
		refs, err := r.ListRefs(ctx, "refs/")
		if err != nil {
			return nil, err
		}
		for name, id := range refs {
			if countsAsUsers(name) {
				s.Refs[name] = id.String()
			}
		}
	} else if err := r.readRefs(s.Refs); err != nil {
		return nil, err
	}
	dirs := []string{r.CommonDir}
	if r.GitDir != r.CommonDir {
		dirs = append(dirs, r.GitDir)
	}
	for _, dir := range dirs {
		for _, w := range watched {
			if err := s.read(dir, w.kind, w.path, w.dir); err != nil {
				return nil, err
			}
		}
	}
	// A .git file of a linked worktree says where the repository is.
	if dotgit := filepath.Join(r.Root, ".git"); r.GitDir != dotgit {
		st, err := readState(dotgit)
		if err == nil {
			s.Files["config:"+dotgit] = st
		}
	}
	return s, nil
}

func countsAsUsers(ref string) bool {
	return !strings.HasPrefix(ref, "refs/remotes/") && !strings.HasPrefix(ref, "refs/ralph/") && ref != NotesRef
}

func (r *Repo) readRefs(refs map[string]string) error {
	packed, err := os.ReadFile(filepath.Join(r.CommonDir, "packed-refs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read packed refs: %w", err)
	}
	sc := bufio.NewScanner(bytes.NewReader(packed))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		hash, name, ok := strings.Cut(sc.Text(), " ")
		if ok && len(hash) == 40 && countsAsUsers(name) {
			refs[name] = hash
		}
	}
	base := filepath.Join(r.CommonDir, "refs")
	return filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return fmt.Errorf("read refs: %w", err)
		}
		rel, _ := filepath.Rel(r.CommonDir, path)
		name := filepath.ToSlash(rel)
		if d.IsDir() {
			if name == "refs/remotes" || name == "refs/ralph" {
				return filepath.SkipDir
			}
			return nil
		}
		if !countsAsUsers(name) || strings.HasSuffix(name, ".lock") || !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read ref %s: %w", name, err)
		}
		refs[name] = clip(strings.TrimSpace(string(data)), 200)
		return nil
	})
}

func (s *Snapshot) read(base, kind, path string, dir bool) error {
	full := filepath.Join(base, filepath.FromSlash(path))
	if !dir {
		st, err := readState(full)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s of the git directory: %w", path, err)
		}
		s.Files[kind+":"+full] = st
		return nil
	}
	err := filepath.WalkDir(full, func(p string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			// Of submodules and linked worktrees only what configures them.
			if (name == "objects" || name == "refs" || name == "logs" || name == "lfs") && p != full {
				return filepath.SkipDir
			}
			return nil
		}
		if path == "worktrees" || path == "modules" {
			switch name {
			case "config", "config.worktree", "commondir", "gitdir", "locked", "exclude", "attributes", "sparse-checkout", "alternates":
			default:
				if filepath.Base(filepath.Dir(p)) != "hooks" {
					return nil
				}
			}
		}
		if strings.HasSuffix(name, ".lock") {
			return nil
		}
		st, err := readState(p)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			s.Files[kind+":"+p] = st
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read %s of the git directory: %w", path, err)
	}
	return nil
}

func readState(path string) (FileState, error) {
	st, err := os.Lstat(path)
	if err != nil {
		return FileState{}, err
	}
	f := FileState{Mode: st.Mode()}
	switch {
	case st.Mode()&fs.ModeSymlink != 0:
		f.Link, err = os.Readlink(path)
		f.Sum = sha256.Sum256([]byte(f.Link))
	case st.Mode().IsRegular() && st.Size() <= maxKept:
		f.Data, err = os.ReadFile(path)
		f.Sum = sha256.Sum256(f.Data)
		if f.Data == nil {
			f.Data = []byte{}
		}
	case st.Mode().IsRegular():
		f.Sum = sha256.Sum256(fmt.Append(nil, st.Size(), st.ModTime().UnixNano()))
	}
	return f, err
}

// Compare names everything that differs between two snapshots, sorted.
func (s *Snapshot) Compare(now *Snapshot) []Difference {
	var d []Difference
	if s.Head != now.Head {
		d = append(d, Difference{"HEAD", "HEAD", s.Head, now.Head})
	}
	for name, old := range s.Refs {
		if now.Refs[name] != old {
			d = append(d, Difference{"refs", name, old, now.Refs[name]})
		}
	}
	for name, is := range now.Refs {
		if _, ok := s.Refs[name]; !ok {
			d = append(d, Difference{"refs", name, "", is})
		}
	}
	for key, old := range s.Files {
		if is, ok := now.Files[key]; !ok || is.Sum != old.Sum || is.Mode != old.Mode {
			kind, path, _ := strings.Cut(key, ":")
			d = append(d, Difference{kind, path, "as it was", "changed"})
		}
	}
	for key := range now.Files {
		if _, ok := s.Files[key]; !ok {
			kind, path, _ := strings.Cut(key, ":")
			d = append(d, Difference{kind, path, "", "new"})
		}
	}
	sort.Slice(d, func(i, j int) bool { return d[i].Kind+d[i].Name < d[j].Kind+d[j].Name })
	return d
}

// PutBack restores config, hooks, info and alternates as they were in s, file
// by file; refs and HEAD are never put back. It returns what it could not do.
func (s *Snapshot) PutBack(diff []Difference) error {
	var errs []error
	for _, d := range diff {
		if d.Kind == "refs" || d.Kind == "HEAD" {
			continue
		}
		old, had := s.Files[d.Kind+":"+d.Name]
		switch {
		case !had:
			if err := os.Remove(d.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		case old.Link != "":
			os.Remove(d.Name)
			errs = append(errs, os.Symlink(old.Link, d.Name))
		case old.Data != nil:
			if st, err := os.Lstat(d.Name); err == nil && st.IsDir() {
				errs = append(errs, fmt.Errorf("%s is a folder now", d.Name))
				continue
			}
			if err := os.MkdirAll(filepath.Dir(d.Name), 0o755); err != nil {
				errs = append(errs, err)
				continue
			}
			errs = append(errs, WriteFile(d.Name, old.Data, old.Mode.Perm()))
		default:
			errs = append(errs, fmt.Errorf("%s is too large to be put back", d.Name))
		}
	}
	return errors.Join(errs...)
}
