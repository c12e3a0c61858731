package agentctx

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"git-ralph/gitstate/state"
	"git-ralph/notes"
	"git-ralph/plan"
)

func TestIndexTrigger(t *testing.T) {
	handoff := func(text string) notes.Record {
		rec := record(1, "T-1", "keep")
		rec.Freeform, rec.ArchitecturalNotes, rec.ConstraintsDiscovered = text, nil, nil
		rec.Summary, rec.UnfinishedBusiness, rec.FilesTouched, rec.Recommendations = "", nil, nil, nil
		rec.TaskCompleted.Summary = ""
		return rec
	}
	task := plan.Task{ID: "T-1", Title: "parse login requests quickly"}
	rows := []struct {
		name   string
		task   plan.Task
		recent []notes.Record
		index  state.IndexState
		change func(*TriggerOptions)
		want   string // part of the reason; "" = does not fire
	}{
		{"nothing to do", task, nil, state.IndexState{}, nil, ""},
		{"novelty needs a handoff", task, nil, state.IndexState{Since: 4, Bytes: 32000}, nil, ""},
		{"libraries come first", plan.Task{ID: "T-1", Title: "x", Libraries: []string{"bcrypt"}}, nil,
			state.IndexState{Since: 9, Bytes: 99999}, nil, "names libraries: bcrypt"},
		{"then documentation", plan.Task{ID: "T-1", Title: "x", NeedsDocs: true}, nil, state.IndexState{Since: 9}, nil,
			"needs documentation"},
		{"a new topic", task, []notes.Record{handoff("we painted the walls")}, state.IndexState{Since: 9, Bytes: 99999},
			nil, "new: 0.00 of its terms are in the last 1 handoff"},
		{"a quarter is not below a quarter", task, []notes.Record{handoff("we can PARSE now")}, state.IndexState{}, nil, ""},
		{"below with a higher threshold", task, []notes.Record{handoff("we can parse now")}, state.IndexState{},
			func(o *TriggerOptions) { o.Novelty = 0.3 }, "new: 0.25"},
		{"only the last handoffs count", task, []notes.Record{handoff("parse login requests quickly"), handoff("a"),
			handoff("b"), handoff("c")}, state.IndexState{}, nil, "the last 3 handoffs"},
		{"one of the last is enough", task, []notes.Record{handoff("a"), handoff("parse login requests quickly"),
			handoff("c")}, state.IndexState{}, nil, ""},
		{"words of two letters are no terms", plan.Task{ID: "T-1", Title: "do it"}, []notes.Record{handoff("x")},
			state.IndexState{}, nil, ""},
		{"novelty off", task, []notes.Record{handoff("walls")}, state.IndexState{},
			func(o *TriggerOptions) { o.Novelty = 0 }, ""},
		{"bytes", task, nil, state.IndexState{Bytes: 32001, Since: 9}, nil, "32001 bytes"},
		{"bytes off", task, nil, state.IndexState{Bytes: 32001}, func(o *TriggerOptions) { o.Bytes = 0 }, ""},
		{"interval", task, nil, state.IndexState{Since: 5}, nil, "5 iterations since"},
		{"interval off", task, nil, state.IndexState{Since: 50}, func(o *TriggerOptions) { o.Interval = 0 }, ""},
		{"no such task", plan.Task{ID: "T-2"}, []notes.Record{handoff("x")}, state.IndexState{Since: 5}, nil,
			"5 iterations since"},
	}
	for _, row := range rows {
		s := state.State{Plan: plan.Plan{Tasks: []plan.Task{row.task}}, Recent: row.recent, Run: state.Run{Index: row.index}}
		opt := TriggerOptions{Interval: 5, Bytes: 32000, Novelty: 0.25, Recent: 3}
		if row.change != nil {
			row.change(&opt)
		}
		reason, fire := IndexTrigger(s, "T-1", opt)
		if fire != (row.want != "") || !strings.Contains(reason, row.want) {
			t.Errorf("%s: %v %q, want %q", row.name, fire, reason, row.want)
		}
	}
}

