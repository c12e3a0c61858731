package gemini

import (
	"os"
	"path/filepath"
	"testing"
)

// A package manager may put a shell script on PATH. node then gets the program that it starts.
func TestStartedByAScript(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "lib", "gemini.js")
	put := func(name, text string) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	put("lib/gemini.js", "#!/usr/bin/env node\n// /etc/passwd.js\n")
	pnpm := "#!/bin/sh\nbasedir=$(dirname \"$(echo \"$0\" | sed -e 's,\\\\,/,g')\")\nexec node  "
	for _, row := range []struct{ why, path, want string }{
		{"the program itself", program, program},
		{"a script with the whole path", put("bin/a", "#!/bin/sh\nexec node "+program+" \"$@\"\n"), program},
		{"one of pnpm", put("bin/b", pnpm+"\"$basedir/../lib/gemini.js\" \"$@\"\n"), program},
		{"its other way of writing", put("bin/c", pnpm+"\"${basedir}/../lib/gemini.js\" \"$@\"\n"), program},
		{"one that starts nothing that is there",
			put("bin/d", "#!/bin/sh\nexec node /no/such.js\n"), filepath.Join(dir, "bin/d")},
		{"no text", put("bin/e", "\x7fELF/x.js"), filepath.Join(dir, "bin/e")},
		{"nothing", filepath.Join(dir, "none"), filepath.Join(dir, "none")},
	} {
		if got := started(row.path); got != row.want {
			t.Errorf("%s: %s, want %s", row.why, got, row.want)
		}
	}
}
