//go:build unix

package config

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestFIFO would wait for ever for a writer if the file were opened as any other.
func TestFIFO(t *testing.T) {
	root := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(root, FileName), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadProject(root); err == nil || err.Error() != "ralph.toml: is not a regular file" {
		t.Errorf("a FIFO as ralph.toml: %v", err)
	}
	if _, err := ReadFile(filepath.Join(root, FileName)); err == nil ||
		!strings.HasSuffix(err.Error(), "is not a regular file") {
		t.Errorf("a FIFO as --config: %v", err)
	}
}
