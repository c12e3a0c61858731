package agentctx

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"git-ralph/gitstate/state"
	"git-ralph/notes"
	"git-ralph/plan"
)

// TestGoldenPrompts is the matrix of modes and budgets, to be read by people.
func TestGoldenPrompts(t *testing.T) {
	with := func(m Mode, change func(*Options)) Options {
		o := options(m)
		if change != nil {
			change(&o)
		}
		return o
	}
	small := func(n int) func(*Options) { return func(o *Options) { o.Budget, o.IndexBudget = n, n } }
	rows := []struct {
		file string
		opt  Options
		drop []string
	}{
		{"handoff-only.md", with(HandoffOnly, nil), nil},
		{"handoff-only-1190.md", with(HandoffOnly, small(1190)), []string{"Skills"}},
		{"handoff-only-1000.md", with(HandoffOnly, small(1000)), []string{"Skills", "Output Instructions"}},
		{"handoff-only-300.md", with(HandoffOnly, small(300)), []string{"Skills", "Output Instructions",
			"Previous Handoff", "Retrieved Memory"}},
		{"handoff-only-100.md", with(HandoffOnly, small(100)), []string{"Skills", "Output Instructions",
			"Previous Handoff", "Retrieved Memory", "Failure Context", "Current Task (cut)"}},
		{"index.md", with(HandoffIndex, nil), nil},
		{"index-1200.md", with(HandoffIndex, small(1200)), []string{"Skills", "Output Instructions"}},
		{"index-350.md", with(HandoffIndex, small(350)), []string{"Skills", "Output Instructions", "Previous Handoff",
			"Retrieved Project Memory"}},
		{"orchestrated.md", with(Orchestrated, func(o *Options) {
			o.Prepared = "## Previous Handoff\n\nThe parser is done; login.go is next. Tokens must never be logged."
		}), nil},
		{"orchestrated-fallback.md", with(Orchestrated, nil), nil},
		{"session-two.md", with(HandoffOnly, func(o *Options) {
			o.Session =
				"The test is written and fails. Next: the handler."
		}), nil},
		{"phase-just-left.md", with(HandoffOnly, func(o *Options) { o.PreviousPhase = state.Planning }), nil},
		{"research.md", with(HandoffIndex, func(o *Options) {
			o.Research = []Finding{{"cost of bcrypt",
				"# bcrypt\n\nUse cost 12."}}
		}), nil},
	}
	for _, row := range rows {
		t.Run(row.file, func(t *testing.T) {
			s := project()
			if row.opt.PreviousPhase == "" {
				delete(s.Memory, "phase-planning")
			}
			p := Assemble(s, "T-003", row.opt)
			golden(t, row.file, p.Text)
			if diff := cmp.Diff(row.drop, p.Dropped); diff != "" {
				t.Error(diff)
			}
			shown := []string{"g-1", "g-2"}
			if !strings.Contains(p.Text, "Operator guidance") {
				shown = nil // a dropped section has not been shown
			}
			if diff := cmp.Diff(shown, p.Guidance); diff != "" {
				t.Errorf("guidance: %s", diff)
			}
		})
	}
	golden(t, "system.md", Assemble(project(), "T-003", options(HandoffOnly)).System)
	first := state.State{Plan: plan.Plan{Tasks: []plan.Task{{ID: "T-1", Title: "begin", Status: plan.Pending}}}}
	golden(t, "first-iteration.md", Assemble(first, "T-1", Options{}).Text)
}

// TestGoldenPhases shows the prompts of the other phases.
func TestGoldenPhases(t *testing.T) {
	s := project()
	s.Questions = []state.Question{{ID: "q-1", Text: "Which database?", Answer: "sqlite", Answered: true},
		{ID: "q-2", Text: "Which port?"}}
	specs := []SpecFile{{Path: "specs/login.md", Title: "Login", Criteria: []string{"a wrong password gives 401",
		"the page shows an error"}}}
	for _, phase := range []state.Phase{state.Discovery, state.Planning, state.Validation} {
		o := options(HandoffOnly)
		o.Phase, o.Specs, o.Request, o.Ask = phase, specs, "a login page\nfor our staff", true
		o.Skills, o.Missing = nil, nil
		p := Assemble(s, "", o)
		golden(t, "phase-"+string(phase)+".md", p.Text)
		if p.Dropped != nil {
			t.Errorf("%s: dropped %v", phase, p.Dropped)
		}
		if !strings.Contains(p.System, "Phase "+string(phase)) {
			t.Errorf("%s: the system addition does not say so", phase)
		}
	}
}

