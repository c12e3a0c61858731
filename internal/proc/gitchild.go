package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Child is a git process that answers requests on its standard input, such as
// cat-file --batch-command or update-ref --stdin.
type Child struct {
	In  io.WriteCloser
	Out io.ReadCloser
	Pid int
	cmd *exec.Cmd
	err headBuffer
	end sync.Once
	res error

	grace time.Duration // see Git.Grace
}

// Child starts such a process. It does not outlive its standard input.
func (g *Git) Child(args ...string) (*Child, error) {
	c := &Child{cmd: g.cmd(context.Background(), nil, args), grace: g.grace()}
	var err error
	if c.In, err = c.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	if c.Out, err = c.cmd.StdoutPipe(); err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	c.cmd.Stderr = &c.err
	ownGroup(c.cmd)
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	c.Pid = c.cmd.Process.Pid
	if f, ok := c.Out.(deadlined); ok {
		c.Out = &patient{f, args, g.answerWithin()}
	}
	return c, nil
}

// deadlined is the reading end of a pipe.
type deadlined interface {
	io.ReadCloser
	SetReadDeadline(time.Time) error
}

// patient gives up on a git that does not answer.
type patient struct {
	deadlined
	args  []string
	limit time.Duration
}

func (p *patient) Read(b []byte) (int, error) {
	p.SetReadDeadline(time.Now().Add(p.limit)) // a pipe without deadlines waits
	n, err := p.deadlined.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = &HungError{p.args, p.limit}
	}
	return n, err
}

// Close ends the child by closing its standard input and waits for it. The
// error carries what it said on standard error.
func (c *Child) Close() error {
	c.end.Do(func() {
		c.In.Close()
		// A git that does not notice the end of its input is ended.
		hung := time.AfterFunc(c.grace, func() { interrupt(c.cmd.Process) })
		killed := time.AfterFunc(2*c.grace, func() { c.cmd.Process.Kill() })
		defer hung.Stop()
		defer killed.Stop()
		if p, ok := c.Out.(*patient); ok {
			p.SetReadDeadline(time.Time{})
			io.Copy(io.Discard, p.deadlined)
		} else {
			io.Copy(io.Discard, c.Out)
		}
		if err := c.cmd.Wait(); err != nil {
			c.res = errors.New(strings.TrimSpace(strings.TrimPrefix(c.err.String(), "fatal: ")))
			if c.res.Error() == "" {
				c.res = err
			}
		}
	})
	return c.res
}

// Killed says whether the child has ended by a signal, so that it gave no lock
// back. It is known after Close.
func (c *Child) Killed() bool {
	return c.cmd.ProcessState != nil && c.cmd.ProcessState.ExitCode() == -1
}
