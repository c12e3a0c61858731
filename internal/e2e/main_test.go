package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"git-ralph/fixtures/repo"
	"git-ralph/internal/cli"
)

// TestMain makes the test binary the program itself: for tests that start it in
// a process of its own, for scripts that run `git ralph`, and when the program
// starts itself by the path of its executable (shims, hooks, the sandbox).
func TestMain(m *testing.M) {
	if os.Getenv("BE_GIT_RALPH") == "1" || len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(cli.Main(os.Args))
	}
	testscript.Main(m, map[string]func(){"git-ralph": func() { os.Exit(cli.Main(os.Args)) }})
}

// project is a repository with a plan, a check and an agent, and the program.
type project struct {
	*repo.Repo
	bin string
	// around changes how the program is started; nil = not at all.
	around func(*exec.Cmd)
}

// result of one command.
type result struct {
	code     int // -1 when a signal ended it
	out, err string
}

// newProject begins a journal in a fresh repository. The agent is a script at
// agent.sh of the worktree.
func newProject(t *testing.T, agent, settings string, files map[string]string) *project {
	t.Helper()
	all := map[string]string{
		"agent.sh":   agent,
		"ralph.toml": "[agent]\ndriver = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n" + settings,
		"test.sh":    "test ! -e broken\n",
	}
	for k, v := range files {
		all[k] = v
	}
	p := &project{Repo: repo.New(t, all)}
	p.bin = filepath.Join(filepath.Dir(p.Dir), "bin")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(p.bin, 0o755); err != nil {
		t.Fatal(err)
	}
	// git finds us as git-ralph; the wrapper says which program to be.
	wrapper := "#!/bin/sh\nBE_GIT_RALPH=1 exec '" + self + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(p.bin, "git-ralph"), []byte(wrapper), 0o755); err != nil {
		t.Fatal(err)
	}
	p.Env = append(p.Env, "BE_GIT_RALPH=1")
	p.must(t, "trust")
	return p
}

const check = "[[checks]]\nname = \"test\"\nrun = \"sh test.sh\"\n"

// run executes one command of the program.
func (p *project) run(t *testing.T, env []string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(ctx, self, args...)
	c.Dir, c.Env = p.Dir, append(append([]string{}, p.Env...), env...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if p.around != nil {
		p.around(c)
	}
	err = c.Run()
	r := result{out: out.String(), err: errs.String()}
	var ee *exec.ExitError
	switch {
	case errors.As(err, &ee):
		r.code = ee.ExitCode()
		if ws, ok := ee.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			r.code = -1
		}
	case err != nil:
		t.Fatalf("git ralph %s: %v", strings.Join(args, " "), err)
	}
	return r
}

// runFor ends the program with SIGKILL after d and returns its exit code, -1
// when it was still running.
func (p *project) runFor(t *testing.T, d time.Duration, args ...string) int {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, args...)
	c.Dir, c.Env = p.Dir, p.Env
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(d, func() { c.Process.Kill() })
	defer timer.Stop()
	c.Wait()
	return c.ProcessState.ExitCode()
}

