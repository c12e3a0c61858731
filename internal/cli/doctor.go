package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/agent"
	"git-ralph/internal/checks"
	"git-ralph/internal/config"
	"git-ralph/internal/detect"
	"git-ralph/internal/proc"
	"git-ralph/internal/view"
	"git-ralph/loop"
	"git-ralph/loop/recovery"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// DoctorCmd is `git ralph doctor`.
type DoctorCmd struct {
	Run_  bool   `name:"run" help:"Run the checks, too, in this worktree and without the sandbox."`
	Agent string `placeholder:"D" help:"Look for this agent instead of the configured one, and try what its client does."`
	JSON  bool   `name:"json" help:"Print {ok, items, clients}."`
}

// Help says more.
func (DoctorCmd) Help() string {
	return "Each line is ok, warn or fail, and how to fix it. Exit 8 when something would stop git ralph start. " +
		"Below stand the clients of this machine. With --agent the client works through a task in a throw-away " +
		"repository, with a scripted model on this machine: no account is used."
}

// itemDoc is one thing that was looked at.
type itemDoc struct {
	Name   string `json:"name"`
	State  string `json:"state"` // ok warn fail
	Detail string `json:"detail"`
	Hint   string `json:"hint"`
}

// doctor collects what it finds.
type doctor struct {
	a     *App
	cmd   *DoctorCmd
	items []itemDoc
	set   *config.Resolved
	plan  plan.Plan

	clients []clientDoc
	trial   []promiseDoc // nil = none was made
}

func (d *doctor) add(state, name, hint, format string, args ...any) {
	d.items = append(d.items, itemDoc{name, state, fmt.Sprintf(format, args...), hint})
}

// blame records an error with its own hint.
func (d *doctor) blame(name string, err error) {
	hint := hintOf(err)
	if ad, ok := adviceOf(err); ok {
		hint = ad.hint
	}
	d.add("fail", name, hint, "%v", err)
}

// Run looks at everything that a start needs.
func (c *DoctorCmd) Run(a *App) error {
	d := &doctor{a: a, cmd: c}
	if err := d.all(a.Ctx); err != nil {
		return err
	}
	failed := 0
	for _, i := range d.items {
		if i.State == "fail" {
			failed++
		}
	}
	if c.JSON {
		doc := map[string]any{"ok": failed == 0, "items": d.items, "clients": d.clients}
		if d.trial != nil {
			doc["trial"] = d.trial
		}
		if err := a.printJSON(doc); err != nil {
			return err
		}
	} else {
		d.print(failed)
	}
	if failed > 0 {
		return &ExitError{Code: 8}
	}
	return nil
}

func (d *doctor) print(failed int) {
	a := d.a
	var rows [][]string
	for _, i := range d.items {
		code := map[string]string{"ok": "32", "warn": "33", "fail": "31"}[i.State]
		row := []string{a.colour(a.Out, code, fmt.Sprintf("%-4s", i.State)), i.Name}
		for line := range strings.SplitSeq(i.Detail, "\n") {
			rows = append(rows, append(row, line))
			row = []string{"", ""}
		}
		hint := a.colour(a.Out, "36", "hint:") + " "
		for line := range strings.Lines(i.Hint) {
			rows = append(rows, []string{"", "", hint + strings.TrimSuffix(line, "\n")})
			hint = "      "
		}
	}
	a.printer().Notes(rows)
	d.printClients()
	switch {
	case failed == 0 && d.plan.Complete():
		a.printf("\n%s\n", a.colour(a.Out, "32", "nothing is in the way, and nothing is left to do"))
	case failed == 0:
		a.printf("\n%s\n", a.colour(a.Out, "32", "git ralph start would begin"))
	default:
		a.printf("\n%s\n", a.colour(a.Out, "31", view.Plural(failed, "thing")+" would stop git ralph start"))
	}
}

func (d *doctor) all(ctx context.Context) error {
	repo, err := d.a.Repo()
	if err != nil {
		d.blame("repository", err)
		return nil
	}
	d.git(ctx, repo)
	if d.set, err = d.settings(); err != nil {
		d.blame("settings", err)
	}
	d.journal(ctx)
	d.worktree(ctx, repo)
	if d.set != nil {
		d.agent(ctx, repo)
		d.sandbox(ctx)
		if err := d.checks(ctx, repo); err != nil {
			return err
		}
		d.signing(ctx, repo)
	}
	d.person(ctx, repo)
	d.survey(ctx)
	if err := d.try(ctx); err != nil {
		return err
	}
	return ctx.Err()
}

