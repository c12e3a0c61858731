package cli

import (
	"fmt"
	"slices"
	"strings"

	"git-ralph/internal/checks"
	"git-ralph/internal/config"
	"git-ralph/internal/view"
	"git-ralph/loop"
	"git-ralph/loop/session"
	"git-ralph/notes"
)

// VerifyCmd is `git ralph verify`.
type VerifyCmd struct {
	Range  string   `arg:"" optional:"" help:"Commits, as git log takes them; without it the whole branch."`
	Config []string `placeholder:"FILE" sep:"none" help:"Further settings over ralph.toml, as they were given to start; may be repeated."`
	Report bool     `help:"Print a report in Markdown, for a pull request."`
	Trust  bool     `help:"Trust the ralph.toml of this repository for this call."`
	JSON   bool     `name:"json" help:"Print the result as JSON."`
}

// Help says more.
func (VerifyCmd) Help() string {
	return "Checks every kept commit out into a throw-away folder and runs what its own ralph.toml and the plan demand; " +
		"what the journal recorded is compared with that. " +
		"A commit of a person at the end of the range is proved by the present checks; those before are covered by the " +
		"commits after them. " +
		"Needs no network and no agent; changes nothing. Exits 0 when everything was proved, 1 when something failed or " +
		"could not be, 8 when the repository is not trusted."
}

// Run proves the commits.
func (c *VerifyCmd) Run(a *App) error {
	live := !c.JSON && !c.Report
	v, err := c.prove(a, func(one loop.VerifiedCommit) {
		if live {
			c.line(a, one)
		}
	})
	if err != nil {
		return err
	}
	switch {
	case c.JSON:
		if v.Report != nil {
			r := reportDoc(*v.Report)
			v.Report = &r
		}
		err = a.printJSON(v)
	case c.Report:
		a.printf("%s", verifyMarkdown(v))
	default:
		c.totals(a, v)
	}
	if err == nil && !v.OK() {
		return &ExitError{Code: 1}
	}
	return err
}

// prove runs what the commits of the range demand; each is called as one ends.
func (c *VerifyCmd) prove(a *App, each func(loop.VerifiedCommit)) (v loop.Verification, err error) {
	if c.Trust {
		a.Env = append(a.Env, "RALPH_TRUST=1")
	}
	if _, err := a.Load(); err != nil {
		return v, err
	}
	set, err := a.Settings(nil, c.Config)
	if err != nil {
		return v, err
	}
	recorded, err := a.journal.RecordedCommands(a.Ctx)
	if err != nil {
		return v, err
	}
	if err := a.askTrust(a.Ctx, set, c.JSON, recorded...); err != nil {
		return v, err
	}
	ctx, cancel := a.interrupts()
	defer cancel()
	sandbox, err := a.sandbox(ctx, set, askFirst)
	if err != nil {
		return v, err
	}
	l := &loop.Loop{Prover: c.prover(a, set), Settings: a.loopSettings(set),
		Host: session.Host{Repo: a.repo, Journal: a.journal, Sandbox: sandbox, Log: a.warn, Now: a.journal.Now, Sleep: sleep}}
	if b, ok := sandbox.(*boundary); ok {
		l.RunBase = b.runs
	}
	v, err = l.Verify(ctx, c.Range, each)
	if ctx.Err() != nil {
		return v, &ExitError{Code: 130}
	}
	return v, err
}

// prover reads the settings of a commit as start would have: with the same files
// over ralph.toml, git config and environment.
func (c *VerifyCmd) prover(a *App, set *config.Resolved) *checks.Prover {
	p := checks.NewProver(checkSettings(set), sleep)
	p.Load = func(data []byte) (checks.Settings, error) {
		src, err := a.sources(c.Config, nil)
		if err != nil {
			return checks.Settings{}, err
		}
		src.Files = slices.DeleteFunc(src.Files, func(f config.File) bool { return f.Name == config.FileName })
		src.Files = append([]config.File{{Name: config.FileName, Data: data}}, src.Files...)
		own, err := config.Load(src)
		if err != nil {
			return checks.Settings{}, err
		}
		return checkSettings(own), nil
	}
	return p
}

