package proc

import (
	"fmt"
	"os"
	"os/exec"
)

// Detach starts a program that outlives this one and its terminal: in its own
// session, without input, with its output appended to a file. Dir, Env and Argv
// of cmd are used; Argv[0] is a path. The channel gets its exit code if this
// program still runs.
func Detach(cmd Command, output *os.File) (pid int, ended <-chan int, err error) {
	c := exec.Command(cmd.Argv[0], cmd.Argv[1:]...)
	c.Dir, c.Env, c.Stdout, c.Stderr = cmd.Dir, cmd.Env, output, output
	alone(c)
	if err := c.Start(); err != nil {
		return 0, nil, fmt.Errorf("start %q: %w", cmd.Argv[0], err)
	}
	ch := make(chan int, 1)
	go func() {
		c.Wait()
		ch <- c.ProcessState.ExitCode()
	}()
	return c.Process.Pid, ch, nil
}
