package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"git-ralph/gitstate"
	"git-ralph/internal/proc"
)

// sandboxed lets f start processes in the sandbox, as a group of their own that
// carries the id of an event. When it returns, every process of them is gone.
// Without a folder for the run in use they get one of their own.
func (l *Loop) sandboxed(id string, use Use, f func(Starter) error) error {
	if use.RunDir == "" {
		dir, err := newRunDir(l.RunBase)
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		use.RunDir = dir
	}
	g, err := proc.NewGroup(proc.GroupOptions{EventID: id, Wrap: l.Sandbox.Wrapper(use)})
	if err != nil {
		return err
	}
	err = f(g.Start)
	if cerr := g.Close(); cerr != nil {
		err = errors.Join(err, fmt.Errorf("end the processes that were started: %w", cerr))
	}
	return err
}

// inWorktree is sandboxed between iterations: in the worktree, as checks are.
func (l *Loop) inWorktree(home Home, readOnly []string, f func(Starter) error) error {
	return l.sandboxed(gitstate.NewID(l.Now()),
		Use{Dir: l.Repo.Root, Home: home, ReadOnlyPaths: readOnly, Files: l.AgentFiles}, f)
}

const runPrefix = "git-ralph-"

// removeRunDirs removes the private folders of runs that were killed.
func removeRunDirs(base string) {
	if base == "" {
		base = os.TempDir()
	}
	proc.RemoveOrphans(base, runPrefix)
}

// newRunDir makes the private folder of one run, in base or in the user's
// runtime or temporary folder.
func newRunDir(base string) (string, error) {
	if base == "" {
		if base = os.Getenv("XDG_RUNTIME_DIR"); base != "" {
			base = filepath.Join(base, "git-ralph")
			if os.MkdirAll(base, 0o700) != nil {
				base = ""
			}
		}
	} else if err := os.MkdirAll(base, 0o700); err != nil {
		return "", refuse(NoCacheFolder, "make a folder for the run: %w", err)
	}
	removeRunDirs(base)
	dir, err := os.MkdirTemp(base, proc.OwnedPrefix(runPrefix))
	if err != nil {
		return "", refuse(NoTempFolder, "make a folder for the run: %w", err)
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
	if c == nil {
		return ""
	}
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
