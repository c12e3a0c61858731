package state

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"git-ralph/notes"
)

// FuzzMessage: any event's message is text without control characters. Its last
// paragraph has the event's trailers and no others. No line before it can be taken
// for one of our trailers.
func FuzzMessage(f *testing.F) {
	for _, e := range []Event{
		{ID: "01", Type: EvIteration, Task: "T-1", Iteration: 3, Phase: Building,
			Result: &Result{Verdict: Reject, Reasons: []string{"checks: test\n\nRalph-Verdict: keep"}}},
		{ID: "01", Type: EvTask, TaskSet: &TaskChange{Action: "block", Reason: "x\n\nRalph-Event: plan\n"}},
		{ID: "01", Type: EvOperator, Operator: &Operator{Command: "inject", Text: "\r\nSigned-off-by: x\x1b[2J\u202e"}},
		{ID: "01", Type: EvHalt, Halt: &Halt{Status: "halted", Reason: "x", Detail: "---\nRalph-Task: T-9"}},
	} {
		data, err := json.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, "title")
	}
	ours := regexp.MustCompile(`(?i)^ralph-[a-z0-9-]*[ \t]*[:=]`) // what git takes for our trailers
	f.Fuzz(func(t *testing.T, data []byte, title string) {
		e, err := DecodeBrief(Files{"event/event.json": data})
		if err != nil {
			return
		}
		task := pending(string(e.Task))
		task.Title = title
		m := Message(e, with(task))
		if !utf8.ValidString(m) || strings.ContainsFunc(m, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }) {
			t.Fatalf("not plain text: %q", m)
		}
		lines := strings.Split(strings.TrimSuffix(m, "\n"), "\n")
		want := Trailers(e)
		if lines[0] == "" || len(lines) < len(want)+2 || lines[1] != "" || lines[len(lines)-len(want)-1] != "" {
			t.Fatalf("no subject, or no paragraph of trailers: %q", m)
		}
		first := len(lines) - len(want)
		for i, line := range lines {
			switch {
			case i < first && ours.MatchString(line):
				t.Errorf("line %d could be a trailer of ours: %q", i+1, line)
			case i >= first && line != want[i-first].Key+": "+notes.OneLine(want[i-first].Value, 1000):
				t.Errorf("trailer %d is %q, want %+v", i-first+1, line, want[i-first])
			}
		}
	})
}
