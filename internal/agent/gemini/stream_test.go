package gemini

import (
	"strings"
	"testing"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// A text without an end costs no memory without an end.
func TestFloodsAreBounded(t *testing.T) {
	longest := 0
	piece := `{"type":"message","role":"assistant","content":"` + strings.Repeat("ä", 2048) + `"}` + "\n"
	s := &client.Prompts{Reader: &stream{open: map[string]call{}, allowed: map[string]int{}},
		Events: func(e session.AgentEvent) { longest = max(longest, len(e.Text)) }}
	s.Replay([]byte(strings.Repeat(piece, 2*client.MaxLine/4096+1)+`{"type":"result","status":"success"}`), proc.Exit{})
	if longest > client.MaxLine || longest < client.MaxLine-4 {
		t.Errorf("a text of %d bytes", longest)
	}
}
