package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"git-ralph/fixtures/long"
)

// counted, a list of system call numbers, turns the test binary into the program under a seccomp
// filter that asks the test about each of these calls.
const counted = "RALPH_TEST_CALLS"

// single are kinds of system calls; one call of a kind fails per run.
var single = []struct {
	name    string
	numbers []int
	err     syscall.Errno
}{
	{"openat", []int{unix.SYS_OPENAT, unix.SYS_OPEN}, unix.EIO},
	{"read", []int{unix.SYS_READ, unix.SYS_PREAD64}, unix.EIO},
	{"write", []int{unix.SYS_WRITE, unix.SYS_PWRITE64}, unix.ENOSPC},
	{"rename", []int{unix.SYS_RENAME, unix.SYS_RENAMEAT, unix.SYS_RENAMEAT2}, unix.EIO},
	{"link", []int{unix.SYS_LINK, unix.SYS_LINKAT}, unix.EMLINK},
	{"unlink", []int{unix.SYS_UNLINK, unix.SYS_UNLINKAT, unix.SYS_RMDIR}, unix.EIO},
	{"mkdir", []int{unix.SYS_MKDIR, unix.SYS_MKDIRAT}, unix.ENOSPC},
	{"fsync", []int{unix.SYS_FSYNC, unix.SYS_FDATASYNC, unix.SYS_SYNCFS, unix.SYS_SYNC_FILE_RANGE}, unix.EIO},
	{"stat", []int{unix.SYS_NEWFSTATAT, unix.SYS_STAT, unix.SYS_FSTAT, unix.SYS_LSTAT, unix.SYS_STATX}, unix.EIO},
	{"getdents", []int{unix.SYS_GETDENTS64}, unix.EIO},
	{"pipe", []int{unix.SYS_PIPE2, unix.SYS_PIPE}, unix.EMFILE},
	{"clone", []int{unix.SYS_CLONE, unix.SYS_CLONE3, unix.SYS_VFORK}, unix.EAGAIN},
	{"execve", []int{unix.SYS_EXECVE}, unix.ENOMEM},
	{"ftruncate", []int{unix.SYS_FTRUNCATE}, unix.EIO},
	{"flock", []int{unix.SYS_FLOCK}, unix.ENOLCK},
	{"chmod", []int{unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_CHMOD}, unix.EPERM},
}

// This is an init because TestMain is shared by all systems.
func init() {
	if numbers := os.Getenv(counted); numbers != "" {
		becomeCounted(numbers)
	}
}

// becomeCounted puts the filter over this process, hands its other end to the test and becomes
// the program. It does not return.
func becomeCounted(numbers string) {
	program := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}}
	for word := range strings.SplitSeq(numbers, ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			panic(err)
		}
		program = append(program,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: uint32(n)},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	}
	program = append(program, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, counted+"=") })
	path, _ := unix.BytePtrFromString(self)
	argv, _ := syscall.SlicePtrFromStrings(os.Args)
	envp, _ := syscall.SlicePtrFromStrings(env)
	if path == nil || argv == nil || envp == nil {
		panic("no program to become")
	}
	filter := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	rights := make([]byte, unix.CmsgSpace(4))
	header := (*unix.Cmsghdr)(unsafe.Pointer(&rights[0]))
	header.Level, header.Type = unix.SOL_SOCKET, unix.SCM_RIGHTS
	header.SetLen(unix.CmsgLen(4))
	one := []byte{1}
	vector := unix.Iovec{Base: &one[0], Len: 1}
	message := unix.Msghdr{Iov: &vector, Iovlen: 1, Control: &rights[0], Controllen: uint64(len(rights))}
	unix.CloseOnExec(3)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		panic(err)
	}
	// From here on the Go runtime must not run: nobody answers its system calls yet.
	fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
		uintptr(unsafe.Pointer(&filter)))
	if errno == 0 {
		*(*int32)(unsafe.Pointer(&rights[unix.CmsgLen(0)])) = int32(fd)
		_, _, errno = unix.RawSyscall(unix.SYS_SENDMSG, 3, uintptr(unsafe.Pointer(&message)), 0)
	}
	if errno == 0 {
		unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
		_, _, errno = unix.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&argv[0])),
			uintptr(unsafe.Pointer(&envp[0])))
	}
	unix.RawSyscall(unix.SYS_EXIT_GROUP, 100+uintptr(errno), 0, 0)
}

