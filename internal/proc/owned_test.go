package proc

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRemoveOrphans: only what a dead process of this user made goes.
func TestRemoveOrphans(t *testing.T) {
	dir := t.TempDir()
	dead := "x-1073741824-7-" + pidSpace() + "-abc"
	for _, name := range []string{dead, "x-abc", "x-1-7-elsewhere-abc", OwnedPrefix("x-") + "abc"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if n := RemoveOrphans(dir, "x-"); n != 1 {
		t.Errorf("removed %d folders, want 1", n)
	}
	if _, err := os.Stat(filepath.Join(dir, dead)); err == nil {
		t.Error("the folder of the dead process stays")
	}
}
