package gemini

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// FuzzTranscript: whatever the client prints, the run ends with one outcome, what
// was recorded is JSON, nothing is counted below zero, and a run in which a call
// ran that the guard refuses is not a completed one.
func FuzzTranscript(f *testing.F) {
	files, err := filepath.Glob("../../../fixtures/transcripts/gemini/*/stdout.jsonl")
	if err != nil || len(files) == 0 {
		f.Fatal("no recordings", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, 0)
	}
	f.Add([]byte(`{"type":"ralph_asked","tool_name":"x","code":-1}`+"\n"+
		`{"type":"tool_use","tool_name":"x","tool_id":""}`+
		"\n"+`{"type":"tool_result","tool_id":"","status":"success"}`), 53)
	f.Fuzz(func(t *testing.T, printed []byte, code int) {
		var record bytes.Buffer
		refused := false
		req := session.Request{Transcript: &record, Judge: func(u session.ToolUse) session.Permission {
			refused = true
			return session.Permission{Reason: "no"}
		}}
		stream := &stream{req: req, open: map[string]call{}, allowed: map[string]int{}}
		p := client.Prompts{Request: req, Reader: stream, Events: func(session.AgentEvent) {}}
		end := p.Replay(printed, proc.Exit{Code: code})
		if end.Kind == "" || refused && end.Kind == session.Completed {
			t.Errorf("the run ended as %+v, a refused call ran: %v", end, refused)
		}
		if u := stream.Result().Usage; min(u.Input, u.Output, u.CacheRead, u.Total()) < 0 {
			t.Errorf("usage %+v", u)
		}
		for line := range bytes.Lines(record.Bytes()) {
			if !json.Valid(line) {
				t.Errorf("the transcript has %q", line)
			}
		}
	})
}
