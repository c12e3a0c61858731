package loop

import (
	"context"
	"testing"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// proving is a prover during whose proofs of the whole something else happens.
type proving struct {
	filesProver
	meanwhile func()
}

func (p *proving) Prove(ctx context.Context, req ProofRequest) (ProofReport, error) {
	rep, err := p.filesProver.Prove(ctx, req)
	if f := p.meanwhile; f != nil && req.Complete {
		p.meanwhile = nil
		f()
	}
	return rep, err
}

// TestChangesDuringTheProof: what a person adds or commits while the finished work is proved
// is neither forgotten nor believed.
func TestChangesDuringTheProof(t *testing.T) {
	add := func(r *rig) {
		_, err := r.Journal.Record(context.Background(), state.Event{Type: state.EvPlan,
			Plan: &state.PlanChange{Reason: "add",
				Upsert: []plan.Task{{ID: "B", Title: "one more", Status: plan.Pending}}}})
		if err != nil {
			r.t.Error(err)
		}
	}
	commit := func(r *rig) {
		r.write("broken", "")
		r.repo.Git("add", "broken")
		r.repo.Git("commit", "-q", "-m", "by a person")
	}
	for _, c := range []struct {
		why       string
		meanwhile func(*rig)
		options   RunOptions
		status    state.Status
		done      int
	}{
		{"a task is added to what start has done", add, RunOptions{Build: true}, state.Complete, 2},
		{"a commit breaks what start has done", commit, RunOptions{Build: true}, state.HaltedStatus, 1},
		{"a task is added during the validation", add, RunOptions{}, state.Complete, 2},
		{"a commit breaks what the validation has seen", commit, RunOptions{}, state.NeedsReview, 1},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				r.write(req.TaskID+".txt", "x\n")
				b.done(req)
				return completed()
			}, plan.Task{ID: "A"})
			r.Settings.Rounds = 0
			r.Prover = &proving{meanwhile: func() { c.meanwhile(r) }}
			end := r.run(c.options)
			s := r.state()
			if n := s.Plan.Counts(); end.Status != c.status || n.Done != c.done || n.Pending != 0 {
				t.Errorf("%s: %s, %+v", end.Status, end.Reason, n)
			}
		})
	}
}
