package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// TestNullIsNoTerminal: nobody reads a pager there, and nobody answers. Standard
// output is called so whatever file it is.
func TestNullIsNoTerminal(t *testing.T) {
	names := []string{os.DevNull}
	if link := filepath.Join(t.TempDir(), "stdout"); os.Symlink(os.DevNull, link) == nil {
		names = append(names, link)
	}
	for _, name := range names {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if terminal(f) {
			t.Errorf("%s is called a terminal", name)
		}
		f.Close()
	}
}
