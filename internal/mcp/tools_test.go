package mcp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

func TestNextTaskIsThatOfTheIteration(t *testing.T) {
	b := box(t, "coding", func(s *session.Scope) { s.Task.Failure = "checks: test" })
	got := call(t, b, "ralph_get_next_task", `{}`)
	task := got["task"].(map[string]any)
	if task["id"] != "T-002" || task["status"] != "in_progress" || got["attempt"] != 2.0 || got["iteration"] != 7.0 ||
		got["failure"] != "checks: test" {
		t.Errorf("got %v", got)
	}
	wantContains(t, "error", refused(t, box(t, "setup without a task"), "ralph_get_next_task", `{}`).Message, "no task")
}

// TestCompleteSaysHowThePlanWouldStand: the answer counts the task as done, but the
// claim does not change the plan.
func TestCompleteSaysHowThePlanWouldStand(t *testing.T) {
	b := box(t, "coding")
	got := call(t, b, "ralph_mark_task_complete", `{"task_id":"t-002"}`)
	want := map[string]any{"task_id": "T-002", "completion_percentage": 50.0, "remaining_tasks": 2.0}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if sum := call(t, b, "ralph_get_plan_summary", `{}`); sum["completion_percentage"] != 25.0 ||
		sum["current_task"] != "T-002" {
		t.Errorf("the claim changed the plan: %v", sum)
	}
	if b.scope.State.Plan.Tasks[1].Status != plan.InProgress {
		t.Error("the claim reached the state")
	}
	call(t, b, "ralph_mark_task_complete", `{"task_id":"T-002","verification_notes":"seen"}`)
	if c := b.Collected().Complete; c == nil || *c != (session.Claim{TaskID: "T-002", Text: "seen"}) {
		t.Errorf("collected %+v", c)
	}
}

// TestOneTaskOnly: an agent that reports another task, done or not, is refused.
func TestOneTaskOnly(t *testing.T) {
	for _, tool := range []string{"ralph_mark_task_complete", "ralph_mark_task_in_progress", "ralph_mark_task_blocked",
		"ralph_increment_retry"} {
		for _, id := range []string{"T-003", "T-001", "T-999", "T-0022", " T-003", "*"} {
			b := box(t, "coding")
			args := fmt.Sprintf(`{"task_id":%q,"reason":"x"}`, id)
			if tool == "ralph_mark_task_complete" || tool == "ralph_mark_task_in_progress" {
				args = fmt.Sprintf(`{"task_id":%q}`, id)
			}
			r := refused(t, b, tool, args)
			wantContains(t, "error", r.Message, "not the task of this iteration")
			wantContains(t, "hint", r.Hint, "T-002")
			if d := cmp.Diff(session.Collected{}, b.Collected()); d != "" {
				t.Errorf("%s %s left:\n%s", tool, id, d)
			}
		}
	}
}

// TestGivingUp: giving up withdraws a claim, and an ended attempt stays ended.
func TestGivingUp(t *testing.T) {
	const complete, blocked, retry = "ralph_mark_task_complete", "ralph_mark_task_blocked", "ralph_increment_retry"
	args := map[string]string{complete: `{"task_id":"T-002"}`, blocked: `{"task_id":"T-002","reason":"no database"}`,
		retry: `{"reason":"wrong way"}`}
	for _, tt := range []struct {
		calls               []string
		refusedLast         bool
		claims, stops, anew bool
		why                 string
	}{
		{[]string{complete, blocked}, false, false, true, false, "the claim is taken back"},
		{[]string{complete, retry}, false, false, false, true, "the claim is taken back"},
		{[]string{blocked, complete}, true, false, true, false, "a task that was given up is not complete"},
		{[]string{retry, complete}, true, false, false, true, "an attempt that was given up is not complete"},
		{[]string{blocked, retry}, true, false, true, false, "one end only"},
		{[]string{retry, blocked}, true, false, false, true, "one end only"},
		{[]string{blocked, blocked}, false, false, true, false, "saying it again says the same"},
		{[]string{retry, retry}, false, false, false, true, "saying it again says the same"},
	} {
		b := box(t, "coding")
		for i, name := range tt.calls {
			if last := i == len(tt.calls)-1; last && tt.refusedLast {
				wantContains(t, tt.why, refused(t, b, name, args[name]).Message, "ended already")
			} else {
				call(t, b, name, args[name])
			}
		}
		got := b.Collected()
		if (got.Complete != nil) != tt.claims || (got.Blocked != nil) != tt.stops || (got.Retry != "") != tt.anew {
			t.Errorf("%v (%s): %+v", tt.calls, tt.why, got)
		}
		// Learnings are still worth keeping.
		call(t, b, "ralph_append_learning", examples()["ralph_append_learning"])
		call(t, b, "ralph_submit_handoff", goodHandoff)
	}
	b := box(t, "coding")
	if got := call(t, b, retry, ``); got["attempts"] != 2.0 || b.Collected().Retry == "" {
		t.Errorf("a retry without a reason: %v, %+v", got, b.Collected())
	}
	refused(t, box(t, "coding"), blocked, `{"task_id":"T-002"}`)
}

