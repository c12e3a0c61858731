package gitstate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"git-ralph/internal/proc"
	"git-ralph/internal/text"
)

// Snapshot is git's own state before an agent runs: what it may not change.
// Refs of remotes and our own refs are left out, because a fetch of the user
// and our own writes are nobody's tampering.
type Snapshot struct {
	Head  string
	Refs  map[string]string
	Files map[string]FileState // config, hooks, info, alternates, worktrees' metadata
	Locks map[string]bool      // lock files of git that lay there
	Begun string               // the file that says that a merge or the like was begun, "" = none

	root, common, gitDir, aside string

	access  map[string]access // modes and owners that git's own work does not change
	fetched map[string]time.Time
	writers string   // the folder of the notes of who may hold a lock
	worksIn []string // see workPlaces
	places  []place
	outside []string // settings of the user and the system, and what git runs of the worktree
	spoiled []string // see TakeSpoiled
}

// FileState is one small file of the git directory.
type FileState struct {
	Mode fs.FileMode
	Sum  [32]byte
	Data []byte // nil beyond a size: such a file is named, not put back
	Link string
}

const (
	maxKept   = 256 << 10
	maxPacked = 256 << 20
)

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

// Unreadable reports whether HEAD's value makes git reject the folder as a
// repository. Every git command fails there, so none can restore HEAD.
func (d Difference) Unreadable() bool {
	if d.Kind != "HEAD" || d.Name != "HEAD" {
		return false
	}
	if link, ok := strings.CutPrefix(d.New, "link to "); ok {
		return !strings.HasPrefix(link, "refs/")
	}
	if ref, ok := strings.CutPrefix(d.New, "ref:"); ok {
		return !strings.HasPrefix(strings.TrimSpace(ref), "refs/")
	}
	return len(d.New) < 40 || strings.Trim(d.New[:40], "0123456789abcdefABCDEF") != ""
}

// watched are the parts of the git directory that can make git run something
// or look elsewhere.
var watched = []struct {
	kind, path string
	dir        bool
	only       []string // names that count in a folder; nil = all
}{
	{"config", "config", false, nil}, {"config", "config.worktree", false, nil},
	{"hooks", "hooks", true, nil},
	// info/refs is written by every gc.
	{"info", "info", true, []string{"exclude", "attributes", "sparse-checkout", "grafts"}},
	{"alternates", "objects/info", true, []string{"alternates", "http-alternates"}},
	{"info", "shallow", false, nil}, {"info", "commondir", false, nil}, {"info", "gitdir", false, nil},
	{"worktrees", "worktrees", true, ofOthers}, {"config", "modules", true, ofOthers},
}

// operations are the files of a merge or similar operation that waits for the
// user. The index and the worktree belong to it then.
var operations = []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG"}

// ofOthers is what configures submodules and linked worktrees.
var ofOthers = []string{"config", "config.worktree", "commondir", "gitdir", "locked", "exclude", "attributes",
	"sparse-checkout", "alternates"}

