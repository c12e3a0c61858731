package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
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
var deaths = []string{"a moment", "a step", "a git child", "standing still", "a group", "a control group"}

// TestChaos disturbs all kinds of commands for RALPH_CHAOS seconds. It kills them at random
// moments (alone, with their process group or with their control group) or at named steps,
// kills one of their git children, or stops them for a while. Meanwhile git collects, prunes
// and packs, eight others write to the journal, and a person edits, commits, stashes and
// switches branches. After each, the next command works without help. The journal has all that
// was acknowledged. No iteration has ended twice or was paid twice. Nothing that the person
// wrote is lost. Both fscks report nothing. The seed is printed; RALPH_CHAOS_SEED repeats it.
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
	p := newProject(t, paid+"sleep 0.0$((RALPH_ITERATION % 10))\n"+doTask, check, map[string]string{"mine.txt": "0\n"})
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
	var calm sync.Mutex // held while git prunes, and while plain git reads
	beside.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
			}
			each := [][]string{{"gc", "-q", "--prune=now"}, {"pack-refs", "--all"}, {"repack", "-a", "-d", "-q"},
				{"prune", "--expire=now"}}
			if !calm.TryLock() { // a failed test never unlocks it
				continue
			}
			said, err := p.Try(each[n%len(each)]...)
			if err == nil {
				prunings++
			}
			p.crashed(t, said, err)
			calm.Unlock()
		}
	})
	defer func() {
		close(stop)
		beside.Wait()
	}()
	person := newPerson(p, &calm)
	ended, ran, crowds, words := map[string]int{}, 0, 0, []string{}
	defer func() {
		var hits []string
		for _, death := range slices.Sorted(maps.Keys(ended)) {
			hits = append(hits, fmt.Sprintf("%s %d", death, ended[death]))
		}
		t.Logf("seed %d: %d commands, of them disturbed by %s; beside them %d prunings and packings, %d crowds of eight, "+
			"and of a person's acts %v; %d words acknowledged", seed, ran, strings.Join(hits, ", "), prunings, crowds,
			person.did, len(words))
	}()
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	for n := 0; time.Now().Before(end); n++ {
		args, death := commands[random.IntN(len(commands))], deaths[random.IntN(len(deaths))]
		step := steps[random.IntN(len(steps))]
		after := time.Duration(5+random.IntN(400)) * time.Millisecond
		ran++
		act, crowd := person.choose(random), random.IntN(6) == 0
		var mu sync.Mutex
		beside := []func(){func() { person.does(t, act) }}
		for i := range 8 {
			word := fmt.Sprintf("crowd-%d-%d-", n, i)
			beside = append(beside, func() {
				if crowd && p.run(t, nil, "inject", word).code == 0 {
					mu.Lock()
					words = append(words, word)
					mu.Unlock()
				}
			})
		}
		if crowd {
			crowds++
		}
		said, hit := p.disturbed(t, death, step, after, args, beside...)
		if hit {
			ended[death]++
		}
		where := fmt.Sprintf("seed %d: after %q, disturbed by %s (%s, %s), beside a person's %s and a crowd: %v\n%s",
			seed, args, death, step, after, act, crowd, said)
		person.comesHome(t, where)
		word := fmt.Sprintf("acked-%d-", n)
		if r := p.run(t, nil, "add", word); r.code != 0 {
			t.Fatalf("%s: add says %d\n%s%s", where, r.code, r.out, r.err)
		}
		words = append(words, word)
		calm.Lock()
		// The next command restores what was pruned at the very end of this one.
		if r := p.run(t, nil, "inject", "go on"); r.code != 0 {
			t.Fatalf("%s: inject says %d\n%s%s", where, r.code, r.out, r.err)
		}
		p.bothFscks(t, where)
		person.lostNothing(t, where)
		p.counts(t, where, words)
		calm.Unlock()
		if t.Failed() {
			t.FailNow()
		}
	}
	calm.Lock()
	p.must(t, "inject", "the last word")
	p.bothFscks(t, fmt.Sprint("seed ", seed))
	calm.Unlock()
}

// crashed removes the lock of git's commit graph after a git that ended itself by a bug of its
// own, as a person would have to: nobody can tell whose it is. No other signal ends a git that
// nobody here has disturbed.
func (p *project) crashed(t *testing.T, said string, err error) {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return
	}
	ws, ok := exit.Sys().(syscall.WaitStatus)
	switch {
	case ok && ws.Signaled() && ws.Signal() == syscall.SIGABRT:
		t.Logf("git has crashed: %s", said)
		os.Remove(filepath.Join(p.Dir, ".git", "objects", "info", "commit-graph.lock"))
	case ok && ws.Signaled():
		t.Errorf("git was ended by %s: %s", ws.Signal(), said)
	}
}

