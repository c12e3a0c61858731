package recovery

import (
	"context"
	"maps"
	"slices"
	"sort"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

// Prune removes old evidence. It keeps the newest keep refs of the journal, and
// those of rejected attempts of unfinished tasks. The journal's entries of an
// iteration stay unless they are redacted. Evidence from before a redaction
// belongs to no entry any more, so only its age counts. keep <= 0 = keep all.
func Prune(repo *gitstate.Repo, j *journal.Journal, keep int) error {
	drop, err := Prunable(repo, j, keep)
	if err != nil {
		return err
	}
	for _, u := range drop {
		if err := repo.UpdateRefs("", u); err != nil {
			return err
		}
	}
	return nil
}

// Prunable are the refs that Prune would remove.
func Prunable(repo *gitstate.Repo, j *journal.Journal, keep int) ([]gitstate.RefUpdate, error) {
	ctx := context.Background()
	if keep <= 0 {
		return nil, nil
	}
	snap, err := j.Load(ctx)
	if err != nil {
		return nil, err
	}
	refs, err := repo.ListRefs(ctx, gitstate.EvidencePrefix+snap.State.Journal.ID+"/")
	if err != nil || len(refs) <= keep {
		return nil, err
	}
	prefix := gitstate.EvidencePrefix + snap.State.Journal.ID + "/"
	of := map[string][]string{} // what one iteration left lies on one ref, seldom on more
	for name := range refs {
		event, _, _ := strings.Cut(strings.TrimPrefix(name, prefix), ".")
		of[event] = append(of[event], name)
	}
	if len(of) <= keep {
		return nil, nil
	}
	names := slices.Collect(maps.Keys(of))
	// Event ids begin with their time.
	sort.Sort(sort.Reverse(sort.StringSlice(names)))
	open := map[string]bool{}
	for _, t := range snap.State.Plan.Tasks {
		if t.Status != plan.Done && t.Status != plan.Skipped {
			open[string(t.ID)] = true
		}
	}
	old, drop := map[string]bool{}, []string{}
	for _, name := range names[keep:] {
		old[name] = true
	}
	anew := "" // the entry with which the journal began again after a redaction
	err = j.WalkBrief(ctx, func(e journal.Entry) (bool, error) {
		if i := e.Event.Init; i != nil && i.Redacted != "" {
			anew = e.Event.ID
		}
		if r := e.Event.Result; r != nil && old[e.Event.ID] {
			delete(old, e.Event.ID)
			if r.Verdict != state.Reject || !open[string(e.Event.Task)] {
				drop = append(drop, of[e.Event.ID]...)
			}
		}
		// The rest of a long history says nothing about these.
		return len(old) > 0, nil
	})
	if err != nil {
		return nil, err
	}
	// Unknown evidence is a linked worktree's or was left by a crash: we must
	// not remove it.
	if len(old) > 0 && anew != "" {
		if err := keepOthers(ctx, repo, j, snap.State.Journal.ID, old); err != nil {
			return nil, err
		}
		for event := range old {
			if event < anew {
				drop = append(drop, of[event]...)
			}
		}
	}
	var out []gitstate.RefUpdate
	for _, name := range drop {
		out = append(out, gitstate.RefUpdate{Name: name, Old: refs[name], New: object.Zero})
	}
	return out, nil
}

// keepOthers takes the iterations out of a set that another journal with this id knows.
func keepOthers(ctx context.Context, repo *gitstate.Repo, j *journal.Journal, id string, of map[string]bool) error {
	forks, err := journal.Forks(ctx, repo, id)
	if err != nil {
		return err
	}
	for _, f := range forks {
		if f.Branch == j.Branch {
			continue
		}
		if c := f.State.Run.Current; c != nil {
			delete(of, c.EventID)
		}
		delete(of, f.State.Run.Untouched)
		err := j.WalkFrom(ctx, f.Tip, func(e journal.Entry) (bool, error) {
			delete(of, e.Event.ID)
			return len(of) > 0, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
