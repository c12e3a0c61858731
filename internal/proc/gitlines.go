package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
)

// Lines gives f the lines that git prints, until f returns false. f may take as long
// as it likes for each of them, and git waits for it; a git that prints nothing for
// long is given up. An exit code is a *GitError. Before the first line it is run again as
// by RunWith.
func (g *Git) Lines(ctx context.Context, f func(line string) (bool, error), args ...string) error {
	seen := false
	look := func(line string) (bool, error) {
		seen = true
		return f(line)
	}
	for try := 0; ; try++ {
		err := g.lines(ctx, look, args)
		if err == nil || seen || try == 2 || !slices.Contains(lockless, subcommand(args)) || !g.mended(err) {
			return err
		}
	}
}

func (g *Git) lines(ctx context.Context, f func(line string) (bool, error), args []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c := g.cmd(ctx, nil, args)
	var stderr headBuffer
	c.Stderr = &stderr
	// Not c.Stdout: what is still in the pipe when git ends would be given up soon
	// after that, however much of it f has not seen.
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return fmt.Errorf("git %s: %w", subcommand(args), err)
	}
	var from io.Reader = out
	if d, ok := out.(deadlined); ok {
		from = &patient{d, args, g.patience(args)}
	}
	in := bufio.NewReaderSize(from, 64<<10)
	more := true
	var failed error
	for more && failed == nil {
		line, err := in.ReadString('\n')
		if line != "" {
			more, failed = f(strings.TrimSuffix(line, "\n"))
		}
		if err == io.EOF {
			break
		}
		if failed == nil {
			failed = err
		}
	}
	stopped := ctx.Err()
	if !more || failed != nil {
		cancel()
	}
	out.Close()
	err = c.Wait()
	var ee *exec.ExitError
	switch {
	case stopped != nil:
		return fmt.Errorf("git %s: %w", subcommand(args), stopped)
	case failed != nil || !more:
		return failed
	case errors.As(err, &ee):
		return &GitError{Args: args, Code: ee.ExitCode(), Stderr: stderr.String()}
	case err != nil:
		return fmt.Errorf("git %s: %w", subcommand(args), err)
	}
	return nil
}
