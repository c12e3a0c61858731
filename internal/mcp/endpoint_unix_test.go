//go:build unix

package mcp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/loop/session"
)

// TestLongPaths: a socket address has about a hundred bytes, and the name of a
// run's folder may be longer. Server and processes still work, and leave nothing in
// the temporary folder.
func TestLongPaths(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	dir := filepath.Join(t.TempDir(), strings.Repeat("long-", 20), strings.Repeat("longer-", 20))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b := box(t, "coding", func(s *session.Scope) { s.RunDir = dir })
	if path := variable(b.Env(), SocketVar); !strings.HasPrefix(path, dir) {
		t.Errorf("the socket lies at %s, want it below the run's folder", path)
	}
	if out, err := child(t, "call", b.Env(), "ralph_get_next_task", "").CombinedOutput(); err != nil {
		t.Errorf("a process: %s, %v", out, err)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
		t.Errorf("left in the temporary folder: %v, %v", left, err)
	}
	// A temporary folder with too long a name is not used.
	t.Setenv("TMPDIR", dir)
	if _, err := connect(t, b.Env()).Call(t.Context(), "ralph_get_next_task", nil); err != nil {
		t.Error(err)
	}
}

// TestSeenElsewhere: a sandbox shows the run's folder at another path. It is enough
// to map one variable, with or without the token's.
func TestSeenElsewhere(t *testing.T) {
	dir := t.TempDir()
	b := box(t, "coding", func(s *session.Scope) { s.RunDir = dir })
	elsewhere := filepath.Join(t.TempDir(), "run")
	if err := os.Symlink(dir, elsewhere); err != nil {
		t.Fatal(err)
	}
	mapped := SocketVar + "=" + strings.Replace(variable(b.Env(), SocketVar), dir, elsewhere, 1)
	for _, env := range [][]string{{mapped}, {mapped, TokenVar + "=" + variable(b.Env(), TokenVar)}} {
		if _, err := connect(t, env).Call(t.Context(), "ralph_get_next_task", nil); err != nil {
			t.Errorf("%d variables: %v", len(env), err)
		}
	}
}

func TestNoFolder(t *testing.T) {
	s := scope(roleNamed(t, "coding"))
	s.RunDir = filepath.Join(t.TempDir(), "missing")
	if _, err := Open(s); err == nil {
		t.Error("an endpoint in a folder that is not there")
	}
}