// must is run for commands that have to succeed.
func (p *project) must(t *testing.T, args ...string) string {
	t.Helper()
	r := p.run(t, nil, args...)
	if r.code != 0 {
		t.Fatalf("git ralph %s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
	}
	return r.out
}

// sound says that nothing is damaged and nothing lies around.
func (p *project) sound(t *testing.T) {
	t.Helper()
	if out, err := p.Try("fsck", "--strict", "--no-dangling"); err != nil {
		t.Errorf("git fsck: %v\n%s", err, out)
	}
	if r := p.run(t, nil, "fsck"); r.code != 0 {
		t.Errorf("git ralph fsck: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if out := p.Git("status", "--porcelain"); out != "" {
		t.Errorf("git status is not clean:\n%s", out)
	}
	var left []string
	filepath.WalkDir(filepath.Join(p.Dir, ".git"), func(path string, d os.DirEntry, err error) error {
		if err == nil && (strings.HasSuffix(path, ".lock") || strings.Contains(d.Name(), "index.ralph-") || d.Name() == "intent") {
			left = append(left, path)
		}
		return nil
	})
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// doTask is an agent that does its task and says so.
const doTask = `echo "$RALPH_TASK_ID" > "out-$RALPH_TASK_ID.txt"
cat > "$RALPH_HANDOFF_FILE" <<END
{"task_completed":{"task_id":"$RALPH_TASK_ID","summary":"wrote the file","fully_complete":true},
"summary":"wrote the file","freeform":"The file was written as the task asked; nothing else was touched on the way.",
"deviations":[],"bugs_encountered":[],"architectural_notes":[],"unfinished_business":[],"recommendations":[],
"files_touched":[],"plan_amendments":[],"tests_added":[],"constraints_discovered":[]}
END
`

func TestWorksThroughAPlan(t *testing.T) {
	p := newProject(t, doTask, check, nil)
	p.must(t, "add", "the first thing")
	p.must(t, "add", "the second thing")
	r := p.run(t, nil, "start")
	if r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if got := p.Git("log", "--format=%s", "-2"); got != "ralph[2]: T-002 the second thing\nralph[1]: T-001 the first thing" {
		t.Errorf("the log says\n%s", got)
	}
	if got := p.Git("log", "-1", "--format=%an %cn"); got != "A U Thor A U Thor" {
		t.Errorf("the code commit is by %s", got)
	}
	if got := p.Git("log", "--notes=ralph", "-1", "--format=%N"); !strings.Contains(got, "wrote the file") {
		t.Errorf("the note says %q", got)
	}
	p.sound(t)
}

// TestKilledAnywhere ends the loop with SIGKILL at every named step, of a task
// that is kept and of one that is rejected first, and starts it again. No
// person is needed in between, and nothing is damaged or lost.
func TestKilledAnywhere(t *testing.T) {
	// The first attempt at the first task breaks the check; what it wrote must
	// be gone afterwards. An ignored file and an untracked one are the user's.
	agent := "if [ \"$RALPH_TASK_ID-$RALPH_ATTEMPT\" = T-001-1 ] && [ ! -e ../was-broken ]; then echo x > broken; echo changed > README; fi\n" + doTask
	list := newProject(t, agent, check, nil)
	names := strings.Split(strings.TrimSpace(list.must(t, "failpoints")), "\n")
	if len(names) < 20 {
		t.Fatalf("only %d failpoints", len(names))
	}
	// Those of linked worktrees are reached with --worktree alone.
	names = slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, "linked:") || strings.HasPrefix(n, "follow:") })
	if testing.Short() {
		names = names[:4]
	}
	var mu sync.Mutex
	hit := map[string]bool{}
	t.Run("at", func(t *testing.T) {
		for _, name := range append(names, "") {
			t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				p := newProject(t, agent, check, map[string]string{".gitignore": ".env\n", "README": "hello\n"})
				p.Write(".env", "SECRET=1\n")
				p.Write("notes.txt", "the user's own, untracked\n")
				p.must(t, "add", "the first thing")
				p.must(t, "add", "the second thing")
				r := p.run(t, []string{"RALPH_FAILPOINT=" + name}, "start")
				switch r.code {
				case -1:
					mu.Lock()
					hit[name] = true
					mu.Unlock()
				case 0:
				default:
					t.Fatalf("the start that was to be killed: exit %d\n%s%s", r.code, r.out, r.err)
				}
				// Recovery itself may be killed as well.
				for range 2 {
					p.run(t, []string{"RALPH_FAILPOINT=" + name}, "start")
				}
				r = p.run(t, nil, "start")
				if r.code != 0 {
					t.Fatalf("the next start: exit %d\n%s%s", r.code, r.out, r.err)
				}
				if got := p.Read("out-T-001.txt") + p.Read("out-T-002.txt"); got != "T-001\nT-002\n" {
					t.Errorf("the work is %q", got)
				}
				if got := p.Read("README") + p.Read(".env") + p.Read("notes.txt") + p.Read("broken"); got != "hello\nSECRET=1\nthe user's own, untracked\n" {
					t.Errorf("the user's files are %q", got)
				}
				if got := p.Git("ls-files", "out-*"); got != "out-T-001.txt\nout-T-002.txt" {
					t.Errorf("committed: %q", got)
				}
				if n := len(strings.Fields(p.Git("log", "--format=%h", "--grep=^Ralph-Task: T-00"))); n != 2 {
					t.Errorf("%d code commits for 2 tasks", n)
				}
				os.Remove(filepath.Join(p.Dir, "notes.txt"))
				p.sound(t)
			})
		}
	})
	if !testing.Short() {
		for _, name := range names {
			if !hit[name] && !strings.HasPrefix(name, "recover:") && !strings.HasPrefix(name, "restore ") && !strings.HasPrefix(name, "index ") {
				t.Errorf("the step %q was never reached", name)
			}
		}
	}
}
