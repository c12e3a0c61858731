package e2e

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"git-ralph/fixtures/long"
)

// deaths are the ways in which TestChaos disturbs a command.
var deaths = []string{"a moment", "a step", "a git child", "standing still", "a group"}

// TestChaos disturbs commands of every kind for as many seconds as RALPH_CHAOS says:
// kills at moments of chance, alone and with their process group, and at named steps, kills
// of single git children, and processes that stand still for a while. Beside them git
// collects, prunes and packs, and a person edits and commits. After each the next command
// works without a person, what was acknowledged is in the journal, and the person's file is
// as they left it. The seed is printed; RALPH_CHAOS_SEED repeats it.
func TestChaos(t *testing.T) {
	t.Parallel()
	seconds, err := strconv.Atoi(os.Getenv("RALPH_CHAOS"))
	if err != nil {
		long.Only(t, "a few seconds of chance find little")
		seconds = 5
	}
	seed, err := strconv.ParseUint(os.Getenv("RALPH_CHAOS_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano())
	}
	random := rand.New(rand.NewPCG(seed, 1))
	p := newProject(t, "sleep 0.0$((RALPH_ITERATION % 10))\n"+doTask, check, map[string]string{"mine.txt": "0\n"})
	p.Write("plan.md", "- [ ] an imported thing\n")
	p.Write("untracked.txt", "mine\n")
	p.Git("add", "plan.md")
	p.Git("commit", "-q", "-m", "a plan")
	p.must(t, "add", "a thing to begin with")
	remote := filepath.Join(filepath.Dir(p.Dir), "remote.git")
	p.Git("init", "-q", "--bare", remote)
	p.Git("remote", "add", "origin", remote)
	commands := [][]string{{"start"}, {"start", "--once"}, {"start", "--workers", "2"},
		{"start", "--worktree", "--once"}, {"land"}, {"run", "--yes", "write another thing"}, {"plan"},
		{"discover", "another thing"}, {"import", "plan.md"}, {"gc", "--keep", "1"}, {"fsck", "--repair"},
		{"rewind", "1", "--yes"}, {"restore", "1"}, {"reset", "--yes"},
		{"inject", "take care"}, {"pause"}, {"resume"}, {"skip", "T-001"}, {"adopt"}, {"verify"}, {"push"}, {"pull"}}
	steps := strings.Split(strings.TrimSpace(p.must(t, "failpoints")), "\n")

	stop, beside := make(chan struct{}), sync.WaitGroup{}
	prunings := 0
	var calm sync.Mutex // held by whoever prunes, and while plain git reads
	beside.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
			}
			each := [][]string{{"gc", "-q", "--prune=now"}, {"pack-refs", "--all"}, {"repack", "-a", "-d", "-q"},
				{"prune", "--expire=now"}}
			if !calm.TryLock() { // a test that failed holds it for good
				continue
			}
			if _, err := p.Try(each[n%len(each)]...); err == nil {
				prunings++
			}
			calm.Unlock()
		}
	})
	defer func() {
		close(stop)
		beside.Wait()
	}()
	ended, ran := map[string]int{}, 0
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	for n := 0; time.Now().Before(end); n++ {
		args, death := commands[random.IntN(len(commands))], deaths[random.IntN(len(deaths))]
		step := steps[random.IntN(len(steps))]
		after := time.Duration(5+random.IntN(400)) * time.Millisecond
		ran++
		said, hit := p.disturbed(t, death, step, after, args)
		if hit {
			ended[death]++
		}
		if random.IntN(4) == 0 { // after a kill the index may be locked until the next command of ours
			calm.Lock() // git itself loses what it is about to commit to a prune=now beside it
			p.Write("mine.txt", fmt.Sprintln(n))
			p.Try("commit", "-q", "-m", "by hand", "--", "mine.txt")
			calm.Unlock()
		}
		where := fmt.Sprintf("seed %d: after %q, disturbed by %s (%s, %s)\n%s", seed, args, death, step, after, said)
		word := fmt.Sprintf("acked-%d-", n)
		if r := p.run(t, nil, "add", word); r.code != 0 {
			t.Fatalf("%s: add says %d\n%s%s", where, r.code, r.out, r.err)
		}
		calm.Lock()
		// What was pruned at the very end of a command is there again after the next one.
		if r := p.run(t, nil, "inject", "go on"); r.code != 0 {
			t.Fatalf("%s: inject says %d\n%s%s", where, r.code, r.out, r.err)
		}
		if n%8 == 7 {
			if r := p.run(t, nil, "fsck"); r.code != 0 {
				t.Fatalf("%s: fsck says %d\n%s%s", where, r.code, r.out, r.err)
			}
		}
		history := p.Git("log", "--format=%B", "refs/ralph/heads/main")
		calm.Unlock()
		for i := range n + 1 {
			if !strings.Contains(history, fmt.Sprintf("acked-%d-", i)) {
				t.Fatalf("%s: acked-%d- is lost", where, i)
			}
		}
		if got := p.Read("untracked.txt"); got != "mine\n" {
			t.Fatalf("%s: a person's file holds %q", where, got)
		}
	}
	calm.Lock()
	p.must(t, "inject", "the last word")
	if r := p.run(t, nil, "fsck"); r.code != 0 {
		t.Errorf("seed %d: fsck says %d\n%s%s", seed, r.code, r.out, r.err)
	}
	// git prune leaves commits that it removes in git's commit graph, of plain git's own refs too.
	if out, err := p.Try("-c", "core.commitGraph=false", "fsck", "--strict"); err != nil {
		t.Errorf("seed %d: git fsck: %v\n%s", seed, err, out)
	}
	calm.Unlock()
	var hits []string
	for _, death := range slices.Sorted(maps.Keys(ended)) {
		hits = append(hits, fmt.Sprintf("%s %d", death, ended[death]))
	}
	t.Logf("seed %d: %d commands, of them disturbed by %s; %d prunings and packings beside", seed, ran,
		strings.Join(hits, ", "), prunings)
}

