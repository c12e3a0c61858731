package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"git-ralph/fixtures/long"
	"git-ralph/fixtures/ram"
	"git-ralph/fixtures/repo"
	"git-ralph/internal/cli"
	"git-ralph/internal/config"
)

// TestMain makes the test binary the program itself: for tests that start it in
// a process of its own, for scripts that run `git ralph`, and when the program
// starts itself by the path of its executable (shims, hooks, the sandbox).
func TestMain(m *testing.M) {
	if os.Getenv("BE_GIT_RALPH") == "1" || os.Getenv(meterTo) == "" && len(os.Args) > 1 &&
		!strings.HasPrefix(os.Args[1], "-test.") {
		if path := os.Getenv(samplesOf); path != "" && len(os.Args) == 2 && os.Args[1] == "start" {
			go writeSamples(path)
		}
		os.Exit(cli.Main(os.Args))
	}
	if report := os.Getenv(meterTo); report != "" {
		os.Exit(meter(report))
	}
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "-test.") {
		plainPython()
	}
	testscript.Main(ram.Tests(m), map[string]func(){"git-ralph": func() { os.Exit(cli.Main(os.Args)) }})
}

// plainPython puts the folder of the real python3 first on PATH if PATH leads to a wrapper
// script such as pyenv's: each call of it starts thirty processes.
func plainPython() {
	found, err := exec.LookPath("python3")
	if err != nil {
		return
	}
	if head, err := os.ReadFile(found); err != nil || !bytes.HasPrefix(head, []byte("#!")) {
		return
	}
	if real, err := exec.Command(found, "-c", "import sys; print(sys.executable)").Output(); err == nil {
		dir := filepath.Dir(strings.TrimSpace(string(real)))
		os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
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
	return asProject(t, repo.New(t, all))
}

// asProject puts the program beside a repository that has its settings.
func asProject(t *testing.T, r *repo.Repo) *project {
	t.Helper()
	p := &project{Repo: r}
	p.bin = filepath.Join(filepath.Dir(p.Dir), "bin")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(p.bin, 0o755); err != nil {
		t.Fatal(err)
	}
	// git finds this wrapper as git-ralph. It picks the program to be.
	wrapper := "#!/bin/sh\nBE_GIT_RALPH=1 exec '" + self + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(p.bin, "git-ralph"), []byte(wrapper), 0o755); err != nil {
		t.Fatal(err)
	}
	p.Env = append(p.Env, "BE_GIT_RALPH=1")
	p.trust(t)
	return p
}

// trust does what `git ralph trust` does, without starting the program.
func (p *project) trust(t *testing.T) {
	t.Helper()
	if !exists(filepath.Join(p.Dir, ".git", "config")) {
		p.must(t, "trust")
	} else if text := p.Read(config.FileName); text != "" {
		p.Configure(fmt.Sprintf("[ralph]\n\ttrust = %s\n", config.TrustHash([]byte(text))))
	}
}

const check = "[[checks]]\nname = \"test\"\nrun = \"sh test.sh\"\n"

// run executes one command of the program.
func (p *project) run(t *testing.T, env []string, args ...string) result {
	t.Helper()
	limit := 10 * time.Minute // ends hanging commands; a slow machine takes a tenth of it
	if long.On() {            // tool chains are run, and hundreds of iterations
		limit = 30 * time.Minute
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
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

// waitFor polls until another process has done something. It fails the test
// after 2 minutes, which is long even for a loaded machine.
func waitFor(t testing.TB, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

func exists(path string) bool { _, err := os.Lstat(path); return err == nil }

// processesOf are living processes of the project's agents, on Linux.
func processesOf(p *project) []string {
	var out []string
	list, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range list {
		env, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(env), filepath.Dir(p.Dir)+"/") &&
			strings.Contains(string(env), "RALPH_EVENT_ID=") {
			out = append(out, path)
		}
	}
	return out
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

// must is like run, for commands that have to succeed.
func (p *project) must(t *testing.T, args ...string) string {
	t.Helper()
	r := p.run(t, nil, args...)
	if r.code != 0 {
		t.Fatalf("git ralph %s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
	}
	return r.out
}

// sound checks that nothing is damaged or left behind.
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
		if err == nil && (strings.HasSuffix(path, ".lock") || strings.Contains(d.Name(), "index.ralph-") ||
			d.Name() == "intent") {
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
	t.Parallel()
	p := newProject(t, doTask, check, nil)
	p.must(t, "add", "the first thing")
	p.must(t, "add", "the second thing")
	r := p.run(t, nil, "start")
	if r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if got := p.Git("log", "--format=%s",
		"-2"); got != "ralph[2]: T-002 the second thing\nralph[1]: T-001 the first thing" {
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
