package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ralph/fixtures/long"
	"git-ralph/internal/proc"
)

// workersStatus is the part of status about workers.
type workersStatus struct {
	Status  string
	Task    string
	Running *struct{ PID int }
	Workers []struct {
		Actor, Host, Task       string
		PID, Iteration, Attempt int
		Since                   time.Time
	}
	Tasks struct{ Done, Pending int }
}

func (p *project) workers(t *testing.T) workersStatus {
	t.Helper()
	var s workersStatus
	if err := json.Unmarshal([]byte(p.must(t, "status", "--json")), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// until polls until ok returns true, for at most four minutes: a loaded machine takes more than one.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(4 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("it never came to this: %s", what)
}

// teamDone checks the end of a run with workers: every task done once, a linear
// branch, no workers left behind.
func (p *project) teamDone(t *testing.T, tasks int) {
	t.Helper()
	subjects := p.Git("log", "--format=%s")
	for i := 1; i <= tasks; i++ {
		if n := strings.Count(subjects, fmt.Sprintf(": T-%03d ", i)); n != 1 {
			t.Errorf("T-%03d is in the branch %d times", i, n)
		}
		if _, err := os.Stat(filepath.Join(p.Dir, fmt.Sprintf("out-T-%03d.txt", i))); err != nil {
			t.Error(err)
		}
	}
	if got := p.Git("rev-list", "--min-parents=2", "HEAD"); got != "" {
		t.Errorf("the branch is not linear: %s", got)
	}
	if got := p.Git("status", "--porcelain"); got != "" {
		t.Errorf("the worktree is not clean:\n%s", got)
	}
	if got := p.Git("worktree", "list"); strings.Count(got, "\n") != 0 {
		t.Errorf("worktrees are left:\n%s", got)
	}
	if got := p.Git("for-each-ref", "refs/heads/ralph-workers", "refs/ralph/local"); got != "" {
		t.Errorf("refs are left:\n%s", got)
	}
	if s := p.workers(t); s.Tasks.Done != tasks || len(s.Workers) != 0 {
		t.Errorf("%+v", s)
	}
	p.sound(t)
}

// waits is an agent that waits for a file in the git directory, which an agent
// can see in every sandbox.
const waits = "if [ -d .git ]; then go=.git/go-on; else go=$(sed 's/gitdir: //' .git)/../../go-on; fi; i=0\n" +
	"while [ $i -lt 2400 ] && ! [ -e \"$go\" ]; do sleep 0.1; i=$((i+1)); done\n"

// goOn lets agents that wait go on.
func goOn(t *testing.T, p *project) {
	t.Helper()
	p.Write(".git/go-on", "")
}

// TestWorkers: independent tasks are worked on at once, status names each worker, and
// each result lands by itself.
func TestWorkers(t *testing.T) {
	t.Parallel()
	for _, sandbox := range long.Sample(t, []string{"auto", "off"}, 2) {
		t.Run(sandbox, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, waits+doTask, check+"[guard]\nsandbox = \""+sandbox+"\"\n",
				map[string]string{"README": "hello\n"})
			for _, title := range []string{"one", "two", "three", "four"} {
				p.must(t, "add", title)
			}
			ended := make(chan result, 1)
			go func() { ended <- p.run(t, nil, "start", "--workers", "3") }()
			until(t, "three workers are at work", func() bool {
				select {
				case r := <-ended:
					t.Fatalf("it ended: exit %d\n%s%s", r.code, r.out, r.err)
				default:
				}
				s := p.workers(t)
				n := 0
				for _, w := range s.Workers {
					if w.Iteration > 0 && w.PID > 0 && w.Attempt == 1 && !w.Since.IsZero() {
						n++
					}
				}
				return n == 3 && s.Running != nil
			})
			out := p.must(t, "status")
			for _, id := range []string{"T-001", "T-002", "T-003"} {
				if !strings.Contains(out, id) {
					t.Errorf("status does not name the worker on %s:\n%s", id, out)
				}
			}
			// A pause reaches all of them: they end what they do, and take no more.
			p.must(t, "pause")
			goOn(t, p)
			until(t, "it is paused", func() bool { s := p.workers(t); return s.Status == "paused" && s.Tasks.Done == 3 })
			p.must(t, "resume")
			r := <-ended
			if r.code != 0 {
				t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
			}
			p.teamDone(t, 4)
		})
	}
}

