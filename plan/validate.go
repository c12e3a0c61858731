package plan

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"git-ralph/internal/stable"
	"git-ralph/internal/text"
)

// Limits of a task's texts and lists. A text is cut at the same size before it
// becomes an event; a title longer than a screen is a description.
const (
	MaxTitle = 500     // characters
	MaxText  = 1 << 20 // bytes
	MaxItems = 1000    // entries of one list
)

// Validate reports everything that is wrong with p at once, as Problems, nil when p can be worked on.
// Decode and Import do the same with line numbers.
func (p Plan) Validate() error {
	return Check(p, Places{}, nil).Err()
}

// Check is Validate; known are folded ids outside p on which its tasks may depend.
func Check(p Plan, places Places, known map[string]bool) Problems {
	var out Problems
	add := func(i int, field, format string, args ...any) {
		out = append(out, places.problem(i, field, p.Tasks[i].ID, format, args...))
	}
	if len(p.Goal) > MaxText {
		out = append(out, Problem{Source: places.Source, Text: fmt.Sprintf("the goal is longer than %d bytes", MaxText)})
	}
	first := make(map[string]int, len(p.Tasks))
	retired := make(map[string]bool, len(p.Retired))
	for _, id := range p.Retired {
		retired[Fold(id)] = true
	}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if err := ValidID(string(t.ID)); err != nil {
			add(i, "id", "task %d: %v", i+1, err)
		} else if j, twice := first[Fold(t.ID)]; twice {
			add(i, "id", "%s", duplicate(p, places, j, t.ID))
		} else if retired[Fold(t.ID)] {
			add(i, "id", "the id %s belonged to a task that has left the plan; an id is used once in a journal, and %s is free",
				t.ID, NextID(p))
		}
		if _, twice := first[Fold(t.ID)]; !twice {
			first[Fold(t.ID)] = i
		}
	}
	for i := range p.Tasks {
		checkTask(p, i, first, known, add)
	}
	for _, c := range cycles(p, first) {
		add(c[0], "depends_on", "%s depends on itself: %s", p.Tasks[c[0]].ID, cycleName(p, c))
	}
	// In the order of the file, which is the order in which they are repaired.
	stable.Sort(out, func(a, b Problem) int { return a.Line - b.Line })
	return out
}

func duplicate(p Plan, places Places, j int, id TaskID) string {
	where := fmt.Sprintf("task %d", j+1)
	if line := places.Line(j, "id"); line > 0 {
		where = fmt.Sprintf("line %d", line)
	}
	if other := p.Tasks[j].ID; other != id {
		return fmt.Sprintf("the id %s is taken by %s (%s); ids differ by more than case", id, other, where)
	}
	return fmt.Sprintf("the id %s is given twice (first: %s)", id, where)
}

// TaskName is how problems name a task: its id, or its place when it has none.
func TaskName(i int, id TaskID) string {
	if ValidID(string(id)) == nil {
		return string(id)
	}
	return fmt.Sprintf("task %d", i+1)
}

func checkTask(p Plan, i int, ids map[string]int, known map[string]bool, add func(int, string, string, ...any)) {
	t := &p.Tasks[i]
	name := TaskName(i, t.ID)
	switch title := t.Title; {
	case strings.TrimSpace(title) == "":
		add(i, "title", "%s has no title", name)
	case strings.ContainsAny(title, "\n\r\x00"):
		add(i, "title", "%s: the title has more than one line", name)
	case utf8.RuneCountInString(title) > MaxTitle:
		add(i, "title", "%s: the title is longer than %d characters", name, MaxTitle)
	}
	switch t.Status {
	case Pending, InProgress, Done, Failed, Blocked, Skipped:
	default:
		add(i, "status", "%s has the status %q; known are %s", name, text.Clip(string(t.Status), 40), StatusNames)
	}
	if strings.ContainsAny(t.Model, "\n\r\x00") || utf8.RuneCountInString(t.Model) > MaxTitle {
		add(i, "model", "%s: the model is the name of one, on one line", name)
	}
	for _, f := range TaskFields {
		switch v := f.At(t).(type) {
		case *int:
			if *v < 0 {
				add(i, f.Name, "%s: %s is %d; it must not be negative", name, f.Name, *v)
			}
		case *int64:
			if *v < 0 {
				add(i, f.Name, "%s: %s is %d; it must not be negative", name, f.Name, *v)
			}
		case **int:
			if *v != nil && **v < 0 {
				add(i, f.Name, "%s: %s is %d; it must not be negative", name, f.Name, **v)
			}
		case *string:
			if len(*v) > MaxText {
				add(i, f.Name, "%s: %s is longer than %d bytes", name, f.Name, MaxText)
			}
		case *[]string:
			checkList(i, name, f.Name, *v, add)
		}
	}
	if len(t.DependsOn) > MaxItems {
		add(i, "depends_on", "%s: depends_on has more than %d entries", name, MaxItems)
	}
	for _, dep := range t.DependsOn {
		j, ok := ids[Fold(dep)]
		switch {
		case ok && j == i:
			add(i, "depends_on", "%s depends on itself", name)
		case ok && p.Tasks[j].ID != dep:
			add(i, "depends_on", "%s depends on %s, which is written %s in the plan", name, dep, p.Tasks[j].ID)
		case !ok && !known[Fold(dep)]:
			add(i, "depends_on", "%s depends on %s, which is not in the plan", name, text.Clip(string(dep), MaxID))
		}
	}
}

