//go:build unix

package proc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// basicEnv is what the programs of the tests need.
func basicEnv() []string { return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"} }

func sh(script string) Command {
	return Command{Argv: []string{"sh", "-c", script}, Env: basicEnv()}
}

func TestExit(t *testing.T) {
	tests := []struct {
		name, script string
		want         Exit
		text         string
	}{
		{"success", "exit 0", Exit{}, "exit status 0"},
		{"failure is no error", "exit 3", Exit{Code: 3}, "exit status 3"},
		{"a signal is told from a status", "kill -9 $$", Exit{Code: 137, Signal: 9}, "signal 9"},
		{"a status above 128 is no signal", "exit 137", Exit{Code: 137}, "exit status 137"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Run(t.Context(), sh(tt.script))
			if err != nil || got != tt.want || got.String() != tt.text {
				t.Errorf("got %+v %q, %v; want %+v %q", got, got, err, tt.want, tt.text)
			}
		})
	}
}

func TestStartErrors(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		ctx  context.Context
		cmd  Command
		want string
	}{
		{"nothing to start", t.Context(), Command{}, "no command"},
		{"not on PATH", t.Context(), Command{Argv: []string{"no-such-program-here"}, Env: basicEnv()}, "not found"},
		{"not there", t.Context(), Command{Argv: []string{"/no/such/program"}}, "no such file"},
		{"context over", canceled, sh("exit 0"), "canceled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			tt.cmd.Stdout = &out
			if _, err := Start(tt.ctx, tt.cmd); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func TestEnvIsCompleteAndRelativeToDir(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "agent.sh"), []byte("#!/bin/sh\nexport -p\npwd\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LEAK", "1")
	var out bytes.Buffer
	cmd := Command{Argv: []string{"./agent.sh"}, Dir: dir, Stdout: &out, Stderr: &out}
	if exit, err := Run(t.Context(), cmd); err != nil || !exit.Success() {
		t.Fatal(exit, err, out.String())
	}
	if strings.Contains(out.String(), "LEAK") {
		t.Errorf("a nil environment inherited ours:\n%s", out.String())
	}
	if real, _ := filepath.EvalSymlinks(dir); !strings.Contains(out.String(), real) {
		t.Errorf("did not run in %s:\n%s", dir, out.String())
	}
}

func TestStreams(t *testing.T) {
	t.Run("input and both outputs", func(t *testing.T) {
		var out, errs bytes.Buffer
		cmd := sh("cat; echo bad >&2")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("hello\n"), &out, &errs
		if _, err := Run(t.Context(), cmd); err != nil {
			t.Fatal(err)
		}
		if out.String() != "hello\n" || errs.String() != "bad\n" {
			t.Errorf("got %q and %q", out.String(), errs.String())
		}
	})
	t.Run("one writer for both keeps the order", func(t *testing.T) {
		var both bytes.Buffer
		cmd := sh("for i in 1 2 3; do echo o$i; echo e$i >&2; done")
		cmd.Stdout, cmd.Stderr = &both, &both
		if _, err := Run(t.Context(), cmd); err != nil {
			t.Fatal(err)
		}
		if want := "o1\ne1\no2\ne2\no3\ne3\n"; both.String() != want {
			t.Errorf("got %q, want %q", both.String(), want)
		}
	})
	t.Run("pipes talk both ways", func(t *testing.T) {
		cmd := sh(`while read -r l; do echo "got $l"; done`)
		cmd.StdinPipe, cmd.StdoutPipe = true, true
		p, err := Start(t.Context(), cmd)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(p.Stdin, "a\n")
		buf := make([]byte, 6)
		if _, err := io.ReadFull(p.Stdout, buf); err != nil || string(buf) != "got a\n" {
			t.Errorf("got %q, %v", buf, err)
		}
		p.Stdin.Close()
		if rest, err := io.ReadAll(p.Stdout); err != nil || len(rest) != 0 {
			t.Errorf("rest %q, %v", rest, err)
		}
		if exit, err := p.Wait(); err != nil || !exit.Success() {
			t.Error(exit, err)
		}
	})
	t.Run("a slow reader gets all, also after the end", func(t *testing.T) {
		cmd := sh("head -c 50000 /dev/zero")
		cmd.StdoutPipe = true
		p, err := Start(t.Context(), cmd)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Wait(); err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(p.Stdout); err != nil || len(b) != 50000 {
			t.Errorf("got %d bytes, %v", len(b), err)
		}
	})
	t.Run("a program that ignores its input", func(t *testing.T) {
		cmd := sh("exit 0")
		cmd.Stdin = strings.NewReader(strings.Repeat("x", 1<<20))
		if exit, err := Run(t.Context(), cmd); err != nil || !exit.Success() {
			t.Error(exit, err)
		}
	})
	t.Run("a writer that fails does not stop the program", func(t *testing.T) {
		cmd := sh("head -c 300000 /dev/zero && exit 7")
		cmd.Stdout = writerFunc(func([]byte) (int, error) { return 0, errors.New("disk full") })
		exit, err := Run(t.Context(), cmd)
		if exit.Code != 7 || err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Error(exit, err)
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestBackgroundChildDoesNotHoldTheOutput(t *testing.T) {
	// A server left by a check holds standard output. One in the group dies with
	// it. One outside must not make us wait.
	tests := []struct{ name, script string }{
		{"in the group", "sleep 1000 & echo out"},
		{"in a session of its own", "setsid sleep 1000 & echo out; echo $! >pid"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			cmd := sh(tt.script)
			cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), &out, &out
			if exit, err := Run(t.Context(), cmd); err != nil || !exit.Success() {
				t.Fatal(exit, err)
			}
			if out.String() != "out\n" {
				t.Errorf("got %q", out.String())
			}
			if b, err := os.ReadFile(filepath.Join(cmd.Dir, "pid")); err == nil {
				pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
				syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
}

func TestStop(t *testing.T) {
	tests := []struct {
		name, script string
		grace        time.Duration
		want         Exit
	}{
		{"asks first", "trap 'exit 5' TERM; echo up; while :; do sleep 0.01; done", time.Minute,
			Exit{Code: 5, Stopped: true}},
		{"kills what does not listen", "trap '' TERM; echo up; while :; do sleep 0.01; done", time.Millisecond,
			Exit{Code: 137, Signal: 9, Stopped: true}},
		{"kills at once without grace", "echo up; while :; do sleep 0.01; done", 0,
			Exit{Code: 137, Signal: 9, Stopped: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := sh(tt.script)
			cmd.StdoutPipe = true
			p, err := Start(t.Context(), cmd)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(p.Stdout, make([]byte, 3)); err != nil {
				t.Fatal(err)
			}
			p.Stop(tt.grace)
			if got, err := p.Wait(); err != nil || got != tt.want {
				t.Errorf("got %+v, %v; want %+v", got, err, tt.want)
			}
			p.Stop(tt.grace) // again is harmless
			if err := p.Signal(syscall.SIGTERM); err != nil {
				t.Error("a signal to a dead process:", err)
			}
		})
	}
}

func TestContextEndStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd := sh("echo up; exec sleep 1000")
	cmd.Stdout = writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	got, err := Run(ctx, cmd)
	if want := (Exit{Code: 143, Signal: 15, Stopped: true}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestDiesWithUs(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the kernel has no parent death signal here")
	}
	// A helper starts a child and is killed. The child must die too.
	cmd := exec.Command(os.Args[0], "-test.run=TestHelperStartsSleep")
	cmd.Env = append(os.Environ(), "PROC_HELPER=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var line [16]byte
	n, err := out.Read(line[:])
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	if err != nil {
		t.Fatal(err)
	}
	id, ok := startTime(pid)
	if !ok {
		t.Fatal("the child does not run")
	}
	cmd.Process.Kill()
	cmd.Wait()
	eventually(t, "the child is gone", func() bool { return !Alive(pid, id, "") })
}

func TestHelperStartsSleep(t *testing.T) {
	if os.Getenv("PROC_HELPER") == "" {
		t.Skip("runs as a program of its own in TestDiesWithUs")
	}
	p, err := Start(t.Context(), Command{Argv: []string{"sleep", "1000"}, Env: basicEnv()})
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout.WriteString(strconv.Itoa(p.Pid) + "\n")
	p.Wait()
}

// eventually waits for a state that comes by itself. It has no deadline but
// that of the test.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for !ok() {
		if t.Context().Err() != nil {
			t.Fatal("never:", what)
		}
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
}

func TestNoGoroutineIsLeaked(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		var out bytes.Buffer
		cmd := sh("cat; echo err >&2")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("x"), &out, io.Discard
		if _, err := Run(t.Context(), cmd); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= before })
}

func TestIdentity(t *testing.T) {
	self := Self()
	p, err := Start(t.Context(), sh("exec sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	start, _ := startTime(p.Pid)
	tests := []struct {
		name string
		id   Identity
		want bool
	}{
		{"we ourselves", self, true},
		{"our pid of another time", Identity{self.Pid, self.BootID, self.StartTime + 1}, false},
		{"our pid before a reboot", Identity{self.Pid, "another-boot", self.StartTime}, false},
		{"a child", Identity{p.Pid, self.BootID, start}, true},
		{"no pid", Identity{0, self.BootID, 0}, false},
		{"negative", Identity{-1, self.BootID, 0}, false},
	}
	for _, tt := range tests {
		if got := tt.id.Alive(); got != tt.want {
			t.Errorf("%s: alive %v, want %v", tt.name, got, tt.want)
		}
	}
	p.Stop(0)
	if Alive(p.Pid, start, self.BootID) {
		t.Error("a dead child is alive")
	}
}
