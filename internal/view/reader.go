// Package view makes what a run looks like from outside: the documents that
// commands print as JSON and that the page shows, and the texts of the same
// things for people. A Reader reads what a document is made of, a Printer writes
// a text, and between the two stand plain values. The keys of the documents are
// published in doc/json.md. It decides nothing and stores nothing.
package view

import (
	"context"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/config"
)

// Reader reads what the documents of a run are made of: the journal of its
// branch, the evidence, and the files beside the locks.
type Reader struct {
	Journal *journal.Journal
	// Event is the id of the iteration's event that this process belongs to; ""
	// = it is no part of a run.
	Event string
	// Settings reads the settings of the worktree under the overrides of a run.
	Settings func(overrides map[string]string) (*config.Resolved, error)
	// Log notes what is missing from a document and stops nothing.
	Log func(level, format string, args ...any)
}

// Holder says which living process holds a branch. From inside the sandbox of a
// run the loop's process cannot be seen; there the run is alive because this
// process is part of it.
func (r Reader) Holder(ctx context.Context, branch string) (gitstate.Holder, bool) {
	h, alive := r.Journal.Repo.BranchHolder(branch)
	if alive || h.Pid == 0 || r.Event == "" {
		return h, alive
	}
	tip, err := r.Journal.Repo.ReadRef(ctx, gitstate.JournalRef(branch))
	if err != nil || tip.IsZero() {
		return h, false
	}
	snap, err := r.Journal.At(tip)
	return h, err == nil && r.PartOf(snap.State)
}

// PartOf says whether this process belongs to the iteration that is at work.
func (r Reader) PartOf(s state.State) bool {
	return r.Event != "" && s.Run.Current != nil && s.Run.Current.EventID == r.Event
}

// newest are the newest iterations that ended, at most n.
func (r Reader) newest(ctx context.Context, n int) (found []journal.Entry, err error) {
	err = r.Journal.WalkBrief(ctx, func(e journal.Entry) (bool, error) {
		if e.Event.Type == state.EvIteration {
			found = append(found, e)
		}
		return len(found) < n, nil
	})
	return found, err
}

// sockets are those that the settings leave within the agent's reach.
func (r Reader) sockets() []string {
	set, err := r.Settings(nil)
	if err != nil {
		return nil // another command says what is wrong with them
	}
	return set.Guard.Sockets
}
