package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
)

// Attach runs a program of the person at the terminal: an editor, a pager, a
// tool of the project. It stays in this program's session, so that it can read
// the terminal, and gets the streams as they are. Interrupts from the keyboard
// are for it; this program only waits. Sys and the pipes of cmd are not used.
// A status other than zero is not an error.
func Attach(ctx context.Context, cmd Command) (Exit, error) {
	if len(cmd.Argv) == 0 || cmd.Argv[0] == "" {
		return Exit{}, errors.New("start process: no command")
	}
	path := cmd.Argv[0]
	switch {
	case filepath.IsAbs(path):
	case containsSeparator(path):
		path = filepath.Join(cmd.Dir, path)
	default:
		if path = Look(path, cmd.Env); path == "" {
			return Exit{}, fmt.Errorf("start %q: %w", cmd.Argv[0], exec.ErrNotFound)
		}
	}
	c := exec.CommandContext(ctx, path)
	c.Args, c.Dir, c.Env = cmd.Argv, cmd.Dir, cmd.Env
	c.Stdin, c.Stdout, c.Stderr = cmd.Stdin, cmd.Stdout, cmd.Stderr
	c.WaitDelay = DefaultGrace
	// The keyboard interrupts the whole foreground group. The program in front
	// decides what that means.
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, os.Interrupt)
	defer signal.Stop(ignored)
	err := c.Run()
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		return exitOf(ee.ProcessState), nil
	}
	if err != nil {
		return Exit{}, fmt.Errorf("start %q: %w", cmd.Argv[0], err)
	}
	return Exit{}, nil
}
