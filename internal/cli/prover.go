package cli

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate/state"
	"git-ralph/guard"
	"git-ralph/internal/checks"
	"git-ralph/internal/checks/weaken"
	"git-ralph/internal/config"
	"git-ralph/loop"
	"git-ralph/notes"
	"git-ralph/plan"
)

// prover makes the settings' checks into the loop's Prover.
type prover struct {
	set   *config.Resolved
	sleep func(context.Context, time.Duration)
	// load reads the settings of another commit; only verify needs it.
	load func(settings []byte) (*config.Resolved, error)
	// steps is what the steps' own breakers remember during one start.
	steps map[string]checks.StepState
}

// tailLines is how much of a red check is shown where a person looks on.
const tailLines = 8

func newProver(set *config.Resolved, sleep func(context.Context, time.Duration)) *prover {
	return &prover{set: set, sleep: sleep, steps: map[string]checks.StepState{}}
}

func (p *prover) configured() []checks.Check {
	var out []checks.Check
	for _, c := range p.set.Checks {
		out = append(out, checks.Check{Name: c.Name, Run: c.Run, Kind: checks.Kind(c.Kind), Timeout: c.Timeout, AllowFailure: c.AllowFailure,
			AtEnd: c.When == "complete", Hidden: c.Hidden, Paths: c.Paths})
	}
	return out
}

// open are the checks that are not hidden: what they print may be told.
func open(list []checks.Check) []checks.Check {
	return slices.DeleteFunc(slices.Clone(list), func(c checks.Check) bool { return c.Hidden })
}

// masked is a record as an agent may read it.
func masked(run state.CheckRun, hidden bool) state.CheckRun {
	if !hidden {
		return run
	}
	mark := checks.Check{Name: run.Name, Run: run.Command}.HiddenMark()
	return state.CheckRun{Name: checks.HiddenName, Kind: run.Kind, Command: mark, ExitCode: min(run.ExitCode, 1), Passed: run.Passed, DurationMs: run.DurationMs,
		TimedOut: run.TimedOut, Flaky: run.Flaky, AlreadyRed: run.AlreadyRed, Tolerated: run.Tolerated, Missing: run.Missing,
		Tests: run.Tests, NoTests: run.NoTests, Limit: run.Limit, Skipped: run.Skipped, Hidden: true}
}

// unmasked finds the hidden check that a mark stands for.
func (p *prover) unmasked(mark string) (checks.Check, bool) {
	for _, c := range p.configured() {
		if c.Hidden && c.HiddenMark() == mark {
			return c, true
		}
	}
	return checks.Check{}, false
}

func (p *prover) strategy() checks.Strategy { return checks.Strategy(p.set.Validation.Strategy) }
func (p *prover) mode() checks.Mode         { return checks.Mode(p.set.Validation.Baseline) }

func (p *prover) runner(req loop.ProofRequest) *checks.Runner {
	r := &checks.Runner{Start: checks.StartFunc(req.Start), Dir: req.Dir, Env: req.Env, FlakyReruns: p.set.Validation.FlakyReruns}
	if req.Again != nil {
		r.Again = func(ctx context.Context, c checks.Check) (res checks.Result, err error) {
			err = req.Again(func(clean loop.ProofRequest) error {
				res, err = p.runner(clean).Once(ctx, c)
				return err
			})
			return res, err
		}
	}
	r.Done = func(res checks.Result) {
		if req.Result != nil {
			req.Result(p.short(p.weigh(req, res).Results[0]))
		}
	}
	return r
}

func (p *prover) weigh(req loop.ProofRequest, results ...checks.Result) checks.Verdict {
	mode := p.mode()
	if req.Unexcused {
		mode = checks.Off
	}
	return checks.Weigh(results, p.toBaseline(req.Baseline), mode, p.strategy())
}

func redactLines(lines []string) []string {
	if len(lines) == 0 {
		return lines
	}
	return strings.Split(notes.Redact(strings.Join(lines, "\n")), "\n")
}

func (p *prover) short(r checks.Result) state.CheckRun {
	s := r.Short(p.set.Context.FailureChars)
	return state.CheckRun{Name: r.Name, Kind: string(r.Kind), Command: r.Command, ExitCode: r.ExitCode, Passed: r.Passed,
		DurationMs: r.DurationMs, Output: notes.Redact(strings.ToValidUTF8(string(s.Output), "\uFFFD")), TimedOut: r.TimedOut, Flaky: r.Flaky, AlreadyRed: r.AlreadyRed, Tests: r.Tests, NoTests: r.NoTests, Limit: r.Limit,
		Tolerated: r.Tolerated, Missing: r.Missing, Tail: redactLines(checks.Tail(r.Output, tailLines))}
}

