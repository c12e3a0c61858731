package cli

import (
	"git-ralph/internal/sandbox"
)

// early serves what must not wait for the command line to be parsed: the
// first process of a sandbox.
func early(argv []string) (code int, done bool) {
	sandbox.Main(argv)
	return 0, false
}
