package loop

import (
	"context"
	"errors"
	"strings"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/share"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/plan"
)

// errClaimLost says that another machine has the task now.
var errClaimLost = errors.New("the claim on the task was lost to another machine")

// keepShared lands a kept attempt on the remote's branch: unchanged if that has not
// moved, else on top of it, proved in a fresh checkout. The push of branch and
// journal decides; the local branch follows it.
func (l *Loop) keepShared(ctx context.Context, it *attempt, res *state.Result, commit, evidence object.ID) (*attempt,
	error) {
	away := false // the attempt is in its evidence alone, and the worktree is clean
	lost := func() error {
		if away {
			return l.notLanded(it, res, errClaimLost.Error())
		}
		return l.keepNotLanded(it, Verdict{Verdict: state.Keep, Partial: res.Partial}, errClaimLost.Error())
	}
	for try := 0; ; try++ {
		_, seen, err := l.Share.Pull(l.background(), share.WithCode)
		var far *share.UnreachableError
		if l.Share.offline = errors.As(err, &far); err != nil && !l.Share.offline {
			return it, err
		}
		s, err := l.load()
		if err != nil {
			return it, err
		}
		if it.under != "" && !s.Holds(it.under) {
			return it, lost()
		}
		at := it.tip
		if !l.Share.offline && !seen.Code.IsZero() {
			if ahead, err := l.Repo.IsAncestor(l.background(), seen.Code, it.tip); err != nil {
				return it, err
			} else if !ahead {
				at = seen.Code
			}
		}
		if at != it.tip {
			if !away {
				if it, err = l.putAway(it, evidence); err != nil {
					return it, err
				}
				away = true
			}
			on, err := l.moveOn(ctx, it, res, commit, at)
			if err != nil || on == nil {
				return it, err
			}
			it = on
		}
		now, err := object.ParseID(res.Commit)
		if err != nil {
			return it, err
		}
		_, err = l.keepAs(it, res, now, evidence)
		if errors.Is(err, errClaimLost) {
			return it, errors.Join(l.Repo.ClearIntent(), lost())
		}
		if !errors.Is(err, share.ErrMoved) || try == 50 {
			return it, err
		}
	}
}

// putAway anchors the evidence of an attempt and restores the checkpoint.
func (l *Loop) putAway(it *attempt, evidence object.ID) (*attempt, error) {
	if err := l.Repo.Store.Sync(); err != nil {
		return it, err
	}
	it, _, err := it.restore(func() (object.ID, error) {
		_, err := l.Repo.Anchor(it.EvidenceRef(), evidence)
		return evidence, err
	})
	l.fail("share:put-away")
	return it, err
}

// moveOn brings the local branch to what the remote has and repeats the commit on
// top of it. nil means that it conflicts or fails its checks there. The iteration
// has then ended as a reject whose reason the next attempt is told.
func (l *Loop) moveOn(ctx context.Context, it *attempt, res *state.Result, commit, at object.ID) (*attempt, error) {
	if err := l.Share.follow(l.background(), at); err != nil {
		return nil, err
	}
	l.fail("share:moved-on")
	refused := func(reason, text string) (*attempt, error) {
		r := l.result(it, reject(reason))
		r.Evidence, r.Commit, r.Landed, r.FailText, r.TaskStatus = res.Evidence, "", false, text, plan.Pending
		return nil, l.close(it, r)
	}
	is, conflicts, err := putOn(l.background(), l.Repo, commit, at, signature(l.Settings.Sign))
	if err != nil {
		return nil, err
	}
	if len(conflicts) > 0 {
		return refused("branch_moved", "Another machine landed work that changed the same lines of "+text.List(conflicts)+
			". The worktree has it now; make the change on top of it.")
	}
	if is == at {
		return refused("no_change", "Another machine landed the same change meanwhile.")
	}
	s, err := l.load()
	if err != nil {
		return nil, err
	}
	req := ProofRequest{Baseline: s.Baseline, Complete: true, Task: &it.task,
		Result: func(c state.CheckRun) { l.emit("check", s, it.task.ID, c, "landed result, %s: %s", c.Name, passed(c)) }}
	report, err := l.proveFresh(ctx, is, req)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if !report.Pass {
		return refused("branch_moved: "+strings.Join(report.Reasons, "; "), report.FailText)
	}
	it = it.onTop(at, noted("landed on top of %s, which another machine had landed", at.String()[:12]))
	res.Parent, res.Commit, res.Brought, res.Notices = at.String(), is.String(), true, it.told()
	if res.Baseline != nil {
		res.Baseline = report.Baseline // with what others have made green since the iteration began
	}
	return it, nil
}

// notLanded ends an iteration whose attempt is in its evidence already.
func (l *Loop) notLanded(it *attempt, res *state.Result, why string) error {
	it = it.with(noted("not landed: %s", why))
	r := l.result(it, Verdict{Verdict: state.Keep, Partial: res.Partial})
	r.Evidence, r.TaskStatus, r.Baseline, r.Amendments, r.Plan = res.Evidence, plan.Pending, nil, nil, nil
	r.Queued = false
	return l.close(it, r)
}
