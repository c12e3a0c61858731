package loop

import (
	"strings"

	"git-ralph/internal/state"
	"git-ralph/notes"
)

// leavings are what survives the iteration whatever its verdict: learnings and
// memory; and what only a kept one leaves: amendments and added tasks.
func (l *Loop) leavings(it *iteration, j Judgement, res *state.Result) {
	known := it.state.Knowledge
	learn := func(add []notes.Knowledge) {
		all, err := notes.ApplyKnowledge(known, add)
		if err != nil {
			it.notices = append(it.notices, "knowledge refused: "+notes.OneLine(err.Error(), 300))
			res.Notices = it.notices
			return
		}
		known = all
		res.Learned = append(res.Learned, add...)
	}
	if res.Handoff.Origin.Source == "agent" {
		learn(notes.Harvest(res.Handoff.Handoff, it.number, string(it.task.ID), known))
	}
	for _, x := range it.tools.Learnings {
		k, fresh, err := notes.Learn(x.Category, x.Text, it.number, string(it.task.ID), known)
		if err == nil && fresh {
			learn([]notes.Knowledge{k})
		}
	}
	if len(it.tools.Knowledge) > 0 {
		learn(it.tools.Knowledge)
	}
	if len(it.tools.Memory) > 0 {
		res.SessionMemory = strings.TrimSpace(it.state.Memory["session"] + "\n" + strings.Join(it.tools.Memory, "\n"))
	}
	if j.Verdict != state.Keep {
		return
	}
	if it.product == nil {
		res.Amendments = res.Handoff.PlanAmendments
	}
	res.Plan = it.planned
}
