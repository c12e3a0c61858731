package share

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/notes"
)

// Partner joins the journal of a branch with the one that a remote has.
type Partner struct {
	*Remote
	Journal  *journal.Journal
	Notes    bool
	Evidence bool
	// Fail is told where it stands; tests end the process there.
	Fail func(step string)
}

// Steps are the places where it can be stopped.
var Steps = []string{"share:fetched", "share:joined", "share:notes", "share:pushed", "share:tracked"}

// Seen is what a remote had when it was asked.
type Seen struct {
	Journal, Code, Notes object.ID
	Alive                map[string]object.ID // by actor
}

// Report says what pull or push have done.
type Report struct {
	Remote   string         `json:"remote"`
	Branch   string         `json:"branch"`
	How      string         `json:"journal"` // none, same, ahead, new, forward, merged
	Entries  int            `json:"entries"` // that came or went
	Evidence int            `json:"evidence"`
	Notes    bool           `json:"notes"`
	Outcome  map[string]int `json:"events,omitempty"` // of a merge: how many were applied, superseded…
}

// Look asks the remote for the refs that concern the branch.
func (p *Partner) Look(ctx context.Context) (Seen, error) {
	j, code := p.Journal.Ref(), gitstate.BranchRef(p.Journal.Branch)
	refs, err := p.List(ctx, j, code, gitstate.NotesRef, AlivePrefix+"*")
	if err != nil {
		return Seen{}, err
	}
	s := Seen{Journal: refs[j], Code: refs[code], Notes: refs[gitstate.NotesRef], Alive: map[string]object.ID{}}
	for name, id := range refs {
		if actor, ok := strings.CutPrefix(name, AlivePrefix); ok {
			s.Alive[actor] = id
		}
	}
	return s, nil
}

// Scope is what a pull fetches: the journal, or the objects of the code branch as well.
type Scope bool

// The values of Scope.
const (
	WithCode    Scope = true
	JournalOnly Scope = false
)

// Pull fetches the remote's journal and joins it with the one here; the first
// time it becomes the one here. Code brings the objects of the branch as well.
func (p *Partner) Pull(ctx context.Context, code Scope) (Report, Seen, error) {
	rep := Report{Remote: p.Name, Branch: p.Journal.Branch, How: "none"}
	seen, err := p.Look(ctx)
	if err != nil {
		return rep, seen, err
	}
	specs, err := p.wanted(ctx, seen, code)
	if err != nil {
		return rep, seen, err
	}
	if err := p.tryOut(ctx, seen); err != nil {
		return rep, seen, err
	}
	if err := p.Fetch(ctx, specs...); err != nil {
		return rep, seen, err
	}
	p.fail("share:fetched")
	// If nothing was redacted here, the remote may have redacted.
	pairs, err := p.pairs(ctx, seen)
	if err == nil {
		err = p.compare(ctx, pairs, nil)
	}
	if err != nil {
		return rep, seen, err
	}
	if seen.Journal.IsZero() {
		return rep, seen, nil
	}
	was, err := p.Journal.Tip(ctx)
	if err != nil {
		return rep, seen, err
	}
	how, snap, err := p.Journal.Join(ctx, seen.Journal)
	if err != nil {
		return rep, seen, err
	}
	p.fail("share:joined")
	rep.How = map[journal.Joined]string{journal.Same: "same", journal.Ahead: "ahead", journal.Forward: "forward",
		journal.Merged: "merged"}[how]
	if was.IsZero() {
		rep.How = "new"
	}
	if how == journal.Forward || how == journal.Merged {
		if rep.Entries, err = p.count(ctx, was, snap.Tip); err != nil {
			return rep, seen, err
		}
	}
	if how == journal.Merged {
		if e, err := p.Journal.Read(snap.Tip); err == nil && e.Event.Merge != nil {
			rep.Outcome = map[string]int{}
			for _, m := range e.Event.Merge.Events {
				rep.Outcome[m.Outcome]++
			}
		}
	}
	if p.Notes && !seen.Notes.IsZero() {
		if rep.Notes, err = p.joinNotes(ctx, seen.Notes); err != nil {
			return rep, seen, err
		}
	}
	p.fail("share:notes")
	if p.Evidence {
		rep.Evidence, err = p.pullEvidence(ctx, snap.State.Journal.ID)
	}
	return rep, seen, err
}

