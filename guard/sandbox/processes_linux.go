package sandbox

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"git-ralph/internal/proc"
)

// slack is how many processes the kernel allows beyond the limit, so that the
// count can reach it. A namespace reserves its first 300 pids.
const slack = 400

// boundProcesses makes the kernel refuse more processes and threads than limit
// plus slack. So a fork bomb cannot exhaust the machine's pids or memory before
// it is counted. Where the kernel has no such limit, only the count is left.
func boundProcesses(limit int) {
	if limit <= 0 {
		return
	}
	most := limit + slack
	if ownPidMax() {
		// Refused where a container shows /proc/sys read-only.
		_ = os.WriteFile("/proc/sys/kernel/pid_max", []byte(strconv.Itoa(most)), 0)
	}
	// It counts by user and user namespace, and never holds for root.
	var now unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NPROC, &now) == nil && now.Cur > uint64(most) {
		_ = unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: uint64(most), Max: min(now.Max, uint64(most))})
	}
}

// ownPidMax says whether a pid namespace has a pid_max of its own, as from
// Linux 6.14 on. Before, writing it would change that of the machine.
func ownPidMax() bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var major, minor int
	n, _ := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor)
	return n == 2 && (major > 6 || major == 6 && minor >= 14)
}

// watchProcesses ends the sandbox when there are more processes and threads
// in it than limit.
func (i *initProcess) watchProcesses(limit int) {
	for {
		time.Sleep(100 * time.Millisecond)
		if countProcesses(limit) >= limit {
			i.say(answer{Limit: proc.LimitProcesses})
			os.Exit(128 + int(syscall.SIGKILL)) // the kernel ends all others
		}
	}
}

// countProcesses counts processes and threads, up to limit.
func countProcesses(limit int) int {
	dir, err := os.Open("/proc")
	if err != nil {
		return 0
	}
	defer dir.Close()
	n := 0
	for n < limit {
		names, err := dir.Readdirnames(512)
		if err != nil {
			break
		}
		for _, name := range names {
			if strings.Trim(name, "0123456789") != "" {
				continue
			}
			n++
			var st unix.Stat_t
			const itself = 3 // two names of the folder, and the first thread
			if unix.Stat("/proc/"+name+"/task", &st) == nil && st.Nlink > itself {
				n += int(st.Nlink) - itself
			}
		}
	}
	return n
}
