package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/config"
	"git-ralph/internal/text"
	"git-ralph/internal/text/lazyregexp"
	"git-ralph/internal/view"
	"git-ralph/loop"
	"git-ralph/plan"
)

// PRCmd is `git ralph pr`.
type PRCmd struct {
	Base   string   `placeholder:"BRANCH" help:"The target branch (pr.base); without it the remote's default branch."`
	Head   string   `placeholder:"BRANCH" help:"The branch on the remote (pr.head); without it the present one, or ralph/BRANCH where that is the base."`
	Remote string   `placeholder:"NAME" help:"The remote to push to (pr.remote)."`
	Config []string `placeholder:"FILE" sep:"none" help:"Further settings over ralph.toml, as they were given to start; may be repeated."`
	Trust  bool     `help:"Trust the ralph.toml of this repository for this call."`
	DryRun bool     `help:"Print the pull request; push and open nothing."`
	Yes    bool     `short:"y" help:"Do not ask."`
	JSON   bool     `name:"json" help:"Print what was done as JSON."`
}

// Help says more.
func (PRCmd) Help() string {
	return "Proves the commits as git ralph verify does, pushes exactly those, and opens one pull request with the " +
		"report or brings the one that is open up to date. It is a draft until the plan is complete. What is outside the " +
		"part that git ralph wrote stays as it is. It works through gh, or glab for a remote of GitLab, where you are " +
		"logged in. With pr.gate = true, git ralph start pushes each kept commit to the branch of the pull request that is " +
		"open, tells the agent which checks are red there, and says complete when they are green."
}

// prDoc is `pr --json`.
type prDoc struct {
	URL     string `json:"url"`
	Number  int    `json:"number,omitempty"`
	Head    string `json:"head"`
	Base    string `json:"base"`
	Commit  string `json:"commit"`
	Title   string `json:"title"`
	Body    string `json:"body"`
	Draft   bool   `json:"draft"`
	Created bool   `json:"created"`
	DryRun  bool   `json:"dry_run"`
}

// Run opens or updates the pull request.
func (c *PRCmd) Run(a *App) error {
	snap, err := a.Load()
	if err != nil {
		return err
	}
	s := snap.State
	set, err := a.Settings(nil, c.Config)
	if err != nil {
		return err
	}
	to, err := a.prPlace(config.PR{Remote: cmp.Or(c.Remote, set.PR.Remote), Base: cmp.Or(c.Base, set.PR.Base),
		Head: cmp.Or(c.Head, set.PR.Head)})
	if err != nil {
		return err
	}
	c.Remote = to.remote
	d := prDoc{Head: to.head, Base: to.base, DryRun: c.DryRun, Draft: s.Run.Status != state.Complete, Title: prTitle(s)}
	tip, err := a.repo.ReadRef(a.Ctx, gitstate.BranchRef(a.journal.Branch))
	if err != nil {
		return err
	}
	d.Commit = tip.String()
	verify := VerifyCmd{Config: c.Config, Trust: c.Trust, JSON: c.JSON, Range: d.Commit}
	base := "refs/remotes/" + c.Remote + "/" + d.Base
	if at, err := a.repo.ReadRef(a.Ctx, base); err == nil && !at.IsZero() {
		verify.Range = base + ".." + d.Commit
	}
	v, err := verify.prove(a, func(one loop.VerifiedCommit) {
		if !c.JSON && !c.DryRun {
			verify.line(a, one)
		}
	})
	if err != nil {
		return err
	}
	if v.Failed > 0 {
		return gitstate.Hint(1, "git ralph verify shows them; nothing was pushed",
			"%s failed their checks", view.Plural(v.Failed, "commit"))
	}
	if len(v.Commits) == 0 {
		return gitstate.Hint(1, "git ralph status says where the work is", "%s has no kept work that %s lacks",
			a.journal.Branch, d.Base)
	}
	issues, err := a.issueNumbers()
	if err != nil {
		return err
	}
	d.Body = prBody(s, v, issues)
	return c.submit(a, to, d)
}