func (c *VerifyCmd) line(a *App, one loop.VerifiedCommit) {
	code := map[loop.VerifyResult]string{loop.Proved: "32", loop.Failed: "31", loop.Unproved: "33"}[one.Result]
	a.printf("%s  %s  %s", a.colour(a.Out, code, fmt.Sprintf("%-8s", one.Result)), one.Commit[:12], verifyName(one))
	if one.Reason != "" {
		a.printf(": %s", notes.OneLine(one.Reason, 600))
	}
	for _, note := range one.Notes {
		a.printf("\n          note: %s", notes.OneLine(note, 300))
	}
	a.printf("\n")
}

func verifyName(one loop.VerifiedCommit) string {
	name := string(one.Task)
	if one.Person {
		name = "by a person:"
	} else if name == "" {
		name = string(one.Phase)
	}
	return strings.TrimSpace(name + " " + notes.OneLine(one.Title, 100))
}

func (c *VerifyCmd) totals(a *App, v loop.Verification) {
	if len(v.Commits) == 0 {
		a.printf("nothing in %s could be proved\n", orText(v.Range, "the branch"))
	}
	for _, m := range v.Missing {
		a.printf("%s  %s  it was kept but is no longer in the branch\n", a.colour(a.Out, "31", "missing "), m[:12])
	}
	a.printf("\n%s\n", verifyLine(v))
	a.printf("criteria: %s\n", v.Criteria)
	a.printf("claims: %s\n", claimsLine(v))
}

func orText(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func verifyLine(v loop.Verification) string {
	line := fmt.Sprintf("%d proved, %d failed, %d unproved", v.Proved, v.Failed, v.Unproved)
	if len(v.Missing) > 0 {
		line += fmt.Sprintf(", %d missing", len(v.Missing))
	}
	if v.Others > 0 {
		line += fmt.Sprintf("; %s not made by an iteration", view.Plural(v.Others, "commit"))
	}
	if n := slices.IndexFunc(v.Commits, func(c loop.VerifiedCommit) bool { return c.Person }); n >= 0 {
		line += fmt.Sprintf(", %s at the end by the present checks: %s", v.Commits[n].Commit[:12], v.Commits[n].Result)
	}
	if v.Covered > 0 {
		line += fmt.Sprintf("; %s of phases without checks, covered by what follows", view.Plural(v.Covered, "commit"))
	}
	return line
}

func claimsLine(v loop.Verification) string {
	if v.Claims == 0 {
		return "none"
	}
	return fmt.Sprintf("%d said to be done, %d of them were not kept (%.0f %%)", v.Claims, v.FalseClaims, 100*v.FalseRate)
}

// verifyMarkdown is the result for a pull request.
func verifyMarkdown(v loop.Verification) string {
	var b strings.Builder
	word := "Verified"
	if !v.OK() {
		word = "Not verified"
	}
	fmt.Fprintf(&b, "# %s: %s\n\n", word, v.Branch)
	fmt.Fprintf(&b,
		"%s. Every commit was checked out alone, and what its own settings and the plan demand was run.\n\n", verifyLine(v))
	if len(v.Commits) > 0 {
		b.WriteString("| commit | work | result | checks |\n|---|---|---|---|\n")
		for _, one := range v.Commits {
			var names []string
			for _, c := range one.Checks {
				name := c.Name
				if !c.Passed {
					name += " (failed)"
				}
				if slices.Contains(one.WasFlaky, c.Name) {
					name += " (was flaky)"
				}
				names = append(names, name)
			}
			for _, name := range one.WasRed {
				names = append(names, name+" (was red)")
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", one.Commit[:12], cell(verifyName(one)),
				cell(strings.TrimSpace(string(one.Result)+" "+one.Reason)), cell(strings.Join(names, ", ")))
		}
		b.WriteString("\n")
	}
	for _, m := range v.Missing {
		fmt.Fprintf(&b, "- %s was kept but is no longer in the branch\n", m[:12])
	}
	fmt.Fprintf(&b, "- criteria: %d proved by a command, %d judged with evidence, %d unjudged\n", v.Criteria.Proved,
		v.Criteria.Judged, v.Criteria.Unjudged)
	fmt.Fprintf(&b, "- iterations: %d kept, %d rejected\n- claims: %s\n", v.Kept, v.Rejected, claimsLine(v))
	if v.Report != nil {
		fmt.Fprintf(&b, "\n%s", strings.ReplaceAll("\n"+reportMarkdown(*v.Report), "\n#", "\n##")[1:])
	}
	return b.String()
}

// cell makes a text fit into a table.
func cell(s string) string {
	return strings.ReplaceAll(notes.OneLine(s, 300), "|", "\\|")
}