// TakeSnapshot reads it. Whatever lies in the git directory now may have been
// put there by an agent: nothing is followed, waited for or read without a
// bound. before is an earlier snapshot to be compared with, nil for the first:
// only then is git asked which files it takes its settings from.
func (r *Repo) TakeSnapshot(ctx context.Context, before *Snapshot) (*Snapshot, error) {
	s := &Snapshot{Refs: map[string]string{}, Files: map[string]FileState{}, Locks: map[string]bool{},
		root: r.Root, common: r.CommonDir, gitDir: r.GitDir, aside: filepath.Join(r.Dir(), "aside"),
		writers: r.writersDir(), worksIn: r.workPlaces()}
	s.readFetched()
	if before != nil {
		s.outside = before.outside
	} else {
		var err error
		if s.outside, err = r.settingsFiles(ctx); err != nil {
			return nil, err
		}
	}
	for _, dir := range slices.Compact([]string{r.Root, r.CommonDir, r.GitDir}) {
		p, err := takePlace(dir)
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("look at %s: %w", dir, err)
		}
		s.places = append(s.places, p)
	}
	if err := s.fill(ctx, r); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Snapshot) fill(ctx context.Context, r *Repo) error {
	head, err := readState(filepath.Join(r.GitDir, "HEAD"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read HEAD: %w", err)
	}
	switch {
	case head.Link != "":
		s.Head = "link to " + head.Link
	case head.Data == nil:
		s.Head = "no file"
	default:
		s.Head = text.Clip(strings.TrimSpace(string(head.Data)), 300)
	}
	for _, name := range operations {
		if _, err := os.Lstat(filepath.Join(r.GitDir, name)); err == nil {
			s.Begun = name
			break
		}
	}
	if err := s.readRefs(); err != nil {
		return err
	}
	dirs := []string{r.CommonDir}
	if r.GitDir != r.CommonDir {
		dirs = append(dirs, r.GitDir)
	}
	for _, dir := range dirs {
		for _, w := range watched {
			if err := s.read(filepath.Join(dir, filepath.FromSlash(w.path)), w.kind, pathKind(w.dir), w.only); err != nil {
				return fmt.Errorf("read %s of the git directory: %w", w.path, err)
			}
		}
		for _, path := range locksOf(dir) {
			s.Locks[path] = true
		}
	}
	for _, path := range s.outside {
		if err := s.read(path, "config", oneFile, nil); err != nil {
			return fmt.Errorf("read the settings in %s: %w", path, err)
		}
	}
	// A .git file of a linked worktree says where the repository is.
	if dotgit := filepath.Join(r.Root, ".git"); r.GitDir != dotgit {
		if st, err := readState(dotgit); err == nil {
			s.Files["config:"+dotgit] = st
		}
	}
	return nil
}

// settingsFiles are the files outside of the git directory that git takes
// settings, attributes and ignore rules from, and those of the worktree that it runs;
// those that do not exist yet included.
func (r *Repo) settingsFiles(ctx context.Context) ([]string, error) {
	config, err := r.Git.Config(ctx)
	if err != nil {
		return nil, err
	}
	var files []string
	add := func(path string) {
		if rel, err := filepath.Rel(r.CommonDir, path); err == nil && filepath.IsLocal(rel) || slices.Contains(files, path) {
			return
		}
		files = append(files, path)
		if real, err := filepath.EvalSymlinks(path); err == nil && !slices.Contains(files, real) {
			files = append(files, real) // where a link to the settings leads
		}
	}
	for _, set := range config {
		if filepath.IsAbs(set.File) {
			add(filepath.Clean(set.File))
		}
	}
	for _, path := range r.reached(config) {
		add(path)
	}
	home := proc.Getenv(r.Git.Env, "HOME")
	xdg := proc.Getenv(r.Git.Env, "XDG_CONFIG_HOME")
	if xdg == "" && home != "" {
		xdg = filepath.Join(home, ".config")
	}
	if home != "" {
		add(filepath.Join(home, ".gitconfig"))
	}
	if xdg != "" {
		for _, name := range []string{"config", "attributes", "ignore"} {
			add(filepath.Join(xdg, "git", name))
		}
	}
	return files, nil
}

func countsAsUsers(ref string) bool {
	return !strings.HasPrefix(ref, "refs/remotes/") && !strings.HasPrefix(ref, "refs/ralph/") && ref != NotesRef
}

func (s *Snapshot) readRefs() error {
	return eachRef(s.common, "refs", refWalk{
		folder: func(name string) error {
			if name == "refs/remotes" {
				return fs.SkipDir
			}
			return nil
		},
		lock: func(path string) error {
			s.Locks[path] = true
			return nil
		},
		only: countsAsUsers,
		ref: func(name, value string) error {
			s.Refs[name] = text.Clip(value, 200)
			return nil
		},
	})
}

// pathKind says what a path of the snapshot is read as.
type pathKind bool

const (
	wholeFolder pathKind = true
	oneFile     pathKind = false
)

func (s *Snapshot) read(full, kind string, dir pathKind, only []string) error {
	add := func(path string) error {
		st, err := readState(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			s.Files[kind+":"+path] = st
		}
		return err
	}
	if dir == oneFile {
		return add(full)
	}
	return filepath.WalkDir(full, func(p string, d fs.DirEntry, err error) error {
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
		if only != nil && p != full && !slices.Contains(only, name) &&
			(kind == "info" || kind == "alternates" || filepath.Base(filepath.Dir(p)) != "hooks") {
			return nil
		}
		if strings.HasSuffix(name, ".lock") {
			return nil
		}
		return add(p)
	})
}

// readState looks at one file. One that may not be read is known by its mode.
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
		if f.Data, err = readPlain(path, maxKept); errors.Is(err, fs.ErrPermission) {
			return f, nil
		}
		f.Sum = sha256.Sum256(f.Data)
	case st.Mode().IsRegular():
		f.Sum = sha256.Sum256(fmt.Append(nil, st.Size(), st.ModTime().UnixNano()))
	}
	return f, err
}

