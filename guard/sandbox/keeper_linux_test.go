package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ralph/internal/proc"
)

// astray leaves a process that is tied to its command only by descent: with an
// empty environment, its own session and no parent.
const astray = `env -i PATH="$PATH" setsid sh -c 'sh -c "echo \$\$ >pid; exec sleep 1000" & exit 0'
while ! [ -s pid ]; do sleep 0.01; done
`

// kept is a group whose commands have a keeper and no sandbox.
func kept(t *testing.T) *proc.Group {
	t.Helper()
	g, err := proc.NewGroup(proc.GroupOptions{EventID: eventID(), Wrap: Keeper, Grace: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

func shell(dir, script string) proc.Command {
	return proc.Command{Argv: []string{"sh", "-c", script}, Dir: dir, Env: os.Environ()}
}

// TestKeeperEndsWhatGoesAstray: another group is open, so that only descent shows
// which group an orphan belongs to.
func TestKeeperEndsWhatGoesAstray(t *testing.T) {
	for name, script := range map[string]string{
		"an orphan":           astray,
		"deaf to TERM":        strings.Replace(astray, "exec sleep 1000", `trap '' TERM; while :; do sleep 0.05; done`, 1),
		"the keeper is ended": astray + "kill -9 $PPID",
		"the keeper is asked": astray + "kill -TERM $PPID; sleep 1000",
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			kept(t)
			dir := t.TempDir()
			g := kept(t)
			g.Run(t.Context(), shell(dir, script))
			if err := g.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(dir, "pid")); err != nil {
				t.Fatal(err)
			}
			if left := processesIn(t, dir); len(left) > 0 {
				t.Errorf("still running: %v", left)
			}
		})
	}
}

func TestKeeperPassesTheEndOn(t *testing.T) {
	g := kept(t)
	for script, want := range map[string]proc.Exit{
		"true":                           {},
		"exit 3":                         {Code: 3},
		"exit 137":                       {Code: 137},
		"kill -9 $$":                     {Code: 137, Signal: 9},
		"kill -SEGV $$":                  {Code: 139, Signal: 11},
		"(sleep 0.01; exit 9) & exit 4":  {Code: 4},
		"trap 'kill 0' EXIT; sleep 0.01": {Code: 143, Signal: 15},
	} {
		if got, err := g.Run(t.Context(), shell(t.TempDir(), script)); err != nil || got != want {
			t.Errorf("%s: got %+v, want %+v, %v", script, got, want, err)
		}
	}
	var out bytes.Buffer
	cmd := shell(t.TempDir(), `echo "$GOMAXPROCS $GODEBUG $GIT_CONFIG_COUNT $0"; cat; ls /proc/self/fd | wc -l`)
	cmd.Env = append(cmd.Env, "GOMAXPROCS=7")
	cmd.Stdout, cmd.Stdin = &out, strings.NewReader("in\n")
	if _, err := g.Run(t.Context(), cmd); err != nil || out.String() != "7   sh\nin\n4\n" {
		t.Errorf("%q %v", out.String(), err)
	}
	for _, argv := range [][]string{{"no-such-program"}, {"./nothing"}, {"/no/such"}} {
		_, err := g.Run(t.Context(), proc.Command{Argv: argv, Dir: t.TempDir(), Env: os.Environ()})
		if err == nil || strings.Contains(err.Error(), "sandbox") {
			t.Errorf("%v: %v", argv, err)
		}
	}
}

func TestKeeperStops(t *testing.T) {
	g := kept(t)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := shell(dir, astray+`trap '' TERM; echo >up; while :; do sleep 0.01; done`)
	cmd.Grace = 20 * time.Millisecond
	p, err := g.Start(ctx, cmd)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it runs", func() bool { return exists(filepath.Join(dir, "up")) })
	cancel()
	if exit, err := p.Wait(); err != nil || exit.Signal != 9 || !exit.Stopped {
		t.Errorf("%+v %v", exit, err)
	}
	if left := processesIn(t, dir); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

// TestInheritedDescriptors: a command inherits no open files of the user's shell.
func TestInheritedDescriptors(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "open"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd, err := syscall.Dup(int(f.Fd())) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	var out bytes.Buffer
	cmd := shell(t.TempDir(), "ls /proc/self/fd | wc -l")
	cmd.Stdout = &out
	if _, err := kept(t).Run(t.Context(), cmd); err != nil || out.String() != "4\n" {
		t.Errorf("without a sandbox: %q %v", out.String(), err)
	}
	if out, exit := newBox(t, "").inside("ls /proc/self/fd | wc -l"); out != "4\n" {
		t.Errorf("in the sandbox: %q %v", out, exit)
	}
}

// TestKeeperOutlivesTheProgram: the processes of a killed program end, although
// nobody looks for them.
func TestKeeperOutlivesTheProgram(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command("/proc/self/exe", "-test.run=TestHelperRunsKeeper")
	cmd.Env = append(os.Environ(), "KEEPER_HELPER="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the command runs", func() bool { return exists(filepath.Join(dir, "up")) })
	cmd.Process.Kill()
	cmd.Wait()
	eventually(t, "all processes are gone", func() bool { return len(processesIn(t, dir)) == 0 })
}

func TestHelperRunsKeeper(t *testing.T) {
	dir := os.Getenv("KEEPER_HELPER")
	if dir == "" {
		t.Skip("runs as a program of its own in TestKeeperOutlivesTheProgram")
	}
	fmt.Println(kept(t).Run(t.Context(), shell(dir, astray+"echo >up; sleep 1000")))
}
