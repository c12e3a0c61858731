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
	"strings"

	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
)

// PutBack restores config, hooks, info and alternates as they were in s, file
// by file; refs and HEAD are never put back. Nothing outside the git directory
// is written, whatever links lie in it. It returns what it could not do.
func (s *Snapshot) PutBack(diff []Difference) error {
	var errs []error
	for _, d := range diff {
		if d.Kind == "refs" || d.Kind == "HEAD" {
			continue
		}
		if err := s.putBack(d); err != nil {
			errs = append(errs, fmt.Errorf("put back %s: %w", d.Name, err))
		}
	}
	return errors.Join(errs...)
}

func (s *Snapshot) putBack(d Difference) error {
	base := s.common
	if rel, err := filepath.Rel(base, d.Name); err != nil || !filepath.IsLocal(rel) {
		base = filepath.Dir(d.Name) // the .git file of a linked worktree
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return err
	}
	defer root.Close()
	rel, err := filepath.Rel(base, d.Name)
	if err != nil {
		return err
	}
	old, had := s.Files[d.Kind+":"+d.Name]
	if had && old.Link == "" && old.Data == nil {
		return errors.New("it is too large to be put back")
	}
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

// RemoveStaleLocks removes git's lock files that lay there neither before nor
// belong to a living process of git's or ours: an agent that was ended in the
// middle, or one that wants to be in the way, leaves them. It returns their names.
// Where processes cannot be looked at, every lock stays.
func (s *Snapshot) RemoveStaleLocks(now *Snapshot) []string {
	seen := map[string]fs.FileInfo{}
	for path := range now.Locks {
		if st, err := os.Lstat(path); err == nil && !s.Locks[path] {
			seen[path] = st
		}
	}
	if len(seen) == 0 {
		return nil
	}
	if running, known := proc.GitRunning(nil, s.root, s.common); running || !known {
		return nil
	}
	// The notes are read after the locks: who takes one has a note before.
	writers := proc.ReadWriters(s.writers)
	var gone []string
	for _, path := range slices.Sorted(maps.Keys(seen)) {
		if held(writers, path, seen[path]) {
			continue
		}
		if st, err := os.Lstat(path); err != nil || !os.SameFile(st, seen[path]) {
			continue
		}
		if os.RemoveAll(path) == nil {
			gone = append(gone, path)
		}
	}
	return gone
}

// held says whether a living process of ours, another worker that lands its work for
// example, has a lock, or may be about to note that it has it.
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

// CameWithFetch says whether a difference is a new tag of a commit that a
// remote has: what a fetch brings along, in an editor for example, is nobody's
// tampering.
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
