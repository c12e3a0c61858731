package cli

import (
	"os"

	"git-ralph/guard/sandbox"
	"git-ralph/internal/agent/scripted"
)

// early serves what must not wait for the command line to be parsed: the
// first process of a sandbox, the hooks of clients, and the player of the
// scripted agent.
func early(argv []string) (code int, done bool) {
	sandbox.Main(argv)
	if len(argv) > 1 && argv[1] == "hook" {
		return hook(argv, os.Environ(), os.Stdin, os.Stdout, os.Stderr), true
	}
	if len(argv) > 1 && argv[1] == scripted.Command {
		return scripted.Main(os.Stdin, os.Stdout), true
	}
	return 0, false
}
