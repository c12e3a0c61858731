package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"git-ralph/fixtures/long"
)

// TestZombieLandsNothing: a machine is stopped until its lease expires, and
// another one does its task. The first one's work stays in its evidence.
func TestZombieLandsNothing(t *testing.T) {
	t.Parallel()
	long.Only(t, "several machines share a plan")
	agent := "if [ -n \"$SLOW\" ]; then touch ../begun; while [ ! -e ../go ]; do sleep 0.05; done; fi\n" + doTask
	s := sharedPlan(t, 2, agent, "", tasksToml(1))
	slow, quick := s.machines[0], s.machines[1]
	const lease = "RALPH_SHARE_LEASE=2s"
	c := exec.Command(filepath.Join(slow.bin, "git-ralph"), "start")
	c.Dir, c.Env = slow.Dir, append(append([]string{}, slow.Env...), "SLOW=1", lease)
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Process.Kill()
	waitFor(t, "the agent of the slow one begins", func() bool { return exists(filepath.Join(slow.Dir, "..", "begun")) })
	if err := c.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if r := quick.run(t, []string{lease}, "start"); r.code != 0 {
		t.Fatalf("the quick one: exit %d\n%s%s", r.code, r.out, r.err)
	}
	tip := quick.Git("--git-dir="+s.remote, "rev-parse", "main")
	slow.Write("../go", "")
	if err := c.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("the slow one: %v\n%s", err, out.String())
	}
	if now := quick.Git("--git-dir="+s.remote, "rev-parse", "main"); now != tip {
		t.Errorf("the slow one has moved the branch: %s, then %s\n%s", tip, now, out.String())
	}
	if got := slow.Git("rev-parse", "HEAD"); got != tip {
		t.Errorf("the slow one stands at %s, the remote at %s", got, tip)
	}
	if list := slow.must(t, "log"); !strings.Contains(list, "claim") {
		t.Errorf("the log says nothing of it:\n%s", list)
	}
	s.allDone(t, 1)
}

// TestShareKilledAnywhere: a push, a pull and a shared run that are killed at any
// step are finished by the next ones, and nothing is lost or done twice.
func TestShareKilledAnywhere(t *testing.T) {
	t.Parallel()
	long.Only(t, "it kills machines at every step")
	steps := []string{"share:fetched", "share:joined", "share:notes", "share:pushed", "share:tracked", "join:objects",
		"join:ref", "claim:recorded", "claim:pushed", "share:landed", "keep:published", "keep:refs-committed"}
	s := sharedPlan(t, 2, doTask, "", tasksToml(2*len(steps)))
	a, b := s.machines[0], s.machines[1]
	for _, step := range steps {
		// Both sides get an entry, so that there is something to join.
		a.must(t, "inject", "by a, before "+step)
		b.must(t, "inject", "by b, before "+step)
		b.must(t, "push")
		args := []string{"push"}
		if strings.HasPrefix(step, "claim:") || strings.HasPrefix(step, "keep:") || step == "share:landed" {
			args = []string{"start", "--once"}
		}
		if r := a.run(t, []string{"RALPH_FAILPOINT=" + step}, args...); r.code != -1 {
			t.Errorf("%s: not killed there: exit %d\n%s", step, r.code, r.err)
		}
		if r := a.run(t, nil, "start", "--once"); r.code != 0 && r.code != 4 {
			t.Errorf("after %s: exit %d\n%s%s", step, r.code, r.out, r.err)
		}
	}
	for range 2 {
		if r := a.run(t, nil, "start"); r.code != 0 {
			t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
		}
	}
	s.allDone(t, 2*len(steps))
	notes := a.Git("log", "--format=%s%n%b", "refs/ralph/heads/main")
	for _, step := range steps {
		for _, who := range []string{"a", "b"} {
			if want := "by " + who + ", before " + step; !strings.Contains(notes, want) {
				t.Errorf("lost: %q", want)
			}
		}
	}
}
