package loop

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"git-ralph/gitstate/state"
	"git-ralph/internal/proc"
	"git-ralph/loop/recovery"
	"git-ralph/plan"
)

// TestWorkersOfADeadRunDieLate: a worker of a killed run lives when the next run begins
// and dies while that run waits for it. Then its claim is released, whether the run has
// workers or not.
func TestWorkersOfADeadRunDieLate(t *testing.T) {
	for _, team := range []bool{false, true} {
		r := newRig(t, doesIt, plan.Task{ID: "T-001"})
		orphan := exec.Command("sleep", "600")
		if err := orphan.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { orphan.Process.Kill() })
		id := proc.IdentityOf(orphan.Process.Pid)
		s := state.State{Plan: plan.Plan{Tasks: []plan.Task{{ID: "T-001"}}}}
		claim := newClaim(s, 0, state.ClaimChange{Worker: "work1"})
		claim.Claim.PID, claim.Claim.BootID, claim.Claim.StartTime = id.Pid, id.BootID, id.StartTime
		if _, err := r.Journal.Record(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		r.Sleep = func(context.Context, time.Duration) { // it waits
			orphan.Process.Kill()
			orphan.Wait()
		}
		mended := 0
		r.Mend = func() error {
			mended++
			s, err := r.load()
			if err != nil || len(s.Claims) == 0 {
				return err
			}
			return recovery.ReleaseClaim(t.Context(), r.Journal, s.Claims[0], "it died")
		}
		if team {
			r.Team = &Team{Size: 1}
			r.Team.Start = func(_ context.Context, slot int, id plan.TaskID, _ string) (<-chan WorkerEnd, error) {
				ends := make(chan WorkerEnd, 1)
				ends <- WorkerEnd{Slot: slot, Task: id, Halt: &Action{Kind: Halt, Status: state.Paused}}
				return ends, nil
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		end, err := r.Run(ctx, RunOptions{Build: true})
		cancel()
		if want := map[bool]state.Status{false: state.Complete, true: state.Paused}[team]; err != nil || end.Status != want {
			t.Errorf("with a team %v: %s %s %v", team, end.Status, end.Reason, err)
		}
		if mended != 1 {
			t.Errorf("with a team %v: mended %d times", team, mended)
		}
	}
}
