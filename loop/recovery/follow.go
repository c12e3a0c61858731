package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/text"
)

// Follower brings one of our linked worktrees up to date with the branch that it
// was made for, if that needs no merge. Its own work is neither undone nor
// merged. The caller holds the locks of the linked branch and worktree and has
// recovered.
type Follower struct {
	Repo    *gitstate.Repo
	Journal *journal.Journal // of the linked branch
	Engine  *worktree.Engine
	Of      string // the branch
	Log     func(format string, args ...any)
	Fail    func(step string)
}

// FollowSteps are the places where it can be stopped.
var FollowSteps = []string{"follow:noted", "follow:refs", "follow:files", "follow:index"}

// following is what a crash in the middle leaves behind.
type following struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Gap says how two branches, or two journals, stand to each other.
type Gap struct {
	Ahead, Behind int // commits of the linked one alone, of the other alone
}

// Run does it.
func (f *Follower) Run(ctx context.Context) error {
	if err := f.finish(ctx); err != nil {
		return err
	}
	branch, entry := gitstate.BranchRef(f.Journal.Branch), f.Journal.Ref()
	var refs [4]object.ID
	for i, name := range []string{branch, gitstate.BranchRef(f.Of), entry, gitstate.JournalRef(f.Of)} {
		var err error
		if refs[i], err = f.Repo.ReadRef(ctx, name); err != nil {
			return err
		}
	}
	if refs[1].IsZero() || refs[3].IsZero() {
		return nil // the branch is gone: what is here goes on by itself
	}
	code, err := GapOf(ctx, f.Repo, refs[0], refs[1])
	if err != nil {
		return err
	}
	words, err := GapOf(ctx, f.Repo, refs[2], refs[3])
	if err != nil {
		return err
	}
	var ups []gitstate.RefUpdate
	switch {
	case code.Ahead > 0 && code.Behind > 0:
		f.Log("%s has commits that %s does not have; to bring them in: git -C %s merge %s", f.Of, f.Journal.Branch,
			f.Repo.Root, f.Of)
	case code.Behind > 0:
		if clean, err := f.clean(ctx); err != nil {
			return err
		} else if !clean {
			return nil // said by the look at the worktree that follows
		}
		if plain, err := f.plain(refs[0], refs[1]); err != nil {
			return err
		} else if !plain {
			f.Log("%s changes a submodule: git -C %s merge %s brings it in", f.Of, f.Repo.Root, f.Of)
			return nil
		}
		ups = append(ups, gitstate.RefUpdate{Name: branch, Old: refs[0], New: refs[1]})
	}
	switch {
	case words.Ahead > 0 && words.Behind > 0:
		f.Log("the journal of %s has entries that %s does not have: tasks added there are not seen here", f.Of,
			f.Journal.Branch)
	case words.Behind > 0 && code.Ahead == 0:
		// The code of its entries is here, or comes with it.
		ups = append(ups, gitstate.RefUpdate{Name: entry, Old: refs[2], New: refs[3]})
	}
	if len(ups) == 0 {
		return nil
	}
	moving := following{From: refs[0].String(), To: refs[0].String()}
	if ups[0].Name == branch {
		moving.To = refs[1].String()
	}
	return f.move(ctx, moving, ups)
}

// GapOf counts the commits that only one of two histories has.
func GapOf(ctx context.Context, repo *gitstate.Repo, linked, other object.ID) (Gap, error) {
	var g Gap
	if linked == other {
		return g, nil
	}
	out, err := repo.Git.Line(ctx, "rev-list", "--count", "--left-right", linked.String()+"..."+other.String())
	if err != nil {
		return g, fmt.Errorf("compare two branches: %w", err)
	}
	left, right, _ := strings.Cut(out, "\t")
	var err1, err2 error
	g.Ahead, err1 = strconv.Atoi(left)
	g.Behind, err2 = strconv.Atoi(right)
	return g, errors.Join(err1, err2)
}

