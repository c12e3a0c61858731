package gitstate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
)

// PutBack restores config, hooks, info and alternates from s, file by file, but never refs
// or HEAD. What it finds in their place may be the user's, so it is first moved below
// aside, a folder of the git directory. No other file is written, whatever links are
// there. It returns whether anything was moved aside, and all errors.
func (s *Snapshot) PutBack(diff []Difference, now *Snapshot, aside string) (kept bool, err error) {
	var errs []error
	for _, d := range diff {
		if d.Kind == "refs" || d.Kind == "HEAD" {
			continue
		}
		one, err := s.putBack(d, now, aside)
		if kept = kept || one; err != nil {
			errs = append(errs, fmt.Errorf("put back %s: %w", d.Name, err))
		}
	}
	return kept, errors.Join(errs...)
}

func (s *Snapshot) putBack(d Difference, now *Snapshot, aside string) (kept bool, err error) {
	base := s.common
	if rel, err := filepath.Rel(base, d.Name); err != nil || !filepath.IsLocal(rel) {
		base = filepath.Dir(d.Name) // the .git file of a linked worktree
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return false, err
	}
	defer root.Close()
	rel, err := filepath.Rel(base, d.Name)
	if err != nil {
		return false, err
	}
	old, had := s.Files[d.Kind+":"+d.Name]
	if had && old.Link == "" && old.Data == nil {
		return false, errors.New("it is too large to be put back")
	}
	if found, ok := now.Files[d.Kind+":"+d.Name]; !ok || !had || found.Sum != old.Sum {
		if kept, err = s.keepFound(root, base, rel, aside); err != nil {
			return kept, fmt.Errorf("keep what was found: %w", err)
		}
	}
	return kept, old.write(root, rel, had)
}

// keepFound puts what lies at a path below the folder aside, and reports whether anything did.
func (s *Snapshot) keepFound(root *os.Root, base, rel, aside string) (kept bool, err error) {
	st, err := root.Lstat(rel)
	if err != nil {
		return false, ignoreMissing(err)
	}
	to, err := filepath.Rel(s.common, filepath.Join(aside, rel))
	if base != s.common {
		to, err = filepath.Rel(s.common, filepath.Join(aside, "outside", base, rel))
	}
	if err != nil {
		return false, err
	}
	git := root
	if base != s.common {
		if git, err = os.OpenRoot(s.common); err != nil {
			return false, err
		}
		defer git.Close()
	}
	if err := git.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return false, err
	}
	for n, name := 2, to; ; n++ { // an iteration is looked at twice
		if _, err := git.Lstat(to); err != nil {
			break
		}
		to = name + "." + strconv.Itoa(n)
	}
	switch {
	case st.Mode().IsRegular() && st.Size() <= maxKept && st.Mode()&0o400 != 0:
		data, err := root.ReadFile(rel)
		if err != nil {
			return false, err
		}
		return true, git.WriteFile(to, data, 0o600)
	case base == s.common:
		return true, root.Rename(rel, to)
	case st.Mode()&fs.ModeSymlink != 0:
		link, err := root.Readlink(rel)
		if err != nil {
			return false, err
		}
		return true, git.WriteFile(to, []byte(link), 0o600)
	}
	return false, nil
}

// write makes a file what it was; had says that there was one.
func (old FileState) write(root *os.Root, rel string, had bool) error {
	if !had || old.Link != "" {
		if err := root.RemoveAll(rel); err != nil && !errors.Is(err, fs.ErrNotExist) || !had {
			return ignoreMissing(err)
		}
		if err := root.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
			return err
		}
		return root.Symlink(old.Link, rel)
	}
	if err := root.MkdirAll(filepath.Dir(rel), 0o755); err != nil {
		return err
	}
	if st, err := root.Lstat(rel); err == nil && st.IsDir() {
		if err := root.RemoveAll(rel); err != nil {
			return err
		}
	}
	tmp := rel + ".ralph-tmp"
	if err := root.RemoveAll(tmp); err != nil {
		return err
	}
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, old.Mode.Perm())
	if err != nil {
		return err
	}
	_, err = f.Write(old.Data)
	err = errors.Join(err, f.Chmod(old.Mode.Perm()), f.Sync(), f.Close())
	if err == nil {
		err = root.Rename(tmp, rel)
	}
	if err != nil {
		root.Remove(tmp)
	}
	return err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// foreignAge is the age at which a lock without a known holder is removed. A program
