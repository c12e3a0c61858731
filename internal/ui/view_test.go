package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
)

var t0 = time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC)

func working() *View {
	v := &View{Snapshot: Snapshot{Branch: "main", Phase: "building", Session: 3, Iteration: 7, Task: "T-004",
		Title:   "quote a word for a POSIX shell",
		Attempt: 2, Since: t0.Add(10 * time.Minute), Started: t0, Done: 5, Wanted: 9, Tokens: 119_432, CostSession: 410_000,
		CostLimit:  5_000_000,
		ContextPct: 43, ContextAt: t0.Add(12 * time.Minute), Handoff: 60, Hard: 80, Pace: 2 * time.Minute}}
	for i := range 9 {
		status := "pending"
		switch {
		case i < 4:
			status = "done"
		case i == 4:
			status = "failed"
		case i == 5:
			status = "in_progress"
		}
		v.Tasks = append(v.Tasks, Task{ID: fmt.Sprintf("T-%03d", i+1), Title: "the task", Status: status})
	}
	v.Apply(Event{Kind: Began, Time: t0.Add(10 * time.Minute)})
	v.Apply(Event{Kind: Tool, Time: t0.Add(11 * time.Minute), Text: "Bash npm test"})
	return v
}

func TestLines(t *testing.T) {
	now := t0.Add(12*time.Minute + 3*time.Second)
	want := `
── main · building · session 3 ─────────────────────────────────────── 12m03s ──
2m03s #7  T-004 quote a word for a POSIX shell  attempt 2
  Bash npm test  1m03s
███████████░░░░░░░░░ 5 of 9 tasks, 1 failed, about 6m left
context ██████░┃░░░░░ 43 %  119k tokens  $0.41 of $5.00
p pause  s stop  n note  k skip  t tasks  d detail  q leave  ? help`
	if got := "\n" + strings.Join(working().Lines(80, 24, now, Palette{}), "\n"); got != want {
		t.Errorf("at 80 columns:%s\nwant:%s", got, want)
	}
}

// TestWidths: no line is wider than the terminal, whatever it shows.
func TestWidths(t *testing.T) {
	palette := Palette{Bold: func(s string) string { return "\x1b[1m" + s + "\x1b[0m" }}
	for _, width := range []int{20, 40, 60, 80, 200} {
		for _, change := range []func(*View){
			func(*View) {},
			func(v *View) { v.List = true },
			func(v *View) { v.Help = true },
			func(v *View) { v.Title = strings.Repeat("ein sehr langer Titel 漢字 ", 20) },
			func(v *View) { v.Apply(Event{Kind: Said, Text: strings.Repeat("word ", 200)}) },
			func(v *View) { s := strings.Repeat("typed ", 50); v.Typing = &s },
			func(v *View) { v.WaitUntil = t0.Add(time.Hour) },
			func(v *View) { v.Branch = strings.Repeat("b", 300) },
			func(v *View) { *v = View{} },
		} {
			v := working()
			change(v)
			for _, height := range []int{3, 24} {
				lines := v.Lines(width, height, t0.Add(12*time.Minute), palette)
				if len(lines) > height || len(lines) == 0 {
					t.Errorf("%d lines on %d rows", len(lines), height)
				}
				for _, l := range lines {
					if n := ansi.StringWidth(l); n > width || strings.Contains(l, "\n") {
						t.Errorf("%d columns of %d: %q", n, width, l)
					}
				}
			}
		}
	}
}

func TestWhatIsSaid(t *testing.T) {
	now := t0.Add(12 * time.Minute)
	for _, tt := range []struct {
		why    string
		change func(*View)
		want   string
	}{
		{"a check that ended", func(v *View) { v.Apply(Event{Kind: Check, Text: "test: failed"}) }, "  check test: failed"},
		{"the agent's words", func(v *View) { v.Apply(Event{Kind: Said, Text: "Now the code."}) }, "  Now the code."},
		{"a long silence", func(v *View) { v.Apply(Event{Kind: Began, Time: t0.Add(10 * time.Minute)}) },
			"last sign 2m00s ago"},
		{"a request that is still to come", func(v *View) { v.Asked = "stopping after this iteration" },
			"stopping after this iteration"},
		{"a wait", func(v *View) { v.WaitUntil, v.WaitFor = now.Add(90*time.Minute), "the provider's limit" },
			"1h30m left: the provider's limit"},
		{"what an agent told of its window a while ago", func(v *View) { v.ContextAt = now.Add(-time.Minute) },
			"43 % 1m00s ago"},
		{"what the agent before told of its window", func(v *View) { v.ContextAt = time.Time{} }, "43 % before"},
		{"between iterations", func(v *View) { v.Task = "" }, "between iterations"},
		{"at the start", func(v *View) { *v = View{Snapshot: Snapshot{Branch: "main"}} }, "getting ready"},
		{"an unknown cost", func(v *View) { v.CostSession, v.CostUnknown = 0, true }, "cost unknown"},
		{"the list", func(v *View) { v.List = true }, "  ▸ T-006  the task"},
		{"an answer to a key", func(v *View) { v.Notice = "skipping T-004" }, "skipping T-004"},
	} {
		v := working()
		tt.change(v)
		if got := strings.Join(v.Lines(100, 30, now, Palette{}), "\n"); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q is not in\n%s", tt.why, tt.want, got)
		}
	}
}

