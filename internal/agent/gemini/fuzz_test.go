package gemini

import (
	"testing"

	"git-ralph/fixtures/transcripts"
	"git-ralph/internal/agent/client"
	"git-ralph/loop/session"
)

func FuzzTranscript(f *testing.F) {
	transcripts.FuzzPrompts(f, "gemini", `{"type":"ralph_asked","tool_name":"x","code":-1}`+"\n"+
		`{"type":"tool_use","tool_name":"x","tool_id":""}`+"\n"+
		`{"type":"tool_result","tool_id":"","status":"success"}`, 53,
		func(req session.Request) client.Reader {
			return &stream{req: req, open: map[string]call{}, allowed: map[string]int{}}
		})
}
