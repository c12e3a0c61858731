package checks

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"git-ralph/gitstate/state"
	"git-ralph/guard"
	"git-ralph/guard/weaken"
	"git-ralph/loop"
	"git-ralph/plan"
)

// Weakened compares tests before and after. If the change touched tests and the
// comparison found nothing, the old tests are run on the new code. They count
// only where they build, and only where the change's own tests pass in the same
// environment.
func (p *Prover) Weakened(ctx context.Context, req loop.WeakenRequest) (loop.WeakenReport, error) {
	configured := p.set.Checks
	in := weaken.Input{Commands: CommandsOf(configured, req.Tasks), Lookup: req.Lookup, Paths: req.Paths}
	for _, f := range req.Files {
		in.Files = append(in.Files, weaken.File{Path: f.Path, Before: f.Before, After: f.After})
	}
	report := weaken.Judge(in)
	findings := report.Findings
	// Agents must not read what hidden tests print. Checks for the end would run
	// twice for each change of a test.
	tests, _ := Due(Select(open(configured), TestsOnly), nil, TestsOnly)
	if req.Task != nil {
		tests = append(tests, open(Criteria(req.Task.Verify, configured))...)
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
			// A removed test that still passes is a loss if no other replaces it.
			lost := f.Rule == weaken.Removed && report.After < report.Before
			held := weaken.Held(f, old) && !lost && !madeSince(req, f)
			if held {
				report.Notes = append(report.Notes, f)
			}
			return held
		})
		if slices.ContainsFunc(old, func(r weaken.RunReport) bool { return r.Exit != 0 || len(r.Failures()) > 0 }) {
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

// madeSince reports whether a finding is about a removed test that did not exist when the
// journal began: the run of the old tests at the end would not miss it.
func madeSince(req loop.WeakenRequest, f weaken.Finding) bool {
	if f.Rule != weaken.Removed || req.AtBeginning == nil {
		return false
	}
	content, ok := req.AtBeginning(f.Path)
	return !ok || !weaken.HasTest(f.Path, content, f.Test)
}

// BaseTests runs the tests from the beginning of a journal on the present
// code. Those that failed at the beginning are ignored.
func (p *Prover) BaseTests(ctx context.Context, req loop.BaseTestsRequest) ([]string, error) {
	configured := p.set.Checks
	in := weaken.Input{Commands: CommandsOf(configured, req.Tasks), Lookup: req.Lookup, Paths: req.Paths}
	for _, f := range req.Files {
		in.Files = append(in.Files, weaken.File{Path: f.Path, Before: f.Before, After: f.After})
	}
	tests := Select(configured, TestsOnly)
	for _, t := range req.Tasks {
		if t.Status == plan.Done {
			tests = append(tests, Criteria(t.Verify, configured)...)
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
	atBase := loop.WeakenRequest{InCheckout: func(_ []loop.ChangedFile,
		run func(loop.ProofRequest) error) error {
		return req.AtBase(run)
	}}
	base, err := p.runTests(ctx, atBase, nil, tests)
	if err != nil {
		return nil, err
	}
	var names []string
	report := weaken.Judge(in)
	for i := range min(len(old), len(base)) {
		for _, f := range weaken.JudgeOldTests(report, old[i], &base[i]) {
			name := f.Test
			if name == "(file)" { // of a language whose tests are counted by the file
				name = f.Path
			}
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// fewerTests are the checks that ran fewer tests than before. Tests that the
// change removed were judged one by one and are expected to be missing.
func fewerTests(req loop.WeakenRequest, removed int) []weaken.Finding {
	var out []weaken.Finding
	for _, r := range req.Ran {
		for _, b := range req.Baseline {
			if r.Passed && r.Tests != nil && b.Name == r.Name && b.Command == r.Command && *r.Tests < b.Tests-max(0, removed) {
				out = append(out, weaken.Finding{Rule: weaken.Removed,
					Detail: fmt.Sprintf("%s of check %s ran, %d before", testCount(*r.Tests), r.Name, b.Tests)})
			}
		}
	}
	return out
}

// testCount is a number of tests in words.
func testCount(n int) string {
	if n == 1 {
		return "1 test"
	}
	return fmt.Sprintf("%d tests", n)
}

// TestFiles are what Overlay would put back if the sides were exchanged.
func (p *Prover) TestFiles(req loop.WeakenRequest) (tests, data []loop.ChangedFile) {
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
func (p *Prover) RunTests(ctx context.Context, task plan.Task,
	in func(func(loop.ProofRequest) error) error) ([]loop.TestRun, error) {
	configured := p.set.Checks
	tests, _ := Due(Select(open(configured), TestsOnly), nil, TestsOnly)
	tests = append(tests, open(Criteria(task.Verify, configured))...)
	if len(tests) == 0 {
		return nil, nil
	}
	var out []loop.TestRun
	err := in(func(pr loop.ProofRequest) error {
		r := p.Runner(pr)
		r.Done = nil
		results, err := r.Run(ctx, tests)
		for _, res := range results {
			run := ParseTests(res)
			out = append(out, loop.TestRun{Name: res.Name, Passed: res.Passed, Broken: run.Known && len(run.Failures()) == 0})
		}
		return err
	})
	return out, err
}

// runTests runs test commands in a fresh checkout of the attempt with files put
// over it; the reports have the order of the commands.
func (p *Prover) runTests(ctx context.Context, req loop.WeakenRequest, over []loop.ChangedFile,
	tests []Check) ([]weaken.RunReport, error) {
	var out []weaken.RunReport
	err := req.InCheckout(over, func(pr loop.ProofRequest) error {
		results, err := p.Runner(pr).Run(ctx, tests)
		for _, r := range results {
			out = append(out, ParseTests(r))
		}
		return err
	})
	return out, err
}

// Provable says whether anything could prove a task.
func (p *Prover) Provable(t plan.Task, baseline []state.CheckState) bool {
	return Provable(t.Verify, p.set.Checks, p.set.Strategy, p.set.Baseline, p.toBaseline(baseline))
}

// Excuses says of each check that rejects no iteration why.
func (p *Prover) Excuses() []string {
	var out []string
	for _, c := range p.set.Checks {
		switch {
		case c.AllowFailure:
			out = append(out, c.Name+" has allow_failure = true")
		case !c.Binds(p.set.Strategy):
			out = append(out, c.Name+" rejects nothing with the strategy of validation")
		case c.AtEnd:
			out = append(out, c.Name+" runs only before complete")
		}
	}
	return out
}

// Lacking asks the shell that runs the checks for the programs that they and the
// verify commands call.
func (p *Prover) Lacking(ctx context.Context, req loop.ProofRequest, tasks []plan.Task) ([]loop.Lack, error) {
	if runtime.GOOS == "windows" {
		return nil, nil // cmd has no such question
	}
	var lacks []loop.Lack
	words, ask := "", ""
	need := func(line, who string, task plan.TaskID) {
		for _, name := range guard.Programs(line) {
			lacks = append(lacks, loop.Lack{Program: name, For: who, Task: task})
			words += " " + name
		}
		for _, m := range launched().FindAllStringSubmatch(line, -1) {
			lacks = append(lacks, loop.Lack{Program: m[2], For: who, Task: task})
			ask += fmt.Sprintf("; ! command -v %s >/dev/null 2>&1 || %s -c 'import importlib.util as u, sys; "+
				"sys.exit(u.find_spec(\"%s\") is None)' >/dev/null 2>&1 || echo %s", m[1], m[1], m[2], m[2])
		}
	}
	configured := p.set.Checks
	for _, c := range configured {
		if c.Binds(p.set.Strategy) {
			need(c.Run, "check "+c.Name, "")
		}
	}
	for _, t := range tasks {
		for _, c := range Criteria(t.Verify, configured) {
			need(c.Run, "a verify command of "+string(t.ID), t.ID)
		}
	}
	if len(lacks) == 0 {
		return nil, nil
	}
	r := p.Runner(req)
	r.Done, r.FlakyReruns = nil, 0
	results, err := r.Run(ctx, []Check{{Name: "programs", Kind: "setup",
		Run: "for p in" + words + `; do command -v "$p" >/dev/null 2>&1 || echo "$p"; done` + ask}})
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

// Unprovable are the tasks that nothing configured could prove, whatever the
// baseline will say.
func (p *Prover) Unprovable(tasks []plan.Task) []plan.TaskID {
	var out []plan.TaskID
	for _, t := range tasks {
		if !p.Provable(t, nil) {
			out = append(out, t.ID)
		}
	}
	return out
}
