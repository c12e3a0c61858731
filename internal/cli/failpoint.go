package cli

import (
	"fmt"
	"os"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/share"
	"git-ralph/gitstate/worktree"
	"git-ralph/loop"
	"git-ralph/loop/recovery"
)

// failpoints are all names that RALPH_FAILPOINT knows.
func failpoints() []string {
	var all []string
	all = append(all, journal.AppendSteps...)
	all = append(all, journal.JoinSteps...)
	all = append(all, share.Steps...)
	all = append(all, loop.ShareSteps...)
	all = append(all, loop.Steps...)
	all = append(all, gitstate.KeepSteps...)
	all = append(all, recovery.RecoverySteps...)
	all = append(all, gitstate.LinkedSteps...)
	all = append(all, recovery.FollowSteps...)
	all = append(all, loop.LandSteps...)
	all = append(all, recovery.RedactSteps...)
	all = append(all, loop.WorkerSteps...)
	return append(all, worktree.Failpoints()...)
}

// failpoint ends this process with SIGKILL at the named step, so that tests
// can stop it between any two writes. The name "?" only tells which steps are reached.
func (a *App) failpoint() func(string) {
	name := a.getenv("RALPH_FAILPOINT")
	switch name {
	case "":
		return nil
	case "?":
		return func(step string) { fmt.Fprintln(a.Err, "step: "+step) }
	}
	return func(step string) {
		if step == name {
			p, err := os.FindProcess(os.Getpid())
			if err == nil {
				p.Kill()
			}
			select {}
		}
	}
}
