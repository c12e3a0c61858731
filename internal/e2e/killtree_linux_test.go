package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// killTree kills a process and its descendants at once, like the end of a
// control group or an OOM kill: git cannot remove its locks.
func killTree(pid int) {
	tree := map[int]bool{pid: true}
	for grown := true; grown; {
		grown = false
		for p := range tree {
			syscall.Kill(p, syscall.SIGSTOP)
		}
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			n, err := strconv.Atoi(e.Name())
			if err != nil || tree[n] {
				continue
			}
			stat, _ := os.ReadFile("/proc/" + e.Name() + "/stat")
			_, rest, _ := strings.Cut(string(stat), ") ")
			f := strings.Fields(rest)
			if len(f) < 2 {
				continue
			}
			if parent, _ := strconv.Atoi(f[1]); tree[parent] {
				tree[n], grown = true, true
			}
		}
	}
	for p := range tree {
		syscall.Kill(p, syscall.SIGKILL)
	}
}

// TestKilledWithItsGit kills commands together with their git processes. The
// next command that writes succeeds, and no lock is left.
func TestKilledWithItsGit(t *testing.T) {
	t.Parallel()
	n := rounds(t, 16)
	p := newProject(t, doTask,
		check+"[guard]\nsandbox = \"off\"\n[validation]\nbaseline = \"off\"\nfresh = \"never\"\n", nil)
	for i := range 4 {
		p.must(t, "add", fmt.Sprintf("thing %d", i))
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	commands := [][]string{{"inject", "a word"}, {"start", "--once"}, {"inject", "another"},
		{"start", "--once", "--worktree"}}
	killed, locks := 0, 0
	for i := range n {
		args := commands[i%len(commands)]
		c := exec.Command(self, args...)
		c.Dir, c.Env = p.Dir, p.Env
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		limit := 60
		if args[0] == "start" {
			limit = 1200
		}
		time.Sleep(time.Duration(5+rand.IntN(limit)) * time.Millisecond)
		killTree(c.Process.Pid)
		if c.Wait() != nil {
			killed++
		}
		out, _ := exec.Command("find", p.Dir+"/.git", "-name", "*.lock").Output()
		locks += strings.Count(string(out), "\n")
		began := time.Now()
		if r := p.run(t, nil, "inject", fmt.Sprintf("after %d", i)); r.code != 0 {
			t.Fatalf("after a kill of %v: exit %d\n%s%s\n%s", args, r.code, r.out, r.err, out)
		}
		if d := time.Since(began); d > 20*time.Second {
			t.Errorf("after a kill of %v the next command took %s", args, d)
		}
	}
	t.Logf("%d kills, %d locks left by git and removed", killed, locks)
	for range 3 { // the agent of the killed worktree, and whatever is left of the plan
		if r := p.run(t, nil, "start"); r.code == 0 {
			break
		}
	}
	log := p.Git("log", "--format=%B", "refs/ralph/heads/main")
	for i := range n {
		if !strings.Contains(log, fmt.Sprintf("after %d", i)) {
			t.Errorf("the acknowledged word after kill %d is lost", i)
		}
	}
	p.must(t, "fsck", "--repair")
	p.sound(t)
}
