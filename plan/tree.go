package plan

import (
	"fmt"
	"strings"

	"git-ralph/internal/text"
)

// Tree draws the plan as plain text: a task stands under the last of the tasks
// it waits on, with the others named behind it. Below treeDepth levels tasks
// are listed flat, with what they come after. Ends with a line end unless empty.
func Tree(p Plan) string {
	at := indexOf(p)
	children := make([][]int, len(p.Tasks))
	parent := make([]int, len(p.Tasks))
	for i := range p.Tasks {
		parent[i] = -1
		for _, dep := range p.Tasks[i].DependsOn {
			if j, ok := at[dep]; ok && j != i && j > parent[i] {
				parent[i] = j
			}
		}
	}
	for i, j := range parent {
		if j >= 0 {
			children[j] = append(children[j], i)
		}
	}
	w := treeWriter{plan: p, children: children, parent: parent, shown: make([]bool, len(p.Tasks))}
	for i := range p.Tasks {
		if parent[i] < 0 {
			w.task(i, "", "", 0)
		}
	}
	// What hangs below the depth limit, or in a ring, which has no root.
	for i := range p.Tasks {
		if !w.shown[i] {
			parent[i] = -1
			w.task(i, "", "", 0)
		}
	}
	return w.b.String()
}

const treeDepth = 12

type treeWriter struct {
	plan     Plan
	children [][]int
	parent   []int
	shown    []bool
	b        strings.Builder
}

func (w *treeWriter) task(i int, first, rest string, depth int) {
	t := &w.plan.Tasks[i]
	w.shown[i] = true
	fmt.Fprintf(&w.b, "%s%s  %s", first, t.ID, text.OneLine(t.Title))
	if t.Status != Pending {
		w.b.WriteString("  [" + strings.ReplaceAll(string(t.Status), "_", " ") + "]")
	}
	if t.Priority != 1 {
		fmt.Fprintf(&w.b, "  p%d", t.Priority)
	}
	var others []TaskID
	for _, dep := range t.DependsOn {
		if w.parent[i] < 0 || w.plan.Tasks[w.parent[i]].ID != dep {
			others = append(others, dep)
		}
	}
	if len(others) > 0 {
		w.b.WriteString("  after " + joinIDs(others))
	}
	w.b.WriteByte('\n')
	if depth >= treeDepth {
		return
	}
	var below []int
	for _, j := range w.children[i] {
		if !w.shown[j] {
			below = append(below, j)
		}
	}
	for n, j := range below {
		if n == len(below)-1 {
			w.task(j, rest+"└─ ", rest+"   ", depth+1)
		} else {
			w.task(j, rest+"├─ ", rest+"│  ", depth+1)
		}
	}
}
