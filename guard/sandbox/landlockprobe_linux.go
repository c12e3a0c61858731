package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// The Landlock ABI versions that matter. Without the first a file can be
// truncated where it cannot be written. Without the second signals reach
// every process of the user.
const (
	landlockTruncate = 3
	landlockSignals  = 6
)

// probeLandlock probes the fallback for refused namespaces.
func probeLandlock(ctx context.Context, try Spec, refusal error) (Report, error) {
	none := Report{Mechanism: None, Detail: fmt.Sprintf("namespaces are refused: %v", refusal)}
	abi, err := llsys.LandlockGetABIVersion()
	if err != nil || abi < landlockTruncate {
		none.Detail += "; landlock is not there either"
		return none, nil
	}
	git := filepath.Join(filepath.Dir(try.Worktree), "elsewhere")
	if err := os.Mkdir(git, 0o700); err != nil {
		return none, fmt.Errorf("probe the sandbox: %w", err)
	}
	try.Mechanism, try.OwnProc, try.CloseAbstract, try.GitDirs = Landlock, false, false, []string{git}
	try.Home, try.HomeUpper = "", ""
	if _, err := attempt(ctx, try); err != nil {
		none.Detail += fmt.Sprintf("; landlock too: %v", err)
		return none, nil
	}
	missing := []string{
		"a worktree that holds its git directory", "the worktree's .git file (it is compared and put back)",
		"modes, owners and times of files that are otherwise read-only",
		"reading, but of the usual credential places and guard.hidden",
		"processes that outlive the iteration (they are searched for and ended)",
		"unix sockets: what answers there acts outside for the agent",
		"the network",
	}
	if abi < landlockSignals {
		missing = append(missing, "signals to other processes, and abstract unix sockets")
	}
	return Report{Mechanism: Landlock, Detail: none.Detail + "; landlock works for a linked worktree (--worktree)",
		Missing: missing}, nil
}