// wanted are the refs of the remote that are not here yet.
func (p *Partner) wanted(ctx context.Context, seen Seen, code Scope) (specs []string, err error) {
	track := p.TrackRef(ctx, p.Journal.Branch)
	if !seen.Journal.IsZero() {
		had := object.Zero
		if track != "" {
			if had, err = p.Repo.ReadRef(ctx, track); err != nil {
				return nil, err
			}
		}
		if had != seen.Journal || !p.Repo.Store.Has(seen.Journal) {
			specs = append(specs, p.Journal.Ref()+spec(track))
		}
	}
	if p.Notes && !seen.Notes.IsZero() && !p.Repo.Store.Has(seen.Notes) {
		specs = append(specs, gitstate.NotesRef)
	}
	if code == WithCode && !seen.Code.IsZero() && !p.Repo.Store.Has(seen.Code) {
		specs = append(specs, gitstate.BranchRef(p.Journal.Branch))
	}
	return specs, nil
}

func spec(to string) string {
	if to == "" {
		return ""
	}
	return ":" + to
}

// count is how many entries lead to a tip and not to another one.
func (p *Partner) count(ctx context.Context, from, to object.ID) (int, error) {
	args := []string{"rev-list", "--count", to.String()}
	if !from.IsZero() {
		args = append(args, "^"+from.String())
	}
	out, err := p.Repo.Git.Line(ctx, args...)
	if err != nil {
		return 0, fmt.Errorf("count entries: %w", err)
	}
	n := 0
	_, err = fmt.Sscan(out, &n)
	return n, err
}

// Push brings what is here to the remote, after it was joined with what the
// remote has. When others push at the same time it joins and tries again.
func (p *Partner) Push(ctx context.Context) (Report, error) {
	for try := 0; ; try++ {
		rep, seen, err := p.Pull(ctx, JournalOnly)
		if err != nil {
			return rep, err
		}
		err = p.send(ctx, &rep, seen)
		if !errors.Is(err, ErrMoved) || try == 50 {
			return rep, err
		}
		select {
		case <-ctx.Done():
			return rep, ctx.Err()
		case <-time.After(gitstate.Jitter()):
		}
	}
}

// send pushes once.
func (p *Partner) send(ctx context.Context, rep *Report, seen Seen) error {
	snap, err := p.Journal.Load(ctx)
	if err != nil {
		return err
	}
	to := map[string]object.ID{}
	if snap.Tip != seen.Journal {
		to[p.Journal.Ref()] = snap.Tip
		if rep.Entries, err = p.count(ctx, seen.Journal, snap.Tip); err != nil {
			return err
		}
	}
	if p.Notes {
		at, err := p.Repo.ReadRef(ctx, gitstate.NotesRef)
		if err != nil {
			return err
		}
		if rep.Notes = !at.IsZero() && at != seen.Notes; rep.Notes {
			to[gitstate.NotesRef] = at
		}
	}
	if p.Evidence {
		if rep.Evidence, err = p.PushEvidence(ctx, snap.State.Journal.ID); err != nil {
			return err
		}
	}
	if err := p.Remote.Push(ctx, to); err != nil {
		return err
	}
	p.fail("share:pushed")
	return p.Pushed(ctx, snap.Tip)
}

// Pushed notes that the remote has a tip of the journal.
func (p *Partner) Pushed(ctx context.Context, tip object.ID) error {
	if track := p.TrackRef(ctx, p.Journal.Branch); track != "" {
		if err := p.Repo.MoveRef(track, tip); err != nil {
			return err
		}
	}
	p.fail("share:tracked")
	return nil
}

