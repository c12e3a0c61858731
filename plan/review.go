package plan

import (
	"strings"

	"git-ralph/internal/text"
)

// Review checks whether agents can work on a plan, without asking one. Errors
// are what Validate finds. Open tasks are also judged by their commands, sizes,
// titles and dependencies. Each problem names its place and the cure.
func Review(p Plan, c Critic) Problems {
	out := Check(p, c.Places, nil)
	if len(p.Tasks) == 0 {
		out = append(out, Problem{Text: "the plan has no task"})
	}
	at, titles := indexOf(p), make(map[string]TaskID)
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if t.Status == Done || t.Status == Skipped {
			continue
		}
		add := func(weight severity, field, format string, args ...any) {
			x := c.Places.problem(i, field, t.ID, format, args...)
			x.Warning = weight == warning
			out = append(out, x)
		}
		c.shape(t, add)
		for _, v := range t.Verify {
			if why, mild := c.command(v); why != "" {
				add(severity(mild), "verify", "%s: verify %q %s", t.ID, text.Clip(text.OneLine(v), 80), why)
			}
		}
		title := strings.ToLower(text.OneLine(t.Title))
		if other, twice := titles[title]; twice {
			add(warning, "title", "%s has the title of %s: say what differs, or leave one out", t.ID, other)
		} else {
			titles[title] = t.ID
		}
		for _, dep := range t.DependsOn {
			j, ok := at[dep]
			switch {
			case !ok || p.Tasks[j].Status == Done:
			case p.Tasks[j].Status == Skipped:
				add(severity(!c.Agent), "depends_on", "%s waits on %s, which is left out: wait for tasks that will be done",
					t.ID, dep)
			case p.Tasks[j].Priority > t.Priority:
				add(warning, "priority", "%s has priority %d but waits on %s with priority %d", t.ID, t.Priority, dep,
					p.Tasks[j].Priority)
			}
		}
	}
	return out
}

// severity says whether a plan with this problem is still taken.
type severity bool

const (
	warning severity = true
	fault   severity = false
)

// shape judges what a task says about itself.
func (c Critic) shape(t *Task, add func(weight severity, field, format string, args ...any)) {
	if c.Agent && len(t.Criteria) == 0 && len(t.Verify) == 0 {
		add(fault, "id", "%s has no criteria and nothing to verify: give it criteria, and commands under verify where one "+
			"can prove it", t.ID)
	} else if !c.Agent && c.Check != nil && !c.Checked && len(t.Verify) == 0 {
		add(warning, "id", "nothing can prove %s: give it a command under verify, or the project [[checks]] in ralph.toml",
			t.ID)
	}
	if c.Agent && strings.TrimSpace(t.Description) == "" {
		add(warning, "id", "%s has no description", t.ID)
	}
	target := int64(c.TaskTokens)
	switch words := breadth(t); {
	case target > 0 && t.EstimatedTokens > target:
		add(severity(!c.Agent || t.EstimatedTokens <= 2*target), "estimated_tokens",
			"%s is estimated at %d tokens; the target is %d: split it so that each part fits one context window", t.ID,
			t.EstimatedTokens, target)
	case target > 0 && t.EstimatedTokens == 0 && len(words) > 1:
		add(severity(!c.Agent), "title",
			"%s reads like several tasks (%s) and has no estimated_tokens: split it, or estimate it", t.ID,
			strings.Join(words, ", "))
	}
}
