package cli

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/internal/view"
	"git-ralph/loop/recovery"
)

// RedactCmd is `git ralph redact`.
type RedactCmd struct {
	Pattern string `arg:"" help:"What has to go: a regular expression (RE2)."`
	Fixed   bool   `short:"F" help:"The pattern is plain text."`
	DryRun  bool   `help:"Print where it was found; change nothing."`
	Yes     bool   `short:"y" help:"Do not ask."`
	JSON    bool   `name:"json" help:"Print what was found as JSON."`
}

// Help says more.
func (RedactCmd) Help() string {
	return "Takes a text out of everything that git ralph has recorded here: each journal that has it begins anew with " +
		"the state as it is, without the text and without the history; evidence that has it is dropped; notes are " +
		"rewritten; caches and the kept home folders of runs are removed. " +
		"Commits of the branch itself are not rewritten, and what was pushed is out of reach: change a secret that was."
}

// Run looks, asks, and takes it out.
func (c *RedactCmd) Run(a *App) error {
	text := c.Pattern
	if c.Fixed {
		text = regexp.QuoteMeta(text)
	}
	pattern, err := regexp.Compile(text)
	if err != nil {
		return usage("--fixed takes it as plain text", "%q is no regular expression: %w", c.Pattern, err)
	}
	if pattern.MatchString("") {
		return usage("name the text that has to go", "the pattern matches nothing at all, and so everything")
	}
	j, err := a.Journal()
	if err != nil {
		return err
	}
	free, err := c.locks(a, j)
	if err != nil {
		return err
	}
	defer free()
	if tip, err := j.Tip(a.Ctx); err == nil && !tip.IsZero() && !c.DryRun {
		e, err := a.engine(nil)
		if err != nil {
			return err
		}
		if err := a.recoverRun(j, e, nil); err != nil {
			return err
		}
	}
	r := recovery.Redactor{Repo: j.Repo, Pattern: pattern, Now: j.Now, Fail: a.failpoint(),
		Open: func(branch string) (*journal.Journal, error) { return journal.Open(a.Ctx, j.Repo, branch) }}
	found, err := r.Find(a.Ctx)
	if err != nil {
		return err
	}
	if !c.JSON {
		c.tell(a, found)
	}
	if found.Any() && !c.DryRun {
		if err := c.agreed(a); err != nil {
			return err
		}
		if err := r.Apply(a.Ctx, &found); err != nil {
			return err
		}
		gc := GCCmd{}
		if _, err := gc.homes(a); err != nil {
			return err
		}
		c.done(a, found)
	}
	if c.JSON {
		return a.printJSON(found)
	}
	return nil
}

func (c *RedactCmd) agreed(a *App) error {
	if c.Yes {
		return nil
	}
	if !terminal(a.In) || !terminal(a.Err) {
		return usage("git ralph redact --yes", "the history of the journals named above would be given up")
	}
	if !a.ask("give up the history of these journals and take it out? [y/N] ") {
		return gitstate.Hint(1, "git ralph redact --dry-run says what it would do", "nothing was changed")
	}
	return nil
}

// locks locks every branch with a journal, so that nobody writes meanwhile.
func (c *RedactCmd) locks(a *App, j *journal.Journal) (func(), error) {
	if c.DryRun {
		return func() {}, nil
	}
	all, err := journal.Others(a.Ctx, j.Repo)
	if err != nil {
		return nil, err
	}
	if _, known := all[j.Branch]; !known {
		all[j.Branch] = object.Zero // its journal may have gone; its lock is taken all the same
	}
	take := []func() (*gitstate.Lock, error){j.Repo.LockWorktree}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		take = append(take, func() (*gitstate.Lock, error) { return j.Repo.LockBranch(name) })
	}
	return lockAll(take...)
}

func (c *RedactCmd) tell(a *App, r recovery.Redaction) {
	if !r.Any() {
		a.printf("nothing that git ralph recorded here has it, " +
			"besides what commits of branches hold, which stay as they are\n")
	}
	for _, j := range r.Journals {
		a.printf("%s: starts anew from the present state\n", j.Ref)
	}
	if n := len(r.Evidence); n > 0 {
		a.printf("evidence of %s: dropped\n", view.Plural(n, "iteration"))
	}
	if r.Notes > 0 {
		a.printf("%s: rewritten\n", gitstate.NotesRef)
	}
	if n := r.Objects; n > 0 {
		a.printf("%s that no ref leads to: removed\n", view.Plural(n, "old object"))
	}
	for _, name := range r.Pushed {
		remote, _, _ := strings.Cut(strings.TrimPrefix(name, gitstate.RemotePrefix), "/")
		a.printf("%s has it already (%s): whoever fetched it has it too; if it is a secret, change it\n", remote, name)
	}
	for _, path := range r.Aside {
		a.printf("not changed, because it is your file: %s\n", path)
	}
}

func (c *RedactCmd) done(a *App, r recovery.Redaction) {
	if c.JSON {
		return
	}
	a.printf("taken out\n")
	if r.Packed > 0 {
		a.printf("%s with it lie in packs that are to be kept (.keep) or belong to another repository\n",
			view.Plural(r.Packed, "old object"))
	}
	if len(r.Pushed) > 0 {
		a.printf("the local copies of remote journals were removed; the next push to them is refused, because this journal " +
			"does not continue theirs\n")
	}
}
