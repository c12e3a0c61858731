package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/config"
	"git-ralph/loop/refusal"
	"git-ralph/plan"
)

// advice is what the command line adds to an error: the exit code, and the next
// move. Names of the error stand for {0} in the hint.
type advice struct {
	code int
	hint string
}

func (a advice) about(names []string) advice {
	for i, name := range names {
		a.hint = strings.ReplaceAll(a.hint, "{"+string(rune('0'+i))+"}", name)
	}
	return a
}

const unusableGit = "{0} --version should print git version 2.38 or newer; fix it, or put another git first in PATH"

// refusals are the reasons for which a repository is not worked in.
var refusals = map[gitstate.Kind]advice{
	gitstate.GitMissing:       {8, "install git 2.38 or newer"},
	gitstate.GitUnusable:      {8, unusableGit},
	gitstate.ForeignOwner:     {8, "if you trust its owner: git config --global --add safe.directory {0}"},
	gitstate.NoRepository:     {1, "git init"},
	gitstate.BareRepository:   {8, "clone it, or add a worktree: git worktree add ../work"},
	gitstate.OutsideWorktree:  {8, "run this in the worktree"},
	gitstate.ObjectFormat:     {8, "git ralph needs a SHA-1 repository"},
	gitstate.RefFormat:        {8, "with git 2.46 or newer: git refs migrate --ref-format=files"},
	gitstate.UnknownExtension: {8, "install a git that knows it"},
	gitstate.DetachedHead:     {8, "git switch BRANCH, or git switch -c NAME"},
	gitstate.RebaseInProgress: {8, "finish it with git rebase --continue, or git rebase --abort"},
	gitstate.BisectInProgress: {8, "end it with git bisect reset"},
	gitstate.NoIdentity:       {8, `git config user.name "Your Name" && git config user.email you@example.com`},
	gitstate.HooksExposed:     {8, "set hooks = false under [commit], or keep the hooks in the git directory"},
	gitstate.NoCommit:         {8, "git commit first"},
	gitstate.BranchTaken:      {8, "git branch -m {0} NAME gives it another name, git branch -D {0} drops it"},
	gitstate.PrefixTaken:      {8, "git branch -m ralph NAME"},
	gitstate.CheckedOut:       {8, "git -C {0} switch ANOTHER, or work there: cd {0} && git ralph start"},
	gitstate.WorktreeMisled: {1,
		"git ralph start --worktree, typed on the branch that it belongs to, puts it back; until then run no git here"},
}

// journalCauses are the reasons for which a journal cannot be read.
var journalCauses = map[journal.Cause]advice{
	journal.Foreign: {1, "git fsck --lost-found finds the newest entry of the old one; " +
		"git update-ref refs/ralph/heads/BRANCH ENTRY {0} goes back to it"},
	journal.Newer:   {1, "upgrade git-ralph; the journal can be read with plain git until then"},
	journal.Damaged: {1, "git ralph fsck says what is damaged; nothing was changed"},
	journal.Gone:    {1, "git ralph fsck names what is left of it"},
	journal.Back:    {1, "git update-ref refs/ralph/heads/BRANCH {0} goes back to the newest one"},
}

// loopRefusals are the reasons for which the loop does not begin, or does not do
// what was asked for.
var loopRefusals = map[refusal.Kind]advice{
	refusal.Unprovable:  {8, "write [[checks]] in ralph.toml, give every task a verify command, or say --unchecked"},
	refusal.RedBaseline: {8, `fix them, or set baseline = "record" under [validation] in ralph.toml`},
	refusal.NothingGreen: {8, `make one green; or set validation.baseline = "fix-first", which makes the red checks the ` +
		`first task; ` +
		`or give {0} a verify command, and a check that may stay red allow_failure = true; or start with --unchecked`},
	refusal.MissingProgram: {8, "install it, or name what installs it as setup under [project] in ralph.toml; then git " +
		"ralph start"},
	refusal.SetupFailed:   {8, "run it by hand, or fix setup under [project] in ralph.toml"},
	refusal.SigningAsks:   {8, `unlock the key for the night, or set sign = "off" under [commit] in ralph.toml`},
	refusal.NoCacheFolder: {8, "set XDG_CACHE_HOME to a folder that you may write"},
	refusal.NoTempFolder:  {8, "set TMPDIR to a folder that exists and that you may write"},
	refusal.Diverged:      {6, "git cherry-pick {0} takes it, git ralph rewind leaves it; its evidence is {1}"},
	refusal.KeptCommitGone: {8, "git ralph adopt continues from the branch as it is; git ralph rewind N goes back in " +
		"the journal; " +
		"git cherry-pick {0} brings the commit back"},
	refusal.RefLost:       {1, "git update-ref {0} {1}"},
	refusal.PlaceGone:     {1, "put it back as it was; git ralph status then says where the run stands"},
	refusal.NoIteration:   {1, "git ralph log --event iteration lists them"},
	refusal.SharedCommit:  {1, "git revert takes the whole commit back"},
	refusal.FilesInTheWay: {1, "commit them or move them away"},
	refusal.SpecsChanged:  {1, "commit them first, or keep them with --keep-specs"},
	refusal.TakenBack:     {1, "git ralph restore N brings an attempt back; git revert brings back what a rewind took"},
	refusal.LinesChanged:  {1, "git revert takes single commits back and lets you resolve them"},
	refusal.NoCommitThen:  {1, "git ralph log --event iteration lists the others"},
	refusal.BranchThere:   {1, "choose another name, or git branch -D {0}"},
	refusal.LandConflict: {1,
		"git -C {0} merge {1}, resolve and commit it there, then git ralph land; nothing was changed"},
	refusal.LandRed: {1, "fix it there, git -C {0} …, or let a task do it: git ralph -C {0} add \"…\" && " +
		"git ralph -C {0} start; then git ralph land; nothing was changed"},
	refusal.JournalsApart: {1, "git log {0}..{1} shows what only the other one has; nothing was changed"},
	refusal.NotRedactable: {1, "choose a narrower pattern; nothing was changed"},
	refusal.LandMoved:     {1, "git ralph land tries again; nothing was changed"},
	refusal.BranchesApart: {8, "git pull --rebase {0} {1}, or git merge, brings them together; then git ralph start"},
	refusal.NoRange:       {2, "a range is written as git log takes it: main~5.., v1..v2, HEAD"},
}