// TestGoldenHelpers shows what helper agents read.
func TestGoldenHelpers(t *testing.T) {
	s := project()
	low := *s.Handoff
	low.ConfidenceLevel = "low"
	low.RequestHumanReview = &notes.HumanReview{Needed: true, Reason: "an API key"}
	s.Handoff = &low
	o := HelperOptions{Options: options(Orchestrated), Pass: "review", Verdict: "reject: checks: test",
		Changed: []string{"http/login.go", "parse.go"},
		Why:     "5 iterations since the last time", Stuck: true, Advice: "increase_retries: close",
		Findings: []string{"login.go:3: error swallowed"},
		Outputs:  []Output{{"01-test.txt", "--- FAIL: TestLogin"}}}
	for _, role := range []Role{ContextPrep, ContextPost, Indexer, Reviewer} {
		job := Helper(role, s, "T-003", o)
		golden(t, "helper-"+string(role)+".md", job.Prompt.Text)
		var b strings.Builder
		for _, f := range job.Files {
			fmt.Fprintf(&b, "%s (%s)\n", f.Path, f.Help)
			if len(f.Data) == 0 || !utf8.Valid(f.Data) {
				t.Errorf("%s: %q", f.Path, f.Data)
			}
			if !strings.Contains(job.Prompt.Text, "`"+f.Path+"`") {
				t.Errorf("%s: the manifest does not name %s", role, f.Path)
			}
		}
		golden(t, "helper-files.txt", b.String())
		if !strings.Contains(job.Prompt.System, "file of the project") {
			t.Errorf("%s: the system addition is that of a coding agent", role)
		}
	}
	golden(t, "window-handoff.md", AskHandoff(s, "T-003", options(HandoffOnly), 61))
	golden(t, "handoff-repair.md", RepairPrompt(nil, []byte("{}"), []notes.Problem{{Path: "freeform",
		Message: "is missing"}}))
}

// TestPromptProperties: a prompt stays within its budget. Sections keep their order
// and drop order, the task is last, and the same state gives the same bytes.
func TestPromptProperties(t *testing.T) {
	order := []Name{CurrentTask, FailureContext, RetrievedMemory, PreviousHandoff, ProjectMemory, Skills,
		PreparedContext, OutputInstruction}
	rnd := rand.New(rand.NewPCG(11, 12))
	for i := range 200 {
		s, id := randomState(rnd)
		o := options([]Mode{HandoffOnly, HandoffIndex, Orchestrated, ""}[rnd.IntN(4)])
		o.Phase = []state.Phase{state.Building, state.Planning, state.Validation, state.Discovery, ""}[min(4, rnd.IntN(9))]
		budget := []int{1, 20, 60, 150, 400, 1000, 3000, 8000, 16000}[rnd.IntN(9)]
		o.Budget, o.IndexBudget = budget, budget
		o.BytesPerToken = []float64{0, 4, 3.1, 2.7, 5}[rnd.IntN(5)]
		o.PreviousPhase = state.Planning
		for range rnd.IntN(3) {
			o.Skills = append(o.Skills, Skill{Name: "s", Text: strings.Repeat("skill text\n", rnd.IntN(2000))})
		}
		p := Assemble(s, id, o)
		if p.Tokens > budget || Tokens(len(p.Text), o.BytesPerToken) > budget {
			t.Fatalf("case %d: %d tokens (%d bytes) over a budget of %d", i, p.Tokens, len(p.Text), budget)
		}
		if !utf8.ValidString(p.Text) {
			t.Fatalf("case %d: invalid UTF-8", i)
		}
		var names []Name
		var dropped []string
		for _, sec := range p.Sections {
			names = append(names, sec.Name)
			if sec.Dropped && sec.Name == CurrentTask {
				t.Fatalf("case %d: the task was dropped", i)
			}
			if strings.TrimSpace(sec.Text) == "" && budget > 20 {
				t.Fatalf("case %d: the empty section %s stands there", i, sec.Name)
			}
		}
		if !slices.IsSortedFunc(names, func(a, b Name) int { return slices.Index(order, a) - slices.Index(order, b) }) {
			t.Fatalf("case %d: order of sections %v", i, names)
		}
		// A section is dropped only after all that precede it in the drop order.
		cut := false
		for _, name := range dropOrder() {
			for _, sec := range p.Sections {
				if sec.Name == name {
					if sec.Dropped {
						dropped = append(dropped, string(name))
						if cut {
							t.Fatalf("case %d: %s was dropped although one before it stayed", i, name)
						}
					} else {
						cut = true
					}
				}
			}
		}
		if slices.Contains(p.Dropped, "Current Task (cut)") {
			if cut {
				t.Fatalf("case %d: the task was cut before all others were dropped", i)
			}
			dropped = append(dropped, "Current Task (cut)")
		}
		if !reflect.DeepEqual(dropped, p.Dropped) {
			t.Fatalf("case %d: dropped %v, recorded %v", i, dropped, p.Dropped)
		}
		// No text inside a section can be taken for a section's header.
		var heads, want []string
		for _, sec := range p.Sections {
			if !sec.Dropped {
				want = append(want, "## "+string(sec.Name))
			}
		}
		open := ""
		for _, line := range strings.Split(p.Text, "\n") {
			if mark := fenceOf(line, open); mark != "" && open == "" {
				open = mark
			} else if mark != "" {
				open = ""
			} else if open == "" && (strings.HasPrefix(line, "## ") || strings.HasPrefix(line, "# ")) {
				heads = append(heads, line)
			}
		}
		if budget > 20 && !slices.Contains(p.Dropped, "Current Task (cut)") && !slices.Equal(heads, want) {
			t.Fatalf("case %d: the headings are %q, the sections %q\n%s", i, heads, want, p.Text)
		}
		if again := Assemble(s, id, o); !reflect.DeepEqual(p, again) {
			t.Fatalf("case %d: the same state gave another prompt", i)
		}
	}
}