func (p *prover) toBaseline(in []state.CheckState) checks.Baseline {
	var b checks.Baseline
	for _, c := range in {
		if hidden, ok := p.unmasked(c.Command); ok {
			c.Name, c.Command = hidden.Name, hidden.Run
		}
		b.Checks = append(b.Checks, checks.BaselineCheck{Name: c.Name, Command: c.Command, Green: !c.Red, Tests: c.Tests})
	}
	return b
}

func (p *prover) fromBaseline(b checks.Baseline) []state.CheckState {
	hidden := map[string]bool{}
	for _, c := range p.configured() {
		hidden[c.Name] = c.Hidden
	}
	var out []state.CheckState
	for _, c := range b.Checks {
		if hidden[c.Name] {
			c.Name, c.Command = checks.HiddenName, checks.Check{Name: c.Name, Run: c.Command}.HiddenMark()
		}
		out = append(out, state.CheckState{Name: c.Name, Command: c.Command, Red: !c.Green, Tests: c.Tests})
	}
	return out
}

// Prove runs and weighs checks and criteria.
func (p *prover) Prove(ctx context.Context, req loop.ProofRequest) (loop.ProofReport, error) {
	configured := p.configured()
	list := checks.Select(configured, p.strategy())
	var left []checks.Left
	if !req.Complete {
		list, left = checks.Due(list, req.Changed)
	}
	tasks := req.Done
	if req.Task != nil {
		tasks = append(slices.Clone(tasks), *req.Task)
	}
	verify := slices.Clone(req.Verify)
	for _, t := range tasks {
		verify = append(verify, t.Verify...)
	}
	list = append(list, checks.Criteria(verify, configured)...)
	results, err := p.runner(req).Run(ctx, list)
	if err != nil {
		return loop.ProofReport{}, err
	}
	v := p.weigh(req, results...)
	report := loop.ProofReport{Pass: v.Pass, Reasons: v.Reasons, Outputs: map[string][]byte{}}
	for i, r := range v.Results {
		report.Runs = append(report.Runs, masked(p.short(r), r.Hidden))
		if !r.Hidden {
			report.Outputs[fmt.Sprintf("%02d-%s.txt", i+1, safeName(r.Name))] = r.Output
		}
	}
	for _, x := range left {
		report.Runs = append(report.Runs, masked(state.CheckRun{Name: x.Check.Name, Kind: string(x.Check.Kind), Command: x.Check.Run, Skipped: x.Why}, x.Check.Hidden))
	}
	if !v.Pass {
		report.FailText = checks.Failures(v.Results, p.set.Context.FailureChars)
	}
	report.Baseline = p.fromBaseline(p.toBaseline(req.Baseline).Update(results))
	for _, t := range tasks {
		report.Criteria = append(report.Criteria, marks(t, checks.Criteria(t.Verify, configured), v.Results)...)
	}
	return report, nil
}

// marks says of each criterion of a task how far it was shown: a command that
// passed proves, one that did not fails, text that nobody judged is unjudged.
func marks(t plan.Task, commands []checks.Check, results []checks.Result) []state.CriterionMark {
	var out []state.CriterionMark
	for _, c := range commands {
		mark := "unjudged"
		for _, r := range results {
			switch {
			case r.Kind != checks.Criterion || r.Command != c.Run:
			case r.Passed:
				mark = "proved"
			default:
				mark = "failed"
			}
		}
		name := c.Name
		if c.Hidden {
			name = checks.HiddenName
		}
		out = append(out, state.CriterionMark{Text: name, Mark: mark})
	}
	for _, c := range t.Criteria {
		out = append(out, state.CriterionMark{Text: c, Mark: "unjudged"})
	}
	return out
}

func safeName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, s)
	s = strings.Trim(s, "-")
	if s == "" {
		return "check"
	}
	return s[:min(len(s), 40)]
}

