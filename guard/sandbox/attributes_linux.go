package sandbox

import (
	"fmt"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// calls lists the system calls of one architecture that change attributes a
// restore of the worktree does not check.
type calls struct {
	arch   uint32
	mask   uint32 // of the number: without the bit of another ABI of the same architecture
	xattrs []uint32
	owners []uint32
}

// Calls from setxattrat on have the same numbers everywhere.
const setxattrat, removexattrat = 463, 466

// ringSetup is io_uring_setup, on every architecture. A filter does not see what
// is asked for through a ring, which can change extended attributes as well.
const ringSetup = 425

// attributeCalls are those of every ABI that programs on this machine can use:
// a program for 32 bits has its own numbers.
func attributeCalls() []calls {
	const all, exceptX32 = 0xffffffff, 0xffffffff &^ 0x40000000
	of32 := []uint32{226, 227, 228, 235, 236, 237, setxattrat, removexattrat}
	generic := calls{mask: all, xattrs: []uint32{5, 6, 7, 14, 15, 16, setxattrat, removexattrat}, owners: []uint32{54, 55}}
	switch runtime.GOARCH {
	case "amd64":
		return []calls{
			{unix.AUDIT_ARCH_X86_64, exceptX32, []uint32{188, 189, 190, 197, 198, 199, setxattrat, removexattrat},
				[]uint32{92, 93, 94, 260}},
			{unix.AUDIT_ARCH_I386, all, of32, []uint32{16, 95, 182, 198, 207, 212, 298}},
		}
	case "arm64":
		generic.arch = unix.AUDIT_ARCH_AARCH64
		return []calls{generic, {unix.AUDIT_ARCH_ARM, all, of32, []uint32{16, 95, 182, 198, 207, 212, 325}}}
	case "riscv64":
		generic.arch = unix.AUDIT_ARCH_RISCV64
		return []calls{generic}
	}
	return nil
}

// fixAttributes refuses changes of extended attributes, and so of ACLs and file
// capabilities, to the calling thread and its children, as a file system without
// them does. Only root can change owners. For root chown does nothing and
// succeeds, as with fakeroot, because root's tar, cp and package managers treat
// a refusal as an error. There are no io_uring rings, as in containers.
func fixAttributes() error {
	const (
		load, and, equal, end = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_ALU | unix.BPF_AND,
			unix.BPF_JMP | unix.BPF_JEQ, unix.BPF_RET
		number, architecture = 0, 4 // offsets in struct seccomp_data
	)
	var program []unix.SockFilter
	for _, c := range attributeCalls() {
		if os.Getuid() != 0 {
			c.owners = nil
		}
		n := 1 + len(c.xattrs) + len(c.owners)
		program = append(program,
			unix.SockFilter{Code: load, K: architecture},
			unix.SockFilter{Code: equal, Jf: uint8(n + 6), K: c.arch},
			unix.SockFilter{Code: load, K: number},
			unix.SockFilter{Code: and, K: c.mask},
			unix.SockFilter{Code: equal, Jt: uint8(n + 2), K: ringSetup})
		for i, nr := range c.xattrs {
			program = append(program, unix.SockFilter{Code: equal, Jt: uint8(n - 1 - i), K: nr})
		}
		for i, nr := range c.owners {
			program = append(program, unix.SockFilter{Code: equal, Jt: uint8(len(c.owners) - i + 1), K: nr})
		}
		program = append(program,
			unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW},
			unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EOPNOTSUPP)},
			unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO}, // done, with the error 0
			unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
	}
	if program == nil {
		return nil
	}
	return filterCalls(append(program, unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW}))
}

// filterCalls puts a filter of system calls on the calling thread and on all
// that it starts.
func filterCalls(program []unix.SockFilter) error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0); err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	return nil
}
