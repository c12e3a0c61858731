package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Keeper starts a command and stays its parent, so that all that the command
// starts can be found by descent. Orphans come to the keeper, even those that
// changed their session and emptied their environment. It is a separate process
// because the program that wants the command may run several at a time, and may
// be killed.
type Keeper struct {
	pid   int
	leash io.Reader
}

// NewKeeper makes this process a keeper. The command and all its descendants
// are killed when leash ends, which happens when the program with its other end
// does. The caller has no parent death signal.
func NewKeeper(leash io.Reader) (*Keeper, error) {
	if err := adoptOrphans(); err != nil {
		return nil, err
	}
	// Nobody but root may trace it or open its descriptors.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("set dumpable: %w", err)
	}
	return &Keeper{leash: leash}, nil
}

// Start starts the command in a session of its own, on the calling thread, which
// must live as long as the command shall.
func (k *Keeper) Start(path string, argv []string, attr *syscall.ProcAttr) error {
	sys := syscall.SysProcAttr{Setsid: true}
	dieWithParent(&sys)
	attr.Sys = &sys
	children.mu.Lock()
	defer children.mu.Unlock()
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return fmt.Errorf("start %q: %w", path, err)
	}
	k.pid, children.pids = pid, map[int]bool{pid: true}
	go func() {
		io.Copy(io.Discard, k.leash)
		for { // the command may still be starting others
			(&sweeper{find: descendants, limit: time.Minute}).run()
		}
	}()
	return nil
}

// Signal sends a signal to the group of the command.
func (k *Keeper) Signal(s syscall.Signal) { syscall.Kill(-k.pid, s) }

// Wait returns the end of the command when none of its descendants is left: as
// in a sandbox, they do not outlive it. Those that left its group are asked to
// end first.
func (k *Keeper) Wait() (Exit, error) {
	var ws syscall.WaitStatus
	for {
		got, err := syscall.Wait4(-1, &ws, 0, nil)
		if got == k.pid {
			break
		}
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return Exit{}, fmt.Errorf("wait for the command: %w", err)
		}
	}
	children.remove(k.pid)
	k.Signal(syscall.SIGKILL)
	exit := Exit{Code: ws.ExitStatus()}
	if ws.Signaled() {
		exit = Exit{Code: 128 + int(ws.Signal()), Signal: int(ws.Signal())}
	}
	for {
		got, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.ECHILD) {
			return exit, nil // without a child there is no descendant
		}
		if got != 0 || err != nil {
			continue
		}
		if _, err := (&sweeper{find: descendants, grace: DefaultGrace, limit: time.Minute}).run(); err != nil {
			return exit, nil // the program that holds the leash searches, too, and reports it
		}
	}
}

// descendants finds what descends from this process.
func descendants(t []entry, _ map[int]bool) []entry {
	parent := make(map[int]int, len(t))
	for _, e := range t {
		parent[e.pid] = e.ppid
	}
	self := os.Getpid()
	var out []entry
	for _, e := range t {
		pid := e.pid
		for range t { // a table that was read while it changed may hold a cycle
			if pid = parent[pid]; pid == 0 || pid == self {
				break
			}
		}
		if pid == self {
			out = append(out, e)
		}
	}
	return out
}