// TestWorkersMeet: a result that conflicts with another one is rejected. The next
// prompt has the reason, and the task is done on top of the other.
func TestWorkersMeet(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies how workers meet")
	agent := "prompt=$(cat)\n" +
		"if [ $RALPH_ATTEMPT = 1 ] && ! echo \"$prompt\" | grep -q 'Another worker'; then sleep 1; fi\n" +
		"echo \"$RALPH_TASK_ID\" >> shared\n" +
		"case $prompt in *'Another worker'*) echo \"saw $RALPH_TASK_ID\" > notes-$RALPH_TASK_ID;; esac\n" + doTask
	p := newProject(t, agent, check+"[guard]\nsandbox = \"off\"\n",
		map[string]string{"README": "hello\n", "shared": "begin\n"})
	p.must(t, "add", "one")
	p.must(t, "add", "two")
	r := p.run(t, nil, "start", "--workers", "2")
	if r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if got := p.Read("shared"); !strings.Contains(got, "T-001\n") || !strings.Contains(got, "T-002\n") {
		t.Errorf("a side is lost: %q", got)
	}
	if !strings.Contains(r.out, "reject: conflict: shared") {
		t.Errorf("no conflict is named:\n%s", r.out)
	}
	if got := p.Git("ls-files", "notes-*"); got == "" {
		t.Error("the next prompt did not show the conflict")
	}
	p.teamDone(t, 2)
}

// TestWorkersRedTogether: if two results are green alone and red together, the second one
// is rejected. Each landing is proved by itself, so every commit of the branch is green.
func TestWorkersRedTogether(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies how workers meet")
	agent := "prompt=$(cat)\n" +
		"case $prompt in *'Together with what others'*) ;; *) sleep 1; touch alone-$RALPH_TASK_ID;; esac\n" + doTask
	both := strings.Replace(check, "sh test.sh", "test ! -e alone-T-001 || test ! -e alone-T-002", 1)
	p := newProject(t, agent, both+"[guard]\nsandbox = \"off\"\n", map[string]string{"README": "hello\n"})
	p.must(t, "add", "one")
	p.must(t, "add", "two")
	r := p.run(t, nil, "start", "--workers", "2")
	if r.code != 0 || !strings.Contains(r.out, "reject: landing: ") {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	for commit := range strings.FieldsSeq(p.Git("rev-list", "HEAD")) {
		if names := p.Git("ls-tree", "--name-only", commit); strings.Contains(names, "alone-T-001") &&
			strings.Contains(names, "alone-T-002") {
			t.Errorf("%s is red:\n%s", commit, names)
		}
	}
	p.teamDone(t, 2)
}

// TestWorkersKilled: a dead worker harms no other. The next run repairs what a
// killed run left.
func TestWorkersKilled(t *testing.T) {
	t.Parallel()
	long.Only(t, "several workers are killed")
	start := func(t *testing.T, sandbox string) (*project, chan result) {
		p := newProject(t, waits+doTask, check+"[guard]\nsandbox = \""+sandbox+"\"\n", map[string]string{"README": "hello\n"})
		for _, title := range []string{"one", "two", "three"} {
			p.must(t, "add", title)
		}
		ended := make(chan result, 1)
		go func() { ended <- p.run(t, nil, "start", "--workers", "2") }()
		until(t, "two workers are at work", func() bool {
			s := p.workers(t)
			return len(s.Workers) == 2 && s.Workers[0].Iteration > 0 && s.Workers[1].Iteration > 0
		})
		return p, ended
	}
	t.Run("a worker", func(t *testing.T) {
		t.Parallel()
		p, ended := start(t, "auto")
		syscall.Kill(p.workers(t).Workers[0].PID, syscall.SIGKILL)
		goOn(t, p)
		r := <-ended
		if r.code != 0 || !strings.Contains(r.err, "signal 9") {
			t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
		}
		p.teamDone(t, 3)
	})
	t.Run("the run", func(t *testing.T) {
		t.Parallel()
		p, ended := start(t, "off")
		syscall.Kill(p.workers(t).Running.PID, syscall.SIGKILL)
		<-ended
		goOn(t, p)
		p.must(t, "start", "--workers", "2")
		p.teamDone(t, 3)
	})
	t.Run("and one loop goes on alone", func(t *testing.T) {
		t.Parallel()
		p, ended := start(t, "off")
		syscall.Kill(p.workers(t).Running.PID, syscall.SIGKILL)
		<-ended
		goOn(t, p)
		p.must(t, "start")
		p.teamDone(t, 3)
	})
	t.Run("Ctrl-C", func(t *testing.T) {
		t.Parallel()
		p, ended := start(t, "off")
		syscall.Kill(p.workers(t).Running.PID, syscall.SIGINT)
		if r := <-ended; r.code != 130 {
			t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
		}
		if s := p.workers(t); s.Tasks.Pending != 3 || s.Status != "interrupted" {
			t.Errorf("%+v", s)
		}
		goOn(t, p)
		p.must(t, "start", "--workers", "3")
		p.teamDone(t, 3)
	})
}

// TestWorkersKilledAtSteps ends a worker at the steps of a claim and of a landing.
func TestWorkersKilledAtSteps(t *testing.T) {
	t.Parallel()
	long.Only(t, "it kills workers at every step")
	steps := []string{"worker:claimed", "worker:landing", "worker:landed", "keep:evidence", "keep:index-lock",
		"keep:refs-prepared", "keep:refs-committed", "keep:index-renamed", "keep:note", "iteration:started",
		"reject:objects", "checkpoint:ref"}
	// The first attempt at the first task is rejected.
	agent := "if [ $RALPH_TASK_ID-$RALPH_ATTEMPT = T-001-1 ]; then echo x > broken; fi\n" + doTask
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, agent, check+"[guard]\nsandbox = \"off\"\n", map[string]string{"README": "hello\n"})
			p.must(t, "add", "one")
			p.must(t, "add", "two")
			p.must(t, "add", "three")
			// Every worker dies there, and after some deaths the run gives up.
			r := p.run(t, []string{"RALPH_FAILPOINT=" + step}, "start", "--workers", "2")
			if r.code != -1 && !strings.Contains(r.out+r.err, "signal 9") {
				t.Errorf("the step was never reached: exit %d\n%s%s", r.code, r.out, r.err)
			}
			p.must(t, "start", "--workers", "2")
			p.teamDone(t, 3)
		})
	}
}

