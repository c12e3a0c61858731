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

// Prune lets old evidence go: the newest keep refs of the journal stay, and
// those of rejected attempts of tasks that are not finished. The journal's part
// of every iteration stays for ever. keep <= 0 = keep all.
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
	left := len(old)
	err = j.WalkBrief(ctx, func(e journal.Entry) (bool, error) {
		if r := e.Event.Result; r != nil && old[e.Event.ID] {
			left--
			if r.Verdict != state.Reject || !open[string(e.Event.Task)] {
				drop = append(drop, of[e.Event.ID]...)
			}
		}
		// The rest of a long history says nothing about these.
		return left > 0, nil
	})
	// What this journal does not know is a linked worktree's, or was left by a
	// crash: not ours to drop.
	var out []gitstate.RefUpdate
	for _, name := range drop {
		out = append(out, gitstate.RefUpdate{Name: name, Old: refs[name], New: object.Zero})
	}
	return out, err
}
