package journal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
)

// Joined is what joining with another line of the journal has done.
type Joined int

// The outcomes.
const (
	Same    Joined = iota // both had the same tip
	Ahead                 // ours has all that theirs has, and more
	Forward               // ours has moved to theirs
	Merged                // a merge is the new tip, on top of theirs
)

// ApartError says that two journals were begun apart.
type ApartError struct{ Ours, Theirs string }

func (e *ApartError) Error() string {
	return fmt.Sprintf("the two journals have different origins (%s here, %s there) and cannot be merged", e.Ours,
		e.Theirs)
}

// JoinSteps are the places where a join can be stopped.
var JoinSteps = []string{"join:objects", "join:ref"}

// Join joins the journal with a fetched tip. Events that only our line has are
// applied again on top of theirs. Nothing is rewritten: our ref moves to
// theirs, stays as it is, or moves to a merge of both.
func (j *Journal) Join(ctx context.Context, theirs object.ID) (Joined, *Snapshot, error) {
	deadline := time.Now().Add(j.Deadline)
	defer j.Repo.Queue(j.Branch, j.Deadline/3)()
	for {
		how, from, next, err := j.joined(ctx, theirs)
		if err != nil || how == Same || how == Ahead {
			return how, next, err
		}
		j.fail("join:objects")
		err = j.Repo.UpdateRefs("ralph: join", gitstate.RefUpdate{Name: j.Ref(), Old: from, New: next.Tip})
		if err == nil {
			j.fail("join:ref")
			j.Moved(next)
			_, _ = j.index(ctx, next.Tip) // including the fetched entries
			return how, next, nil
		}
		if !errors.Is(err, gitstate.ErrRefMoved) && !errors.Is(err, gitstate.ErrRefLocked) || time.Now().After(deadline) {
			return how, nil, fmt.Errorf("join the journals: %w", err)
		}
		select {
		case <-ctx.Done():
			return how, nil, ctx.Err()
		case <-time.After(gitstate.Jitter()):
		}
	}
}

// joined makes what Join moves the ref to, without moving it. From is the tip
// that it is for.
func (j *Journal) joined(ctx context.Context, theirs object.ID) (how Joined, from object.ID, next *Snapshot,
	err error) {
	there, err := j.At(theirs)
	if err != nil {
		return Same, from, nil, err
	}
	here, err := j.Load(ctx)
	if errors.Is(err, ErrNone) {
		return Forward, object.Zero, there, nil
	}
	if err != nil {
		return Same, from, nil, err
	}
	if here.Tip == theirs {
		return Same, here.Tip, here, nil
	}
	if a, b := here.State.Journal.ID, there.State.Journal.ID; a != b {
		return Same, here.Tip, nil, &ApartError{a, b}
	}
	if in, err := j.Repo.IsAncestor(ctx, theirs, here.Tip); err != nil || in {
		return Ahead, here.Tip, here, err
	}
	if in, err := j.Repo.IsAncestor(ctx, here.Tip, theirs); err != nil || in {
		return Forward, here.Tip, there, err
	}
	next, err = j.merge(ctx, there, here)
	return Merged, here.Tip, next, err
}

// Onto drafts the entry that joins ours with theirs, like Join, if may allows
// every event that only ours has. Otherwise it returns nil.
func (j *Journal) Onto(ctx context.Context, theirs, ours *Snapshot, may func(state.Event) bool) (*Snapshot, error) {
	all := theirs.State.Journal.ID == ours.State.Journal.ID
	err := j.between(ctx, ours.Tip, theirs.Tip, inFull, func(e Entry) error {
		all = all && may(e.Event)
		return nil
	})
	if err != nil || !all {
		return nil, err
	}
	return j.merge(ctx, theirs, ours)
}

// merge writes the entry that joins two lines. The same two tips give the same
// entry on every machine: it has the newer tip's time, an id derived from both,
// and no user's name.
func (j *Journal) merge(ctx context.Context, theirs, ours *Snapshot) (*Snapshot, error) {
	l := state.Lines{Theirs: theirs.Tip.String(), Ours: ours.Tip.String(), State: theirs.State,
		Known: map[string]bool{}, Renamed: map[string]string{}}
	for _, tip := range []object.ID{theirs.Tip, ours.Tip} {
		c, err := j.Repo.Store.Records().ReadCommit(tip)
		if err != nil {
			return nil, damaged(tip, err)
		}
		if when := c.Committer.When.UTC(); when.After(l.Time) {
			l.Time = when
		}
	}
	err := j.between(ctx, theirs.Tip, ours.Tip, briefly, func(e Entry) error {
		l.Known[e.Event.ID] = true
		if m := e.Event.Merge; m != nil {
			return j.merged(ctx, m, ours.Tip, &l)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the journal that was fetched: %w", err)
	}
	base := object.Zero
	var events [][]state.Event
	err = j.between(ctx, ours.Tip, theirs.Tip, inFull, func(e Entry) error {
		base = e.parent()
		if m := e.Event.Merge; m != nil {
			events = append(events, m.Again)
		} else {
			events = append(events, []state.Event{e.Event})
		}
		return nil
	}, "--first-parent")
	if err != nil {
		return nil, err
	}
	if base.IsZero() {
		return nil, damaged(ours.Tip, errors.New("its history ends before the one of the remote begins"))
	}
	slices.Reverse(events)
	l.Events = slices.Concat(events...)
	at, err := j.At(base)
	if err != nil {
		return nil, err
	}
	l.Base = at.State
	m := state.Join(l)
	seed := sha256.Sum256([]byte(l.Theirs + l.Ours))
	e := state.Event{ID: gitstate.IDFrom(l.Time, seed[:]), Actor: "git-ralph", Time: l.Time, Type: state.EvMerge,
		Merge: &m}
	us := object.Ours(l.Time)
	return j.write(theirs.State, []object.ID{theirs.Tip, ours.Tip}, e, us)
}

// merged adds the events that an earlier merge in theirs applied, and its new
// names for our ids.
func (j *Journal) merged(ctx context.Context, m *state.Merge, ours object.ID, l *state.Lines) error {
	for _, done := range m.Events {
		l.Known[done.ID] = true
		if len(done.Renamed) == 0 {
			continue
		}
		from, err := object.ParseID(m.Ours)
		if err != nil {
			return err
		}
		if mine, err := j.Repo.IsAncestor(ctx, from, ours); err != nil {
			return err
		} else if mine {
			for id, to := range done.Renamed {
				l.Renamed[id] = to
			}
		}
	}
	return nil
}

// between calls f with the entries that lead to tip and not to without, newest
// first.
func (j *Journal) between(ctx context.Context, tip, without object.ID, brief detail, f func(Entry) error,
	options ...string) error {
	options = append(options, "^"+without.String())
	return j.list(ctx, tip.String(), func(ids []object.ID) (bool, error) {
		entries, err := j.readEntries(ids, brief, j.Repo.Store.ReadManyOf)
		if err != nil {
			return false, err
		}
		for _, e := range entries {
			if err := f(e); err != nil {
				return false, err
			}
		}
		return true, ctx.Err()
	}, options...)
}
