package loop

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"git-ralph/fixtures/repo"
	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

func (r *rig) remove(name string) {
	if err := os.Remove(filepath.Join(r.repo.Dir, name)); err != nil {
		r.t.Error(err)
	}
}

// ends are the ends of the iterations on a task, oldest first.
func (r *rig) ends(task plan.TaskID) []*state.Result {
	r.t.Helper()
	var out []*state.Result
	err := r.Journal.Walk(context.Background(), func(e journal.Entry) (bool, error) {
		if e.Event.Result != nil && e.Event.Task == task {
			out = append([]*state.Result{e.Event.Result}, out...)
		}
		return true, nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// worker is the rig of the worker in a slot, at the tip of the branch.
func (r *rig) worker(slot int, play client) *rig {
	t, ctx := r.t, context.Background()
	t.Helper()
	l, err := r.Repo.MakeWorker(ctx, "main", slot, filepath.Join(t.TempDir(), strconv.Itoa(slot), "work"), r.repo.Env)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gitstate.Open(ctx, l.Root, r.repo.Env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	j, err := journal.Open(ctx, g, "main")
	if err != nil {
		t.Fatal(err)
	}
	out := &rig{t: t, repo: &repo.Repo{T: t, Dir: l.Root, Env: r.repo.Env}}
	j.Now = out.now
	out.over(g, j, play)
	out.Sandbox = noSandbox("landlock") // refs that other workers move are not the agent's
	out.Worker = &Worker{Name: g.WorktreeName(), Home: r.Repo, Engine: r.Engine}
	return out
}

// begin brings the worker to the tip of the branch, as its process does.
func (r *rig) begin(slot int) error {
	ctx := context.Background()
	tip, err := r.Worker.Home.ReadRef(ctx, gitstate.BranchRef("main"))
	if err != nil {
		return err
	}
	return r.Loop.Repo.Begin(ctx, gitstate.WorkerBranch("main", slot), tip)
}

// team gives the rig two workers.
func (r *rig) team(play client) []*rig {
	workers := []*rig{nil, r.worker(1, play), r.worker(2, play)}
	r.Team = &Team{Size: 2,
		Recover: func(slot int) error {
			rec := workers[slot].recovery()
			rec.Worker = workers[slot].Worker.Name
			return rec.Run(context.Background())
		},
		Start: func(ctx context.Context, slot int, task plan.TaskID, _ string) (<-chan WorkerEnd, error) {
			ends := make(chan WorkerEnd, 1)
			go func() {
				end := WorkerEnd{Slot: slot, Task: task}
				defer func() {
					if p := recover(); p != nil {
						end.Err = errors.New("it died")
					}
					ends <- end
				}()
				if end.Err = workers[slot].begin(slot); end.Err == nil {
					end.Halt, end.Err = workers[slot].WorkOn(ctx, task)
				}
			}()
			return ends, nil
		}}
	return workers
}

// TestTeam: two workers of one run do its tasks side by side.
func TestTeam(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why  string
		play func(r *rig, req session.Request) // what a worker does with A and B; both begin at the same commit
		die  string                            // where the worker on A dies, once
		ends string                            // of the iterations on A and B
	}{
		{why: "each lands what it made", play: func(r *rig, req session.Request) { r.write(req.TaskID+".txt", "1\n") },
			ends: "keep keep"},
		{why: "of two that change the same lines the second makes it again", play: func(r *rig, req session.Request) {
			old := r.repo.Read("same.txt")
			r.write("same.txt", old+req.TaskID+"\n")
		}, ends: "conflict: same.txt keep keep"},
		{why: "a claim that was not begun comes back", die: "worker:claimed", play: func(r *rig, req session.Request) {
			r.write(req.TaskID+".txt", "1\n")
		}, ends: "keep keep"},
		{why: "an iteration that died ends as one that did", die: "iteration:agent-ended",
			play: func(r *rig, req session.Request) {
				r.write(req.TaskID+".txt", "1\n")
			}, ends: "interrupted keep keep"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, writes, plan.Task{ID: "A"}, plan.Task{ID: "B"},
				plan.Task{ID: "C", DependsOn: []plan.TaskID{"A", "B"}})
			begun := make(chan struct{}, 2)
			met := make(chan struct{})
			go func() {
				<-begun
				<-begun
				close(met)
			}()
			play := func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				if req.TaskID != "C" && c.die == "" {
					select {
					case begun <- struct{}{}:
					default:
					}
					<-met
				}
				c.play(r, req)
				b.done(req)
				return completed()
			}
			workers := r.team(play)
			if c.die != "" {
				died := false
				workers[1].Fail = func(step string) {
					if step == c.die && !died {
						died = true
						panic(step)
					}
				}
			}
			if end := r.run(RunOptions{Build: true}); end.Status != state.Complete {
				t.Fatalf("%+v\n%s", end, strings.Join(r.said, "\n"))
			}
			var rejects, keeps []string
			for _, id := range []plan.TaskID{"A", "B"} {
				for _, e := range r.ends(id) {
					if e.Verdict == state.Keep {
						keeps = append(keeps, "keep")
					} else {
						rejects = append(rejects, strings.Join(e.Reasons, "; "))
					}
				}
			}
			if got := strings.Join(append(rejects, keeps...), " "); got != c.ends {
				t.Errorf("%s\n%s", got, strings.Join(r.said, "\n"))
			}
			if got := r.repo.Git("status", "--porcelain"); got != "" {
				t.Errorf("%s\n%s", got, strings.Join(slices.Concat(r.said, workers[1].said, workers[2].said), "\n"))
			}
			if s := r.state(); len(s.Claims) > 0 {
				t.Errorf("%+v", s.Claims)
			}
		})
	}
}

