package mcp

import (
	"encoding/json"
	"testing"
)

// One call in process, and one as `git ralph tool` makes it but for starting the
// process.
func BenchmarkCall(b *testing.B) {
	box := opened(b, "coding")
	args := json.RawMessage(`{"task_id":"T-002","verification_notes":"go test passed"}`)
	for b.Loop() {
		if _, err := box.Call(b.Context(), "ralph_mark_task_complete", args); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCallOverTheEndpoint(b *testing.B) {
	box := opened(b, "coding")
	args := json.RawMessage(`{"task_id":"T-002","verification_notes":"go test passed"}`)
	for b.Loop() {
		if _, err := connect(b, box.Env()).Call(b.Context(), "ralph_mark_task_complete", args); err != nil {
			b.Fatal(err)
		}
	}
}
