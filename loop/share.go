package loop

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
	"git-ralph/gitstate/share"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/text"
	"git-ralph/loop/recovery"
	"git-ralph/loop/refusal"
	"git-ralph/plan"
)

// ShareSteps are the places where work with other machines can be stopped, besides
// those of a push, a pull and a keep.
var ShareSteps = []string{"claim:recorded", "claim:pushed", "share:landed", "share:put-away", "share:moved-on"}

// Sharing lets machines work on one plan through a remote. A machine works on a
// task under a claim, which counts once the remote has accepted the push of the
// journal with it. A result lands with one push of branch and journal. Both are
// fast-forward pushes, so of two concurrent ones the remote accepts one, and it
// never accepts an outdated one.
//
// While the remote is unreachable, work goes on locally and is pushed later.
type Sharing struct {
	*share.Partner
	Engine *worktree.Engine
	Log    func(format string, args ...any)
	// Lease is how long the heartbeat of another machine may stand still.
	Lease time.Duration
	// Over is a claim of another machine that the run of this worker has seen run out.
	Over string

	heard   map[string]heard // by actor
	offline bool
	done    int // building iterations of this start
}

// heard is a heartbeat's value, and since when, by our clock, it has not
// changed.
type heard struct {
	value object.ID
	since time.Time
}

// listen compares heartbeats with those of before.
func (s *Sharing) listen(alive map[string]object.ID, claims []state.Claim, now time.Time) {
	was := s.heard
	s.heard = map[string]heard{}
	for _, c := range claims {
		if h, ok := was[c.Actor]; ok && h.value == alive[c.Actor] {
			s.heard[c.Actor] = h
		} else {
			s.heard[c.Actor] = heard{alive[c.Actor], now}
		}
	}
}

// expired says whether a claim of another machine may be taken over.
func (s *Sharing) expired(c state.Claim, now time.Time) bool {
	if s.Over != "" && c.ID == s.Over {
		return true
	}
	lease, err := time.ParseDuration(c.Lease)
	if err != nil {
		lease = s.Lease
	}
	h, ok := s.heard[c.Actor]
	return ok && now.Sub(h.since) >= lease
}

// free is another machine's expired claim on a task; "" = there is none.
func (s *Sharing) free(st state.State, task plan.TaskID, now time.Time) string {
	if c := st.ClaimOf(task); c != nil && s.expired(*c, now) {
		return c.ID
	}
	return ""
}

// pause is how long a machine waits before it looks again what others have done.
func (s *Sharing) pause() time.Duration {
	return min(max(s.Lease/10, 200*time.Millisecond), 10*time.Second)
}

// lock keeps the workers of this machine from moving the branch and its files at the
// same time. It is held while the remote is talked to, and never while anything is proved.
func (s *Sharing) lock(ctx context.Context) (release func(), err error) {
	l, err := s.Repo.LockSharing(ctx, s.Journal.Branch)
	if err != nil {
		return nil, err
	}
	return func() {
		if err := l.Release(); err != nil {
			s.Log("%v", err)
		}
	}, nil
}

// apart says that branch and remote have commits that the other one lacks, and
// that not all of them are git ralph's own.
func (s *Sharing) apart() error {
	return refusal.New(refusal.BranchesApart, "%s and %s of %s have diverged", s.Journal.Branch, s.Journal.Branch, s.Name).
		About(s.Name, s.Journal.Branch)
}

// CatchUp brings journal and branch up to the remote's, with index and files of
// the branch. It ends well when the remote cannot be reached.
func (s *Sharing) CatchUp(ctx context.Context) (share.Seen, error) {
	release, err := s.lock(ctx)
	if err != nil {
		return share.Seen{}, err
	}
	defer release()
	return s.catchUp(ctx)
}

