package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// TestWorkersAreSteered: a note is in the next prompt of each worker. A stop
// ends all of them, after their iteration or now.
func TestWorkersAreSteered(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies how workers are steered")
	dir := t.TempDir()
	// The agent reports that it has its prompt and waits until its task may go on.
	agent := "case $(cat) in *'use the standard library'*) touch told-$RALPH_TASK_ID;; esac; i=0\n" +
		"touch '" + dir + "'/begun-$RALPH_TASK_ID\n" +
		"while [ $i -lt 600 ] && ! [ -e '" + dir + "'/go-on-$RALPH_TASK_ID ]; do sleep 0.1; i=$((i+1)); done\n"
	// While the file hold exists, the check of the last two tasks does not end.
	slow := "{ [ -e out-T-005.txt ] || [ -e out-T-006.txt ]; } && while [ -e '" + dir + "'/hold ]; do\n" +
		"\ttouch '" + dir + "'/checking\n\tsleep 0.1\ndone\n:\n"
	p := newProject(t, agent+doTask,
		check+"[guard]\nsandbox = \"off\"\n", map[string]string{"README": "hello\n", "test.sh": slow})
	for _, title := range []string{"one", "two", "three", "four", "five", "six"} {
		p.must(t, "add", title)
	}
	start := func() chan result {
		ended := make(chan result, 1)
		go func() { ended <- p.run(t, nil, "start", "--workers", "2") }()
		return ended
	}
	atWork := func(tasks ...string) {
		until(t, strings.Join(tasks, " and ")+" are at work", func() bool {
			for _, id := range tasks {
				if _, err := os.Stat(filepath.Join(dir, "begun-"+id)); err != nil {
					return false
				}
			}
			return true
		})
	}
	release := func(tasks ...string) {
		for _, id := range tasks {
			if err := os.WriteFile(filepath.Join(dir, "go-on-"+id), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	ended := start()
	atWork("T-001", "T-002")
	p.must(t, "inject", "use the standard library")
	release("T-001", "T-002")
	atWork("T-003", "T-004")
	p.must(t, "stop")
	release("T-003", "T-004")
	if r := <-ended; r.code != 6 {
		t.Fatalf("after stop: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if s := p.workers(t); s.Tasks.Done != 4 || s.Tasks.Pending != 2 || s.Running != nil {
		t.Errorf("after stop: %+v", s)
	}
	if got := p.Git("ls-files", "told-*"); got != "told-T-003\ntold-T-004" {
		t.Errorf("the next prompt of each worker has the note: %q", got)
	}
	ended = start()
	atWork("T-005", "T-006")
	p.must(t, "stop", "--now")
	if r := <-ended; r.code != 6 {
		t.Fatalf("after stop --now: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if s := p.workers(t); s.Tasks.Done != 4 || s.Tasks.Pending != 2 || len(s.Workers) != 0 {
		t.Errorf("after stop --now: %+v", s)
	}
	touch := func(name string) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	touch("hold")
	release("T-005", "T-006")
	ended = start()
	until(t, "the work is checked", func() bool {
		_, err := os.Stat(filepath.Join(dir, "checking"))
		return err == nil
	})
	p.must(t, "stop", "--now")
	if r := <-ended; r.code != 6 {
		t.Fatalf("after stop --now in a check: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if s := p.workers(t); s.Tasks.Done != 4 || s.Tasks.Pending != 2 || len(s.Workers) != 0 {
		t.Errorf("after stop --now in a check: %+v", s)
	}
	os.Remove(filepath.Join(dir, "hold"))
	p.must(t, "start", "--workers", "2")
	p.teamDone(t, 6)
}

// TestWorkersShareLimits: what a run may use and how often it may fail is counted over
// all workers.
func TestWorkersShareLimits(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies the limits of workers")
	// Each iteration takes 0.4 of the limit: the third one passes it, and one more may be at work then.
	spends := "echo '{\"type\":\"usage\",\"input_tokens\":400,\"cost_usd\":0.4}'\n" + doTask
	for _, tt := range []struct {
		why, agent, settings, want string
		least, most                int // iterations
	}{
		{"dollars", spends, "[limits]\nsession_usd = 1.0\n", "cost_limit:", 3, 4},
		{"dollars of all sessions", spends, "[limits]\ntotal_usd = 1.0\n", "cost_limit:", 3, 4},
		{"tokens", spends, "[limits]\nsession_tokens = 1000\n", "token_limit:", 3, 4},
		{"iterations", doTask, "[loop]\nmax_iterations = 3\n", "max_iterations", 3, 3},
		// An iteration that runs when the breaker opens is finished. It must not be the last attempt of
		// its task: giving a task up forgets the failures.
		{"failures", "true\n", "[loop]\nmax_attempts = 0\n[breaker]\nfailures = 3\n", "consecutive_failures:", 3, 4},
	} {
		t.Run(tt.why, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, tt.agent, tt.settings+check+"[guard]\nsandbox = \"off\"\n",
				map[string]string{"README": "hello\n"})
			for _, title := range []string{"one", "two", "three", "four", "five", "six"} {
				p.must(t, "add", title)
			}
			r := p.run(t, nil, "start", "--workers", "2")
			if r.code == 0 || !strings.Contains(r.out, tt.want) {
				t.Errorf("exit %d, not of %s:\n%s%s", r.code, tt.want, r.out, r.err)
			}
			n := strings.Count(p.must(t, "log", "--json", "-n", "100"), `"event":"iteration"`)
			if n < tt.least || n > tt.most {
				t.Errorf("%d iterations, want %d to %d:\n%s", n, tt.least, tt.most, r.out)
			}
			p.sound(t)
		})
	}
}