// TestWorkersAreQuicker: four workers work at the same time. No test checks how much
// quicker they are: landings and their proofs are made one at a time, which is slow on a
// loaded machine. The long form prints the figure of doc/promises.md.
func TestWorkersAreQuicker(t *testing.T) {
	t.Parallel()
	long.Only(t, "four workers wait for each other")
	const tasks = 12
	work := func(t *testing.T, n int, agent string) time.Duration {
		p := newProject(t, agent+doTask, check+"[guard]\nsandbox = \"off\"\n", map[string]string{"README": "hello\n"})
		for i := range tasks {
			p.must(t, "add", fmt.Sprint("task ", i))
		}
		began := time.Now()
		p.must(t, "start", "--workers", fmt.Sprint(n))
		took := time.Since(began)
		p.teamDone(t, tasks)
		return took
	}
	t.Run("at the same time", func(t *testing.T) {
		// Nobody goes on before four are at work.
		work(t, 4, fmt.Sprintf("d='%s'\n: > \"$d/$RALPH_TASK_ID\"\n"+
			"while [ \"$(ls \"$d\" | wc -l)\" -lt 4 ]; do sleep 0.1; done\n", t.TempDir()))
	})
	if long.Full() {
		one, four := work(t, 1, "sleep 5\n"), work(t, 4, "sleep 5\n")
		t.Logf("one worker %s, four %s: %.2f times as quick", one, four, float64(one)/float64(four))
	}
}