func TestPassTriggers(t *testing.T) {
	rows := []struct {
		trigger   string
		kept      bool
		iteration int
		want      bool
	}{
		{"always", false, 1, true}, {"on_success", true, 1, true}, {"on_success", false, 1, false},
		{"on_failure", true, 1, false}, {"on_failure", false, 1, true},
		{"periodic:5", true, 10, true}, {"periodic:5", false, 11, false}, {"periodic:1", false, 7, true},
	}
	for _, row := range rows {
		tr, err := ParseTrigger(row.trigger)
		if err != nil {
			t.Fatal(err)
		}
		if got := tr.Fires(row.kept, row.iteration); got != row.want {
			t.Errorf("%s after %v, iteration %d: %v", row.trigger, row.kept, row.iteration, got)
		}
	}
	for _, bad := range []string{"", "sometimes", "periodic", "periodic:0", "periodic:-1", "periodic:x"} {
		if _, err := ParseTrigger(bad); err == nil || !strings.Contains(err.Error(), "periodic:N") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if (Trigger{}).Fires(true, 0) {
		t.Error("the zero trigger fires")
	}
}

func TestDirectives(t *testing.T) {
	rows := []struct {
		role Role
		text string
		want string // part of the error; "" = accepted
	}{
		{ContextPrep, `{"action":"proceed"}`, ""},
		{ContextPrep, ` {"action":" Proceed ","extra":1}`, ""},
		{ContextPrep, `{"action":"research","reason":"bcrypt","topics":["cost"]}`, ""},
		{ContextPrep, `{"action":"skip"}`, `action "skip" needs a reason`},
		{ContextPrep, `{"action":"skip_task","reason":"x"}`,
			`unknown action "skip_task": it must be one of proceed, skip, request_human_review, research`},
		{ContextPost, `{"action":"increase_retries","reason":"close"}`, ""},
		{ContextPost, `{"action":"modify_plan","reason":"too large","plan_suggestions":["split"]}`, ""},
		{ContextPost, `{"action":"research","reason":"x"}`,
			"it must be one of proceed, skip_task, modify_plan, request_human_review, increase_retries"},
		{ContextPost, `{}`, "action is missing"},
		{ContextPost, `{"action":3}`, "cannot be read"},
		{ContextPost, ``, "the directive is empty"},
		{ContextPost, `null`, "not a JSON object"},
		{ContextPost, `["proceed"]`, "not a JSON object"},
		{ContextPost, "{\"action\":\"\xff\"}", "not valid UTF-8"},
		{Indexer, `{"knowledge":[{"type":"gotcha","slug":"x","text":"y"}]}`, ""},
		{Indexer, `{"action":"skip","reason":"x"}`, `action "skip" is not for the indexer`},
		{ContextPrep, `{"action":"` + strings.Repeat("x", maxDirective) + `"}`, "at most"},
	}
	for _, row := range rows {
		d, err := ParseDirective(row.role, []byte(row.text))
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s %.60s: %v, want %q", row.role, row.text, err, row.want)
		}
		if err != nil && (d.Action != "" || d.Reason != "") {
			t.Errorf("%.60s: a refused directive left %+v", row.text, d)
		}
	}
	d, err := ParseDirective(ContextPrep,
		[]byte(`{"action":"proceed","prompt":"# Do\nthis","reason":"a\nb","knowledge":[{"type":"gotcha","text":"y"}]}`))
	if err != nil || d.Prompt != "# Do\nthis" || d.Reason != "a b" || len(d.Knowledge) != 1 {
		t.Errorf("%+v %v", d, err)
	}
	d, err = ParseDirective(ContextPrep,
		[]byte(`{"action":"proceed","stuck_detection":{"is_stuck":true,"evidence":"twice the `+
			`same","suggested_action":"split"}}`))
	if err != nil || !d.Stuck || d.Reason != "Stuck: twice the same split" {
		t.Errorf("%+v %v", d, err)
	}
	if err := CheckPrepared(strings.Repeat(" ", 100) + "short"); err == nil ||
		!strings.Contains(err.Error(), "5 bytes, at least 50") {
		t.Errorf("a short prompt: %v", err)
	}
	if err := CheckPrepared(strings.Repeat("x", 50)); err != nil {
		t.Error(err)
	}
}

