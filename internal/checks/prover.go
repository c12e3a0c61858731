package checks

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate/state"
	"git-ralph/loop"
	"git-ralph/notes"
	"git-ralph/plan"
)

// Settings are what a Prover runs and how it weighs it.
type Settings struct {
	Checks       []Check
	Steps        []Step
	Setup        []string
	Strategy     Strategy
	Baseline     Mode
	FlakyReruns  int
	FailureChars int // of a red check in the next prompt
}

// Prover is the loop's Prover: it runs the checks of the settings.
type Prover struct {
	set   Settings
	sleep func(context.Context, time.Duration)
	// Load reads the settings of another commit; only verify needs it.
	Load func(settings []byte) (Settings, error)
	// steps is what the steps' own breakers remember during one start.
	steps map[string]StepState
}

// tailLines is how much of a red check is shown where a person looks on.
const tailLines = 8

// NewProver makes a prover. sleep waits between the tries of a step.
func NewProver(set Settings, sleep func(context.Context, time.Duration)) *Prover {
	return &Prover{set: set, sleep: sleep, steps: map[string]StepState{}}
}

var _ loop.Prover = (*Prover)(nil)

// open are the checks that are not hidden: what they print may be told.
func open(list []Check) []Check {
	return slices.DeleteFunc(slices.Clone(list), func(c Check) bool { return c.Hidden })
}

// masked is a record as an agent may read it.
func masked(run state.CheckRun, hidden bool) state.CheckRun {
	if !hidden {
		return run
	}
	mark := Check{Name: run.Name, Run: run.Command}.HiddenMark()
	return state.CheckRun{Name: HiddenName, Kind: run.Kind, Command: mark, ExitCode: min(run.ExitCode, 1),
		Passed: run.Passed, DurationMs: run.DurationMs,
		TimedOut: run.TimedOut, Flaky: run.Flaky, AlreadyRed: run.AlreadyRed, Tolerated: run.Tolerated, Missing: run.Missing,
		Tests: run.Tests, NoTests: run.NoTests, Limit: run.Limit, Skipped: run.Skipped, Hidden: true}
}

// unmasked finds the hidden check that a mark stands for.
func (p *Prover) unmasked(mark string) (Check, bool) {
	for _, c := range p.set.Checks {
		if c.Hidden && c.HiddenMark() == mark {
			return c, true
		}
	}
	return Check{}, false
}

// Runner runs checks where a request says.
func (p *Prover) Runner(req loop.ProofRequest) *Runner {
	r := &Runner{Start: StartFunc(req.Start), Dir: req.Dir, Env: req.Env, FlakyReruns: p.set.FlakyReruns}
	if req.Again != nil {
		r.Again = func(ctx context.Context, c Check) (res Result, err error) {
			err = req.Again(func(clean loop.ProofRequest) error {
				res, err = p.Runner(clean).Once(ctx, c)
				return err
			})
			return res, err
		}
	}
	r.Done = func(res Result) {
		if req.Result != nil {
			req.Result(p.short(p.weigh(req, res).Results[0]))
		}
	}
	return r
}

func (p *Prover) weigh(req loop.ProofRequest, results ...Result) Verdict {
	mode := p.set.Baseline
	if req.Unexcused {
		mode = Off
	}
	return Weigh(results, p.toBaseline(req.Baseline), mode, p.set.Strategy)
}

func redactLines(lines []string) []string {
	if len(lines) == 0 {
		return lines
	}
	return strings.Split(notes.Redact(strings.Join(lines, "\n")), "\n")
}

func (p *Prover) short(r Result) state.CheckRun {
	s := r.Short(p.set.FailureChars)
	return state.CheckRun{Name: r.Name, Kind: string(r.Kind), Command: r.Command, ExitCode: r.ExitCode, Passed: r.Passed,
		DurationMs: r.DurationMs, Output: notes.Redact(strings.ToValidUTF8(string(s.Output), "\uFFFD")), TimedOut: r.TimedOut,
		Flaky: r.Flaky, AlreadyRed: r.AlreadyRed, Tests: r.Tests, NoTests: r.NoTests, Limit: r.Limit,
		Tolerated: r.Tolerated, Missing: r.Missing, Problem: r.Problem, Tail: redactLines(Tail(r.Output, tailLines))}
}