// readPlain reads a regular file of at most limit bytes that may have been
// replaced by anything since it was looked at.
func readPlain(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|careful, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return data, err
}

// Compare names everything that differs between two snapshots, sorted.
func (s *Snapshot) Compare(now *Snapshot) []Difference {
	var d []Difference
	if s.Head != now.Head {
		d = append(d, Difference{"HEAD", "HEAD", s.Head, now.Head})
	}
	if now.Begun != "" && now.Begun != s.Begun {
		d = append(d, Difference{"HEAD", now.Begun, "", "begun"})
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

// OnlyMode says whether a difference is one of the permissions alone.
func (s *Snapshot) OnlyMode(d Difference, now *Snapshot) bool {
	key := d.Kind + ":" + d.Name
	old, had := s.Files[key]
	is, has := now.Files[key]
	return had && has && old.Sum == is.Sum && old.Mode != is.Mode && old.Mode.Type() == is.Mode.Type()
}

// OthersWorktree reports whether a difference is a whole linked worktree that
// was added or removed. Users and other loops do that at any time, and it cannot
// redirect git in this one.
func (s *Snapshot) OthersWorktree(d Difference, now *Snapshot) bool {
	if d.Kind != "worktrees" {
		return false
	}
	rel, err := filepath.Rel(filepath.Join(s.common, "worktrees"), d.Name)
	if err != nil {
		return false
	}
	name, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	if name == "." {
		return false
	}
	before, after := s.madeWorktree(name), now.madeWorktree(name)
	was, is := s.checkoutOf(name), now.checkoutOf(name)
	if before && after && was != "" && is != "" && was != is {
		return true // one went, and another one came under its name
	}
	if before && (!after || was != "" && path.Base(filepath.ToSlash(rel)) == "locked") { // is it going?
		for range 20 {
			if _, err := os.Lstat(filepath.Join(s.common, "worktrees", name, "HEAD")); err != nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		_, err := os.Lstat(filepath.Join(s.common, "worktrees", name, "HEAD"))
		return errors.Is(err, fs.ErrNotExist)
	}
	return !before
}

// checkoutOf is the folder of a linked worktree if it is one of our fresh
// checkouts, else "". Every proof makes and removes one.
func (s *Snapshot) checkoutOf(name string) string {
	f := s.Files["worktrees:"+filepath.Join(s.common, "worktrees", name, "gitdir")]
	if dir := string(f.Data); strings.Contains(filepath.ToSlash(dir), "/git-ralph/checkouts/") {
		return dir
	}
	return ""
}

// madeWorktree says whether a linked worktree is there, and complete: git makes
// the files of one singly, as another worker or a person has it do at any time.
func (s *Snapshot) madeWorktree(name string) bool {
	file := func(n string) (FileState, bool) {
		f, ok := s.Files["worktrees:"+filepath.Join(s.common, "worktrees", name, n)]
		return f, ok
	}
	_, gitdir := file("gitdir")
	_, commondir := file("commondir")
	locked, _ := file("locked")
	return gitdir && commondir && string(bytes.TrimSpace(locked.Data)) != "initializing"
}
