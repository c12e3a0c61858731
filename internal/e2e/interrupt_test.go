package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ralph/fixtures/long"
)

// TestCtrlC: one signal keeps the attempt as evidence, restores the checkpoint
// and exits 130; the next start goes on with the same task and no attempt spent.
func TestCtrlC(t *testing.T) {
	t.Parallel()
	for _, sig := range long.Sample(t, []os.Signal{syscall.SIGINT, syscall.SIGTERM}, 2) {
		t.Run(sig.String(), func(t *testing.T) {
			p := newProject(t,
				"if [ \"$RALPH_ITERATION\" = 1 ]; then echo half > half.txt; echo changed > README.md; sleep 60; fi\n"+
					doTask, check,
				map[string]string{"README.md": "as it was\n"})
			p.must(t, "add", "the first thing")
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			c := exec.Command(self, "start")
			c.Dir, c.Env = p.Dir, p.Env
			var out bytes.Buffer
			c.Stdout, c.Stderr = &out, &out
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			deadline := time.Now().Add(30 * time.Second)
			for p.Read("half.txt") == "" {
				if time.Now().After(deadline) {
					t.Fatalf("the agent did not begin\n%s", out.String())
				}
			}
			// git forwards the signal of a terminal a second time.
			c.Process.Signal(sig)
			c.Process.Signal(sig)
			c.Wait()
			if code := c.ProcessState.ExitCode(); code != 130 {
				t.Fatalf("exit %d\n%s", code, out.String())
			}
			if got := p.Read("half.txt") + p.Read("README.md"); got != "as it was\n" {
				t.Errorf("the checkpoint was not restored: %q", got)
			}
			if got := p.must(t, "status", "--json"); !strings.Contains(got, `"status": "interrupted"`) {
				t.Errorf("status says\n%s", got)
			}
			if s := p.show(t, "1"); s.Reason != "interrupted" {
				t.Errorf("iteration 1: %+v", s)
			}
			if got := p.must(t, "diff", "1", "--stat"); !strings.Contains(got, "half.txt") {
				t.Errorf("the attempt is not in evidence:\n%s", got)
			}
			if r := p.run(t, nil, "start"); r.code != 0 {
				t.Fatalf("the next start: exit %d\n%s%s", r.code, r.out, r.err)
			}
			if got := p.must(t, "tasks", "--json"); !strings.Contains(got, `"attempts": 0`) {
				t.Errorf("an attempt was spent:\n%s", got)
			}
			p.sound(t)
		})
	}
}

// TestOneLoopABranch: a second loop exits 7 and names the first.
func TestOneLoopABranch(t *testing.T) {
	t.Parallel()
	p := newProject(t, "touch busy\nsleep 60\n", check, nil)
	p.must(t, "add", "the first thing")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "start")
	c.Dir, c.Env = p.Dir, p.Env
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer c.Wait()
	defer c.Process.Kill()
	deadline := time.Now().Add(30 * time.Second)
	for {
		if _, err := os.Stat(p.Dir + "/busy"); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the agent did not begin")
		}
	}
	r := p.run(t, nil, "start")
	if r.code != 7 || !strings.Contains(r.err, "hint:") || !strings.Contains(r.err, "process") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	if got := p.must(t, "status", "--json"); !strings.Contains(got, `"running": {`) {
		t.Errorf("status says\n%s", got)
	}
	if r := p.run(t, nil, "stop", "--now"); r.code != 0 {
		t.Errorf("stop --now: exit %d\n%s%s", r.code, r.out, r.err)
	}
	c.Wait()
	if code := c.ProcessState.ExitCode(); code != 6 && code != 130 {
		t.Errorf("the stopped loop: exit %d", code)
	}
}
