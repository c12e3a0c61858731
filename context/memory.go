package agentctx

import (
	"fmt"
	"strings"

	"git-ralph/gitstate/state"
	"git-ralph/notes"
	"git-ralph/plan"
)

// ActiveMemory reminds the agent of the previous phase if it was just left, the
// last three iterations, the state of the tasks and the session's figures. It
// has at most Options.MemoryChars characters. Parts that do not fit are left
// out whole, the oldest iteration first and the previous phase last.
func ActiveMemory(s state.State, opt Options) string {
	session, said, _ := strings.Cut(notes.Clean(s.Memory["session"]), notes.AgentNotes)
	in := notes.ActiveInput{
		Tasks:   taskState(s),
		Metrics: metrics(s),
		Session: nest(session),
		Said:    nest(said),
		Max:     first(opt.MemoryChars, DefaultMemoryChars),
	}
	if strings.Contains(session, "\n- Session: ") && !strings.Contains(session,
		fmt.Sprintf("\n- Session: %d\n", s.Run.Session)) {
		in.SessionTitle = "Last session"
	}
	if opt.PreviousPhase != "" {
		in.Phase = nest(notes.Clean(s.Memory["phase-"+string(opt.PreviousPhase)]))
	}
	recent := s.Recent
	// The newest is in the list as well, although the prompt shows it whole as the previous handoff.
	for _, rec := range recent[max(0, len(recent)-3):] {
		in.Iterations = append(in.Iterations, "- "+L1(rec))
	}
	return notes.ActiveMemory(in)
}

func taskState(s state.State) string {
	count := map[plan.Status]int{}
	var failed, next []string
	for i := range s.Plan.Tasks {
		t := &s.Plan.Tasks[i]
		count[t.Status]++
		switch t.Status {
		case plan.Failed, plan.Blocked:
			failed = append(failed, fmt.Sprintf("%s (%s)", t.ID, t.Status))
		case plan.Pending:
			if len(next) < 5 {
				next = append(next, string(t.ID))
			}
		}
	}
	if len(s.Plan.Tasks) == 0 {
		return ""
	}
	var b strings.Builder
	var parts []string
	for _, st := range []plan.Status{plan.Done, plan.InProgress, plan.Pending, plan.Failed, plan.Blocked, plan.Skipped} {
		if n := count[st]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(string(st), "_", " ")))
		}
	}
	fmt.Fprintf(&b, "Tasks: %s.", strings.Join(parts, ", "))
	if len(next) > 0 {
		fmt.Fprintf(&b, " Waiting: %s", strings.Join(next, ", "))
		if n := count[plan.Pending] - len(next); n > 0 {
			fmt.Fprintf(&b, " and %d more", n)
		}
		b.WriteString(".")
	}
	if len(failed) > 0 {
		const shown = 10
		more := ""
		if len(failed) > shown {
			more = fmt.Sprintf(" and %d more", len(failed)-shown)
			failed = failed[:shown]
		}
		fmt.Fprintf(&b, " Not to be relied on: %s%s.", strings.Join(failed, ", "), more)
	}
	return b.String()
}

func metrics(s state.State) string {
	if s.Run.Session == 0 || s.Run.SessionIterations == 0 {
		return ""
	}
	return fmt.Sprintf("Session %d: %d iterations, %d tasks done, $%.2f, %d tokens.", s.Run.Session,
		s.Run.SessionIterations, s.Run.SessionDone, float64(s.Run.Cost.Session)/1e6, s.Run.Used.Tokens)
}
