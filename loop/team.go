package loop

import (
	"context"
	"fmt"
	"slices"
	"time"

	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

// Team is several workers of one run. Each works on one task in a linked worktree of
// its own, by a process of its own, and lands what it made by itself; the run
// decides who does what, and everything else.
type Team struct {
	Size int
	// Start begins the work on a task in a slot from 1 to Size, over a claim of another
	// machine that has run out; "" = there is none. The channel gets one value when the
	// process has ended.
	Start func(ctx context.Context, slot int, task plan.TaskID, over string) (<-chan WorkerEnd, error)
	// Recover repairs what a worker left that did not come to its end.
	Recover func(slot int) error

	busy   map[int]plan.TaskID
	ends   chan WorkerEnd
	halt   *Action // that a worker asked for
	broken int     // workers in a row that ended without a word
}

// WorkerEnd is how a worker's process ended.
type WorkerEnd struct {
	Slot int
	Task plan.TaskID
	Halt *Action
	// Iterated reports whether an iteration came to its end.
	Iterated bool
	// Err: it died, or could not begin.
	Err error
}

// maxBroken is how many workers in a row may die before the run is ended.
const maxBroken = 5

// Await is what a team does while nothing else can be done: wait for a worker.
const Await ActionKind = "await"

// Assign decides what a team of size does next, given a single loop's decision and the
// tasks that its workers are busy with. What ends or changes the run waits until no
// worker is busy. No task is taken that overlaps one in work, here or on another
// machine; actor is the name of this one.
func Assign(s state.State, a Action, actor string, busy []plan.TaskID, size int, l Limits) Action {
	beside := slices.Clone(busy)
	for _, c := range s.Claims {
		if slices.Contains(beside, c.Task) {
			continue
		}
		beside = append(beside, c.Task)
		if c.Actor == actor { // of a worker of another process
			busy = append(busy, c.Task)
		}
	}
	await := Action{Kind: Await}
	switch a.Kind {
	case FailTask, BlockTask, OpenBreaker, Close:
		return a
	case Work:
	default:
		if len(busy) == 0 {
			return a
		}
		return await
	}
	id, ok := a.Task, true
	if len(beside) > 0 {
		id, ok = plan.NextBeside(s.Plan, beside)
	}
	switch {
	case !ok && len(busy) == 0:
		return Action{Kind: Wait, Status: state.Waiting, Reason: "claimed by others: " + claimed(s.Claims), Others: true}
	case len(busy) == 0:
		return Action{Kind: Work, Task: id}
	case !ok, len(busy) >= size, s.Run.Breaker.State == "half-open":
		return await
	case l.MaxIterations > 0 && s.Run.SessionIterations+len(busy) >= l.MaxIterations:
		return await
	}
	return Action{Kind: Work, Task: id}
}

// next is Assign for this team, and what a worker asked for once none is left.
func (t *Team) next(s state.State, a Action, actor string, l Limits) Action {
	if t.halt != nil && a.Kind != Halt {
		a = *t.halt
	}
	return Assign(s, a, actor, t.tasks(), t.Size, l)
}

func (t *Team) tasks() []plan.TaskID {
	var out []plan.TaskID
	for slot := 1; slot <= t.Size; slot++ {
		if id, ok := t.busy[slot]; ok {
			out = append(out, id)
		}
	}
	return out
}

// send starts a worker on a task.
func (l *Loop) send(ctx context.Context, id plan.TaskID) error {
	t, over := l.Team, ""
	if l.Share != nil {
		s, err := l.load()
		if err != nil {
			return err
		}
		over = l.Share.free(s, id, time.Now())
	}
	if t.busy == nil {
		t.busy, t.ends = map[int]plan.TaskID{}, make(chan WorkerEnd)
	}
	slot := 1
	for ; slot <= t.Size; slot++ {
		if _, taken := t.busy[slot]; !taken {
			break
		}
	}
	end, err := t.Start(ctx, slot, id, over)
	if err != nil {
		return fmt.Errorf("start worker %d: %w", slot, err)
	}
	t.busy[slot] = id
	go func() { t.ends <- <-end }()
	return nil
}

// await waits until a worker has ended or the user has asked for something. With
// other machines it also looks at their work while a worker is free.
func (l *Loop) await(ctx context.Context) error {
	t := l.Team
	if len(t.busy) == 0 { // claims of workers of another process
		l.Sleep(ctx, 200*time.Millisecond)
		return nil
	}
	tip, err := l.Journal.Tip(l.background())
	if err != nil {
		return err
	}
	look := time.NewTicker(200 * time.Millisecond)
	defer look.Stop()
	var others <-chan time.Time
	if l.Share != nil && len(t.busy) < t.Size {
		others = time.After(l.Share.pause())
	}
	for {
		select {
		case end := <-t.ends:
			return l.ended(end)
		case <-others:
			_, err := l.Share.CatchUp(l.background())
			return err
		case <-look.C:
			if now, err := l.Journal.Tip(l.background()); err != nil || now != tip {
				return err
			}
		}
	}
}

// ended takes note of a worker's end.
func (l *Loop) ended(end WorkerEnd) error {
	t := l.Team
	delete(t.busy, end.Slot)
	if end.Halt != nil && t.halt == nil {
		t.halt = end.Halt
	}
	if l.Share != nil && end.Iterated {
		l.Share.done++
	}
	if end.Err == nil {
		t.broken = 0
		l.publishEnd()
		return nil
	}
	l.Log("worker %d on %s: %v", end.Slot, end.Task, end.Err)
	if err := t.Recover(end.Slot); err != nil {
		return err
	}
	l.publishEnd()
	if t.broken++; t.broken >= maxBroken {
		return fmt.Errorf("%d workers in a row ended without a result: %w", t.broken, end.Err)
	}
	return nil
}

// drain waits for all workers, whatever the run's end is.
func (l *Loop) drain() {
	if l.Team == nil {
		return
	}
	for len(l.Team.busy) > 0 {
		if err := l.ended(<-l.Team.ends); err != nil {
			l.Log("%v", err)
		}
	}
}