// TestCutTaskKeepsItsCore: a task too large for the budget keeps id, title and
// criteria as long as these fit.
func TestCutTaskKeepsItsCore(t *testing.T) {
	s := project()
	s.Plan.Tasks[2].Description = strings.Repeat("a very long description of the task. ", 5000)
	for _, budget := range []int{120, 200, 500, 1000, 8000} {
		o := options(HandoffOnly)
		o.Budget = budget
		p := Assemble(s, "T-003", o)
		if p.Tokens > budget {
			t.Fatalf("%d tokens over %d", p.Tokens, budget)
		}
		for _, part := range []string{"T-003", "add the login endpoint", "a wrong password gives 401", "a token lives 24 h"} {
			if !strings.Contains(p.Text, part) {
				t.Errorf("budget %d: %q is gone:\n%s", budget, part, p.Text)
			}
		}
		if budget >= 1000 && (!strings.Contains(p.Text, "was cut") || !strings.Contains(p.Text, "very long description")) {
			t.Errorf("budget %d: the cut is not said", budget)
		}
	}
}

// TestHardConstraintSurvives runs a project of 200 iterations with handoffs,
// harvests and an indexer. A hard constraint of iteration 3 is in the prompt of
// iteration 201 in both index modes, until it is superseded.
func TestHardConstraintSurvives(t *testing.T) {
	const rule = "The public API must never change its field names"
	s := project()
	s.Recent, s.Handoff, s.Knowledge = nil, nil, nil
	rnd := rand.New(rand.NewPCG(5, 6))
	for n := 1; n <= 200; n++ {
		rec := record(n, "T-003", "keep")
		rec.Freeform = fmt.Sprintf("Iteration %d changed module %d. ", n, rnd.IntN(50)) +
			strings.Repeat("More was done than can be told here. ", 20)
		rec.ConstraintsDiscovered = []notes.Constraint{{Constraint: fmt.Sprintf("module %d wants option %d set",
			rnd.IntN(50), n), Impact: "a warning"}}
		if n == 3 {
			rec.ConstraintsDiscovered = []notes.Constraint{{Constraint: rule, Impact: "clients break"}}
		}
		if n%20 == 0 {
			rec.ConstraintsDiscovered = append(rec.ConstraintsDiscovered,
				notes.Constraint{Constraint: fmt.Sprintf("table %d must have an index", n)})
		}
		rec.ArchitecturalNotes = []string{fmt.Sprintf("module %d talks to module %d through a queue of depth %d",
			rnd.IntN(50), rnd.IntN(50), n)}
		all, err := notes.ApplyKnowledge(s.Knowledge, notes.ExtractKnowledge(rec.Handoff, n, "T-003", s.Knowledge))
		if err != nil {
			t.Fatal(err)
		}
		s.Knowledge = all
		if n%5 == 0 {
			// One indexer rewords old decisions. Another one tries to drop the rule
			// by rewording it in place, and is refused completely.
			var old []string
			for _, k := range s.Knowledge {
				if k.Live() && k.Type == notes.KDecision && len(old) < 3 {
					old = append(old, k.ID)
				}
			}
			puts := []notes.Put{{Type: "decision", Slug: fmt.Sprintf("queues-%d", n),
				Text: fmt.Sprintf("modules talk through queues (seen up to %d)", n), Supersedes: old}}
			if s.Knowledge, err = notes.ApplyKnowledge(s.Knowledge, notes.Entries(puts, n, s.Knowledge)); err != nil {
				t.Fatal(err)
			}
			bad := []notes.Put{{Type: "constraint", Slug: notes.Slug(rule), Text: "field names may change with care"}}
			if err := notes.CheckKnowledge(s.Knowledge, notes.Entries(bad, n, s.Knowledge)); err == nil {
				t.Fatal("the rule was reworded in place")
			}
		}
		s.Handoff = &rec
		if s.Recent = append(s.Recent, rec); len(s.Recent) > 5 {
			s.Recent = s.Recent[1:]
		}
		s.Run.Iteration = n
	}
	for _, m := range []Mode{HandoffIndex, Orchestrated} {
		for _, budget := range []int{0, 6000, 3000} {
			o := options(m)
			o.IndexBudget = budget
			p := Assemble(s, "T-003", o)
			if p.Tokens > p.Budget {
				t.Fatalf("%d tokens over %d", p.Tokens, p.Budget)
			}
			if !strings.Contains(p.Text, rule) {
				t.Errorf("%s, budget %d: the rule of iteration 3 is not in the prompt of iteration 201 (dropped %v)", m,
					p.Budget, p.Dropped)
			}
		}
	}
	// A context agent that omits the rule cannot drop it. One that repeats it does
	// not double it.
	for prepared, want := range map[string]int{strings.Repeat("prepared without the rule ", 5): 1,
		strings.Repeat("prepared ", 5) + rule + "\nImpact: clients break": 1} {
		o := options(Orchestrated)
		o.Prepared = prepared
		if got := strings.Count(Assemble(s, "T-003", o).Text, rule); got != want {
			t.Errorf("prepared %.40q: the rule stands there %d times", prepared, got)
		}
	}
	// The context agent of the orchestrated mode gets it too, whole.
	job := Helper(ContextPrep, s, "T-003", HelperOptions{Options: options(Orchestrated)})
	i := slices.IndexFunc(job.Files, func(f File) bool { return f.Path == "knowledge.md" })
	if i < 0 || !strings.Contains(string(job.Files[i].Data), rule) {
		t.Error("the context agent does not see the rule")
	}

	id := notes.KnowledgeID(notes.KConstraint, notes.Slug(rule))
	all, err := notes.ApplyKnowledge(s.Knowledge, []notes.Knowledge{{ID: "K-constraint-api", Type: notes.KConstraint,
		Status: notes.Active, Supersedes: []string{id}, Text: "field names must be versioned"}})
	if err != nil {
		t.Fatal(err)
	}
	s.Knowledge = all
	if p := Assemble(s, "T-003", options(HandoffIndex)); strings.Contains(p.Text, rule) ||
		!strings.Contains(p.Text, "must be versioned") {
		t.Error("a superseded rule is still shown, or its successor is not")
	}
}

