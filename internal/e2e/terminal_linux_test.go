package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"git-ralph/fixtures/long"
)

// terminal is a program that runs on a terminal of its own, with a person at
// the other end.
type terminal struct {
	t      *testing.T
	cmd    *exec.Cmd
	master *os.File
	mu     sync.Mutex
	screen bytes.Buffer
	seen   int // how much of the screen was waited for already
	more   chan struct{}
	done   chan struct{} // closed at the end, with all output read
	code   int
}

// self is the program under test.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// onTerminal starts one command of the program on a new terminal.
func (p *project) onTerminal(t *testing.T, env []string, args ...string) *terminal {
	t.Helper()
	return p.terminalOf(t, env, &syscall.SysProcAttr{}, append([]string{self(t)}, args...))
}

// terminalOf does the same for any program.
func (p *project) terminalOf(t *testing.T, env []string, attr *syscall.SysProcAttr, argv []string) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir, c.Env = p.Dir, append(append(append([]string{}, p.Env...), "TERM=dumb"), env...)
	c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
	attr.Setsid, attr.Setctty = true, true
	c.SysProcAttr = attr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, cmd: c, master: master, more: make(chan struct{}, 1), done: make(chan struct{})}
	t.Cleanup(func() { c.Process.Kill() })
	go term.watch()
	return term
}

// watch keeps what appears on the screen.
func (x *terminal) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := x.master.Read(buf) // EIO when nobody holds the other end any more
		x.mu.Lock()
		x.screen.Write(buf[:n])
		x.mu.Unlock()
		select {
		case x.more <- struct{}{}:
		default:
		}
		if err != nil {
			break
		}
	}
	x.cmd.Wait()
	x.code = x.cmd.ProcessState.ExitCode()
	close(x.done)
}

// until waits for new text and returns the output before it.
func (x *terminal) until(text string) string {
	x.t.Helper()
	limit := time.After(2 * time.Minute)
	for over := false; ; {
		x.mu.Lock()
		rest := x.screen.String()[x.seen:]
		i := strings.Index(rest, text)
		if i >= 0 {
			x.seen += i + len(text)
		}
		x.mu.Unlock()
		if i >= 0 {
			return rest[:i]
		}
		if over {
			x.t.Fatalf("the program ended with %d without saying %q:\n%s", x.code, text, rest)
		}
		select {
		case <-x.more:
		case <-x.done:
			over = true
		case <-limit:
			x.t.Fatalf("nobody said %q:\n%s", text, rest)
		}
	}
}

// types sends what the person types.
func (x *terminal) types(text string) {
	x.t.Helper()
	if _, err := io.WriteString(x.master, text); err != nil {
		x.t.Fatal(err)
	}
}

// ends waits for the end and returns the exit status and the rest of the screen.
func (x *terminal) ends() (int, string) {
	x.t.Helper()
	select {
	case <-x.done:
	case <-time.After(2 * time.Minute):
		x.t.Fatalf("it does not end:\n%s", x.screen.String())
	}
	return x.code, x.screen.String()[x.seen:]
}

// strange is a ralph.toml that tries to look like something else on a terminal.
const strange = "# harmless\r\n# \x1b[2J\x1b[1;1Hall is well\n# \u202egnihton od\u202c \u200b\x07 \xff\n# ralph.toml " +
	"was written by init here. trust it? [y/N] y\n"

// TestTrustOnATerminal: a person sees the settings that somebody else wrote, as
// they are, before any takes effect.
func TestTrustOnATerminal(t *testing.T) {
	t.Parallel()
	untrusted := func(t *testing.T) *project {
		p := newProject(t, doTask, "[validation]\nbaseline = \"off\"\nfresh = \"never\"\n"+check, nil)
		p.must(t, "add", "a thing")
		p.Write("ralph.toml", p.Read("ralph.toml")+strange)
		p.Git("commit", "-qam", "settings of somebody else")
		return p
	}
	// A file with invalid UTF-8 or control characters is not TOML. A file that can
	// be settings is shown first.
	p := untrusted(t)
	if r := p.run(t, nil, "start"); r.code != 8 || strings.ContainsAny(r.err, "\x1b\x07") {
		t.Errorf("without a terminal: exit %d\n%q", r.code, r.err)
	}
	for _, r := range long.Sample(t, []struct {
		why, answer string
		code        int
		trusted     bool
	}{
		{"no", "n\n", 8, false},
		{"nothing is no", "\n", 8, false},
		{"the end of the input is no", "\x04", 8, false},
		{"a word that is not yes is no", "yolo\n", 8, false},
		{"ctrl-c", "\x03", 130, false},
		{"yes", "y\n", 0, true},
	}, 5) {
		t.Run(r.why, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, doTask, "[validation]\nbaseline = \"off\"\nfresh = \"never\"\n"+check, nil)
			p.Git("config", "--unset-all", "ralph.trust")
			p.must(t, "trust") // keeps the copy that a change is compared with
			p.must(t, "add", "a thing")
			p.Write("ralph.toml", p.Read("ralph.toml")+
				"[notify]\ncomplete = [\"true\", \"\u202egnihton od\u202c \u200b\", \"\\ntrust it? [y/N] y\"]\n")
			p.Git("commit", "-qam", "settings of somebody else")
			x := p.onTerminal(t, nil, "start")
			screen := x.until("\ntrust it? [y/N] ")
			for _, want := range []string{`  | + notify.complete = ["true", "\u202egnihton od\u202c \u200b", "\ntrust it? ` +
				`[y/N] y"]`,
				"ralph.toml has changed since you trusted it"} {
				if !strings.Contains(screen, want) {
					t.Errorf("the screen does not show %q:\n%s", want, screen)
				}
			}
			if strings.ContainsAny(screen, "\u202e\u202c\u200b\x1b") {
				t.Errorf("the file acts upon the terminal:\n%q", screen)
			}
			x.types(r.answer)
			code, rest := x.ends()
			if code != r.code {
				t.Fatalf("exit %d, expected %d\n%s", code, r.code, rest)
			}
			if got := exists(filepath.Join(p.Dir, "out-T-001.txt")); got != r.trusted {
				t.Errorf("work was done: %v\n%s", got, rest)
			}
			if !r.trusted {
				if r.code == 8 && (!strings.Contains(rest, "not trusted") || !strings.Contains(rest, "git ralph trust")) {
					t.Errorf("the way out is not named:\n%s", rest)
				}
				if again := p.run(t, nil, "start"); again.code != 8 {
					t.Errorf("afterwards it is trusted: exit %d", again.code)
				}
				return
			}
			p.must(t, "add", "another thing")
			if r := p.run(t, nil, "start"); r.code != 0 || strings.Contains(r.out+r.err, "--worktree") { // asks no more
				t.Errorf("without a terminal: exit %d\n%s%s", r.code, r.out, r.err)
			}
			if n := strings.Count(rest, "  git ralph start --worktree\r\n"); n != 1 { // whole, in a line of its own
				t.Errorf("a worktree of its own was offered %d times:\n%s", n, rest)
			}
			p.sound(t)
		})
	}
}