// verified is a prover for which only a verify command proves a task.
type verified struct{ filesProver }

func (verified) Provable(t plan.Task, _ []state.CheckState) bool { return len(t.Verify) > 0 }

// TestWorkersNeedAProof: no worker begins a task that nothing would prove, and the run ends when
// those that are at work have ended.
func TestWorkersNeedAProof(t *testing.T) {
	t.Parallel()
	r := newRig(t, writes, plan.Task{ID: "A", Verify: []string{"test"}}, plan.Task{ID: "B"})
	r.team(func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
		r.write(req.TaskID+".txt", "1\n")
		b.done(req)
		return completed()
	})
	r.Prover = verified{}
	end := r.run(RunOptions{Build: true})
	if end.Status != state.HaltedStatus || !strings.Contains(end.Reason, "B has no verify command") ||
		len(r.ends("A")) != 1 || len(r.ends("B")) != 0 {
		t.Errorf("%s: %s; %d and %d iterations", end.Status, end.Reason, len(r.ends("A")), len(r.ends("B")))
	}
}

// excusing is a prover whose check is red where a file "red" or "bad" is. It excuses what was red
// and has not been green since.
type excusing struct{ filesProver }

func (p excusing) Prove(_ context.Context, req ProofRequest) (ProofReport, error) {
	was := len(req.Baseline) == 0 || req.Baseline[0].Red
	run := p.look(req, "test", "test", "test", !exists(req.Dir, "red") && !exists(req.Dir, "bad"))
	run.AlreadyRed = !run.Passed && was && !req.Unexcused
	rep := ProofReport{Pass: run.Passed || run.AlreadyRed, Runs: []state.CheckRun{run},
		Baseline: []state.CheckState{{Name: "test", Command: "test", Red: was && !run.Passed}}}
	if !rep.Pass {
		rep.Reasons = []string{"checks: test"}
	}
	return rep, nil
}

// TestWorkersKeepGreen: a check that one worker has made green stays green for all that land after
// it, whenever they began.
func TestWorkersKeepGreen(t *testing.T) {
	t.Parallel()
	r := newRig(t, writes, plan.Task{ID: "A"}, plan.Task{ID: "B"})
	r.write("red", "")
	r.repo.Git("add", "red")
	r.repo.Git("commit", "-q", "-m", "red from the beginning")
	begun := make(chan struct{})
	workers := r.team(func(w *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
		w.write(req.TaskID+".txt", "1\n")
		switch {
		case req.TaskID == "A":
			<-begun
			w.remove("red")
		case req.Attempt == 1:
			close(begun)
			for len(r.ends("A")) == 0 {
				time.Sleep(10 * time.Millisecond)
			}
			w.write("bad", "")
		}
		b.done(req)
		return completed()
	})
	for _, x := range []*rig{r, workers[1], workers[2]} {
		x.Prover = excusing{}
	}
	end := r.run(RunOptions{Build: true})
	ends := r.ends("B")
	if end.Status != state.Complete || len(ends) != 2 || strings.Join(ends[0].Reasons, "") != "landing: test" {
		t.Errorf("%s: %s, %+v", end.Status, end.Reason, ends[0])
	}
	if s := r.state(); s.Baseline[0].Red {
		t.Errorf("%+v", s.Baseline)
	}
}

// TestWorkersThatDie: a run gives up if all its workers die.
func TestWorkersThatDie(t *testing.T) {
	t.Parallel()
	r := newRig(t, writes, plan.Task{ID: "A"})
	recovered := 0
	r.Team = &Team{Size: 2, Recover: func(int) error { recovered++; return nil },
		Start: func(_ context.Context, slot int, task plan.TaskID, _ string) (<-chan WorkerEnd, error) {
			ends := make(chan WorkerEnd, 1)
			ends <- WorkerEnd{Slot: slot, Task: task, Err: errors.New("it died")}
			return ends, nil
		}}
	_, err := r.Run(context.Background(), RunOptions{Build: true})
	if err == nil || !strings.Contains(err.Error(), "it died") || recovered != maxBroken {
		t.Errorf("%v after %d", err, recovered)
	}
}
