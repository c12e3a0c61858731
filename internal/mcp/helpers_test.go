package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	agentctx "git-ralph/context"
	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// role is a run as the loop would open its tools.
type role struct {
	name  string
	role  session.Role
	phase state.Phase
	ask   bool
	task  bool
}

func roles() []role {
	return []role{
		{"coding", session.RoleCoding, state.Building, false, true},
		{"coding that may ask", session.RoleCoding, state.Building, true, true},
		{"setup without a task", session.RoleCoding, state.Building, false, false},
		{"discovery", session.RoleDiscovery, state.Discovery, true, false},
		{"planning", session.RolePlanning, state.Planning, false, false},
		{"validation", session.RoleValidation, state.Validation, false, false},
		{"context-prep", session.RoleContextPrep, state.Building, false, true},
		{"context-post", session.RoleContextPost, state.Building, false, true},
		{"indexer", session.RoleIndexer, state.Building, false, true},
		{"pass", session.Role("review"), state.Building, false, true},
	}
}

func roleNamed(t testing.TB, name string) role {
	for _, r := range roles() {
		if r.name == name {
			return r
		}
	}
	t.Fatalf("no role %q", name)
	return role{}
}

// scope is a run of the role in a project with four tasks, one of them done.
func scope(r role) session.Scope {
	s := session.Scope{Role: r.role, Phase: r.phase, Iteration: 7, Attempt: 2, EventID: "01k0000000000000000000000e",
		Critic: plan.Critic{TaskTokens: 30000, Agent: true},
		State: state.State{
			Run: state.Run{Phase: r.phase, Status: state.Running, Iteration: 7, Session: 3,
				Cost:    state.Costs{Session: 421100, Total: 1500000},
				Breaker: state.Breaker{State: "closed", Failures: 1}},
			Plan: plan.Plan{Goal: "a login", Tasks: []plan.Task{
				{ID: "T-001", Title: "database", Status: plan.Done, Priority: 1, Criteria: []string{"there is a table"}},
				{ID: "T-002", Title: "login", Status: plan.InProgress, Priority: 1, Criteria: []string{"it logs in"},
					DependsOn: []plan.TaskID{"T-001"}},
				{ID: "T-003", Title: "logout", Status: plan.Pending, Priority: 2, Criteria: []string{"it logs out"}},
				{ID: "T-004", Title: "page", Status: plan.Pending, Priority: 3, Criteria: []string{"it shows"},
					DependsOn: []plan.TaskID{"T-002"}},
			}},
			Knowledge: []notes.Knowledge{{ID: "K-constraint-no-force", Type: notes.KConstraint, Status: notes.Active,
				Source: []int{1}, Text: "Must never force a push."}},
			Questions: []state.Question{{ID: "Q1", Text: "which?", Answered: true}, {ID: "Q2", Text: "when?"}},
		},
		Specs: []agentctx.SpecFile{
			{Path: "specs/login.md", Title: "Login", Criteria: []string{"a user logs in", "  a wrong password is refused  "}},
			{Path: "specs/old/page.md", Title: "Page", Criteria: []string{"the page shows"}},
		}}
	if r.task {
		task := s.State.Plan.Tasks[1]
		s.Task = &task
	}
	if r.ask {
		s.Ask = func(context.Context, state.Question) (string, bool) { return "blue", true }
	}
	return s
}

// box opens the tools of a role without an endpoint.
func box(t testing.TB, name string, change ...func(*session.Scope)) *Box {
	t.Helper()
	s := scope(roleNamed(t, name))
	for _, c := range change {
		c(&s)
	}
	b, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b.(*Box)
}

// call calls a tool that must answer, and gives the answer.
func call(t testing.TB, b session.Toolbox, name, args string) map[string]any {
	t.Helper()
	answer, err := b.Call(t.Context(), name, json.RawMessage(args))
	if err != nil {
		t.Fatalf("%s %s: %v", name, args, err)
	}
	var m map[string]any
	if err := json.Unmarshal(answer, &m); err != nil {
		t.Fatalf("%s answered %q: %v", name, answer, err)
	}
	return m
}

// refused calls a tool that must refuse, and gives the refusal.
func refused(t testing.TB, b session.Toolbox, name, args string) *Refusal {
	t.Helper()
	answer, err := b.Call(t.Context(), name, json.RawMessage(args))
	var r *Refusal
	if !errors.As(err, &r) {
		t.Fatalf("%s %s: answer %s, error %v; want a refusal", name, args, answer, err)
	}
	var m map[string]any
	if json.Unmarshal(answer, &m) != nil || m["error"] != r.Message || m["hint"] != r.Hint || r.Message == "" ||
		r.Hint == "" {
		t.Fatalf("%s: the answer %s is not the refusal %+v with error and hint", name, answer, r)
	}
	return r
}

func wantContains(t testing.TB, what, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%s is %q, want it to contain %q", what, got, w)
		}
	}
}

const goodHandoff = `{"task_completed":{"task_id":"T-002","summary":"login works","fully_complete":true},
"summary":"login works","freeform":"The endpoint checks the password against the table and answers with a token that lives an hour.",
"deviations":[],"bugs_encountered":[],"architectural_notes":[],"unfinished_business":[],"recommendations":[],"files_touched":[],
"plan_amendments":[],"tests_added":[],"constraints_discovered":[]}`

// examples are arguments that each tool accepts in the roles that offer it.
func examples() map[string]string {
	return map[string]string{
		"ralph_get_next_task":         ``,
		"ralph_mark_task_in_progress": `{"task_id":"T-002"}`,
		"ralph_mark_task_complete":    `{"task_id":"T-002","verification_notes":"go test passed"}`,
		"ralph_mark_task_blocked":     `{"task_id":"T-002","reason":"no database here"}`,
		"ralph_append_learning":       `{"learning":"The tests need a socket.","category":"build"}`,
		"ralph_get_plan_summary":      `{}`,
		"ralph_get_state_summary":     `{}`,
		"ralph_add_task": `{"title":"sessions","description":"Keep them in a ` +
			`table.","priority":2,"depends_on":["T-003"],"criteria":["a session ends"],"verify":["go test ` +
			`./..."],"skills":["go"],"estimated_tokens":20000}`,
		"ralph_increment_retry": `{}`,
		"ralph_update_memory":   `{"content":"The server listens on 8080."}`,
		"ralph_submit_handoff":  goodHandoff,
		"ralph_ask_user":        `{"question":"Which colour?","options":["red","blue"]}`,
		"ralph_report_criterion": `{"spec":"specs/login.md","criterion":"a user logs ` +
			`in","verdict":"pass","evidence":{"command":"go test -run TestLogin ./login","expect":"ok"}}`,
		"ralph_put_knowledge": `{"type":"pattern","slug":"table-tests","text":"Tests are ` +
			`tables.","source_iterations":[3],"supersedes":[],"tags":["go"]}`,
		"ralph_submit_prompt": `{"markdown":"## Retrieved Memory\n\nThe server listens on 8080; the table is called ` +
			`users."}`,
		"ralph_submit_directive": `{"action":"proceed","reason":"ready"}`,
	}
}
