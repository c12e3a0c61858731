package notes

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// good is a handoff with everything in it.
const good = `{
  "task_completed": {"task_id": "T-003", "summary": "login works", "fully_complete": true},
  "summary": "add the login endpoint",
  "freeform": "Added POST /login with a table of users in memory. The limiter is missing and comes next.",
  "deviations": [{"planned": "jwt", "actual": "opaque token", "reason": "no library"}],
  "bugs_encountered": [{"description": "nil map", "resolution": "make it", "resolved": true}],
  "architectural_notes": ["handlers live in http/"],
  "unfinished_business": [{"item": "rate limit", "reason": "out of scope", "priority": "high"}],
  "recommendations": ["do T-004 next"],
  "files_touched": [{"path": "http/login.go", "action": "created"}],
  "plan_amendments": [{"action": "add", "task_id": "T-009", "task": {"id": "T-009", "title": "limit"}, "reason": "needed"}],
  "tests_added": [{"file": "http/login_test.go", "test_names": ["TestLogin"]}],
  "constraints_discovered": [{"constraint": "must not log tokens", "impact": "leak"}],
  "request_research": ["bcrypt cost"],
  "request_human_review": {"needed": false, "reason": ""},
  "confidence_level": "high"
}`

// with returns the good handoff with one key set to a JSON value, or without
// the key when the value is empty.
func with(t *testing.T, key, value string) []byte {
	t.Helper()
	var doc map[string]json.RawMessage
	if err := json.Unmarshal([]byte(good), &doc); err != nil {
		t.Fatal(err)
	}
	if doc[key] = json.RawMessage(value); value == "" {
		delete(doc, key)
	}
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestParseHandoff(t *testing.T) {
	h, problems := ParseHandoff([]byte(good))
	if problems != nil {
		t.Fatal(problems)
	}
	data, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	var want, got any
	if err := json.Unmarshal([]byte(good), &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("something was lost:\n%s", diff)
	}
}

func TestParseHandoffRefuses(t *testing.T) {
	required := []string{"task_completed", "summary", "freeform", "deviations", "bugs_encountered",
		"architectural_notes", "unfinished_business",
		"recommendations", "files_touched", "plan_amendments", "tests_added", "constraints_discovered"}
	for _, key := range required {
		_, problems := ParseHandoff(with(t, key, ""))
		if len(problems) != 1 || problems[0].Path != key || problems[0].Message != "is missing" {
			t.Errorf("without %s: %v", key, problems)
		}
	}
	rows := []struct{ key, value, want, why string }{
		{"freeform", `"too short"`, "freeform has 9 characters, at least 50 are needed", "the narrative is the memory"},
		{"freeform", `"` + strings.Repeat(" ", 80) + `"`, "freeform has 0 characters", "blanks say nothing"},
		{"freeform", `"` + strings.Repeat("é", 50) + `"`, "", "characters are counted, not bytes"},
		{"freeform", `null`, "freeform is null, must be a string", "null is no text"},
		{"summary", `""`, "summary is empty", "one line is needed"},
		{"summary", `["x"]`, "summary is an array, must be a string", "a wrong type"},
		{"task_completed", `{"task_id":"T-1","summary":"x"}`, "task_completed.fully_complete is missing",
			"the claim has to be said"},
		{"task_completed", `{"task_id":"T-1","summary":"x","fully_complete":"yes"}`,
			"task_completed.fully_complete is a string, must be a boolean", "no truth from strings"},
		{"task_completed", `{"task_id":"","summary":"x","fully_complete":true}`, "task_completed.task_id is empty",
			"which task?"},
		{"deviations", `[{"planned":"a","actual":"b"},{"planned":"c"}]`, "deviations[1].actual is missing",
			"the place in a list is named"},
		{"deviations", `{}`, "deviations is an object, must be an array", "a wrong type"},
		{"tests_added", `[{"file":"a","test_names":[1]}]`,
			"tests_added[0].test_names[0] is an integer, must be a string", "deep inside"},
		{"plan_amendments", `["add a task"]`, "plan_amendments[0] is a string, must be an object",
			"amendments are judged later, but as objects"},
		{"plan_amendments", `[{"action":"frobnicate"}]`, "", "an unknown action is refused singly, not with the handoff"},
		{"confidence_level", `"sure"`, `confidence_level is "sure", must be one of high, medium, low`, "a closed list"},
		{"confidence_level", `null`, "", "null stands for absent where a field is optional"},
		{"request_human_review", `{"reason":"x"}`, "request_human_review.needed is missing", "the signal itself"},
		{"Freeform", `"x"`, "", "another case is another, unknown key"},
		{"extra", `{"a":[1,2]}`, "", "unknown keys are let through and dropped"},
	}
	for _, row := range rows {
		h, problems := ParseHandoff(with(t, row.key, row.value))
		if row.want == "" {
			if problems != nil {
				t.Errorf("%s = %s: %v: %s", row.key, row.value, problems, row.why)
			}
			continue
		}
		if h != nil || len(problems) != 1 || !strings.HasPrefix(problems[0].String(), row.want) {
			t.Errorf("%s = %s: %v, want %q: %s", row.key, row.value, problems, row.want, row.why)
		}
	}
	documents := []struct{ text, want string }{
		{"", "the handoff is empty"},
		{" \n", "the handoff is empty"},
		{"null", "is null, must be an object"},
		{"[]", "is an array, must be an object"},
		{`"hello"`, "is a string, must be an object"},
		{"{", "is not JSON: it ends too early"},
		{"{\n\"a\": tru}", "is not JSON: line 2:"},
		{good + "x", "has text after the JSON object"},
		{"{\"a\":\"\xff\"}", "is not valid UTF-8"},
		{strings.Repeat(" ", MaxHandoff+1), "bytes, at most 1048576 are read"},
		{strings.Repeat("[", 20000), "is not JSON"},
	}
	for _, d := range documents {
		h, problems := ParseHandoff([]byte(d.text))
		if h != nil || len(problems) == 0 || !strings.Contains(problems[0].String(), d.want) {
			t.Errorf("%.40q: %v, want %q", d.text, problems, d.want)
		}
	}
}

// TestParseHandoffNamesAll: the agent is asked only once, so all problems are named
// together, in the order of the schema.
func TestParseHandoffNamesAll(t *testing.T) {
	_, problems := ParseHandoff([]byte(`{"summary": 1, "freeform": "x", "deviations": [3]}`))
	var paths []string
	for _, p := range problems {
		paths = append(paths, p.Path)
	}
	want := []string{"task_completed", "bugs_encountered", "architectural_notes", "unfinished_business", "recommendations",
		"files_touched", "plan_amendments", "tests_added", "constraints_discovered", "deviations[0]", "freeform", "summary"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Error(diff)
	}
	// The problems of a hostile document fill at most a page.
	many := with(t, "recommendations", "["+strings.Repeat("1,", 5000)+"1]")
	if _, problems := ParseHandoff(many); len(problems) != maxProblems {
		t.Errorf("%d problems", len(problems))
	}
}

// TestParseHandoffForms: other forms in which clients send a handoff.
func TestParseHandoffForms(t *testing.T) {
	quoted, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"as a string inside JSON": string(quoted), "with a byte order mark": "\xef\xbb\xbf" + good,
		"with blanks around": "\n\n" + good + "\n",
	} {
		if h, problems := ParseHandoff([]byte(text)); problems != nil || h.TaskCompleted.TaskID != "T-003" {
			t.Errorf("%s: %v", name, problems)
		}
	}
	// A key in another case never fills a field.
	h, problems := ParseHandoff(with(t, "SUMMARY", `"intruder"`))
	if problems != nil || h.Summary != "add the login endpoint" {
		t.Errorf("%v %v", h, problems)
	}
}

