package plan

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"git-ralph/internal/text"
)

// sameTask compares tasks as the plan does: no list is an empty list.
var sameTask = cmp.Options{cmpopts.EquateEmpty(), cmpopts.EquateApproxTime(0)}

func ptr[T any](v T) *T { return &v }

// fullTask has every field set to something that no default has.
func fullTask() Task {
	return Task{
		ID: "T-003", Title: `Add the "login" endpoint`, Status: Failed, Priority: 7,
		DependsOn: []TaskID{"T-001", "T-002"}, Description: "First line.\n\n\tIndented, with C:\\path and \"\"\" in it.\n",
		Criteria: []string{"POST /api/login returns a token", "Two\nlines"},
		Verify:   []string{`go test ./... -run 'Login'`, `sh -c "exit 0"`},
		Skills:   []string{"go-http"}, Libraries: []string{"net/http"}, NeedsDocs: true, Spec: "specs/login.md",
		Type:  "feature",
		Model: "opus", MaxTurns: 20, MaxAttempts: ptr(0), AllowTestChanges: true, NoChangeExpected: true,
		AllowProtected:  []string{"specs/**"},
		EstimatedTokens: 25000, Attempts: 2, Rung: 1, Partial: 1, ActualTokens: 31234, CostMicroUSD: 421100,
		CompletedAt: ptr(time.Date(2026, 1, 31, 15, 4, 5, 678000000, time.UTC)), BlockedBy: []string{"no key"},
		SkippedBy: "agent", SkippedIn: 7,
		Notes: "one line", Failure: "--- FAIL: TestLogin\nexit status 1",
	}
}

func TestTaskTOMLRoundTrip(t *testing.T) {
	for _, c := range []struct {
		why  string
		task Task
	}{
		{"the empty task keeps its zero priority", Task{ID: "T-001", Title: "t", Status: Pending}},
		{"every field at once", fullTask()},
		{"text that ends in the delimiter", Task{Description: "a\n\"\"\"\"\"\"", Title: `"`}},
		{"text that ends in the other delimiter, with a backslash",
			Task{Description: "a\\\n'", Notes: "\\\n'''", Title: "'"}},
		{"carriage returns and control characters", Task{Description: "a\r\nb\x00\x01\x1b[31m\x7f", Title: "\r"}},
		{"a line end alone, and one at the start", Task{Description: "\n", Notes: "\n\nx"}},
		{"a backslash at a line's end must not join lines", Task{Description: "make \\\n  all\n\"\"\""}},
		{"trailing blanks and tabs", Task{Description: "a  \n\t\n  b", Title: "a\tb"}},
		{"bidi marks and odd line ends", Task{Title: "a\u202eb\u2028c\ufeff", Description: "x\n\u200d\U000E0001"}},
		{"a very long line", Task{Description: strings.Repeat("wide ", 20000)}},
		{"a list too long for its line", Task{Criteria: []string{strings.Repeat("x", 60), strings.Repeat("y", 60), ""}}},
		{"unlimited attempts are not the default", Task{MaxAttempts: ptr(0)}},
	} {
		t.Run(c.why, func(t *testing.T) {
			data := EncodeTask(c.task)
			fast, err := DecodeTask("tasks/x.toml", data)
			if err != nil {
				t.Fatalf("%v\n%s", err, data)
			}
			slow, err := decodeTaskSlowly("tasks/x.toml", data)
			if err != nil {
				t.Fatalf("slow: %v\n%s", err, data)
			}
			if d := cmp.Diff(c.task, fast, sameTask); d != "" {
				t.Errorf("after the journal's reader:\n%s\n%s", d, data)
			}
			if again := EncodeTask(fast); !bytes.Equal(again, data) {
				t.Errorf("written again:\n%s\nwas\n%s", again, data)
			}
			// The parser of users' files cleans line ends. Otherwise both agree.
			want := c.task
			for _, f := range TaskFields {
				if s, ok := f.At(&want).(*string); ok {
					*s = text.Clean(*s)
				}
			}
			if d := cmp.Diff(want, slow, sameTask); d != "" {
				t.Errorf("after the reader for people:\n%s\n%s", d, data)
			}
		})
	}
}

