package mcp

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// overflowUID is what the kernel reports for a user without a number in this
// namespace.
const overflowUID = 65534

// ours says whether the other end is a process of this user. If we run in a
// user namespace, the kernel translates the number back. Where it cannot, the
// modes of folder and socket and the token have to do.
func ours(conn net.Conn) bool {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	mine := true
	err = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			mine = int(cred.Uid) == os.Geteuid() || cred.Uid == 0 || cred.Uid == overflowUID
		}
	})
	return err == nil && mine
}
