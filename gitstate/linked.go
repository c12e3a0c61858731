package gitstate

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"git-ralph/gitstate/object"
)

// Linked is a linked worktree that git ralph made: where a loop works beside a person, on
// a branch of its own. It is one when it has our mark in its git directory,
// which is written last: without it nothing has ever run there.
type Linked struct {
	Of     string `json:"of"`               // the branch that it was made for
	Branch string `json:"branch"`           // the one it works on
	Worker int    `json:"worker,omitempty"` // of several; 0 = it is that of --worktree
	Root   string `json:"-"`
	GitDir string `json:"-"` // its own, below worktrees/ of the common one
}

// LinkedSteps are the places where the making of one can be stopped.
var LinkedSteps = []string{"linked:refs", "linked:added", "linked:files", "linked:ready"}

const (
	linkedMark   = "ralph-linked.json"
	linkedPrefix = "ralph/"
	// linkedReason keeps git from pruning it, and says whose it is.
	linkedReason = "git ralph works here"
)

// LinkedBranch is the branch of the linked worktree that is made for of.
func LinkedBranch(of string) string { return linkedPrefix + of }

// LinkedHere reports whether this is one of our linked worktrees.
func (r *Repo) LinkedHere() (Linked, bool) {
	if r.GitDir == r.CommonDir {
		return Linked{}, false
	}
	return readLinked(r.GitDir)
}

// LinkedOf finds our linked worktree that was made for a branch.
func (r *Repo) LinkedOf(branch string) (Linked, bool, error) {
	dirs, err := r.linkedDirs()
	for _, dir := range dirs {
		if l, ok := readLinked(dir); ok && l.Of == branch && l.Worker == 0 {
			return l, true, nil
		}
	}
	return Linked{}, false, err
}

// linkedDirs are the git directories of all linked worktrees.
func (r *Repo) linkedDirs() ([]string, error) { return linkedDirs(r.CommonDir) }

// linkedDirs reads the folder: a pattern would take brackets in the path of the repository
// for its own.
func linkedDirs(common string) ([]string, error) {
	base := filepath.Join(common, "worktrees")
	list, err := os.ReadDir(base)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look for linked worktrees: %w", err)
	}
	var out []string
	for _, d := range list {
		if d.IsDir() {
			out = append(out, filepath.Join(base, d.Name()))
		}
	}
	return out, nil
}

func readLinked(gitDir string) (Linked, bool) {
	data, err := readPlain(filepath.Join(gitDir, linkedMark), 4096)
	l := Linked{GitDir: gitDir}
	if err != nil || json.Unmarshal(data, &l) != nil || l.Branch == "" {
		return Linked{}, false
	}
	l.Root = linkedRoot(gitDir)
	return l, l.Root != ""
}

// linkedRoot is the worktree of such a git directory, "" when it does not say.
func linkedRoot(gitDir string) string {
	data, err := readPlain(filepath.Join(gitDir, "gitdir"), 16<<10)
	path := strings.TrimSpace(string(data))
	if err != nil || path == "" {
		return ""
	}
	if path = filepath.FromSlash(path); !filepath.IsAbs(path) {
		path = filepath.Join(gitDir, path)
	}
	return filepath.Dir(path)
}

// LinkedPlace is the folder below base for the linked worktree of a branch: its
// last part is that of the worktree that it stands in for, because projects
// take their name from it.
func (r *Repo) LinkedPlace(base, branch string) string {
	sum := sha256.Sum256([]byte(r.CommonDir + "\x00" + branch))
	return filepath.Join(base, fmt.Sprintf("%x", sum[:8]), filepath.Base(r.Root))
}