func (s *Sharing) catchUp(ctx context.Context) (share.Seen, error) {
	rep, seen, err := s.Pull(ctx, share.WithCode)
	var far *share.UnreachableError
	if errors.As(err, &far) {
		s.offline = true
		return seen, nil
	}
	if err != nil {
		return seen, fmt.Errorf("join with %s: %w", s.Name, err)
	}
	s.offline = false
	snap, err := s.Journal.Load(ctx)
	if errors.Is(err, journal.ErrNone) {
		return seen, nil
	}
	if err != nil {
		return seen, err
	}
	s.listen(seen.Alive, snap.State.Claims, time.Now())
	if err := s.follow(ctx, seen.Code); err != nil || rep.How != "merged" {
		return seen, err
	}
	return seen, s.writeNotes(ctx, snap.Tip)
}

// writeNotes writes notes of iterations that were pushed before their process
// was killed here: a merge finds them known.
func (s *Sharing) writeNotes(ctx context.Context, merge object.ID) error {
	e, err := s.Journal.Read(merge)
	if err != nil || e.Event.Merge == nil {
		return err
	}
	want := map[string]bool{}
	for _, done := range e.Event.Merge.Events {
		if done.Type == state.EvIteration && done.Outcome == "known" {
			want[done.ID] = true
		}
	}
	texts := map[object.ID]string{}
	err = s.Journal.WalkBrief(ctx, func(e journal.Entry) (bool, error) {
		if !want[e.Event.ID] || e.Event.Result == nil || e.Event.Result.Commit == "" {
			return len(want) > 0, nil
		}
		delete(want, e.Event.ID)
		whole, err := s.Journal.Read(e.ID)
		if err != nil {
			return false, err
		}
		commit, err := object.ParseID(e.Event.Result.Commit)
		if err == nil {
			texts[commit] = state.Note(whole.Event)
		}
		return len(want) > 0, err
	})
	if err != nil || len(texts) == 0 {
		return err
	}
	return recovery.WriteNotes(s.Repo, texts)
}

// follow moves the branch to what the remote has.
func (s *Sharing) follow(ctx context.Context, to object.ID) error {
	ref := gitstate.BranchRef(s.Journal.Branch)
	from, err := s.Repo.ReadRef(ctx, ref)
	if err != nil || to.IsZero() || from.IsZero() || from == to {
		return err
	}
	if ahead, err := s.Repo.IsAncestor(ctx, to, from); err != nil || ahead {
		return err
	}
	behind, err := s.Repo.IsAncestor(ctx, from, to)
	if err != nil {
		return err
	}
	if !behind {
		if to, err = s.replay(ctx, from, to); err != nil {
			return err
		}
	}
	f := recovery.Follower{Repo: s.Repo, Journal: s.Journal, Engine: s.Engine, Of: s.Name, Log: s.Log, Fail: s.Fail}
	if moved, err := f.Forward(ctx, from, to); err != nil || moved {
		return err
	}
	return refusal.New(refusal.FilesInTheWay, "tracked files have changes, and %s has new commits of %s", s.Name,
		s.Journal.Branch)
}

// replay puts iterations that were kept offline on top of what the remote has now.
// If another machine did the task or changed the same lines meanwhile, the
// iteration stays only in its evidence and its task is free again.
func (s *Sharing) replay(ctx context.Context, from, to object.ID) (object.ID, error) {
	out, err := s.Repo.Git.Run(ctx, "log", "--reverse", "--topo-order", "-z", "--format=%H%n%B",
		to.String()+".."+from.String())
	if err != nil {
		return to, fmt.Errorf("compare %s with the remote: %w", s.Journal.Branch, err)
	}
	for rec := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		hash, body, _ := strings.Cut(rec, "\n")
		commit, err := object.ParseID(strings.TrimSpace(hash))
		if err != nil {
			return to, err
		}
		event, task := "", plan.TaskID("")
		for line := range strings.Lines(body) {
			if id, ok := strings.CutPrefix(strings.TrimSpace(line), "Ralph-Event-Id: "); ok {
				event = id
			}
			if id, ok := strings.CutPrefix(strings.TrimSpace(line), "Ralph-Task: "); ok {
				task = plan.TaskID(id)
			}
		}
		if event == "" {
			return to, s.apart()
		}
		if dropped, err := s.superseded(ctx, event); err != nil {
			return to, err
		} else if dropped {
			s.Log("%s is dropped, because another machine took its task over; the attempt is kept as evidence",
				commit.String()[:12])
			continue
		}
		is, conflicts, err := putOn(ctx, s.Repo, commit, to, unsigned)
		if err != nil {
			return to, err
		}
		if len(conflicts) > 0 {
			s.Log("%s conflicts with what %s has in %s; its task is pending again", commit.String()[:12], s.Name,
				text.List(conflicts))
			_, err := s.Journal.Record(ctx, state.Event{Type: state.EvTask, Task: task,
				TaskSet: &state.TaskChange{Action: "retry",
					IDs: []plan.TaskID{task}, Status: plan.Pending, Reason: "conflict with what others landed: " +
						text.List(conflicts)}})
			if err != nil {
				return to, err
			}
			continue
		}
		to = is
	}
	return to, nil
}

