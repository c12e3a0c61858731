package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/notes"
)

func TestAskUser(t *testing.T) {
	var asked atomic.Int32
	var seen state.Question
	b := box(t, "discovery", func(s *session.Scope) {
		s.MaxQuestions = 2
		s.Ask = func(_ context.Context, q state.Question) (string, bool) {
			seen = q
			if asked.Add(1) == 2 {
				return "", false
			}
			return "blue", true
		}
	})
	for range 2 { // a repeated question is asked once
		got := call(t, b, "ralph_ask_user", `{"question":" Which\u0000 colour? ","options":["red"," blue "]}`)
		if got["answer"] != "blue" || got["answered"] != true {
			t.Errorf("got %v", got)
		}
	}
	if d := cmp.Diff(state.Question{Text: "Which colour?", Options: []string{"red", "blue"}, Iteration: 7},
		seen); d != "" {
		t.Error(d)
	}
	if got := call(t, b, "ralph_ask_user", `{"question":"Which size?"}`); got["answered"] != false ||
		got["answer"] != nil || got["note"] == "" {
		t.Errorf("nobody there: %v", got)
	}
	wantContains(t, "limit", refused(t, b, "ralph_ask_user", `{"question":"And the shape?"}`).Message, "2 questions")
	call(t, b, "ralph_ask_user", `{"question":"Which size?"}`) // not a third one
	refused(t, b, "ralph_ask_user", `{"question":"\u202e"}`)
	if got := b.Collected().Asked; got != 2 || asked.Load() != 2 {
		t.Errorf("asked %d, the person %d times; want 2, 2", got, asked.Load())
	}
}

// TestAskUserSurvivesAnImpatientClient: when a client gives up a call, the user can
// still answer. The next call gets that answer. Other tools work meanwhile.
func TestAskUserSurvivesAnImpatientClient(t *testing.T) {
	asked, answer := make(chan struct{}), make(chan string)
	b := box(t, "discovery", func(s *session.Scope) {
		s.Ask = func(ctx context.Context, _ state.Question) (string, bool) {
			close(asked) // panics when it is asked twice
			select {
			case a := <-answer:
				return a, true
			case <-ctx.Done():
				return "", false
			}
		}
	})
	ctx, giveUp := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := b.Call(ctx, "ralph_ask_user", json.RawMessage(`{"question":"Which?"}`))
		done <- err
	}()
	<-asked
	call(t, b, "ralph_update_memory", `{"content":"while waiting"}`)
	if b.Open() != 1 {
		t.Errorf("%d open calls, want the waiting one", b.Open())
	}
	giveUp()
	if err := <-done; err == nil {
		t.Error("a call that was given up answered")
	}
	go func() { answer <- "that" }()
	if got := call(t, b, "ralph_ask_user", `{"question":"Which?"}`); got["answer"] != "that" {
		t.Errorf("got %v", got)
	}
}

// TestCloseEndsQuestions: the end of a run does not wait for an answer.
func TestCloseEndsQuestions(t *testing.T) {
	asked := make(chan struct{})
	b := box(t, "discovery", func(s *session.Scope) {
		s.Ask = func(ctx context.Context, _ state.Question) (string, bool) {
			close(asked)
			<-ctx.Done()
			return "", false
		}
	})
	done := make(chan error)
	go func() {
		_, err := b.Call(context.Background(), "ralph_ask_user", json.RawMessage(`{"question":"Which?"}`))
		done <- err
	}()
	<-asked
	b.Close()
	<-done // either answer will do: refused, or nobody can answer
	refused(t, b, "ralph_ask_user", `{"question":"Another?"}`)
}