// MakeLinked makes the linked worktree for the branch of in the folder place.
// fork is the entry at which its journal begins. An existing branch and journal
// are used. The leftovers of an unfinished call are removed first. The caller
// holds the lock of the linked branch.
func (r *Repo) MakeLinked(ctx context.Context, of, place string, fork object.ID, env []string,
	step func(string)) (Linked, error) {
	if step == nil {
		step = func(string) {}
	}
	l := Linked{Of: of, Branch: LinkedBranch(of), Root: place}
	if err := r.linkedRefs(ctx, of, fork); err != nil {
		return l, err
	}
	step("linked:refs")
	if err := r.clearLinked(l); err != nil {
		return l, err
	}
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		return l, fmt.Errorf("make the linked worktree: %w", err)
	}
	// A second git process writes the files. It is our child and dies with us,
	// so nothing writes there when the next attempt begins.
	if _, err := r.Git.Run(ctx, "worktree", "add", "--quiet", "--no-checkout", "--lock", "--reason",
		linkedReason+" for "+of, place, l.Branch); err != nil {
		return l, fmt.Errorf("make the linked worktree: %w", err)
	}
	step("linked:added")
	repo, err := Open(ctx, place, env)
	if err != nil {
		return l, fmt.Errorf("make the linked worktree: %w", err)
	}
	defer repo.Close()
	if _, err := repo.Git.Run(ctx, "reset", "--hard", "--quiet"); err != nil {
		return l, fmt.Errorf("make the linked worktree: %w", err)
	}
	step("linked:files")
	l.GitDir = repo.GitDir
	if err := l.mark(place); err != nil {
		return l, fmt.Errorf("make the linked worktree: %w", err)
	}
	step("linked:ready")
	return l, nil
}

// mark notes in the worktree's git directory and beside the worktree that it is
// ours.
func (l Linked) mark(place string) error {
	data, err := json.Marshal(l)
	if err == nil {
		err = WriteFile(linkedSeal(place), []byte(l.GitDir+"\n"), 0o600)
	}
	if err == nil {
		err = WriteFile(filepath.Join(l.GitDir, linkedMark), append(data, '\n'), 0o600)
	}
	return err
}

// linkedRefs makes the branch and its journal, both or neither.
func (r *Repo) linkedRefs(ctx context.Context, of string, fork object.ID) error {
	branch := LinkedBranch(of)
	tip, err := r.ReadRef(ctx, BranchRef(of))
	if err != nil {
		return err
	}
	if tip.IsZero() {
		return refuse(NoCommit, fmt.Errorf("%s has no commit yet that a linked worktree could begin at", of))
	}
	have, err := r.ReadRef(ctx, BranchRef(branch))
	if err != nil {
		return err
	}
	journal, err := r.ReadRef(ctx, JournalRef(branch))
	if err != nil {
		return err
	}
	var ups []RefUpdate
	switch {
	case have.IsZero():
		ups = append(ups, RefUpdate{Name: BranchRef(branch), New: tip})
	case journal.IsZero():
		return refuse(BranchTaken,
			fmt.Errorf("there is a branch %s already that has no journal, so it is somebody's own", branch), branch)
	}
	if journal.IsZero() {
		ups = append(ups, RefUpdate{Name: JournalRef(branch), New: fork})
	}
	if len(ups) == 0 {
		return nil
	}
	if taken, err := r.ReadRef(ctx, BranchRef(strings.TrimSuffix(linkedPrefix, "/"))); err == nil && !taken.IsZero() {
		return refuse(PrefixTaken, fmt.Errorf("a branch named ralph is in the way of %s", branch))
	}
	if err := r.UpdateRefs("ralph: a linked worktree for "+of, ups...); err != nil {
		return fmt.Errorf("make the branch %s: %w", branch, err)
	}
	return nil
}

// clearLinked removes what was made of a linked worktree without its mark, or
// whose files somebody removed.
func (r *Repo) clearLinked(l Linked) error {
	dirs, err := r.linkedDirs()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		head, err := readPlain(filepath.Join(dir, "HEAD"), 4096)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look for linked worktrees: %w", err)
		}
		root := linkedRoot(dir)
		if strings.TrimSpace(string(head)) != "ref: "+BranchRef(l.Branch) && root != l.Root {
			continue
		}
		locked, _ := readPlain(filepath.Join(dir, "locked"), 4096)
		if _, marked := readLinked(dir); !marked && root != l.Root && !strings.HasPrefix(string(locked), linkedReason) {
			return refuse(CheckedOut, fmt.Errorf("%s is checked out in %s", l.Branch, root), root)
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("remove a half made worktree: %w", err)
		}
	}
	if err := os.RemoveAll(filepath.Dir(l.Root)); err != nil {
		return fmt.Errorf("remove a half made worktree: %w", err)
	}
	return nil
}

