package proc

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// adoptOrphans makes this program the parent of its descendants' orphans.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become child subreaper: %w", err)
	}
	return nil
}

// stopSignal freezes a process; it cannot be caught.
const stopSignal = syscall.SIGSTOP

// table reads /proc. Of a process that ends between the list of names and the
// look at it only the pid is known.
func table() ([]entry, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	t := make([]entry, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		e, ok := readEntry(pid)
		if !ok {
			e = entry{pid: pid, zombie: true, gone: true}
		}
		t = append(t, e)
	}
	return t, nil
}

func readEntry(pid int) (entry, bool) {
	var room [1024]byte // a name has 64 bytes at most, each of the 51 numbers 20
	stat, err := readProc(pid, "stat", room[:])
	if err != nil {
		return entry{}, false
	}
	return parseStat(pid, stat)
}

// readProc reads a file of a process into room, or into a larger buffer when
// it does not fit. The whole table is read several times an iteration. With an
// os.File, registering it with the poller and asking for its size, both in
// vain, take longer than the reading.
func readProc(pid int, name string, room []byte) ([]byte, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for n := 0; ; {
		if n == len(room) {
			room = append(room, make([]byte, max(len(room), 4096))...)
		}
		m, err := unix.Read(fd, room[n:])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil, err
		case m == 0:
			return room[:n], nil
		default:
			n += m
		}
	}
}

// parseStat reads a line of /proc/PID/stat. The name in parentheses may hold
// anything, a closing parenthesis included: fields are counted after the last.
func parseStat(pid int, stat []byte) (entry, bool) {
	from, i := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if from < 0 || i < from {
		return entry{}, false
	}
	f := bytes.Fields(stat[i+1:])
	const state, ppid, pgid, sid, start = 0, 1, 2, 3, 19 // fields 3, 4, 5, 6 and 22 of proc(5)
	if len(f) <= start {
		return entry{}, false
	}
	e := entry{pid: pid, name: string(stat[from+1 : i])}
	var errs [4]error
	e.ppid, errs[0] = strconv.Atoi(string(f[ppid]))
	e.pgid, errs[1] = strconv.Atoi(string(f[pgid]))
	e.sid, errs[2] = strconv.Atoi(string(f[sid]))
	e.start, errs[3] = strconv.ParseUint(string(f[start]), 10, 64)
	for _, err := range errs {
		if err != nil {
			return entry{}, false
		}
	}
	e.zombie = f[state][0] == 'Z' || f[state][0] == 'X'
	return e, true
}

// hasEnv says whether a process was started with kv in its environment. Other
// users' processes cannot be read and are not ours.
func hasEnv(pid int, kv string) bool {
	env, err := readProc(pid, "environ", make([]byte, 8192))
	if err != nil {
		return false
	}
	want := []byte(kv)
	for len(env) > 0 {
		var one []byte
		one, env, _ = bytes.Cut(env, []byte{0})
		if bytes.Equal(one, want) {
			return true
		}
	}
	return false
}

// signalEntry sends a signal to this very process, never to one that has got
// its pid since.
func signalEntry(e entry, sig syscall.Signal) {
	fd, err := unix.PidfdOpen(e.pid, 0)
	if err != nil {
		if err == unix.ENOSYS || err == unix.EPERM {
			if now, ok := readEntry(e.pid); ok && now.start == e.start {
				syscall.Kill(e.pid, sig)
			}
		}
		return
	}
	defer unix.Close(fd)
	if now, ok := readEntry(e.pid); ok && now.start == e.start {
		unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}

// anyDead says whether a child has ended whose status nobody has taken yet.
func anyDead() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo != 0
}

// reapEntry takes the status of an inherited orphan, so that it does not stay
// as a zombie for as long as this program runs.
func reapEntry(e entry) { syscall.Wait4(e.pid, nil, syscall.WNOHANG, nil) }
