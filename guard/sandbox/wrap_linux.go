package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"git-ralph/internal/proc"
)

// selfPath is this very program, also when its file was replaced or deleted.
const selfPath = "/proc/self/exe"

// Wrapper returns what puts commands into the sandbox that spec describes.
// Commands whose sandbox cannot be made as described do not start.
func Wrapper(spec Spec) (proc.Wrapper, error) {
	if err := spec.validate(); err != nil {
		return nil, err
	}
	if spec.Mechanism == Landlock {
		if err := landlockFits(spec); err != nil {
			return nil, fmt.Errorf("sandbox: %w", err)
		}
	}
	return func(cmd proc.Command) (proc.Wrapped, error) {
		w, err := wrap(cmd, order{Spec: spec})
		return w.asWrapped(), err
	}, nil
}

// Keeper runs a command without a sandbox. No process of it outlives the command
// or the program that started it.
func Keeper(cmd proc.Command) (proc.Wrapped, error) {
	_, err := os.Stat(selfPath) // without /proc no descendants can be found either
	if err != nil || len(cmd.Argv) == 0 || !strings.Contains(cmd.Argv[0], "/") && proc.Look(cmd.Argv[0], cmd.Env) == "" {
		return proc.Wrapped{Command: cmd}, nil // Start reports what is missing
	}
	w, err := wrap(cmd, order{Spec: Spec{Mechanism: None}})
	return w.asWrapped(), err
}

func (w *wrapped) asWrapped() proc.Wrapped {
	out := proc.Wrapped{Command: w.cmd, Started: w.started, Exit: w.exit, Contained: w.leash == nil}
	if w.leash != nil {
		out.End = func() { w.leash.Close() }
	}
	return out
}

// wrapped is a command inside a sandbox and the two pipes to its first process.
type wrapped struct {
	cmd     proc.Command
	order   *os.File
	answerW *os.File
	answers *bufio.Reader
	answerR *os.File
	leash   *os.File // its end is the end of a command without namespaces, or nil
	leashR  *os.File
	plain   bool     // there is no sandbox, only a keeper
	home    *os.File // the lock of the home's changes, or nil
	once    string   // the folder of the home's changes that goes with the command, or ""
	layer   *os.File // the lock of what is written to shared folders, or nil
	apart   string   // the folder of that for this command alone, or ""
	refused string
	ids     *idMaps       // of the user namespace, or nil
	mayGo   chan bool     // whether the first process may have its order
	failed  chan error    // why it gets none
	worked  chan struct{} // closed when the folders of the home are ready, or nil
	// ready is closed when started has read the first answer; the command may
	// have ended by then.
	ready chan struct{}
}

