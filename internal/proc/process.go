package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Exit is how a process ended.
type Exit struct {
	Code   int // exit status; 128+Signal when a signal ended it
	Signal int // number of the signal that ended it, 0 = it exited by itself
	// Stopped says that Stop, or the end of the context, asked it to end first.
	Stopped bool
	// Limit names the resource of which it took too much, and was ended for
	// that: LimitDisk or LimitProcesses; "" = none.
	Limit string
}

// The limits of what one command may take.
const (
	LimitDisk      = "disk"
	LimitProcesses = "processes"
	LimitMemory    = "memory"
)

// Success is an exit with status 0.
func (e Exit) Success() bool { return e.Code == 0 && e.Signal == 0 }

// String is "exit status 1" or "signal 9".
func (e Exit) String() string {
	if e.Signal != 0 {
		return fmt.Sprintf("signal %d", e.Signal)
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Process is a started process and its group. Its methods may be called from
// several goroutines.
type Process struct {
	Pid    int
	Stdin  io.WriteCloser // when StdinPipe
	Stdout io.ReadCloser  // when StdoutPipe

	cmd     *exec.Cmd
	kill    *killer
	out     []*pipeReader
	copies  sync.WaitGroup
	done    chan struct{}
	exit    Exit
	err     error
	mu      sync.Mutex
	stopped bool
	ended   bool // the group is gone: its number may soon belong to others
	copyErr error
	after   func(Exit) Exit // a wrapper's knowledge about the end
	finish  func()          // Wrapped.End, or nil
}

// Start starts cmd in a new session of its own, as a child that the kernel
// kills when this program dies, where it can. When ctx ends the process is
// stopped as by Stop. What is left of its process group when it ends is killed;
// a Group finds those that left it, too. Wait must be called, or Done be waited for, to know the end;
// resources are released without it.
func Start(ctx context.Context, cmd Command) (*Process, error) {
	return start(ctx, cmd, nil, nil)
}

// start is Start; finish is Wrapped.End, after translates the end of the process.
func start(ctx context.Context, cmd Command, finish func(), after func(Exit) Exit) (*Process, error) {
	if len(cmd.Argv) == 0 || cmd.Argv[0] == "" {
		return nil, errors.New("start process: no command")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("start %q: %w", cmd.Argv[0], err)
	}
	path := cmd.Argv[0]
	if !filepath.IsAbs(path) && !containsSeparator(path) {
		if path = Look(path, cmd.Env); path == "" {
			return nil, fmt.Errorf("start %q: %w", cmd.Argv[0], exec.ErrNotFound)
		}
	} else if !filepath.IsAbs(path) && cmd.Dir != "" {
		path = filepath.Join(cmd.Dir, path)
	}
	env := cmd.Env
	if env == nil {
		env = []string{} // nil would inherit
	}
	c := &exec.Cmd{Path: path, Args: cmd.Argv, Dir: cmd.Dir, Env: env, ExtraFiles: cmd.ExtraFiles}
	if cmd.Sys != nil {
		attr := *cmd.Sys
		c.SysProcAttr = &attr
	}
	p := &Process{cmd: c, done: make(chan struct{}), after: after, finish: finish}
	pipes, err := p.connect(cmd)
	if err != nil {
		pipes.closeAll()
		return nil, fmt.Errorf("start %q: %w", cmd.Argv[0], err)
	}
	if p.kill, err = newKiller(c); err != nil {
		pipes.closeAll()
		return nil, fmt.Errorf("start %q: %w", cmd.Argv[0], err)
	}

	// The parent death signal is sent when the starting thread ends, so the
	// goroutine that starts the process keeps its thread until it is gone.
	p.copies.Add(len(pipes.copies))
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := children.start(c); err != nil {
			p.kill.release()
			started <- err
			return
		}
		p.Pid = c.Process.Pid
		if err := p.kill.started(c.Process); err != nil {
			c.Process.Kill()
			c.Wait()
			children.remove(p.Pid)
			p.kill.release()
			started <- err
			return
		}
		started <- nil
		p.reap()
	}()
	if err := <-started; err != nil {
		pipes.closeAll()
		return nil, fmt.Errorf("start %q: %w", cmd.Argv[0], err)
	}
	pipes.closeChild()
	pipes.copy(p)

	grace := cmd.Grace
	if grace <= 0 {
		grace = DefaultGrace
	}
	release := context.AfterFunc(ctx, func() { p.Stop(grace) })
	go func() {
		<-p.done
		release()
	}()
	return p, nil
}

// Run starts cmd and waits for its end. The end of ctx stops it; that is no
// error either: Exit.Stopped says so.
func Run(ctx context.Context, cmd Command) (Exit, error) {
	p, err := Start(ctx, cmd)
	if err != nil {
		return Exit{}, err
	}
	return p.Wait()
}

// reap waits for the leader, kills what is left of its group, and waits for
// the output. It runs on the thread that started the process. The group is
// killed while the dead leader still holds the pid: nobody else can have it.
func (p *Process) reap() {
	held := awaitEnd(p.Pid)
	if held {
		p.end()
	}
	err := p.cmd.Wait()
	if !held {
		p.end()
	}
	children.remove(p.Pid)
	p.mu.Lock()
	p.kill.release()
	stopped := p.stopped // it stays, since the process has ended
	p.mu.Unlock()

	exit := exitOf(p.cmd.ProcessState)
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		p.err = fmt.Errorf("wait for %q: %w", p.cmd.Args[0], err)
	}
	if p.after != nil {
		exit = p.after(exit)
	}
	exit.Stopped = stopped
	p.exit = exit
	for _, r := range p.out {
		r.drain()
	}
	p.copies.Wait()
	if p.err == nil && p.copyErr != nil {
		p.err = p.copyErr
	}
	close(p.done)
}