// superseded says whether an iteration has lost its task to another machine.
func (s *Sharing) superseded(ctx context.Context, event string) (bool, error) {
	lost, found := false, false
	err := s.Journal.WalkBrief(ctx, func(e journal.Entry) (bool, error) {
		if m := e.Event.Merge; m != nil {
			for _, done := range m.Events {
				if done.ID == event && done.Outcome != "known" {
					lost, found = done.Outcome == "superseded", true
				}
			}
		} else if e.Event.ID == event {
			found = true
		}
		return !found, nil
	})
	return lost, err
}

// publish brings journal, notes and branch to the remote.
func (s *Sharing) publish(ctx context.Context) error {
	for try := 0; try < 50; try++ {
		if err := s.publishOnce(ctx); !errors.Is(err, share.ErrMoved) {
			return err
		}
		time.Sleep(gitstate.Jitter())
	}
	return fmt.Errorf("push to %s: %w again and again", s.Name, share.ErrMoved)
}

// publishOnce is one try of publish.
func (s *Sharing) publishOnce(ctx context.Context) error {
	release, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer release()
	seen, err := s.catchUp(ctx)
	if err != nil || s.offline {
		return err
	}
	to := map[string]object.ID{}
	for ref, there := range map[string]object.ID{s.Journal.Ref(): seen.Journal, gitstate.NotesRef: seen.Notes,
		gitstate.BranchRef(s.Journal.Branch): seen.Code} {
		at, err := s.Repo.ReadRef(ctx, ref)
		if err != nil {
			return err
		}
		if !at.IsZero() && at != there {
			to[ref] = at
		}
	}
	if err := s.send(ctx, to); err != nil || s.offline {
		return err
	}
	if tip, ok := to[s.Journal.Ref()]; ok {
		if err := s.Pushed(ctx, tip); err != nil {
			return err
		}
	}
	if s.Evidence {
		return s.pushEvidence(ctx)
	}
	return nil
}

// publishEnd pushes what an iteration has left. What was kept has landed; the rest is
// tried again with the next push.
func (l *Loop) publishEnd() {
	if l.Share == nil {
		return
	}
	if err := l.Share.publish(l.background()); err != nil {
		l.Log("the journal was not pushed: %v", err)
	}
}

func (s *Sharing) pushEvidence(ctx context.Context) error {
	snap, err := s.Journal.Load(ctx)
	if err != nil {
		return err
	}
	_, err = s.Partner.PushEvidence(ctx, snap.State.Journal.ID)
	var far *share.UnreachableError
	if errors.As(err, &far) {
		return nil
	}
	return err
}

// send pushes. A remote that cannot be reached is no error.
func (s *Sharing) send(ctx context.Context, to map[string]object.ID) error {
	err := s.Remote.Push(ctx, to)
	var far *share.UnreachableError
	if errors.As(err, &far) {
		s.offline = true
		return nil
	}
	return err
}

