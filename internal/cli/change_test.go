package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/internal/view"
	"git-ralph/plan"
)

func taskList(ids ...string) plan.Plan {
	var p plan.Plan
	for _, id := range ids {
		p.Tasks = append(p.Tasks, plan.Task{ID: plan.TaskID(id), Title: "title of " + id, Status: plan.Pending, Priority: 1})
	}
	return p
}

func TestTaskIDs(t *testing.T) {
	p := taskList("T-001", "T-002", "T-010", "build-api")
	for _, tt := range []struct {
		ids  []string
		want string // the ids found, or the hint's suggestion
		why  string
	}{
		{[]string{"t-001", "BUILD-API"}, "T-001 build-api", "case does not matter"},
		{[]string{"T-001", "t-001"}, "T-001", "a task is meant once"},
		{[]string{"10"}, "did you mean T-010?", "a bare number"},
		{[]string{"T-0002"}, "did you mean T-002", "the nearest is named first"},
		{[]string{"build_api"}, "did you mean build-api?", "a slip"},
		{[]string{"completely-else"}, "git ralph tasks lists them", "nothing is near"},
	} {
		got, err := taskIDs(p, tt.ids)
		text := strings.Join(strings.Split(view.JoinIDs(got), ", "), " ")
		if err != nil {
			text = hintText(err)
		}
		if !strings.HasPrefix(text, tt.want) {
			t.Errorf("%s: %v gives %q, want %q", tt.why, tt.ids, text, tt.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"imprt", "import", 1},
		{strings.Repeat("x", 65), "x", 1 << 20}} {
		if got := distance(tt.a, tt.b); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d", tt.a, tt.b, got, tt.want)
		}
		if got := distance(tt.b, tt.a); got != tt.want {
			t.Errorf("distance(%q, %q) = %d, want %d: it is the same both ways", tt.b, tt.a, got, tt.want)
		}
	}
}

// TestUpsertOrder: the event only names the order if the result without it would
// differ.
func TestUpsertOrder(t *testing.T) {
	old := taskList("A", "B", "C")
	for _, tt := range []struct {
		new  []string
		want []plan.TaskID
		why  string
	}{
		{[]string{"A", "B", "C", "D"}, nil, "new tasks go last by themselves"},
		{[]string{"A", "C"}, nil, "a removed task leaves no gap"},
		{[]string{"D", "A", "B", "C"}, []plan.TaskID{"D", "A", "B", "C"}, "a new task in front"},
		{[]string{"C", "A", "B"}, []plan.TaskID{"C", "A", "B"}, "moved"},
	} {
		c, _ := upsert(old, taskList(tt.new...), "edit", "")
		if diff := cmp.Diff(tt.want, c.Order); diff != "" {
			t.Errorf("%s: %s", tt.why, diff)
		}
	}
}

// TestRebase: the loop's changes during a user's edit stay, unless both changed the
// same task.
func TestRebase(t *testing.T) {
	base := taskList("A", "B")
	edit := func(p plan.Plan, id plan.TaskID, f func(*plan.Task)) plan.Plan {
		p.Tasks = append([]plan.Task{}, p.Tasks...)
		f(&p.Tasks[p.Find(id)])
		return p
	}
	done := func(t *plan.Task) { t.Status = plan.Done }
	rename := func(t *plan.Task) { t.Title = "renamed" }

	got, err := rebase(base, edit(base, "B", rename), edit(base, "A", done))
	if err != nil || got.Tasks[0].Status != plan.Done || got.Tasks[1].Title != "renamed" {
		t.Errorf("different tasks: %v, %v", got.Tasks, err)
	}
	if _, err := rebase(base, edit(base, "A", rename), edit(base, "A", done)); err == nil ||
		!strings.Contains(err.Error(), "A changed while") {
		t.Errorf("the same task: %v", err)
	}
	if _, err := rebase(base, taskList("B"), edit(base, "A", done)); err == nil {
		t.Error("a task that was done meanwhile was removed")
	}
	got, err = rebase(base, taskList("B", "A", "mine"), taskList("A", "B", "theirs"))
	if want := []plan.TaskID{"B", "A", "mine", "theirs"}; err != nil || cmp.Diff(want, orderOf(got)) != "" {
		t.Errorf("both added one: %v, %v", orderOf(got), err)
	}
	if _, err := rebase(base, taskList("A", "B", "new"), edit(taskList("A", "B", "NEW"), "NEW", rename)); err == nil {
		t.Error("two new tasks have one id")
	}
}

// TestFreshIDs: a task without an id in the file is new, even if its generated id
// was removed from the same file.
func TestFreshIDs(t *testing.T) {
	old := taskList("T-001", "T-002")
	p := taskList("T-002", "T-001")
	got := freshIDs(p, []byte("id = \"T-002\"\ntitle = \"new\"\n"), old)
	if diff := cmp.Diff([]plan.TaskID{"T-002", "T-003"}, orderOf(got)); diff != "" {
		t.Error(diff)
	}
}

// TestWithoutRepeats: a longer checklist only adds its new items. A task with its
// own id is never taken for another one.
func TestWithoutRepeats(t *testing.T) {
	old := plan.Plan{Tasks: []plan.Task{{ID: "T-001", Title: "Write it"}, {ID: "T-002", Title: "write it"}}}
	in := plan.Plan{Tasks: []plan.Task{{ID: "T-003", Title: "write IT"},
		{ID: "T-004", Title: "sell it", DependsOn: []plan.TaskID{"T-003"}},
		{ID: "T-005", Title: "write it", Description: "again"}, {ID: "own", Title: "write it"}}}
	got, there := withoutRepeats(old, in)
	if diff := cmp.Diff([]plan.TaskID{"T-004", "T-005", "own"}, orderOf(got)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]plan.TaskID{"T-001"}, there); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]plan.TaskID{"T-001"}, got.Tasks[0].DependsOn); diff != "" {
		t.Errorf("what depended on it depends on the plan's own: %s", diff)
	}
	if in.Tasks[1].DependsOn[0] != "T-003" {
		t.Error("the imported plan was changed")
	}
}

func TestColourSetting(t *testing.T) {
	for _, tt := range []struct {
		value string
		tty   bool
		want  bool
	}{{"always", false, true}, {"never", true, false}, {"false", true, false}, {"auto", true, true},
		{"auto", false, false}, {"true", false, false}, {"", true, true}} {
		if got := colourSetting(tt.value, tt.tty); got != tt.want {
			t.Errorf("color.ui = %q, terminal %v: %v", tt.value, tt.tty, got)
		}
	}
}

func hintText(err error) string {
	ad, _ := adviceOf(err)
	return ad.hint
}
