package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ralph/internal/proc"
)

func TestEndIsPassedOn(t *testing.T) {
	b := newBox(t, "")
	tests := []struct {
		name, script string
		want         proc.Exit
	}{
		{"success", "true", proc.Exit{}},
		{"a status", "exit 3", proc.Exit{Code: 3}},
		{"a signal", "kill -9 $$", proc.Exit{Code: 137, Signal: 9}},
		{"a crash", "kill -SEGV $$", proc.Exit{Code: 139, Signal: 11}},
		{"a status that looks like a signal", "exit 137", proc.Exit{Code: 137}},
		{"the status of a failed set-up", "exit 125", proc.Exit{Code: 125}},
		{"orphans end later", "(sleep 0.01; exit 9) & exit 4", proc.Exit{Code: 4}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b.t = t
			if out, got := b.inside(tt.script); got != tt.want {
				t.Errorf("got %+v, want %+v\n%s", got, tt.want, out)
			}
		})
	}
}

func TestStartErrorsAreErrors(t *testing.T) {
	b := newBox(t, "")
	tests := []struct {
		name string
		argv []string
		edit func(*Spec)
		want string
	}{
		{"no such program", []string{"no-such-program"}, nil, "not found on PATH"},
		{"no such file", []string{"./nothing"}, nil, "no such file"},
		{"git directory missing", []string{"true"}, func(s *Spec) { s.GitDirs = append(s.GitDirs, "/no/such/.git") },
			"no such file"},
		{"worktree missing", []string{"true"}, func(s *Spec) { s.Worktree = "/no/such" }, "worktree"},
		{"bind source missing", []string{"true"},
			func(s *Spec) { s.Binds = []Bind{{Source: "/no/such", Target: RunDir + "/x"}} }, "bind"},
		{"bind target elsewhere", []string{"true"}, func(s *Spec) { s.Binds = []Bind{{Source: "/etc", Target: "/etc"}} },
			"not in /run/git-ralph"},
		{"writable git directory", []string{"true"}, func(s *Spec) { s.Writable = []string{s.GitDirs[0] + "/hooks"} },
			"lies in the git directory"},
		{"everything writable", []string{"true"}, func(s *Spec) { s.Writable = []string{"/"} }, "would leave nothing"},
		{"upper in home", []string{"true"}, func(s *Spec) { s.HomeUpper = s.Home + "/.cache/upper" },
			"lies in the home folder"},
		{"no network policy", []string{"true"}, func(s *Spec) { s.Network = "" }, "not one of"},
		{"no mechanism", []string{"true"}, func(s *Spec) { s.Mechanism = None }, "cannot be applied"},
		{"relative path", []string{"true"}, func(s *Spec) { s.Hidden = []string{"x"} }, "not absolute"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := b.spec
			if tt.edit != nil {
				tt.edit(&spec)
			}
			w, err := Wrapper(spec)
			if err == nil {
				g, gerr := proc.NewGroup(proc.GroupOptions{EventID: eventID(), Wrap: w})
				if gerr != nil {
					t.Fatal(gerr)
				}
				defer g.Close()
				_, err = g.Start(t.Context(), proc.Command{Argv: tt.argv, Env: b.env, Dir: b.work})
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestStreamsAndSignals(t *testing.T) {
	b := newBox(t, "")
	g := b.group()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := g.Start(t.Context(), proc.Command{
		Argv: []string{"bash", "-c", `trap 'echo got term; exit 6' TERM; read -r l; echo "in $l"; echo extra >&3; while :; ` +
			`do sleep 0.01; done`},
		Env: b.env, StdinPipe: true, StdoutPipe: true, ExtraFiles: []*os.File{w},
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	io.WriteString(p.Stdin, "line\n")
	out := bufio.NewReader(p.Stdout)
	if l, err := out.ReadString('\n'); l != "in line\n" {
		t.Errorf("got %q %v", l, err)
	}
	if l, err := bufio.NewReader(r).ReadString('\n'); l != "extra\n" {
		t.Errorf("descriptor 3: %q %v", l, err)
	}
	p.Stop(time.Minute)
	if l, err := out.ReadString('\n'); l != "got term\n" {
		t.Errorf("TERM: %q %v", l, err)
	}
	if exit, err := p.Wait(); err != nil || exit.Code != 6 || !exit.Stopped {
		t.Errorf("%+v %v", exit, err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// tick writes to the worktree for ever, out of reach of every signal to a
// process group.
const tick = `setsid nohup bash -c 'trap "" TERM HUP; while :; do date +%N >tick; sleep 0.005; done' >/dev/null 2>&1 ` +
	`& while ! [ -s tick ]; do sleep 0.01; done; `

func TestNothingOutlivesTheSandbox(t *testing.T) {
	tests := []struct{ name, script string }{
		{"late writers", tick},
		{"late writers without the mark", `exec env -i PATH="$PATH" bash -c '` + strings.ReplaceAll(tick, `'`, `'\''`) + `'`},
		{"double fork", `(` + tick + `) & while ! [ -s tick ]; do sleep 0.01; done`},
		{"in a namespace of its own",
			`unshare -Urpf bash -c '` + strings.ReplaceAll(tick, `'`,
				`'\''`) + `sleep 1000' & while ! [ -s tick ]; do sleep 0.01; done`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBox(t, "")
			if out, exit := b.inside(tt.script); !exit.Success() {
				t.Fatal(exit, out)
			}
			if list := processesIn(t, b.work); len(list) != 0 {
				t.Errorf("still running: %v", list)
			}
		})
	}
}

func TestAForkBombEnds(t *testing.T) {
	b := newBox(t, "")
	g := b.group()
	// Processes replace themselves all the time; generations bound the bomb if
	// this test fails.
	script := `bomb() { trap "" TERM; [ "$1" -gt 300 ] && return; echo x >up; bomb $(($1+1)) & exit; }; for i in 1 2 3 ` +
		`4 5 6 7 8; do bomb 0 & done; sleep 1000`
	p, err := g.Start(t.Context(), proc.Command{Argv: []string{"bash", "-c", script}, Dir: b.work, Env: b.env})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the bomb goes off", func() bool { _, err := os.Stat(filepath.Join(b.work, "up")); return err == nil })
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(); err != nil || !exit.Stopped {
		t.Errorf("%+v %v", exit, err)
	}
	if list := processesIn(t, b.work); len(list) != 0 {
		t.Errorf("still running: %v", list)
	}
}

// processesIn are the processes that work in a folder, seen from outside.
func processesIn(t *testing.T, dir string) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range dirs {
		if to, err := os.Readlink(d); err == nil && within(to, dir) {
			cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(d), "cmdline"))
			out = append(out, d+" "+string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))
		}
	}
	return out
}

func TestContextEndsTheSandbox(t *testing.T) {
	b := newBox(t, "")
	g := b.group()
	ctx, cancel := context.WithCancel(t.Context())
	p, err := g.Start(ctx, proc.Command{
		Argv: []string{"bash", "-c", `trap "" TERM; echo up; while :; do sleep 0.01; done`},
		Env:  b.env, Grace: 20 * time.Millisecond, StdoutPipe: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(p.Stdout, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if exit, err := p.Wait(); err != nil || exit.Signal != 9 || !exit.Stopped {
		t.Errorf("%+v %v", exit, err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// TestSandboxDiesWithTheHarness kills a program that runs a sandbox.
func TestSandboxDiesWithTheHarness(t *testing.T) {
	b := newBox(t, "")
	cmd := exec.Command("/proc/self/exe", "-test.run=TestHelperRunsSandbox")
	cmd.Env = append(b.env, "SANDBOX_HELPER="+b.dir)
	var out safeBuffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tick := filepath.Join(b.work, "tick")
	eventually(t, "the command writes", func() bool {
		if st, err := os.Stat(tick); err == nil && st.Size() > 0 {
			return true
		}
		return cmd.Process.Signal(syscall.Signal(0)) != nil
	})
	cmd.Process.Kill()
	cmd.Wait()
	eventually(t, "all processes are gone: "+out.String(), func() bool { return len(processesIn(t, b.work)) == 0 })
}

func TestHelperRunsSandbox(t *testing.T) {
	dir := os.Getenv("SANDBOX_HELPER")
	if dir == "" {
		t.Skip("runs as a program of its own in TestSandboxDiesWithTheHarness")
	}
	work := filepath.Join(dir, "home", "src", "proj")
	spec := Spec{Mechanism: Namespaces, Worktree: work, GitDirs: []string{filepath.Join(work, ".git")},
		Network: NetworkOpen, OwnProc: true}
	w, err := Wrapper(spec)
	if err != nil {
		t.Fatal(err)
	}
	g, err := proc.NewGroup(proc.GroupOptions{EventID: eventID(), Wrap: w})
	if err != nil {
		t.Fatal(err)
	}
	g.Run(t.Context(), proc.Command{Argv: []string{"bash", "-c", tick + "sleep 1000"}, Dir: work, Env: os.Environ(),
		Stdout: os.Stdout, Stderr: os.Stderr})
}

func TestFirstProcessIsOnlyStartedByUs(t *testing.T) {
	for _, args := range [][]string{{"sandbox"}, {"sandbox", "init"}, {"sandbox", "init", "3", "4", "5"}} {
		serve(append([]string{"git-ralph"}, args...)) // returns: the command line deals with it
	}
	cmd := exec.Command("/proc/self/exe", hiddenCommand, "init", "x", strconv.Itoa(4))
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "started by git ralph itself") {
		t.Errorf("%v %s", err, out)
	}
}

// TestCommandStartsPlain: a command does not inherit what makes our first process
// start quickly and ignore signals.
func TestCommandStartsPlain(t *testing.T) {
	b := newBox(t, "")
	look := `grep -E '^Sig(Blk|Ign)' /proc/self/status | grep -v 0000000000000000; env | grep -E ` +
		`'^GO(DEBUG|MAXPROCS)='; echo end`
	if out, _ := b.inside(look); out != "end\n" {
		t.Errorf("without any of its own it has\n%s", out)
	}
	b.env = append(b.env, "GODEBUG=gctrace=0", "GOMAXPROCS=7")
	if out, _ := b.inside(look); out != "GODEBUG=gctrace=0\nGOMAXPROCS=7\nend\n" {
		t.Errorf("its own are\n%s", out)
	}
	// The first process passes a signal from outside on to the command.
	b.env = b.env[:len(b.env)-2]
	if out, exit := b.inside(`trap 'echo got it; exit 3' USR1; kill -USR1 1; sleep 60 & wait $!`); exit.Code != 3 ||
		out != "got it\n" {
		t.Errorf("%v %q", exit, out)
	}
}
