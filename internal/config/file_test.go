package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadProject(t *testing.T) {
	tests := []struct {
		why  string
		make func(t *testing.T, path string) error
		want string // the error; empty = read
	}{
		{"a file", func(_ *testing.T, p string) error { return os.WriteFile(p, []byte("[loop]\n"), 0o644) }, ""},
		{"a directory", func(_ *testing.T, p string) error { return os.Mkdir(p, 0o755) }, "ralph.toml: is a directory"},
		{"a link could lead anywhere", func(t *testing.T, p string) error {
			target := filepath.Join(t.TempDir(), "real.toml")
			if err := os.WriteFile(target, []byte("[loop]\n"), 0o644); err != nil {
				return err
			}
			return os.Symlink(target, p)
		}, "ralph.toml: is a symbolic link"},
		{"a link to nothing", func(_ *testing.T, p string) error { return os.Symlink("nowhere", p) },
			"ralph.toml: is a symbolic link"},
		{"a huge file is not read", func(_ *testing.T, p string) error {
			if err := os.WriteFile(p, nil, 0o644); err != nil {
				return err
			}
			return os.Truncate(p, 3<<30)
		}, "ralph.toml: is 3GiB large; settings have at most 1MiB"},
	}
	for _, tt := range tests {
		root := t.TempDir()
		if err := tt.make(t, filepath.Join(root, FileName)); err != nil {
			t.Fatal(err)
		}
		f, err := ReadProject(root)
		switch {
		case tt.want == "" && (err != nil || string(f.Data) != "[loop]\n" || f.Name != FileName ||
			f.Hash() != TrustHash(f.Data)):
			t.Errorf("%s: %v, %v", tt.why, f, err)
		case tt.want != "" && (err == nil || err.Error() != tt.want):
			t.Errorf("%s: %v, want %s", tt.why, err, tt.want)
		}
	}
	if f, err := ReadProject(t.TempDir()); f != nil || err != nil {
		t.Errorf("no file is no error: %v, %v", f, err)
	}
	if _, err := ReadProject(filepath.Join(t.TempDir(), "file")); err != nil {
		t.Errorf("no folder: %v", err)
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "ci.toml"), filepath.Join(dir, "link.toml")
	if err := os.WriteFile(real, []byte("[loop]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if f, err := ReadFile(link); err != nil || string(f.Data) != "[loop]\n" || f.Name != link {
		t.Errorf("a link that the user named: %v, %v", f, err)
	}
	if _, err := ReadFile(filepath.Join(dir, "none.toml")); err == nil ||
		!strings.HasSuffix(err.Error(), "none.toml: does not exist") {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := ReadFile(dir); err == nil || !strings.HasSuffix(err.Error(), ": is a directory") {
		t.Errorf("a directory: %v", err)
	}
}