// submit pushes and opens or updates, or prints what would be.
func (c *PRCmd) submit(a *App, to prPlace, d prDoc) error {
	f := to.forge
	if c.DryRun {
		if c.JSON {
			return a.printJSON(d)
		}
		a.printf("%s\n%s → %s, %s%s\n\n%s", d.Title, d.Head, d.Base, d.Commit[:12], draftWord(d.Draft), d.Body)
		return nil
	}
	if !c.Yes {
		if !terminal(a.In) || !terminal(a.Err) {
			return gitstate.Hint(1, "git ralph pr --yes pushes and opens it, git ralph pr --dry-run prints it",
				"nothing is pushed without being asked for")
		}
		if !a.ask(fmt.Sprintf("push %s to %s as %s, for a pull request to %s? [y/N] ", d.Commit[:12], c.Remote, d.Head,
			d.Base)) {
			return &ExitError{Code: 1, Err: errors.New("nothing was pushed")}
		}
	}
	there, err := f.open(a.Ctx, a, d.Head, to.owner)
	if err != nil {
		return err
	}
	// Exactly what was proved is pushed; commits that came meanwhile are not.
	if _, err := a.repo.Git.Run(a.Ctx, "push", c.Remote, d.Commit+":"+gitstate.BranchRef(d.Head)); err != nil {
		return gitstate.Hint(1, "git fetch "+text.Shell(c.Remote)+" and look at what is there; nothing is forced",
			"%s was not pushed: %w", d.Head, err)
	}
	if there == nil {
		d.Created = true
		if d.URL, err = f.create(a, d.Head, d.Base, d.Title, d.Body, d.Draft); err != nil {
			return err
		}
	} else {
		d.Number, d.URL, d.Body = there.Number, there.URL, withPart(there.Body, d.Body)
		ready := there.Draft && !d.Draft
		if err := f.update(a, there.Number, d.Body, ready); err != nil {
			return err
		}
		d.Draft = there.Draft && !ready
	}
	if c.JSON {
		return a.printJSON(d)
	}
	word := "opened"
	if !d.Created {
		word = "updated"
	}
	a.printf("%s %s%s\n", word, orText(d.URL, d.Head), draftWord(d.Draft))
	return nil
}

func draftWord(draft bool) string {
	if draft {
		return ", a draft until the plan is complete"
	}
	return ""
}

// prPlace is where the work of a branch goes.
type prPlace struct {
	remote, base, head string
	forge              forge
	host               string // of the service, "" = not known
	owner              string // of the repository there
}

// prPlace finds out what the settings leave open.
func (a *App) prPlace(set config.PR) (prPlace, error) {
	to := prPlace{remote: set.Remote, base: set.Base, head: set.Head}
	url, err := a.repo.Git.Run(a.Ctx, "remote", "get-url", to.remote)
	if err != nil {
		return to, gitstate.Hint(1, "git remote add "+text.Shell(to.remote)+" URL; pr.remote, or --remote, names another",
			"there is no remote %s", to.remote)
	}
	// The address as it is written and as insteadOf has it: either may name the service.
	written, _ := a.repo.Git.Run(a.Ctx, "config", "--get", "remote."+to.remote+".url")
	to.forge, to.host = forgeOf(string(url)+string(written)), hostOf(string(written))
	to.owner = ownerOf(string(written))
	if to.base == "" {
		if to.base, err = a.baseBranch(to.remote); err != nil {
			return to, err
		}
	}
	if to.head == "" {
		if to.head = a.journal.Branch; to.head == to.base {
			to.head = "ralph/" + to.head
		}
	}
	if to.head == to.base {
		return to, usage("--head, or pr.head, names another", "a pull request from %s to itself makes no sense", to.base)
	}
	return to, nil
}

// baseBranch is the branch that a remote calls its own.
func (a *App) baseBranch(remote string) (string, error) {
	if out, err := a.repo.Git.Run(a.Ctx, "symbolic-ref", "--short", "refs/remotes/"+remote+"/HEAD"); err == nil {
		return strings.TrimPrefix(strings.TrimSpace(string(out)), remote+"/"), nil
	}
	for _, name := range []string{"main", "master"} {
		if at, err := a.repo.ReadRef(a.Ctx, "refs/remotes/"+remote+"/"+name); err == nil && !at.IsZero() {
			return name, nil
		}
	}
	return "", gitstate.Hint(1, "--base, or pr.base, names it; git remote set-head "+text.Shell(remote)+
		" --auto asks for it", "the target branch on %s is not known", remote)
}