func FuzzDirective(f *testing.F) {
	f.Add([]byte(`{"action":"proceed","knowledge":[{"source_iterations":[1]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, role := range []Role{ContextPrep, ContextPost, Indexer} {
			if d, err := ParseDirective(role, data); err == nil {
				if err := d.Validate(role); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(d.Reason, "\n") || !utf8.ValidString(d.Reason) {
					t.Fatalf("%q", d.Reason)
				}
			}
		}
	})
}

func TestWindow(t *testing.T) {
	w := Window{Capacity: 200000}
	steps := []struct {
		used, capacity int64
		percent        int
		want           WindowState
	}{
		{0, 0, 0, WindowFine}, {100000, 0, 50, WindowFine}, {119999, 0, 59, WindowFine}, {120000, 0, 60, WindowAsk},
		{159999, 0, 79, WindowAsk}, {160000, 0, 80, WindowHard}, {160000, 1000000, 16, WindowFine}, {0, 0, 16, WindowFine},
	}
	for _, s := range steps {
		w.Observe(s.used, s.capacity)
		if w.Percent() != s.percent || w.State() != s.want {
			t.Errorf("after %d of %d: %d %%, state %d", s.used, s.capacity, w.Percent(), w.State())
		}
	}
	w.Observe(700000, 0)
	w.Reset()
	if w.Used() != 0 || w.State() != WindowFine || w.Peak() != 70 {
		t.Errorf("a fresh session: %d, peak %d", w.Used(), w.Peak())
	}
	if none := (Window{}); none.State() != WindowFine || none.Percent() != 0 {
		t.Error("a client that reports nothing is left alone")
	}
	own := Window{Capacity: 100, Ask: 30, Hard: 40}
	own.Observe(30, 0)
	if own.State() != WindowAsk {
		t.Error("the settings count")
	}
}

func TestLookupSkills(t *testing.T) {
	tree := fstest.MapFS{
		"skills/go.md":                     file("# Go\r\n\r\nwrap"),
		".claude/skills/go.md":             file("first folder wins"),
		".agents/skills/db/SKILL.md":       file("---\nname: db\ndescription: x\n---\n\n# DB\n"),
		"skills/big.md":                    file(strings.Repeat("x", maxSkill+1)),
		"skills/dir.md/x":                  file("x"),
		"skills/nested/deep.md":            file("deep"),
		"secret.md":                        file("outside"),
		".agents/skills/open/SKILL.md":     file("---\nno end"),
		"skills/pipe.md":                   &fstest.MapFile{Mode: os.ModeNamedPipe},
		"skills/under_score.v2.md":         file("dots"),
		".agents/skills/under_score.v2.md": file("dots"),
	}
	folders := []string{".claude/skills", ".agents/skills/", "skills"}
	found, missing, warnings := LookupSkills(tree, folders, []string{"go", "db", "go", " nested/deep ", "open",
		"under_score.v2.md", "", "big", "dir", "pipe", "none", "../secret", "/etc/passwd"})
	want := []Skill{
		{"go", ".claude/skills/go.md", "first folder wins"}, {"db", ".agents/skills/db/SKILL.md", "# DB"},
		{"nested/deep", "skills/nested/deep.md", "deep"}, {"open", ".agents/skills/open/SKILL.md", "---\nno end"},
		{"under_score.v2", ".agents/skills/under_score.v2.md", "dots"},
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"big", "dir", "pipe", "none", "../secret", "/etc/passwd"}, missing); diff != "" {
		t.Error(diff)
	}
	for i, part := range []string{"has 65537 bytes", "not found in", "not found in", "not found in .claude/skills",
		"is not a name", "is not a name"} {
		if !strings.Contains(warnings[i], part) {
			t.Errorf("%q does not say %q", warnings[i], part)
		}
	}
}

func TestExtracts(t *testing.T) {
	rec := record(7, "T-003", "keep")
	rec.TaskCompleted.FullyComplete = true
	rec.BugsEncountered = []notes.Bug{{Description: "fixed", Resolved: true}, {Description: "open bug"}}
	if got, want := L1(rec), "Iteration 7 [T-003] work of iteration 7. Complete. 1 file."; got != want {
		t.Errorf("L1: %q, want %q", got, want)
	}
	rec.Origin.Verdict = "reject"
	none := 0
	counted := rec
	counted.Origin.Files = &none
	if got := L1(counted); !strings.Contains(got, " 0 files.") {
		t.Errorf("%s: the agent's word counts more than the difference", got)
	}
	if got := L1(rec); !strings.Contains(got, "Rejected.") {
		t.Errorf("L1 of a rejected one: %q", got)
	}
	want := `{"task":"T-003","iteration":7,"decisions":["handlers live in http/"],"deviations":["jwt → opaque tokens ` +
		`(no library)"],"constraints":["must not log tokens."],"failed":["open bug"],"unfinished":["rate limit"]}`
	if got := L2(rec); got != want {
		t.Errorf("L2:\n%s, want\n%s", got, want)
	}
	if got := L3(rec); got != "handoffs/000007.json" {
		t.Errorf("L3: %q", got)
	}
	// However large the handoff, the extract stays small and is JSON.
	for range 1000 {
		rec.ArchitecturalNotes = append(rec.ArchitecturalNotes, strings.Repeat("x", 5000))
	}
	if got := L2(rec); len(got) > 20000 || !json.Valid([]byte(got)) {
		t.Errorf("%d bytes", len(got))
	}
}

func TestSystem(t *testing.T) {
	o := options(HandoffOnly)
	o.Instructions = strings.Repeat("é", 20000)
	for i := range 200 {
		o.Toolchain.Blocked = append(o.Toolchain.Blocked, Blocked{Command: strings.Repeat("x", 20),
			Instead: string(rune('a' + i%26))})
	}
	got := System(o)
	if n := utf8.RuneCountInString(got); n > MaxSystem {
		t.Errorf("%d characters", n)
	}
	if n := strings.Count(got, "é"); n > MaxInstructions || n < 1000 {
		t.Errorf("%d characters of the instructions", n)
	}
	if !strings.Contains(got, "cut") {
		t.Error("the cut is not said")
	}
	o = options(HandoffOnly)
	for _, part := range []string{"read-only", "just test", "`pip install` is blocked; use `uv add`",
		"Project instructions (AGENTS.md)", "Run `just test`."} {
		if !strings.Contains(System(o), part) {
			t.Errorf("%q is not said", part)
		}
	}
	o.Sandbox = true
	if !strings.Contains(System(o), "the file system enforces it") {
		t.Error("the boundary is not said")
	}
	if strings.Contains(System(Options{}), "Toolchain") || strings.Contains(System(Options{}), "Project instructions") {
		t.Error("empty parts stand there")
	}
}

func TestBytesPerToken(t *testing.T) {
	if Tokens(0, 4) != 0 || Tokens(1, 4) != 1 || Tokens(8, 0) != 2 || Tokens(9, 4) != 3 {
		t.Error("Tokens rounds up")
	}
}

// A model has its family's tokenizer under every name that a client or a gateway uses for it.
func TestFamilyOf(t *testing.T) {
	for _, r := range []struct{ why, model, driver, want string }{
		{"Claude Code's alias", "opus", "claude", "claude"},
		{"its long name", "claude-sonnet-4-5-20260101", "command", "claude"},
		{"of another provider", "bedrock/us.anthropic.claude-opus-4-5-v1:0", "opencode", "claude"},
		{"the client's own choice", "", "claude", "claude"},
		{"a GPT", "gpt-5.5", "codex", "gpt"},
		{"the client's own choice", "", "codex", "gpt"},
		{"the model counts before the client", "openai/gpt-4o", "claude", "gpt"},
		{"a short name", "openai/o3", "opencode", "gpt"},
		{"no short name", "acme/o3rion", "opencode", ""},
		{"Gemini CLI's alias", "flash-lite", "gemini", "gemini"},
		{"a model in capitals", "Google/Gemini-2.5-Pro", "acp", "gemini"},
		{"its open sister", "ollama/gemma3:27b", "opencode", "gemini"},
		{"a digit behind the word", "qwen3-coder-plus", "command", "qwen"},
		{"a distilled model reads as the small one", "deepseek-r1-distill-llama-70b", "opencode", "llama"},
		{"DeepSeek", "deepseek/deepseek-v3.1", "opencode", "deepseek"},
		{"not a word of the name", "notaclaude", "command", ""},
		{"nobody measured it", "moonshotai/kimi-k2", "opencode", ""},
		{"nothing known", "", "command", ""},
	} {
		if f := FamilyOf(r.model, r.driver); f.Name != r.want || (f.Bytes > 0) != (r.want != "") {
			t.Errorf("%s: %q of %s: %+v, want %q", r.why, r.model, r.driver, f, r.want)
		}
	}
}

// A token budget allows fewer bytes for a family with short tokens. doc/templates.md lists each
// factor.
func TestFamilyFactors(t *testing.T) {
	page, err := os.ReadFile("../doc/templates.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Families() {
		o := options(HandoffOnly)
		o.Budget, o.BytesPerToken = 600, f.Bytes
		p := Assemble(project(), "T-003", o)
		if most := int(600 * f.Bytes); len(p.Text) > most || p.Tokens > 600 || p.BytesPerToken != f.Bytes {
			t.Errorf("%s: %d bytes are %d tokens at %g, at most %d", f.Name, len(p.Text), p.Tokens, p.BytesPerToken, most)
		}
		if row := fmt.Sprintf("| %s | %g | ", f.Name, f.Bytes); !strings.Contains(string(page), row) ||
			!strings.Contains(string(page), f.Source) {
			t.Errorf("doc/templates.md has no row %q with its source %q", row, f.Source)
		}
	}
}

func TestAfterPrep(t *testing.T) {
	good := strings.Repeat("prepared text ", 5)
	say := func(a Action) *Directive { return &Directive{Action: a, Reason: "why"} }
	rows := []struct {
		name   string
		d      *Directive
		prompt string
		failed error
		rounds int
		want   Step
		reason string
	}{
		{"ready", say(Proceed), good, nil, 0, StepPrepared, "why"},
		{"a prompt without a directive is enough", nil, good, nil, 0, StepPrepared, ""},
		{"too short", say(Proceed), "short", nil, 0, StepFallback, "5 bytes, at least 50"},
		{"nothing at all", nil, "", nil, 0, StepFallback, "neither"},
		{"a crash, even with a prompt: it may be half of one", say(Proceed), good, os.ErrDeadlineExceeded, 0,
			StepFallback, "the preparation failed"},
		{"skip", say(Skip), "", nil, 0, StepSkip, "why"},
		{"a person", say(HumanReview), good, nil, 0, StepPause, "why"},
		{"research", say(Research), "", nil, 1, StepResearch, "why"},
		{"research too often, with a prompt", say(Research), good, nil, MaxResearch, StepPrepared, "once too often"},
		{"research too often, without", say(Research), "", nil, MaxResearch, StepFallback, "0 bytes"},
	}
	for _, row := range rows {
		step, reason := AfterPrep(row.d, row.prompt, row.failed, row.rounds)
		if step != row.want || !strings.Contains(reason, row.reason) {
			t.Errorf("%s: %s %q, want %s %q", row.name, step, reason, row.want, row.reason)
		}
	}
}

func TestIndexIsBounded(t *testing.T) {
	s, _ := large()
	full := Index(s.Knowledge, 0)
	if strings.Contains(full, "did not fit") || strings.Count(full, "\n- [") != 505 {
		t.Errorf("the whole index has %d entries", strings.Count(full, "\n- ["))
	}
	for _, limit := range []int{len(full), len(full) - 1, 5000, 500, 200, 100, 1} {
		got := Index(s.Knowledge, limit)
		if len(got) > limit {
			t.Errorf("%d bytes, at most %d", len(got), limit)
		}
		if limit >= 500 && !strings.Contains(got, "[K-constraint-tokens]") {
			t.Errorf("limit %d: the hard constraint is not the first to stay", limit)
		}
	}
	// The order in which entries were added makes no difference.
	mixed := append([]notes.Knowledge{}, s.Knowledge[250:]...)
	mixed = append(mixed, s.Knowledge[:250]...)
	if Index(mixed, 5000) != Index(s.Knowledge, 5000) {
		t.Error("another order of the entries gives another index")
	}
	if Index(nil, 10) != "" {
		t.Error("no entries, no index")
	}
}