func (p *Prover) toBaseline(in []state.CheckState) Baseline {
	var b Baseline
	for _, c := range in {
		if hidden, ok := p.unmasked(c.Command); ok {
			c.Name, c.Command = hidden.Name, hidden.Run
		}
		b.Checks = append(b.Checks, BaselineCheck{Name: c.Name, Command: c.Command, Green: !c.Red, Tests: c.Tests,
			Tested: c.Tested, Spoke: c.Spoke, Lenient: c.Lenient, Criterion: c.Criterion})
	}
	return b
}

func (p *Prover) fromBaseline(b Baseline) []state.CheckState {
	hidden := map[string]bool{}
	for _, c := range p.set.Checks {
		hidden[c.Name] = c.Hidden
	}
	var out []state.CheckState
	for _, c := range b.Checks {
		if hidden[c.Name] {
			c.Name, c.Command = HiddenName, Check{Name: c.Name, Run: c.Command}.HiddenMark()
		}
		out = append(out, state.CheckState{Name: c.Name, Command: c.Command, Red: !c.Green, Tests: c.Tests,
			Tested: c.Tested, Spoke: c.Spoke, Lenient: c.Lenient, Criterion: c.Criterion})
	}
	return out
}

// Prove runs and weighs checks and criteria.
func (p *Prover) Prove(ctx context.Context, req loop.ProofRequest) (loop.ProofReport, error) {
	configured := p.set.Checks
	list := Select(configured, p.set.Strategy)
	var left []Left
	if !req.Complete {
		list, left = Due(list, req.Changed, p.set.Strategy)
	}
	tasks := req.Done
	if req.Task != nil {
		tasks = append(slices.Clone(tasks), *req.Task)
	}
	verify := slices.Clone(req.Verify)
	for _, t := range tasks {
		verify = append(verify, t.Verify...)
	}
	list = append(list, Criteria(verify, configured)...)
	results, err := p.Runner(req).Run(ctx, list)
	if err != nil {
		return loop.ProofReport{}, err
	}
	v := p.weigh(req, results...)
	report := loop.ProofReport{Pass: v.Pass, Reasons: v.Reasons, Outputs: map[string][]byte{}}
	for i, r := range v.Results {
		report.Runs = append(report.Runs, masked(p.short(r), r.Hidden))
		if !r.Hidden {
			report.Outputs[fmt.Sprintf("%02d-%s.txt", i+1, SafeName(r.Name))] = r.Output
		}
	}
	for _, x := range left {
		report.Runs = append(report.Runs,
			masked(state.CheckRun{Name: x.Check.Name, Kind: string(x.Check.Kind), Command: x.Check.Run, Skipped: x.Why},
				x.Check.Hidden))
	}
	if !v.Pass {
		report.FailText = Failures(v.Results, p.set.FailureChars)
	}
	report.Fewer = p.fewer(v.Results, req.Baseline)
	report.Baseline = p.fromBaseline(p.toBaseline(req.Baseline).Update(v.Results))
	for _, t := range tasks {
		report.Criteria = append(report.Criteria, marks(t, Criteria(t.Verify, configured), v.Results)...)
	}
	return report, nil
}

