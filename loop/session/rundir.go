package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"git-ralph/internal/proc"
	"git-ralph/loop/refusal"
)

// runtimeBase is where the user's own programs keep such folders; "" = nowhere.
func runtimeBase() string {
	if base := os.Getenv("XDG_RUNTIME_DIR"); base != "" {
		return filepath.Join(base, "git-ralph")
	}
	return ""
}

// DeadFolders are the private folders of runs, and temporary ones, that killed
// processes left. base is Host.RunBase.
func DeadFolders(base string) []string {
	var out []string
	for _, dir := range []string{os.TempDir(), runtimeBase(), base} {
		if dir != "" {
			out = append(out, proc.Orphans(dir, proc.TempPrefix)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// RemoveFolders removes folders of dead runs; what cannot be removed stays.
func RemoveFolders(paths []string) {
	for _, path := range paths {
		_ = os.RemoveAll(path)
	}
}

// NewRunDir makes the private folder of one run, in base or in the user's
// runtime or temporary folder.
func NewRunDir(base string) (string, error) {
	RemoveFolders(DeadFolders(base))
	if base == "" {
		if base = runtimeBase(); base != "" && os.MkdirAll(base, 0o700) != nil {
			base = ""
		}
	} else if err := os.MkdirAll(base, 0o700); err != nil {
		return "", refusal.New(refusal.NoCacheFolder, "make a folder for the run: %w", err)
	}
	dir, err := os.MkdirTemp(base, proc.OwnedPrefix(proc.TempPrefix))
	if err != nil {
		return "", refusal.New(refusal.NoTempFolder, "make a folder for the run: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", fmt.Errorf("make a folder for the run: %w", err)
	}
	for _, sub := range []string{"bin", "handoff"} {
		if err := os.Mkdir(filepath.Join(dir, sub), 0o700); err != nil {
			return "", fmt.Errorf("make a folder for the run: %w", err)
		}
	}
	return dir, nil
}

// clients are the processes of an agent's client.
type clients struct {
	mu   sync.Mutex
	list []*proc.Process
}

// noting is start, and remembers what was started.
func (c *clients) noting(start Starter) Starter {
	return func(ctx context.Context, cmd proc.Command) (*proc.Process, error) {
		p, err := start(ctx, cmd)
		if err == nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.list = append(c.list, p)
		}
		return p, err
	}
}

// limit names what a client that has ended took too much of; "" = nothing.
func (c *clients) limit() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.list {
		select {
		case <-p.Done():
			if exit, _ := p.Wait(); exit.Limit != "" {
				return exit.Limit
			}
		default:
		}
	}
	return ""
}