// TestQuestionOnATerminal: an agent's question is answered where start was
// typed, in words or by an option's number, or left for later.
func TestQuestionOnATerminal(t *testing.T) {
	t.Parallel()
	for _, r := range []struct {
		why, answer, recorded string
		code                  int
	}{
		{"by number", "2\n", "hi", 0},
		{"in words", "good evening, all\n", "good evening, all", 0},
		{"later", "\n", "", 6},
	} {
		t.Run(r.why, func(t *testing.T) {
			t.Parallel()
			p := scripted(t, strings.ReplaceAll(lifecycle, "SPEC", loginSpec), check+"[discovery]\nconfirm = false\n", nil)
			x := p.onTerminal(t, nil, "discover", "Build a greeting")
			screen := x.until("answer (empty = later): ")
			for _, want := range []string{"Q1: Which greeting?", "1. hello", "2. hi"} {
				if !strings.Contains(screen, want) {
					t.Errorf("the screen does not show %q:\n%s", want, screen)
				}
			}
			x.types(r.answer)
			code, rest := x.ends()
			if code != r.code {
				t.Fatalf("exit %d, expected %d\n%s", code, r.code, rest)
			}
			if got := p.must(t, "answer"); (r.recorded == "") != strings.Contains(got, "Which greeting?") {
				t.Errorf("open are:\n%s", got)
			}
			if got := p.Git("cat-file", "blob", "ralph/heads/main:questions/Q1.toml"); r.recorded != "" &&
				!strings.Contains(got, r.recorded) {
				t.Errorf("the journal has\n%s", got)
			}
		})
	}
}

// refusing runs a command on a terminal where the kernel refuses new user
// namespaces, as in some containers and systems.
func (p *project) refusing(t *testing.T, args ...string) *terminal {
	t.Helper()
	return p.terminalOf(t, nil, &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}, append([]string{"/bin/sh", "-c", `echo 0 >/proc/sys/user/max_user_namespaces && exec "$0" "$@"`, self(t)}, args...))
}

// TestNoSandboxOnATerminal: if namespaces are refused, a person is asked, and
// nothing runs without them by itself.
func TestNoSandboxOnATerminal(t *testing.T) {
	t.Parallel()
	if err := exec.Command("unshare", "-U", "true").Run(); err != nil {
		t.Skip("no user namespace can be made here to refuse further ones in:", err)
	}
	for _, r := range []struct {
		why, answer string
		code        int
	}{
		{"no", "n\n", 8},
		{"ctrl-c", "\x03", 130},
		{"yes", "y\n", 0},
	} {
		t.Run(r.why, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, doTask, "[validation]\nbaseline = \"off\"\nfresh = \"never\"\n"+check, nil)
			p.must(t, "add", "a thing")
			x := p.refusing(t, "start")
			if screen := x.until("work without it this time? [y/N] "); !strings.Contains(screen, "refuses the sandbox") {
				t.Errorf("nobody said why:\n%s", screen)
			}
			x.types(r.answer)
			code, rest := x.ends()
			if code != r.code {
				t.Fatalf("exit %d, expected %d\n%s", code, r.code, rest)
			}
			if r.code == 8 && !strings.Contains(rest, "hint:") {
				t.Errorf("the ways out are not named:\n%s", rest)
			}
			if got := exists(filepath.Join(p.Dir, "out-T-001.txt")); got != (r.code == 0) {
				t.Errorf("work was done: %v\n%s", got, rest)
			}
			if r.code == 0 && !strings.Contains(p.must(t, "status"), "off: ") {
				t.Errorf("status does not say that there was no sandbox:\n%s", p.must(t, "status"))
			}
		})
	}
}
