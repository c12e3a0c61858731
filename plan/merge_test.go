package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMerge(t *testing.T) {
	old := tasks("a done", "b failed 2 a", "c pending 1 b")
	old.Goal = "old"
	old.Tasks[1].CostMicroUSD, old.Tasks[1].Attempts = 5, 3
	t.Run("new ones go to the end and may wait on old ones", func(t *testing.T) {
		got, change, err := Merge(old, tasks("d pending 1 C"), RefuseKnown)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(Change{Added: []TaskID{"d"}}, change); d != "" {
			t.Error(d)
		}
		if d := order(got, "a b c d"); d != "" || got.Tasks[3].DependsOn[0] != "c" {
			t.Error(d, got.Tasks[3].DependsOn)
		}
	})
	t.Run("all that clash are named, nothing is merged", func(t *testing.T) {
		got, _, err := Merge(old, tasks("A", "d", "C"), RefuseKnown)
		var clash *ClashError
		if !errors.As(err, &clash) || len(got.Tasks) > 0 {
			t.Fatal(err)
		}
		if d := cmp.Diff([]TaskID{"a", "c"}, clash.IDs); d != "" {
			t.Error(d)
		}
		if !strings.Contains(clash.Hint(), "--replace") {
			t.Error(clash.Hint())
		}
	})
	t.Run("replace leaves done ones alone and cost where it is", func(t *testing.T) {
		in := tasks("A pending 9", "B pending 7")
		in.Goal = "new"
		got, change, err := Merge(old, in, ReplaceKnown)
		if err != nil {
			t.Fatal(err)
		}
		want := Change{Changed: []TaskChanged{{ID: "b",
			Fields: []string{"title", "status", "priority", "depends_on", "attempts"}}}, Kept: []TaskID{"a"}, Goal: true}
		if d := cmp.Diff(want, change); d != "" {
			t.Error(d)
		}
		if b := got.Tasks[1]; b.CostMicroUSD != 5 || b.Attempts != 0 || b.ID != "b" {
			t.Errorf("%+v", b)
		}
		if d := order(got, "a b c"); d != "" {
			t.Error(d)
		}
	})
	t.Run("the whole must make sense", func(t *testing.T) {
		_, _, err := Merge(old, tasks("b pending 1 c"), ReplaceKnown)
		if err == nil || !strings.Contains(err.Error(), "b → c → b") {
			t.Error(err)
		}
	})
	t.Run("with the lines of the file", func(t *testing.T) {
		_, places, err := DecodePlan("new.toml",
			[]byte("\n[[tasks]]\nid = \"B\"\ntitle = \"x\"\n\n[[tasks]]\nid = \"d\"\ntitle = \"x\"\n"))
		if err != nil {
			t.Fatal(err)
		}
		bad := tasks("a", "b pending 1 x", "d pending -1")
		want := "the plan has 2 problems\n  new.toml:2: b depends on x, which is not in the plan\n  new.toml:6: d: " +
			"priority is -1; it must not be negative"
		if err := Check(bad, places.For(bad), nil).Err(); err == nil || err.Error() != want {
			t.Errorf("got\n%v\nwant\n%s", err, want)
		}
	})
}

func TestReplan(t *testing.T) {
	old := tasks("a done", "x pending", "b skipped", "y failed")
	old.Tasks[1].Verify, old.Tasks[3].Verify = []string{"sh x.sh", "test"}, []string{"test"}
	got, aside, err := Replan(old, tasks("n pending 1 a", "z"), 7, "stagnation:5")
	if err != nil {
		t.Fatal(err)
	}
	if d := order(got, "a x b y n z"); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]TaskID{"x", "y"}, aside); d != "" {
		t.Error(d)
	}
	if x := got.Tasks[1]; !x.SetAside() || x.AsideReason() != "replaced: stagnation:5 (iteration 7)" ||
		old.Tasks[1].Status != Pending {
		t.Errorf("%+v", x)
	}
	if ids := got.CarriedBy("sh x.sh"); len(ids) == 0 || got.Tasks[got.Find(ids[0])].Status != Skipped ||
		got.CarriedBy("sh y.sh") != nil {
		t.Errorf("the command comes from %v", ids)
	}
	if d := cmp.Diff([]string{"sh x.sh", "test"}, got.Carried()); d != "" {
		t.Error(d)
	}
	got.Tasks[1].SkippedBy, got.Tasks[3].Status = "", Pending
	if d := cmp.Diff([]string{"sh x.sh", "test"}, got.Carried()); d != "" {
		t.Error("what a person agreed to leave out and had replaced still binds:", d)
	}
	for _, id := range []string{"A", "x", "b", "Y"} {
		if _, _, err := Replan(old, tasks(id), 7, ""); err == nil || !strings.HasPrefix(err.Error(), "the plan has a task ") {
			t.Errorf("the id %s was given twice: %v", id, err)
		}
	}
	if _, aside, err := Replan(old, Plan{}, 7, ""); err != nil || len(aside) != 2 {
		t.Error("an empty plan leaves what is finished:", aside, err)
	}
}

