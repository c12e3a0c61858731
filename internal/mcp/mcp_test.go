package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// TestToolByRole calls every tool in every role. An offered tool answers its
// example. Another one names its role and records nothing.
func TestToolByRole(t *testing.T) {
	all := []string{"ralph_append_learning", "ralph_get_plan_summary", "ralph_get_state_summary", "ralph_update_memory"}
	task := []string{"ralph_get_next_task", "ralph_mark_task_in_progress", "ralph_mark_task_complete",
		"ralph_mark_task_blocked", "ralph_increment_retry"}
	offered := map[string][]string{
		"coding":               slices.Concat(all, task, []string{"ralph_submit_handoff"}),
		"coding that may ask":  slices.Concat(all, task, []string{"ralph_submit_handoff", "ralph_ask_user"}),
		"setup without a task": slices.Concat(all, task, []string{"ralph_submit_handoff"}), // refused below: there is no task
		"discovery":            slices.Concat(all, []string{"ralph_submit_handoff", "ralph_ask_user"}),
		"planning":             slices.Concat(all, []string{"ralph_submit_handoff", "ralph_add_task"}),
		"validation":           slices.Concat(all, []string{"ralph_submit_handoff", "ralph_report_criterion"}),
		"context-prep": slices.Concat(all, []string{"ralph_put_knowledge", "ralph_submit_prompt",
			"ralph_submit_directive"}),
		"context-post": slices.Concat(all, []string{"ralph_put_knowledge", "ralph_submit_directive"}),
		"indexer":      slices.Concat(all, []string{"ralph_put_knowledge"}),
		"pass":         slices.Concat(all, []string{"ralph_put_knowledge"}),
	}
	for _, r := range roles() {
		for name, args := range examples() {
			t.Run(r.name+"/"+name, func(t *testing.T) {
				b := box(t, r.name)
				listed := slices.ContainsFunc(b.Specs(), func(s session.ToolSpec) bool { return s.Name == name })
				if want := slices.Contains(offered[r.name], name); listed != want {
					t.Fatalf("listed = %v, want %v", listed, want)
				}
				if listed && !(slices.Contains(task, name) && !r.task) {
					call(t, b, name, args)
					return
				}
				before := b.Collected()
				refused(t, b, name, args)
				if d := cmp.Diff(before, b.Collected()); d != "" {
					t.Errorf("a refused call left something:\n%s", d)
				}
			})
		}
	}
	if want := len(allTools()); len(examples()) != want {
		t.Errorf("%d examples for %d tools", len(examples()), want)
	}
}

// TestRoleAndPhaseMustAgree: a role in another role's phase gets the tools of
// neither.
func TestRoleAndPhaseMustAgree(t *testing.T) {
	for _, tt := range []struct {
		role  session.Role
		phase state.Phase
		tool  string
	}{
		{session.RoleCoding, state.Planning, "ralph_mark_task_complete"},
		{session.RoleCoding, state.Planning, "ralph_add_task"},
		{session.RolePlanning, state.Building, "ralph_add_task"},
		{session.RoleValidation, state.Building, "ralph_report_criterion"},
		{session.Role("review"), state.Validation, "ralph_report_criterion"},
	} {
		b := box(t, "coding", func(s *session.Scope) { s.Role, s.Phase = tt.role, tt.phase })
		refused(t, b, tt.tool, examples()[tt.tool])
	}
}

func TestRoleFollowsPhaseWhenUnsaid(t *testing.T) {
	for phase, tool := range map[state.Phase]string{state.Building: "ralph_get_next_task",
		state.Planning:   "ralph_add_task",
		state.Validation: "ralph_report_criterion", state.Discovery: "ralph_submit_handoff"} {
		call(t, box(t, "coding that may ask", func(s *session.Scope) { s.Role, s.Phase = "", phase }), tool, examples()[tool])
	}
}

// TestTwiceIsOnce: a repeated call gets the same answer and records nothing new.
func TestTwiceIsOnce(t *testing.T) {
	for _, r := range roles() {
		for name, args := range examples() {
			b := box(t, r.name)
			first, err := b.Call(t.Context(), name, json.RawMessage(args))
			if err != nil {
				continue // not offered here: TestToolByRole
			}
			got := b.Collected()
			summary := name == "ralph_get_state_summary"
			for range 3 {
				again, err := b.Call(t.Context(), name, json.RawMessage(args))
				if err != nil || !summary && name != "ralph_append_learning" && string(again) != string(first) {
					t.Errorf("%s as %s: first %s, again %s (%v)", name, r.name, first, again, err)
				}
			}
			if d := cmp.Diff(got, b.Collected()); d != "" {
				t.Errorf("%s as %s: repeated calls recorded more:\n%s", name, r.name, d)
			}
		}
	}
}