func TestLearnings(t *testing.T) {
	b := box(t, "coding")
	for _, tt := range []struct {
		args string
		want string // part of the refusal, "" = taken
		why  string
	}{
		{`{"learning":"Sockets need a short path.","category":"gotcha"}`,
			"pattern, antipattern, architecture, debugging, build", "not one of ours"},
		{`{"learning":"Sockets need a short path.","category":"Build"}`, "", "case does not matter"},
		{`{"learning":"...","category":"build"}`, "no text", "punctuation says nothing"},
		{`{"learning":"` + strings.Repeat("ä", notes.MaxKnowledgeText/2+1) + `","category":"build"}`, "bytes",
			"too long in bytes, short enough in characters"},
		{`{"learning":"` + strings.Repeat("a", notes.MaxKnowledgeText+1) + `","category":"build"}`, "characters", "too long"},
	} {
		if tt.want == "" {
			call(t, b, "ralph_append_learning", tt.args)
		} else {
			wantContains(t, tt.why, refused(t, b, "ralph_append_learning", tt.args).Message, tt.want)
		}
	}
	// A learning in the journal is not new.
	known := box(t, "coding", func(s *session.Scope) {
		k, _, err := notes.Learn("build", "Sockets need a short path.", 3, "T-001", nil)
		if err != nil {
			t.Fatal(err)
		}
		s.State.Knowledge = append(s.State.Knowledge, k)
	})
	if got := call(t, known, "ralph_append_learning",
		`{"learning":"sockets need a short path","category":"build"}`); got["already_known"] != true ||
		known.Collected().Learnings != nil {
		t.Errorf("got %v, %+v", got, known.Collected().Learnings)
	}
	flood := box(t, "coding")
	for i := range maxRecords {
		call(t, flood, "ralph_append_learning", fmt.Sprintf(`{"learning":"fact number %d","category":"build"}`, i))
		call(t, flood, "ralph_update_memory", fmt.Sprintf(`{"content":"note number %d"}`, i))
	}
	refused(t, flood, "ralph_append_learning", `{"learning":"one more","category":"build"}`)
	refused(t, flood, "ralph_update_memory", `{"content":"one more"}`)
}

func TestMemoryIsCut(t *testing.T) {
	b := box(t, "coding")
	got := call(t, b, "ralph_update_memory", `{"content":"`+strings.Repeat("ä", 3000)+`"}`)
	if got["cut"] != true || got["characters"] != 2000.0 || b.Collected().Memory[0] != strings.Repeat("ä", 2000) {
		t.Errorf("got %v", got)
	}
	if got := call(t, b, "ralph_update_memory", `{"content":"`+strings.Repeat("b", 2000)+`"}`); got["cut"] != false {
		t.Errorf("2,000 characters were cut: %v", got)
	}
	refused(t, b, "ralph_update_memory", `{"content":"\u0000\u202e"}`)
}

func TestSummaries(t *testing.T) {
	b := box(t, "planning")
	call(t, b, "ralph_add_task", examples()["ralph_add_task"])
	got := call(t, b, "ralph_get_plan_summary", `{}`)
	list := got["list"].([]any)
	last := list[len(list)-1].(map[string]any)
	if got["goal"] != "a login" || len(list) != 5 || last["added"] != true || last["id"] != "T-005" ||
		list[0].(map[string]any)["added"] != nil {
		t.Errorf("got %v", got)
	}
	sum := call(t, b, "ralph_get_state_summary", `{}`)
	if sum["phase"] != "planning" || sum["open_questions"] != 1.0 || sum["cost_usd"].(map[string]any)["total"] != 1.5 ||
		sum["breaker"].(map[string]any)["state"] != "closed" || sum["recorded"].(map[string]any)["tasks"] != 1.0 {
		t.Errorf("got %v", sum)
	}
	// A long plan is listed without flooding the window, unfinished tasks first.
	long := box(t, "coding", func(s *session.Scope) {
		var tasks []plan.Task
		for i := range 1000 {
			status := plan.Done
			if i >= 990 {
				status = plan.Pending
			}
			tasks = append(tasks, plan.Task{ID: plan.TaskID(fmt.Sprintf("T-%04d", i)),
				Title: strings.Repeat("long ", 200), Status: status})
		}
		s.State.Plan.Tasks = tasks
	})
	got = call(t, long, "ralph_get_plan_summary", `{}`)
	list = got["list"].([]any)
	if len(list) != maxListed || got["omitted"] != 800.0 || list[len(list)-1].(map[string]any)["id"] != "T-0999" {
		t.Errorf("%d listed, %v omitted", len(list), got["omitted"])
	}
}

