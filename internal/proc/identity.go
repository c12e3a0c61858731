package proc

import (
	"os"
	"sync"
)

// Identity names a process beyond the life of its pid.
type Identity struct {
	Pid       int
	BootID    string // of the machine's present boot; "" where it has none
	StartTime uint64 // of the process, in a unit of the operating system
}

// Self is the identity of this program.
func Self() Identity {
	return self()
}

// self is asked for often and does not change.
var self = sync.OnceValue(func() Identity { return IdentityOf(os.Getpid()) })

// IdentityOf is the identity of a process that runs.
func IdentityOf(pid int) Identity {
	id := Identity{Pid: pid, BootID: bootID()}
	id.StartTime, _ = startTime(pid)
	return id
}

// Alive says whether the process with this identity still runs. A process of
// another boot is dead; a pid that another process has got since is dead too.
// A zombie counts as dead: it holds nothing any more. When the system cannot
// tell, a process that exists is taken to be the one.
func Alive(pid int, startTimeThen uint64, bootIDThen string) bool {
	if pid <= 0 {
		return false
	}
	if now := bootID(); bootIDThen != "" && now != "" && bootIDThen != now {
		return false
	}
	start, ok := startTime(pid)
	if !ok {
		return false
	}
	return startTimeThen == 0 || start == 0 || start == startTimeThen
}

// Alive says whether the process that id names still runs.
func (id Identity) Alive() bool { return Alive(id.Pid, id.StartTime, id.BootID) }