// TestReachesTheAgentInEveryMode checks the parts that a prompt has in every mode.
func TestReachesTheAgentInEveryMode(t *testing.T) {
	for _, row := range []struct {
		mode     Mode
		prepared string
	}{{HandoffOnly, ""}, {HandoffIndex, ""}, {Orchestrated, ""}, {Orchestrated, strings.Repeat("prepared ", 20)}} {
		o := options(row.mode)
		o.Prepared = row.prepared
		p := Assemble(project(), "T-003", o)
		for what, part := range map[string]string{
			"goal": "Goal: a login service", "progress": "Iteration 7, 2 of 5 tasks done",
			"guidance":   "prefer the standard library",
			"test first": "Write the failing test", "checks": "go test ./...", "task": "POST /login answers 200",
			"criteria": "a wrong password gives 401",
			"failure":  "got 500, want 401", "a learning": "Use table tests.", "what a person recorded": "Port 80 is taken",
		} {
			if !strings.Contains(p.Text, part) {
				t.Errorf("%s (prepared: %v): no %s", row.mode, row.prepared != "", what)
			}
		}
		for what, part := range map[string]string{"instructions": "Run `just test`.",
			"toolchain": "`pip install` is blocked", "rules": "Git is read-only"} {
			if !strings.Contains(p.System, part) {
				t.Errorf("%s: no %s in the system addition", row.mode, what)
			}
		}
	}
	// A role without its own template uses that of a pass and does not panic.
	o := options(HandoffOnly)
	o.Role = "security"
	if p := Assemble(project(), "T-003", o); !strings.Contains(p.Text, "Review iteration 7") {
		t.Error(p.Text)
	}
}

func BenchmarkAssemble(b *testing.B) {
	s, id := large()
	for _, m := range []Mode{HandoffOnly, HandoffIndex} {
		b.Run(string(m), func(b *testing.B) {
			o := options(m)
			b.ReportAllocs()
			for b.Loop() {
				Assemble(s, id, o)
			}
		})
	}
}