// TestAddTask: the plan including the new task is judged, and the answer names
// every problem.
func TestAddTask(t *testing.T) {
	for _, tt := range []struct {
		args string
		want []string // nil = taken
		why  string
	}{
		{`{"title":"a","criteria":["x"],"depends_on":["T-002","t-003"]}`, nil, "ids have no case"},
		{`{"id":"T-009","title":"a","verify":["true"]}`, nil, "a command is a criterion"},
		{`{"id":"auth.login-1","title":"a","verify":["true"]}`, nil, "ids of other tools"},
		{`{"title":"a"}`, []string{"no criteria"}, "nothing could prove it"},
		{`{"id":"T 9","title":"a","criteria":["x"]}`, []string{"id"}, "not a file name"},
		{`{"id":"../x","title":"a","criteria":["x"]}`, []string{"id"}, "not a file name"},
		{`{"id":"t-003","title":"a","criteria":["x"]}`, []string{"T-003 is taken"}, "taken in another case"},
		{`{"title":"a","criteria":["x"],"depends_on":["T-099"]}`, []string{"T-099", "not in the plan"},
			"nothing to wait for"},
		{`{"id":"T-9","title":"a","criteria":["x"],"depends_on":["T-9"]}`, []string{"depends on itself"},
			"the smallest circle"},
		{`{"title":"a","criteria":["x"],"estimated_tokens":90000}`, []string{"estimated at 90000 tokens"}, "three windows"},
		{`{"id":"T-9","title":"a","depends_on":["T-098","T-9"],"estimated_tokens":90000}`,
			[]string{"no criteria", "T-098", "depends on itself", "90000"}, "all problems at once"},
		{"{\"title\":\"a\",\"verify\":[\"rm \\u202efdp.x\"]}", []string{"entry 1 of verify"},
			"a command that does not look like what it does"},
		{`{"title":"\u0000","criteria":["x"]}`, []string{"title is missing"}, "nothing left of it"},
		{`{"title":"a","criteria":["x"],"max_attempts":0,"allow_test_changes":true,"no_change_expected":true,` +
			`"libraries":["kong"],"needs_docs":true,"spec":"specs/login.md"}`,
			nil, "what the planning phase may set"},
		{`{"title":"a","criteria":["x"],"allow_protected":["ralph.toml"]}`, []string{"allow_protected"}, "people alone"},
	} {
		b := box(t, "planning")
		if tt.want == nil {
			call(t, b, "ralph_add_task", tt.args)
			if len(b.Collected().Tasks) != 1 {
				t.Errorf("%s: not collected", tt.why)
			}
			continue
		}
		wantContains(t, tt.why, refused(t, b, "ralph_add_task", tt.args).Message, tt.want...)
		if got := b.Collected().Tasks; got != nil {
			t.Errorf("%s: collected %v", tt.why, got)
		}
	}
}

func TestAddTaskBecomesATask(t *testing.T) {
	b := box(t, "planning")
	call(t, b, "ralph_add_task",
		`{"title":" sessions\n ","description":"Keep them.","priority":2,"depends_on":["t-003"],"criteria":["it ends"],"verify":["go test ./..."],
		"skills":["go"],"libraries":["kong"],"needs_docs":true,"estimated_tokens":20000,"spec":"specs/login.md","max_turns":9,"max_attempts":0,"notes":"n","allow_test_changes":true}`)
	none := 0
	want := plan.Task{ID: "T-005", Title: "sessions", Description: "Keep them.", Status: plan.Pending, Priority: 2,
		DependsOn: []plan.TaskID{"T-003"},
		Criteria:  []string{"it ends"}, Verify: []string{"go test ./..."}, Skills: []string{"go"},
		Libraries: []string{"kong"}, NeedsDocs: true,
		EstimatedTokens: 20000, Spec: "specs/login.md", MaxTurns: 9, MaxAttempts: &none, Notes: "n", AllowTestChanges: true}
	if d := cmp.Diff([]plan.Task{want}, b.Collected().Tasks); d != "" {
		t.Error(d)
	}
}

