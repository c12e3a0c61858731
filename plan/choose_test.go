package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tasks makes a plan of lines "ID status priority dep,dep".
func tasks(lines ...string) Plan {
	var p Plan
	for _, line := range lines {
		f := strings.Fields(line)
		t := Task{ID: TaskID(f[0]), Title: "task " + f[0], Status: Pending, Priority: 1}
		if len(f) > 1 {
			t.Status = Status(f[1])
		}
		if len(f) > 2 {
			fmt.Sscan(f[2], &t.Priority)
		}
		if len(f) > 3 {
			for d := range strings.SplitSeq(f[3], ",") {
				t.DependsOn = append(t.DependsOn, TaskID(d))
			}
		}
		p.Tasks = append(p.Tasks, t)
	}
	return p
}

func TestNext(t *testing.T) {
	for _, c := range []struct {
		why  string
		plan Plan
		want TaskID
	}{
		{"nothing to do", Plan{}, ""},
		{"the lowest number first", tasks("a pending 2", "b pending 1"), "b"},
		{"then the plan's order", tasks("b pending 1", "a pending 1"), "b"},
		{"zero is lower than one", tasks("a pending 1", "b pending 0"), "b"},
		{"what waits is passed over", tasks("a pending 1 b", "b pending 9"), "b"},
		{"all dependencies must be done", tasks("a done", "b pending 5", "c pending 1 a,b"), "b"},
		{"done ones unblock", tasks("a done", "b pending 1 a"), "b"},
		{"a skipped dependency does not unblock", tasks("a skipped", "b pending 1 a"), ""},
		{"a failed one does not", tasks("a failed", "b pending 1 a"), ""},
		{"one that is not in the plan does not", tasks("b pending 1 x"), ""},
		{"only pending tasks are chosen", tasks("a in_progress", "b blocked", "c failed", "d done", "e skipped"), ""},
	} {
		got, ok := Next(c.plan)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q %v, want %q", c.why, got, ok, c.want)
		}
		runnable := c.plan.Runnable()
		if ok != (len(runnable) > 0) || ok && !slices.Contains(runnable, got) {
			t.Errorf("%s: runnable %v", c.why, runnable)
		}
	}
}

func TestCountsAndBlockers(t *testing.T) {
	p := tasks("a done", "b skipped", "c failed", "d blocked", "e pending 1 a,c", "f pending 1 e,x", "g in_progress",
		"h pending")
	p.Tasks[2].Attempts = 3
	p.Tasks[2].Failure = "The attempt was rejected: checks: test\n--- FAIL: TestX\nmore"
	p.Tasks[3].BlockedBy = []string{"no key", "no network"}
	if d := cmp.Diff(Counts{Total: 8, Pending: 3, InProgress: 1, Done: 1, Blocked: 1, Failed: 1, Skipped: 1},
		p.Counts()); d != "" {
		t.Error(d)
	}
	if p.Remaining() != 6 || p.PercentComplete() != 14 || p.Complete() {
		t.Error(p.Remaining(), p.PercentComplete(), p.Complete())
	}
	want := []Blocker{
		{ID: "c", Reason: "failed after 3 attempts: checks: test"},
		{ID: "d", Reason: "blocked: no key; no network"},
		{ID: "e", Reason: "waits on c (failed)", On: []TaskID{"c"}},
		{ID: "f", Reason: "waits on e (pending), x (not in the plan)", On: []TaskID{"e", "x"}},
	}
	if d := cmp.Diff(want, p.Blockers()); d != "" {
		t.Error(d)
	}
	for _, c := range []struct {
		plan     Plan
		percent  int
		complete bool
	}{
		{Plan{}, 0, false},
		{tasks("a done", "b skipped"), 100, true},
		{tasks("a done", "b done", "c pending"), 66, false},
		{tasks("a skipped", "b failed"), 0, false},
		{tasks("a skipped", "b skipped"), 0, true},
		{asideOf(tasks("a done", "b skipped", "c skipped", "d done"), "c"), 66, false},
	} {
		if got := c.plan.PercentComplete(); got != c.percent || c.plan.Complete() != c.complete {
			t.Errorf("%v: %d %v", c.plan, got, c.plan.Complete())
		}
	}
}

// asideOf is p with one task set aside by an agent.
func asideOf(p Plan, id TaskID) Plan {
	p.Tasks[p.Find(id)].PutAside(3, AmendmentReason, "too hard")
	return p
}

