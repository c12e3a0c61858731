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

// cgroupLimit is how many cgroup namespaces may be made in the user namespace of
// whoever opens it, and in all below it.
const cgroupLimit = "/proc/sys/user/max_cgroup_namespaces"

// closeCgroups makes sure that no process of the sandbox gets a cgroup
// namespace of its own. With one it could mount the cgroup file system again,
// which the kernel allows although the one that is there is read-only, and then
// kill or freeze every process of a group that its user owns: for root all of
// the machine's, for an ordinary user those of the session, this program among
// them. Other namespaces stay possible, a client's own sandbox needs them.
func closeCgroups() error {
	err := os.WriteFile(cgroupLimit, []byte("0"), 0)
	if err == nil {
		return nil
	}
	// A container may show /proc/sys read-only. A filter of system calls does
	// the same there, but refuses programs of other architectures, too.
	if ferr := filterCgroups(); ferr != nil {
		return fmt.Errorf("close cgroup namespaces: %w; %w", err, ferr)
	}
	return nil
}

// cgroupFlag asks for a cgroup namespace at the start, so that the names of the
// groups outside are not shown in /proc. In a sandbox there can be none, and
// nothing to hide.
var cgroupFlag = sync.OnceValue(func() uintptr {
	if b, err := os.ReadFile(cgroupLimit); err != nil || strings.TrimSpace(string(b)) == "0" {
		return 0
	}
	return unix.CLONE_NEWCGROUP
})

// filterCgroups refuses the system calls that make cgroup namespaces to the
// calling thread and all that it starts. clone3 has its flags in memory, where
// a filter cannot look: it is said not to exist, as in containers, and callers
// use clone then.
func filterCgroups() error {
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
		{Code: bits, Jt: 1, K: unix.CLONE_NEWCGROUP},
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
