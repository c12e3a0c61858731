package config

import (
	"os"
	"testing"
)

// BenchmarkLoad is what every command pays: a full ralph.toml, an environment
// of the usual size, nothing in git config.
func BenchmarkLoad(b *testing.B) {
	data, err := os.ReadFile("testdata/design.toml")
	if err != nil {
		b.Fatal(err)
	}
	src := Sources{Files: []File{{FileName, data}}, Env: map[string]string{"RALPH_MODE": "handoff-only", "PATH": "/bin"}}
	for b.Loop() {
		if _, err := Load(src); err != nil {
			b.Fatal(err)
		}
	}
}
