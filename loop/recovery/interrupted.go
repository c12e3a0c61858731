package recovery

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// deadRun is an iteration whose process died, as it was found.
type deadRun struct {
	*Record
	cur     state.Current
	tip     object.ID
	after   *worktree.Capture // nil = another worktree was its
	notices []string
}

// processDied says in the journal how it ended.
const processDied = "the process died"

// interrupted ends an iteration whose process died, with or without a claim. It first
// stores what is in the worktree. It restores the checkpoint only if nobody has moved
// HEAD, the branch or the index since.
func (r *Recovery) interrupted(ctx context.Context, s state.State, cur state.Current, claim string) error {
	if killed, err := proc.SweepEvent(cur.EventID); err != nil {
		return fmt.Errorf("end the processes of the dead run: %w", err)
	} else if len(killed) > 0 {
		r.Log("ended %d processes that the dead run had left", len(killed))
	}
	r.fail("recover:swept")
	inWork := func(s state.State) bool {
		return slices.ContainsFunc(s.InWork(), func(c state.Current) bool { return c.EventID == cur.EventID })
	}
	known := inWork(s) // else its claim was dropped before it died
	d := &deadRun{cur: cur, Record: &Record{Place: r.Place, Journal: s.Journal.ID, Event: cur.EventID,
		Number: cur.Iteration}}
	if err := d.open(ctx); err != nil {
		return err
	}
	var evidence object.ID
	untouched := false
	var err error
	if d.Before != nil && r.wasHere(cur) {
		if evidence, untouched, err = r.salvage(ctx, d); err != nil {
			return err
		}
	}
	r.fail("recover:restored")
	e := d.ending(s, claim)
	if i := s.Plan.Find(cur.Task); !known && i >= 0 && s.Plan.Tasks[i].Status == plan.Skipped {
		e.Result.Reasons = []string{"skipped"}
	}
	e.Result.Evidence = object.Hex(evidence)
	if untouched {
		e.Result.Untouched = true
		e.Result.Notices = append(e.Result.Notices, "the worktree was left as it was found")
	}
	after, _ := state.Apply(s, e)
	e.Result.SessionMemory = state.SessionMemory(after, nil, nil, "")
	if _, err := r.Journal.Append(ctx, func(now state.State) (state.Event, error) {
		if known && !inWork(now) {
			return state.Event{}, journal.ErrNothing
		}
		return e, nil
	}); err != nil && !errors.Is(err, journal.ErrNothing) {
		return err
	}
	r.fail("recover:recorded")
	if err := session.DropSpend(r.Repo, cur.EventID); err != nil {
		r.Log("%v", err)
	}
	if d.Before != nil && !untouched {
		d.Drop()
	}
	return nil
}

// wasHere reports whether an iteration worked in this worktree: at its present place, or
// where it lay before it was moved or seen from within a container. There is no worktree
// at that place now, and no other one has the branch.
func (r *Recovery) wasHere(cur state.Current) bool {
	if cur.Start.Worktree == r.Repo.Root {
		return true
	}
	_, err := os.Lstat(filepath.Join(cur.Start.Worktree, ".git"))
	return errors.Is(err, fs.ErrNotExist) && cur.Start.HeadRef == gitstate.BranchRef(r.Journal.Branch)
}

// open reads the checkpoint, and what an earlier restore of this iteration
// removed and its evidence does not hold yet.
func (d *deadRun) open(ctx context.Context) (err error) {
	if d.cur.Start.Tip != "" {
		if d.tip, err = object.ParseID(d.cur.Start.Tip); err != nil {
			return err
		}
	}
	if d.Anchor, err = d.Repo.ReadRef(ctx, d.localRef()); err != nil || d.Anchor.IsZero() {
		return err
	}
	tree, err := d.Repo.TreeOf(d.Anchor)
	if err != nil {
		return fmt.Errorf("read the checkpoint: %w", err)
	}
	if d.Before, err = d.Engine.Load(ctx, tree); err != nil {
		return fmt.Errorf("read the checkpoint: %w", err)
	}
	if d.found, err = ReadFound(d.Repo, tree); err == nil { // of two tries the first was over
		var tries object.TreeEntry
		tries, _, err = d.Repo.Lookup(tree, firstTry+"worktree")
		d.first = tries.ID
	}
	if err != nil {
		return fmt.Errorf("read what was found in the worktree: %w", err)
	}
	return nil
}

// salvage stores what lies in the worktree and restores the checkpoint, unless somebody
// was there since.
func (r *Recovery) salvage(ctx context.Context, d *deadRun) (evidence object.ID, untouched bool, err error) {
	if d.after, err = r.Engine.Capture(ctx, d.Before); err != nil {
		return evidence, false, fmt.Errorf("store what lies in the worktree: %w", err)
	}
	d.notices = Noted(d.notices, d.TellSpoiled(d.after.Spoiled)...)
	n := d.cur.Iteration
	same, why, err := r.asRecorded(ctx, d.cur, d.Before)
	if err != nil {
		return evidence, false, err
	}
	if !same {
		if evidence, err = d.store(); err != nil {
			return evidence, false, err
		}
		r.Log("iteration %d died with its process; %s since, so no file was touched", n, why)
		r.Log("to get the state before it: git ralph restore %d --before; to see what is there: git ralph diff %d", n, n)
		return evidence, true, nil
	}
	earlier := len(d.found)
	evidence, notices, err := d.Restore(d.after, func() (object.ID, error) {
		d.more = len(d.found) > earlier
		id, err := d.store()
		r.fail("recover:stored")
		return id, err
	})
	d.notices = Noted(d.notices, notices...)
	if err != nil {
		return evidence, false, err
	}
	if told := d.Told(d.notices, d.after); len(d.after.Changes) > 0 || len(d.found) > 0 || len(told) > 0 {
		r.Log("iteration %d died with its process; the worktree is as before it", n)
		r.Log("what was there, yours or the agent's, is %s: git ralph restore %d gets it back", evidence.String()[:12], n)
		for _, line := range told {
			r.Log("%s", line)
		}
	}
	return evidence, false, nil
}

