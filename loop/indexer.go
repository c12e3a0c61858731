package loop

import (
	"context"
	"fmt"
	"slices"

	agentctx "git-ralph/context"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/notes"
)

// index runs the knowledge indexer before an iteration when a trigger fires.
// What it records is taken as a whole or not at all; that it failed is recorded
// and the iteration goes on with the index as it is.
func (l *Loop) index(ctx context.Context, it *Ready) error {
	why, fire := agentctx.IndexTrigger(it.state, it.task.ID, l.Settings.Index)
	if !fire {
		return nil
	}
	o := l.helperOptions(it)
	o.Why, o.Handoffs = why, l.unindexed(ctx, it.state)
	job := agentctx.Helper(agentctx.Indexer, it.state, it.task.ID, o)
	ans, err := l.help(ctx, it, helperRun{role: session.RoleIndexer, kind: agentctx.Indexer, job: job, known: it.state,
		readOnly: true})
	if err != nil {
		return err
	}
	failed := ans.failed
	if failed == nil {
		if failed, err = l.remember(it, ans.knowledge, "indexer"); err != nil {
			return err
		}
	}
	n := state.ContextNote{Kind: "index", Reason: why, Detail: fmt.Sprintf("%d entries", len(ans.knowledge))}
	if failed != nil {
		n.Failed, n.Detail = true, notes.OneLine(failed.Error(), 500)
		ans.remark("the indexer failed: " + n.Detail)
		l.emit("agent", it.state, it.task.ID, map[string]string{"role": string(session.RoleIndexer)},
			"the indexer failed: %s",
			n.Detail)
	}
	it.add(ans.contribution)
	return l.note(it, n)
}

// maxUnindexed bounds how many handoffs one indexer run is given.
const maxUnindexed = 50

// unindexed are the handoffs since the index was brought up to date, oldest
// first; nil when those in the state are all of them. Only an interval longer
// than the state remembers reads history.
func (l *Loop) unindexed(ctx context.Context, s state.State) []notes.Record {
	if s.Run.Index.Since <= len(s.Recent) {
		return nil
	}
	var out []notes.Record
	err := l.Journal.Walk(ctx, func(e journal.Entry) (bool, error) {
		if e.Event.Type == state.EvIteration && e.Event.Iteration <= s.Run.Index.Last {
			return false, nil
		}
		if r := e.Event.Result; r != nil && r.Handoff != nil {
			out = append(out, *r.Handoff)
		}
		return len(out) < maxUnindexed, nil
	})
	if err != nil {
		return nil // those in the state will do
	}
	slices.Reverse(out)
	return out
}
