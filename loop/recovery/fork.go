package recovery

import (
	"context"
	"errors"
	"fmt"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/loop/refusal"
)

// ForkPoint is what a fork takes over: everything that the journal knew when
// iteration N had ended and nothing came after it, and the commit of that time.
type ForkPoint struct {
	Iteration int
	Entry     object.ID
	Commit    object.ID
}

// FindFork looks for the point after iteration n; 0 = before the first one.
func FindFork(ctx context.Context, j *journal.Journal, n int) (ForkPoint, error) {
	p := ForkPoint{Iteration: n}
	var ended *state.Event
	var next *state.Start // of the iteration after it
	err := j.WalkBrief(ctx, func(e journal.Entry) (bool, error) {
		ev := e.Event
		switch {
		case ev.Start != nil && ev.Iteration > n:
			p.Entry, next = object.Zero, ev.Start
		case ev.Rewind != nil, ev.Operator != nil && ev.Operator.Command == "reset":
			p.Entry = object.Zero // what came before it is meant
		case p.Entry.IsZero():
			p.Entry = e.ID
		}
		if ev.Result != nil && ev.Iteration == n {
			ended = &ev
		}
		return ended == nil, nil
	})
	switch {
	case err != nil:
		return p, err
	case ended == nil && n != 0 || p.Entry.IsZero():
		return p, refusal.New(refusal.NoIteration, "iteration %d has not ended, or there is none", n)
	}
	commit := ""
	switch {
	case ended != nil && ended.Result.Landed:
		commit = ended.Result.Commit
	case ended != nil:
		starts, err := j.Starts(ctx, n)
		if err != nil {
			return p, err
		}
		for _, e := range starts {
			if e.Event.Start.IterationID == ended.ID {
				commit = e.Event.Start.Tip
			}
		}
	case next != nil:
		commit = next.Tip
	}
	if commit == "" && next == nil {
		p.Commit, err = j.Repo.ReadRef(ctx, gitstate.BranchRef(j.Branch))
	} else if commit != "" {
		p.Commit, err = object.ParseID(commit)
	}
	if err != nil {
		return p, err
	}
	if p.Commit.IsZero() {
		return p, refusal.New(refusal.NoCommitThen, "the branch had no commit when iteration %d ended", n)
	}
	if !j.Repo.Store.Has(p.Commit) {
		return p, refusal.New(refusal.NoCommitThen, "the commit %s of iteration %d is not in this repository any more",
			commit, n)
	}
	return p, nil
}

// Fork makes a branch and a journal of its own from a point of another journal,
// both or neither. It returns the new journal's state.
func Fork(ctx context.Context, from, to *journal.Journal, p ForkPoint) (state.State, error) {
	old, err := from.At(p.Entry)
	if err != nil {
		return state.State{}, err
	}
	s := old.State
	e := state.Event{Type: state.EvInit, Init: &state.Init{JournalID: gitstate.NewID(to.Now()), Base: s.Journal.Base,
		Branch: to.Branch, Fork: &state.Origin{Journal: s.Journal.ID, Branch: from.Branch, Entry: p.Entry.String(),
			Iteration: p.Iteration}}}
	next, err := to.Draft(ctx, old, e)
	if err != nil {
		return s, err
	}
	err = to.Repo.UpdateRefs(fmt.Sprintf("ralph: fork of %s at iteration %d", from.Branch, p.Iteration),
		gitstate.RefUpdate{Name: gitstate.BranchRef(to.Branch), New: p.Commit},
		gitstate.RefUpdate{Name: to.Ref(), New: next.Tip})
	if errors.Is(err, gitstate.ErrRefMoved) {
		return s, refusal.New(refusal.BranchThere, "the branch %s, or a journal of it, exists", to.Branch).About(to.Branch)
	} else if err != nil {
		return s, fmt.Errorf("make the fork: %w", err)
	}
	to.Moved(next)
	return next.State, nil
}
