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
	var t []entry
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
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return entry{}, false
	}
	return parseStat(pid, stat)
}

// parseStat reads a line of /proc/PID/stat. The name in parentheses may hold
// anything, a closing parenthesis included: fields are counted after the last.
func parseStat(pid int, stat []byte) (entry, bool) {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return entry{}, false
	}
	f := bytes.Fields(stat[i+1:])
	const state, ppid, pgid, sid, start = 0, 1, 2, 3, 19 // fields 3, 4, 5, 6 and 22 of proc(5)
	if len(f) <= start {
		return entry{}, false
	}
	e := entry{pid: pid}
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

// hasEnv says whether a process was started with kv in its environment.
// Processes of others cannot be read and are not ours.
func hasEnv(pid int, kv string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
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

// reapEntry takes the status of an inherited orphan, so that it does not stay
// as a zombie for as long as this program runs.
func reapEntry(e entry) { syscall.Wait4(e.pid, nil, syscall.WNOHANG, nil) }