func (f *Follower) clean(ctx context.Context) (bool, error) {
	out, err := f.Repo.Git.Run(ctx, "status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=all")
	if err != nil {
		return false, fmt.Errorf("look for changed files: %w", err)
	}
	return len(out) == 0, nil
}

// plain says whether the engine can move every file from one commit to the
// other.
func (f *Follower) plain(from, to object.ID) (bool, error) {
	old, err := f.Repo.TreeOf(from)
	if err != nil {
		return false, err
	}
	now, err := f.Repo.TreeOf(to)
	if err != nil {
		return false, err
	}
	changes, err := worktree.DiffTrees(f.Repo.Store, old, now)
	if err != nil {
		return false, fmt.Errorf("compare two branches: %w", err)
	}
	return !slices.ContainsFunc(changes, func(c worktree.Change) bool {
		return c.Old.Mode == object.ModeGitlink || c.New.Mode == object.ModeGitlink
	}), nil
}

func (f *Follower) note() string {
	return filepath.Join(f.Repo.Dir(), "follow-"+text.FileName(f.Repo.WorktreeName()))
}

func (f *Follower) move(ctx context.Context, m following, ups []gitstate.RefUpdate) error {
	if m.From != m.To {
		data, err := json.Marshal(m)
		if err == nil {
			err = gitstate.WriteFile(f.note(), data, 0o600)
		}
		if err != nil {
			return fmt.Errorf("follow %s: %w", f.Of, err)
		}
		f.fail("follow:noted")
	}
	if err := f.Repo.UpdateRefs("ralph: follow "+f.Of, ups...); err != nil {
		return errors.Join(fmt.Errorf("follow %s: %w", f.Of, err), f.forget())
	}
	f.fail("follow:refs")
	if m.From == m.To {
		return nil
	}
	return f.files(ctx, m)
}

// Forward moves the branch ahead, with its index and files. False means that tracked files
// have changes, so that nothing was moved.
func (f *Follower) Forward(ctx context.Context, from, to object.ID) (moved bool, err error) {
	if err := f.finish(ctx); err != nil {
		return false, err
	}
	if clean, err := f.clean(ctx); err != nil || !clean {
		return false, err
	}
	return true, f.move(ctx, following{From: from.String(), To: to.String()},
		[]gitstate.RefUpdate{{Name: gitstate.BranchRef(f.Journal.Branch), Old: from, New: to}})
}

// finish completes what a crash cut short: if the branch has moved, its files.
func (f *Follower) finish(ctx context.Context) error {
	data, err := os.ReadFile(f.note())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("follow %s: %w", f.Of, err)
	}
	var m following
	if json.Unmarshal(data, &m) != nil {
		return f.forget()
	}
	at, err := f.Repo.ReadRef(ctx, gitstate.BranchRef(f.Journal.Branch))
	if err != nil {
		return err
	}
	if at.String() != m.To {
		return f.forget() // it had not begun
	}
	return f.files(ctx, m)
}

func (f *Follower) files(ctx context.Context, m following) error {
	from, err1 := object.ParseID(m.From)
	to, err2 := object.ParseID(m.To)
	if err := errors.Join(err1, err2); err != nil {
		return errors.Join(err, f.forget())
	}
	if err := MoveFiles(ctx, f.Engine, from, to, f.Log); err != nil {
		return fmt.Errorf("follow %s: %w", f.Of, err)
	}
	f.fail("follow:files")
	r := Recovery{Place: Place{Repo: f.Repo, Engine: f.Engine}}
	if err := r.repairIndex(ctx, from, to); err != nil {
		return fmt.Errorf("follow %s: %w", f.Of, err)
	}
	f.fail("follow:index")
	return f.forget()
}

func (f *Follower) forget() error {
	if err := os.Remove(f.note()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("follow %s: %w", f.Of, err)
	}
	return nil
}

func (f *Follower) fail(step string) {
	if f.Fail != nil {
		f.Fail(step)
	}
}
