package loop

import (
	"context"
	"strings"
	"testing"
	"time"

	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

// ask records what a person asks for in another process.
func (s *server) ask(e state.Event) {
	s.r.t.Helper()
	if _, err := s.r.Journal.Record(context.Background(), e); err != nil {
		s.r.t.Error(err)
	}
}

func command(name string) state.Event {
	return state.Event{Type: state.EvOperator, Operator: &state.Operator{Command: name, Session: 1}}
}

// The run obeys a person while it waits for the checks of a pull request, even if the service does not answer or the
// person asked before the wait began.
func TestSteeringWhileTheGateWaits(t *testing.T) {
	more := state.Event{Type: state.EvPlan, Plan: &state.PlanChange{Reason: "add",
		Upsert: []plan.Task{{ID: "T-9", Title: "more", Status: plan.Pending}}}}
	for _, tt := range []struct {
		why   string
		ask   state.Event
		want  state.Status
		tasks int
	}{
		{"stop", command("stop"), state.Stopped, 1},
		{"stop at once", command("stop-now"), state.Stopped, 1},
		{"pause, and go on", command("pause"), state.Complete, 1},
		{"more work", more, state.Complete, 2},
		{"a finished task again", state.Event{Type: state.EvTask, TaskSet: &state.TaskChange{Action: "retry",
			IDs: []plan.TaskID{"T-1"}, Status: plan.Pending}}, state.Complete, 1},
	} {
		for _, at := range []int{2, 3} { // the first look of complete, and one of the wait
			t.Run(tt.why, func(t *testing.T) {
				t.Parallel()
				s, _ := behind(t, func(*server) ([]RemoteCheck, error) { return checked("build", RemotePending), nil },
					plan.Task{ID: "T-1"})
				s.hang = func(ctx context.Context) bool {
					if s.looks < at {
						return false
					}
					if s.hang, s.checks = nil, func(*server) ([]RemoteCheck, error) {
						return checked("build", RemoteGreen), nil
					}; tt.ask.Operator != nil && tt.ask.Operator.Command == "pause" {
						go func() {
							for !s.r.told("pause paused by the operator") {
								time.Sleep(time.Millisecond)
							}
							s.ask(command("resume"))
						}()
					}
					s.ask(tt.ask)
					<-ctx.Done()
					return true
				}
				end := s.r.run(RunOptions{Build: true})
				if end.Status != tt.want || len(end.State.Plan.Tasks) != tt.tasks {
					t.Errorf("%s, %s, %d tasks; want %s\n%s", end.Status, end.Reason, len(end.State.Plan.Tasks), tt.want,
						strings.Join(s.r.said, "\n"))
				}
				if s.r.told("cannot be read") {
					t.Errorf("what a person ended is no fault of the service:\n%s", strings.Join(s.r.said, "\n"))
				}
			})
		}
	}
}

// A hanging look between two iterations does not delay a stop either.
func TestStopWhileThePullRequestIsLookedAt(t *testing.T) {
	s, prompts := behind(t, func(*server) ([]RemoteCheck, error) { return checked("build", RemotePending), nil },
		plan.Task{ID: "T-1"}, plan.Task{ID: "T-2"})
	s.hang = func(ctx context.Context) bool {
		if s.looks < 2 {
			return false
		}
		s.ask(command("stop"))
		<-ctx.Done()
		return true
	}
	if end := s.r.run(RunOptions{Build: true}); end.Status != state.Stopped || len(*prompts) != 1 {
		t.Errorf("%s, %s, %d prompts; want it to stop before the second one", end.Status, end.Reason, len(*prompts))
	}
}

// stop-now also ends a run while no agent is at work.
func TestStopNowInAProof(t *testing.T) {
	s, _ := behind(t, nil, plan.Task{ID: "T-1"})
	s.r.Gate = nil
	s.r.Prover = stuckProver{filesProver{}, s}
	if end := s.r.run(RunOptions{Build: true}); end.Status != state.Stopped {
		t.Errorf("%s, %s; want it to stop while the fresh checkout is proved", end.Status, end.Reason)
	}
}

// stuckProver never ends its proof in a fresh checkout.
type stuckProver struct {
	filesProver
	s *server
}

func (p stuckProver) Prove(ctx context.Context, req ProofRequest) (ProofReport, error) {
	if !req.Fresh {
		return p.filesProver.Prove(ctx, req)
	}
	p.s.ask(command("stop-now"))
	<-ctx.Done()
	return ProofReport{}, ctx.Err()
}
