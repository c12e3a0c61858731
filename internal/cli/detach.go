package cli

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/internal/proc"
	"git-ralph/internal/text"
)

// detachedVariable tells a start that it goes on without a terminal, and which
// file its output is in.
const detachedVariable = "RALPH_DETACHED"

// detach starts the same command again without the terminal, and comes back when
// its loop has begun, or when it has ended before.
func (a *App) detach(asJSON bool) error {
	j, err := a.Journal()
	if err != nil {
		return err
	}
	if err := j.Repo.EnsureDir(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	path := j.Repo.DetachedLog(j.Branch)
	if _, alive := j.Repo.BranchHolder(j.Branch); !alive {
		os.Rename(path, path+".1") // that of the start before is kept
	}
	output, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer output.Close()
	begin, err := output.Seek(0, 2)
	if err != nil {
		return err
	}
	args := slices.DeleteFunc(slices.Clone(a.args), func(s string) bool { return s == "--detach" || s == "--detach=true" })
	pid, ended, err := proc.Detach(proc.Command{Argv: append([]string{self}, args...), Dir: a.typedIn,
		Env: proc.SetEnv(a.Env, detachedVariable, path)}, output)
	if err != nil {
		return err
	}
	t := time.NewTicker(50 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case code := <-ended:
			said, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			said = bytes.TrimLeft(said[min(begin, int64(len(said))):], "\n")
			if code != 0 {
				a.Err.Write(said)
				return &ExitError{Code: code}
			}
			a.Out.Write(said)
			return nil
		case <-t.C:
		}
		if d, ok := j.Repo.Detached(j.Branch); ok && d.PID == pid {
			break
		}
	}
	if asJSON {
		return a.printLine(map[string]any{"pid": pid, "log": path, "attach": "git ralph watch"})
	}
	a.printf("process %d continues without this terminal\n", pid)
	a.printer().Table([][]string{{"  attach", "git ralph watch"}, {"  in a browser", "git ralph serve"},
		{"  end it", "git ralph stop"}, {"  its output", text.Shell(path)}})
	return nil
}

// isDetached notes that this process works without a terminal, once its loop
// begins: under its branch, and under the origin of its linked worktree.
func (a *App) isDetached() {
	if a.detachedLog == "" {
		return
	}
	names := []string{a.journal.Branch}
	if a.linked != nil {
		names = append(names, a.linked.Of)
	}
	for _, name := range names {
		if err := a.repo.SetDetached(name, gitstate.Detached{PID: os.Getpid(), Log: a.detachedLog}); err != nil {
			a.logLine("debug", "status does not name the file of the output: %v", err)
		}
	}
}

// takeDetached takes the variable out of the environment, which agents get.
func (a *App) takeDetached() {
	a.detachedLog = a.getenv(detachedVariable)
	a.Env = slices.DeleteFunc(slices.Clone(a.Env), func(s string) bool {
		return strings.HasPrefix(s, detachedVariable+"=")
	})
}
