package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/config"
	"git-ralph/internal/text"
	"git-ralph/internal/view"
	"git-ralph/loop/recovery"
)

// journalNeed says whether a command works on a branch without a journal.
type journalNeed bool

const (
	mayBeginJournal journalNeed = true
	needsJournal    journalNeed = false
)

// enterLinked moves a command with --worktree to the linked worktree of the
// present branch. It finds that worktree, or makes it with a fork of the
// branch's journal. From here on repository and journal are the linked ones.
// Settings stay those of the place where the command was typed. begin says that
// the branch may not have a journal yet.
func (a *App) enterLinked(f *RunFlags, begin journalNeed) error {
	if !f.Worktree {
		return nil
	}
	a.wantsLinked = true
	if f.Trust {
		a.Env = append(a.Env, "RALPH_TRUST=1")
	}
	repo, err := a.Repo()
	if err != nil {
		return err
	}
	if here, ok := repo.LinkedHere(); ok {
		a.linked = &here // typed in it: there is nothing to enter
		return a.linkedBranch(repo)
	}
	j, err := a.Journal()
	if err != nil {
		return err
	}
	if of, ok := strings.CutPrefix(j.Branch, gitstate.LinkedBranch("")); ok {
		return gitstate.Hint(8, "git switch "+of+" and again; or without --worktree",
			"%s is the branch of a linked worktree itself", j.Branch)
	}
	held, err := repo.LockBranch(gitstate.LinkedBranch(j.Branch))
	if err != nil {
		return err
	}
	defer held.Release() // the loop takes it again
	l, err := a.readyLinked(repo, j, f, bool(begin))
	if err != nil {
		return err
	}
	return a.moveTo(repo, l, f)
}

// readyLinked finds or makes the linked worktree of j's branch.
func (a *App) readyLinked(repo *gitstate.Repo, j *journal.Journal, f *RunFlags, begin bool) (gitstate.Linked, error) {
	none := gitstate.Linked{}
	l, ok, err := repo.LinkedOf(j.Branch)
	if err != nil {
		return none, err
	}
	fork, err := repo.ReadRef(a.Ctx, gitstate.JournalRef(gitstate.LinkedBranch(j.Branch)))
	if err != nil {
		return none, err
	}
	if ok && l.There() && !fork.IsZero() {
		return l, nil
	}
	// Check what would refuse any run before anything is made.
	if err := a.mayBegin(f); err != nil {
		return none, err
	}
	tip, err := a.settledJournal(repo, j, begin)
	if err != nil {
		return none, err
	}
	if err := a.clearFork(repo, j, tip, fork); err != nil {
		return none, err
	}
	place, err := linkedPlace(repo, j.Branch)
	if err != nil {
		return none, err
	}
	return repo.MakeLinked(a.Ctx, j.Branch, place, tip, a.Env, a.failpoint())
}

// mayBegin says whether the settings are such that a run could begin.
func (a *App) mayBegin(f *RunFlags) error {
	src, err := a.sources(f.Config, nil)
	if err != nil {
		return err
	}
	src.Flags = f.flags()
	set, err := config.Load(src)
	if err != nil {
		return &gitstate.HintError{Err: err, Hint: hintOf(err), Code: 8}
	}
	return a.askTrust(a.Ctx, set, f.Yes)
}

// settledJournal is the entry of the branch's journal where a fork can begin:
// nothing is at work, and leftovers of a dead run are repaired.
func (a *App) settledJournal(repo *gitstate.Repo, j *journal.Journal, begin bool) (object.ID, error) {
	if begin {
		if _, err := a.ensureJournal(j); err != nil {
			return object.Zero, err
		}
	}
	done, err := a.exclusive()
	if err != nil {
		return object.Zero, err
	}
	defer done()
	snap, err := j.Load(a.Ctx)
	if errors.Is(err, journal.ErrNone) {
		return object.Zero, a.nothingYet(j)
	}
	if err != nil {
		return object.Zero, err
	}
	if len(snap.State.InWork()) > 0 {
		e, err := a.engine(nil)
		if err != nil {
			return object.Zero, err
		}
		if err := a.recoverRun(j, e, nil); err != nil {
			return object.Zero, err
		}
		if snap, err = j.Load(a.Ctx); err != nil {
			return object.Zero, err
		}
	}
	return snap.Tip, nil
}

