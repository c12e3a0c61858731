//go:build unix

package gitstate

import "syscall"

// careful opens without following a link that took a file's place, and without
// waiting when it is a FIFO.
const careful = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
