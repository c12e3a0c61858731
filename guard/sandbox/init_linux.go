package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"git-ralph/internal/proc"
)

// hiddenCommand is the first argument by which this program knows that it is
// started as the first process of a command.
const hiddenCommand = "sandbox"

// order is what the outside tells the first process.
type order struct {
	Spec Spec     `json:"spec"`
	Argv []string `json:"argv"`
	Dir  string   `json:"dir"`
	// Env are the command's values of startVariables.
	Env []string `json:"env,omitempty"`
	// Hide are what hidden found. The outside has the time to look.
	Hide []string `json:"hide,omitempty"`
	// Covers are files that read otherwise inside.
	Covers []cover `json:"covers,omitempty"`
	// Probe runs the self-check of Probe instead of a command.
	Probe bool `json:"probe,omitempty"`
	// Leash is the descriptor whose end is the end of a command without
	// namespaces.
	Leash int `json:"leash,omitempty"`
}

// answer is what the first process tells the outside, one JSON line each:
// Ready or Error, and at the end Exit. The command cannot write there.
type answer struct {
	Ready bool   `json:"ready,omitempty"`
	Error string `json:"error,omitempty"`
	// Refused names the variant that was refused: home, proc, abstract.
	Refused string     `json:"refused,omitempty"`
	Exit    *proc.Exit `json:"exit,omitempty"`
	// Limit is why everything was ended: proc.LimitProcesses.
	Limit string `json:"limit,omitempty"`
}

// init serves the hidden command in every program that imports this package.
// Nothing else of the program may run before the sandbox is set up. Initializing
// the packages after this one takes longer than all that the command needs.
func init() { serve(os.Args) }

// serve does not return when args are those of the hidden command.
func serve(args []string) {
	if len(args) != 5 || args[1] != hiddenCommand || args[2] != "init" && args[2] != "keep" {
		return
	}
	orderFD, err1 := strconv.Atoi(args[3])
	answerFD, err2 := strconv.Atoi(args[4])
	if err := errors.Join(err1, err2); err != nil {
		fmt.Fprintln(os.Stderr, "git ralph sandbox is started by git ralph itself:", err)
		os.Exit(2)
	}
	i := &initProcess{answers: os.NewFile(uintptr(answerFD), "answers"), extra: orderFD - 3,
		namespaces: args[2] == "init", ordered: make(chan error, 1), layer: make(chan homeLayer, 1)}
	go i.receive(os.NewFile(uintptr(orderFD), "order")) // a thread for it takes its time once this one is locked
	runtime.LockOSThread()
	if !i.namespaces {
		// The end of the leash tells of the parent's death. This thread's death signal
		// would leave processes that only descent ties to the keeper.
		unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0)
	}
	// The main thread only waits from here on, and so it never blocks a signal.
	// The kernel drops what would end the first process of a namespace when the
	// main thread could take it. When that thread blocks the signal, as Go does
	// while it starts a process, the kernel gives it to another thread and ends
	// the process after all.
	done := make(chan int)
	go func() {
		runtime.LockOSThread()
		done <- i.run()
	}()
	os.Exit(<-done)
}

// initProcess is process 1 of the namespaces. Where there are none it is the
// command's keeper.
type initProcess struct {
	answers    *os.File
	extra      int // descriptors from 3 on that the command gets; the pipes of this process follow
	namespaces bool
	ordered    chan error // tells that order was read
	order      order
	layer      chan homeLayer
}

// run sets up the sandbox, starts the command, reaps, and returns the exit
// status: that of the command, 128+n after signal n, 125 when it never ran.
func (i *initProcess) run() int {
	const failed = 125
	if err := closeOnExec(3 + i.extra); err != nil {
		return i.fail(err, failed)
	}
	// From here on signals are passed on or dropped, not obeyed, whoever sends
	// them: the command could otherwise end its first process by a SEGV.
	signals := make(chan os.Signal, 64)
	caught := make(chan struct{})
	go func() { // each signal costs two thread switches; the set-up need not wait
		signal.Notify(signals, passedOn...)
		close(caught)
	}()
	var err error
	if i.namespaces {
		dropSignals()
		err = i.setUpNamespaces()
	} else {
		err = i.setUpKeeper()
	}
	mechanism := i.order.Spec.Mechanism
	if err == nil && mechanism != None {
		err = ownStreams(3+i.extra, mechanism)
	}
	<-caught
	if i.namespaces {
		unblockDropped()
	}
	if err != nil {
		return i.fail(err, failed)
	}
	if i.order.Probe {
		if err := selfCheck(i.order.Spec); err != nil {
			return i.fail(err, failed)
		}
		i.ready()
		return 0
	}
	env := givenEnv(os.Environ(), i.order.Env)
	if mechanism != None {
		env = innerEnv(env, i.order.Spec)
	}
	path, err := lookup(i.order.Argv[0], i.order.Dir, env)
	if err != nil {
		return i.fail(err, failed)
	}
	files := []uintptr{0, 1, 2}
	for n := range i.extra {
		files = append(files, uintptr(3+n))
	}
	attr := &syscall.ProcAttr{Dir: i.order.Dir, Env: env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}}
	if !i.namespaces {
		return i.keep(path, attr, signals)
	}
	pid, err := syscall.ForkExec(path, i.order.Argv, attr)
	if err != nil {
		return i.fail(fmt.Errorf("start %q: %w", path, err), failed)
	}
	i.closeStreams()
	i.ready()
	if spec := i.order.Spec; spec.MaxProcesses > 0 && spec.OwnProc {
		go i.watchProcesses(spec.MaxProcesses)
	}
	go func() {
		for s := range signals {
			syscall.Kill(-pid, s.(syscall.Signal))
		}
	}()
	return i.reap(pid)
}

