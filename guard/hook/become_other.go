//go:build !unix

package hook

import (
	"context"
	"fmt"
	"io"
	"os"

	"git-ralph/internal/proc"
)

// become runs a program in this one's place: where a process cannot be
// replaced, it is waited for and its exit code handed on.
func become(path string, argv, env []string, errs io.Writer) int {
	exit, err := proc.Run(context.Background(), proc.Command{Argv: append([]string{path}, argv[1:]...), Env: env,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
	if err != nil {
		fmt.Fprintf(errs, "%s: %v\n", argv[0], err)
		return 126
	}
	return exit.Code
}
