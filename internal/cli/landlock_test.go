package cli

import (
	"strings"
	"testing"

	"git-ralph/guard/sandbox"
)

// TestWaysOut: the advice without a sandbox fits the system.
func TestWaysOut(t *testing.T) {
	for _, c := range []struct {
		system, says, never string
		mechanism           sandbox.Mechanism
	}{
		{"linux", "allow user namespaces", "virtual machine", sandbox.None},
		{"linux", "--worktree", "virtual machine", sandbox.Landlock},
		{"darwin", "with Linux there is one", "user namespaces", sandbox.None},
		{"windows", "with Linux there is one", "user namespaces", sandbox.None},
	} {
		got := strings.Join(waysOut(sandbox.Report{Mechanism: c.mechanism}, c.system), "\n")
		off := strings.Contains(got, `guard.sandbox = "off"`)
		if !off || !strings.Contains(got, c.says) || strings.Contains(got, c.never) {
			t.Errorf("%s: %s", c.system, got)
		}
	}
}
