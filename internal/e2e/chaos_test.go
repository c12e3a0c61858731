package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"git-ralph/fixtures/long"
)

// TestChaos kills commands of every kind at moments of chance, with a person who
// edits and commits and a git that prunes in between, for as many seconds as
// RALPH_CHAOS says. After each kill the next command works without a person,
// what was acknowledged is in the journal, and the person's file is as they left
// it. The seed is printed; RALPH_CHAOS_SEED repeats it.
func TestChaos(t *testing.T) {
	t.Parallel()
	long.Only(t, "it kills by chance")
	seconds, err := strconv.Atoi(os.Getenv("RALPH_CHAOS"))
	if err != nil {
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
	commands := [][]string{{"start"}, {"start", "--once"}, {"import", "plan.md"}, {"gc", "--keep", "1"},
		{"fsck", "--repair"},
		{"rewind", "1", "--yes"}, {"restore", "1"}, {"inject", "take care"}, {"pause"}, {"resume"}, {"skip", "T-001"},
		{"adopt"}, {"verify"}}
	kills, ran := 0, 0
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	for n := 0; time.Now().Before(end); n++ {
		args := commands[random.IntN(len(commands))]
		ran++
		if p.runFor(t, time.Duration(5+random.IntN(150))*time.Millisecond, args...) == -1 {
			kills++
		}
		switch random.IntN(4) {
		case 0:
			p.Git("gc", "-q", "--prune=now")
		case 1:
			p.Git("pack-refs", "--all")
		case 2: // after a kill the index may be locked until the next command of ours
			p.Write("mine.txt", fmt.Sprintln(n))
			p.Try("commit", "-q", "-m", "by hand", "--", "mine.txt")
		}
		word := fmt.Sprintf("acked-%d-", n)
		if r := p.run(t, nil, "add", word); r.code != 0 {
			t.Fatalf("seed %d: after %q, killed or not: add says %d\n%s%s", seed, args, r.code, r.out, r.err)
		}
		if n%8 == 7 {
			if r := p.run(t, nil, "fsck"); r.code != 0 {
				t.Fatalf("seed %d: after %q: fsck says %d\n%s%s", seed, args, r.code, r.out, r.err)
			}
		}
		history := p.Git("log", "--format=%B", "refs/ralph/heads/main")
		for i := range n + 1 {
			if !strings.Contains(history, fmt.Sprintf("acked-%d-", i)) {
				t.Fatalf("seed %d: after %q: acked-%d- is lost", seed, args, i)
			}
		}
		if got := p.Read("untracked.txt"); got != "mine\n" {
			t.Fatalf("seed %d: after %q: a person's file holds %q", seed, args, got)
		}
	}
	if r := p.run(t, nil, "fsck"); r.code != 0 {
		t.Errorf("seed %d: fsck says %d\n%s%s", seed, r.code, r.out, r.err)
	}
	if out, err := p.Try("fsck", "--strict"); err != nil {
		t.Errorf("seed %d: git fsck: %v\n%s", seed, err, out)
	}
	t.Logf("seed %d: %d commands, %d of them killed", seed, ran, kills)
}
