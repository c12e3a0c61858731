package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"git-ralph/fixtures/long"
	"git-ralph/internal/proc"
)

// sharing is a project whose setup makes deps and records there where it ran. Its
// agent writes to deps, waits until the tasks in meet are at work and commits what it
// sees there.
func sharing(t *testing.T, settings, meet string) (*project, string) {
	t.Helper()
	if !hasNamespaces() {
		t.Skip("this machine refuses namespaces")
	}
	dir := t.TempDir()
	agent := "cat >/dev/null\n" +
		"await() { for id in $2; do i=0; while [ $i -lt 600 ] && ! [ -e '" + dir + "'/$1-$id ]; do sleep 0.1; " +
		"i=$((i+1)); done; done; }\n" +
		"echo $RALPH_TASK_ID > deps/by-$RALPH_TASK_ID; echo $RALPH_TASK_ID > deps/same\n" +
		"touch '" + dir + "'/begun-$RALPH_TASK_ID; await begun '" + meet + "'\n" +
		"{ cat deps/where; ls deps; cat deps/same; } > seen-$RALPH_TASK_ID\n" + doTask
	p := newProject(t, agent, "[project]\nsetup = [\"mkdir -p deps; pwd > deps/where\"]\n"+
		"[guard]\nwritable = [\""+dir+"\"]\n"+settings+"[[checks]]\nname = \"deps\"\nrun = \"test -s deps/where\"\n",
		map[string]string{"README": "hello\n", ".gitignore": "deps/\n"})
	return p, dir
}

const shareDeps = "[worktree]\nshare = [\"deps\"]\n"

// TestWorkersShareFolders: workers use what the run's setup made without running it
// again. Neither another worker nor the person sees what a worker writes there.
func TestWorkersShareFolders(t *testing.T) {
	t.Parallel()
	long.Only(t, "what workers share is tried with real tool chains, too")
	p, _ := sharing(t, shareDeps, "T-001 T-002")
	for _, title := range []string{"one", "two", "three"} {
		p.must(t, "add", title)
	}
	out := p.must(t, "start", "--workers", "2")
	for task, other := range map[string]string{"T-001": "T-002", "T-002": "T-001"} {
		seen := p.Read("seen-" + task)
		if !strings.HasPrefix(seen, p.Dir+"\n") {
			t.Errorf("%s did not work with the shared folder: %q\n%s", task, seen, out)
		}
		if strings.Contains(seen, other) || !strings.HasSuffix(seen, "\n"+task+"\n") {
			t.Errorf("%s saw what %s wrote: %q", task, other, seen)
		}
	}
	if seen := p.Read("seen-T-003"); !strings.Contains(seen, "by-T-003\n") ||
		strings.Contains(seen, "by-T-001") == strings.Contains(seen, "by-T-002") {
		t.Errorf("a worker's second task saw %q, which is not what its first one left", seen)
	}
	if left, _ := os.ReadDir(filepath.Join(p.Dir, "deps")); len(left) != 1 {
		t.Errorf("the shared folder was changed: %v", left)
	}
	var s struct{ Shared []string }
	if err := json.Unmarshal([]byte(p.must(t, "status", "--json")), &s); err != nil || len(s.Shared) != 1 ||
		s.Shared[0] != "deps" {
		t.Errorf("status: %v %v", s.Shared, err)
	}
	if text := p.must(t, "status"); !strings.Contains(text, "deps: workers run no setup of their own") {
		t.Errorf("status:\n%s", text)
	}
	p.teamDone(t, 3)
	p.noLayers(t)
}

// noLayers checks that nothing is left of workers' writes to shared folders.
func (p *project) noLayers(t *testing.T) {
	t.Helper()
	base := filepath.Join(proc.Getenv(p.Env, "HOME"), ".cache", "git-ralph", "workers")
	left, err := os.ReadDir(base)
	if err != nil || len(left) > 0 {
		t.Errorf("left of the workers: %v %v", left, err)
	}
	if m, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(m), base) {
		t.Errorf("something is mounted: %v", err)
	}
}

