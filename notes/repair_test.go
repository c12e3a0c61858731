package notes

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestRepairHandoff(t *testing.T) {
	yes, no := true, false
	const whole = `"task_completed":{"task_id":"T-001","summary":"s","fully_complete":true},"summary":"s"`
	for _, tt := range []struct {
		why, in string
		claim   *bool
		task    string
		want    string // in the freeform
	}{
		{"48 characters", `{` + whole + `,"freeform":"` + strings.Repeat("x", 48) + `"}`, &yes, "T-001",
			strings.Repeat("x", 48)},
		{"every list missing", `{` + whole + `}`, &yes, "T-001", "s\n"},
		{"lists that are null, a text, an object",
			`{` + whole + `,"deviations":null,"recommendations":"one","files_touched":{"path":"a"}}`, &yes, "T-001", ""},
		{"texts where objects are wanted",
			`{` + whole + `,"bugs_encountered":["it broke"],"tests_added":["a_test.go"]}`, &yes, "T-001", ""},
		{"the claim as a text", `{"task_completed":{"fully_complete":"True"}}`, &yes, "", ""},
		{"the claim at the top", `{"task_id":"T-002","fully_complete":false,"freeform":"half"}`, &no, "T-002", "half"},
		{"the claim alone", `{"task_completed":true}`, &yes, "", ""},
		{"no claim", `{"freeform":"I did it"}`, nil, "", "I did it"},
		{"a claim that cannot be read is none", `{"task_completed":{"task_id":"T-001","fully_complete":"mostly"}}`, nil,
			"T-001", ""},
		{"a confidence of its own", `{` + whole + `,"confidence_level":"very"}`, &yes, "T-001", ""},
		{"a code block with prose around it", "Here it is:\n```json\n{" + whole + "}\n```\nDone.", &yes, "T-001", ""},
		{"a comma too many", `{` + whole + `,"recommendations":["a",],}`, &yes, "T-001", ""},
		{"two, one after the other", `{"task_id":"T-001","fully_complete":false}` + "\n{" + whole + "}\n", &yes, "T-001", ""},
		{"names in another spelling", `{"taskCompleted":{"taskId":"T-001","fullyComplete":true},"summary":"s"}`, &yes,
			"T-001", ""},
		{"inside a member", `{"handoff":{` + whole + `}}`, &yes, "T-001", ""},
		{"a number for a text", `{` + whole + `,"freeform":5,"architectural_notes":[1,{"a":2}]}`, &yes, "T-001", "5"},
	} {
		m, ok := RepairHandoff([]byte(tt.in))
		switch {
		case !ok:
			t.Errorf("%s: not fixed", tt.why)
			continue
		case (m.Claim == nil) != (tt.claim == nil), m.Claim != nil && *m.Claim != *tt.claim:
			t.Errorf("%s: the claim is %v", tt.why, m.Claim)
		case m.Handoff.TaskCompleted.TaskID != tt.task:
			t.Errorf("%s: the task is %q", tt.why, m.Handoff.TaskCompleted.TaskID)
		case !strings.HasPrefix(m.Handoff.Freeform, tt.want):
			t.Errorf("%s: the text is %q", tt.why, m.Handoff.Freeform)
		case strings.Contains(m.Handoff.Freeform, NoSummary):
			t.Errorf("%s: the text repeats that there is no summary: %q", tt.why, m.Handoff.Freeform)
		case len(m.Faults) == 0:
			t.Errorf("%s: nothing was wrong", tt.why)
		}
	}
	for _, in := range []string{"", "no object", "[1]", "{broken", `"x"`, "}{"} {
		if _, ok := RepairHandoff([]byte(in)); ok {
			t.Errorf("%q was fixed", in)
		}
	}
}

// FuzzRepairHandoff: repaired bytes are a valid handoff, except for the task's id,
// which only the harness knows.
func FuzzRepairHandoff(f *testing.F) {
	for _, s := range []string{`{}`, `{"freeform":[1]}`, `{"task_completed":{"task_id":{}}}`, "```{}```",
		`{"deviations":[[]],"plan_amendments":["x"]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, ok := RepairHandoff(data)
		if !ok {
			return
		}
		if m.Handoff.TaskCompleted.TaskID == "" {
			m.Handoff.TaskCompleted.TaskID = "T-001"
		}
		text, err := json.Marshal(m.Handoff)
		if err != nil {
			t.Fatal(err)
		}
		if _, problems := ParseHandoff(text); problems != nil {
			t.Errorf("%q became %s: %v", data, text, problems)
		}
	})
}