// TestSetAside: a task that an agent sets aside is neither worked on nor done.
func TestSetAside(t *testing.T) {
	p := asideOf(tasks("a done", "b pending", "c pending 1 b"), "b")
	if c := p.Counts(); c.Skipped != 1 || c.SetAside != 1 || c.Wanted() != 3 || p.PercentComplete() != 33 {
		t.Errorf("%+v", c)
	}
	if _, ok := Next(p); ok || p.Settled() {
		t.Error("what waits on a task set aside is neither runnable nor over")
	}
	p.Tasks[2].PutAside(4, "replaced")
	if d := cmp.Diff([]TaskID{"b", "c"}, p.SetAside()); d != "" || !p.Settled() || p.Complete() {
		t.Errorf("%v %v\n%s", p.Settled(), p.Complete(), d)
	}
	if left, gone := Archive(p); len(gone) != 1 || len(left.Tasks) != 2 {
		t.Errorf("archived %v", gone)
	}
	p.Tasks[1].SkippedBy = ""
	p.Tasks[2].SkippedBy = ""
	if !p.Complete() || p.PercentComplete() != 100 {
		t.Error("what a person agreed to leave out is over")
	}
}

func TestWaiting(t *testing.T) {
	p := tasks("a", "b pending 1 a", "c done 1 b", "d pending 1 c", "e failed 1 b", "f pending 1 e,a", "g")
	// c is done, so the tasks after it do not need b any more.
	if d := cmp.Diff([]TaskID{"b", "e", "f"}, p.Waiting("A")); d != "" {
		t.Error(d)
	}
	if got := tasks("a pending 1 b", "b pending 1 a").Waiting("a"); len(got) != 1 || got[0] != "b" {
		t.Error("a ring ends:", got)
	}
}

func TestArchive(t *testing.T) {
	p := tasks("a done", "b pending 1 a,s", "s skipped", "t skipped", "c pending 1 b,a")
	got, gone := Archive(p)
	if d := cmp.Diff([]TaskID{"a", "t"}, gone); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]TaskID{"b", "s", "c"}, HeadOf(got).Order); d != "" {
		t.Error(d)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	if before, _ := Next(p); len(p.Tasks[1].DependsOn) != 2 || before != "" {
		t.Error("the old plan was changed")
	}
	if id, ok := Next(got); ok {
		t.Errorf("%s waits on a skipped task and was chosen", id)
	}
}

func TestValidate(t *testing.T) {
	long := strings.Repeat("x", MaxText+1)
	for _, c := range []struct {
		why  string
		edit func(*Task)
		want string
	}{
		{"an id with a slash would be a path", func(t *Task) { t.ID = "a/b" },
			`task 1: id "a/b" holds '/'; ids are letters, digits, '.', '_' and '-'`},
		{"an id that is too long", func(t *Task) { t.ID = TaskID(strings.Repeat("a", 65)) }, "is longer than 64 characters"},
		{"the longest id", func(t *Task) { t.ID = TaskID(strings.Repeat("a", 64)) }, ""},
		{"no id", func(t *Task) { t.ID = "" }, "task 1: id is empty"},
		{"a title of blanks", func(t *Task) { t.Title = " \t" }, "a has no title"},
		{"a title with lines", func(t *Task) { t.Title = "a\nb" }, "a: the title has more than one line"},
		{"a title like a page", func(t *Task) { t.Title = strings.Repeat("ü", MaxTitle+1) },
			"a: the title is longer than 500 characters"},
		{"the longest title counts characters", func(t *Task) { t.Title = strings.Repeat("ü", MaxTitle) }, ""},
		{"an unknown status", func(t *Task) { t.Status = "complete" }, `a has the status "complete"; known are pending`},
		{"negative attempts", func(t *Task) { t.Attempts = -1 }, "a: attempts is -1; it must not be negative"},
		{"a negative limit", func(t *Task) { t.MaxAttempts = ptr(-2) }, "a: max_attempts is -2; it must not be negative"},
		{"negative tokens", func(t *Task) { t.ActualTokens = -5 }, "a: actual_tokens is -5; it must not be negative"},
		{"a text too long for an event", func(t *Task) { t.Notes = long }, "a: notes is longer than 1048576 bytes"},
		{"a command too long for one", func(t *Task) { t.Verify = []string{long} },
			"a: entry 1 of verify is longer than 1048576 bytes"},
		{"an empty criterion", func(t *Task) { t.Criteria = []string{"x", " "} }, "a: entry 2 of criteria is empty"},
		{"a command no process can have", func(t *Task) { t.Verify = []string{"a\x00b"} },
			"a: entry 1 of verify holds a zero byte, which no command can"},
		{"more entries than anyone reads", func(t *Task) { t.Criteria = slices.Repeat([]string{"x"}, MaxItems+1) },
			"a: criteria has more than 1000 entries"},
		{"zero limits are a choice", func(t *Task) { t.MaxAttempts, t.Priority = ptr(0), 0 }, ""},
	} {
		p := tasks("a")
		c.edit(&p.Tasks[0])
		err := p.Validate()
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.why, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s:\n got %v\nwant %s", c.why, err, c.want)
		}
	}
}