// TestSchemasAcceptTheExamples: the schemas that clients get are valid JSON Schemas
// of objects and accept what the tools accept.
func TestSchemasAcceptTheExamples(t *testing.T) {
	for _, r := range roles() {
		for _, spec := range box(t, r.name).Specs() {
			var s jsonschema.Schema
			if err := json.Unmarshal(spec.Schema, &s); err != nil {
				t.Fatalf("%s: %v", spec.Name, err)
			}
			if s.Type != "object" || spec.Description == "" {
				t.Errorf("%s: type %q, description %q", spec.Name, s.Type, spec.Description)
			}
			resolved, err := s.Resolve(nil)
			if err != nil {
				t.Fatalf("%s: %v", spec.Name, err)
			}
			args := examples()[spec.Name]
			if args == "" {
				args = "{}"
			}
			var v any
			if err := json.Unmarshal([]byte(args), &v); err != nil {
				t.Fatal(err)
			}
			if err := resolved.Validate(v); err != nil {
				t.Errorf("%s does not take its example: %v", spec.Name, err)
			}
		}
	}
}

func TestUnknownTools(t *testing.T) {
	b := box(t, "coding")
	r := refused(t, b, "rm_rf", `{}`)
	wantContains(t, "error", r.Message, `"rm_rf"`)
	wantContains(t, "hint", r.Hint, "ralph_mark_task_complete")
	r = refused(t, b, "ralph_add_task", `{}`)
	wantContains(t, "error", r.Message, "coding", "building")
	wantContains(t, "hint", r.Hint, "planning phase")
	r = refused(t, b, "ralph_ask_user", `{"question":"x"}`)
	wantContains(t, "error", r.Message, "nobody can be asked")
	r = refused(t, b, strings.Repeat("\x1b[31m", 1000), `{}`)
	if len(r.Message) > 400 || strings.ContainsRune(r.Message, 0x1b) {
		t.Errorf("a hostile name came back as %q", r.Message)
	}
}

// TestArguments: every mistake in arguments is reported, in the words of the
// schema.
func TestArguments(t *testing.T) {
	deep := strings.Repeat(`[`, 20000)
	for _, tt := range []struct {
		tool, args string
		want       []string // "" = taken
		why        string
	}{
		{"ralph_add_task", `[]`, []string{"not a JSON object"}, "an array names nothing"},
		{"ralph_add_task", `{`, []string{"not a JSON object"}, "broken off"},
		{"ralph_add_task", `"x"`, []string{"not a JSON object"}, "a text is not arguments"},
		{"ralph_add_task", "{\"title\":\"\xff\"}", []string{"UTF-8"}, "bytes that would change silently"},
		{"ralph_add_task", `{"title":` + deep, []string{"not a JSON object"}, "nesting must not exhaust the stack"},
		{"ralph_add_task", ``, []string{"title is missing"}, "nothing is an empty object"},
		{"ralph_add_task", `null`, []string{"title is missing"}, "null is an empty object"},
		{"ralph_add_task", `{"title":null,"criteria":["x"]}`, []string{"title is missing"}, "null is not given"},
		{"ralph_add_task", `{"title":"  ","criteria":["x"]}`, []string{"title is missing"}, "blanks say nothing"},
		{"ralph_add_task", `{"title":5,"priority":"high","criteria":"x","colour":"red"}`,
			[]string{"title must be a text", "priority must be a whole number", "criteria must be a list",
				`"colour" is not an argument`}, "all at once"},
		{"ralph_add_task", `{"title":"a","criteria":["x"],"priority":-1}`, []string{"priority is -1, must be from 0"},
			"out of range"},
		{"ralph_add_task", `{"title":"a","criteria":["x"],"priority":1.5}`, []string{"priority must be a whole number"},
			"half a rank"},
		{"ralph_add_task", `{"title":"a","criteria":["x"],"priority":1e400}`,
			[]string{"priority must be a whole number"}, "no number that a machine holds"},
		{"ralph_add_task", `{"title":"a","criteria":["x"],"priority":1e-999999999}`, nil, "zero to a float, and cheap"},
		{"ralph_add_task", `{"title":"a","criteria":["x"],"priority":3.0}`, nil, "whole, however written"},
		{"ralph_add_task", `{"title":"a","criteria":["x"],"priority":"3"}`, nil, "clients print numbers as text"},
		{"ralph_add_task", `{"title":"a","criteria":["x"],"needs_docs":"yes"}`,
			[]string{"needs_docs must be true or false"}, "no guessing"},
		{"ralph_add_task", `{"title":"a","criteria":["x",7]}`, []string{"criteria entry 2 must be a text"}, "named by place"},
		{"ralph_add_task", `{"title":"a","criteria":["x","  "]}`, []string{"criteria entry 2 is empty"},
			"an empty criterion is met by everything"},
		{"ralph_add_task", `{"title":"a","verify":[null]}`, []string{"verify entry 1 must be a text"}, "null is no command"},
		{"ralph_add_task", `{"title":"a","acceptance_criteria":["x"]}`, nil, "the name in other formats"},
		{"ralph_add_task", `{"title":"a","acceptance_criteria":["x"],"criteria":["y"]}`,
			[]string{"criteria is given twice"}, "which one is meant"},
		{"ralph_add_task", `{"title":"` + strings.Repeat("x", 501) + `","criteria":["x"]}`,
			[]string{"title has 501 characters, at most 500"}, "a title is a line"},
		{"ralph_add_task", `{"Title":"a","criteria":["x"]}`, []string{`"Title" is not an argument`, "title is missing"},
			"names have one spelling"},
		{"ralph_add_task", `{"title":"` + strings.Repeat("x", MaxRequest) + `"}`, []string{"at most 1048576"},
			"bounded as a whole"},
	} {
		answer, err := box(t, "planning").Call(t.Context(), tt.tool, json.RawMessage(tt.args))
		if tt.want == nil {
			if err != nil {
				t.Errorf("%.60s (%s): %v", tt.args, tt.why, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%.60s (%s): answered %s", tt.args, tt.why, answer)
			continue
		}
		wantContains(t, tt.why, err.Error(), tt.want...)
	}
}

// TestManyCallersAtOnce is for the race detector; the counts say that nothing
// was lost or doubled.
func TestManyCallersAtOnce(t *testing.T) {
	b := box(t, "planning", func(s *session.Scope) { s.Critic = plan.Critic{Agent: true} })
	const callers, each = 16, 10
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			for i := range each {
				// Two callers ask for each task.
				b.Call(context.Background(), "ralph_add_task", json.RawMessage(
					fmt.Sprintf(`{"title":"task %d-%d","criteria":["x"]}`, c/2, i)))
				b.Call(context.Background(), "ralph_update_memory", json.RawMessage(fmt.Sprintf(`{"content":"note %d"}`, i)))
				b.Call(context.Background(), "ralph_get_plan_summary", nil)
				b.Collected()
				b.Open()
			}
		})
	}
	wg.Wait()
	got := b.Collected()
	if len(got.Tasks) != callers/2*each || len(got.Memory) != each || b.Open() != 0 {
		t.Errorf("%d tasks, %d notes, %d open; want %d, %d, 0", len(got.Tasks), len(got.Memory), b.Open(),
			callers/2*each, each)
	}
	ids := map[string]bool{}
	for _, task := range got.Tasks {
		ids[string(task.ID)] = true
	}
	if len(ids) != len(got.Tasks) {
		t.Errorf("%d ids for %d tasks", len(ids), len(got.Tasks))
	}
}