// TestHandoffIsSafeToKeep: an agent's text stays in history forever.
func TestHandoffIsSafeToKeep(t *testing.T) {
	dirty :=
		"We set password=hunter2hunter2 for the test\\u001b[31m user\\u202e and it works, which is what was asked for."
	h, problems := ParseHandoff(with(t, "freeform", `"`+strings.ReplaceAll(dirty, `\\`, `\`)+`"`))
	if problems != nil {
		t.Fatal(problems)
	}
	if want :=
		"We set password=[redacted] for the test user and it works, which is what was asked for."; h.Freeform != want {
		t.Errorf("%q", h.Freeform)
	}
	h, problems = ParseHandoff(with(t, "plan_amendments",
		`[{"action":"add","task":{"id":"T-9","criteria":["DB_PASSWORD=swordfish works"]}}]`))
	if problems != nil || strings.Contains(string(h.PlanAmendments[0]), "swordfish") {
		t.Errorf("%s %v", h.PlanAmendments, problems)
	}
	// Invisible characters do not count toward the fifty.
	if _, problems := ParseHandoff(with(t, "freeform", `"`+strings.Repeat(`\u200b`, 60)+`"`)); len(problems) != 1 {
		t.Errorf("%v", problems)
	}
	if s := Synthesize(SynthInput{Tail: "export DB_PASSWORD=swordfish",
		Tools: []string{"Bash --password=swordfish"}}); strings.Contains(s.Freeform, "swordfish") {
		t.Errorf("%s", s.Freeform)
	}
}

// TestSchemaKeywords: our validator knows every keyword of the schema, and every
// property has a field in Handoff.
func TestSchemaKeywords(t *testing.T) {
	dec := json.NewDecoder(strings.NewReader(string(HandoffSchema())))
	dec.DisallowUnknownFields()
	var s schema
	if err := dec.Decode(&s); err != nil {
		t.Fatalf("a keyword that the validator does not know: %v", err)
	}
	if s.Schema != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("schema dialect %q", s.Schema)
	}
	if len(s.Required) != 12 {
		t.Errorf("%d required fields, want the twelve", len(s.Required))
	}
	h, problems := ParseHandoff([]byte(good))
	if problems != nil {
		t.Fatal(problems)
	}
	data, _ := json.Marshal(h)
	var back map[string]any
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	for name := range s.Properties {
		if _, ok := back[name]; !ok {
			t.Errorf("the schema has %s, Handoff does not", name)
		}
	}
	// A caller cannot change our own copy of the schema.
	HandoffSchema()[0] = 'x'
	if HandoffSchema()[0] != '{' {
		t.Error("the embedded schema was changed")
	}
}

func TestNullsAreAccepted(t *testing.T) {
	// Providers that require closed objects send null for optional keys.
	h, problems := ParseHandoff(with(t, "request_research", "null"))
	if problems != nil || h.RequestResearch != nil {
		t.Error(problems)
	}
	h, problems = ParseHandoff(with(t, "plan_amendments",
		`[{"action":"add","task_id":null,"task":"{\"id\":\"T-9\"}","changes":null,"after":null,"reason":"r"}]`))
	if problems != nil || string(h.PlanAmendments[0]) != `{"action":"add","reason":"r","task":{"id":"T-9"}}` {
		t.Errorf("%v %s", problems, h.PlanAmendments)
	}
}

func TestSynthesizeIsValid(t *testing.T) {
	rows := []struct {
		name string
		in   SynthInput
		want []string // in the narrative
	}{
		{"nothing at all", SynthInput{}, []string{"ended without a valid handoff", "No file differs"}},
		{"a kill", SynthInput{Iteration: 7, Attempt: 2, TaskID: "T-3", Title: "login", Outcome: "crashed", Detail: "signal 9",
			Files: []FileTouched{{"a.go", "modified"}}, Tail: "I was about to"},
			[]string{"crashed (signal 9)", "iteration 7 on T-3 login, attempt 2", "- modified a.go", "I was about to"}},
		{"many files", SynthInput{Files: make([]FileTouched, 50)}, []string{"and 30 more"}},
		{"a flood of words", SynthInput{Tail: strings.Repeat("line of the flood\n", 10000)}, []string{"[…]"}},
		{"terminal codes and wrong bytes", SynthInput{Tail: "\x1b[31mred\x1b[0m \xff\u202eevil"}, []string{"red �evil"}},
		{"a refused handoff", SynthInput{Raw: []byte(`{"summary":"half done","freeform":"short"}`),
			Problems: []Problem{{"freeform", "has 5 characters"}}},
			[]string{"was not accepted", "freeform has 5 characters", "half done", "short"}},
		{"a claim through the tool", SynthInput{TaskID: "T-1", Claimed: true}, []string{"had reported the task complete"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			h := Synthesize(row.in)
			data, err := json.Marshal(h)
			if err != nil {
				t.Fatal(err)
			}
			if _, problems := ParseHandoff(data); problems != nil {
				t.Fatal(problems)
			}
			for _, part := range row.want {
				if !strings.Contains(h.Freeform, part) {
					t.Errorf("%q is not in\n%s", part, h.Freeform)
				}
			}
			if h.TaskCompleted.FullyComplete != row.in.Claimed {
				t.Error("the harness claims what the agent did not")
			}
			if len(h.Freeform) > 12000 {
				t.Errorf("%d bytes", len(h.Freeform))
			}
		})
	}
}

func FuzzParseHandoff(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(`{"task_completed":{},"summary":1}`))
	f.Add([]byte(`"{}"`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, problems := ParseHandoff(data)
		if (h == nil) == (problems == nil) {
			t.Fatalf("a handoff and problems, or neither: %v %v", h, problems)
		}
		if h == nil {
			// An invalid document can still be turned into a valid handoff.
			s, _ := json.Marshal(Synthesize(SynthInput{Raw: data, Problems: problems, Tail: string(data), Detail: string(data)}))
			if _, bad := ParseHandoff(s); bad != nil {
				t.Fatal(bad)
			}
			return
		}
		out, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		again, problems := ParseHandoff(out)
		if problems != nil {
			t.Fatalf("what was accepted is refused when written: %v\n%s", problems, out)
		}
		if diff := cmp.Diff(h, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestFaults(t *testing.T) {
	_, problems := ParseHandoff([]byte(`{"task_completed": {"fully_complete": true}, "tests_added": 3}`))
	want := []string{"freeform is missing, and so are ", "tests_added "}
	got := Faults(problems)
	if len(got) != len(want) {
		t.Fatalf("%d lines: %q", len(got), got)
	}
	for i, w := range want {
		if !strings.HasPrefix(got[i], w) {
			t.Errorf("line %d is %q, want %q", i+1, got[i], w)
		}
	}
	for _, field := range []string{"task_completed.task_id", "summary", "deviations", "recommendations"} {
		if !strings.Contains(got[0], field) {
			t.Errorf("%q does not name %s", got[0], field)
		}
	}
	if got := Faults([]Problem{{Path: "deviations", Message: "is missing"}}); got[0] != "deviations is missing" {
		t.Errorf("%q", got)
	}
}
