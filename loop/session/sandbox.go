package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"git-ralph/internal/proc"
)

// Home says what a process sees of the home folder: the user's own, covered by
// what an earlier command left in Layer. Its own writes are discarded at its
// end, or kept in Layer with Fill.
type Home struct {
	Layer string // "" = none
	Fill  bool
}

// Use says what a sandboxed process is for.
type Use struct {
	// Agent: the client itself, which needs its model and its login. Everything
	// else is a check, a criterion or a step.
	Agent bool
	// Driver is the client's: it sees its own login, and nobody else sees any.
	Driver string
	// Dir is the worktree or checkout that is writable.
	Dir string
	// Home is what is seen of the home folder, which is another one for the agent.
	Home Home
	// ReadOnly mounts Dir read-only as well (planning).
	ReadOnly bool
	// ReadOnlyPaths below Dir belong to the user: nested repositories,
	// submodules, oversized files.
	ReadOnlyPaths []string
	// RunDir is the private folder of the run.
	RunDir string
	// Files are commands and scripts that must be visible.
	Files []string
}

// Sandbox is the kernel boundary of this run.
type Sandbox interface {
	// Mechanism is what `status` shows: namespaces, landlock or off.
	Mechanism() string
	// Wrapper puts commands into the sandbox; nil when it is off.
	Wrapper(Use) proc.Wrapper
	// OwnLayer names a layer of the home folder that this process alone uses.
	OwnLayer(id string) string
	// HasLayer says whether a layer was filled and is still there.
	HasLayer(layer string) bool
	// DropLayer removes a layer.
	DropLayer(layer string)
	// Inside is the path under which a process in the sandbox sees a file of
	// the run directory.
	Inside(runDir, path string) string
}

// LoginKeeper is a Sandbox that brings the login back which a client has renewed
// inside. It is called when no process of the agent is left.
type LoginKeeper interface{ KeepLogin() error }

// Sandboxed lets f start processes in the sandbox, as a process group marked with
// the id of an event. When it returns, all of them have ended. Without a run folder
// in use they get one of their own. All this is set up with the first process: most
// iterations have no steps, and even a vain search of the process table takes time.
func (h *Host) Sandboxed(id string, use Use, f func(Starter) error) error {
	b := &box{host: h, id: id, use: use}
	err := f(b.start)
	if cerr := b.close(); cerr != nil {
		err = errors.Join(err, fmt.Errorf("end the processes that were started: %w", cerr))
	}
	return err
}

// box is the group of processes of one call of Sandboxed, once there are any.
type box struct {
	host *Host
	id   string
	use  Use

	mu     sync.Mutex
	group  *proc.Group
	undo   []func() // in the order in which they were made
	closed bool
}

// start is a Starter.
func (b *box) start(ctx context.Context, cmd proc.Command) (*proc.Process, error) {
	g, err := b.open()
	if err != nil {
		return nil, err
	}
	return g.Start(ctx, cmd)
}

func (b *box) open() (*proc.Group, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errors.New("start process: the group is closed")
	}
	if b.group != nil {
		return b.group, nil
	}
	if b.use.RunDir == "" {
		dir, err := NewRunDir(b.host.RunBase)
		if err != nil {
			return nil, err
		}
		b.undo = append(b.undo, func() { os.RemoveAll(dir) })
		b.use.RunDir = dir
	}
	done, err := b.host.Repo.NoteRunning(b.id)
	if err != nil {
		return nil, err
	}
	b.undo = append(b.undo, done)
	b.group, err = proc.NewGroup(proc.GroupOptions{EventID: b.id, Wrap: b.host.Sandbox.Wrapper(b.use)})
	return b.group, err
}

func (b *box) close() error {
	b.mu.Lock()
	b.closed = true
	g := b.group
	b.mu.Unlock()
	var err error
	if g != nil {
		err = g.Close()
	}
	for _, undo := range slices.Backward(b.undo) {
		undo()
	}
	return err
}

// KeepLogin brings a login back that the client has renewed in the sandbox.
func (h *Host) KeepLogin() {
	if k, ok := h.Sandbox.(LoginKeeper); ok {
		if err := k.KeepLogin(); err != nil {
			h.Log("the client's renewed login was not brought back: %v", err)
		}
	}
}
