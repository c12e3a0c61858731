package proc

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRemoveOrphans: only a dead process's files of this user are removed.
func TestRemoveOrphans(t *testing.T) {
	dir := t.TempDir()
	dead := "x-1073741824-7-" + pidSpace() + "-abc"
	for _, name := range []string{dead, "x-abc", "x-1-7-elsewhere-abc", OwnedPrefix("x-") + "abc"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	worded := "x-word-1073741824-7-" + pidSpace() + "-abc"
	if err := os.Mkdir(filepath.Join(dir, worded), 0o700); err != nil {
		t.Fatal(err)
	}
	if n := RemoveOrphans(dir, "x-"); n != 2 {
		t.Errorf("removed %d folders, want 2", n)
	}
	for _, name := range []string{dead, worded} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("the folder %s of the dead process stays", name)
		}
	}
}
