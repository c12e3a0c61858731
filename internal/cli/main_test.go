package cli

import (
	"os"
	"strings"
	"testing"

	"git-ralph/fixtures/ram"
)

// TestMain is the program itself when the program starts its own executable, here
// the test's: for shims, hooks and the sandbox.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(Main(os.Args))
	}
	os.Exit(ram.Tests(m).Run())
}
