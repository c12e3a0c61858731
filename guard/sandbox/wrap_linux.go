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
	work    string   // the overlay's own folder there
	once    string   // the folder of the home's changes that goes with the command, or ""
	layer   *os.File // the lock of what is written to shared folders, or nil
	apart   string   // the folder of that for this command alone, or ""
	refused string
	// ready is closed when started has read the first answer; the command may
	// have ended by then.
	ready chan struct{}
}

func wrap(cmd proc.Command, o order) (*wrapped, error) {
	w := &wrapped{ready: make(chan struct{}), plain: o.Spec.Mechanism == None}
	if len(cmd.Argv) == 0 && !o.Probe {
		return w, errors.New("no command")
	}
	o.Argv, o.Dir, o.Extra = cmd.Argv, cmd.Dir, len(cmd.ExtraFiles)
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
	w.work = filepath.Join(o.Spec.HomeUpper, "work")
	var to *os.File
	if w.order, to, err = os.Pipe(); err != nil {
		w.close()
		return w, err
	}
	go give(o, cmd.Env, to)
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
		if w.cmd.Sys, err = namespaceAttr(o.Spec.Network); err != nil {
			w.close()
			return w, err
		}
	}
	return w, nil
}

// give tells the first process its order. It looks for what is to be hidden while that
// process starts.
func give(o order, env []string, to *os.File) {
	defer to.Close()
	if o.Spec.Mechanism != None && !o.Probe {
		covers, logins, _ := gitCovers(o.Spec, env)
		o.Spec.Hidden = slices.Concat(o.Spec.Hidden, logins)
		if o.Spec.Mechanism == Namespaces {
			o.Covers = covers
		}
	}
	if o.Spec.Mechanism == Namespaces {
		o.Hide = hidden(o.Spec)
	}
	json.NewEncoder(to).Encode(o) // a process that does not read it has ended, and started says so
}

// quickStart is the environment for starting our own program as the first
// process. The Go runtime then does not read cgroup limits and prepares for
// two processors, however many there are. given are the values that were
// replaced.
func quickStart(env []string) (quick, given []string) {
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains(startVariables, name) {
			given = append(given, kv)
			continue
		}
		quick = append(quick, kv)
	}
	return append(quick, "GODEBUG=containermaxprocs=0,updatemaxprocs=0", "GOMAXPROCS=2"), given
}

// namespaceAttr asks for the namespaces. An ordinary user stays the user; root
// keeps all ids that there are, so that files of other owners stay usable.
func namespaceAttr(net Network) (*syscall.SysProcAttr, error) {
	attr := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | cgroupFlag(),
	}
	if net != NetworkOpen {
		attr.Cloneflags |= unix.CLONE_NEWNET
	}
	if os.Getuid() != 0 {
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		attr.AmbientCaps = setupCaps
		return attr, nil
	}
	var err error
	if attr.UidMappings, err = allIDs("/proc/self/uid_map"); err != nil {
		return nil, err
	}
	if attr.GidMappings, err = allIDs("/proc/self/gid_map"); err != nil {
		return nil, err
	}
	attr.GidMappingsEnableSetgroups = true
	return attr, nil
}

// allIDs maps each id of this user namespace to itself.
func allIDs(file string) ([]syscall.SysProcIDMap, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []syscall.SysProcIDMap
	for line := range strings.Lines(string(b)) {
		var inside, outside, size int
		if _, err := fmt.Sscan(line, &inside, &outside, &size); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		out = append(out, syscall.SysProcIDMap{ContainerID: inside, HostID: inside, Size: size})
	}
	return out, nil
}

// started waits until the sandbox stands and the command was started in it.
func (w *wrapped) started(err error) error {
	defer close(w.ready)
	w.order.Close()
	w.answerW.Close()
	w.leashR.Close()
	if err != nil {
		w.close()
		return err
	}
	a, err := w.next()
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
	if w.home != nil && w.once == "" {
		clearWork(w.work)
	}
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
	for _, f := range []*os.File{w.order, w.answerW, w.answerR, w.leashR, w.leash, w.home, w.layer} {
		f.Close() // nil and closed ones are no matter
	}
	for _, dir := range []string{w.once, w.apart} {
		if dir != "" {
			RemoveHomeUpper(dir) // what cannot be removed now, SweepHomes does
		}
	}
}