// clearFork handles the journal of a linked branch that somebody deleted.
// Entries that only this journal has are archived.
func (a *App) clearFork(repo *gitstate.Repo, j *journal.Journal, tip, fork object.ID) error {
	branch := gitstate.LinkedBranch(j.Branch)
	at, err := repo.ReadRef(a.Ctx, gitstate.BranchRef(branch))
	if err != nil || fork.IsZero() || !at.IsZero() {
		if err == nil && fork.IsZero() {
			err = a.clearName(&journal.Journal{Repo: repo, Branch: branch})
		}
		return err
	}
	ups := []gitstate.RefUpdate{{Name: gitstate.JournalRef(branch), Old: fork}}
	if known, err := repo.IsAncestor(a.Ctx, fork, tip); err != nil {
		return err
	} else if !known {
		name := gitstate.ArchiveRef(gitstate.NewID(j.Now()))
		ups = append(ups, gitstate.RefUpdate{Name: name, New: fork})
		a.warn("the branch %s is gone; its journal was moved to %s", branch, name)
	}
	if err := repo.UpdateRefs("", ups...); err != nil {
		return fmt.Errorf("put the journal of %s aside: %w", branch, err)
	}
	return nil
}

// linkedPlace is where the linked worktree of a branch is made: in the user's
// cache folder, where no agent of another worktree may write.
func linkedPlace(repo *gitstate.Repo, branch string) (string, error) {
	base, err := cacheFolder("worktrees")
	if err != nil {
		return "", err
	}
	for _, in := range []string{repo.Root, repo.CommonDir} {
		if rel, err := filepath.Rel(in, base); err == nil && filepath.IsLocal(rel) {
			return "", gitstate.Hint(8, "set XDG_CACHE_HOME to a folder outside of it",
				"the user's cache folder is in this repository: a worktree in a worktree would be part of it")
		}
	}
	return repo.LinkedPlace(base, branch), nil
}

// cacheFolder makes our folder in the user's cache folder and resolves it.
func cacheFolder(name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", gitstate.Hint(8, "set HOME or XDG_CACHE_HOME", "there is no place for a linked worktree: %w", err)
	}
	dir := filepath.Join(cache, "git-ralph", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("make a folder in the user's cache: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", fmt.Errorf("make a folder in the user's cache: %w", err)
	}
	return dir, nil
}

// moveTo goes on in the linked worktree.
func (a *App) moveTo(repo *gitstate.Repo, l gitstate.Linked, f *RunFlags) error {
	repaired, err := repo.RepairLinked(l)
	if err != nil {
		return err
	}
	if repaired {
		a.warn("the .git file of %s pointed elsewhere and was restored", l.Root)
	}
	linked, err := gitstate.Open(a.Ctx, l.Root, a.Env)
	if err != nil {
		return fmt.Errorf("open the linked worktree: %w", err)
	}
	// Paths of flags are those of the worktree where they were typed.
	if f.Script != "" && !filepath.IsAbs(f.Script) {
		f.Script = filepath.Join(repo.Root, f.Script)
	}
	a.closeFunctions = append(a.closeFunctions, func() { repo.Close() })
	a.typed, a.linked = repo.Root, &l
	a.repo, a.journal, a.git = linked, nil, nil
	return a.linkedBranch(linked)
}

// linkedBranch refuses to work in a linked worktree where somebody switched to
// another branch.
func (a *App) linkedBranch(repo *gitstate.Repo) error {
	branch, _, err := repo.Head(a.Ctx)
	if err == nil && branch != a.linked.Branch {
		err = gitstate.Hint(8, fmt.Sprintf("git -C %s switch %s", repo.Root, a.linked.Branch),
			"the linked worktree %s is on %s", repo.Root, branch)
	}
	return err
}

// follow brings the linked worktree up to its branch before a run.
func (a *App) follow(j *journal.Journal, e *worktree.Engine) error {
	if a.linked == nil {
		return nil
	}
	fl := recovery.Follower{Repo: j.Repo, Journal: j, Engine: e, Of: a.linked.Of, Log: a.warn, Fail: a.failpoint()}
	return fl.Run(a.Ctx)
}

