package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"git-ralph/fixtures/long"
)

// ways are the kills needed to reach a step: none, or one that leaves work for
// a recovery.
var ways = []string{"", "iteration:agent-ended", "keep:refs-committed"}

// TestKilledAnywhere ends the loop with SIGKILL at every named step (the short
// form: at a sample) and starts it again. One task is kept, one is rejected
// first. Steps of a recovery need an earlier kill. No person is needed, and
// nothing is damaged or lost.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	// The first attempt at the first task breaks the check. Its changes must be
	// gone afterwards. An ignored file and an untracked one are the user's.
	agent := "if [ \"$RALPH_TASK_ID-$RALPH_ATTEMPT\" = T-001-1 ] && [ ! -e ../was-broken ]; then\n" +
		"echo x > broken; echo changed > README; chmod 755 LICENSE; rmdir empty; fi\n" + doTask
	list := newProject(t, agent, check, nil)
	names := strings.Split(strings.TrimSpace(list.must(t, "failpoints")), "\n")
	if len(names) < 20 {
		t.Fatalf("only %d failpoints", len(names))
	}
	// Steps of linked worktrees are only reached with --worktree.
	names = slices.DeleteFunc(names, func(n string) bool {
		return strings.HasPrefix(n, "linked:") || strings.HasPrefix(n, "follow:") || strings.HasPrefix(n, "land:") ||
			strings.HasPrefix(n, "redact:") || strings.HasPrefix(n, "worker:") ||
			strings.HasPrefix(n, "share:") || strings.HasPrefix(n, "claim:") ||
			strings.HasPrefix(n, "join:") || n == "keep:published" // only with a remote
	})
	names = long.Sample(t, names, 30)
	var mu sync.Mutex
	reached := map[string]int{}
	t.Run("at", func(t *testing.T) {
		for _, name := range append(names, "") {
			t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				for _, first := range ways {
					if killedAt(t, agent, first, name) || name == "" {
						mu.Lock()
						reached[name]++
						mu.Unlock()
						return
					}
				}
			})
		}
	})
	for _, name := range names {
		if reached[name] == 0 {
			t.Errorf("the step %q was never reached: give ways a first kill after which it is", name)
		}
	}
}

// killedAt kills a run at the step first, if any, and up to three runs at the
// step name. Then it checks the result of one more run. It reports whether the
// step name was reached.
func killedAt(t *testing.T, agent, first, name string) (reached bool) {
	p := newProject(t, agent, check, map[string]string{".gitignore": ".env\n", "README": "hello\n", "LICENSE": "free\n"})
	p.Write(".env", "SECRET=1\n")
	p.Write("notes.txt", "the user's own, untracked\n")
	if err := os.Mkdir(filepath.Join(p.Dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.must(t, "add", "the first thing")
	p.must(t, "add", "the second thing")
	if first != "" {
		if r := p.run(t, []string{"RALPH_FAILPOINT=" + first}, "start"); r.code != -1 {
			t.Fatalf("the first kill, at %s: exit %d\n%s%s", first, r.code, r.out, r.err)
		}
	}
	for range 3 { // recovery itself may be killed as well
		r := p.run(t, []string{"RALPH_FAILPOINT=" + name}, "start")
		if r.code != -1 && r.code != 0 {
			t.Fatalf("the start that was to be killed: exit %d\n%s%s", r.code, r.out, r.err)
		}
		if r.code == 0 {
			break
		}
		reached = true
	}
	if !reached && name != "" {
		return false
	}
	if r := p.run(t, nil, "start"); r.code != 0 {
		t.Fatalf("the next start: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if got := p.Read("out-T-001.txt") + p.Read("out-T-002.txt"); got != "T-001\nT-002\n" {
		t.Errorf("the work is %q", got)
	}
	if got := p.Read("README") + p.Read(".env") + p.Read("notes.txt") +
		p.Read("broken"); got != "hello\nSECRET=1\nthe user's own, untracked\n" {
		t.Errorf("the user's files are %q", got)
	}
	if got := p.Git("ls-files", "out-*"); got != "out-T-001.txt\nout-T-002.txt" {
		t.Errorf("committed: %q", got)
	}
	if n := len(strings.Fields(p.Git("log", "--format=%h", "--grep=^Ralph-Task: T-00"))); n != 2 {
		t.Errorf("%d code commits for 2 tasks", n)
	}
	if err := os.Remove(filepath.Join(p.Dir, "empty")); err != nil {
		t.Errorf("the user's empty folder: %v", err)
	}
	os.Remove(filepath.Join(p.Dir, "notes.txt"))
	p.sound(t)
	return true
}

// TestTwoRecoverAtOnce runs several commands at once after a run died. One of
// them repairs it. The agent's work is stored once and is reachable.
func TestTwoRecoverAtOnce(t *testing.T) {
	t.Parallel()
	for range long.Number(t, 1, 3) {
		p := newProject(t, doTask, check, map[string]string{"README": "hello\n"})
		p.must(t, "add", "the first thing")
		if r := p.run(t, []string{"RALPH_FAILPOINT=iteration:agent-ended"}, "start"); r.code != -1 {
			t.Fatalf("the run that was to be killed: exit %d\n%s%s", r.code, r.out, r.err)
		}
		var wg sync.WaitGroup
		results := make([]result, 4)
		for i := range results {
			wg.Go(func() { results[i] = p.run(t, nil, "inject", "a word") })
		}
		wg.Wait()
		for _, r := range results {
			if r.code != 0 {
				t.Errorf("inject: exit %d\n%s%s", r.code, r.out, r.err)
			}
		}
		refs := strings.Fields(p.Git("for-each-ref", "--format=%(refname)", "refs/ralph/evidence"))
		if len(refs) != 1 {
			t.Fatalf("evidence refs: %v", refs)
		}
		if got := p.Git("show", refs[0]+":worktree/out-T-001.txt"); got != "T-001" {
			t.Errorf("the stored attempt has %q", got)
		}
		if _, err := os.Stat(filepath.Join(p.Dir, "out-T-001.txt")); err == nil {
			t.Error("the worktree was not put back")
		}
		p.sound(t)
	}
}