// TestPlansGrow: ids continue, later tasks may wait for earlier ones, and a task of
// this run can be corrected without a cycle.
func TestPlansGrow(t *testing.T) {
	b := box(t, "planning")
	first := call(t, b, "ralph_add_task", `{"title":"one","criteria":["x"]}`)
	second := call(t, b, "ralph_add_task",
		`{"title":"two","criteria":["x"],"depends_on":["T-005"],"estimated_tokens":40000}`)
	if first["task_id"] != "T-005" || second["task_id"] != "T-006" || second["total_tasks"] != 6.0 {
		t.Fatalf("got %v, %v", first, second)
	}
	wantContains(t, "warnings", fmt.Sprint(second["warnings"]), "40000 tokens")
	if again := call(t, b, "ralph_add_task",
		`{"title":"two","criteria":["x"],"depends_on":["T-005"],"estimated_tokens":40000}`); !cmp.Equal(again, second) {
		t.Errorf("the same call again: %v, first %v", again, second)
	}
	wantContains(t, "clash", refused(t, b, "ralph_add_task", `{"id":"T-005","title":"other","criteria":["x"]}`).Hint,
		"replace")
	wantContains(t, "circle", refused(t, b, "ralph_add_task",
		`{"id":"T-005","title":"one","criteria":["x"],"depends_on":["T-006"],"replace":true}`).Message, "depends on itself: ")
	wantContains(t, "of the plan", refused(t, b, "ralph_add_task",
		`{"id":"T-003","title":"one","criteria":["x"],"replace":true}`).Message, "T-003 is taken by a task of the plan")
	call(t, b, "ralph_add_task", `{"id":"t-005","title":"one, better","criteria":["x"],"replace":true}`)
	call(t, b, "ralph_add_task", `{"id":"T-100","title":"new after all","criteria":["x"],"replace":true}`)
	var titles []string
	for _, task := range b.Collected().Tasks {
		titles = append(titles, string(task.ID)+" "+task.Title)
	}
	if d := cmp.Diff([]string{"T-005 one, better", "T-006 two", "T-100 new after all"}, titles); d != "" {
		t.Error(d)
	}
}

// TestOldProblemsAreNotTheNewTasks: an old task without criteria must not keep the
// planner from adding others.
func TestOldProblemsAreNotTheNewTasks(t *testing.T) {
	b := box(t, "planning", func(s *session.Scope) { s.State.Plan.Tasks[2].Criteria = nil })
	call(t, b, "ralph_add_task", examples()["ralph_add_task"])
}

// TestHandoff: the last valid one wins. A refused one is kept until there is a
// valid one, so that the harness can name its problems.
func TestHandoff(t *testing.T) {
	b := box(t, "coding")
	const broken = `{"summary":"half"}`
	r := refused(t, b, "ralph_submit_handoff", broken)
	wantContains(t, "error", r.Message, "freeform is missing", "task_completed is missing")
	if got := string(b.Collected().Handoff); got != broken {
		t.Errorf("kept %q, want the refused one", got)
	}
	call(t, b, "ralph_submit_handoff", goodHandoff)
	refused(t, b, "ralph_submit_handoff", broken)
	if got := string(b.Collected().Handoff); got != goodHandoff {
		t.Errorf("kept %q, want the valid one", got)
	}
	later := strings.Replace(goodHandoff, "login works", "login works well", 1)
	call(t, b, "ralph_submit_handoff", `{"handoff":`+later+`}`)
	if got := string(b.Collected().Handoff); got != later {
		t.Errorf("kept %q, want the last valid one, unwrapped", got)
	}
	wantContains(t, "another task", refused(t, b, "ralph_submit_handoff",
		strings.Replace(goodHandoff, "T-002", "T-003", 1)).Message, "not the task of this iteration")
	if got := string(b.Collected().Handoff); got != later {
		t.Errorf("a handoff for another task replaced the valid one: %q", got)
	}
}

// TestHandoffForeseesAmendments: the agent is told now which amendments would be
// refused later.
func TestHandoffForeseesAmendments(t *testing.T) {
	b := box(t, "coding")
	got := call(t, b, "ralph_submit_handoff", strings.Replace(goodHandoff, `"plan_amendments":[]`,
		`"plan_amendments":[{"action":"remove","task_id":"T-001","reason":"x"},{"action":"modify","task_id":"T-003",`+
			`"changes":{"criteria":["y"]},"reason":"x"},{"action":"add","task":{"title":"no id"},"reason":"x"}]`, 1))
	list, _ := got["amendments"].([]any)
	if len(list) != 3 {
		t.Fatalf("got %v", got)
	}
	for i, want := range []bool{false, true, false} {
		if list[i].(map[string]any)["accepted"] != want {
			t.Errorf("amendment %d: %v, want accepted = %v", i, list[i], want)
		}
	}
}