// paid is an agent that costs a cent for each task.
const paid = `[ -z "$RALPH_TASK_ID" ] || echo '{"type":"usage","input_tokens":10,"output_tokens":5,"cost_usd":0.01}'
`

// bothFscks checks that both fscks report nothing.
func (p *project) bothFscks(t *testing.T, where string) {
	t.Helper()
	if r := p.run(t, nil, "fsck"); r.code != 0 {
		t.Errorf("%s: fsck says %d\n%s%s", where, r.code, r.out, r.err)
	}
	// git prune leaves removed commits in git's commit graph, also with refs of plain git alone.
	if out, err := p.Try("-c", "core.commitGraph=false", "fsck", "--strict", "--no-dangling"); err != nil {
		t.Errorf("%s: git fsck: %v\n%s", where, err, out)
	}
}

// counts checks that each word is in the journals and that no iteration has two ends. Each
// was paid at most once, and each kept one exactly once.
func (p *project) counts(t *testing.T, where string, words []string) {
	t.Helper()
	log := p.Git("log", "--format=%B", "--glob=refs/ralph/heads")
	for _, word := range words {
		if !strings.Contains(log, word) {
			t.Errorf("%s: %s is lost", where, word)
		}
	}
	started, ends, kept := 0, map[string]int{}, 0
	for line := range strings.Lines(p.Git("log", "--format=%s", "--first-parent", "refs/ralph/heads/main")) {
		name, rest, _ := strings.Cut(line, ": ")
		switch {
		case !strings.HasPrefix(name, "iteration "):
		case strings.HasPrefix(rest, "start "):
			started++
		default:
			if ends[name]++; ends[name] == 2 {
				t.Errorf("%s: %s has ended twice", where, name)
			}
			if strings.HasPrefix(rest, "keep T-") {
				kept++
			}
		}
	}
	cost, err := p.money(t).Cost.Total.Float64()
	if cents := int(math.Round(cost * 100)); err != nil || cents > started || cents < kept {
		t.Errorf("%s: %d cents were paid for %d iterations, of which %d were kept (%v)", where, cents, started, kept, err)
	}
}

// disturbed runs a command, disturbs it after a while and reports whether that
// worked. It kills a command that still runs a second later. It waits for the
// functions beside.
func (p *project) disturbed(t *testing.T, death, step string, after time.Duration, args []string,
	beside ...func()) (string, bool) {
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
	kill := func() { killTree(c.Process.Pid) }
	if death == "a control group" {
		if group := newControlGroup(t); group != nil {
			defer removeControlGroup(t, group)
			c.SysProcAttr.UseCgroupFD, c.SysProcAttr.CgroupFD = true, int(group.Fd())
			kill = func() { os.WriteFile(filepath.Join(group.Name(), "cgroup.kill"), []byte("1"), 0) }
		}
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var others sync.WaitGroup
	for _, do := range beside {
		others.Go(do)
	}
	defer others.Wait()
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
		case "a control group":
			kill()
			hit = true
		case "a git child":
			if list := gitChildren(c.Process.Pid); len(list) > 0 {
				hit = syscall.Kill(list[int(after)%len(list)], syscall.SIGKILL) == nil
			}
		case "standing still":
			hit = c.Process.Signal(syscall.SIGSTOP) == nil
			// A person may be on their other branch just now.
			if r := p.run(t, nil, "status"); r.code != 0 && !strings.Contains(r.err, "the branch aside has no journal") {
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

// newControlGroup makes a control group, whose processes can be killed at once. It
// returns nil if the machine has none.
func newControlGroup(t *testing.T) *os.File {
	t.Helper()
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		if !strings.Contains(line, " - cgroup2 ") {
			continue
		}
		dir, err := os.MkdirTemp(strings.Fields(line)[4], "git-ralph-chaos-")
		if err != nil {
			continue
		}
		if group, err := os.Open(dir); err == nil && exists(filepath.Join(dir, "cgroup.kill")) {
			return group
		}
		os.Remove(dir)
	}
	return nil
}

// removeControlGroup waits until the group is empty. After 5 s it kills the rest.
func removeControlGroup(t *testing.T, group *os.File) {
	group.Close()
	for try := range 1000 {
		if os.Remove(group.Name()) == nil {
			return
		}
		if try == 500 {
			os.WriteFile(filepath.Join(group.Name(), "cgroup.kill"), []byte("1"), 0)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("the control group %s cannot be removed", group.Name())
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

// TestTwoDeadRuns: one run died between its checkpoint and its start, another one in
// its iteration. One command repairs both, also after dead workers.
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
