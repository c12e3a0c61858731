package loop

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ralph/fixtures/long"
	"git-ralph/fixtures/repo"
	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/share"
	"git-ralph/gitstate/state"
	"git-ralph/loop/refusal"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// shares lets the rig work through its remote origin.
func (r *rig) shares() {
	r.t.Helper()
	ctx := context.Background()
	remote, err := share.Open(ctx, r.Repo, "origin")
	if err != nil {
		r.t.Fatal(err)
	}
	r.Share = &Sharing{Engine: r.Engine, Log: r.log, Lease: time.Hour,
		Partner: &share.Partner{Remote: remote, Journal: r.Journal, Notes: true, Evidence: true}}
}

// machines are two clones of one plan that share it through a remote.
func machines(t *testing.T, one, two client, tasks ...plan.Task) (*rig, *rig) {
	t.Helper()
	ctx := context.Background()
	r := newRig(t, one, tasks...)
	bare := filepath.Join(t.TempDir(), "remote")
	r.repo.Git("init", "-q", "-b", "main", "--bare", bare)
	r.repo.Git("remote", "add", "origin", bare)
	r.shares()
	if err := r.Share.publish(ctx); err != nil {
		t.Fatal(err)
	}
	other := &rig{t: t, repo: repo.Empty(t)}
	other.repo.Git("remote", "add", "origin", bare)
	other.repo.Git("fetch", "-q", "origin")
	other.repo.Git("reset", "-q", "--hard", "origin/main")
	g, err := gitstate.Open(ctx, other.repo.Dir, other.repo.Env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	j, err := journal.Open(ctx, g, "main")
	if err != nil {
		t.Fatal(err)
	}
	j.Now = other.now
	other.over(g, j, two)
	other.shares()
	if _, err := other.Share.CatchUp(ctx); err != nil {
		t.Fatal(err)
	}
	return r, other
}

func (r *rig) origin() string { return r.repo.Git("config", "remote.origin.url") }

func (r *rig) move(from, to string) {
	if err := os.Rename(from, to); err != nil {
		r.t.Error(err)
	}
}

// once lets a machine do one iteration.
func (r *rig) once() {
	r.t.Helper()
	was := r.Settings.Limits.MaxIterations
	r.Settings.Limits.MaxIterations, r.Share.done = 1, 0
	r.run(RunOptions{Build: true})
	r.Settings.Limits.MaxIterations, r.Share.done = was, 0
}

// TestLandsOnTopOfOthers: while one machine works on A the other one lands B.
func TestLandsOnTopOfOthers(t *testing.T) {
	t.Parallel()
	for _, c := range long.Sample(t, []struct {
		why   string
		other func(r *rig)
		ends  []string // of the iterations on A
	}{
		{"what fits together lands on top", func(r *rig) { r.write("B.txt", "B\n") }, []string{"keep"}},
		{"the same lines are made again on top", func(r *rig) { r.write("A.txt", "B\n") },
			[]string{"reject: branch_moved", "keep"}},
		{"the same change is none", func(r *rig) { r.write("A.txt", "1\n") }, []string{"reject: no_change", "keep"}},
		{"what is not green together is told", func(r *rig) { r.remove("a.txt") },
			[]string{"reject: branch_moved: checks: a.txt", "keep"}},
	}, 3) {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			var other *rig
			tries := 0
			r, two := machines(t, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				if req.TaskID == "A" {
					if tries++; tries == 1 {
						other.once()
						r.write("A.txt", "1\n")
					} else {
						r.write("A.txt", "both\n")
						r.write("a.txt", "a\n")
					}
				} else {
					r.write(req.TaskID+".txt", "1\n")
				}
				b.done(req)
				return completed()
			}, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				c.other(r)
				b.done(req)
				return completed()
			}, plan.Task{ID: "A", Verify: []string{"a.txt"}}, plan.Task{ID: "B"}, plan.Task{ID: "C"})
			other = two
			r.run(RunOptions{Build: true})
			var ends []string
			for _, e := range r.ends("A") {
				ends = append(ends, strings.TrimSuffix(string(e.Verdict)+": "+strings.Join(e.Reasons, "; "), ": "))
			}
			if !slices.Equal(ends, c.ends) {
				t.Errorf("%v\n%s", ends, strings.Join(r.said, "\n"))
			}
			here, there := r.repo.Git("rev-parse", "main"), r.repo.Git("ls-remote", "origin", "refs/heads/main")
			if !strings.HasPrefix(there, here) {
				t.Errorf("%s is here, %s there", here, there)
			}
			if got := r.repo.Git("status", "--porcelain"); got != "" {
				t.Error(got)
			}
		})
	}
}

// TestWorkWithoutTheRemote: work kept while the remote was unreachable is put on
// top of what the other machine has landed, if it still counts.
func TestWorkWithoutTheRemote(t *testing.T) {
	t.Parallel()
	for _, c := range long.Sample(t, []struct {
		why   string
		file  string // that the other machine writes
		lease time.Duration
		says  string
		done  plan.Status // A, once both have met
	}{
		{"it goes on top", "B.txt", time.Hour, "", plan.Done},
		{"the same lines do not, and the task is free again", "A.txt", time.Hour, "conflicts with what origin has in A.txt",
			plan.Pending},
		{"the other one has taken the task over", "A.txt", time.Nanosecond, "another machine took its task over", plan.Done},
	}, 2) {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			r, other := machines(t, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				r.move(r.origin(), r.origin()+".away")
				r.write("A.txt", "1\n")
				b.done(req)
				return completed()
			}, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				r.write(c.file, "2\n")
				b.done(req)
				return completed()
			}, plan.Task{ID: "A"}, plan.Task{ID: "B"}, plan.Task{ID: "C"})
			r.Share.Lease = c.lease
			r.once()
			if got := r.ends("A"); len(got) != 1 || got[0].Verdict != state.Keep {
				t.Fatalf("%+v\n%s", got[0], strings.Join(r.said, "\n"))
			}
			r.move(r.origin()+".away", r.origin())
			// A second look tells that the first machine stands still.
			if _, err := other.Share.CatchUp(context.Background()); err != nil {
				t.Fatal(err)
			}
			other.once()
			if err := r.Share.publish(context.Background()); err != nil {
				t.Fatal(err)
			}
			s := r.state()
			if got := s.Plan.Tasks[s.Plan.Find("A")].Status; got != c.done || c.says != "" && !r.told(c.says) {
				t.Errorf("A is %s\n%s", got, strings.Join(r.said, "\n"))
			}
			if got := r.repo.Git("status", "--porcelain"); got != "" || r.repo.Read(c.file) != "2\n" {
				t.Errorf("%q, %q", got, r.repo.Read(c.file))
			}
		})
	}
}