const StatusNames = "pending, in_progress, done, failed, blocked, skipped"

func checkList(i int, name, field string, list []string, add func(int, string, string, ...any)) {
	if len(list) > MaxItems {
		add(i, field, "%s: %s has more than %d entries", name, field, MaxItems)
	}
	for n, item := range list {
		switch {
		case strings.TrimSpace(item) == "":
			// An empty command would be run, and succeed.
			add(i, field, "%s: entry %d of %s is empty", name, n+1, field)
		case len(item) > MaxText:
			add(i, field, "%s: entry %d of %s is longer than %d bytes", name, n+1, field, MaxText)
		case field == "verify" && strings.ContainsRune(item, 0):
			add(i, field, "%s: entry %d of verify holds a zero byte, which no command can", name, n+1)
		}
	}
}

// cycleWork bounds the search for rings, in dependencies followed. A plan that
// needs more has rings enough to be repaired first.
const cycleWork = 2_000_000

// cycles finds rings of dependencies of two tasks or more, as indexes in the
// order "depends on", each beginning with its earliest task: for every task on
// a ring the shortest one through it, each ring once.
func cycles(p Plan, ids map[string]int) [][]int {
	deps := make([][]int, len(p.Tasks))
	waiters := make([][]int, len(p.Tasks))
	for i := range p.Tasks {
		for _, d := range p.Tasks[i].DependsOn {
			if j, ok := ids[Fold(d)]; ok && j != i {
				deps[i] = append(deps[i], j)
				waiters[j] = append(waiters[j], i)
			}
		}
	}
	// Whatever waits on nothing is on no ring, and then what waits only on it.
	// In a sound plan that is everything, and the search below has no work.
	open := make([]int, len(p.Tasks))
	var free []int
	for i := range deps {
		if open[i] = len(deps[i]); open[i] == 0 {
			free = append(free, i)
		}
	}
	for len(free) > 0 {
		i := free[len(free)-1]
		free = free[:len(free)-1]
		for _, w := range waiters[i] {
			if open[w]--; open[w] == 0 {
				free = append(free, w)
			}
		}
	}
	var out [][]int
	named := make([]bool, len(p.Tasks))
	work := 0
	for i := range p.Tasks {
		if open[i] == 0 || named[i] || work > cycleWork {
			continue
		}
		ring := ringThrough(i, deps, open, &work)
		for _, t := range ring {
			named[t] = true
		}
		if ring != nil {
			out = append(out, rotate(ring))
		}
	}
	return out
}

// ringThrough is the shortest ring through start, nil if start is on none.
func ringThrough(start int, deps [][]int, open []int, work *int) []int {
	from := map[int]int{start: start}
	queue := []int{start}
	for len(queue) > 0 && *work <= cycleWork {
		i := queue[0]
		queue = queue[1:]
		for _, j := range deps[i] {
			*work++
			if j == start {
				ring := []int{i}
				for i != start {
					i = from[i]
					ring = append(ring, i)
				}
				slices.Reverse(ring)
				return ring
			}
			if _, seen := from[j]; !seen && open[j] > 0 {
				from[j] = i
				queue = append(queue, j)
			}
		}
	}
	return nil
}

func rotate(ring []int) []int {
	start := slices.Index(ring, slices.Min(ring))
	return append(slices.Clone(ring[start:]), ring[:start]...)
}

// cycleName is "T-1 → T-2 → T-1".
func cycleName(p Plan, ring []int) string {
	var b strings.Builder
	for _, i := range ring {
		b.WriteString(string(p.Tasks[i].ID))
		b.WriteString(" → ")
	}
	b.WriteString(string(p.Tasks[ring[0]].ID))
	return b.String()
}
