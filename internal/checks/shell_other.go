//go:build !windows

package checks

import "git-ralph/internal/proc"

// shellCommand is a command that has a shell run a line.
func shellCommand(shell []string, line string) proc.Command {
	if len(shell) == 0 {
		// By its absolute path: a PATH that the project set up must not decide
		// which shell judges it.
		shell = []string{"/bin/sh", "-c"}
	}
	return proc.Command{Argv: append(append([]string{}, shell...), line)}
}
