package loop

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	agentctx "git-ralph/context"
	"git-ralph/gitstate"
	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

func TestRemaining(t *testing.T) {
	cost := int64(300_000)
	l := &Loop{Settings: Settings{IterationMicroUSD: 1_000_000}}
	runs := []state.AgentRun{
		{Role: "indexer", CostMicro: &cost, DurationMs: 50_000, Turns: 9},
		{Role: "coding", CostMicro: &cost, DurationMs: 60_000, Turns: 4},
	}
	req := session.Request{Timeout: 2 * time.Minute, MaxTurns: 6}
	l.remaining(runs, 0, session.RoleCoding, &req)
	if req.Timeout != time.Minute || req.MaxTurns != 2 || req.MaxCostMicroUSD != 400_000 {
		t.Errorf("%s, %d turns, %d", req.Timeout, req.MaxTurns, req.MaxCostMicroUSD)
	}
	long := state.AgentRun{Role: "coding", CostMicro: &cost, DurationMs: 600_000, Turns: 40}
	runs = append(runs, long, long)
	req = session.Request{Timeout: 2 * time.Minute, MaxTurns: 6}
	l.remaining(runs, 0, session.RoleCoding, &req)
	if req.Timeout != time.Second || req.MaxTurns != 1 || req.MaxCostMicroUSD != 1 {
		t.Errorf("nothing left must not mean no limit: %s, %d turns, %d", req.Timeout, req.MaxTurns, req.MaxCostMicroUSD)
	}
}

func TestWhatAnAgentSaidLast(t *testing.T) {
	w := &finalText{}
	for _, e := range []session.AgentEvent{{Kind: session.EventText, Text: "let me look"},
		{Kind: session.EventToolCall, Tool: "Read"},
		{Kind: session.EventText, Text: "a.go:1: lost error"}, {Kind: session.EventText, Text: "b.go:2: no test"}} {
		w.hear(e)
	}
	if got := w.text(); got != "a.go:1: lost error\nb.go:2: no test" {
		t.Errorf("%q", got)
	}
	transcript := `{"type":"usage","input_tokens":1}
{"type":"output","text":"out.txt:1: wrong"}
{"type":"output","stream":"stderr","text":"noise"}
not json
`
	if got := printed([]byte(transcript)); got != "out.txt:1: wrong" {
		t.Errorf("%q", got)
	}
	if got := printed([]byte(strings.Repeat(`{"type":"output","text":"0123456789"}`+"\n", 5000))); len(got) > maxWords ||
		!strings.HasPrefix(got, "0123456789") {
		t.Errorf("%d bytes, beginning %.20q", len(got), got)
	}
}

func FuzzPrinted(f *testing.F) {
	f.Add([]byte(`{"type":"output","text":"x"}`))
	f.Add([]byte("{\"type\":\"output\",\"text\":\"\\u0000\x1b[31m\"}\n\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if got := printed(data); !utf8.ValidString(got) || len(got) > maxWords+64 {
			t.Errorf("%d bytes, %q", len(got), got)
		}
	})
}

// The manifest's files are read-only.
func TestLayOut(t *testing.T) {
	dir := t.TempDir()
	files := []agentctx.File{{Path: "task.md", Data: []byte("x\n")}, {Path: "handoffs/000003.json", Data: []byte("{}\n")}}
	at, err := layOut(dir, files)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := filepath.Join(at, filepath.FromSlash(f.Path))
		if data, err := os.ReadFile(name); err != nil || string(data) != string(f.Data) {
			t.Errorf("%s: %q, %v", f.Path, data, err)
		}
		if st, err := os.Stat(name); err != nil || st.Mode().Perm()&0o222 != 0 {
			t.Errorf("%s can be written: %v, %v", f.Path, st.Mode(), err)
		}
	}
	removeRunDir(dir)
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("it stays: %v", err)
	}
	for _, bad := range []string{"../x", "/etc/x", ""} {
		if _, err := layOut(t.TempDir(), []agentctx.File{{Path: bad}}); err == nil {
			t.Errorf("%q was taken for a path", bad)
		}
	}
}

