package checks

import (
	"syscall"

	"git-ralph/internal/proc"
)

// shellCommand is a command that has a shell run a line. cmd.exe does not read
// its arguments as other programs do, so that the line must reach it unquoted.
func shellCommand(shell []string, line string) proc.Command {
	if len(shell) > 0 {
		return proc.Command{Argv: append(append([]string{}, shell...), line)}
	}
	return proc.Command{
		Argv: []string{"cmd", "/C", line},
		Sys:  &syscall.SysProcAttr{CmdLine: `cmd /S /C "` + line + `"`},
	}
}
