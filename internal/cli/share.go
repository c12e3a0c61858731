package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/share"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/config"
	"git-ralph/internal/view"
	"git-ralph/loop"
)

// ShareFlags are what push and pull have in common.
type ShareFlags struct {
	Remote   string `arg:"" optional:"" help:"Name or address; share.remote, origin or the only one when it is left out."`
	Notes    bool   `default:"true" negatable:"" help:"The notes on the commits as well."`
	Evidence bool   `help:"The evidence of the iterations as well: worktrees, prompts, transcripts, outputs."`
	JSON     bool   `name:"json" help:"Print one object."`
}

// PushCmd is `git ralph push`.
type PushCmd struct{ ShareFlags }

// Help says more.
func (PushCmd) Help() string {
	return "The journal only moves forward: what somebody else has pushed meanwhile is fetched and joined first, and " +
		"nothing is ever forced. The branch itself is yours to push: git push."
}

// PullCmd is `git ralph pull`.
type PullCmd struct{ ShareFlags }

// Help says more.
func (PullCmd) Help() string {
	return "In a fresh clone it brings the journal, and git ralph start continues from there. If both sides have new " +
		"entries, the events that only this side has are applied again on top of the remote's, by one entry with two " +
		"parents. The branch itself is yours to pull: git pull."
}

// Run pushes.
func (c *PushCmd) Run(a *App) error {
	p, err := a.partner(c.ShareFlags)
	if err != nil {
		return err
	}
	if _, err := a.Load(); err != nil {
		return err
	}
	rep, err := p.Push(a.Ctx)
	if err != nil {
		return a.shareError(err, p.Name)
	}
	if c.JSON {
		return a.printJSON(rep)
	}
	a.tellJoined(rep)
	if rep.Entries == 0 && rep.Evidence == 0 && !rep.Notes {
		a.printf("%s has all of the journal of %s\n", rep.Remote, rep.Branch)
	} else {
		a.printf("pushed the journal of %s to %s: %s%s\n", rep.Branch, rep.Remote,
			plural2(rep.Entries, "new entry", "new entries"),
			evidenceWords(rep))
	}
	return a.codeBehind(p)
}

// Run pulls.
func (c *PullCmd) Run(a *App) error {
	p, err := a.partner(c.ShareFlags)
	if err != nil {
		return err
	}
	rep, _, err := p.Pull(a.Ctx, share.JournalOnly)
	if err == nil && rep.How == "none" {
		err = gitstate.Hint(1, "git ralph push, where the journal is, brings it there", "%s has no journal of %s", p.Name,
			p.Journal.Branch)
	}
	if err != nil {
		return a.shareError(err, p.Name)
	}
	if c.JSON {
		return a.printJSON(rep)
	}
	switch rep.How {
	case "same":
		a.printf("the journal of %s is as %s has it%s\n", rep.Branch, rep.Remote, evidenceWords(rep))
	case "ahead":
		a.printf("nothing new on %s; git ralph push brings it what only this repository has\n", rep.Remote)
	case "new":
		a.printf("the journal of %s is here now: %s from %s%s\n", rep.Branch,
			plural2(rep.Entries, "entry", "entries"), rep.Remote, evidenceWords(rep))
	case "forward":
		a.printf("%s from %s%s\n", plural2(rep.Entries, "new entry", "new entries"), rep.Remote, evidenceWords(rep))
	}
	a.tellJoined(rep)
	return a.afterPull(p)
}

func evidenceWords(rep share.Report) string {
	if rep.Evidence == 0 {
		return ""
	}
	return ", evidence of " + view.Plural(rep.Evidence, "iteration")
}

// tellJoined says what became of the events of a merge.
func (a *App) tellJoined(rep share.Report) {
	if rep.How != "merged" {
		return
	}
	var parts []string
	for _, word := range []string{"applied", "partly", "superseded", "known"} {
		if n := rep.Outcome[word]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, word))
		}
	}
	a.printf("both sides had new entries; those from here were added to what %s has: %s\n", rep.Remote,
		strings.Join(parts, ", "))
	a.printf("git log -1 ralph/heads/%s says what became of each\n", rep.Branch)
}