// TestEvidence: evidence is found in every form in which a report gives it.
func TestEvidence(t *testing.T) {
	for _, tt := range []struct {
		args string
		want session.CriterionReport // empty = refused
		why  string
	}{
		{`"evidence":{"command":"go test ./login","expect":"ok"}`, session.CriterionReport{Command: "go test ./login",
			Expect: "ok"}, "an object"},
		{`"command":"go test ./login","evidence":"it was green"`, session.CriterionReport{Command: "go test ./login",
			Evidence: "it was green"}, "fields"},
		{`"evidence":{"path":"a.go","text":"func A()"},"command":"go vet"`,
			session.CriterionReport{File: "a.go", Quote: "func A()", Command: "go vet"}, "both, and other names"},
		{`"evidence":{"evidence":"seen","file":"a.go","quote":"func A()"}`,
			session.CriterionReport{File: "a.go", Quote: "func A()", Evidence: "seen"}, "words inside the object"},
		{`"evidence":"{command: x}"`, session.CriterionReport{Evidence: "{command: x}"},
			"a text is words, whatever it looks like"},
		{`"evidence":{}`, session.CriterionReport{}, "an empty object"},
		{`"evidence":{"file":"a.go"}`, session.CriterionReport{}, "a file without a quotation"},
		{`"evidence":"x","quote":"func A()"`, session.CriterionReport{}, "a quotation without a file"},
		{`"evidence":{"expect":"ok"}`, session.CriterionReport{}, "an output without its command"},
		{`"evidence":{"command":"x"},"command":"y"`, session.CriterionReport{}, "twice"},
		{`"evidence":{"spec":"specs/old/page.md"}`, session.CriterionReport{}, "no part of the evidence"},
		{`"evidence":["x"]`, session.CriterionReport{}, "a list"},
		{`"evidence":{"command":5}`, session.CriterionReport{}, "a number"},
		{`"command":"echo \u202e x"`, session.CriterionReport{}, "a command with characters that are not shown"},
	} {
		b := box(t, "validation")
		args := `{"spec":"specs/login.md","criterion":"a user logs in","verdict":"pass",` + tt.args + `}`
		if tt.want == (session.CriterionReport{}) {
			refused(t, b, "ralph_report_criterion", args)
			continue
		}
		got := call(t, b, "ralph_report_criterion", args)
		tt.want.Spec, tt.want.Criterion, tt.want.Verdict = "specs/login.md", "a user logs in", "pass"
		if d := cmp.Diff([]session.CriterionReport{tt.want}, b.Collected().Criteria); d != "" {
			t.Errorf("%s: %s", tt.why, d)
		}
		if note, _ := got["note"].(string); (note == "") != tt.want.Checkable() {
			t.Errorf("%s: the note is %q", tt.why, note)
		}
	}
}

// TestCriteria: matched by the checklist's text, fail wins, pass needs evidence.
func TestCriteria(t *testing.T) {
	b := box(t, "validation")
	for _, tt := range []struct {
		spec, criterion, verdict, evidence string
		want                               string // verdict that counts, "" = refused
		why                                string
	}{
		{"specs/login.md", "a wrong password is refused", "pass", "seen", "pass", "blanks around it do not count"},
		{"specs/login.md", "  a wrong password is refused ", "fail", "not seen", "fail", "fail wins over an earlier pass"},
		{"specs/login.md", "a wrong password is refused", "pass", "seen again", "fail", "fail wins over a later pass"},
		{"specs/login.md", "- [ ] a user logs in", "PASS", "seen", "pass", "with the mark of the checklist"},
		{"./specs/login.md", "a user logs in", "pass", "seen", "pass", "the same path"},
		{"page.md", "the page shows", "fail", "", "fail", "by its name; a failure needs no evidence"},
		{"specs/login.md", "A user logs in", "pass", "seen", "", "other words are another criterion"},
		{"specs/login.md", "the page shows", "pass", "seen", "", "of another spec"},
		{"specs/none.md", "a user logs in", "pass", "seen", "", "no such spec"},
		{"specs/login.md", "a user logs in", "pass", "  ", "", "pass without evidence"},
		{"specs/login.md", "a user logs in", "maybe", "seen", "", "no such verdict"},
	} {
		args, _ := json.Marshal(map[string]string{"spec": tt.spec, "criterion": tt.criterion, "verdict": tt.verdict,
			"evidence": tt.evidence})
		if tt.want == "" {
			refused(t, b, "ralph_report_criterion", string(args))
		} else if got := call(t, b, "ralph_report_criterion", string(args)); got["verdict"] != tt.want {
			t.Errorf("%s: %v", tt.why, got)
		}
	}
	want := []session.CriterionReport{
		{Spec: "specs/login.md", Criterion: "a wrong password is refused", Verdict: "fail", Evidence: "not seen"},
		{Spec: "specs/login.md", Criterion: "a user logs in", Verdict: "pass", Evidence: "seen"},
		{Spec: "specs/old/page.md", Criterion: "the page shows", Verdict: "fail"},
	}
	if d := cmp.Diff(want, b.Collected().Criteria); d != "" {
		t.Error(d)
	}
	r := refused(t, b, "ralph_report_criterion",
		`{"spec":"specs/login.md","criterion":"other","verdict":"pass","evidence":"x"}`)
	if d := cmp.Diff([]string{"a user logs in", "a wrong password is refused"}, r.Criteria); d != "" {
		t.Error(d)
	}
	wantContains(t, "hint", refused(t, b, "ralph_report_criterion",
		`{"spec":"x","criterion":"other","verdict":"pass"}`).Hint, "specs/login.md, specs/old/page.md")
	bare := box(t, "validation", func(s *session.Scope) { s.Specs = nil })
	refused(t, bare, "ralph_report_criterion", examples()["ralph_report_criterion"])
}