func (d *doctor) git(ctx context.Context, repo *gitstate.Repo) {
	version, ok, err := repo.GitVersion(ctx)
	switch {
	case err != nil:
		d.blame("git", err)
	case !ok:
		d.add("fail", "git", "install git 2.38 or newer", "%s is too old", version)
	default:
		d.add("ok", "git", "", "%s (%s)", version, repo.Git.Path)
	}
	where := repo.Root
	if repo.GitDir != repo.CommonDir {
		where += ", a linked worktree"
	}
	branch, tip, err := repo.Head(ctx)
	switch {
	case err != nil:
		d.blame("repository", err)
	case tip.IsZero():
		d.add("ok", "repository", "", "%s on %s, which has no commit yet", where, branch)
	default:
		d.add("ok", "repository", "", "%s on %s", where, branch)
	}
	if author, err := repo.Identity(ctx); err != nil {
		d.blame("identity", err)
	} else {
		d.add("ok", "identity", "", "%s <%s>", author.Name, author.Email)
	}
}

func (d *doctor) settings() (*config.Resolved, error) {
	flags := map[string]string{}
	if d.cmd.Agent != "" {
		flags["agent.driver"] = d.cmd.Agent
	}
	set, err := d.a.Settings(flags, nil)
	if err != nil {
		return nil, err
	}
	var from []string
	for _, f := range set.Files {
		from = append(from, f.Name)
	}
	if len(from) == 0 {
		d.add("warn", "settings", "git ralph init writes ralph.toml", "there is no %s; the defaults hold", config.FileName)
	} else {
		d.add("ok", "settings", "", "%s", strings.Join(from, ", "))
	}
	if q, err := d.a.doubts(set, nil); err != nil {
		d.blame("trust", err)
	} else if !q.none() {
		d.add("fail", "trust", "git ralph trust shows what would run and trusts it", "%s", q.what())
	}
	if err := set.Preflight(); err != nil {
		d.blame("settings", err)
	}
	return set, nil
}

func (d *doctor) journal(ctx context.Context) {
	j, err := d.a.Journal()
	if err != nil {
		return // a detached HEAD, said already
	}
	snap, err := j.Load(ctx)
	switch {
	case errors.Is(err, journal.ErrNone):
		if lost := cmp.Or(d.a.lostJournal(j, 8), d.a.journalThere(j, 8)); lost != nil {
			d.blame("journal", lost)
			return
		}
		d.add("fail", "journal", `git ralph init, then git ralph import FILE or git ralph add "a task"`,
			"%s has none yet", j.Branch)
		return
	case err != nil:
		d.blame("journal", err)
		return
	}
	d.plan = snap.State.Plan
	d.add("ok", "journal", "", "%s, %s", snap.State.Journal.ID, snap.State.Run.Status)
	switch {
	case len(d.plan.Tasks) == 0:
		d.add("fail", "plan", `git ralph import FILE, or git ralph add "a task"`, "it is empty")
	case d.plan.Complete():
		d.add("ok", "plan", "", "complete: %s", view.CountLine(d.plan))
	default:
		if _, ok := plan.Next(d.plan); ok || len(d.plan.Runnable()) > 0 {
			d.add("ok", "plan", "", "%s", view.CountLine(d.plan))
		} else {
			d.add("warn", "plan", "git ralph tasks says what each waits for", "no task can be worked on: %s",
				view.CountLine(d.plan))
		}
	}
	if err := recovery.CheckJournal(ctx, j.Repo, j, snap.State); err != nil {
		d.blame("branch", err)
	}
	run := snap.State.Run
	if h, alive := d.a.reader().Holder(d.a.Ctx, j.Branch); alive {
		d.add("warn", "loop", "git ralph status shows it", "process %d is working on %s", h.Pid, j.Branch)
	}
	if run.PauseAsked {
		d.add("fail", "pause", "git ralph resume", "the run is paused")
	}
	if run.Status == state.NeedsReview {
		d.add("fail", "review", "git ralph resume, when you have looked at it", "the run waits for a person: %s", run.Reason)
	}
	if run.Breaker.State == "open" {
		d.add("fail", "breaker", "git ralph resume allows one attempt", "the circuit breaker is open: %s", run.Breaker.Reason)
	}
}

