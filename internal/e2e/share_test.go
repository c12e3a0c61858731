package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"git-ralph/fixtures/long"
	"git-ralph/fixtures/repo"
)

// shared is a bare remote with a plan, and machines that work on it.
type shared struct {
	remote   string
	machines []*project
}

// sharedPlan makes a remote with a plan, and clones of it that share its journal.
func sharedPlan(t *testing.T, machines int, agent, settings, plan string) *shared {
	t.Helper()
	first := newProject(t, agent, check+settings, map[string]string{"plan.toml": plan})
	s := &shared{remote: filepath.Join(filepath.Dir(first.Dir), "remote.git")}
	first.Git("init", "-q", "-b", "main", "--bare", s.remote)
	first.Git("remote", "add", "origin", s.remote)
	first.Git("push", "-q", "origin", "main")
	first.must(t, "import", "plan.toml")
	first.must(t, "push")
	for range machines {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		home := filepath.Join(dir, "home")
		if err := os.Mkdir(home, 0o755); err != nil {
			t.Fatal(err)
		}
		r := &repo.Repo{T: t, Dir: filepath.Join(dir, "work"), Env: append(repo.Env(home), "RALPH_GUARD_SANDBOX=off",
			"RALPH_SHARE_REMOTE=origin", "RALPH_TRUST=1", "XDG_RUNTIME_DIR="+home)}
		c := exec.Command("git", "clone", "-q", s.remote, r.Dir)
		c.Env = r.Env
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		r.Git("config", "user.name", "A U Thor")
		r.Git("config", "user.email", "author@example.com")
		p := asProject(t, r)
		p.must(t, "pull")
		s.machines = append(s.machines, p)
	}
	return s
}

// tasksToml is a plan of n tasks; each of the later ones needs an earlier one.
func tasksToml(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "[[tasks]]\nid = \"T-%03d\"\ntitle = \"task %d\"\n", i, i)
		if i > 3 {
			fmt.Fprintf(&b, "depends_on = [\"T-%03d\"]\n", i/2)
		}
	}
	return b.String()
}

// allDone fails the test unless on every machine, and on the remote, each task was
// done once, in a linear history, and nothing is damaged.
func (s *shared) allDone(t *testing.T, n int) {
	t.Helper()
	for _, p := range s.machines {
		p.must(t, "push")
	}
	tips := map[string]bool{}
	for _, p := range s.machines {
		p.must(t, "pull")
		p.Git("pull", "-q", "--ff-only", "origin", "main")
		tips[p.Git("rev-parse", "refs/ralph/heads/main", "HEAD")] = true
		var tasks []struct {
			ID, Status string
			Attempts   int
		}
		if err := json.Unmarshal([]byte(p.must(t, "tasks", "--json")), &tasks); err != nil {
			t.Fatal(err)
		}
		for _, x := range tasks {
			if x.Status != "done" {
				t.Errorf("%s is %s", x.ID, x.Status)
			}
		}
		if len(tasks) != n {
			t.Errorf("the plan has %d tasks", len(tasks))
		}
		p.sound(t)
	}
	if len(tips) != 1 {
		t.Errorf("the machines end at different tips: %v", tips)
	}
	p := s.machines[0]
	if t.Failed() {
		t.Log(p.must(t, "log"))
	}
	if merges := p.Git("rev-list", "--merges", "HEAD"); merges != "" {
		t.Errorf("the branch is not linear: %s", merges)
	}
	var done []string
	for line := range strings.Lines(p.Git("log", "--format=%(trailers:key=Ralph-Task,valueonly,separator=)", "HEAD")) {
		if id := strings.TrimSpace(line); id != "" {
			done = append(done, id)
		}
	}
	slices.Sort(done)
	if want := len(slices.Compact(slices.Clone(done))); want != n || len(done) != n {
		t.Errorf("%d commits for %d tasks: %v", len(done), n, done)
	}
	out, err := exec.Command("git", "--git-dir="+s.remote, "for-each-ref", "--format=%(refname)",
		"refs/ralph/alive").Output()
	if err == nil && len(out) > 0 {
		t.Logf("heartbeats that are left: %s", out)
	}
}

// TestTwoMachinesShareAPlan: machines work at the same time on one plan through a
// bare remote, each task is done once, and all end with 0.
func TestTwoMachinesShareAPlan(t *testing.T) {
	t.Parallel()
	long.Only(t, "several machines share a plan")
	n := long.Number(t, 2, 8)
	s := sharedPlan(t, 2, doTask, "", tasksToml(n))
	results := make([]result, len(s.machines))
	done := make(chan int)
	for i, p := range s.machines {
		go func() {
			results[i] = p.run(t, nil, "start")
			done <- i
		}()
	}
	for range s.machines {
		<-done
	}
	for i, r := range results {
		if r.code != 0 {
			t.Errorf("machine %d: exit %d\n%s%s", i, r.code, r.out, r.err)
		}
	}
	s.allDone(t, n)
}

// TestMachinesWithWorkers: two machines with two workers each finish a plan; one of them
// is killed again and again.
func TestMachinesWithWorkers(t *testing.T) {
	t.Parallel()
	long.Only(t, "several machines with several workers are killed by chance")
	n := long.Number(t, 3, 12)
	s := sharedPlan(t, 2, "sleep 0.3\n"+doTask, "", tasksToml(n))
	ended := make(chan result)
	for i, p := range s.machines {
		go func() {
			for try := range 4 {
				if i == 0 {
					p.runFor(t, time.Duration(2000+700*try)*time.Millisecond, "start", "--workers", "2")
				}
			}
			var r result
			for range n {
				if r = p.run(t, []string{"RALPH_SHARE_LEASE=4s"}, "start", "--workers", "2"); r.code == 0 {
					break
				}
				t.Logf("machine %d: exit %d\n%s", i, r.code, r.err)
			}
			ended <- r
		}()
	}
	for range s.machines {
		if r := <-ended; r.code != 0 {
			t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
		}
	}
	s.allDone(t, n)
}

// TestMachinesAreKilled: three machines finish a plan with dependencies over a bare
// remote, while one of them is killed again and again.
func TestMachinesAreKilled(t *testing.T) {
	t.Parallel()
	long.Only(t, "several machines are killed by chance")
	n := long.Number(t, 1, 30)
	kills := max(4, n/2)
	s := sharedPlan(t, 3, "sleep 0.1\n"+doTask, "", tasksToml(n))
	ended := make(chan result)
	for i, p := range s.machines {
		go func() {
			var r result
			for try := 0; ; try++ {
				if i == 0 && try < kills {
					p.runFor(t, time.Duration(300+37*try)*time.Millisecond, "start")
					continue
				}
				if r = p.run(t, []string{"RALPH_SHARE_LEASE=3s"}, "start"); r.code == 0 || try > n+kills {
					break
				}
				t.Logf("machine %d: exit %d\n%s", i, r.code, r.err)
			}
			ended <- r
		}()
	}
	for range s.machines {
		if r := <-ended; r.code != 0 {
			t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
		}
	}
	s.allDone(t, n)
}