func wrap(cmd proc.Command, o order) (*wrapped, error) {
	w := &wrapped{ready: make(chan struct{}), mayGo: make(chan bool, 1), failed: make(chan error, 1),
		plain: o.Spec.Mechanism == None}
	if len(cmd.Argv) == 0 && !o.Probe {
		return w, errors.New("no command")
	}
	o.Argv, o.Dir = cmd.Argv, cmd.Dir
	if o.Spec.TempBytes <= 0 && o.Spec.Mechanism == Namespaces {
		o.Spec.TempBytes = memory() / 4
	}
	cmd.Env, o.Env = quickStart(cmd.Env)
	if o.Dir == "" {
		o.Dir = o.Spec.Worktree
	}
	var err error
	if w.once, err = ownHome(&o.Spec); err == nil {
		w.home, err = keepHome(o.Spec)
	}
	if err != nil {
		w.refused = "home"
		w.close()
		return w, err
	}
	if w.layer, w.apart, err = keepLayer(&o.Spec); err != nil {
		w.refused = "share"
		w.close()
		return w, err
	}
	n := 3 + len(cmd.ExtraFiles)
	if o.Spec.Mechanism != Namespaces {
		o.Leash = n + 2
		if w.leashR, w.leash, err = os.Pipe(); err != nil {
			w.close()
			return w, err
		}
	}
	var to *os.File
	if w.order, to, err = os.Pipe(); err != nil {
		w.close()
		return w, err
	}
	w.worked = make(chan struct{})
	go w.give(o, cmd.Env, to)
	if w.answerR, w.answerW, err = os.Pipe(); err != nil {
		w.close()
		return w, err
	}
	w.answers = bufio.NewReader(w.answerR)

	w.cmd = cmd
	w.cmd.ExtraFiles = append(append([]*os.File{}, cmd.ExtraFiles...), w.order, w.answerW)
	if w.leashR != nil {
		w.cmd.ExtraFiles = append(w.cmd.ExtraFiles, w.leashR)
	}
	word := "keep"
	if o.Spec.Mechanism == Namespaces {
		word = "init"
	}
	w.cmd.Argv = []string{selfPath, hiddenCommand, word, strconv.Itoa(n), strconv.Itoa(n + 1)}
	w.cmd.Dir = "/"
	if o.Spec.Mechanism == Namespaces {
		w.cmd.Sys = namespaceAttr(o.Spec.Network)
		if w.ids, err = namespaceIDs(); err != nil {
			w.close()
			return w, err
		}
	}
	return w, nil
}

// give tells the first process its order, unless that may not go on. It makes ready what the
// order needs while that process starts.
func (w *wrapped) give(o order, env []string, to *os.File) {
	defer to.Close()
	if w.home != nil {
		err := readyWork(filepath.Join(o.Spec.HomeUpper, "work"))
		if err != nil {
			w.failed <- err
		}
		close(w.worked)
		if err != nil {
			return
		}
	}
	if o.Spec.Mechanism != None && !o.Probe {
		covers, logins, _ := gitCovers(o.Spec, env)
		o.Spec.Hidden = slices.Concat(o.Spec.Hidden, logins, movedLogins(o.Spec, os.Environ()))
		if o.Spec.Mechanism == Namespaces {
			o.Covers = covers
		}
	}
	if o.Spec.Mechanism == Namespaces {
		o.Hide = hidden(o.Spec)
	}
	if <-w.mayGo {
		json.NewEncoder(to).Encode(o) // a process that does not read it has ended, and started says so
	}
}

// quickStart is the environment for starting our own program as the first
// process. The Go runtime then does not read cgroup limits, takes no samples of
// allocations, and prepares for two processors, however many there are. given are the
// values that were replaced.
func quickStart(env []string) (quick, given []string) {
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains(startVariables, name) {
			given = append(given, kv)
			continue
		}
		quick = append(quick, kv)
	}
	return append(quick, "GODEBUG=containermaxprocs=0,updatemaxprocs=0,memprofilerate=0", "GOMAXPROCS=2"), given
}

// namespaceAttr asks for the namespaces. The process starts with ids that are not mapped
// and with the capabilities of the set-up; see namespaceIDs.
//
// CLONE_VM and CLONE_VFORK are what package syscall adds by itself where there is no user
// namespace. Without them the kernel copies the page tables of this program, which takes
// 1 ms for 20 MB, and this program then faults on each page that it writes. Package
// syscall leaves them out since it writes mappings while the process waits before its
// exec. Here the process waits for its order.
func namespaceAttr(net Network) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_VM | unix.CLONE_VFORK |
			unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | cgroupFlag(),
		AmbientCaps: setupCaps,
	}
	if net != NetworkOpen {
		attr.Cloneflags |= unix.CLONE_NEWNET
	}
	if os.Getuid() == 0 {
		attr.AmbientCaps = slices.Concat(setupCaps, rootCaps)
	}
	return attr
}

// idMaps are the contents of the files uid_map, gid_map and setgroups of a process.
type idMaps struct{ uids, gids, setgroups string }

