package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"git-ralph/loop/session"
)

// childVar makes the test binary a process of a run; its value is the process's
// job.
const childVar = "MCP_TEST_CHILD"

func TestMain(m *testing.M) {
	switch job := os.Getenv(childVar); job {
	case "":
		os.Exit(m.Run())
	case "call":
		os.Exit(childCall(os.Environ(), os.Args[1], os.Args[2]))
	case "serve":
		os.Exit(childServe())
	default:
		os.Exit(childOther(job))
	}
}

// childCall is `git ralph tool NAME JSON` without its command line.
func childCall(env []string, name, args string) int {
	c, err := Connect(env)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	answer, err := c.Call(context.Background(), name, json.RawMessage(args))
	var refusal *Refusal
	switch {
	case err == nil:
		fmt.Println(string(answer))
		return 0
	case errors.As(err, &refusal):
		fmt.Println(string(answer))
		return 1
	}
	fmt.Fprintln(os.Stderr, err)
	return 3
}

// childServe is `git ralph mcp`.
func childServe() int {
	c, err := Connect(os.Environ())
	if err == nil {
		err = Serve(context.Background(), c, "test", os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	return 0
}

// child is the test binary as a process of a run. Its environment has only the
// endpoint's variables.
func child(t testing.TB, job string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append([]string{childVar + "=" + job, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(),
		"SystemRoot=" + os.Getenv("SystemRoot")}, env...)
	return cmd
}

// opened is the toolbox of a role with its endpoint in a folder of its own.
func opened(t testing.TB, name string, change ...func(*session.Scope)) *Box {
	t.Helper()
	dir := t.TempDir()
	return box(t, name, append([]func(*session.Scope){func(s *session.Scope) { s.RunDir = dir }}, change...)...)
}

func connect(t testing.TB, env []string) *Client {
	t.Helper()
	c, err := Connect(env)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// variable is the value of a name in an environment.
func variable(env []string, name string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}
