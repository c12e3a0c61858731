package sandbox

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// setupCaps are what the set-up needs. An ordinary user has them in the new
// user namespace only, and keeps them over the start of our program as ambient
// capabilities.
var setupCaps = []uintptr{
	unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH,
	unix.CAP_CHOWN, unix.CAP_FOWNER, unix.CAP_NET_ADMIN, unix.CAP_SETFCAP,
	unix.CAP_SYS_RESOURCE,
}

// rootCaps are what a command of root keeps: files of other owners in the
// worktree stay usable. None of them reaches a mount, a device or a process
// outside. CAP_SETFCAP is for clients that map root in their own namespace.
// It gives root no more power over a file than set-user-id does.
var rootCaps = []uintptr{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_SETFCAP}

// boundingSet says whether the bounding set has to be emptied as well.
type boundingSet bool

const (
	clearBounding boundingSet = true
	keepBounding  boundingSet = false
)

// dropCaps drops every other capability of the calling thread for good: the
// bounding set and no_new_privs make sure that no program started from it
// regains one. (With the bounding set left alone, root's next exec regains
// CAP_SYS_ADMIN in the namespace and can unmount the git directory's bind.)
// Outside a namespace an ordinary user may not change the bounding set and has
// nothing to regain; strict is false there.
func dropCaps(strict boundingSet) error {
	keep := map[uintptr]bool{}
	if os.Getuid() == 0 {
		for _, c := range rootCaps {
			keep[c] = true
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	for c := uintptr(0); ; c++ {
		if keep[c] {
			continue
		}
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if err == unix.EINVAL && c > 0 || err == unix.EPERM && strict == keepBounding {
			break // past the last one that the kernel knows
		}
		if err != nil {
			return fmt.Errorf("drop capability %d: %w", c, err)
		}
	}
	var data [2]unix.CapUserData
	for c := range keep {
		data[c/32].Permitted |= 1 << (c % 32)
		data[c/32].Effective |= 1 << (c % 32)
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capset(&hdr, &data[0]); err != nil {
		return fmt.Errorf("set capabilities: %w", err)
	}
	return nil
}
