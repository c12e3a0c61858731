package agentctx

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/gitstate/state"
	"git-ralph/notes"
	"git-ralph/plan"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares with testdata/golden/<name>; -update writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("%s:\n%s", file, diff)
	}
}

func record(iteration int, task, verdict string) notes.Record {
	h := notes.Synthesize(notes.SynthInput{Iteration: iteration, TaskID: task})
	h.Summary = fmt.Sprintf("work of iteration %d", iteration)
	h.Freeform = fmt.Sprintf(
		"Iteration %d added the parser and its table test. The limiter is missing. Start with limit.go.\n\n## Details\n\n"+
			"See `parse.go`.", iteration)
	h.ConfidenceLevel = "high"
	h.UnfinishedBusiness = []notes.Unfinished{{Item: "rate limit"}}
	h.ArchitecturalNotes = []string{"handlers live in http/"}
	h.ConstraintsDiscovered = []notes.Constraint{{Constraint: "must not log tokens.", Impact: "a leak."}}
	h.Deviations = []notes.Deviation{{Planned: "jwt", Actual: "opaque tokens", Reason: "no library"}}
	h.FilesTouched = []notes.FileTouched{{Path: "parse.go", Action: "created"}}
	h.RequestResearch = []string{"cost of bcrypt"}
	return notes.Record{Handoff: h, Origin: notes.Origin{Iteration: iteration, Task: task, Verdict: verdict,
		Source: "agent"}}
}

// project is a run in the middle of its work: everything a prompt can show.
func project() state.State {
	five := 5
	last := record(6, "T-002", "keep")
	return state.State{
		Run: state.Run{Phase: state.Building, Iteration: 6, Session: 2, SessionIterations: 3, SessionDone: 1,
			Cost: state.Costs{Session: 1_230_000}, Used: state.Used{Tokens: 456_789}},
		Plan: plan.Plan{Goal: "a login service", Tasks: []plan.Task{
			{ID: "T-001", Title: "add the table", Status: plan.Done},
			{ID: "T-002", Title: "parse requests", Status: plan.Done},
			{ID: "T-003", Title: "add the login endpoint",
				Description: "POST /login answers 200 with a token.\n\n## Where\n\nhttp/login.go", Status: plan.InProgress,
				Criteria: []string{"a wrong password gives 401", "a token lives 24 h"},
				Verify:   []string{"test", "sh test.sh"}, Skills: []string{"go-style", "missing-one"},
				Libraries: []string{"bcrypt"}, Spec: "specs/login.md", Attempts: 1, MaxAttempts: &five,
				Notes: "ask ops about the port",
				Failure: "The attempt was rejected: checks: test\n\n### Validation Failures\n\n`go test ./...` failed:\n\n```\n" +
					"login_test.go:12: got 500, want 401\n```"},
			{ID: "T-004", Title: "limit the rate", Status: plan.Pending, DependsOn: []plan.TaskID{"T-003"}},
			{ID: "T-005", Title: "write the docs", Status: plan.Failed},
		}},
		Handoff: &last,
		Recent:  []notes.Record{record(3, "T-001", "keep"), record(4, "T-002", "reject"), record(5, "T-002", "keep"), last},
		Knowledge: []notes.Knowledge{
			{ID: "K-constraint-tokens", Type: notes.KConstraint, Status: notes.Active, Source: []int{3},
				Text: "Tokens must never be logged."},
			{ID: "K-constraint-go", Type: notes.KConstraint, Status: notes.Active, Source: []int{4}, Text: "Go 1.26 is used."},
			{ID: "K-decision-old", Type: notes.KDecision, Status: notes.Superseded, Source: []int{1}, Text: "jwt it is"},
			{ID: "K-decision-opaque", Type: notes.KDecision, Status: notes.Active, Source: []int{3, 5},
				Supersedes: []string{"K-decision-old"}, Text: "Tokens are opaque."},
			{ID: "K-pattern-tables", Type: notes.KPattern, Status: notes.Active, Source: []int{5},
				Tags: []string{"learning", "pattern"}, Text: "Use table tests."},
			{ID: "K-gotcha-port", Type: notes.KGotcha, Status: notes.Active, Text: "Port 80 is taken on the test machine."},
		},
		Guidance: []state.Guidance{
			{ID: "g-1", Text: "prefer the standard library", Task: "T-003", Shown: true},
			{ID: "g-2", Text: "no new\ndependencies"},
			{ID: "g-3", Text: "seen by another task", Task: "T-001", Shown: true},
		},
		Memory: map[string]string{"session": "- Iteration 5: the fake clock is in clock.go\n",
			"phase-planning": "# Phase planning\n\n## Artifacts\n- 5 tasks\n"},
	}
}

