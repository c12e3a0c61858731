package opencode

import (
	"testing"

	"git-ralph/fixtures/transcripts"
	"git-ralph/internal/agent/client"
	"git-ralph/loop/session"
)

func FuzzTranscript(f *testing.F) {
	transcripts.FuzzPrompts(f, "opencode", `{"type":"ralph_ready"}`+"\n"+
		`{"type":"tool_use","part":{"callID":"","state":{"status":"completed"}}}`+"\n"+
		`{"type":"ralph_retry","next":-1e300,"attempt":-1,"status":429}`, 1,
		func(req session.Request) client.Reader { return newStream(req) })
}
