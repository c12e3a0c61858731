package proc

import (
	"fmt"
	"os"
	"os/exec"
)

// Detach starts a program that goes on when this one and its terminal are gone:
// in a session of its own, without input, with its output at the end of a file.
// Dir, Env and Argv of cmd are used, Argv[0] is a path. The channel has its exit
// code, while somebody waits.
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
