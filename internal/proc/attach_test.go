package proc

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// TestAttach: the program gets the streams, the folder and the environment that
// it is given, and every end but a failed start is an Exit.
func TestAttach(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	dir := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "WORD=given"}
	for _, tt := range []struct {
		line string
		in   string
		out  string
		exit Exit
		why  string
	}{
		{`cat; echo "$WORD"`, "typed\n", "typed\ngiven\n", Exit{}, "input and environment"},
		{`test "$(pwd -P)" = "$(cd "$0" && pwd -P)"`, "", "", Exit{}, "the folder"},
		{`exit 3`, "", "", Exit{Code: 3}, "a status is no error"},
		{`kill -9 $$`, "", "", Exit{Code: 137, Signal: 9}, "nor is a signal"},
	} {
		var out bytes.Buffer
		exit, err := Attach(t.Context(), Command{Argv: []string{"sh", "-c", tt.line, dir}, Dir: dir, Env: env,
			Stdin: strings.NewReader(tt.in), Stdout: &out})
		if err != nil || exit != tt.exit || out.String() != tt.out {
			t.Errorf("%s: %v, %v, %q; want %v, %q", tt.why, exit, err, out.String(), tt.exit, tt.out)
		}
	}
	for name, want := range map[string]error{"no-such-program": exec.ErrNotFound, "./no-such-file": os.ErrNotExist} {
		if _, err := Attach(t.Context(), Command{Argv: []string{name}, Dir: dir, Env: env}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	if _, err := Attach(t.Context(), Command{}); err == nil {
		t.Error("no command was started")
	}
}

// TestAttachSession: the program stays in our session, so that it can read the
// terminal. With Start it would not.
func TestAttachSession(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	ours, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := Attach(context.Background(), Command{Argv: []string{"sh", "-c", "cat /proc/$$/stat"},
		Env: os.Environ(), Stdout: &out}); err != nil {
		t.Fatal(err)
	}
	session := func(stat string) string { return strings.Fields(stat[strings.LastIndexByte(stat, ')'):])[4] }
	if session(out.String()) != session(string(ours)) {
		t.Errorf("session %s, want %s", session(out.String()), session(string(ours)))
	}
}
