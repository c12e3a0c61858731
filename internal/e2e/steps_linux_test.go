package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"git-ralph/fixtures/long"
)

// stepped is a command and the preparation that gives it something to do.
type stepped struct {
	args  []string
	ready func(t *testing.T, p *project) // nil = the plan of two tasks is enough
	end   int                            // exit code of the command when it runs again after a kill
	alone bool                           // another command in between would need a person's decision
	anew  bool                           // it discards the history on purpose
}

// afterOne leaves the first of the tasks done.
func afterOne(t *testing.T, p *project) {
	t.Helper()
	if r := p.run(t, nil, "start", "--once"); r.code != 4 {
		t.Fatalf("the first iteration: exit %d\n%s%s", r.code, r.out, r.err)
	}
}

// theStepped are the commands that write, each with something to do.
func theStepped() map[string]stepped {
	return map[string]stepped{
		"start": {args: []string{"start"}},
		"reject": {args: []string{"start", "--once"}, ready: func(_ *testing.T, p *project) { p.Write("break-it", "") },
			end: 4},
		"run":     {args: []string{"run", "--yes", "write another thing"}, end: 5}, // this agent writes no specs
		"import":  {args: []string{"import", "plan.md"}},
		"rewind":  {args: []string{"rewind", "0", "--yes"}, ready: afterOne},
		"restore": {args: []string{"restore", "1", "--before"}, ready: afterOne},
		"reset":   {args: []string{"reset", "--yes"}, ready: afterOne},
		"adopt": {args: []string{"adopt"}, alone: true, ready: func(t *testing.T, p *project) {
			afterOne(t, p)
			p.Git("reset", "-q", "--hard", "HEAD^")
		}},
		"worktree": {args: []string{"start", "--worktree"}, alone: true},
		"land": {args: []string{"land"}, alone: true, ready: func(t *testing.T, p *project) {
			p.must(t, "start", "--worktree")
			p.Write("by-hand", "a person's\n")
			p.Git("add", "by-hand")
			p.Git("commit", "-q", "-m", "by hand")
		}},
		"push": {args: []string{"push"}, ready: afterOne},
		"pull": {args: []string{"pull"}, ready: func(t *testing.T, p *project) {
			p.must(t, "push")
			other := filepath.Join(filepath.Dir(p.Dir), "other")
			p.Git("clone", "-q", filepath.Join(filepath.Dir(p.Dir), "remote.git"), other)
			q := p.in(other)
			q.Git("config", "user.name", "B Other")
			q.Git("config", "user.email", "b@example.com")
			q.must(t, "pull")
			q.must(t, "add", "from elsewhere")
			q.must(t, "push")
		}},
		"redact":  {args: []string{"redact", "wrote the file", "--yes"}, ready: afterOne, anew: true},
		"workers": {args: []string{"start", "--workers", "2"}},
		"skip":    {args: []string{"skip", "T-002"}},
		"recovery": {args: []string{"inject", "take care"}, ready: func(t *testing.T, p *project) {
			p.run(t, []string{"RALPH_FAILPOINT=iteration:agent-ended"}, "start")
		}},
		"recovery of a keep": {args: []string{"inject", "take care"}, ready: func(t *testing.T, p *project) {
			p.run(t, []string{"RALPH_FAILPOINT=keep:refs-committed"}, "start")
		}},
	}
}

// stepProject is a project with two tasks, a remote, and files of a person.
func stepProject(t *testing.T, c stepped) *project {
	t.Helper()
	agent := "if [ -e break-it ] && [ $RALPH_ATTEMPT = 1 ]; then echo x > broken; fi\n" + doTask
	p := newProject(t, agent, quick, map[string]string{".gitignore": ".env\n", "plan.md": "- [ ] an imported thing\n"})
	p.Write(".env", "SECRET=1\n")
	p.Write("untracked.txt", "mine\n")
	remote := filepath.Join(filepath.Dir(p.Dir), "remote.git")
	p.Git("init", "-q", "--bare", "-b", "main", remote)
	p.Git("remote", "add", "origin", remote)
	p.Git("push", "-q", "-u", "origin", "main")
	p.must(t, "add", "the first thing")
	p.must(t, "add", "the second thing")
	if c.ready != nil {
		c.ready(t, p)
	}
	return p
}