// TestTakenOverMeanwhile: another machine takes over a task. The first one's work
// on it does not land and is kept as evidence.
func TestTakenOverMeanwhile(t *testing.T) {
	t.Parallel()
	var other *rig
	r, two := machines(t, func(r *rig, req session.Request, b *box, tell func(session.AgentEvent)) session.Result {
		if _, err := other.Share.CatchUp(context.Background()); err != nil {
			t.Error(err)
		}
		other.once()
		r.write("mine.txt", "1\n")
		b.done(req)
		return completed()
	}, writes, plan.Task{ID: "A"}, plan.Task{ID: "B"})
	other, r.Share.Lease = two, time.Nanosecond
	r.once()
	if got := r.ends("A"); len(got) != 2 || exists(r.repo.Dir, "mine.txt") || r.repo.Read("A.txt") != "A\n" {
		t.Errorf("%d ends\n%s", len(got), strings.Join(r.said, "\n"))
	}
}

// TestApart: people have to merge their commits on both sides.
func TestApart(t *testing.T) {
	t.Parallel()
	r, other := machines(t, writes, writes, plan.Task{ID: "A"})
	for _, m := range []*rig{r, other} {
		m.repo.Git("-c", "user.name=P", "-c", "user.email=p@example.com", "commit", "-q", "--allow-empty", "-m", m.repo.Dir)
	}
	other.repo.Git("push", "-q", "origin", "main")
	_, err := r.Share.CatchUp(context.Background())
	var refused *refusal.Error
	if !errors.As(err, &refused) || refused.Kind != refusal.BranchesApart {
		t.Errorf("%v", err)
	}
}

// TestWaitsForOthers: a machine with nothing to do waits until the other one
// lands. It also releases claims of its earlier run.
func TestWaitsForOthers(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	waits, ended := make(chan struct{}), make(chan End, 1)
	var other *rig
	r, two := machines(t, func(r *rig, req session.Request, b *box, tell func(session.AgentEvent)) session.Result {
		go func() {
			end, err := other.Run(ctx, RunOptions{Build: true})
			if err != nil {
				t.Error(err)
			}
			ended <- end
		}()
		<-waits
		return writes(r, req, b, tell)
	}, writes, plan.Task{ID: "A"})
	other = two
	first := true
	other.Emit = func(e session.Live) {
		if e.Event == "wait" && first {
			first = false
			close(waits)
		}
	}
	if _, ok, err := r.take(ctx, "A"); err != nil || !ok {
		t.Fatalf("%v, %v", ok, err)
	}
	if end := r.run(RunOptions{Build: true}); end.Status != state.Complete {
		t.Errorf("%+v", end)
	}
	if end := <-ended; end.Status != state.Complete || len(other.ends("A")) != 1 {
		t.Errorf("%+v", end)
	}
}

// TestExpired: a claim expires when its machine's heartbeat stands still for the
// lease of the claim.
func TestExpired(t *testing.T) {
	now := time.Unix(1000, 0)
	one, two := object.ID{1}, object.ID{2}
	c := state.Claim{Task: "A", Actor: "them", Lease: "3m"}
	s := &Sharing{Lease: time.Minute}
	if s.expired(c, now) {
		t.Error("of a machine that was never looked for")
	}
	s.listen(map[string]object.ID{"them": one}, []state.Claim{c}, now)
	s.listen(map[string]object.ID{"them": one}, []state.Claim{c}, now.Add(2*time.Minute))
	if s.expired(c, now.Add(2*time.Minute)) || !s.expired(c, now.Add(3*time.Minute)) {
		t.Error("the lease of the claim counts")
	}
	if c.Lease = ""; !s.expired(c, now.Add(time.Minute)) {
		t.Error("and ours where it has none")
	}
	st := state.State{Claims: []state.Claim{c}, Plan: plan.Plan{Tasks: []plan.Task{{ID: "A", Status: plan.InProgress}}}}
	if got := s.among(st, now.Add(time.Minute)); len(got.Claims) != 0 || got.Plan.Tasks[0].Status != plan.Pending ||
		st.Plan.Tasks[0].Status != plan.InProgress {
		t.Errorf("%+v", got)
	}
	if s.Over = "of them"; s.expired(c, now) {
		t.Error("another claim of theirs has run out")
	}
	if c.ID = s.Over; !s.expired(c, now) || s.free(state.State{Claims: []state.Claim{c}}, "A", now) != s.Over {
		t.Error("the run of this worker has seen it run out")
	}
	c.ID = ""
	s.listen(map[string]object.ID{"them": two}, []state.Claim{c}, now.Add(time.Minute))
	if s.expired(c, now.Add(time.Minute)) {
		t.Error("a new value is a sign of life")
	}
}