// that uses a git library holds one for less time. It may run where its process cannot
// be seen, in a container for example.
const foreignAge = 3 * time.Second

// RemoveStaleLocks removes git's lock files that are not in the snapshot, have no living
// holder and are not new. An agent leaves them when it is killed or on purpose. It returns
// the names of removed locks, and the locks that stay. Where processes cannot be examined,
// every lock stays.
func (s *Snapshot) RemoveStaleLocks(now *Snapshot) (gone []string, left []LeftLock) {
	seen := map[string]fs.FileInfo{}
	for path := range now.Locks {
		if st, err := os.Lstat(path); err == nil && !s.Locks[path] {
			seen[path] = st
		}
	}
	if len(seen) == 0 {
		return nil, nil
	}
	stays := func(path, why string) { left = append(left, LeftLock{path, why}) }
	paths := slices.Sorted(maps.Keys(seen))
	began := time.Now()
	for _, path := range paths {
		for age(seen[path]) < foreignAge && time.Since(began) < foreignAge && sameFile(path, seen[path]) {
			time.Sleep(Jitter())
		}
	}
	if running, known := proc.GitRunning(nil, s.worksIn...); running || !known {
		for _, path := range paths {
			if sameFile(path, seen[path]) {
				stays(path, "a git process is running in the repository")
			}
		}
		return nil, left
	}
	// The notes are read after the locks: who takes one has a note before.
	writers := proc.ReadWriters(s.writers)
	for _, path := range paths {
		switch {
		case held(writers, path, seen[path]) || !sameFile(path, seen[path]):
			continue
		case age(seen[path]) < foreignAge && time.Since(began) < foreignAge:
			stays(path, whyYoung)
			continue
		}
		if who := proc.LockHolder(path, seen[path], s.worksIn...); who != "" {
			stays(path, who+" may hold it")
		} else if sameFile(path, seen[path]) && os.RemoveAll(path) == nil {
			gone = append(gone, path)
		}
	}
	return gone, left
}

// age is how long ago a file was written; one from the future is new.
func age(st fs.FileInfo) time.Duration { return max(time.Since(st.ModTime()), 0) }

func sameFile(path string, st fs.FileInfo) bool {
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(now, st)
}

// held says whether another of our processes, such as a worker that lands its work, has
// a lock, or may be about to note that it has it.
func held(writers map[string]proc.Writer, path string, st fs.FileInfo) bool {
	for _, w := range writers {
		if w.Dead() {
			continue
		}
		if ino, ok := w.Locks[path]; ok && ino == inode(st) || !w.Idle && len(w.Locks) == 0 {
			return true
		}
	}
	return false
}

// CameWithFetch reports whether a difference is a new tag of a commit that a
// remote has. A fetch, by an editor for example, brings such tags, and that is
// no tampering.
func (r *Repo) CameWithFetch(ctx context.Context, d Difference) bool {
	if d.Kind != "refs" || d.Old != "" || !strings.HasPrefix(d.Name, "refs/tags/") {
		return false
	}
	id, err := object.ParseID(d.New)
	if err != nil {
		return false
	}
	out, err := r.Git.Line(ctx, "for-each-ref", "--count=1", "--format=%(refname)", "--contains", id.String(),
		"refs/remotes")
	return err == nil && out != ""
}

// OfOtherLoop says whether a difference is the branch of another loop that is
// at work now: it commits as we do.
func (r *Repo) OfOtherLoop(d Difference) bool {
	branch, ok := strings.CutPrefix(d.Name, "refs/heads/")
	if d.Kind != "refs" || !ok {
		return false
	}
	if strings.HasPrefix(branch, workerPrefix) {
		return true // its worker may have come to its end since
	}
	h, alive := r.BranchHolder(branch)
	return alive && h.Identity != proc.Self()
}
