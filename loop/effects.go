package loop

import (
	"slices"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/notes"
)

// recordEffects records what an iteration leaves even when it is rejected: learnings
// and memory. A kept iteration also leaves amendments and added tasks.
func (l *Loop) recordEffects(it *attempt, j Verdict, res *state.Result) {
	var refused []string
	_, res.Learned, refused = l.learned(it, res.Handoff)
	res.Notices = append(slices.Clip(res.Notices), refused...)
	if h := it.left.handoff; h != nil && j.Verdict != state.Keep && h.RequestHumanReview != nil &&
		h.RequestHumanReview.Needed {
		res.Notices = append(res.Notices, "the agent asks for a person: "+notes.OneLine(h.RequestHumanReview.Reason, 500))
	}
	if j.Verdict == state.Keep {
		if it.claims {
			res.Amendments = res.Handoff.PlanAmendments
			res.Queued = len(res.Amendments) > 0
		}
		res.Plan = it.made.plan
	}
	if it.run.Outcome == session.NotStarted {
		res.Handoff = nil // no agent worked: the previous handoff stays valid
	}
	l.memorise(it, res)
}

// memorise captures the memory of the session as the iteration leaves it; an
// agent that died or said nothing is remembered like any other.
func (l *Loop) memorise(it *attempt, res *state.Result) {
	var files []string
	if res.Verdict == state.Keep {
		for _, f := range res.Files {
			files = append(files, f.Path)
		}
	}
	res.SessionMemory = ""
	after, _ := state.Apply(it.state, l.event(it.Ready, res))
	res.SessionMemory = state.SessionMemory(after, files, append(slices.Clip(it.tools.Memory), it.aside.Memory...), "")
}

// learned is the knowledge after an iteration, what it adds to it, and what
// was refused: constraints and decisions of its handoffs, learnings, and the
// entries of helper agents. Each addition is taken as a whole or not at all.
func (l *Loop) learned(it *attempt, rec *notes.Record) (known, added []notes.Knowledge, refused []string) {
	known = it.state.Knowledge
	learn := func(add []notes.Knowledge) {
		if len(add) == 0 {
			return
		}
		all, err := notes.ApplyKnowledge(known, add)
		if err != nil {
			refused = append(refused, "knowledge refused: "+notes.OneLine(err.Error(), 300))
			return
		}
		known = all
		added = append(added, add...)
	}
	for _, h := range it.earlier {
		learn(notes.ExtractKnowledge(h, it.number, string(it.task.ID), known))
	}
	if rec.Origin.Source == "agent" {
		learn(notes.ExtractKnowledge(rec.Handoff, it.number, string(it.task.ID), known))
	}
	for _, x := range append(slices.Clip(it.tools.Learnings), it.aside.Learnings...) {
		if k, fresh, err := notes.Learn(x.Category, x.Text, it.number, string(it.task.ID), known); err == nil && fresh {
			learn([]notes.Knowledge{k})
		}
	}
	learn(it.tools.Knowledge)
	learn(it.learned)
	return known, added, refused
}
