package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// TestLinesWaitForTheirReader: all of git's output is read, however long after git
// has ended.
func TestLinesWaitForTheirReader(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the alias is a script of sh")
	}
	path, err := exec.LookPath("git")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	g := &Git{Path: path, Dir: dir, Env: os.Environ(), Grace: time.Millisecond}
	done := filepath.Join(dir, "done")
	n := 0
	read := func(line string) (bool, error) {
		if n++; n == 1 {
			for deadline := time.Now().Add(30 * time.Second); ; {
				if _, err := os.Stat(done); err == nil {
					break
				}
				if time.Now().After(deadline) {
					return false, errors.New("git has not ended")
				}
				time.Sleep(time.Millisecond)
			}
			time.Sleep(100 * time.Millisecond) // a hundred times the limit for git's end
		}
		return true, nil
	}
	// 4,000 lines fill the pipe by half: git ends before they are read.
	if err := g.Lines(t.Context(), read, "-c", "alias.many=!seq 4000 && touch done", "many"); err != nil || n != 4000 {
		t.Errorf("%d lines of 4000: %v", n, err)
	}

	g.Grace = 10 * time.Second
	own := errors.New("of the reader")
	err = g.Lines(t.Context(), func(string) (bool, error) { return true, own }, "-c", "alias.many=!seq 400000", "many")
	if err != own {
		t.Errorf("an error of the reader: %v", err)
	}
	n = 0
	err = g.Lines(t.Context(), func(string) (bool, error) { n++; return n < 3, nil }, "-c", "alias.many=!seq 400000",
		"many")
	if err != nil || n != 3 {
		t.Errorf("stopped after %d lines: %v", n, err)
	}
	var ge *GitError
	err = g.Lines(t.Context(), func(string) (bool, error) { return true, nil }, "rev-parse", "--verify", "no-such")
	if !errors.As(err, &ge) {
		t.Errorf("an exit code: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = g.Lines(ctx, func(line string) (bool, error) { cancel(); return true, nil }, "-c", "alias.many=!yes", "many")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", fmt.Sprint(err))
	}
}