// adviceOf is what belongs to an error of a kind that has a row here, or that
// brings its own hint; the outermost of a chain counts.
func adviceOf(err error) (advice, bool) {
	var he *gitstate.HintError
	if errors.As(err, &he) {
		return advice{he.Code, he.Hint}, true
	}
	var unreadable *journal.UnreadableError
	if errors.As(err, &unreadable) {
		return journalCauses[unreadable.Cause].about([]string{unreadable.Entry.String()}), true
	}
	var stopped *refusal.Error
	if errors.As(err, &stopped) {
		return loopRefusals[stopped.Kind].about(stopped.Names), true
	}
	var refusal *gitstate.Refusal
	if errors.As(err, &refusal) {
		return refusals[refusal.Kind].about(refusal.Names), true
	}
	return advice{}, false
}

// linkedAsked says whether the command asked for a linked worktree.
type linkedAsked bool

const (
	askedForLinked    linkedAsked = true
	notAskedForLinked linkedAsked = false
)

// exitOf is the exit code and the hint of an error that ends a command.
// wantsLinked: the command asked for a linked worktree.
func exitOf(err error, wantsLinked linkedAsked) (code int, hint string) {
	code = 1
	var exit *ExitError
	if errors.As(err, &exit) {
		code = exit.Code
	}
	if ad, ok := adviceOf(err); ok {
		hint = ad.hint
		if ad.code != 0 {
			code = ad.code
		}
	}
	var ce *config.Error
	if errors.As(err, &ce) && hint == "" {
		code, hint = 8, ce.Hint()
	}
	var ps plan.Problems
	if errors.As(err, &ps) && hint == "" {
		hint = ps.Hint()
	}
	var held *gitstate.HeldError
	if errors.As(err, &held) {
		code, hint = 7, "git ralph status shows it; git ralph stop ends it"
		switch {
		case held.Worktree && !bool(wantsLinked):
			hint += "; git ralph start --worktree works beside it"
		case bool(wantsLinked):
			hint = "git ralph status says where it works; git ralph -C that folder stop ends it"
		}
	}
	if errors.Is(err, journal.ErrNone) && hint == "" {
		hint = "git ralph init, or git ralph import FILE"
	}
	var fe *state.FormatError
	if errors.As(err, &fe) {
		hint = "upgrade git-ralph"
	}
	var jam *gitstate.JammedError
	if errors.As(err, &jam) && hint == "" {
		hint = "when no git process runs in this repository: rm " + jam.Left[0].Path
	}
	var locked *gitstate.IndexLockedError
	if errors.As(err, &locked) && hint == "" {
		hint = "try again when it is done; when no git process runs: rm " + locked.Path
	}
	if hint == "" {
		hint = diskHint(err)
	}
	return code, hint
}

// diskHint is the next move after an error of the disk.
func diskHint(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "make room on the disk; nothing that was recorded is lost, and git ralph start continues"
	case errors.Is(err, syscall.EROFS), strings.Contains(err.Error(), "Read-only file system"): // as git says it
		return "mount it writable; reading commands still work"
	case errors.Is(err, syscall.EPERM):
		return "it belongs to somebody else, or an attribute forbids it (on Linux lsattr shows it, chattr -i -a takes it " +
			"away); nothing that was recorded is lost"
	case errors.Is(err, fs.ErrPermission), strings.Contains(err.Error(), "Operation not permitted"),
		strings.Contains(err.Error(), "Permission denied"), strings.Contains(err.Error(), "unable to create directory for"):
		return "it belongs to somebody else, or its permissions forbid it; nothing that was recorded is lost"
	}
	return ""
}

// shallowHint is the next move where a journal ends because the clone is shallow.
func (a *App) shallowHint(err error) string {
	var unreadable *journal.UnreadableError
	if !errors.As(err, &unreadable) || unreadable.Cause != journal.Damaged || a.repo == nil {
		return ""
	}
	if _, err := os.Lstat(filepath.Join(a.repo.CommonDir, "shallow")); err != nil {
		return ""
	}
	return unshallow
}

const unshallow = "this is a shallow clone, and older entries are not here: git fetch --unshallow REMOTE " +
	"'refs/ralph/*:refs/ralph/*' brings them"

// whole refuses a journal that a shallow clone cuts off: what there is of it would look
// wrong everywhere.
func (a *App) whole(j *journal.Journal) error {
	cut, err := os.ReadFile(filepath.Join(j.Repo.CommonDir, "shallow"))
	if err != nil {
		return nil
	}
	tip, err := j.Tip(a.Ctx)
	for _, line := range strings.Fields(string(cut)) {
		if id, perr := object.ParseID(line); perr == nil && err == nil {
			if in, aerr := j.Repo.IsAncestor(a.Ctx, id, tip); aerr == nil && in {
				return gitstate.Hint(1, unshallow, "the journal of %s is here from entry %s on alone", j.Branch, line[:12])
			}
		}
	}
	return err
}
