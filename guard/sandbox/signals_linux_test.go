package sandbox

import (
	"fmt"
	"testing"

	"git-ralph/internal/proc"
)

// TestSignalsAtTheStart sends the first process signals that end an ordinary one,
// as early as a command can: while the program that started it still blocks
// signals. The kernel must drop them then, too.
func TestSignalsAtTheStart(t *testing.T) {
	b := newBox(t, "")
	const script = `i=0; while [ $i -lt 500 ]; do kill -%d 1; i=$((i+1)); done; echo still here`
	for _, signal := range []int{13, 14, 16, 26, 27, 29, 30, 32, 34, 9} {
		for range 2 {
			g := b.group()
			var out safeBuffer
			exit, err := g.Run(t.Context(), proc.Command{Argv: []string{"sh", "-c", fmt.Sprintf(script, signal)},
				Dir: b.work, Env: b.env, Stdout: &out, Stderr: &out})
			if out.String() != "still here\n" {
				t.Errorf("signal %d ended the first process: %v, %v\n%s", signal, exit, err, out.String())
			}
			if err := g.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestSignalsWhileOneIsHandled sends such a signal while the first process still
// handles another one, which it gets and passes on.
func TestSignalsWhileOneIsHandled(t *testing.T) {
	b := newBox(t, "")
	const script = `trap '' TERM; i=0; while [ $i -lt 500 ]; do kill -%d 1; kill -%d 1; i=$((i+1)); done; echo still here`
	for _, pair := range [][2]int{{15, 16}, {23, 27}, {28, 13}, {15, 32}, {17, 11}} {
		g := b.group()
		var out safeBuffer
		exit, err := g.Run(t.Context(), proc.Command{Argv: []string{"sh", "-c", fmt.Sprintf(script, pair[0], pair[1])},
			Dir: b.work, Env: b.env, Stdout: &out, Stderr: &out})
		if out.String() != "still here\n" {
			t.Errorf("signal %d during signal %d ended the first process: %v, %v\n%s", pair[1], pair[0], exit, err, out.String())
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
}
