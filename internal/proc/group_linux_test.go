package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// escapes are ways to outlive the process that a driver waits for. Each script
// writes the pid of the runaway to the file pid and then ends.
var escapes = []struct{ name, script string }{
	{"background", `sleep 1000 & echo $! >pid`},
	{"nohup", `nohup sleep 1000 >/dev/null 2>&1 & echo $! >pid`},
	{"a job of an interactive shell has its own group", `set -m; sleep 1000 & echo $! >pid`},
	{"setsid", `setsid sh -c 'echo $$ >pid; exec sleep 1000' & while ! [ -s pid ]; do sleep 0.01; done`},
	{"double fork", `setsid sh -c 'sh -c "echo \$\$ >pid; exec sleep 1000" & exit 0'; while ! [ -s pid ]; do sleep ` +
		`0.01; done`},
	{"without the mark", `env -i PATH="$PATH" setsid sh -c 'sh -c "echo \$\$ >pid; exec sleep 1000" & exit 0'; while ! ` +
		`[ -s pid ]; do sleep 0.01; done`},
	{"deaf to TERM", `(trap "" TERM HUP INT; sh -c 'echo $$ >pid; while :; do sleep 0.01; done') & while ! [ -s pid ]; ` +
		`do sleep 0.01; done`},
	{"frozen", `setsid sh -c 'echo $$ >pid; kill -STOP $$' & while ! [ -s pid ]; do sleep 0.01; done`},
}

// mark is unique to this test run, because a group ends all processes with its
// mark, even those of another run.
func mark(name string) string { return fmt.Sprintf("test-%d-%s", os.Getpid(), name) }

func TestGroupEndsWhatEscapes(t *testing.T) {
	for _, tt := range escapes {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			g, err := NewGroup(GroupOptions{EventID: mark(strings.ReplaceAll(tt.name, " ", "-")), Grace: 10 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			cmd := sh(tt.script)
			cmd.Dir = dir
			if exit, err := g.Run(t.Context(), cmd); err != nil || !exit.Success() {
				t.Fatal(exit, err)
			}
			pid := readPid(t, dir)
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			if e, ok := readEntry(pid); ok && !e.zombie {
				t.Errorf("%+v still runs", e)
			}
			if _, err := g.Start(t.Context(), cmd); err == nil {
				t.Error("a closed group started a process")
			}
		})
	}
}

func TestGroupEndsAForkBomb(t *testing.T) {
	// Every process of the bomb is replaced as fast as it ends. The counter of
	// generations limits the damage of a bug in this test.
	dir := t.TempDir()
	g, err := NewGroup(GroupOptions{EventID: mark("bomb"), Grace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, "bomb")
	const bomb = `#!/bin/sh
trap "" TERM
n=$1
[ "$n" -gt 400 ] && { echo end >>end; exec sleep 1000; }
echo $$ >pid
setsid "$0" $((n+1)) &
sleep 0.005
exit 0
`
	if err := os.WriteFile(script, []byte(bomb), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		cmd := Command{Argv: []string{script, "0"}, Dir: dir, Env: basicEnv()}
		if _, err := g.Start(t.Context(), cmd); err != nil {
			t.Fatal(err)
		}
	}
	readPid(t, dir)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := table()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if hasEnv(e.pid, EventVariable+"="+mark("bomb")) {
			t.Errorf("%+v still runs", e)
		}
	}
}