// Steps runs the commands around an iteration.
func (p *prover) Steps(ctx context.Context, when string, req loop.ProofRequest) (loop.StepReport, error) {
	var out loop.StepReport
	var steps []checks.Step
	for _, s := range p.set.Steps {
		steps = append(steps, checks.Step{Name: s.Name, When: checks.When(s.When), Run: s.Run, Enabled: s.Enabled, Timeout: s.Timeout,
			Retries: s.Retries, RetryDelay: s.RetryDelay, ContinueOnError: s.ContinueOnError,
			Breaker: checks.StepBreaker{Threshold: s.Breaker.Threshold, ResetAfter: s.Breaker.ResetAfter}})
	}
	if len(steps) == 0 {
		return out, nil
	}
	r := p.runner(req)
	r.Done = nil
	reports, states, _, err := r.Steps(ctx, steps, checks.When(when), p.steps, func(ctx context.Context, d time.Duration) error {
		p.sleep(ctx, d)
		return ctx.Err()
	})
	p.steps = states
	for _, rep := range reports {
		run := state.CheckRun{Name: rep.Name, Kind: "step"}
		if rep.Tries > 0 {
			run = p.short(rep.Last)
			run.Name, run.Kind = rep.Name, "step"
			if out.Outputs == nil {
				out.Outputs = map[string][]byte{}
			}
			out.Outputs["step-"+when+"-"+safeName(rep.Name)+".txt"] = rep.Last.Output
		} else if run.Skipped = rep.End.Why; run.Skipped == checks.Disabled {
			continue
		}
		if out.Runs = append(out.Runs, run); req.Result != nil {
			req.Result(run)
		}
		if rep.End.Kind == checks.Fail && out.Failed == "" {
			last := rep.Last
			last.Name, last.Kind = rep.Name, "step"
			out.Failed, out.FailText = rep.Name, checks.Failures([]checks.Result{last}, p.set.Context.FailureChars)
		}
	}
	return out, err
}

// Replay runs recorded commands. One that is a configured check still has its
// time limit.
func (p *prover) Replay(ctx context.Context, req loop.ProofRequest, recorded []state.CheckRun) ([]state.CheckRun, error) {
	var list []checks.Check
	for _, c := range recorded {
		ck := checks.Check{Name: c.Name, Run: c.Command, Kind: checks.Kind(c.Kind)}
		if c.Hidden {
			var known bool
			if ck, known = p.unmasked(c.Command); !known {
				ck.Run = "echo 'the settings do not have this hidden check any more'; exit 1"
			}
			ck.Name, ck.Kind = c.Name, checks.Kind(c.Kind)
		}
		for _, have := range p.set.Checks {
			if have.Name == c.Name {
				ck.Timeout = have.Timeout
			}
		}
		list = append(list, ck)
	}
	r := p.runner(req)
	r.FlakyReruns = 0 // what is proved once has to hold again at once
	results, err := r.Run(ctx, list)
	var out []state.CheckRun
	for _, r := range results {
		out = append(out, p.short(r))
	}
	return out, err
}

// Repeat runs a judge's command once: what is red first is no evidence.
func (p *prover) Repeat(ctx context.Context, req loop.ProofRequest, command string, limit time.Duration) (state.CheckRun, []byte, error) {
	r := p.runner(req)
	r.FlakyReruns, r.Done = 0, nil
	results, err := r.Run(ctx, []checks.Check{{Name: command, Run: command, Kind: checks.Criterion, Timeout: limit}})
	if err != nil {
		return state.CheckRun{}, nil, err
	}
	return p.short(results[0]), results[0].Output, nil
}

// Demands lists the checks that bind and the verify commands.
func (p *prover) Demands(settings []byte, verify []string) ([]state.CheckRun, error) {
	if settings != nil {
		set, err := p.load(settings)
		if err != nil {
			return nil, err
		}
		p = newProver(set, p.sleep)
	}
	configured := p.configured()
	list := slices.DeleteFunc(checks.Select(configured, p.strategy()), func(c checks.Check) bool { return !c.Binds(p.strategy()) })
	var out []state.CheckRun
	for _, c := range append(list, checks.Criteria(verify, configured)...) {
		out = append(out, masked(state.CheckRun{Name: c.Name, Kind: string(c.Kind), Command: c.Run}, c.Hidden))
	}
	return out, nil
}

// Setup runs the project's setup commands.
func (p *prover) Setup(ctx context.Context, req loop.ProofRequest) error {
	if len(p.set.Project.Setup) == 0 {
		return nil
	}
	r := p.runner(req)
	r.Done = nil
	_, err := r.Setup(ctx, p.set.Project.Setup, 0)
	return err
}

