package config

import (
	"os"
	"testing"
)

// BenchmarkLoad is the cost for every command: a full ralph.toml, an environment of
// the usual size and an empty git config.
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