// disturbed runs a command and lets it come to some harm after a while, and says
// whether it did. One that still runs a second later is killed.
func (p *project) disturbed(t *testing.T, death, step string, after time.Duration, args []string) (string, bool) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, args...)
	c.Dir, c.Env = p.Dir, p.Env
	if death == "a step" {
		c.Env = append(slices.Clip(c.Env), "RALPH_FAILPOINT="+step)
	}
	var said bytes.Buffer
	c.Stdout, c.Stderr, c.WaitDelay = &said, &said, time.Second
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { c.Wait(); close(done) }()
	over := func(d time.Duration) bool {
		select {
		case <-done:
			return true
		case <-time.After(d):
			return false
		}
	}
	hit := false
	if !over(after) {
		switch death {
		case "a moment":
			c.Process.Kill()
			hit = true
		case "a group":
			syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
			hit = true
		case "a git child":
			if list := gitChildren(c.Process.Pid); len(list) > 0 {
				hit = syscall.Kill(list[int(after)%len(list)], syscall.SIGKILL) == nil
			}
		case "standing still":
			hit = c.Process.Signal(syscall.SIGSTOP) == nil
			if r := p.run(t, nil, "status"); r.code != 0 {
				t.Errorf("status beside %q that stands still: exit %d\n%s", args, r.code, r.err)
			}
			c.Process.Signal(syscall.SIGCONT)
		}
	}
	if !over(time.Second) {
		c.Process.Kill()
		hit = true
		<-done
	}
	if ws, ok := c.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		hit = true
	}
	return said.String(), hit
}

// gitChildren are the processes of git that a process has started itself.
func gitChildren(pid int) []int {
	var list []int
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		data, _ := os.ReadFile(file)
		for word := range strings.FieldsSeq(string(data)) {
			name, _ := os.ReadFile("/proc/" + word + "/comm")
			if child, err := strconv.Atoi(word); err == nil && strings.HasPrefix(string(name), "git") {
				list = append(list, child)
			}
		}
	}
	return list
}

// TestTwoDeadRuns: one run died between its checkpoint and its start, another one at
// work; one command repairs both. So it does when workers died there.
func TestTwoDeadRuns(t *testing.T) {
	t.Parallel()
	for _, runs := range long.Sample(t, [][][]string{
		{{"checkpoint:ref", "start", "--worktree"}, {"iteration:agent-ended", "start"}},
		{{"checkpoint:ref", "start", "--workers", "2"}},
		{{"checkpoint:ref", "start", "--workers", "2"}, {"iteration:agent-ended", "start"}},
	}, 3) {
		p := newProject(t, doTask, check, nil)
		p.must(t, "add", "the first thing")
		p.must(t, "add", "the second thing")
		for _, run := range runs {
			r := p.run(t, []string{"RALPH_FAILPOINT=" + run[0]}, run[1:]...)
			if r.code == 0 {
				t.Fatalf("%s was not reached\n%s%s", run[0], r.out, r.err)
			}
		}
		p.must(t, "add", "the third thing")
		if refs := p.Git("for-each-ref", "refs/ralph/local"); refs != "" {
			t.Errorf("%q: left: %s", runs, refs)
		}
		if r := p.run(t, nil, "fsck"); r.code != 0 {
			t.Errorf("%q: fsck: exit %d\n%s", runs, r.code, r.out)
		}
	}
}