func (d *doctor) worktree(ctx context.Context, repo *gitstate.Repo) {
	opts := worktree.Options{}
	if d.set != nil {
		opts.MaxFile, opts.CaptureIgnored = int64(d.set.Worktree.MaxFile), d.set.Worktree.CaptureIgnored
	}
	found, err := worktree.Inspect(ctx, worktree.Repo{Root: repo.Root, GitDir: repo.GitDir, CommonDir: repo.CommonDir,
		Git: repo.Git, Store: repo.Store}, opts)
	if err != nil {
		d.blame("worktree", err)
		return
	}
	for _, p := range found {
		detail := p.Reason
		if n := len(p.Paths); n > 0 {
			detail += ": " + strings.Join(p.Paths[:min(n, 5)], ", ")
			if n > 5 {
				detail += fmt.Sprintf(" and %d more", n-5)
			}
		}
		switch p.How {
		case worktree.Refused:
			d.add("fail", p.Name, p.Hint, "%s", detail)
		case worktree.LeftAlone:
			d.add("warn", p.Name, p.Hint, "%s", detail)
		default:
			d.add("ok", p.Name, p.Hint, "%s", detail)
		}
	}
	out, err := repo.Git.Run(ctx, "status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=all")
	if err != nil {
		d.blame("worktree", err)
		return
	}
	switch n := strings.Count(string(out), "\x00"); {
	case n == 0:
		d.add("ok", "worktree", "", "no tracked file has changes")
	case d.set != nil && d.set.Loop.Dirty == "commit":
		d.add("warn", "worktree", "", "tracked files have changes; start commits them (loop.dirty)")
	default:
		d.add("fail", "worktree", "commit or stash them, or start with --dirty=commit",
			"tracked files have changes (git status)")
	}
}

func (d *doctor) agent(ctx context.Context, repo *gitstate.Repo) {
	set := d.set
	env := clientEnv(d.a.loopSettings(set))
	info, err := agent.Probe(ctx, set.Agent.Driver, d.a.agentOptions(set), env)
	name := set.Agent.Driver
	switch {
	case err != nil:
		d.blame("agent", err)
	case !info.Supported:
		d.add("fail", "agent", info.Hint, "%s: %s", name, info.Problem)
	case info.Warning != "":
		d.add("warn", "agent", info.Hint, "%s: %s", strings.TrimSpace(name+" "+info.Version), info.Warning)
	default:
		detail := strings.TrimSpace(name + " " + info.Version)
		if info.Path != "" {
			detail += " (" + info.Path + ")"
		}
		d.add("ok", "agent", "", "%s", detail)
	}
}

func (d *doctor) sandbox(ctx context.Context) {
	if d.set.Guard.Sandbox == "off" {
		d.add("warn", "sandbox", `guard.sandbox = "auto" in ralph.toml, or git config ralph.guard.sandbox auto`,
			"it is switched off: only the command guard and the comparison afterwards keep the agent from git")
		if names, _ := d.a.gitSecrets(off{}); names != "" {
			d.add("warn", "secrets", mendGitSecrets, "the agent can read them in git's configuration: %s", names)
		}
		return
	}
	box, err := d.a.sandbox(ctx, d.set, consentGiven)
	if err != nil {
		d.blame("sandbox", err)
		return
	}
	if names, covered := d.a.gitSecrets(box); names != "" && covered {
		d.add("ok", "secrets", "", "in git's configuration, covered in the sandbox: %s", names)
	} else if names != "" {
		d.add("warn", "secrets", mendGitSecrets, "the agent can read them in git's configuration: %s", names)
	}
	detail := box.Mechanism()
	if b, ok := box.(*boundary); ok {
		if b.report.Detail != "" {
			detail += ": " + b.report.Detail
		}
		if len(b.report.Missing) > 0 {
			detail += "\nnot covered: " + strings.Join(b.report.Missing, "; ")
		}
	}
	if open := d.set.Guard.Sockets; len(open) > 0 {
		d.add("warn", "sandbox", "guard.sockets = [] closes it again",
			"%s\nthrough %s the boundary is gone: what answers there acts outside for the agent", detail,
			strings.Join(open, ", "))
		return
	}
	if box.Mechanism() == "namespaces" {
		d.add("ok", "sandbox", "", "%s", detail)
	} else {
		d.add("warn", "sandbox", "", "%s", detail)
	}
}