// keep runs the command where no namespace ends the processes it leaves.
func (i *initProcess) keep(path string, attr *syscall.ProcAttr, signals <-chan os.Signal) int {
	const failed = 125
	leash := os.NewFile(uintptr(i.order.Leash), "leash")
	k, err := proc.NewKeeper(leash)
	if err == nil {
		err = k.Start(path, i.order.Argv, attr)
	}
	if err != nil {
		return i.fail(err, failed)
	}
	i.closeStreams()
	i.ready()
	go func() {
		for s := range signals {
			k.Signal(s.(syscall.Signal))
		}
	}()
	exit, err := k.Wait()
	if err != nil {
		return i.fail(err, failed)
	}
	i.say(answer{Exit: &exit})
	return exit.Code
}

// closeOnExec closes all descriptors from a number on for the command: the pipes
// to the outside, and those that this program inherited, such as a file that the
// user's shell holds open.
func closeOnExec(from int) error {
	err := unix.CloseRange(uint(from), math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	list, lerr := os.ReadDir("/proc/self/fd") // older than Linux 5.11
	if lerr != nil {
		return fmt.Errorf("close inherited descriptors: %w", errors.Join(err, lerr))
	}
	for _, e := range list {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= from {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}

// closeStreams closes our copies of the command's streams: their readers wait
// for the end.
func (i *initProcess) closeStreams() {
	for fd := range 3 + i.extra {
		syscall.Close(fd)
	}
}

// passedOn are the signals that the command gets when we do.
var passedOn = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
	syscall.SIGUSR2}

// dropSignals resets all other signals that would end a Go program to the
// default action. The kernel drops those for the first process of a pid
// namespace; the runtime's handlers would exit or throw. An action of zeros is
// the default in every layout of the structure.
func dropSignals() {
	var action [8]uint64
	for _, s := range []syscall.Signal{
		syscall.SIGILL, syscall.SIGTRAP, syscall.SIGABRT, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGPIPE,
		syscall.SIGALRM,
		syscall.SIGSTKFLT, syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGVTALRM, syscall.SIGPROF, syscall.SIGIO,
		syscall.SIGPWR, syscall.SIGSYS,
	} {
		const setSize = 8 // bytes of the kernel's signal set
		syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action)), 0, setSize, 0, 0)
	}
}

// unblockDropped keeps the signals of dropSignals unblocked while a Go handler
// runs. Go's handlers block all signals. The kernel does not drop a signal that
// the main thread blocks, and the whole namespace would die of it.
func unblockDropped() {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		return // their structure is laid out otherwise
	}
	const setSize, handler, mask = 8, 0, 3 // bytes of a set; words of the structure
	var actions [65][8]uint64              // by signal
	var dropped uint64
	for s := 1; s < len(actions); s++ {
		syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), 0, uintptr(unsafe.Pointer(&actions[s])), setSize, 0, 0)
		if actions[s][handler] == 0 {
			dropped |= 1 << (s - 1)
		}
	}
	for s := 1; s < len(actions); s++ {
		if actions[s][handler] > 1 { // neither dropped nor ignored
			actions[s][mask] &^= dropped
			syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&actions[s])), 0, setSize, 0, 0)
		}
	}
}

// reap waits for the command and for every orphan until then. Its return ends
// the namespace, and with it everything that still runs there.
func (i *initProcess) reap(pid int) int {
	for {
		var ws syscall.WaitStatus
		got, err := syscall.Wait4(-1, &ws, 0, nil)
		if err == syscall.EINTR || err == nil && got != pid {
			continue
		}
		if err != nil {
			return i.fail(fmt.Errorf("wait for the command: %w", err), 125)
		}
		exit := proc.Exit{Code: ws.ExitStatus()}
		if ws.Signaled() {
			exit = proc.Exit{Code: 128 + int(ws.Signal()), Signal: int(ws.Signal())}
		}
		// A shell that cannot fork any more ends before it is counted; its processes still run.
		if spec := i.order.Spec; exit.Code != 0 && spec.MaxProcesses > 0 && spec.OwnProc &&
			countProcesses(spec.MaxProcesses) >= spec.MaxProcesses {
			i.say(answer{Limit: proc.LimitProcesses})
			return 128 + int(syscall.SIGKILL)
		}
		i.say(answer{Exit: &exit})
		return exit.Code
	}
}

