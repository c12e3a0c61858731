package cli

import (
	"os"

	"git-ralph/internal/agent/scripted"
)

// early serves what must not wait for the command line to be parsed: the hooks of
// clients, and the player of the scripted agent. (The first process of a sandbox
// waits even less: it does not come to main.)
func early(argv []string) (code int, done bool) {
	if len(argv) > 1 && argv[1] == "hook" {
		return hook(argv, os.Environ(), os.Stdin, os.Stdout, os.Stderr), true
	}
	if len(argv) > 1 && argv[1] == scripted.Command {
		return scripted.Main(os.Stdin, os.Stdout), true
	}
	return 0, false
}
