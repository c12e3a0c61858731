package loop

import (
	"context"
	"testing"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// TestAnotherBranchIsCheckedOut: where a person checks another branch out between two iterations,
// nothing is committed there, and the work of the journal is not proved by it.
func TestAnotherBranchIsCheckedOut(t *testing.T) {
	for _, c := range []struct {
		why   string
		after string // the task at whose end it is done
	}{{"before the next task", "A"}, {"before the proof", "B"}} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				r.write(req.TaskID+".txt", "x\n")
				b.done(req)
				return completed()
			}, plan.Task{ID: "A"}, plan.Task{ID: "B"})
			main := ""
			r.Emit = func(e session.Live) {
				if e.Event == "iteration_end" && string(e.Task) == c.after {
					main = r.repo.Git("rev-parse", "main")
					r.repo.Git("checkout", "-q", "-b", "other", "main~1")
				}
			}
			end, err := r.Run(context.Background(), RunOptions{Build: true})
			if end.Status == state.Complete || r.repo.Git("rev-parse", "main") != main ||
				r.repo.Git("rev-parse", "other") != r.repo.Git("rev-parse", main+"~1") {
				t.Errorf("%s: %s, %v\n%s", end.Status, end.Reason, err, r.repo.Git("log", "--oneline", "--all"))
			}
		})
	}
}