// TestGroupEndsARelay: each process starts the next one and ends. A scan may miss
// the new process, which is younger than the list of processes, and find the old
// one dead. It must not be the last scan.
func TestGroupEndsARelay(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "relay")
	const relay = `#!/bin/sh
[ "$1" -gt 1500 ] && exec sleep 1000
echo $$ >pid
setsid "$0" $(($1+1)) &
`
	if err := os.WriteFile(script, []byte(relay), 0o755); err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		id := mark(fmt.Sprintf("relay-%d", n))
		g, err := NewGroup(GroupOptions{EventID: id, Grace: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Start(t.Context(), Command{Argv: []string{script, "0"}, Dir: dir, Env: basicEnv()}); err != nil {
			t.Fatal(err)
		}
		readPid(t, dir)
		if err := g.Close(); err != nil {
			t.Fatal(err)
		}
		if left, err := (&sweeper{limit: time.Minute, find: markedOnly(id)}).run(); err != nil || len(left) > 0 {
			t.Errorf("round %d: %v still ran, %v", n, left, err)
		}
		os.Remove(filepath.Join(dir, "pid"))
	}
}

func TestGroupLeavesOthersAlone(t *testing.T) {
	g1, err := NewGroup(GroupOptions{EventID: mark("g1"), Grace: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	g2, err := NewGroup(GroupOptions{EventID: mark("g2"), Grace: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	alone, err := Start(t.Context(), sh("exec sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	// A child of os/exec, as git's helpers are.
	plain := exec.Command("sleep", "1000")
	if err := plain.Start(); err != nil {
		t.Fatal(err)
	}
	p1, err := g1.Start(t.Context(), sh("exec sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	p2, err := g2.Start(t.Context(), sh("setsid sleep 1000 & exec sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	if err := g1.Close(); err != nil {
		t.Fatal(err)
	}
	if exit, _ := p1.Wait(); !exit.Stopped || exit.Signal != int(syscall.SIGTERM) {
		t.Errorf("its own process: %+v", exit)
	}
	for name, pid := range map[string]int{"another group": p2.Pid, "no group": alone.Pid, "os/exec": plain.Process.Pid} {
		if e, ok := readEntry(pid); !ok || e.zombie {
			t.Errorf("%s: process %d was ended", name, pid)
		}
	}
	if err := g2.Close(); err != nil {
		t.Fatal(err)
	}
	if e, ok := readEntry(alone.Pid); !ok || e.zombie {
		t.Error("the last group to close took a process that was in none")
	}
	alone.Stop(0)
	plain.Process.Kill()
	plain.Wait()
}

func TestOrphansDoNotStayAsZombies(t *testing.T) {
	g, err := NewGroup(GroupOptions{EventID: mark("zombies"), Grace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	cmd := sh(`for i in 1 2 3 4 5; do setsid sh -c 'sleep 0.01 & exit 0'; done`)
	if _, err := g.Run(t.Context(), cmd); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	list, err := table()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.ppid == os.Getpid() && e.zombie {
			t.Errorf("zombie %+v", e)
		}
	}
}

// TestContainedGroup: a group that ends with its pid namespace is not searched for in
// the process table. Orphans that die are still reaped.
func TestContainedGroup(t *testing.T) {
	wrap := func(cmd Command) (Wrapped, error) { return Wrapped{Command: cmd, Contained: true}, nil }
	for _, tt := range []struct {
		why, script string
		left        bool
	}{
		// This wrapper lies, which shows that nobody was looked for.
		{"nobody is looked for",
			`setsid sh -c 'echo $$ >pid; exec sleep 1000' & while ! [ -s pid ]; do sleep 0.01; done`, true},
		{"an orphan that has died is reaped", `setsid sh -c 'echo $$ >pid' & while ! [ -s pid ]; do sleep 0.01; done`, false},
	} {
		t.Run(tt.why, func(t *testing.T) {
			dir := t.TempDir()
			g, err := NewGroup(GroupOptions{EventID: mark("contained"), Grace: 10 * time.Millisecond, Wrap: wrap})
			if err != nil {
				t.Fatal(err)
			}
			cmd := sh(tt.script)
			cmd.Dir = dir
			if exit, err := g.Run(t.Context(), cmd); err != nil || !exit.Success() {
				t.Fatal(exit, err)
			}
			pid := readPid(t, dir)
			if !tt.left {
				for e, ok := readEntry(pid); ok && !e.zombie; e, ok = readEntry(pid) {
					time.Sleep(time.Millisecond)
				}
			}
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			e, ok := readEntry(pid)
			if ok != tt.left {
				t.Errorf("after the end there is %+v, %v", e, ok)
			}
			if _, err := SweepEvent(mark("contained")); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSweepEvent(t *testing.T) {
	// A killed loop leaves marked processes that are not our children.
	dir := t.TempDir()
	cmd := exec.Command("sh", "-c", `
		setsid sh -c 'echo $$ >pid; exec sleep 1000' &
		setsid sh -c 'echo $$ >pid2; trap "" TERM; while :; do sleep 0.01; done' &
		while ! [ -s pid ] || ! [ -s pid2 ]; do sleep 0.01; done`)
	cmd.Dir, cmd.Env = dir, append(basicEnv(), EventVariable+"="+mark("dead-run"))
	if err := cmd.Run(); err != nil { // no pipe: escaped processes would hold it open
		t.Fatal(err)
	}
	pid := readPid(t, dir)
	if _, err := SweepEvent(""); err == nil {
		t.Error("an empty id would match everything that has no id")
	}
	if ended, err := SweepEvent("test-dead-ru"); err != nil || len(ended) != 0 {
		t.Errorf("part of an id: %v %v", ended, err)
	}
	s := &sweeper{grace: 20 * time.Millisecond, limit: time.Minute, find: markedOnly(mark("dead-run"))}
	ended, err := s.run()
	if err != nil || len(ended) < 2 {
		t.Errorf("ended %v, %v", ended, err)
	}
	if e, ok := readEntry(pid); ok && !e.zombie {
		t.Errorf("%+v still runs", e)
	}
	if ended, err := SweepEvent(mark("dead-run")); err != nil || len(ended) != 0 {
		t.Errorf("again: %v %v", ended, err)
	}
}

func TestParseStat(t *testing.T) {
	const tail = " S 7 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4242 0 0"
	want := entry{pid: 5, ppid: 7, pgid: 8, sid: 9, start: 4242}
	tests := []struct {
		why, stat string
		ok        bool
		name      string
	}{
		{"plain", "5 (sh)" + tail, true, "sh"},
		{"a name made to confuse", "5 (a) R 1 1 1 (b)" + tail, true, "a) R 1 1 1 (b"},
		{"a newline in the name", "5 (a\n)" + tail, true, "a\n"},
		{"cut off", "5 (sh) S 7", false, ""},
		{"no name", "5", false, ""},
		{"the name does not begin", "5 sh)" + tail, false, ""},
		{"not a number", strings.Replace("5 (sh)"+tail, "4242", "x", 1), false, ""},
	}
	for _, tt := range tests {
		got, ok := parseStat(5, []byte(tt.stat))
		want.name = tt.name
		if ok != tt.ok || ok && got != want {
			t.Errorf("%s: %+v %v", tt.why, got, ok)
		}
	}
}

// TestReadProc reads process files that are longer than the buffer.
func TestReadProc(t *testing.T) {
	want, err := os.ReadFile("/proc/self/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, room := range []int{0, 1, 7, len(want), len(want) + 1} {
		got, err := readProc(os.Getpid(), "environ", make([]byte, room))
		if err != nil || string(got) != string(want) {
			t.Errorf("room for %d: %d bytes of %d, %v", room, len(got), len(want), err)
		}
	}
	if _, err := readProc(os.Getpid(), "no-such-file", nil); err == nil {
		t.Error("a file that is not there was read")
	}
}

func readPid(t *testing.T, dir string) int {
	t.Helper()
	var pid int
	eventually(t, "a pid is written", func() bool {
		b, err := os.ReadFile(filepath.Join(dir, "pid"))
		if err != nil {
			return false
		}
		pid, err = strconv.Atoi(strings.TrimSpace(string(b)))
		return err == nil
	})
	return pid
}
