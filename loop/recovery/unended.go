package recovery

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
)

// unended is the start of an iteration whose process died and that no claim names any
// more: before its end was recorded, its task was skipped, removed or taken over by
// another machine. Its checkpoint still exists.
type unended struct {
	state.Current
	under string // the claim that is gone
}

// farBack is how many entries are looked at for the start of an iteration that has a
// checkpoint: one that began before them is not looked for.
const farBack = 5000

// Unended reports whether there is an iteration that has begun on this machine, has no
// end, and belongs to no process that lives.
func Unended(ctx context.Context, j *journal.Journal, s state.State) (bool, error) {
	list, err := findUnended(ctx, j, s)
	return len(list) > 0, err
}

func findUnended(ctx context.Context, j *journal.Journal, s state.State) ([]unended, error) {
	prefix := gitstate.LocalPrefix + s.Journal.ID + "/"
	refs, err := j.Repo.ListRefs(ctx, prefix)
	if err != nil {
		return nil, err
	}
	want := map[string]bool{}
	for name := range refs {
		if event := strings.TrimPrefix(name, prefix); !needed(s, event) {
			want[event] = true
		}
	}
	if len(want) == 0 {
		return nil, nil
	}
	var out []unended
	n := 0
	err = j.WalkBrief(ctx, func(e journal.Entry) (bool, error) {
		n++
		if e.Event.Result != nil {
			delete(want, e.Event.ID)
		}
		if st := e.Event.Start; st != nil && want[st.IterationID] {
			delete(want, st.IterationID)
			if e.Event.Under != "" && e.Event.Actor == j.Actor && !alive(st.PID, st.BootID, st.StartTime) {
				out = append(out, unended{state.Current{EventID: st.IterationID, Iteration: e.Event.Iteration,
					Task: e.Event.Task, Attempt: e.Event.Attempt, Phase: e.Event.Phase, Since: e.Event.Time,
					Actor: e.Event.Actor, Start: *st}, e.Event.Under})
			}
		}
		return len(want) > 0 && n < farBack, nil
	})
	if errors.Is(err, journal.ErrNone) {
		err = nil
	}
	return out, err
}

// endUnended ends the unended iterations of this worktree and of removed ones.
// It returns the others, which the recovery of their worktree ends.
func (r *Recovery) endUnended(ctx context.Context, s state.State) (left []string, err error) {
	list, err := findUnended(ctx, r.Journal, s)
	if err != nil {
		return nil, fmt.Errorf("look for iterations without an end: %w", err)
	}
	for _, u := range list {
		_, gone := os.Lstat(filepath.Join(u.Start.Worktree, ".git"))
		if u.Start.Worktree != r.Repo.Root && (r.Worker != "" || gone == nil) {
			left = append(left, u.EventID)
		} else if err := r.interrupted(ctx, s, u.Current, u.under); err != nil {
			return left, err
		}
	}
	return left, nil
}

// needed reports whether an iteration's checkpoint is needed: it is in work, or
// the user still has to decide about its worktree.
func needed(s state.State, event string) bool {
	return s.Run.Untouched == event ||
		slices.ContainsFunc(s.InWork(), func(c state.Current) bool { return c.EventID == event })
}
