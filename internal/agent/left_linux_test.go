package agent

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"git-ralph/loop/session"
)

// The processes that a client started end with it, so that nothing is left that
// could change a file.
func TestNothingWorksOnAfterTheEnd(t *testing.T) {
	for driver, p := range protocols {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			fifo := filepath.Join(t.TempDir(), "held")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			// The remaining process writes to the pipe, so the pipe's EOF shows its end.
			held, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { held.Close() })
			script := "cat begin; (trap '' TERM HUP; setsid sh -c 'exec 9>" + fifo + "; echo here >&9; while :; do " +
				"date > late; sleep 1; done' >/dev/null 2>&1 </dev/null &) ; read x < " + fifo + ".ready; cat done"
			if err := syscall.Mkfifo(fifo+".ready", 0o600); err != nil {
				t.Fatal(err)
			}
			script = strings.Replace(script, "echo here >&9;", "echo here >&9; echo x > "+fifo+".ready;", 1)
			t.Run("run", func(t *testing.T) { // its end closes the group of processes
				if res := playHostile(t, driver, p, script, time.Minute, nil); res.Outcome != session.Completed {
					t.Errorf("%s %q", res.Outcome, res.Detail)
				}
			})
			if err := held.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if said, err := io.ReadAll(held); err != nil || string(said) != "here\n" {
				t.Errorf("what it left still runs: %q %v", said, err)
			}
		})
	}
}