// end marks the group as gone and kills what is left of it.
func (p *Process) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.kill.signal(os.Kill)
}

// Wait returns when the process has ended and its output was delivered. A
// status other than zero is not an error; one that is returned says that the
// output could not be written or that the process could not be waited for.
func (p *Process) Wait() (Exit, error) {
	<-p.done
	return p.exit, p.err
}

// Done is closed when Wait would not block.
func (p *Process) Done() <-chan struct{} { return p.done }

// Signal sends sig to every process of the group. A process that is gone is
// not an error.
func (p *Process) Signal(sig os.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return nil
	}
	return p.kill.signal(sig)
}

// Stop asks the group to end, waits for grace, kills it, and returns when it
// is gone. A grace of 0 kills at once.
func (p *Process) Stop(grace time.Duration) {
	p.mu.Lock()
	p.stopped = p.stopped || !p.ended
	p.mu.Unlock()
	if grace > 0 {
		p.Signal(syscall.SIGTERM)
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-p.done:
			return
		case <-t.C:
		}
	}
	if p.finish != nil {
		p.finish()
		t := time.NewTimer(keeperLimit)
		defer t.Stop()
		select {
		case <-p.done:
			return
		case <-t.C:
		}
	}
	p.Signal(os.Kill)
	<-p.done
}

// keeperLimit is how long a keeper may take to kill what it keeps: a process that
// it keeps may have stopped it.
const keeperLimit = 10 * time.Second

// childSet holds the pids that this program started itself and has not reaped.
// The set of children belongs to the operating system's process, not to a
// value, which is why it is the one package variable here: a Group that
// inherits orphans has to tell them from children that somebody waits for.
type childSet struct {
	mu   sync.Mutex
	pids map[int]bool
}

var children childSet

// start starts c and registers it before anybody can take a snapshot in which
// the process exists and is unknown.
func (s *childSet) start(c *exec.Cmd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := c.Start(); err != nil {
		return err
	}
	if s.pids == nil {
		s.pids = map[int]bool{}
	}
	s.pids[c.Process.Pid] = true
	return nil
}

func (s *childSet) remove(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pids, pid)
}

// snapshot is the process table together with the children of that moment.
func (s *childSet) snapshot() ([]entry, map[int]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := table()
	return t, maps.Clone(s.pids), err
}

func containsSeparator(path string) bool {
	for i := range len(path) {
		if os.IsPathSeparator(path[i]) {
			return true
		}
	}
	return false
}