// TestASkippedWorkerDies: a task is skipped, and its worker dies before it can stop. The
// iteration still has an end, and its work is in its evidence.
func TestASkippedWorkerDies(t *testing.T) {
	t.Parallel()
	long.Only(t, "a worker is killed")
	for _, alone := range []bool{true, false} {
		t.Run(fmt.Sprint("the run dies as well: ", !alone), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "echo half > made-$RALPH_TASK_ID\n"+waits+doTask, check+"[guard]\nsandbox = \"off\"\n",
				map[string]string{"README": "hello\n"})
			p.must(t, "add", "one")
			p.must(t, "add", "two")
			ended := make(chan result, 1)
			go func() { ended <- p.run(t, nil, "start", "--workers", "2") }()
			var s workersStatus
			until(t, "two workers are at work", func() bool {
				s = p.workers(t)
				made, err := filepath.Glob(filepath.Join(proc.Getenv(p.Env, "HOME"), ".cache/git-ralph/workers/*/*/made-*"))
				return err == nil && len(made) == 2 && len(s.Workers) == 2
			})
			pid, task := s.Workers[0].PID, s.Workers[0].Task
			syscall.Kill(pid, syscall.SIGSTOP)
			p.must(t, "skip", task)
			if !alone {
				syscall.Kill(s.Running.PID, syscall.SIGKILL)
			}
			syscall.Kill(pid, syscall.SIGKILL)
			goOn(t, p)
			if r := <-ended; alone && r.code != 0 {
				t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
			}
			if !alone {
				until(t, "its workers are gone", func() bool { return syscall.Kill(s.Workers[1].PID, 0) != nil })
				p.must(t, "inject", "a word")
				p.must(t, "start", "--workers", "2")
			}
			log := p.must(t, "log")
			if starts, ends := strings.Count(log, ": start T-"), strings.Count(log, ": keep T-")+
				strings.Count(log, ": reject T-"); starts != ends || !strings.Contains(log, "skipped") {
				t.Errorf("%d iterations began and %d ended:\n%s", starts, ends, log)
			}
			if got := p.Git("for-each-ref", "refs/ralph/local"); got != "" {
				t.Errorf("left: %s", got)
			}
			n := s.Workers[0].Iteration
			if out := p.must(t, "diff", fmt.Sprint(n)); !strings.Contains(out, "made-"+task) {
				t.Errorf("what iteration %d made is not in its evidence:\n%s", n, out)
			}
			p.sound(t)
		})
	}
}

// TestDeadWorkersAreMended: the next command that writes ends the iterations of a killed
// run's workers, even if a worker's worktree is gone. fsck finds no fault before and
// after it.
func TestDeadWorkersAreMended(t *testing.T) {
	t.Parallel()
	long.Only(t, "workers are killed")
	for _, gone := range []bool{false, true} {
		t.Run(fmt.Sprint("gone ", gone), func(t *testing.T) {
			t.Parallel()
			p := newProject(t, waits+doTask, check+"[guard]\nsandbox = \"off\"\n", map[string]string{"README": "hello\n"})
			p.must(t, "add", "one")
			p.must(t, "add", "two")
			ended := make(chan result, 1)
			go func() { ended <- p.run(t, nil, "start", "--workers", "2") }()
			var s workersStatus
			until(t, "two workers are at work", func() bool {
				s = p.workers(t)
				return len(s.Workers) == 2 && strings.Count(p.must(t, "log"), ": start T-") == 2
			})
			syscall.Kill(s.Running.PID, syscall.SIGKILL)
			for _, w := range s.Workers {
				syscall.Kill(w.PID, syscall.SIGKILL)
			}
			<-ended
			for _, w := range s.Workers {
				until(t, "the worker is gone", func() bool { return syscall.Kill(w.PID, 0) != nil })
			}
			if r := p.run(t, nil, "fsck"); r.code != 0 {
				t.Errorf("before any other command, fsck says %d\n%s", r.code, r.out)
			}
			if gone {
				place := strings.Fields(p.Git("worktree", "list"))[3] // of the second line
				if err := os.RemoveAll(place); err != nil || !strings.Contains(place, "workers") {
					t.Fatalf("remove %s: %v", place, err)
				}
			}
			p.must(t, "inject", "a word")
			if s := p.workers(t); len(s.Workers) != 0 || s.Tasks.Pending != 2 {
				t.Errorf("after a command: %+v", s)
			}
			if got := p.Git("for-each-ref", "refs/ralph/local"); got != "" {
				t.Errorf("left: %s", got)
			}
			if got := strings.Count(p.must(t, "log"), "interrupted"); got != 2 {
				t.Errorf("%d iterations were ended, not 2\n%s", got, p.must(t, "log"))
			}
			if r := p.run(t, nil, "fsck"); r.code != 0 {
				t.Errorf("after it, fsck says %d\n%s", r.code, r.out)
			}
			goOn(t, p)
			p.must(t, "start", "--workers", "2")
			p.teamDone(t, 2)
		})
	}
}