// seccompNotice is struct seccomp_notif of the kernel, and seccompAnswer struct seccomp_notif_resp.
type (
	seccompNotice struct {
		id         uint64
		pid, flags uint32
		number     int32
		arch       uint32
		ip         uint64
		args       [6]uint64
	}
	seccompAnswer struct {
		id         uint64
		value      int64
		err, flags int32
	}
)

// failingCalls selects the calls of a kind that fail: call number first and, from there, every
// apart-th one. apart = 0: only the first; first = 0: none.
type failingCalls struct {
	numbers      []int
	err          syscall.Errno
	first, apart int
}

func (f failingCalls) fails(n int) bool {
	return f.first > 0 && (n == f.first || f.apart > 0 && n > f.first && (n-f.first)%f.apart == 0)
}

// oneCall runs a command while calls fail. Calls of the program and its children count
// together. It returns the number of calls and which failed.
func (p *project) oneCall(t *testing.T, f failingCalls, args ...string) (result, int, []string) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "theirs")
	defer unix.Close(pair[0])
	c := exec.Command(self(t), args...)
	words := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(f.numbers)), ","), "[]")
	c.Dir, c.Env = p.Dir, append(slices.Clip(p.Env), counted+"="+words)
	c.ExtraFiles, c.WaitDelay = []*os.File{theirs}, time.Minute
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	rights := make([]byte, unix.CmsgSpace(4))
	_, got, _, _, err := unix.Recvmsg(pair[0], make([]byte, 1), rights, unix.MSG_CMSG_CLOEXEC)
	if err != nil || got == 0 {
		t.Skipf("the kernel has no filter here that asks: %v, %v", err, c.Wait())
	}
	fd := int(*(*int32)(unsafe.Pointer(&rights[unix.CmsgLen(0)])))
	defer unix.Close(fd)
	limit := time.AfterFunc(4*time.Minute, func() {
		c.Process.Signal(syscall.SIGQUIT) // prints its stacks
		time.Sleep(20 * time.Second)
		c.Process.Kill()
	})
	defer limit.Stop()
	calls, what := answerCalls(fd, f)
	err = c.Wait()
	r := result{out: out.String(), code: c.ProcessState.ExitCode()}
	if !limit.Stop() {
		t.Errorf("it hangs: %v", err)
	}
	return r, calls, what
}

// answerCalls lets each call proceed or fail until the last process under the filter ends.
func answerCalls(fd int, f failingCalls) (calls int, what []string) {
	for {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(ready, -1); err != nil && err != unix.EINTR {
			return
		}
		if ready[0].Revents&unix.POLLIN == 0 {
			if ready[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0 {
				return
			}
			continue
		}
		var notice seccompNotice
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_RECV,
			uintptr(unsafe.Pointer(&notice))); errno != 0 {
			continue // the caller is gone
		}
		answer := seccompAnswer{id: notice.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		// The first execve is that of the program itself.
		if ofPipe(notice) {
		} else if calls++; f.fails(calls) && (notice.number != unix.SYS_EXECVE || calls > 1) {
			answer.err, answer.flags = -int32(f.err), 0
			what = append(what, describeCall(notice))
		}
		unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&answer)))
	}
}

// ofPipe reports whether a call reads from a pipe. Linux has no error there, and Go does not
// expect one: if it cannot read the pipe on which a child reports its start, it waits for the
// child for ever, and the child for its input.
func ofPipe(notice seccompNotice) bool {
	if notice.number != unix.SYS_READ {
		return false
	}
	file, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", notice.pid, notice.args[0]))
	return strings.HasPrefix(file, "pipe:")
}