// fewer names the green checks that ran fewer tests than before, or no longer
// say how many. The test guard decides whether that is a fault.
func (p *Prover) fewer(results []Result, before []state.CheckState) []string {
	base := p.toBaseline(before)
	var out []string
	for _, r := range results {
		i := base.find(r.Name, r.Command)
		if i < 0 || !r.Passed || base.Checks[i].Tests == 0 || r.Tests != nil && *r.Tests >= base.Checks[i].Tests {
			continue
		}
		ran := "no longer says how many tests ran"
		if r.Tests != nil {
			ran = testCount(*r.Tests) + " ran"
		}
		name := r.Name
		if r.Hidden {
			name = HiddenName
		}
		if line := fmt.Sprintf("check %s: %s, %d before", name, ran, base.Checks[i].Tests); !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}

// marks says how far each criterion of a task was shown: proved by a command
// that passed, failed by one that did not, unjudged if it is text.
func marks(t plan.Task, commands []Check, results []Result) []state.CriterionMark {
	var out []state.CriterionMark
	for _, c := range commands {
		mark := "unjudged"
		for _, r := range results {
			switch {
			case r.Kind != Criterion || r.Command != c.Run:
			case r.Passed:
				mark = "proved"
			default:
				mark = "failed"
			}
		}
		name := c.Name
		if c.Hidden {
			name = HiddenName
		}
		out = append(out, state.CriterionMark{Text: name, Mark: mark})
	}
	for _, c := range t.Criteria {
		out = append(out, state.CriterionMark{Text: c, Mark: "unjudged"})
	}
	return out
}

// SafeName makes the name of a check one of a file.
func SafeName(s string) string {
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
func (p *Prover) Steps(ctx context.Context, when string, req loop.ProofRequest) (loop.StepReport, error) {
	var out loop.StepReport
	if len(p.set.Steps) == 0 {
		return out, nil
	}
	r := p.Runner(req)
	r.Done = nil
	reports, states, _, err := r.Steps(ctx, p.set.Steps, When(when), p.steps,
		func(ctx context.Context, d time.Duration) error {
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
			out.Outputs["step-"+when+"-"+SafeName(rep.Name)+".txt"] = rep.Last.Output
		} else if run.Skipped = rep.End.Why; run.Skipped == Disabled {
			continue
		}
		if out.Runs = append(out.Runs, run); req.Result != nil {
			req.Result(run)
		}
		if rep.End.Kind == Fail && out.Failed == "" {
			last := rep.Last
			last.Name, last.Kind = rep.Name, "step"
			out.Failed, out.FailText = rep.Name, Failures([]Result{last}, p.set.FailureChars)
		}
	}
	return out, err
}

// Replay runs recorded commands and weighs them as Prove does, but excuses none.
// A configured check keeps its time limit.
func (p *Prover) Replay(ctx context.Context, req loop.ProofRequest, recorded []state.CheckRun) ([]state.CheckRun,
	error) {
	var list []Check
	for _, c := range recorded {
		ck := Check{Name: c.Name, Run: c.Command, Kind: Kind(c.Kind)}
		if c.Hidden {
			var known bool
			if ck, known = p.unmasked(c.Command); !known {
				ck.Run = "echo 'the settings do not have this hidden check any more'; exit 1"
			}
			ck.Kind = Kind(c.Kind)
		}
		for _, have := range p.set.Checks {
			if have.Name == c.Name {
				ck.Timeout = have.Timeout
			}
		}
		list = append(list, ck)
	}
	r := p.Runner(req)
	r.FlakyReruns = 0 // a proof has to hold at the first run
	results, err := r.Run(ctx, list)
	req.Unexcused = true
	var out []state.CheckRun
	for i, r := range p.weigh(req, results...).Results {
		r.Name = recorded[i].Name
		out = append(out, p.short(r))
	}
	return out, err
}

// Repeat runs a judge's command once: a flaky pass is no evidence.
func (p *Prover) Repeat(ctx context.Context, req loop.ProofRequest, command string,
	limit time.Duration) (state.CheckRun, []byte, error) {
	r := p.Runner(req)
	r.FlakyReruns, r.Done = 0, nil
	results, err := r.Run(ctx, []Check{{Name: command, Run: command, Kind: Criterion, Timeout: limit}})
	if err != nil {
		return state.CheckRun{}, nil, err
	}
	return p.short(results[0]), results[0].Output, nil
}

// Demands lists the checks that bind and the verify commands.
func (p *Prover) Demands(settings []byte, verify []string) ([]state.CheckRun, error) {
	if settings != nil {
		set, err := p.Load(settings)
		if err != nil {
			return nil, err
		}
		p = NewProver(set, p.sleep)
	}
	configured := p.set.Checks
	list := slices.DeleteFunc(Select(configured, p.set.Strategy), func(c Check) bool { return !c.Binds(p.set.Strategy) })
	var out []state.CheckRun
	for _, c := range append(list, Criteria(verify, configured)...) {
		out = append(out, masked(state.CheckRun{Name: c.Name, Kind: string(c.Kind), Command: c.Run}, c.Hidden))
	}
	return out, nil
}

// Setup runs the project's setup commands.
func (p *Prover) Setup(ctx context.Context, req loop.ProofRequest) error {
	if len(p.set.Setup) == 0 {
		return nil
	}
	r := p.Runner(req)
	r.Done = nil
	_, err := r.Setup(ctx, p.set.Setup, 0)
	return err
}