// PushEvidence pushes the evidence that the remote does not have, before the
// journal that names it. A text in it was redacted when it was written.
func (p *Partner) PushEvidence(ctx context.Context, id string) (int, error) {
	prefix := gitstate.EvidencePrefix + id + "/"
	here, err := p.Repo.ListRefs(ctx, prefix)
	if err != nil || len(here) == 0 {
		return 0, err
	}
	there, err := p.List(ctx, prefix+"*")
	if err != nil {
		return 0, err
	}
	some, n := map[string]object.ID{}, 0
	send := func() error {
		n += len(some)
		err := p.Remote.Push(ctx, some)
		clear(some)
		return err
	}
	for name, at := range here {
		if _, has := there[name]; has {
			continue
		}
		if some[name] = at; len(some) == many {
			if err := send(); err != nil {
				return n, err
			}
		}
	}
	return n, send()
}

// many bounds the refs of one command line, which is limited.
const many = 200

// pullEvidence fetches the evidence that is not here, but none from before a text was
// taken out. What is here stays as it is.
func (p *Partner) pullEvidence(ctx context.Context, id string) (int, error) {
	prefix := gitstate.EvidencePrefix + id + "/"
	there, err := p.List(ctx, prefix+"*")
	if err != nil {
		return 0, err
	}
	here, err := p.Repo.ListRefs(ctx, prefix)
	if err != nil {
		return 0, err
	}
	since, err := p.since(ctx)
	if err != nil {
		return 0, err
	}
	var specs []string
	for name := range there {
		if _, has := here[name]; !has && strings.TrimPrefix(name, prefix) >= since {
			specs = append(specs, name+":"+name)
		}
	}
	for some := range slices.Chunk(specs, many) {
		if err := p.Fetch(ctx, some...); err != nil {
			return 0, err
		}
	}
	return len(specs), nil
}

// joinNotes merges the notes of both sides. It reports whether the local ones
// changed.
func (p *Partner) joinNotes(ctx context.Context, theirs object.ID) (bool, error) {
	for try := 0; ; try++ {
		ours, err := p.Repo.ReadRef(ctx, gitstate.NotesRef)
		if err != nil {
			return false, err
		}
		next, err := p.joinedNotes(ctx, theirs, ours)
		if err != nil || next == ours {
			return false, err
		}
		err = p.Repo.UpdateRefs("", gitstate.RefUpdate{Name: gitstate.NotesRef, Old: ours, New: next})
		if err == nil || !errors.Is(err, gitstate.ErrRefMoved) && !errors.Is(err, gitstate.ErrRefLocked) || try == 20 {
			return err == nil, err
		}
		time.Sleep(gitstate.Jitter())
	}
}

func (p *Partner) joinedNotes(ctx context.Context, theirs, ours object.ID) (object.ID, error) {
	if ours.IsZero() || ours == theirs {
		return theirs, nil
	}
	if in, err := p.Repo.IsAncestor(ctx, theirs, ours); err != nil || in {
		return ours, err
	}
	if in, err := p.Repo.IsAncestor(ctx, ours, theirs); err != nil || in {
		return theirs, err
	}
	store := p.Repo.Store.Records()
	var trees [2]object.ID
	var when time.Time
	for i, id := range []object.ID{theirs, ours} {
		c, err := store.ReadCommit(id)
		if err != nil {
			return object.Zero, fmt.Errorf("read the notes: %w", err)
		}
		if trees[i] = c.Tree; c.Committer.When.After(when) {
			when = c.Committer.When.UTC()
		}
	}
	tree, err := notes.Union(store, trees[0], trees[1])
	if err != nil {
		return object.Zero, err
	}
	us := object.Ours(when)
	id, err := p.Repo.Store.WriteCommit(object.CommitData{Tree: tree, Parents: []object.ID{theirs, ours}, Author: us,
		Committer: us, Message: "Notes joined by git ralph\n"})
	if err != nil {
		return object.Zero, fmt.Errorf("join the notes: %w", err)
	}
	return id, p.Repo.Store.Sync()
}

func (p *Partner) fail(step string) {
	if p.Fail != nil {
		p.Fail(step)
	}
}