// describeCall names the caller, the call and, if easy to find, the file.
func describeCall(notice seccompNotice) string {
	proc := fmt.Sprintf("/proc/%d/", notice.pid)
	line, _ := os.ReadFile(proc + "cmdline")
	what := fmt.Sprintf("call %d of %q", notice.number, bytes.ReplaceAll(bytes.TrimSpace(line), []byte{0}, []byte{' '}))
	switch notice.number {
	case unix.SYS_READ, unix.SYS_PREAD64, unix.SYS_WRITE, unix.SYS_PWRITE64, unix.SYS_FSYNC, unix.SYS_FSTAT,
		unix.SYS_FLOCK:
		file, _ := os.Readlink(fmt.Sprintf("%sfd/%d", proc, notice.args[0]))
		return what + ": " + file
	case unix.SYS_OPENAT, unix.SYS_NEWFSTATAT, unix.SYS_UNLINKAT, unix.SYS_MKDIRAT, unix.SYS_RENAMEAT:
		if mem, err := os.Open(proc + "mem"); err == nil {
			defer mem.Close()
			text := make([]byte, 300)
			n, _ := mem.ReadAt(text, int64(notice.args[1]))
			name, _, _ := bytes.Cut(text[:n], []byte{0})
			return what + ": " + string(name)
		}
	}
	return what
}

// TestOneCallOfAnIterationFails: in each run of one task exactly one call of a kind fails, in
// the program or its children. The first start names the error or completes. No file of a person
// is touched. The next start completes with nothing lost, damaged or counted twice. RALPH_CALLS
// is the number of calls tried per kind. RALPH_CALLS_APART=N tries every call; in one run all
// calls that are N apart fail. RALPH_CALLS_FROM is the first of them.
func TestOneCallOfAnIterationFails(t *testing.T) {
	t.Parallel()
	long.Only(t, "it runs an iteration for every call that can fail")
	apart, _ := strconv.Atoi(os.Getenv("RALPH_CALLS_APART"))
	from, err := strconv.Atoi(os.Getenv("RALPH_CALLS_FROM"))
	if err != nil {
		from = 1
	}
	for _, kind := range single {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			f := failingCalls{numbers: kind.numbers, err: kind.err}
			p := oneTask(t)
			r, all, _ := p.oneCall(t, f, "start")
			if r.code != 0 {
				t.Fatalf("without a failure: exit %d\n%s", r.code, r.out)
			}
			runs, ended, failed := 0, 0, 0
			last, step := all, max(1, all/callsOf(t))
			if apart > 0 {
				last, step = min(all, apart), 1
			}
			for f.first, f.apart = from, apart; f.first <= last; f.first += step {
				if runs%20 == 0 {
					p = oneTask(t)
				}
				what, code := p.oneFails(t, f, runs%20+1)
				runs++
				failed += len(what)
				if code != 0 {
					ended++
				}
				if t.Failed() {
					t.Fatalf("run %d, of %d calls from the %d. on, %d apart:\n%s", runs, all, f.first, apart,
						strings.Join(what, "\n"))
				}
				if runs%20 == 0 {
					t.Logf("so far %d runs, %d calls failed", runs, failed)
				}
			}
			t.Logf("%d of %d calls failed in %d runs, and ended %d of them", failed, all, runs, ended)
		})
	}
}

// oneFails runs a task while calls fail, starts again and adds another task. It returns the
// failed calls and the exit code of the first start.
func (p *project) oneFails(t *testing.T, f failingCalls, task int) ([]string, int) {
	t.Helper()
	before := p.entries()
	first, _, what := p.oneCall(t, f, "start")
	if strings.Contains(first.out, "panic") || strings.Contains(first.out, "goroutine ") &&
		!strings.Contains(first.out, "runtime: ") {
		t.Errorf("exit %d\n%s", first.code, first.out)
	}
	if r := p.run(t, nil, "start"); r.code != 0 {
		t.Errorf("the next start: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if strings.Contains(first.out, "git ralph fsck --repair writes it again") {
		p.must(t, "fsck", "--repair") // the note, rebuilt from its entry
	}
	p.well(t, before)
	id := fmt.Sprintf("T-%03d", task)
	if got := p.Read("out-" + id + ".txt"); got != id+"\n" || p.Git("status", "--porcelain") != "?? untracked.txt" {
		t.Errorf("the work is %q\n%s", got, p.Git("status", "--porcelain"))
	}
	p.counts(t, strings.Join(what, "\n"), nil)
	if t.Failed() {
		t.Errorf("after\n%s\nthe log then is\n%s", first.out, p.must(t, "log"))
		return what, first.code
	}
	if r := p.run(t, nil, "add", "the next thing"); r.code != 0 {
		t.Error(r.err)
	}
	return what, first.code
}