// TestKnowledge: each call obeys the rules of the memory, as all calls together
// will.
func TestKnowledge(t *testing.T) {
	b := box(t, "indexer")
	for _, tt := range []struct {
		args string
		want string // id, or part of the refusal
		ok   bool
		why  string
	}{
		{`{"type":"decision","slug":"Use TOML","text":"Settings are TOML."}`, "K-decision-use-toml", true,
			"a slug is made of it"},
		{`{"type":"decision","text":"Money is integer."}`, "K-decision-money-is-integer", true, "a slug is made of the text"},
		{`{"type":"decision","slug":"use-toml","text":"Settings are JSON."}`, "exists with another text", false,
			"nothing is reworded in place"},
		{`{"type":"decision","slug":"use-json","text":"Settings are JSON.","supersedes":["K-decision-use-toml"]}`,
			"K-decision-use-json", true, "superseding is how"},
		{`{"type":"constraint","slug":"no-force","text":"Force when needed."}`, "exists with another text", false,
			"a hard constraint stays"},
		{`{"type":"constraint","slug":"force","text":"Must never force but once.","supersedes":["K-constraint-no-force"]}`,
			"K-constraint-force", true, "but by its id"},
		{`{"type":"pattern","slug":"x","text":"X.","supersedes":["K-pattern-none"]}`, "does not exist", false,
			"nothing to supersede"},
		{`{"type":"rumour","slug":"x","text":"X."}`, "must be one of", false, "no such type"},
		{`{"type":"pattern","slug":"x","text":"X.","source_iterations":[0]}`, "entry 1 is 0", false,
			"iterations count from 1"},
	} {
		before := b.Collected().Knowledge
		if tt.ok {
			if got := call(t, b, "ralph_put_knowledge", tt.args); got["id"] != tt.want {
				t.Errorf("%s: %v", tt.why, got)
			}
			continue
		}
		wantContains(t, tt.why, refused(t, b, "ralph_put_knowledge", tt.args).Message, tt.want)
		if d := cmp.Diff(before, b.Collected().Knowledge); d != "" {
			t.Errorf("%s: a refused entry changed something:\n%s", tt.why, d)
		}
	}
	got := b.Collected().Knowledge
	if len(got) != 4 || got[0].Source[0] != 7 {
		t.Errorf("collected %+v", got)
	}
	if err := notes.CheckKnowledge(b.scope.State.Knowledge, got); err != nil {
		t.Errorf("what was collected breaks the rules: %v", err)
	}
}

func TestPromptAndDirective(t *testing.T) {
	b := box(t, "context-prep")
	refused(t, b, "ralph_submit_prompt", `{"markdown":"too short"}`)
	call(t, b, "ralph_submit_prompt", examples()["ralph_submit_prompt"])
	last := strings.Repeat("what matters ", 10)
	call(t, b, "ralph_submit_prompt", `{"markdown":"`+last+`"}`)
	if got := b.Collected().Prompt; got != strings.TrimSpace(last) {
		t.Errorf("prompt %q, want the last one", got)
	}
	wantContains(t, "prep", refused(t, b, "ralph_submit_directive", `{"action":"skip_task","reason":"x"}`).Message,
		"proceed, skip, request_human_review, research")
	wantContains(t, "reason", refused(t, b, "ralph_submit_directive", `{"action":"skip"}`).Message, "needs a reason")
	call(t, b, "ralph_submit_directive", `{"action":"research","reason":"kong","topics":["kong"]}`)
	if got := string(b.Collected().Directive); got != `{"action":"research","reason":"kong","topics":["kong"]}` {
		t.Errorf("directive %q", got)
	}
	post := box(t, "context-post")
	refused(t, post, "ralph_submit_directive", `{"action":"research","reason":"x"}`)
	call(t, post, "ralph_submit_directive", `{"directive":{"action":"skip_task","reason":"x"}}`)
	if got := string(post.Collected().Directive); got != `{"action":"skip_task","reason":"x"}` {
		t.Errorf("directive %q", got)
	}
}
