package plan

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func amendPlan() Plan {
	p := tasks("D done", "C in_progress", "O pending 2 C", "S skipped", "W in_progress")
	p.Tasks[2].Criteria = []string{"old"}
	p.Tasks[2].Verify = []string{"make test"}
	p.Tasks[2].Description = "as planned"
	return p
}

// TestRefined: an agent may add to a task's requirements but not remove any.
func TestRefined(t *testing.T) {
	for _, c := range []struct{ was, now, want, why string }{
		{"", "new", "new", "there was nothing to keep"},
		{"Build the page.", "", "Build the page.", "it cannot be emptied"},
		{"Build the page.", "  ", "Build the page.", "nor blanked"},
		{"Build the page.", "Nothing to do.", "Build the page.\n\nAdded by an agent:\nNothing to do.", "nor replaced"},
		{"Build the page.", "Build the page.\nUse a table.", "Build the page.\n\nAdded by an agent:\nUse a table.",
			"repeated words are not doubled"},
		{"Build the page.\n\nAdded by an agent:\nold", "new", "Build the page.\n\nAdded by an agent:\nnew",
			"an agent may change what agents added"},
		{"Build the page.\n\nAdded by an agent:\nold", "Build the page.\n\nAdded by an agent:\nnew",
			"Build the page.\n\nAdded by an agent:\nnew", "sent back as it was shown"},
		{"Build the page.\n\nAdded by an agent:\nold", "", "Build the page.", "and take it back"},
		{"a", "apple", "a\n\nAdded by an agent:\napple", "a word that begins in the same way is another word"},
	} {
		if got := refined(c.was, c.now); got != c.want {
			t.Errorf("%s: %q", c.why, got)
		}
	}
}

