package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"git-ralph/fixtures/long"
)

// failing are kinds of system calls and the error that each returns.
var failing = []struct{ calls, err string }{
	{"fsync,fdatasync,syncfs,sync_file_range", "EIO"}, {"rename,renameat,renameat2", "EIO"}, {"link,linkat", "EMLINK"},
	{"openat", "EMFILE"}, {"openat", "EIO"}, {"write,pwrite64", "ENOSPC"},
	{"mkdir,mkdirat", "ENOSPC"}, {"ftruncate", "EIO"}, {"flock", "ENOLCK"}, {"newfstatat,fstat,lstat,statx", "EIO"},
	{"getdents64", "EIO"}, {"fchmod,fchmodat,chmod", "EPERM"}, {"pipe2", "EMFILE"}, {"clone,clone3,vfork", "EAGAIN"},
	{"execve", "ENOMEM"}, {"read,pread64", "EIO"}, {"unlink,unlinkat,rmdir", "EIO"},
}

// callsOf is how many calls of each kind fail, one per run: RALPH_CALLS, or ten.
func callsOf(t *testing.T) int {
	t.Helper()
	text := os.Getenv("RALPH_CALLS")
	if text == "" {
		return 10
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("RALPH_CALLS=%s is no number of calls", text)
	}
	return n
}

// traced runs a command of the program under strace. A seccomp filter hands only these calls to
// strace.
func (p *project) traced(t *testing.T, calls string, options []string, args ...string) (string, int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv := []string{"100", "strace", "-f", "-qq", "--seccomp-bpf", "-e", "trace=" + optional(calls)}
	argv = append(append(argv, options...), self)
	c := exec.Command("timeout", append(argv, args...)...) // on timeout, strace ends and detaches
	c.Dir, c.Env, c.WaitDelay = p.Dir, p.Env, 10*time.Second
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// optional marks calls as optional for strace: a machine may lack some.
func optional(calls string) string { return "?" + strings.ReplaceAll(calls, ",", ",?") }

// mostCalls is the highest number of calls that one thread or process made.
func mostCalls(t *testing.T, log string) int {
	t.Helper()
	f, err := os.Open(log)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	count, most := map[string]int{}, 0
	for in := bufio.NewScanner(f); in.Scan(); {
		pid, rest, _ := strings.Cut(strings.TrimSpace(in.Text()), " ")
		if _, err := strconv.Atoi(pid); err == nil && !strings.Contains(rest, "resumed>") {
			count[pid]++
			most = max(most, count[pid])
		}
	}
	return most
}

// TestEveryCallOfAnIterationFails runs one task while the n-th call of a kind fails in each thread
// of the program and its children, for some n from the first to the last. Nothing panics or hangs.
// No file of a person changes. The next start completes with nothing lost or damaged.
func TestEveryCallOfAnIterationFails(t *testing.T) {
	t.Parallel()
	long.Only(t, "it runs an iteration for every call that can fail")
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("there is no strace here, which makes calls fail")
	}
	for _, kind := range failing {
		t.Run(kind.calls+" "+kind.err, func(t *testing.T) {
			t.Parallel()
			log := filepath.Join(t.TempDir(), "log")
			out, code := oneTask(t).traced(t, kind.calls, []string{"-o", log}, "start")
			if code != 0 {
				t.Skipf("strace cannot trace here: %s", out)
			}
			most := mostCalls(t, log)
			tried, failed := 0, 0
			for n := 1; n <= most; n += max(1, most/callsOf(t)) {
				t.Run(fmt.Sprintf("call %d of %d", n, most), func(t *testing.T) {
					tried++
					if failingCall(t, kind.calls, kind.err, n) != 0 {
						failed++
					}
				})
			}
			t.Logf("%d of at most %d calls failed, and ended the run %d times", tried, most, failed)
		})
	}
}

// oneTask is a project with one task and files of a person.
func oneTask(t *testing.T) *project {
	t.Helper()
	// An agent whose own write fails has to say so: nothing else can know what it meant.
	p := newProject(t, "set -e\n"+paid+doTask, quick+"[guard]\nsandbox = \"off\"\n[loop]\nmax_attempts = 0\n",
		map[string]string{".gitignore": ".env\n"})
	p.Write(".env", "SECRET=1\n")
	p.Write("untracked.txt", "mine\n")
	p.must(t, "add", "the first thing")
	return p
}

// failingCall runs the task while the n-th of these calls fails, and then again. It returns the
// first run's exit code.
func failingCall(t *testing.T, calls, err string, n int) int {
	p := oneTask(t)
	before := p.entries()
	out, code := p.traced(t, calls, []string{"-o", os.DevNull, "-e",
		fmt.Sprintf("inject=%s:error=%s:when=%d", optional(calls), err, n)}, "start")
	// The Go runtime aborts if it cannot wake its poller or create a thread. That counts as a kill.
	ended := strings.Contains(out, "runtime: netpollBreak write failed") ||
		strings.Contains(out, "runtime: failed to create new OS thread")
	if !ended && (strings.Contains(out, "panic") || strings.Contains(out, "goroutine ")) || code == 124 {
		t.Errorf("exit %d\n%s", code, out)
	}
	if r := p.run(t, nil, "start"); r.code != 0 {
		t.Errorf("the next start: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if strings.Contains(out, "git ralph fsck --repair writes it again") {
		p.must(t, "fsck", "--repair") // the note, rebuilt from its entry
	}
	p.well(t, before)
	if got := p.Read("out-T-001.txt"); got != "T-001\n" || p.Git("status", "--porcelain") != "?? untracked.txt" {
		t.Errorf("the work is %q\n%s", got, p.Git("status", "--porcelain"))
	}
	if t.Failed() {
		t.Fatalf("after\n%s\nthe log then is\n%s", out, p.must(t, "log"))
	}
	return code
}