func TestClosed(t *testing.T) {
	b := box(t, "coding")
	call(t, b, "ralph_append_learning", examples()["ralph_append_learning"])
	for range 2 {
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	wantContains(t, "error", refused(t, b, "ralph_update_memory", `{"content":"late"}`).Message, "ended")
	if got := b.Collected(); len(got.Learnings) != 1 || got.Memory != nil {
		t.Errorf("after the end: %+v", got)
	}
}

// TestWhatIsRecordedIsClean: recorded text has no terminal sequence, invisible
// character, secret or invalid byte.
func TestWhatIsRecordedIsClean(t *testing.T) {
	const dirty = `gh\u200bp_0123456789abcdefghijABCDEFGHIJ012345 a\u001b[31mb\u202ec\u0000 ` +
		`ghp_0123456789abcdefghijABCDEFGHIJ012345`
	runs := map[string]*Box{}
	for _, r := range roles() {
		runs[r.name] = box(t, r.name)
	}
	call(t, runs["coding"], "ralph_mark_task_complete", `{"task_id":"T-002","verification_notes":"`+dirty+`"}`)
	call(t, runs["coding"], "ralph_append_learning", `{"learning":"`+dirty+`","category":"build"}`)
	call(t, runs["coding"], "ralph_update_memory", `{"content":"`+dirty+`"}`)
	call(t, runs["coding"], "ralph_increment_retry", `{"reason":"`+dirty+`"}`)
	call(t, runs["coding that may ask"], "ralph_mark_task_blocked", `{"task_id":"T-002","reason":"`+dirty+`"}`)
	call(t, runs["planning"], "ralph_add_task", `{"title":"`+dirty+`","description":"`+dirty+`","criteria":["`+dirty+
		`"],"skills":["`+dirty+`"],"notes":"`+dirty+`","spec":"`+dirty+`"}`)
	call(t, runs["validation"], "ralph_report_criterion",
		`{"spec":"specs/login.md","criterion":"a user logs in","verdict":"fail","evidence":"`+dirty+`"}`)
	call(t, runs["indexer"], "ralph_put_knowledge", `{"type":"gotcha","text":"`+dirty+`"}`)
	call(t, runs["context-prep"], "ralph_submit_prompt", `{"markdown":"`+strings.Repeat("what matters ", 5)+dirty+`"}`)
	for name, b := range runs {
		got, err := json.Marshal(b.Collected())
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{`\u001b`, "[31m", "\u202e", `\u202e`, `\u0000`, "ghp_"} {
			if strings.Contains(string(got), bad) {
				t.Errorf("%s recorded %q in %s", name, bad, got)
			}
		}
		if !strings.Contains(string(got), notes.Redacted) && name != "discovery" && name != "pass" &&
			name != "context-post" && name != "setup without a task" {
			t.Errorf("%s recorded nothing of it: %s", name, got)
		}
	}
}