func TestCycles(t *testing.T) {
	for _, c := range []struct {
		why  string
		plan Plan
		want []string
	}{
		{"a diamond is none", tasks("a", "b pending 1 a", "c pending 1 a", "d pending 1 b,c"), nil},
		{"named in full, from the earliest task", tasks("c pending 1 a", "a pending 1 b", "b pending 1 c"),
			[]string{"c depends on itself: c → a → b → c"}},
		{"who only waits on a ring is not on it", tasks("a pending 1 b", "b pending 1 a", "c pending 1 a"),
			[]string{"a depends on itself: a → b → a"}},
		{"two rings are two problems", tasks("a pending 1 b", "b pending 1 a", "c pending 1 d", "d pending 1 c"),
			[]string{"a depends on itself: a → b → a", "c depends on itself: c → d → c"}},
		{"every task on a ring is named in one", tasks("a pending 1 b,c", "b pending 1 a", "c pending 1 b"),
			[]string{"a depends on itself: a → b → a", "a depends on itself: a → c → b → a"}},
		{"between two rings is on none",
			tasks("a pending 1 b", "b pending 1 a,m", "m pending 1 c", "c pending 1 d", "d pending 1 c"),
			[]string{"a depends on itself: a → b → a", "c depends on itself: c → d → c"}},
	} {
		var got []string
		for _, p := range Check(c.plan, Places{}, nil) {
			got = append(got, p.Text)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s:\n%s", c.why, d)
		}
	}
	// The deepest possible plan, as one cycle, is checked without recursion.
	p := Plan{}
	for i := range 50_000 {
		p.Tasks = append(p.Tasks, Task{ID: NumberedID(i), Title: "x", Status: Pending,
			DependsOn: []TaskID{NumberedID((i + 1) % 50_000)}})
	}
	if got := Check(p, Places{}, nil); len(got) != 1 || strings.Count(got[0].Text, "→") != 50_000 {
		t.Errorf("%d problems", len(got))
	}
}

func TestIDsAndTitles(t *testing.T) {
	if got := NextID(tasks("T-001", "t-007", "T-x", "T-", "other", "T-9999999999")); got != "T-008" {
		t.Error(got)
	}
	if got := NextID(Plan{}); got != "T-001" {
		t.Error(got)
	}
	for _, c := range []struct{ in, want string }{
		{"short", "short"},
		{"\n\n## A  heading\nmore", "A heading"},
		{"- a bullet", "a bullet"},
		{"", ""},
		{strings.Repeat("word ", 30), strings.Repeat("word ", 13) + "word…"},
		{strings.Repeat("x", 100), strings.Repeat("x", 71) + "…"},
		{strings.Repeat("ü", 72), strings.Repeat("ü", 72)},
	} {
		if got := TitleFrom(c.in); got != c.want {
			t.Errorf("%q: %q", c.in, got)
		}
	}
	task := FromText(tasks("T-001"), "Fix the login\r\n\r\nIt fails with ü.\n")
	if d := cmp.Diff(Task{ID: "T-002", Title: "Fix the login", Description: "Fix the login\n\nIt fails with ü.",
		Status: Pending, Priority: 1}, task); d != "" {
		t.Error(d)
	}
}

func bigPlan(n int) Plan {
	p := Plan{}
	for i := range n {
		t := Task{ID: NumberedID(i), Title: fmt.Sprintf("task %d of a large plan", i), Status: Pending, Priority: i % 7,
			Description: "Some lines\nof description\nwith `code` and \"quotes\".",
			Criteria:    []string{"it works", "it is tested"}, Verify: []string{"go test ./..."}}
		for d := range min(i, 5) {
			t.DependsOn = append(t.DependsOn, NumberedID(i-1-d))
		}
		if i < n/2 {
			t.Status = Done
		}
		p.Tasks = append(p.Tasks, t)
	}
	return p
}

func BenchmarkNext(b *testing.B) {
	p := bigPlan(10_000)
	for b.Loop() {
		Next(p)
	}
}

func BenchmarkValidate(b *testing.B) {
	p := bigPlan(10_000)
	for b.Loop() {
		if err := p.Validate(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeTask(b *testing.B) {
	data := EncodeTask(bigPlan(10).Tasks[9])
	for b.Loop() {
		if _, err := DecodeTask("x.toml", data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeTask(b *testing.B) {
	task := bigPlan(10).Tasks[9]
	for b.Loop() {
		EncodeTask(task)
	}
}