// TestWorkersThatCannotShare: without a way to share, each worker runs the setup, and
// status says why.
func TestWorkersThatCannotShare(t *testing.T) {
	t.Parallel()
	for _, c := range long.Sample(t, []struct{ why, settings, want string }{
		{"the folder is not made", "[worktree]\nshare = [\"deps\", \"deps2\"]\n", "deps2 is not there"},
		{"without the sandbox", shareDeps + "[guard]\nsandbox = \"off\"\n", "the sandbox is off"},
	}, 2) {
		p, dir := sharing(t, c.settings, "")
		p.Write(".gitignore", "deps/\ndeps2/\n")
		p.Write("ralph.toml", strings.Replace(p.Read("ralph.toml"), "[guard]\nwritable = [\""+dir+"\"]\n"+shareDeps+
			"[guard]\n", shareDeps+"[guard]\n", 1))
		p.Git("commit", "-qam", "settings")
		p.trust(t)
		p.must(t, "add", "one")
		out := p.must(t, "start", "--workers", "1")
		if seen := p.Read("seen-T-001"); strings.HasPrefix(seen, p.Dir+"\n") {
			t.Errorf("%s: the worker ran no setup: %q\n%s", c.why, seen, out)
		}
		if text := p.must(t, "status"); !strings.Contains(text, "each worker runs the setup: "+c.want) {
			t.Errorf("%s: status:\n%s", c.why, text)
		}
		p.noLayers(t)
	}
}

// TestSharingSurvivesKills: after the run was killed, nothing is mounted, and the next
// start begins with the folders as they are.
func TestSharingSurvivesKills(t *testing.T) {
	t.Parallel()
	long.Only(t, "a run is killed")
	p, dir := sharing(t, shareDeps, "T-001 T-999")
	p.must(t, "add", "one")
	ended := make(chan result, 1)
	go func() { ended <- p.run(t, nil, "start", "--workers", "2") }()
	until(t, "the worker is at work", func() bool { return exists(filepath.Join(dir, "begun-T-001")) })
	s := p.workers(t)
	syscall.Kill(s.Running.PID, syscall.SIGKILL)
	<-ended
	until(t, "its workers are gone", func() bool {
		_, err := os.Stat("/proc/" + strconv.Itoa(s.Workers[0].PID))
		return err != nil
	})
	if err := os.WriteFile(filepath.Join(dir, "begun-T-999"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.must(t, "start", "--workers", "2")
	if left, _ := os.ReadDir(filepath.Join(p.Dir, "deps")); len(left) != 1 {
		t.Errorf("the shared folder was changed: %v", left)
	}
	p.teamDone(t, 1)
	p.noLayers(t)
}

// TestASharedToolThatIsGone: an agent removes a shared program. That costs the attempt,
// and the program comes back.
func TestASharedToolThatIsGone(t *testing.T) {
	t.Parallel()
	long.Only(t, "a shared folder that is lost")
	if !hasNamespaces() {
		t.Skip("this machine refuses namespaces")
	}
	p := newProject(t, "if [ $RALPH_ATTEMPT = 1 ]; then rm -rf deps/bin; fi\n"+doTask,
		"[project]\nsetup = [\"mkdir -p deps/bin && cp test.sh deps/bin/lint && chmod 755 deps/bin/lint\"]\n"+shareDeps+
			"[[checks]]\nname = \"lint\"\nkind = \"test\"\nrun = \"deps/bin/lint\"\n",
		map[string]string{"README": "hello\n", ".gitignore": "deps/\n", "test.sh": "#!/bin/sh\ntest ! -e broken\n"})
	p.must(t, "add", "one")
	out := p.must(t, "start", "--workers", "1")
	if !strings.Contains(out, "gone, checks call deps/bin/lint: deps/bin/lint; what this worker has written") {
		t.Errorf("it is not named:\n%s", out)
	}
	if got := p.must(t, "show", "1"); !strings.Contains(got, "checks: lint") {
		t.Errorf("it cost no attempt:\n%s", got)
	}
	p.teamDone(t, 1)
}

// TestSharingSavesSetups: with shared folders the setup runs only for the proof of the
// work. Without them it also runs for each worker.
func TestSharingSavesSetups(t *testing.T) {
	t.Parallel()
	long.Only(t, "it compares setups")
	ran := map[string]int{}
	for _, settings := range []string{"", shareDeps} {
		p, dir := sharing(t, settings, "T-001 T-002 T-003 T-004")
		setups := filepath.Join(dir, "setups")
		p.Write("ralph.toml", strings.Replace(p.Read("ralph.toml"), "mkdir -p deps",
			"echo setup >>'"+setups+"'; mkdir -p deps", 1))
		p.Git("commit", "-qam", "setups are counted")
		p.trust(t)
		for range 4 {
			p.must(t, "add", "a task")
		}
		p.must(t, "start", "--workers", "4")
		ran[settings] = strings.Count(readFile(t, setups), "\n")
		p.teamDone(t, 4)
	}
	t.Logf("setups for four tasks of four workers: %d, with shared folders %d", ran[""], ran[shareDeps])
	if ran[shareDeps]+4 > ran[""] {
		t.Errorf("%d setups with shared folders, %d without: sharing saves fewer than four", ran[shareDeps], ran[""])
	}
}
