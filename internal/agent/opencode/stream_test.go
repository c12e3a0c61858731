package opencode

import (
	"bytes"
	"fmt"
	"testing"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// A budget holds however many requests a session makes. Each is reported twice.
func TestEveryRequestCounts(t *testing.T) {
	const requests = maxTracked + 5
	var printed bytes.Buffer
	printed.WriteString(`{"type":"ralph_ready"}` + "\n")
	for i := range requests {
		for _, kind := range []string{"step_finish", "ralph_usage"} {
			fmt.Fprintf(&printed, `{"type":%q,"part":{"id":"p%d","tokens":{"input":10,"output":1}}}`+"\n", kind, i)
		}
	}
	s := newStream(session.Request{})
	p := client.Prompts{Reader: s, Events: func(session.AgentEvent) {}}
	p.Replay(printed.Bytes(), proc.Exit{})
	if got := s.Result().Usage; got.APICalls != requests || got.Input != 10*requests {
		t.Errorf("%d requests with %d tokens, want %d", got.APICalls, got.Input, requests)
	}
}