// homeward says where the work of a linked worktree is and how it comes to the
// branch that it was made for.
func (a *App) homeward() {
	l := a.linked
	if l == nil {
		return
	}
	rows := [][]string{{"worktree", l.Root + ", on " + l.Branch}}
	if a.typed != "" {
		rows = append(rows, []string{"its commands", "git ralph -C " + text.Shell(l.Root) + " …"})
	}
	gap, _, err := a.reader().Gap(a.Ctx, *l)
	if err != nil {
		a.warn("%v", err)
	} else {
		rows = append(rows, []string{"ahead", view.Plural(gap.Ahead, "commit") + " that " + l.Of + " does not have"})
		rows = append(rows, []string{"bring it over", "git ralph land"})
		for i, cmd := range byHand(*l, gap) {
			name := ""
			if i == 0 {
				name = "or by hand"
			}
			rows = append(rows, []string{name, cmd})
		}
	}
	a.printer().Table(rows)
}

// byHand are the commands that do without checks what git ralph land does, to be
// typed where the branch is checked out.
func byHand(l gitstate.Linked, gap recovery.Gap) []string {
	var out []string
	if gap.Ahead > 0 && gap.Behind > 0 {
		out = append(out, fmt.Sprintf("git -C %s merge %s", l.Root, l.Of))
	}
	if gap.Ahead > 0 {
		out = append(out, "git merge --ff-only "+l.Branch)
	}
	return append(out, "git ralph adopt "+l.Branch)
}

// linkedHint is added to the hints of a run in a linked worktree: commands
// typed elsewhere mean another branch.
func (a *App) linkedHint() string {
	if a.linked == nil || a.typed == "" {
		return ""
	}
	return fmt.Sprintf("this is about %s: commands for it are given as git ralph -C %s", a.linked.Branch,
		text.Shell(a.linked.Root))
}

// lookLinked is enterLinked for a dry run, which enters only what is there.
func (a *App) lookLinked(f *RunFlags) error {
	repo, err := a.Repo()
	if err != nil || !f.Worktree {
		return err
	}
	a.wantsLinked = true
	if _, ok := repo.LinkedHere(); ok {
		return a.enterLinked(f, needsJournal)
	}
	j, err := a.Journal()
	if err != nil {
		return err
	}
	l, ok, err := repo.LinkedOf(j.Branch)
	if err != nil || !ok || !l.There() {
		return err
	}
	return a.moveTo(repo, l, f)
}

// hasLinked says whether there is a linked worktree of this branch, or this is
// one.
func (a *App) hasLinked() (bool, error) {
	j, err := a.Journal()
	if err != nil {
		return false, err
	}
	if _, here := j.Repo.LinkedHere(); here {
		return true, nil
	}
	_, ok, err := j.Repo.LinkedOf(j.Branch)
	return ok, err
}

// whichLinked says where a run with --worktree works.
func (a *App) whichLinked() string {
	if a.linked != nil {
		return a.linked.Root + ", on " + a.linked.Branch
	}
	return "in the user's cache folder, on " + gitstate.LinkedBranch(a.journal.Branch) + "; it is not made yet"
}

// broughtOver refuses to work on a branch that has the code of its linked
// worktree and not the journal: it would do the same tasks again.
func (a *App) broughtOver(ctx context.Context, j *journal.Journal) error {
	l, ok, err := j.Repo.LinkedOf(j.Branch)
	if err != nil || !ok {
		return err
	}
	code, words, err := a.reader().Gap(a.Ctx, l)
	if err != nil || words.Ahead == 0 {
		return err
	}
	if h, alive := j.Repo.BranchHolder(l.Branch); alive {
		a.warn("process %d works on the same plan in %s", h.Pid, l.Root)
	}
	fork, err := (&journal.Journal{Repo: j.Repo, Branch: l.Branch}).Load(ctx)
	if err != nil || fork.State.Run.LastKeep == nil {
		return err
	}
	if code.Ahead > 0 {
		a.warn("%s has %s of its linked worktree that %s does not have: git ralph land brings them over", l.Branch,
			view.Plural(code.Ahead, "commit"), j.Branch)
		return nil
	}
	if words.Behind > 0 {
		return nil // both went on: a person has decided
	}
	return gitstate.Hint(8, "git ralph adopt "+l.Branch,
		"%s has the work of %s and not its journal: its tasks would be done again", j.Branch, l.Branch)
}
