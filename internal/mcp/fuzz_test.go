package mcp

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"git-ralph/notes"
	"git-ralph/plan"
)

// FuzzCall: no arguments make a tool panic. Every answer is valid JSON, and a
// refusal has error and hint. The recorded data can be stored: valid UTF-8, nothing
// invisible, a valid plan and memory.
func FuzzCall(f *testing.F) {
	names := make([]string, 0, len(examples()))
	for name := range examples() {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		f.Add(uint8(i), uint8(i), examples()[name], examples()[name])
	}
	f.Add(uint8(0), uint8(4), `{"id":"T-9","title":"a","criteria":["x"],"depends_on":["T-003"]}`,
		`{"id":"T-9","replace":true,"title":"b","criteria":["x"],"depends_on":["t-9"]}`)
	f.Add(uint8(8), uint8(4), `{"type":"constraint","slug":"no-force","text":"x"}`,
		`{"type":"constraint","text":"Must \ud800 x","supersedes":["k-CONSTRAINT-no-force"]}`)
	f.Add(uint8(1), uint8(1), `{"task_id":"T-002","priority":1e999999999}`, "{\"task_id\":\"\xff\"}")
	f.Fuzz(func(t *testing.T, which, as uint8, first, second string) {
		role := roles()[int(as)%len(roles())]
		b := box(t, role.name)
		// Every tool gets the first arguments; the named one gets both.
		for _, c := range append([][2]string{{names[int(which)%len(names)], first}, {names[int(which)%len(names)], second}},
			each(names, first)...) {
			answer, err := b.Call(t.Context(), c[0], json.RawMessage(c[1]))
			if !json.Valid(answer) {
				t.Fatalf("%s answered %q", c[0], answer)
			}
			var r *Refusal
			if errors.As(err, &r) != (err != nil) || r != nil && (r.Message == "" || r.Hint == "") {
				t.Fatalf("%s: refusal %+v, error %v", c[0], r, err)
			}
		}
		got := b.Collected()
		var texts []string
		for _, l := range got.Learnings {
			texts = append(texts, l.Text)
		}
		texts = append(texts, got.Memory...)
		texts = append(texts, got.Retry)
		for _, c := range got.Criteria {
			texts = append(texts, c.Evidence, c.Spec, c.Criterion)
		}
		for _, task := range got.Tasks {
			texts = append(texts, task.Title, task.Description, task.Notes, task.Spec)
			texts = append(texts, slices.Concat(task.Criteria, task.Verify, task.Skills, task.Libraries)...)
		}
		for _, s := range texts {
			if !utf8.ValidString(s) || notes.Clean(s) != s {
				t.Fatalf("recorded %q", s)
			}
		}
		whole := b.plan()
		if err := whole.Validate(); err != nil {
			t.Fatalf("the plan does not hold: %v", err)
		}
		if _, _, err := plan.DecodePlan("plan", plan.EncodePlan(whole)); err != nil {
			t.Fatalf("the plan cannot be stored: %v", err)
		}
		if err := notes.CheckKnowledge(b.scope.State.Knowledge, got.Knowledge); err != nil {
			t.Fatalf("the memory does not hold: %v", err)
		}
	})
}

func each(names []string, args string) [][2]string {
	out := make([][2]string, len(names))
	for i, name := range names {
		out[i] = [2]string{name, args}
	}
	return out
}

// FuzzAnswer: no line makes the endpoint panic or answer more than one line.
func FuzzAnswer(f *testing.F) {
	for name, args := range examples() {
		line, _ := json.Marshal(request{Token: "t", Op: "call", Name: name, Args: json.RawMessage(args)})
		f.Add(string(line))
	}
	f.Add(`{"token":"t","op":"list"}`)
	f.Fuzz(func(t *testing.T, line string) {
		b := box(t, "coding")
		e := &endpoint{token: "t", serve: b.serve}
		got := encode(e.answer(t.Context(), []byte(line)))
		if !json.Valid(got) || strings.ContainsRune(string(got), '\n') {
			t.Fatalf("answered %q", got)
		}
		if strings.Contains(string(got), "the tool failed") {
			t.Fatalf("a tool panicked: %s", got)
		}
	})
}