func TestAmend(t *testing.T) {
	const add = `{"action":"add","task":{"id":"N","title":"New","description":"Do it."}}`
	for _, c := range []struct {
		why   string
		batch string
		// want has one line an amendment: "" = accepted, else part of the refusal.
		want []string
		// then checks the plan that follows.
		then func(Plan) string
	}{
		{"a task is added last", "[" + add + "]", []string{""}, func(p Plan) string { return order(p, "D C O S W N") }},
		{"or after another", `[{"action":"add","after":"c","task":{"id":"N","title":"New","description":"x"}}]`, []string{""},
			func(p Plan) string { return order(p, "D C N O S W") }},
		{"after a task that is not there", `[{"action":"add","after":"X","task":{"id":"N","title":"New","description":"x"}}]`,
			[]string{"after names X"}, nil},
		{"nulls are as good as nothing",
			`[{"action":"add","task_id":null,"after":null,"changes":null,"reason":null,"task":{"id":"N","title":"t",` +
				`"description":"d","skills":null}}]`, []string{""}, nil},
		{"the fields of other formats and defaults along with it",
			`[{"action":"add","task":{"id":"N","title":"New","description":"x","status":"pending","order":999,
			"acceptance_criteria":["a"],"depends_on":["o"],"skills":[],"max_attempts":null,"attempts":0,"allow_test_changes":false,"cost_usd":0,"priority":3}}]`, []string{""},
			func(p Plan) string {
				n := p.Tasks[p.Find("N")]
				return cmp.Diff(Task{ID: "N", Title: "New", Description: "x", Status: Pending, Priority: 3, Criteria: []string{"a"},
					DependsOn: []TaskID{"O"}}, n, sameTask)
			}},
		{"add without what it needs", `[{"action":"add","task":{"id":"N","title":" "}}]`,
			[]string{"it has no description, title"}, nil},
		{"add without a task", `[{"action":"add"}]`, []string{"task is missing"}, nil},
		{"add of an id that is taken, by a done task and in another case",
			`[{"action":"add","task":{"id":"d","title":"t","description":"d"}}]`, []string{"the plan has a task D already"},
			nil},
		{"add of a bad id", `[{"action":"add","task":{"id":"../x","title":"t","description":"d"}}]`,
			[]string{`begins with "."`}, nil},
		{"add as done", `[{"action":"add","task":{"id":"N","title":"t","description":"d","status":"done"}}]`,
			[]string{"a new task is pending, not done"}, nil},
		{"add that lifts a rule", `[{"action":"add","task":{"id":"N","title":"t","description":"d",` +
			`"allow_test_changes":true}}]`, []string{"allow_test_changes is set by people"}, nil},
		{"add that expects no change",
			`[{"action":"add","task":{"id":"N","title":"t","description":"d","no_change_expected":true}}]`,
			[]string{"no_change_expected is set by people"}, nil},
		{"add with unlimited attempts, by its other name",
			`[{"action":"add","task":{"id":"N","title":"t","description":"d","max_retries":99}}]`,
			[]string{"max_attempts is set by people"}, nil},
		{"add that opens protected paths",
			`[{"action":"add","task":{"id":"N","title":"t","description":"d","allow_protected":["**"]}}]`,
			[]string{"allow_protected is set by people"}, nil},
		{"add with a field that is none", `[{"action":"add","task":{"id":"N","title":"t","description":"d","verfy":["x"]}}]`,
			[]string{`unknown field "verfy"; did you mean "verify"?`}, nil},
		{"add that waits on nothing known",
			`[{"action":"add","task":{"id":"N","title":"t","description":"d","depends_on":["X"]}}]`,
			[]string{"N depends on X, which is not in the plan"}, nil},
		{"add with an empty command, which would pass",
			`[{"action":"add","task":{"id":"N","title":"t","description":"d","verify":[""]}}]`,
			[]string{"entry 1 of verify is empty"}, nil},
		{"add with the wrong kind", `[{"action":"add","task":{"id":"N","title":"t","description":"d","verify":"make"}}]`,
			[]string{"verify is a text"}, nil},

		{"the task in work: description and notes",
			`[{"action":"modify","task_id":"C","changes":{"description":"new","notes":"n"}}]`, []string{""},
			func(p Plan) string { return cmp.Diff("new/n", p.Tasks[1].Description+"/"+p.Tasks[1].Notes) }},
		{"its status is the harness's", `[{"action":"modify","task_id":"C","changes":{"status":"done"}}]`,
			[]string{"status of the task in work cannot"}, nil},
		{"its criteria are what it is judged by", `[{"action":"modify","task_id":"c","changes":{"criteria":["easy"]}}]`,
			[]string{"criteria of the task in work cannot"}, nil},
		{"its checks too", `[{"action":"modify","task_id":"C","changes":{"verify":["true"]}}]`,
			[]string{"verify of the task in work cannot"}, nil},
		{"one field out of bounds refuses the whole",
			`[{"action":"modify","task_id":"C","changes":{"notes":"n","status":"done"}}]`, []string{"status"},
			func(p Plan) string { return cmp.Diff("", p.Tasks[1].Notes) }},
		{"another task: criteria are added to",
			`[{"action":"modify","task_id":"O","changes":{"criteria":["new"],"verify":["make lint"]}}]`, []string{""},
			func(p Plan) string {
				return cmp.Diff([]string{"old", "new", "make test", "make lint"},
					append(slices.Clone(p.Tasks[2].Criteria), p.Tasks[2].Verify...))
			}},
		{"the old ones may be repeated", `[{"action":"modify","task_id":"O","changes":{"criteria":["old","new"]}}]`,
			[]string{""},
			func(p Plan) string { return cmp.Diff([]string{"old", "new"}, p.Tasks[2].Criteria) }},
		{"they cannot be emptied", `[{"action":"modify","task_id":"O","changes":{"verify":[]}}]`,
			[]string{"verify of another task can only be added to"}, nil},
		{"nor rewritten", `[{"action":"modify","task_id":"O","changes":{"description":"less"}}]`,
			[]string{"description of another task cannot"}, nil},
		{"nor marked done", `[{"action":"modify","task_id":"O","changes":{"status":"done"}}]`,
			[]string{"status of another task cannot"}, nil},
		{"nor made cheaper", `[{"action":"modify","task_id":"O","changes":{"max_attempts":0}}]`,
			[]string{"max_attempts is set by people"}, nil},
		{"a task sent back as it was shown, with one more criterion",
			`[{"action":"modify","task_id":"O","changes":{"id":"O","title":"task O","status":"pending","priority":2,"depends_on":["C"],
			"criteria":["old","new"],"verify":["make test"],"max_attempts":null,"needs_docs":false}}]`, []string{""}, func(p Plan) string { return cmp.Diff([]string{"old", "new"}, p.Tasks[2].Criteria) }},
		{"nothing new is no change", `[{"action":"modify","task_id":"O","changes":{"criteria":["old"]}}]`,
			[]string{"it changes nothing"}, nil},
		{"done tasks are untouchable",
			`[{"action":"modify","task_id":"D","changes":{"criteria":["x"]}},{"action":"remove","task_id":"d"}]`,
			[]string{"D is done", "D is done"}, nil},
		{"a task that is not there", `[{"action":"modify","task_id":"X","changes":{"notes":"x"}}]`,
			[]string{"X is not in the plan"}, nil},
		{"no task named", `[{"action":"remove"}]`, []string{"task_id is missing"}, nil},

		{"removed is set aside, and says why", `[{"action":"remove","task_id":"O","reason":"obsolete"}]`, []string{""},
			func(p Plan) string {
				o := p.Tasks[2]
				return cmp.Diff("skipped agent amendment,obsolete",
					string(o.Status)+" "+o.SkippedBy+" "+strings.Join(o.BlockedBy, ","))
			}},
		{"not the task in work", `[{"action":"remove","task_id":"C"}]`, []string{"C is the current task"}, nil},
		{"not one that another worker has", `[{"action":"remove","task_id":"W"}]`,
			[]string{"W is being worked on elsewhere"}, nil},
		{"not twice", `[{"action":"remove","task_id":"O"},{"action":"remove","task_id":"O"}]`,
			[]string{"", "O is skipped already"}, nil},

		{"each sees what those before did",
			`[` + add + `,{"action":"modify","task_id":"N","changes":{"criteria":["x"]}},{"action":"add","after":"N",` +
				`"task":{"id":"M","title":"t","description":"d","depends_on":["N"]}}]`,
			[]string{"", "", ""}, func(p Plan) string { return order(p, "D C O S W N M") }},
		{"a refused one does not stop the next", `[{"action":"rename"},` + add + `]`, []string{`action "rename" is not`, ""},
			nil},
		{"more than three are refused together", `[` + strings.Repeat(add+",", 3) + add + `]`,
			slices.Repeat([]string{"4 amendments in one iteration"}, 4),
			func(p Plan) string { return order(p, "D C O S W") }},
	} {
		t.Run(c.why, func(t *testing.T) {
			var batch []Amendment
			if err := json.Unmarshal([]byte(c.batch), &batch); err != nil {
				t.Fatal(err)
			}
			before := amendPlan()
			got, results := Amend(before, "C", batch)
			if d := cmp.Diff(amendPlan(), before, sameTask); d != "" {
				t.Errorf("the plan that was given changed:\n%s", d)
			}
			if len(results) != len(c.want) {
				t.Fatalf("%d results", len(results))
			}
			refused := true
			for i, want := range c.want {
				r := results[i]
				if r.Accepted != (want == "") || !strings.Contains(r.Why, want) || r.Accepted && r.Why != "" {
					t.Errorf("%d: %+v, want %q", i, r, want)
				}
				refused = refused && !r.Accepted
			}
			if refused {
				if d := Difference(before, got); !d.Empty() {
					t.Errorf("everything was refused, and the plan changed: %s", d.Describe(before, got))
				}
			}
			if err := got.Validate(); err != nil {
				t.Error(err)
			}
			if c.then != nil {
				if d := c.then(got); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

func order(p Plan, want string) string {
	return cmp.Diff(want, strings.Join(stringsOf(HeadOf(p).Order), " "))
}

func TestAmendResultsNameFields(t *testing.T) {
	_, results := Amend(amendPlan(), "C", []Amendment{
		{Action: "modify", TaskID: "o", Changes: json.RawMessage(`{"verify":["x"],"acceptance_criteria":["y"]}`),
			Reason: "found out"},
	})
	want := []AmendResult{{Action: "modify", TaskID: "O", Accepted: true, Fields: []string{"criteria", "verify"},
		Reason: "found out"}}
	if d := cmp.Diff(want, results); d != "" {
		t.Error(d)
	}
}

func FuzzAmend(f *testing.F) {
	f.Add("modify", "O", `{"criteria":["x"]}`, `{}`, "")
	f.Add("add", "", ``, `{"id":"N","title":"t","description":"d","depends_on":["O","C"]}`, "D")
	f.Add("remove", "O", ``, ``, "")
	f.Fuzz(func(t *testing.T, action, id, changes, task, after string) {
		before := amendPlan()
		batch := []Amendment{{Action: action, TaskID: TaskID(id), Changes: json.RawMessage(changes),
			Task: json.RawMessage(task), After: TaskID(after)}}
		got, results := Amend(before, "C", batch)
		if err := got.Validate(); err != nil {
			t.Fatalf("%+v made the plan unsound: %v", batch, err)
		}
		if len(results) != 1 || results[0].Accepted == (results[0].Why != "") {
			t.Fatalf("%+v", results)
		}
		// No proposal makes a task count for less than before.
		for i := range before.Tasks {
			was := before.Tasks[i]
			is := got.Tasks[got.Find(was.ID)]
			if was.Status == Done && len(changedFields(&was, &is)) > 0 {
				t.Fatalf("a done task changed: %+v", is)
			}
			if is.Status == Done && was.Status != Done || is.AllowTestChanges || is.NoChangeExpected || is.MaxAttempts != nil ||
				is.AllowProtected != nil {
				t.Fatalf("a rule was lifted: %+v", is)
			}
			for _, v := range append(was.Criteria, was.Verify...) {
				if !slices.Contains(is.Criteria, v) && !slices.Contains(is.Verify, v) {
					t.Fatalf("%q is gone: %+v", v, is)
				}
			}
			if was.ID == "C" && (is.Status != was.Status || len(is.Criteria)+len(is.Verify) > 0) {
				t.Fatalf("the task in work: %+v", is)
			}
		}
	})
}
