package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// cgroupLimit is how many cgroup namespaces may be made in, and below, the user
// namespace of the process that opens it. mountLimit is the same for mount
// namespaces.
const (
	cgroupLimit = "/proc/sys/user/max_cgroup_namespaces"
	mountLimit  = "/proc/sys/user/max_mnt_namespaces"
)

// closeCgroups makes sure that no process of the sandbox gets its own cgroup
// namespace. In one it could mount the cgroup file system again: the kernel
// allows that although the existing mount is read-only. It could then kill or
// freeze every process of a group that its user owns: for root all of the
// machine's, for an ordinary user those of the session, this program included.
func closeCgroups() error {
	err := os.WriteFile(cgroupLimit, []byte("0"), 0)
	if err == nil {
		return nil
	}
	// A container may show /proc/sys read-only. A filter of system calls does
	// the same there, but refuses programs of other architectures, too.
	if ferr := filterNamespaces(unix.CLONE_NEWCGROUP); ferr != nil {
		return fmt.Errorf("close cgroup namespaces: %w; %w", err, ferr)
	}
	return nil
}

// closeMounts makes sure that no process of the sandbox gets its own mount
// namespace. The kernel keeps a mount point from being renamed or removed only
// in namespaces that have the mount. A process could leave all mounts behind in
// a namespace of its own and then, by a folder that it holds open, move the git
// directory away or remove a read-only file. The next command would not find
// what it has to cover.
//
// Detached trees of mounts count as namespaces, too: it is called when all are
// made. /proc has to be writable until then, or there is a filter instead.
func closeMounts() error {
	err := os.WriteFile(mountLimit, []byte("0"), 0)
	if err == nil {
		return nil
	}
	if ferr := filterNamespaces(unix.CLONE_NEWNS); ferr != nil {
		return fmt.Errorf("close mount namespaces: %w; %w", err, ferr)
	}
	return nil
}

// cgroupFlag requests a cgroup namespace at the start, so that /proc does not
// show the names of the groups outside. Inside a sandbox none can be made, and
// there is nothing to hide.
var cgroupFlag = sync.OnceValue(func() uintptr {
	if b, err := os.ReadFile(cgroupLimit); err != nil || strings.TrimSpace(string(b)) == "0" {
		return 0
	}
	return unix.CLONE_NEWCGROUP
})

// filterNamespaces refuses the system calls that make namespaces of one kind,
// a flag of clone, to the calling thread and its children. A filter cannot read
// the flags of clone3, which are in memory. So clone3 fails with ENOSYS, as in
// containers, and callers fall back to clone.
func filterNamespaces(kind uint32) error {
	arch, ok := map[string]uint32{
		"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64,
	}[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("no filter of system calls for %s", runtime.GOARCH)
	}
	const (
		load, equal, atLeast, bits, end = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ,
			unix.BPF_JMP | unix.BPF_JGE, unix.BPF_JMP | unix.BPF_JSET, unix.BPF_RET
		number, architecture, firstArgument = 0, 4, 16 // offsets in struct seccomp_data
		otherABI                            = 0x40000000
		allow                               = unix.SECCOMP_RET_ALLOW
		refuse                              = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		unknown                             = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	)
	program := []unix.SockFilter{
		{Code: load, K: architecture},
		{Code: equal, Jf: 9, K: arch},
		{Code: load, K: number},
		{Code: atLeast, Jt: 7, K: otherABI},
		{Code: equal, Jt: 6, K: unix.SYS_CLONE3},
		{Code: equal, Jt: 1, K: unix.SYS_UNSHARE},
		{Code: equal, Jf: 2, K: unix.SYS_CLONE},
		{Code: load, K: firstArgument},
		{Code: bits, Jt: 1, K: kind},
		{Code: end, K: allow},
		{Code: end, K: refuse},
		{Code: end, K: unknown},
	}
	return filterCalls(program)
}

// hideCgroups covers the cgroup file systems. The files of a group say which
// processes there are outside, and tell an agent what to attack.
func (m *mounter) hideCgroups(all []mountPoint) {
	const usual = "/sys/fs/cgroup" // with the older kind a folder of many of them
	var top []string
	for _, p := range all {
		if p.fs != "cgroup" && p.fs != "cgroup2" {
			continue
		}
		if within(p.path, usual) {
			p.path = usual
		}
		if !withinAny(p.path, top) {
			top = append(slices.DeleteFunc(top, func(t string) bool { return within(t, p.path) }), p.path)
		}
	}
	for _, path := range top {
		m.items = append(m.items, item{target: path, rank: rankHidden, dir: true, tree: -1, what: "hide",
			make: func() error { return bind(m.shades.folder(), path) }})
	}
}