// Weakened compares tests before and after. Where the change touched tests and
// nothing was found by comparing, the old tests are run on the new code: they
// count only where they build, and only where the change's own tests pass in the
// same surroundings.
func (p *prover) Weakened(ctx context.Context, req loop.WeakenRequest) (loop.WeakenReport, error) {
	configured := p.configured()
	in := weaken.Input{Commands: checks.CommandsOf(configured, req.Tasks), Lookup: req.Lookup, Paths: req.Paths}
	for _, f := range req.Files {
		in.Files = append(in.Files, weaken.File{Path: f.Path, Before: f.Before, After: f.After})
	}
	report := weaken.Judge(in)
	findings := report.Findings
	// What hidden tests say must not become a reason that agents read, and what is
	// for the end would be run twice for each change of a test.
	tests, _ := checks.Due(checks.Select(open(configured), checks.TestsOnly), nil)
	if req.Task != nil {
		tests = append(tests, open(checks.Criteria(req.Task.Verify, configured))...)
	}
	over := in.Overlay()
	open := report.Open
	if len(findings) == 0 && over != nil && len(tests) > 0 {
		var files []loop.ChangedFile
		for _, f := range over {
			files = append(files, loop.ChangedFile{Path: f.Path, After: f.After})
		}
		old, err := p.runTests(ctx, req, files, tests)
		if err != nil {
			return loop.WeakenReport{}, fmt.Errorf("run the old tests on the new code: %w", err)
		}
		open = slices.DeleteFunc(open, func(f weaken.Finding) bool {
			held := weaken.Held(f, old)
			if held {
				report.Notes = append(report.Notes, f)
			}
			return held
		})
		if slices.ContainsFunc(old, func(r weaken.RunReport) bool { return r.Exit != 0 }) {
			now, err := p.runTests(ctx, req, nil, tests)
			if err != nil {
				return loop.WeakenReport{}, fmt.Errorf("run the new tests beside the old ones: %w", err)
			}
			for i := range min(len(old), len(now)) {
				findings = append(findings, weaken.JudgeOldTests(report, old[i], &now[i])...)
			}
		}
	}
	if len(findings) == 0 {
		findings = fewerTests(req, report.Before+report.Excused-report.After)
	}
	var out loop.WeakenReport
	for _, f := range append(findings, open...) {
		if line := f.String(); !slices.Contains(out.Findings, line) {
			out.Findings = append(out.Findings, line)
		}
	}
	for _, f := range report.Notes {
		out.Notes = append(out.Notes, f.String())
	}
	return out, nil
}

// BaseTests runs the tests of the beginning of a journal on the code of now.
// Those that failed at the beginning are not held against it.
func (p *prover) BaseTests(ctx context.Context, req loop.BaseTestsRequest) ([]string, error) {
	configured := p.configured()
	in := weaken.Input{Commands: checks.CommandsOf(configured, req.Tasks), Lookup: req.Lookup, Paths: req.Paths}
	for _, f := range req.Files {
		in.Files = append(in.Files, weaken.File{Path: f.Path, Before: f.Before, After: f.After})
	}
	tests := checks.Select(configured, checks.TestsOnly)
	for _, t := range req.Tasks {
		if t.Status == plan.Done {
			tests = append(tests, checks.Criteria(t.Verify, configured)...)
		}
	}
	over := in.Overlay()
	if over == nil || len(tests) == 0 {
		return nil, nil
	}
	var files []loop.ChangedFile
	for _, f := range over {
		files = append(files, loop.ChangedFile{Path: f.Path, After: f.After})
	}
	old, err := p.runTests(ctx, req.WeakenRequest, files, tests)
	if err != nil || !slices.ContainsFunc(old, func(r weaken.RunReport) bool { return len(r.Failures()) > 0 }) {
		return nil, err
	}
	atBase := loop.WeakenRequest{InCheckout: func(_ []loop.ChangedFile, run func(loop.ProofRequest) error) error { return req.AtBase(run) }}
	base, err := p.runTests(ctx, atBase, nil, tests)
	if err != nil {
		return nil, err
	}
	var names []string
	report := weaken.Judge(in)
	for i := range min(len(old), len(base)) {
		for _, f := range weaken.JudgeOldTests(report, old[i], &base[i]) {
			if f.Test != "" && !slices.Contains(names, f.Test) {
				names = append(names, f.Test)
			}
		}
	}
	return names, nil
}

// fewerTests are the checks of which fewer tests ran than before. Tests that the
// change removed were judged one by one and are no surprise.
func fewerTests(req loop.WeakenRequest, removed int) []weaken.Finding {
	var out []weaken.Finding
	for _, r := range req.Ran {
		for _, b := range req.Baseline {
			if r.Passed && r.Tests != nil && b.Name == r.Name && b.Command == r.Command && *r.Tests < b.Tests-max(0, removed) {
				out = append(out, weaken.Finding{Rule: weaken.Removed, Detail: fmt.Sprintf("%s of check %s ran, %d before", plural(*r.Tests, "test"), r.Name, b.Tests)})
			}
		}
	}
	return out
}