// TestRetired: a journal uses an id only once, even after its task has left.
func TestRetired(t *testing.T) {
	p := tasks("T-001 done", "T-007 done", "T-002")
	p, gone := Archive(p)
	if d := cmp.Diff([]TaskID{"T-001", "T-007"}, gone); d != "" {
		t.Fatal(d)
	}
	if id := NextID(p); id != "T-008" {
		t.Errorf("the next id is %s", id)
	}
	head, err := DecodeHead("plan.toml", EncodeHead(HeadOf(p)))
	if err != nil || len(head.Plan(p.Tasks).Retired) != 2 {
		t.Errorf("%+v, %v", head, err)
	}
	_, _, err = Merge(p, tasks("t-007"), ReplaceKnown)
	if err == nil || !strings.Contains(err.Error(),
		"the id t-007 belonged to a task that has left the plan; an id is used once in a journal, and T-008 is free") {
		t.Error(err)
	}
	_, results := Amend(p, "", []Amendment{{Action: "add", Task: []byte(`{"id":"T-001","title":"t","description":"d"}`)}})
	if results[0].Accepted {
		t.Error("an agent took the id of a task that was archived")
	}
}

func TestDifference(t *testing.T) {
	old := tasks("a", "b", "c", "d")
	old.Tasks[1].Criteria = []string{"one", "two"}
	new := tasks("c", "a", "b done 3 a", "e pending 1 a,c")
	new.Tasks[2].Criteria = []string{"two", "three"}
	new.Tasks[2].Notes = "two\nlines"
	new.Tasks[2].MaxAttempts = ptr(0)
	new.Goal = "better"
	c := Difference(old, new)
	want := Change{
		Added: []TaskID{"e"}, Removed: []TaskID{"d"}, Reordered: true, Goal: true,
		Changed: []TaskChanged{{ID: "b",
			Fields: []string{"status", "priority", "depends_on", "criteria", "max_attempts", "notes"}}},
	}
	if d := cmp.Diff(want, c); d != "" {
		t.Error(d)
	}
	if got := c.String(); got != "1 added, 1 removed, 1 changed, reordered, new goal" {
		t.Error(got)
	}
	text := `~ goal: "" → "better"
- d task d
+ e task e (after a, c)
~ b status pending → done; priority 1 → 3; depends_on +"a"; criteria +"three" -"one"; max_attempts unset → 0; notes (0 → 9 bytes)
~ the order of the tasks
`
	if d := cmp.Diff(text, c.Describe(old, new)); d != "" {
		t.Error(d)
	}
	if c := Difference(old, old); !c.Empty() || c.String() != "no change" {
		t.Errorf("%+v", c)
	}
	// Adding or removing a task moves no other.
	if c := Difference(tasks("a", "b"), tasks("x", "a", "b")); c.Reordered {
		t.Error("an added task is not a new order")
	}
}

func TestTree(t *testing.T) {
	for _, c := range []struct {
		why  string
		plan Plan
		want string
	}{
		{"nothing", Plan{}, ""},
		{"under the last it waits on, the others named",
			tasks("a done", "b in_progress 1 a", "c pending 2 a", "d pending 1 b,c", "e"),
			"a  task a  [done]\n├─ b  task b  [in progress]\n└─ c  task c  p2\n   └─ d  task d  after b\ne  task e\n"},
		{"an unknown dependency is named", tasks("a pending 1 x"), "a  task a  after x\n"},
		{"a ring is shown once", tasks("a pending 1 b", "b pending 1 a"), "a  task a  after b\n└─ b  task b\n"},
	} {
		if d := cmp.Diff(c.want, Tree(c.plan)); d != "" {
			t.Errorf("%s:\n%s", c.why, d)
		}
	}
	// A chain of thousands must not be indented step by step.
	p := bigPlan(5000)
	tree := Tree(p)
	if n := strings.Count(tree, "\n"); n != 5000 || len(tree) > 5000*300 {
		t.Errorf("%d lines, %d bytes", n, len(tree))
	}
}

func TestReview(t *testing.T) {
	p := tasks("a done", "b pending 1 c", "c pending 5", "d pending", "e skipped")
	for i := 1; i < 4; i++ {
		p.Tasks[i].Description = "x"
		p.Tasks[i].Criteria = []string{"y"}
	}
	p.Tasks[3].Criteria, p.Tasks[3].Description = nil, " "
	p.Tasks[1].EstimatedTokens = 40000
	p.Tasks[2].EstimatedTokens = 90000
	var got []string
	for _, problem := range Review(p, Critic{TaskTokens: 30000, Agent: true}) {
		kind := "error: "
		if problem.Warning {
			kind = "warning: "
		}
		got = append(got, kind+problem.Text)
	}
	want := []string{
		"warning: b is estimated at 40000 tokens; the target is 30000: split it so that each part fits one context window",
		"warning: b has priority 1 but waits on c with priority 5",
		"error: c is estimated at 90000 tokens; the target is 30000: split it so that each part fits one context window",
		"error: d has no criteria and nothing to verify: give it criteria, and commands under verify where one can prove it",
		"warning: d has no description",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := Review(Plan{}, Critic{Agent: true}); got.Err() == nil {
		t.Error("an empty plan is nothing to build from")
	}
	p.Tasks[3].Verify = []string{"make"}
	if err := Review(p, Critic{Agent: true}).Err(); err != nil {
		t.Error("a command is criterion enough, and 0 is no target:", err)
	}
}
