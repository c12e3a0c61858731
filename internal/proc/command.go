// Package proc owns processes: it starts them, streams their output, times
// them out and kills the whole tree. It is the only importer of os/exec.
//
// Start and Run serve single programs. A Group is everything that one
// iteration starts: when Close returns, no process of it is left, whatever
// those processes did to escape. Without a sandbox a Keeper is the parent of each
// command (Linux), and a process is recognised by its session, its ancestry and
// the event id in its environment; with one, the end of its process namespace
// ends them all.
package proc

import (
	"io"
	"os"
	"syscall"
	"time"
)

// Command describes a process to be started.
type Command struct {
	Argv []string // Argv[0] is an absolute path or looked up in PATH of Env
	Dir  string
	Env  []string // complete; nil means empty, not inherited
	// Stdin is the standard input; nil = /dev/null. What the process does not
	// read is dropped when it ends, so Read must not block for ever.
	Stdin io.Reader
	// StdinPipe asks for Process.Stdin, a pipe that the caller writes and closes.
	StdinPipe bool
	// Stdout and Stderr receive output as it comes; nil = discarded. When they
	// are the same writer, writes come one at a time and in order.
	Stdout, Stderr io.Writer
	// StdoutPipe asks for Process.Stdout, a pipe that the caller reads to its end.
	StdoutPipe bool
	ExtraFiles []*os.File
	// Grace is the time between TERM and KILL when the context ends; 0 = DefaultGrace.
	Grace time.Duration
	// Sys are attributes of the operating system that Start completes with its
	// own (session, parent death signal); nil = none. A Wrapper sets them.
	Sys *syscall.SysProcAttr
}

// DefaultGrace is how long a process that was asked to end may tidy up.
const DefaultGrace = 5 * time.Second
