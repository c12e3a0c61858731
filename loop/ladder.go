package loop

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"git-ralph/loop/session"
)

// A Step is one rung of agent.ladder. A rejected attempt climbs to the next one:
// what did not work the same way twice may work with a stronger model, more
// effort, another approach, or the better of two tries.
type Step struct {
	Kind  StepKind
	Value string // the name of a model, the level of an effort
}

// StepKind is what a step changes.
type StepKind string

// The kinds of steps.
const (
	StepModel    StepKind = "model"
	StepEffort   StepKind = "effort"
	StepApproach StepKind = "approach"  // the prompt asks for another approach
	StepBest     StepKind = "best-of-2" // two tries, and the checks choose
)

// String is the step as the settings have it.
func (s Step) String() string {
	if s.Value == "" {
		return string(s.Kind)
	}
	return string(s.Kind) + ":" + s.Value
}

// Efforts are the levels of reasoning that some client knows. Which one a client
// takes is its driver's to say.
func Efforts() []string {
	return []string{"minimal", "low", "medium", "high", "xhigh", "max", "ultra"}
}

// ParseStep reads a step of agent.ladder.
func ParseStep(text string) (Step, error) {
	kind, value, _ := strings.Cut(text, ":")
	s := Step{StepKind(strings.TrimSpace(kind)), strings.TrimSpace(value)}
	switch {
	case s.Kind == StepModel && s.Value != "" && !strings.ContainsAny(s.Value, ", \t\n"):
		return s, nil
	case s.Kind == StepEffort && slices.Contains(Efforts(), s.Value):
		return s, nil
	case (s.Kind == StepApproach || s.Kind == StepBest) && !strings.Contains(text, ":"):
		return s, nil
	case s.Kind == StepEffort:
		return s, fmt.Errorf("has the step %q; an effort is one of %s", text, strings.Join(Efforts(), ", "))
	}
	return s, fmt.Errorf("has the step %q; steps are model:NAME, effort:LEVEL, approach and best-of-2", text)
}

// Choice is what the ladder makes of one attempt.
type Choice struct {
	Rung     int    // 0 = the settings alone
	Step     string // the step that was climbed last
	Model    string // "" = as without a ladder
	Effort   string
	Approach bool
	Best     bool // a second try follows a first one that was rejected
}

// Choose is what an attempt works with on a rung. The steps below hold as well,
// except for best-of-2, which is for the one attempt that reaches it.
func Choose(ladder []Step, rung int) Choice {
	var c Choice
	for i, s := range ladder[:min(max(rung, 0), len(ladder))] {
		c.Rung, c.Step = i+1, s.String()
		switch s.Kind {
		case StepModel:
			c.Model = s.Value
		case StepEffort:
			c.Effort = s.Value
		case StepApproach:
			c.Approach = true
		case StepBest:
			c.Best = i+1 == rung
		}
	}
	if rung > c.Rung && c.Rung > 0 && ladder[c.Rung-1].Kind == StepBest {
		c.Rung, c.Step = c.Rung+1, "after "+c.Step
	}
	return c
}

// Climb is the rung of a task's next attempt. One that was rejected climbs, and so
// does a stall, which is the same failure on the same tree, when it spends no
// attempt. What says nothing about the work stays: a limit, an interruption, a
// step that was kept.
func Climb(ladder []Step, rung int, v Verdict, stalled bool) int {
	next := rung
	if v.Attempt || v.Failure && stalled {
		next++
	}
	top := len(ladder)
	if top > 0 && ladder[top-1].Kind == StepBest {
		top++ // only one attempt is made twice
	}
	return min(next, max(top, rung))
}

// effort is how much the model of a role thinks, "" = the client's own choice.
func (l *Loop) effort(role session.Role, c Choice) string {
	if l.limited(l.Now()) && l.FallbackAgent != nil {
		return "" // it may not know the level
	}
	if role == session.RoleCoding && c.Effort != "" {
		return c.Effort
	}
	return cmp.Or(l.Settings.Roles[role].Effort, l.Settings.Effort)
}
