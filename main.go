// git-ralph runs a coding agent in a deterministic loop on a git repository,
// unattended, and can prove afterwards what happened.
//
// The tour, bottom up. internal/proc owns processes and the careful git;
// internal/sandbox puts an agent behind a kernel boundary. gitstate owns the
// repository: objects, refs, the journal's entries, checkpoints and the
// worktree. notes owns what an iteration leaves behind, plan the work list,
// internal/state what the journal says and the one function that changes it.
// context (agentctx) decides what an agent reads, guard what it may do. loop is
// the state machine: Decide, one iteration, recovery. internal/agent drives the
// clients, internal/checks proves their work, internal/mcp serves them tools.
// internal/cli is one file a command, and the wiring.
package main

import (
	"os"

	"git-ralph/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args)) }