// TestLook: instructions and skills are read inside of the worktree only.
func TestLook(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.md")
	if err := os.WriteFile(outside, []byte("the user's secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := func(to string) func(dir string) error {
		return func(dir string) error { return os.Symlink(to, filepath.Join(dir, "AGENTS.md")) }
	}
	rows := []struct {
		why   string
		files map[string]string
		make  func(dir string) error
		file  string
		text  string
	}{
		{"AGENTS.md first", map[string]string{"AGENTS.md": "a", "CLAUDE.md": "c"}, nil, "AGENTS.md", "a"},
		{"else CLAUDE.md", map[string]string{"CLAUDE.md": "c", "GEMINI.md": "g"}, nil, "CLAUDE.md", "c"},
		{"else GEMINI.md", map[string]string{"GEMINI.md": "g"}, nil, "GEMINI.md", "g"},
		{"none", nil, nil, "", ""},
		{"a link inside is followed", map[string]string{"CLAUDE.md": "c"}, link("CLAUDE.md"), "AGENTS.md", "c"},
		{"a link that leads out is not: an agent may have made it", nil, link(outside), "", ""},
		{"a folder is no file", map[string]string{"AGENTS.md/x": "x", "GEMINI.md": "g"}, nil, "GEMINI.md", "g"},
	}
	for _, r := range rows {
		l := lab(t, r.files)
		if r.make != nil {
			if err := r.make(l.Repo.Root); err != nil {
				t.Fatal(err)
			}
		}
		if s := l.readSurroundings(nil); s.file != r.file || s.instructions != r.text {
			t.Errorf("%s: %s %q", r.why, s.file, s.instructions)
		}
	}
	l := lab(t, map[string]string{"skills/a.md": "A", ".claude/skills/b/SKILL.md": "---\nname: b\n---\nB"})
	var warned []string
	l.Log = func(format string, args ...any) { warned = append(warned, fmt.Sprintf(format, args...)) }
	for range 3 {
		s := l.readSurroundings([]string{"a", "b", "c"})
		if len(s.skills) != 2 || s.skills[0].Text != "A" || s.skills[1].Text != "B" || len(s.missing) != 1 ||
			s.missing[0] != "c" {
			t.Errorf("%+v", s)
		}
	}
	if len(warned) != 1 || !strings.Contains(warned[0], `"c"`) {
		t.Errorf("a missing skill is named once: %q", warned)
	}
}

func TestSessionMemory(t *testing.T) {
	at := time.Date(2026, 5, 6, 7, 0, 0, 0, time.UTC)
	later := at.Add(time.Hour)
	s := state.State{Run: state.Run{Phase: state.Building, Session: 2, Iteration: 7, StartedAt: at, LastAt: later,
		SessionIterations: 3, LastTask: "T-2"},
		Plan: plan.Plan{Tasks: []plan.Task{
			{ID: "T-0", Title: "of the session before", Status: plan.Done, CompletedAt: ptr(at.Add(-time.Hour))},
			{ID: "T-1", Title: "one", Status: plan.Done, CompletedAt: &later},
			{ID: "T-2", Title: "two", Status: plan.Pending, Partial: 1, Attempts: 2},
			{ID: "T-3", Title: "three", Status: plan.Blocked, BlockedBy: []string{"no key"}}}},
		Handoff: &notes.Record{Handoff: notes.Handoff{Summary: "half", ArchitecturalNotes: []string{"handlers are small"},
			Recommendations: []string{"look at limit.go"}},
			Origin: notes.Origin{Task: "T-2"}}}
	text := state.SessionMemory(s, []string{"b.go", "go.mod"}, []string{"the port is 8081"}, "")
	for _, want := range []string{"- [x] T-1 one\n",
		"Task: T-2 two\nProgress: Unfinished steps kept: 1. Attempts rejected: 2. half\n", "- handlers are small\n",
		"- b.go\n- go.mod\n",
		"- T-3 three is blocked: no key\n", "- look at limit.go\n", "- go.mod changed in iteration 7\n", "- Session: 2\n",
		"- Iteration 7: the port is 8081\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "session before") {
		t.Errorf("a task of another session:\n%s", text)
	}
	// What the state no longer has comes from the text before, once.
	s.Memory = map[string]string{"session": text}
	s.Run.Iteration, s.Handoff = 8, nil
	next := state.SessionMemory(s, []string{"a.go", "b.go"}, []string{"and the host is local"}, "complete")
	for _, want := range []string{"- a.go\n- b.go\n- go.mod\n", "- handlers are small\n",
		"- Iteration 7: the port is 8081\n- Iteration 8: and the host is local\n", "- Ended: complete\n"} {
		if !strings.Contains(next, want) {
			t.Errorf("it lacks %q:\n%s", want, next)
		}
	}
	// A new session starts with nothing.
	s.Memory["session"], s.Run.Session = next, 3
	if fresh := state.SessionMemory(s, nil, nil, ""); strings.Contains(fresh, "8081") || strings.Contains(fresh, "a.go") {
		t.Errorf("the session before is in it:\n%s", fresh)
	}
	// It fits into active memory whatever the input.
	s.Run.Session = 2
	for i := range 60 {
		s.Run.Iteration = 9 + i
		s.Handoff = &notes.Record{Handoff: notes.Handoff{ArchitecturalNotes: []string{strings.Repeat("d", 3000) +
			fmt.Sprint(i)}}}
		s.Memory["session"] = state.SessionMemory(s, []string{strings.Repeat("f", 900) + fmt.Sprint(i)},
			[]string{strings.Repeat("n", 1900) + fmt.Sprint(i)}, "")
	}
	if n := utf8.RuneCountInString(s.Memory["session"]); n > 10500 {
		t.Errorf("%d characters", n)
	}
	// Two notes of the largest size are in the next prompt, whatever else is.
	active := agentctx.ActiveMemory(s, agentctx.Options{})
	for _, note := range []string{"n58\n", "n59"} {
		if !strings.Contains(s.Memory["session"], note) || !strings.Contains(active, note) {
			t.Errorf("the note %s is lost:\n%s", note, active)
		}
	}
	s.Handoff = &notes.Record{Origin: notes.Origin{Source: "harness"}, Handoff: notes.Synthesize(notes.SynthInput{})}
	if text := state.SessionMemory(s, nil, nil, ""); strings.Contains(text, "Notes for Next Session") {
		t.Errorf("the harness quotes itself:\n%s", text)
	}
}

// lab is a loop that only reads a worktree.
func lab(t *testing.T, files map[string]string) *Loop {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &Loop{Host: session.Host{Repo: &gitstate.Repo{Root: dir}, Log: t.Logf},
		Settings: Settings{Skills: []string{".claude/skills",
			".agents/skills", "skills"}}}
}

func ptr[T any](v T) *T { return &v }