// prTitle is the goal, or the titles of the first tasks.
func prTitle(s state.State) string {
	if s.Plan.Goal != "" {
		line, _, _ := strings.Cut(s.Plan.Goal, "\n")
		return text.Clip(line, 100)
	}
	var titles []string
	for _, t := range s.Plan.Tasks {
		if t.Status == plan.Done {
			titles = append(titles, t.Title)
		}
	}
	if len(titles) == 0 {
		return "work of " + s.Journal.Branch
	}
	title := titles[0]
	if n := len(titles) - 1; n > 0 {
		title = fmt.Sprintf("%s, and %d more", text.Clip(title, 80), n)
	}
	return text.Clip(title, 100)
}

const (
	partBegin = "<!-- git ralph -->"
	partEnd   = "<!-- /git ralph -->"
)

// prBody is the part of the text that git ralph writes: the tasks with their
// commits and issues, and the report.
func prBody(s state.State, v loop.Verification, issues map[plan.TaskID]string) string {
	var b strings.Builder
	b.WriteString(partBegin + "\n")
	fmt.Fprintf(&b, "%s\n\n", view.CountLine(s.Plan))
	commits := map[plan.TaskID][]string{}
	for _, one := range v.Commits {
		if one.Task != "" {
			commits[one.Task] = append(commits[one.Task], one.Commit[:min(12, len(one.Commit))])
		}
	}
	for _, t := range s.Plan.Tasks {
		if t.Status == plan.Skipped && !t.SetAside() {
			continue
		}
		box, verb := "[ ]", "Refs"
		if t.Status == plan.Done {
			box, verb = "[x]", "Closes"
		}
		line := fmt.Sprintf("- %s %s %s", box, t.ID, inert(cell(t.Title)))
		if list := commits[t.ID]; len(list) > 0 {
			line += " (" + strings.Join(list, ", ") + ")"
		}
		if number := issues[t.ID]; number != "" {
			line += fmt.Sprintf(". %s #%s", verb, number)
		}
		b.WriteString(line + "\n")
	}
	b.WriteString("\n" + strings.ReplaceAll("\n"+inert(verifyMarkdown(v)), "\n#", "\n##")[1:] + partEnd + "\n")
	return b.String()
}

// acts are the words by which a text does something where it is shown: it refers to an issue, a
// request or a person, or is a command of GitLab.
var acts = lazyregexp.New(`(?im)([#!&])(\d)|(@)(\w)|(\bGH-)(\d)|(/(?:issues|pull|merge_requests)/)(\d)|^(\s*)(/[a-z])`)

// inert is a text of agents that closes nothing and calls nobody: such words get a character
// within that nobody sees.
func inert(s string) string {
	return acts().ReplaceAllString(s, "$1$3$5$7$9\u2060$2$4$6$8$10")
}

// withPart puts the part into a text that a person may have changed around it.
func withPart(old, part string) string {
	before, rest, found := strings.Cut(old, partBegin)
	_, after, closed := strings.Cut(rest, partEnd)
	switch {
	case !found && strings.TrimSpace(old) == "":
		return part
	case !found || !closed:
		return strings.TrimRight(old, "\n") + "\n\n" + part
	}
	return before + strings.TrimSuffix(part, "\n") + after
}

// issueNumbers are the issues that tasks were imported from.
func (a *App) issueNumbers() (map[plan.TaskID]string, error) {
	out := map[plan.TaskID]string{}
	err := a.journal.WalkBrief(a.Ctx, func(e journal.Entry) (bool, error) {
		if p := e.Event.Plan; p != nil && p.Reason == "import" && slices.ContainsFunc([]string{"github:", "gitlab:"},
			func(prefix string) bool { return strings.HasPrefix(p.Source, prefix) }) {
			for _, id := range p.IDs {
				if strings.Trim(string(id), "0123456789") == "" {
					out[id] = string(id)
				}
			}
		}
		return true, nil
	})
	return out, err
}