func TestWords(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", 59 * time.Second: "59s", 3*time.Minute + 5*time.Second: "3m05s",
		2*time.Hour + 3*time.Minute: "2h03m", -time.Second: "0s"} {
		if got := Clock(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	for n, want := range map[int64]string{950: "950", 1234: "1.2k", 119_432: "119k", 4_300_000: "4.3M"} {
		if got := Count(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
	for d, want := range map[time.Duration]string{time.Second: "a minute", 20 * time.Minute: "20m",
		125 * time.Minute: "2h00m", 12 * time.Hour: "12h"} {
		if got := Rough(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// TestSubAgents: each sub-agent has a line below that of the agent, until it ends.
func TestSubAgents(t *testing.T) {
	v, now := working(), t0.Add(12*time.Minute)
	for i, name := range []string{"Explore the parser", "Plan", "a", "b", "c", "d"} {
		v.Apply(Event{Kind: Tool, Time: t0.Add(time.Duration(i) * time.Minute), Text: "Grep quote", Agent: name})
	}
	v.Apply(Event{Kind: Said, Time: now, Text: "found it", Agent: "Plan"})
	text := strings.Join(v.Lines(80, 24, now, Palette{}), "\n")
	for _, want := range []string{"Bash npm test", "Explore the parser  Grep quote  12m00s", "Plan  found it  0s",
		"and 2 more sub-agents"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	v.Apply(Event{Kind: Done, Time: now, Agent: "Plan"})
	if text := strings.Join(v.Lines(200, 24, now, Palette{}), "\n"); strings.Contains(text, "Plan") {
		t.Errorf("one that has ended is still there:\n%s", text)
	}
	v.Apply(Event{Kind: Ended, Time: now})
	if text := strings.Join(v.Lines(80, 24, now, Palette{}), "\n"); strings.Contains(text, "Explore") {
		t.Errorf("they outlive their iteration:\n%s", text)
	}
}

// TestListMoves: keys scroll the list of tasks, within its ends.
func TestListMoves(t *testing.T) {
	v := working()
	v.List = true
	for range 4 {
		v.Tasks = append(v.Tasks, v.Tasks...)
	}
	last := "T-LAST"
	v.Tasks = append(v.Tasks, Task{ID: last, Title: "the last one", Status: "pending"})
	shown := func() string { return strings.Join(v.Lines(80, 24, t0, Palette{}), "\n") }
	if strings.Contains(shown(), last) {
		t.Error("the list is not cut")
	}
	v.Offset += 100000
	if !strings.Contains(shown(), last) {
		t.Errorf("the end is not reached:\n%s", shown())
	}
	v.Offset -= 3
	if at := v.Offset; strings.Contains(shown(), last) || v.Offset != at {
		t.Errorf("it does not move back from the end:\n%s", shown())
	}
}

// TestWorkers: each of several workers has one line with what it does now.
func TestWorkers(t *testing.T) {
	at := func(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }
	for _, tt := range []struct {
		why    string
		events []Event
		want   []string
	}{
		{"nothing was heard yet", nil, []string{"[1] 1m00s T-001 one", "[3] 45s T-003 three  attempt 2  Bash make"}},
		{"each its own", []Event{{Kind: Began, Worker: 1, Time: at(0)},
			{Kind: Tool, Worker: 1, Time: at(10), Text: "Read a.go"},
			{Kind: Said, Worker: 3, Time: at(58), Text: "Now the code."}},
			[]string{"[1] 1m00s T-001 one  Read a.go 50s", "[3] 45s T-003 three  attempt 2  Now the code. 2s"}},
		{"a check", []Event{{Kind: Check, Worker: 1, Time: at(59), Text: "test: passed"}},
			[]string{"[1] 1m00s T-001 one  check test: passed 1s", "[3] 45s T-003 three  attempt 2  Bash make"}},
		{"a sub-agent", []Event{{Kind: Tool, Worker: 1, Time: at(60), Text: "Grep b", Agent: "Explore"},
			{Kind: Done, Worker: 1, Time: at(60), Agent: "Explore"}},
			[]string{"[1] 1m00s T-001 one  Grep b 0s", "[3] 45s T-003 three  attempt 2  Bash make"}},
		{"one has ended", []Event{{Kind: Tool, Worker: 1, Time: at(5), Text: "Read a.go"},
			{Kind: Ended, Worker: 1, Time: at(9)}},
			[]string{"[1] 1m00s T-001 one", "[3] 45s T-003 three  attempt 2  Bash make"}},
	} {
		v := &View{Snapshot: Snapshot{Branch: "main", Iteration: 3, Workers: []Worker{
			{Number: 1, Task: "T-001", Title: "one", Attempt: 1, Since: t0},
			{Number: 3, Task: "T-003", Title: "three", Attempt: 2, Since: at(15), Does: "Bash make"}}}}
		for _, e := range tt.events {
			v.Apply(e)
		}
		got := v.Lines(80, 24, at(60), Palette{})
		if strings.Join(got[1:3], "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("%s:\n%s\nwant:\n%s", tt.why, strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
		}
	}
}
