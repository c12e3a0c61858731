// Package proc owns processes: it starts them, streams their output, times
// them out and kills the whole tree. It is the only importer of os/exec.
package proc

import (
	"io"
	"os"
)

// Command describes a process to be started.
type Command struct {
	Argv []string // Argv[0] is an absolute path or looked up in PATH of Env
	Dir  string
	Env  []string // complete; nil means empty, not inherited
	// Stdin is the standard input; nil = /dev/null.
	Stdin io.Reader
	// StdinPipe asks for Process.Stdin, a pipe that the caller writes and closes.
	StdinPipe bool
	// Stdout and Stderr receive output as it comes; nil = discarded.
	Stdout, Stderr io.Writer
	// StdoutPipe asks for Process.Stdout, a pipe that the caller reads to its end.
	StdoutPipe bool
	ExtraFiles []*os.File
}