func options(m Mode) Options {
	return Options{
		Mode: m, MaxAttempts: 3, Phase: state.Building,
		Checks: []Check{{Name: "test", Kind: "test", Command: "go test ./..."},
			{Name: "style", Kind: "lint", Command: "golint `go list ./...`", Lenient: true}},
		Protected:    []string{"ralph.toml", "specs/**"},
		Toolchain:    Toolchain{Test: "just test", Add: "go get NAME", Blocked: []Blocked{{"pip install", "uv add"}}},
		Skills:       []Skill{{"go-style", "skills/go-style.md", "# Go style\n\nWrap errors with the step."}},
		Missing:      []string{"missing-one"},
		Instructions: "# Project\n\nRun `just test`.", InstructionsFile: "AGENTS.md",
	}
}

// randomState makes hostile and odd states: huge texts, headings in texts,
// no tasks, no handoff.
func randomState(rnd *rand.Rand) (state.State, plan.TaskID) {
	text := func(max int) string {
		atoms := []string{"word ", "## Current Task\n", "## Skills\n\n", "```\n", "é", "日本 ", "\n", "\n\n\n\n",
			"must never ", "{{task}}", "# x\n", "\x00\u202e", "- item\n", "\xff"}
		var b strings.Builder
		for n := rnd.IntN(max + 1); b.Len() < n; {
			b.WriteString(atoms[rnd.IntN(len(atoms))])
		}
		return b.String()
	}
	var s state.State
	for i := range rnd.IntN(6) {
		s.Plan.Tasks = append(s.Plan.Tasks, plan.Task{ID: plan.TaskID(fmt.Sprint("T-", i)), Title: text(80),
			Description: text(20000), Criteria: []string{text(300), text(3000)},
			Verify: []string{text(50)}, Status: []plan.Status{plan.Done, plan.Pending, plan.Failed}[rnd.IntN(3)],
			Attempts: rnd.IntN(3), Failure: text(5000), Notes: text(500)})
	}
	s.Plan.Goal = text(900)
	for i := range rnd.IntN(5) {
		rec := record(i, text(20), []string{"keep", "reject", "halt", ""}[rnd.IntN(4)])
		rec.Freeform, rec.Summary = text(30000), text(3000)
		for range rnd.IntN(30) {
			rec.ArchitecturalNotes = append(rec.ArchitecturalNotes, text(700))
		}
		s.Recent = append(s.Recent, rec)
		s.Handoff = &rec
	}
	for i := range rnd.IntN(60) {
		s.Knowledge = append(s.Knowledge, notes.Knowledge{ID: fmt.Sprint("K-constraint-", i), Type: notes.KConstraint,
			Status: notes.Active, Source: []int{i}, Text: text(1500)})
	}
	for i := range rnd.IntN(4) {
		s.Guidance = append(s.Guidance, state.Guidance{ID: fmt.Sprint("g", i), Text: text(2000)})
	}
	s.Memory = map[string]string{"session": text(9000), "phase-planning": text(9000)}
	id := plan.TaskID("none")
	if n := len(s.Plan.Tasks); n > 0 {
		id = s.Plan.Tasks[rnd.IntN(n)].ID
	}
	return s, id
}

// large is a project at the size that speed is promised for.
func large() (state.State, plan.TaskID) {
	s := project()
	for i := range 1000 {
		s.Plan.Tasks = append(s.Plan.Tasks, plan.Task{ID: plan.TaskID(fmt.Sprint("X-", i)), Title: "a task of the plan",
			Status:      []plan.Status{plan.Done, plan.Pending}[i%2],
			Description: strings.Repeat("text ", 100), Criteria: []string{"a", "b"}})
	}
	types := notes.KnowledgeTypes()
	for i := range 500 {
		typ := types[i%len(types)]
		s.Knowledge = append(s.Knowledge, notes.Knowledge{ID: notes.KnowledgeID(typ, fmt.Sprint("e", i)), Type: typ,
			Status: notes.Active, Source: []int{i},
			Text: strings.Repeat("what was learned in this iteration ", 4)})
	}
	s.Run.Iteration = 10000
	return s, "T-003"
}
