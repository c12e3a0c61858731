package mcp

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// overflowUID is what the kernel says of a user whom this namespace has no
// number for.
const overflowUID = 65534

// ours says whether the other end is a process of this user. In a user
// namespace of ours the kernel translates the number back; where it cannot, the
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
