package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestGitWritesBesideAPrune: git can write although somebody removes empty object
// folders, as git prune does, even the one that it just made.
func TestGitWritesBesideAPrune(t *testing.T) {
	dir, env := t.TempDir(), GitEnv(os.Environ())
	path, err := FindGit(env)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&Git{Path: path, Dir: dir, Env: env}).Run(t.Context(), "init", "-q"); err != nil {
		t.Fatal(err)
	}
	g := &Git{Path: path, GitDir: filepath.Join(dir, ".git"), WorkTree: dir, Env: env}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			for i := range 256 {
				os.Remove(filepath.Join(g.GitDir, "objects", fmt.Sprintf("%02x", i)))
			}
			select {
			case <-done:
				return
			default:
			}
		}
	}()
	for i := range 50 {
		out, err := g.RunWith(t.Context(), strings.NewReader(fmt.Sprintf("object %d", i)), nil, "hash-object", "-w",
			"--stdin")
		if err != nil {
			t.Fatal(err)
		}
		id := strings.TrimSpace(string(out))
		if err := os.Remove(filepath.Join(g.GitDir, "objects", id[:2], id[2:])); err != nil {
			t.Errorf("the object was not written: %v", err)
		}
	}
	close(done)
	<-stopped
}

// TestGitLeavesAProcessRunning: a git that has ended is done, although a remaining
// process keeps its output open.
func TestGitLeavesAProcessRunning(t *testing.T) {
	t.Parallel()
	dir, env := t.TempDir(), GitEnv(os.Environ())
	path, err := FindGit(env)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" {
		t.Skip("a shell of git leaves nothing running there")
	}
	out, err := (&Git{Path: path, Dir: dir, Env: env}).Run(t.Context(), "-c",
		"alias.leave=!echo done; sleep 6 &", "leave")
	if err != nil || string(out) != "done\n" {
		t.Errorf("%q, %v", out, err)
	}
}
