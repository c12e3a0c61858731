//go:build unix

package hook

import (
	"fmt"
	"io"
	"syscall"
)

// become replaces this process by a program.
func become(path string, argv, env []string, errs io.Writer) int {
	err := syscall.Exec(path, argv, env)
	fmt.Fprintf(errs, "%s: %v\n", argv[0], err)
	return 126
}