// take claims a task. With other machines the claim counts once the remote has it.
// False means that somebody was faster, or that a person has decided otherwise.
func (l *Loop) take(ctx context.Context, id plan.TaskID) (state.Claim, bool, error) {
	var made state.Event
	snap, err := l.Journal.Append(l.background(), func(s state.State) (state.Event, error) {
		i, c := s.Plan.Find(id), state.ClaimChange{Worker: l.Repo.WorktreeName()}
		if l.Share != nil {
			c.Lease, c.Over = l.Share.Lease.String(), l.Share.free(s, id, time.Now())
		}
		if i < 0 || c.Over == "" && s.Plan.Tasks[i].Status != plan.Pending || s.Run.PauseAsked || s.Run.StopAsked > 0 {
			return state.Event{}, journal.ErrNothing
		}
		made = newClaim(s, i, c)
		l.Journal.Stamp(&made)
		return made, nil
	})
	if errors.Is(err, journal.ErrNothing) {
		return state.Claim{}, false, nil
	}
	if err != nil {
		return state.Claim{}, false, err
	}
	l.fail("claim:recorded")
	if l.Share != nil {
		if err := l.Share.publish(ctx); err != nil {
			return state.Claim{}, false, err
		}
		l.fail("claim:pushed")
		if snap, err = l.Journal.Load(l.background()); err != nil {
			return state.Claim{}, false, err
		}
	}
	held := snap.State.ClaimOf(id)
	if held == nil || held.ID != made.ID {
		return state.Claim{}, false, nil
	}
	return *held, true, nil
}

// among is the state as this machine decides on it: tasks whose claims have run
// out are free, and the iterations of this start are its own.
func (s *Sharing) among(st state.State, now time.Time) state.State {
	st.Run.SessionIterations = s.done
	st.Plan.Tasks = slices.Clone(st.Plan.Tasks)
	st.Claims = slices.DeleteFunc(slices.Clone(st.Claims), func(c state.Claim) bool {
		if !s.expired(c, now) {
			return false
		}
		if i := st.Plan.Find(c.Task); i >= 0 {
			st.Plan.Tasks[i].Status = plan.Pending
		}
		return true
	})
	return st
}

// waitForOthers stands still while all that is left is claimed by other machines.
func (l *Loop) waitForOthers(ctx context.Context, a Action) error {
	l.emit("wait", state.State{}, "", nil, "%s", a.Reason)
	tip, err := l.Journal.Tip(ctx)
	if err != nil {
		return err
	}
	asks := l.asks(holdsUp)
	for ctx.Err() == nil {
		asked, err := asks.during(ctx, func(ctx context.Context) { l.Sleep(ctx, l.Share.pause()) })
		if err != nil || asked || ctx.Err() != nil {
			return err
		}
		if _, err := l.Share.CatchUp(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		s, err := l.load()
		if err != nil {
			return err
		}
		now, err := l.Journal.Tip(l.background())
		if err != nil || now != tip || len(l.Share.among(s, time.Now()).Claims) < len(s.Claims) {
			return err
		}
	}
	return nil
}

// beat shows the remote that this machine is alive until ctx ends, and then takes
// the heartbeat away. Its first value is there when beat returns.
func (s *Sharing) beat(ctx context.Context) (stop func()) {
	ref := share.AlivePrefix + s.Journal.Actor
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	last, n := object.Zero, 0
	next := func() {
		n++
		var parents []object.ID
		if !last.IsZero() {
			parents = append(parents, last)
		} else if seen, err := s.List(ctx, ref); err == nil && !seen[ref].IsZero() {
			// Of a run before; only a new line may take its place.
			_ = s.Remote.Push(ctx, map[string]object.ID{ref: object.Zero})
		}
		sig := object.Ours(time.Now())
		id, err := s.Repo.Store.WriteCommit(object.CommitData{Tree: object.EmptyTree, Parents: parents, Author: sig,
			Committer: sig, Message: fmt.Sprintf("%s is alive, %d\n", s.Journal.Actor, n)})
		if err == nil {
			_, err = s.Repo.Store.Write(object.Tree, nil)
		}
		if err == nil {
			err = s.Repo.Store.Sync()
		}
		if err == nil && s.Remote.Push(ctx, map[string]object.ID{ref: id}) == nil {
			last = id
		} else {
			last = object.Zero
		}
	}
	next()
	go func() {
		defer close(ended)
		tick := time.NewTicker(max(s.Lease/3, 50*time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				next()
			}
		}
	}()
	return func() {
		cancel()
		<-ended
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = s.Remote.Push(ctx, map[string]object.ID{ref: object.Zero}) // else it stands still, and runs out
	}
}