// ending is the event of its end.
func (d *deadRun) ending(s state.State, claim string) state.Event {
	cur, task := d.cur, plan.Task{}
	if i := s.Plan.Find(cur.Task); i >= 0 {
		task = s.Plan.Tasks[i]
	}
	res := &state.Result{Verdict: state.Reject, Reasons: []string{"interrupted"}, Outcome: string(session.Interrupted),
		Detail: processDied, Title: task.Title, Agent: cur.Start.Agent, TaskStatus: plan.Pending, FailText: task.Failure,
		Sandbox: cur.Start.Sandbox, Notices: d.Told(d.notices, d.after)}
	if s, ok := session.ReadSpend(d.Repo, cur.EventID); ok {
		res.Tokens, res.CostMicro, res.ContextTokens, res.ContextWindow = s.Tokens, s.CostMicro, s.ContextTokens,
			s.ContextWindow
		res.DurationMs = max(s.Written.Sub(cur.Since).Milliseconds(), 0)
	}
	rec := &notes.Record{Origin: notes.Origin{Iteration: cur.Iteration, Task: string(task.ID), EventID: cur.EventID,
		Verdict: string(state.Reject), Source: "harness"},
		Handoff: notes.Synthesize(notes.SynthInput{Iteration: cur.Iteration, Attempt: cur.Attempt, TaskID: string(task.ID),
			Title: task.Title, Outcome: res.Outcome, Detail: processDied, Files: Touched(d.after)})}
	if d.after != nil {
		n := len(d.after.Changes)
		rec.Origin.Files = &n
		for _, c := range d.after.Changes[:min(n, 1000)] {
			res.Files = append(res.Files, state.FileChange{Path: c.Path, Kind: string(c.Kind)})
		}
	}
	res.Handoff, res.Summary = rec, notes.OneLine(rec.Summary, 500)
	return state.Event{ID: cur.EventID, Time: d.Now().UTC().Truncate(time.Millisecond), Type: state.EvIteration,
		Phase: cur.Phase, Iteration: cur.Iteration, Task: task.ID, Attempt: cur.Attempt, Under: claim, Result: res}
}

// Touched names what an attempt changed, for a handoff that the harness makes.
func Touched(after *worktree.Capture) []notes.FileTouched {
	if after == nil {
		return nil
	}
	var out []notes.FileTouched
	for _, c := range after.Changes[:min(len(after.Changes), 200)] {
		out = append(out, notes.FileTouched{Path: c.Path, Action: string(c.Kind)})
	}
	return out
}

// store makes what lies in the worktree reachable and returns the evidence of
// the iteration. What was stored first stays that: after a recovery that was
// itself cut short it is the attempt, and the worktree only the rest of it.
func (d *deadRun) store() (object.ID, error) {
	first, err := d.stored()
	if err != nil {
		return first, err
	}
	if first.IsZero() {
		return d.Store(d.tip, d.after.Tree)
	}
	held, err := d.worktreeOf(first)
	if err != nil {
		return first, err
	}
	if !d.more && (held == d.after.Tree || len(d.after.Changes)+len(d.after.PutBack) == 0) {
		return first, nil
	}
	second, err := d.Store(d.tip, d.after.Tree)
	if err != nil {
		return first, err
	}
	d.notices = Noted(d.notices, "what the recovery found in the worktree is stored as "+second.String()[:12])
	d.Log("what was in the worktree just now is stored as %s: git ls-tree -r %s", second.String()[:12],
		second.String()[:12])
	return first, nil
}

// asRecorded says whether HEAD, branch and index are as they were when the
// iteration began.
func (r *Recovery) asRecorded(ctx context.Context, cur state.Current, cp *worktree.Checkpoint) (bool, string, error) {
	branch, tip, err := r.Repo.Head(ctx)
	if err != nil {
		var detached *gitstate.Refusal
		if errors.As(err, &detached) {
			return false, "HEAD was detached", nil
		}
		return false, "", err
	}
	switch {
	case gitstate.BranchRef(branch) != cur.Start.HeadRef:
		return false, "HEAD was moved to " + branch, nil
	case object.Hex(tip) != cur.Start.Tip:
		return false, "the branch was moved", nil
	}
	now, err := r.Engine.IndexState(ctx)
	if err != nil {
		return false, "", err
	}
	if !now.Equal(cp.Index) {
		return false, "something was staged", nil
	}
	return true, "", nil
}