// namespaceIDs are the ids of the namespaces. An ordinary user stays the user; root keeps
// all ids that there are, so that files of other owners stay usable.
func namespaceIDs() (*idMaps, error) {
	if os.Getuid() != 0 {
		one := func(id int) string { return fmt.Sprintf("%d %d 1\n", id, id) }
		return &idMaps{one(os.Getuid()), one(os.Getgid()), "deny"}, nil
	}
	uids, err := allIDs("/proc/self/uid_map")
	if err != nil {
		return nil, err
	}
	gids, err := allIDs("/proc/self/gid_map")
	return &idMaps{uids, gids, "allow"}, err
}

// allIDs maps each id of this user namespace to itself.
func allIDs(file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for line := range strings.Lines(string(b)) {
		var inside, outside, size int
		if _, err := fmt.Sscan(line, &inside, &outside, &size); err != nil {
			return "", fmt.Errorf("read %s: %w", file, err)
		}
		fmt.Fprintln(&out, inside, inside, size)
	}
	return out.String(), nil
}

// write maps the ids of a process in a new user namespace. Nil maps none.
func (m *idMaps) write(pid int) error {
	if m == nil {
		return nil
	}
	for _, f := range [][2]string{{"uid_map", m.uids}, {"setgroups", m.setgroups}, {"gid_map", m.gids}} {
		fd, err := unix.Open(fmt.Sprintf("/proc/%d/%s", pid, f[0]), unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			_, err = unix.Write(fd, []byte(f[1])) // in one piece, as the kernel requires it
			unix.Close(fd)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", f[0], err)
		}
	}
	return nil
}

// started waits until the sandbox stands and the command was started in it.
func (w *wrapped) started(pid int, err error) error {
	defer close(w.ready)
	w.order.Close()
	w.answerW.Close()
	w.leashR.Close()
	if err != nil {
		w.close()
		return err
	}
	if err := w.ids.write(pid); err != nil {
		w.close()
		return fmt.Errorf("sandbox: map the ids of its first process: %w", err)
	}
	w.mayGo <- true
	a, err := w.next()
	select {
	case err := <-w.failed: // and so it read no order
		w.refused = "home"
		w.close()
		return fmt.Errorf("sandbox: %w", err)
	default:
	}
	switch {
	case err != nil:
		w.close()
		return errors.New("sandbox: its first process ended before the command was started")
	case a.Error != "":
		w.refused = a.Refused
		w.close()
		if w.plain {
			return errors.New(a.Error)
		}
		return fmt.Errorf("sandbox: %s", a.Error)
	case !a.Ready:
		w.close()
		return errors.New("sandbox: its first process gave no answer")
	}
	return nil
}

// exit tells the end of the command from that of the first process: a status
// of 137 is a signal only when one ended the command.
func (w *wrapped) exit(e proc.Exit) proc.Exit {
	<-w.ready
	defer w.close()
	a, err := w.next()
	switch {
	case err == nil && a.Exit != nil:
		return *a.Exit
	case err == nil && a.Limit != "":
		return proc.Exit{Code: 128 + int(syscall.SIGKILL), Signal: int(syscall.SIGKILL), Limit: a.Limit}
	}
	return e
}

func (w *wrapped) next() (answer, error) {
	var a answer
	line, err := w.answers.ReadBytes('\n')
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(line, &a)
}

func (w *wrapped) close() {
	select {
	case w.mayGo <- false:
	default: // its order was or will be given
	}
	if w.home != nil && w.worked != nil {
		<-w.worked // before the lock goes
	}
	for _, f := range []*os.File{w.order, w.answerW, w.answerR, w.leashR, w.leash, w.home, w.layer} {
		f.Close() // nil and closed ones are no matter
	}
	for _, dir := range []string{w.once, w.apart} {
		if dir != "" {
			RemoveHomeUpper(dir) // what cannot be removed now, SweepHomes does
		}
	}
}
