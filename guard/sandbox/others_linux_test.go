package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestHiddenIn: listing the folders finds the same places as a look-up of each,
// also if a folder can be entered but not listed.
func TestHiddenIn(t *testing.T) {
	home := t.TempDir()
	var want []string
	for i, p := range DefaultHidden() {
		if i%3 == 0 {
			p = filepath.Join(home, p)
			if err := os.MkdirAll(p, 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, p := range DefaultHidden() { // a parent of another may be one itself
		if p = filepath.Join(home, p); exists(p) {
			want = append(want, p)
		}
	}
	if got := hiddenIn(home, namesIn); !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	config := filepath.Join(home, ".config")
	got := hiddenIn(home, func(dir string) ([]string, error) {
		if dir == config {
			return nil, os.ErrPermission
		}
		return namesIn(dir)
	})
	for _, p := range DefaultHidden() {
		p = filepath.Join(home, p)
		if filepath.Dir(p) == config != slices.Contains(got, p) && !exists(p) {
			t.Errorf("%s: %v", p, slices.Contains(got, p))
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