// partner opens the remote that is meant.
func (a *App) partner(f ShareFlags) (*share.Partner, error) {
	j, err := a.Journal()
	if err != nil {
		return nil, err
	}
	name, err := a.shareRemote(f.Remote)
	if err != nil {
		return nil, err
	}
	r, err := share.Open(a.Ctx, j.Repo, name)
	if err != nil {
		return nil, usage("git remote -v lists them; git remote add origin ADDRESS", "%w", err)
	}
	r.Ask = terminal(a.In) && !f.JSON
	fail := a.failpoint()
	return &share.Partner{Remote: r, Journal: j, Notes: f.Notes, Evidence: f.Evidence, Fail: fail}, nil
}

// shareRemote is the remote that is meant when none is named.
func (a *App) shareRemote(named string) (string, error) {
	if named != "" {
		return named, nil
	}
	if set, err := a.settingsQuietly(nil); err == nil && set.Share.Remote != "" {
		return set.Share.Remote, nil
	}
	out, err := a.repo.Git.Line(a.Ctx, "remote")
	if err != nil {
		return "", err
	}
	remotes := strings.Fields(out)
	switch {
	case slices.Contains(remotes, "origin"):
		return "origin", nil
	case len(remotes) == 1:
		return remotes[0], nil
	case len(remotes) == 0:
		return "", usage("git remote add origin ADDRESS, or name an address", "this repository has no remote")
	}
	return "", usage("git ralph push NAME, or set share.remote", "which remote is meant: %s", strings.Join(remotes, ", "))
}

// shareError adds the next move to an error of a remote.
func (a *App) shareError(err error, remote string) error {
	var far *share.UnreachableError
	var rewritten *share.RewrittenError
	var refused *share.RefusedError
	var before *share.BeforeError
	var apart *journal.ApartError
	var unreadable *journal.UnreadableError
	switch {
	case errors.As(err, &far):
		return gitstate.Hint(1, "git ls-remote "+remote+" says whether it answers; nothing was changed here", "%w", err)
	case errors.As(err, &rewritten):
		return gitstate.Hint(1, "if that was intended: git update-ref -d refs/ralph/remotes/"+remote+"/"+a.journal.Branch+
			" forgets what it was; then git ralph pull", "%w", err)
	case errors.As(err, &refused):
		return gitstate.Hint(1, "the remote has to allow pushes of refs/ralph/* and refs/notes/*; doc/sharing.md names "+
			"hosts that do not", "%w", err)
	case errors.As(err, &before) && before.Here:
		return gitstate.Hint(1, "git update-ref -d "+strings.Join(before.Refs, " && git update-ref -d ")+
			" gives up what is here; then git ralph pull", "%w", err)
	case errors.As(err, &before):
		return gitstate.Hint(1, "git push "+remote+" :"+strings.Join(before.Refs, " :")+
			" removes it there, for everybody; then git ralph push", "%w", err)
	case errors.As(err, &apart):
		return gitstate.Hint(1, "keep one: git update-ref "+gitstate.ArchivePrefix+apart.Ours+" "+a.journal.Ref()+
			" && git update-ref -d "+a.journal.Ref()+" puts the one here aside; then git ralph pull", "%w", err)
	case errors.As(err, &unreadable) && unreadable.Cause == journal.Foreign:
		return gitstate.Hint(1, "nothing was changed here", "what %s has at %s is no journal", remote, a.journal.Ref())
	}
	return err
}

// codeBehind says that the remote lacks commits that the journal speaks of.
func (a *App) codeBehind(p *share.Partner) error {
	tip, err := a.repo.ReadRef(a.Ctx, gitstate.BranchRef(p.Journal.Branch))
	if err != nil || tip.IsZero() {
		return err
	}
	seen, err := p.Look(a.Ctx)
	if err != nil || seen.Code == tip {
		return nil
	}
	if !seen.Code.IsZero() && a.repo.Store.Has(seen.Code) {
		if ahead, err := a.repo.IsAncestor(a.Ctx, tip, seen.Code); err != nil || ahead {
			return err
		}
	}
	a.printf("%s does not have the newest commits of %s: git push %s %s\n", p.Name, p.Journal.Branch, p.Name,
		p.Journal.Branch)
	return nil
}

