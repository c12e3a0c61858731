// git-ralph runs a coding agent in a deterministic loop on a git repository,
// unattended, and can prove afterwards what happened.
//
// The tour, bottom up. internal/proc owns processes and the careful git.
// gitstate owns the repository: objects, refs, checkpoints and the worktree;
// gitstate/state is what the journal says and the one function that changes it,
// gitstate/journal its entries. notes owns what an iteration leaves behind, plan
// the work list. context (agentctx) decides what an agent reads, guard what it
// may do, and guard/sandbox is the kernel boundary around it. loop is the state
// machine: Decide, one iteration, recovery. internal/agent drives the clients,
// internal/checks proves their work, internal/mcp serves them tools.
// internal/cli is one file a command, and the wiring; internal/e2e tests the
// whole program.
package main

import (
	"os"

	"git-ralph/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args)) }