func TestTaskFileReadsWell(t *testing.T) {
	got := string(EncodeTask(fullTask()))
	want := `id = "T-003"
title = 'Add the "login" endpoint'
status = "failed"
priority = 7
depends_on = ["T-001", "T-002"]
description = '''
First line.

	Indented, with C:\path and """ in it.
'''
criteria = [
  "POST /api/login returns a token",
  """
Two
lines""",
]
verify = ["go test ./... -run 'Login'", 'sh -c "exit 0"']
skills = ["go-http"]
libraries = ["net/http"]
needs_docs = true
spec = "specs/login.md"
type = "feature"
model = "opus"
max_turns = 20
max_attempts = 0
allow_test_changes = true
no_change_expected = true
allow_protected = ["specs/**"]
estimated_tokens = 25000
attempts = 2
rung = 1
partial = 1
actual_tokens = 31234
cost_micro_usd = 421100
completed_at = 2026-01-31T15:04:05.678Z
blocked_by = ["no key"]
skipped_by = "agent"
skipped_in = 7
notes = "one line"
failure = """
--- FAIL: TestLogin
exit status 1"""
`
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestHeadRoundTrip(t *testing.T) {
	head := Head{Goal: "two\nlines", Created: time.Date(2026, 1, 31, 15, 4, 5, 0, time.UTC),
		Order: []TaskID{"T-001", "T-002"}}
	data := EncodeHead(head)
	want := "goal = \"\"\"\ntwo\nlines\"\"\"\ncreated = 2026-01-31T15:04:05Z\norder = [\n  \"T-001\",\n  \"T-002\",\n]\n"
	if d := cmp.Diff(want, string(data)); d != "" {
		t.Error(d)
	}
	got, err := DecodeHead("plan.toml", data)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(head, got); d != "" {
		t.Error(d)
	}
	if _, err := DecodeHead("plan.toml", []byte("gaol = \"x\"\n")); err == nil ||
		err.Error() != `plan.toml:1: unknown key "gaol"; did you mean "goal"?` {
		t.Error(err)
	}
	if got, err := DecodeHead("plan.toml", EncodeHead(Head{})); err != nil || got.Order != nil {
		t.Error("an empty head:", got, err)
	}
	p := head.Plan([]Task{{ID: "T-009"}, {ID: "T-002"}})
	if d := cmp.Diff([]TaskID{"T-002", "T-009"}, HeadOf(p).Order); d != "" {
		t.Errorf("ordered first, others behind, absent ones left out:\n%s", d)
	}
}

func TestDecodeTaskReportsEverything(t *testing.T) {
	_, err := DecodeTask("tasks/T-001.toml", []byte("id = \"T-001\"\nstaus = \"done\"\npriority = \"x\"\n"))
	want := "the plan has 2 problems\n" +
		"  tasks/T-001.toml:2: T-001: unknown key \"staus\"; did you mean \"status\"?\n" +
		"  tasks/T-001.toml:3: T-001: priority is a text; it must be a whole number"
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func FuzzTaskTOML(f *testing.F) {
	f.Add("T-001", "title", "text\nin lines", "a command", int64(3), true)
	f.Add("x", "\"'''\\", "\"\"\"\n'''\\\n", "a\nb'''\\", int64(-1), false)
	f.Add("", "\x00\x7f\u202e", "\r\n\n\"", "\"", int64(1<<62), true)
	f.Add("a", "\xff\xfe", "\n", "\\u0000", int64(0), false)
	f.Fuzz(func(t *testing.T, id, title, text, item string, n int64, flag bool) {
		in := Task{
			ID: TaskID(id), Title: title, Description: text, Status: Status(item), Priority: int(int32(n)),
			DependsOn: []TaskID{TaskID(item), TaskID(id)}, Criteria: []string{text, item, ""}, Verify: []string{item},
			NeedsDocs: flag, Notes: item, Failure: title, EstimatedTokens: n, CostMicroUSD: -n,
		}
		if flag {
			in.MaxAttempts = ptr(int(int32(n)))
			in.CompletedAt = ptr(time.Unix(n%253402300799, n%1e9&0x3fffffff).UTC())
		}
		data := EncodeTask(in)
		out, err := DecodeTask("x.toml", data)
		if err != nil {
			t.Fatalf("%v\n%q", err, data)
		}
		want := in
		for _, f := range TaskFields { // only invalid text is changed
			switch v := f.At(&want).(type) {
			case *string:
				*v = toValid(*v)
			case *TaskID:
				*v = TaskID(toValid(string(*v)))
			case *Status:
				*v = Status(toValid(string(*v)))
			case *[]string:
				for i := range *v {
					(*v)[i] = toValid((*v)[i])
				}
			case *[]TaskID:
				for i := range *v {
					(*v)[i] = TaskID(toValid(string((*v)[i])))
				}
			case **time.Time:
				if *v != nil && ((*v).IsZero() || (*v).Year() < 0) {
					*v = nil
				}
			}
		}
		if d := cmp.Diff(want, out, sameTask); d != "" {
			t.Fatalf("%s\n%s", d, data)
		}
		if again := EncodeTask(out); !bytes.Equal(again, data) {
			t.Fatalf("other bytes:\n%s\n%s", data, again)
		}
		var plan bytes.Buffer
		plan.Write(EncodePlan(Plan{Goal: title, Tasks: []Task{in, out}}))
		c := &Collector{Source: "x"}
		if p, _ := c.ReadPlan(plan.Bytes()); len(c.Problems) > 0 || len(p.Tasks) != 2 {
			t.Fatalf("%v\n%s", c.Problems, plan.Bytes())
		}
	})
}

func toValid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
