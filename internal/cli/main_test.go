package cli

import (
	"os"
	"strings"
	"testing"
)

// TestMain is the program itself when the program starts itself by the path of
// its executable, which is this test's: shims, hooks, the sandbox.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(Main(os.Args))
	}
	os.Exit(m.Run())
}