// ready says that the command was started. Encoding it would take longer than many commands.
func (i *initProcess) ready() { i.answers.WriteString(`{"ready":true}` + "\n") }

func (i *initProcess) say(a answer) {
	b, err := json.Marshal(a)
	if err == nil {
		i.answers.Write(append(b, '\n'))
	}
}

func (i *initProcess) fail(err error, code int) int {
	a := answer{Error: err.Error()}
	var he *homeError
	var pe *procError
	var ae *abstractError
	switch {
	case errors.As(err, &he):
		a.Refused = "home"
	case errors.As(err, &pe):
		a.Refused = "proc"
	case errors.As(err, &ae):
		a.Refused = "abstract"
	}
	i.say(a)
	return code
}

// startVariables are variables that the first process sets for itself.
var startVariables = []string{"GODEBUG", "GOMAXPROCS"}

// givenEnv puts the command's own startVariables back.
func givenEnv(env, given []string) []string {
	env = slices.DeleteFunc(env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(startVariables, name)
	})
	return append(env, given...)
}

// innerEnv drops variables that name folders which do not exist inside, and
// takes git's credential helpers away, whatever the caller has done about them.
// With Landlock the home folder is another one.
func innerEnv(env []string, spec Spec) []string {
	env = withoutHelpers(env)
	if spec.Mechanism == Landlock {
		return landlockEnv(env, spec)
	}
	open := append([]string{spec.Worktree}, spec.Writable...)
	out := env[:0:0]
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		switch name {
		case "TMPDIR", "TMP", "TEMP", "TEMPDIR", "GOTMPDIR", "XDG_RUNTIME_DIR":
			if filepath.IsAbs(value) && !withinAny(value, open) && filepath.Clean(value) != "/tmp" {
				continue
			}
		}
		out = append(out, kv)
	}
	return out
}

// withoutHelpers adds an empty credential helper, which resets all that are
// configured, to the settings that the environment may already hold.
func withoutHelpers(env []string) []string {
	n, err := strconv.Atoi(proc.Getenv(env, "GIT_CONFIG_COUNT"))
	if err != nil || n < 0 {
		n = 0
	}
	for _, kv := range []string{"GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_ASKPASS="} {
		name, value, _ := strings.Cut(kv, "=")
		env = proc.SetEnv(env, name, value)
	}
	env = proc.SetEnv(env, "GIT_CONFIG_COUNT", strconv.Itoa(n+1))
	env = proc.SetEnv(env, fmt.Sprintf("GIT_CONFIG_KEY_%d", n), "credential.helper")
	return proc.SetEnv(env, fmt.Sprintf("GIT_CONFIG_VALUE_%d", n), "")
}

// lookup finds the program as the command's surroundings show it.
func lookup(name, dir string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, nil
	}
	if p := proc.Look(name, env); p != "" {
		return p, nil
	}
	return "", fmt.Errorf("start %q: not found on PATH", name)
}

// selfCheck tries to break out in the obvious ways.
func selfCheck(spec Spec) error {
	probe := filepath.Join(spec.Worktree, "probe")
	if err := os.WriteFile(probe, nil, 0o600); err != nil {
		return fmt.Errorf("the worktree is not writable: %w", err)
	}
	for _, g := range spec.GitDirs {
		if err := os.WriteFile(filepath.Join(g, "probe"), nil, 0o600); err == nil {
			return fmt.Errorf("%q is writable", g)
		}
		if spec.Mechanism == Namespaces {
			if err := unix.Unmount(g, unix.MNT_DETACH); err == nil {
				return fmt.Errorf("%q could be unmounted", g)
			}
		}
	}
	for _, f := range spec.Shares {
		name := filepath.Join(f.Target, ".git-ralph-probe")
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			return fmt.Errorf("write to a shared folder: %w", err)
		}
		os.Remove(name)
		if _, err := os.Lstat(filepath.Join(f.Lower, ".git-ralph-probe")); err == nil {
			return fmt.Errorf("what is written to %q reaches the folder that is shared", f.Target)
		}
	}
	if spec.Home != "" && (spec.HomeMode == HomeOverlay || spec.HomeMode == HomeCopy) && spec.Mechanism == Namespaces {
		if err := os.WriteFile(filepath.Join(spec.Home, ".git-ralph-probe"), nil, 0o600); err != nil {
			return &homeError{err}
		}
		os.Remove(filepath.Join(spec.Home, ".git-ralph-probe"))
	}
	return nil
}