// linkedSeal says, beside the worktree and so out of an agent's reach, which
// git directory it has.
func linkedSeal(root string) string { return filepath.Join(filepath.Dir(root), "gitdir") }

// unspoilt refuses one of our linked worktrees whose .git file leads elsewhere:
// settings and trust would be an agent's.
func (r *Repo) unspoilt() error {
	base := filepath.Dir(filepath.Dir(r.Root))
	if filepath.Base(base) != "worktrees" || filepath.Base(filepath.Dir(base)) != "git-ralph" {
		return nil
	}
	seal, err := readPlain(linkedSeal(r.Root), 16<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at the linked worktree: %w", err)
	}
	is, err1 := os.Stat(r.GitDir)
	want, err2 := os.Stat(strings.TrimSpace(string(seal)))
	if err1 == nil && err2 == nil && os.SameFile(is, want) {
		return nil
	}
	return refuse(WorktreeMisled,
		fmt.Errorf("the .git file of %s leads to %s, and not to %s", r.Root, r.GitDir, strings.TrimSpace(string(seal))))
}

// There says whether the worktree's folder still exists.
func (l Linked) There() bool {
	st, err := os.Stat(l.Root)
	return err == nil && st.IsDir()
}

// RepairLinked makes the .git file of a linked worktree lead to its own git
// directory, because an agent may write that file. It must run before any git
// command there. It reports whether the file was repaired.
func (r *Repo) RepairLinked(l Linked) (repaired bool, err error) {
	root, err := os.OpenRoot(l.Root)
	if err != nil {
		return false, err
	}
	defer root.Close()
	// A repository that was moved has another git directory than it was sealed with.
	if seal, err := readPlain(linkedSeal(l.Root), 16<<10); err == nil && strings.TrimSpace(string(seal)) != l.GitDir {
		if err := WriteFile(linkedSeal(l.Root), []byte(l.GitDir+"\n"), 0o600); err != nil {
			return false, err
		}
	}
	if st, err := root.Lstat(".git"); err == nil && st.Mode().IsRegular() {
		data, err := readPlain(filepath.Join(l.Root, ".git"), 16<<10)
		if to, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: "); ok && err == nil {
			if to = filepath.FromSlash(to); !filepath.IsAbs(to) {
				to = filepath.Join(l.Root, to)
			}
			is, err1 := os.Stat(to)
			want, err2 := os.Stat(l.GitDir)
			if err1 == nil && err2 == nil && os.SameFile(is, want) {
				return false, nil
			}
		}
	}
	if err := root.RemoveAll(".git"); err != nil {
		return false, fmt.Errorf("put the .git file back: %w", err)
	}
	f, err := root.OpenFile(".git", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return false, fmt.Errorf("put the .git file back: %w", err)
	}
	_, err = f.WriteString("gitdir: " + filepath.ToSlash(l.GitDir) + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return false, fmt.Errorf("put the .git file back: %w", err)
	}
	return true, nil
}

// CheckedOutAt is the worktree in which a branch is checked out, "" when none has it.
func (r *Repo) CheckedOutAt(ctx context.Context, branch string) (string, error) {
	out, err := r.Git.Run(ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return "", fmt.Errorf("list the worktrees: %w", err)
	}
	root := ""
	for _, field := range strings.Split(string(out), "\x00") {
		if path, ok := strings.CutPrefix(field, "worktree "); ok {
			root = filepath.FromSlash(path)
		} else if field == "branch "+BranchRef(branch) {
			return root, nil
		}
	}
	return "", nil
}