// reaches lists the steps that a command passes, each once, in their order.
func (c stepped) reaches(t *testing.T) []string {
	t.Helper()
	r := stepProject(t, c).run(t, []string{"RALPH_FAILPOINT=?"}, c.args...)
	var steps []string
	for line := range strings.Lines(r.err) {
		step, ok := strings.CutPrefix(strings.TrimSpace(line), "step: ")
		if ok && !slices.Contains(steps, step) {
			steps = append(steps, step)
		}
	}
	if len(steps) == 0 {
		t.Errorf("%q passes no step: exit %d\n%s%s", c.args, r.code, r.out, r.err)
	}
	return steps
}

// TestEveryStepOfEveryCommand kills each command that writes at each of its steps. The
// next command needs no person. No file of a person is touched. All records are there. No
// iteration has two ends. Both fscks report nothing. Then the command itself completes.
func TestEveryStepOfEveryCommand(t *testing.T) {
	t.Parallel()
	long.Only(t, "it kills every command at every step")
	var mu sync.Mutex
	kills := 0
	t.Run("all", func(t *testing.T) {
		for name, c := range theStepped() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				for _, step := range c.reaches(t) {
					t.Run(strings.ReplaceAll(step, " ", "-"), func(t *testing.T) {
						c.killed(t, step)
						mu.Lock()
						kills++
						mu.Unlock()
					})
				}
			})
		}
	})
	t.Logf("%d kills of %d commands", kills, len(theStepped()))
}

func (c stepped) killed(t *testing.T, step string) {
	p := stepProject(t, c)
	before := p.entries()
	if c.anew {
		before = nil
	}
	if r := p.run(t, []string{"RALPH_FAILPOINT=" + step}, c.args...); r.code != -1 {
		t.Fatalf("%q was not killed: exit %d\n%s%s", c.args, r.code, r.out, r.err)
	}
	p.must(t, "status")
	if !c.alone {
		p.must(t, "inject", "go on")
		p.well(t, before)
	}
	r := p.run(t, nil, c.args...)
	if r.code != c.end {
		t.Errorf("the same again: exit %d\n%s%s", r.code, r.out, r.err)
	}
	p.well(t, before)
}

// entries are the event ids of all journals, also archived ones.
func (p *project) entries() map[string]bool {
	ids := map[string]bool{}
	for line := range strings.Lines(p.Git("log", "--format=%(trailers:key=Ralph-Event-Id,valueonly)", "--all",
		"--glob=refs/ralph")) {
		if id := strings.TrimSpace(line); id != "" {
			ids[id] = true
		}
	}
	return ids
}

// well checks that nothing is lost or damaged.
func (p *project) well(t *testing.T, before map[string]bool) {
	t.Helper()
	if r := p.run(t, nil, "fsck"); r.code != 0 {
		t.Errorf("git ralph fsck: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if out, err := p.Try("fsck", "--strict", "--no-dangling"); err != nil {
		t.Errorf("git fsck: %v\n%s", err, out)
	}
	if got := p.Read("untracked.txt") + p.Read(".env"); got != "mine\nSECRET=1\n" {
		t.Errorf("a person's files hold %q", got)
	}
	now := p.entries()
	for id := range before {
		if !now[id] {
			t.Errorf("the entry %s is lost", id)
		}
	}
	if got := p.Git("for-each-ref", "refs/ralph/local"); got != "" {
		t.Errorf("checkpoints are left: %s", got)
	}
	ended := map[string]int{}
	for line := range strings.Lines(p.Git("log", "--format=%s", "--first-parent", "refs/ralph/heads/main")) {
		if name, rest, ok := strings.Cut(line, ": "); ok && strings.HasPrefix(name, "iteration ") &&
			!strings.HasPrefix(rest, "start") {
			ended[name]++
		}
	}
	for name, n := range ended {
		if n > 1 {
			t.Errorf("%s ended %d times", name, n)
		}
	}
	locks, _ := filepath.Glob(filepath.Join(p.Dir, ".git", "*.lock"))
	if _, err := os.Lstat(filepath.Join(p.Dir, ".git", "index.lock")); err == nil || len(locks) > 0 {
		t.Error(fmt.Sprint("locks are left: ", locks))
	}
}