func (d *doctor) checks(ctx context.Context, repo *gitstate.Repo) error {
	set := d.set
	settings := checkSettings(set)
	p := checks.NewProver(settings, sleep)
	list := checks.Select(settings.Checks, settings.Strategy)
	if len(p.Unprovable(pendingTasks(d.plan))) > 0 {
		d.add("fail", "checks",
			"write [[checks]] in ralph.toml, give every task a verify command, or start with --unchecked",
			"there are none, so nothing could be verified")
	} else if len(list) == 0 {
		d.add("warn", "checks", "write [[checks]] in ralph.toml", "none is configured")
	}
	req := loop.ProofRequest{Start: proc.Start, Dir: repo.Root, Env: d.a.loopSettings(set).CheckEnv}
	lacks, err := p.Lacking(ctx, req, pendingTasks(d.plan))
	if err != nil {
		return err
	}
	for _, k := range lacks {
		hint := "install it, or name what installs it as setup under [project] in ralph.toml"
		if how := detect.Install(k.Program); how != "" {
			hint = how + ", or name what installs it as setup under [project] in ralph.toml"
		}
		d.add("warn", k.For, hint, "%s is not on PATH", k.Program)
	}
	if !d.cmd.Run_ || !d.a.trusted(set) {
		for _, c := range list {
			d.add("ok", "check "+c.Name, "", "%s (%s)", c.Run, c.Kind)
		}
		return nil
	}
	results, err := p.Runner(req).Run(ctx, list)
	for _, r := range results {
		detail := fmt.Sprintf("%s: %s in %s", r.Command, r.State(), view.Duration(r.DurationMs))
		switch {
		case r.Passed:
			d.add("ok", "check "+r.Name, "", "%s", detail)
		case set.Validation.Baseline == "require":
			d.add("fail", "check "+r.Name, "fix it before the start (validation.baseline = \"require\")", "%s\n%s",
				detail, checks.Narrow(r.Output, 300))
		default:
			hint := "it is red before any work; validation.baseline says what that means"
			if lack := detect.Lacking(string(r.Output)); lack != "" {
				hint = lack
			}
			d.add("warn", "check "+r.Name, hint,
				"%s\n%s", detail, checks.Narrow(r.Output, 300))
		}
	}
	return err
}

func (d *doctor) signing(ctx context.Context, repo *gitstate.Repo) {
	if d.set.Commit.Sign == "off" || !d.a.gitBool("commit.gpgsign") {
		return
	}
	l := &loop.Loop{Host: session.Host{Repo: repo}, Settings: loop.Settings{Sign: true}}
	if err := l.TrySigning(ctx); err != nil {
		d.blame("signing", err)
	} else {
		d.add("ok", "signing", "", "commits can be signed without a person")
	}
}

// person looks at what only a person needs: an editor and a remote.
func (d *doctor) person(ctx context.Context, repo *gitstate.Repo) {
	if editor, err := d.a.gitVar("GIT_EDITOR"); err != nil || editor == "" {
		d.add("warn", "editor", "git config --global core.editor NAME", "none is configured; git ralph edit needs one")
	} else {
		d.add("ok", "editor", "", "%s", editor)
	}
	if lacks := d.a.lackingHelp(); lacks != "" {
		d.add("warn", "help", "git ralph completion --install", "%s", lacks)
	} else {
		d.add("ok", "help", "", "completions and man pages are installed")
	}
	out, err := repo.Git.Line(ctx, "remote")
	if err != nil {
		d.blame("remote", err)
		return
	}
	remotes := strings.Fields(out)
	want := ""
	if d.set != nil {
		want = d.set.Share.Remote
		if _, err := d.a.gate(d.set); err != nil {
			d.blame("pull request", err)
		} else if d.set.PR.Gate {
			d.add("ok", "pull request", "", "kept commits are pushed to the one that is open, and complete waits for its checks")
		}
	}
	switch {
	case want == "" && len(remotes) == 0:
		d.add("ok", "remote", "", "none: the journal stays on this machine")
	case want == "":
		d.add("ok", "remote", "", "%s; share.remote is not set, so the journal stays on this machine",
			strings.Join(remotes, ", "))
	default:
		ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
		defer cancel()
		if _, err := repo.Git.Run(ctx, "ls-remote", "--quiet", want, "HEAD"); err != nil {
			d.add("warn", "remote", "work continues without it and is pushed later", "%s cannot be reached: %v", want, err)
		} else {
			d.add("ok", "remote", "", "%s can be reached", want)
		}
	}
}