// afterPull says what has to be done before a start.
func (a *App) afterPull(p *share.Partner) error {
	snap, err := p.Journal.Load(a.Ctx)
	if err != nil {
		return err
	}
	if k := snap.State.Run.LastKeep; k != nil && !a.inBranch(a.Ctx, k.Commit) {
		a.printf("the branch does not have the newest kept commit %s yet: git pull\n", k.Commit[:min(12, len(k.Commit))])
	}
	untrusted, err := journal.Untrusted(a.repo, snap.State.Commands())
	if err == nil && len(untrusted) > 0 {
		a.printf("%s of the journal came from elsewhere; git ralph trust shows what they would run\n",
			view.Plural(len(untrusted), "command"))
	}
	return err
}

// inBranch says whether the branch has a commit.
func (a *App) inBranch(ctx context.Context, commit string) bool {
	id, err := object.ParseID(commit)
	if err != nil || !a.repo.Store.Has(id) {
		return false
	}
	tip, err := a.repo.ReadRef(ctx, gitstate.BranchRef(a.journal.Branch))
	if err != nil || tip.IsZero() {
		return false
	}
	in, err := a.repo.IsAncestor(ctx, id, tip)
	return err == nil && in
}

// sharing connects a run with runs on other machines and catches up with the
// remote; nil when share.remote is not set.
func (a *App) sharing(ctx context.Context, set *config.Resolved, j *journal.Journal, e *worktree.Engine) (*loop.Sharing,
	error) {
	if set.Share.Remote == "" {
		return nil, nil
	}
	if a.linked != nil {
		a.warn("share.remote is not used in a linked worktree")
		return nil, nil
	}
	s, err := a.sharingOf(ctx, set, j, e)
	if err != nil {
		return nil, err
	}
	if _, err := s.CatchUp(ctx); err != nil {
		return nil, a.shareError(err, s.Name)
	}
	return s, nil
}

// sharingOf is sharing before the first word with the remote.
func (a *App) sharingOf(ctx context.Context, set *config.Resolved, j *journal.Journal,
	e *worktree.Engine) (*loop.Sharing, error) {
	r, err := share.Open(ctx, j.Repo, set.Share.Remote)
	if err != nil {
		return nil, gitstate.Hint(8, "git remote add "+set.Share.Remote+" ADDRESS, or set share.remote", "share.remote: %w",
			err)
	}
	r.Timeout = shareTimeout
	return &loop.Sharing{Engine: e, Log: a.warn, Lease: set.Share.Lease,
		Partner: &share.Partner{Remote: r, Journal: j, Notes: true, Evidence: set.Share.Evidence, Fail: a.failpoint()}}, nil
}

// shareTimeout bounds a conversation with the remote during a run: one that does
// not answer is the same as none.
const shareTimeout = time.Minute

// share writes share.remote into ralph.toml, unless it says so already.
func (c *InitCmd) share(a *App, repo *gitstate.Repo) error {
	if _, err := share.Open(a.Ctx, repo, c.Share); err != nil {
		return usage("git remote add "+c.Share+" ADDRESS", "%w", err)
	}
	set, err := a.Settings(nil, nil)
	if err != nil || set.Share.Remote == c.Share {
		return err
	}
	if set.Share.Remote != "" {
		return gitstate.Hint(1, "change it there; git ralph config share.remote says where", "share.remote is %s",
			set.Share.Remote)
	}
	f, err := config.ReadProject(repo.Root)
	if err != nil {
		return err
	}
	if f == nil || !a.trusted(set) {
		return gitstate.Hint(1, "git ralph trust, then the same again; or git config ralph.share.remote "+c.Share,
			"there is no trusted %s to write share.remote to", config.FileName)
	}
	data := slices.Concat(bytes.TrimRight(f.Data, "\n"), []byte(fmt.Sprintf("\n\n[share]\nremote = %q\n", c.Share)))
	if _, err := config.Load(config.Sources{Files: []config.File{{Name: config.FileName, Data: data}}}); err != nil {
		return gitstate.Hint(1, "git config ralph.share.remote "+c.Share, "share.remote cannot be added to %s: %w",
			config.FileName, err)
	}
	if !c.JSON {
		a.printf("runs share the plan through %s now; commit %s, so that every clone does\n", c.Share, config.FileName)
	}
	return a.writeSettings(repo.Root, data)
}
