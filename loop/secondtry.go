package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"git-ralph/gitstate/state"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// best-of-2 is one attempt with up to two tries. If the checks reject the first,
// the second begins in a fresh session at the same checkpoint. What the checks
// accept is kept. Both count towards the iteration's budgets, and both are in its
// evidence.

// tryWork is one try: the agent works, and what it left is examined.
func (l *Loop) tryWork(ctx context.Context, rd *Ready) (*attempt, error) {
	ran, err := l.work(ctx, rd)
	l.KeepLogin()
	if err != nil {
		return nil, err
	}
	l.fail("iteration:agent-ended")
	x, err := l.examine(ctx, rd, ran)
	if err != nil {
		return nil, err
	}
	return &attempt{rd, ran, x}, nil
}

// wantsSecond reports whether a second try follows a first one. What ended for a
// reason outside of the work, for its budget, or with git changed has none.
func wantsSecond(c Choice, f Facts, v Verdict) bool {
	return c.Best && v.Verdict == state.Reject && v.Attempt && f.Outcome != session.BudgetExceeded && len(f.Tampered) == 0
}

// second stores the first try, puts the worktree back to the checkpoint, and makes
// the second one.
func (l *Loop) second(ctx context.Context, first *attempt, v Verdict) (*attempt, Verdict, error) {
	rd := first.Ready
	why := strings.Join(v.Reasons, "; ")
	l.emit("agent", rd.state, rd.task.ID, map[string]any{"try": 2, "reasons": v.Reasons},
		"the first of two tries was rejected: %s", why)
	left := contribution{aside: session.Collected{Learnings: first.tools.Learnings, Memory: first.tools.Memory}}
	left.remark("two tries; the first was rejected: " + why)
	left.remark(first.notices...)
	if err := rd.KeepFirst(first.after.Tree); err != nil {
		return nil, v, err
	}
	back, err := rd.RestoreBefore(first.after)
	left.remark(back.Notices...)
	rd.add(left)
	if err != nil {
		return nil, v, fmt.Errorf("restore the checkpoint for the second try: %w", err)
	}
	if err := os.Remove(session.HandoffFile(rd.use.RunDir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, v, fmt.Errorf("clear the handoff of the first try: %w", err)
	}
	rd.since = len(rd.runs)
	if n := proc.MemoryKills(); n >= 0 {
		rd.kills = &n
	}
	it, err := l.tryWork(ctx, rd)
	if err != nil {
		return nil, v, err
	}
	if text := l.failText(first, v); Judge(it.facts).Attempt {
		it = it.with(findings{advice: "\n\nIt was the second of two tries. The first:\n" + text})
	}
	return it, Judge(it.facts), nil
}