// TestFiles are what Overlay would put back if the sides were exchanged.
func (p *prover) TestFiles(req loop.WeakenRequest) (tests, data []loop.ChangedFile) {
	in := weaken.Input{Lookup: req.Lookup, Paths: req.Paths}
	for _, f := range req.Files {
		in.Files = append(in.Files, weaken.File{Path: f.Path, Before: f.After, After: f.Before})
		if f.Before == nil {
			in.Paths = append(in.Paths, f.Path)
		}
	}
	known := map[string]bool{}
	for _, f := range in.Overlay() {
		known[f.Path] = true
		tests = append(tests, loop.ChangedFile{Path: f.Path, After: f.After})
	}
	for _, f := range req.Files {
		if f.After != nil && !known[f.Path] && !weaken.IsSource(f.Path) {
			data = append(data, loop.ChangedFile{Path: f.Path, After: f.After})
		}
	}
	return tests, data
}

// RunTests leaves out hidden checks, whose results agents must not learn, and
// those for the end.
func (p *prover) RunTests(ctx context.Context, task plan.Task, in func(func(loop.ProofRequest) error) error) ([]loop.TestRun, error) {
	configured := p.configured()
	tests, _ := checks.Due(checks.Select(open(configured), checks.TestsOnly), nil)
	tests = append(tests, open(checks.Criteria(task.Verify, configured))...)
	if len(tests) == 0 {
		return nil, nil
	}
	var out []loop.TestRun
	err := in(func(pr loop.ProofRequest) error {
		r := p.runner(pr)
		r.Done = nil
		results, err := r.Run(ctx, tests)
		for _, res := range results {
			run := checks.ParseTests(res)
			out = append(out, loop.TestRun{Name: res.Name, Passed: res.Passed, Broken: run.Known && len(run.Failures()) == 0})
		}
		return err
	})
	return out, err
}

// runTests runs test commands in a fresh checkout of the attempt with files put
// over it; the reports have the order of the commands.
func (p *prover) runTests(ctx context.Context, req loop.WeakenRequest, over []loop.ChangedFile, tests []checks.Check) ([]weaken.RunReport, error) {
	var out []weaken.RunReport
	err := req.InCheckout(over, func(pr loop.ProofRequest) error {
		results, err := p.runner(pr).Run(ctx, tests)
		for _, r := range results {
			out = append(out, checks.ParseTests(r))
		}
		return err
	})
	return out, err
}

// Provable says whether anything could prove a task.
func (p *prover) Provable(t plan.Task, baseline []state.CheckState) bool {
	return checks.Provable(t.Verify, p.configured(), p.strategy(), p.mode(), p.toBaseline(baseline))
}

// Lacking asks the shell that runs the checks for the programs that they and the
// verify commands call.
func (p *prover) Lacking(ctx context.Context, req loop.ProofRequest, tasks []plan.Task) ([]loop.Lack, error) {
	if runtime.GOOS == "windows" {
		return nil, nil // cmd has no such question
	}
	var lacks []loop.Lack
	words := ""
	need := func(line, who string, task plan.TaskID) {
		for _, name := range guard.Programs(line) {
			lacks = append(lacks, loop.Lack{Program: name, For: who, Task: task})
			words += " " + name
		}
	}
	configured := p.configured()
	for _, c := range configured {
		if c.Binds(p.strategy()) {
			need(c.Run, "check "+c.Name, "")
		}
	}
	for _, t := range tasks {
		for _, c := range checks.Criteria(t.Verify, configured) {
			need(c.Run, "a verify command of "+string(t.ID), t.ID)
		}
	}
	if len(lacks) == 0 {
		return nil, nil
	}
	r := p.runner(req)
	r.Done, r.FlakyReruns = nil, 0
	results, err := r.Run(ctx, []checks.Check{{Name: "programs", Kind: "setup",
		Run: "for p in" + words + `; do command -v "$p" >/dev/null 2>&1 || echo "$p"; done`}})
	if err != nil {
		return nil, err
	}
	gone := strings.Fields(string(results[0].Output))
	known := map[loop.Lack]bool{}
	return slices.DeleteFunc(lacks, func(k loop.Lack) bool {
		out := known[k] || !results[0].Passed || !slices.Contains(gone, k.Program)
		known[k] = true
		return out
	}), nil
}

// unprovable are the tasks that nothing configured could prove, whatever the
// baseline will say.
func (p *prover) unprovable(tasks []plan.Task) []plan.TaskID {
	var out []plan.TaskID
	for _, t := range tasks {
		if !p.Provable(t, nil) {
			out = append(out, t.ID)
		}
	}
	return out
}
