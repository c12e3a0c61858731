package plan

import (
	"fmt"
	"strings"
)

// Review says what a plan lacks for being worked on by agents: what Validate
// finds, as errors, and of the tasks that are still to do: no criteria and
// nothing to verify (error), no description, more estimated tokens than
// taskTokens, twice as much being an error, and a priority that the
// dependencies overrule (warnings). taskTokens 0 = no target.
func Review(p Plan, taskTokens int) Problems {
	out := check(p, Places{}, nil)
	at := indexOf(p)
	add := func(t *Task, warning bool, hint, format string, args ...any) {
		out = append(out, Problem{Task: t.ID, Text: fmt.Sprintf(format, args...), Warning: warning, hint: hint})
	}
	if len(p.Tasks) == 0 {
		out = append(out, Problem{Text: "the plan has no task"})
	}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if t.Status == Done || t.Status == Skipped {
			continue
		}
		if len(t.Criteria) == 0 && len(t.Verify) == 0 {
			add(t, false, "give each task criteria, and commands under verify where one can prove it",
				"%s has no criteria and nothing to verify", t.ID)
		}
		if strings.TrimSpace(t.Description) == "" {
			add(t, true, "", "%s has no description", t.ID)
		}
		if target := int64(taskTokens); target > 0 && t.EstimatedTokens > target {
			add(t, t.EstimatedTokens <= 2*target, "split the task so that each part fits one context window",
				"%s is estimated at %d tokens; the target is %d", t.ID, t.EstimatedTokens, target)
		}
		for _, dep := range t.DependsOn {
			if j, ok := at[dep]; ok && p.Tasks[j].Status == Skipped {
				add(t, false, "wait for tasks that will be done", "%s waits on %s, which is left out", t.ID, dep)
			}
			if j, ok := at[dep]; ok && p.Tasks[j].Status != Done && p.Tasks[j].Priority > t.Priority {
				add(t, true, "", "%s has priority %d but waits on %s with priority %d",
					t.ID, t.Priority, dep, p.Tasks[j].Priority)
			}
		}
	}
	return out
}
