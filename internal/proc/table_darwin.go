package proc

import (
	"bytes"
	"encoding/binary"
	"syscall"

	"golang.org/x/sys/unix"
)

// adoptOrphans has no counterpart here: orphans are found by their session and
// by the mark in their environment.
func adoptOrphans() error { return nil }

const zombieState = 5 // SZOMB of sys/proc.h

// stopSignal freezes a process; it cannot be caught.
const stopSignal = syscall.SIGSTOP

// table asks the kernel for all processes.
func table() ([]entry, error) {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	t := make([]entry, 0, len(list))
	for i := range list {
		t = append(t, entryOf(&list[i]))
	}
	return t, nil
}

func entryOf(k *unix.KinfoProc) entry {
	pid := int(k.Proc.P_pid)
	sid, err := unix.Getsid(pid)
	if err != nil {
		sid = -1
	}
	tv := k.Proc.P_starttime
	return entry{
		pid: pid, ppid: int(k.Eproc.Ppid), pgid: int(k.Eproc.Pgid), sid: sid,
		zombie: k.Proc.P_stat == zombieState,
		start:  uint64(tv.Sec)*1_000_000 + uint64(tv.Usec),
	}
}

func readEntry(pid int) (entry, bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(k.Proc.P_pid) != pid {
		return entry{}, false
	}
	return entryOf(k), true
}

// hasEnv says whether a process was started with kv in its environment: argc,
// path, padding, arguments, environment, each ended by a zero byte. The system
// shows it for processes of the same user only.
func hasEnv(pid int, kv string) bool {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(raw) < 4 {
		return false
	}
	argc := int(binary.LittleEndian.Uint32(raw))
	_, rest, _ := bytes.Cut(raw[4:], []byte{0})
	rest = bytes.TrimLeft(rest, "\x00")
	want := []byte(kv)
	for i := 0; len(rest) > 0; i++ {
		var one []byte
		one, rest, _ = bytes.Cut(rest, []byte{0})
		if i >= argc && bytes.Equal(one, want) {
			return true
		}
	}
	return false
}

// signalEntry sends a signal to the process unless another one has its pid.
func signalEntry(e entry, sig syscall.Signal) {
	if now, ok := readEntry(e.pid); ok && now.start == e.start {
		syscall.Kill(e.pid, sig)
	}
}

func anyDead() bool { return true }

func reapEntry(entry) {}
