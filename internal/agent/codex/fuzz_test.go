package codex

import (
	"bytes"
	"strings"
	"testing"

	"git-ralph/fixtures/transcripts"
	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// FuzzTranscript: whatever the client prints, the run ends with one outcome, the
// record is JSON and no figure is negative. A call that the guard refuses is never
// accepted. If one ran, the run is not completed.
func FuzzTranscript(f *testing.F) {
	transcripts.Each(f, "codex", func(printed []byte) { f.Add(printed, "building", 0) })
	f.Add([]byte(`{"id":1,"method":"item/commandExecution/requestApproval","params":{"itemId":"c","command":"x"}}`+"\n"+
		`{"id":"ralph-reason-c","result":{}}`), "planning", 1)
	f.Fuzz(func(t *testing.T, printed []byte, phase string, code int) {
		var record bytes.Buffer
		var sent strings.Builder
		req := session.Request{Phase: phase, Transcript: &record, Judge: func(u session.ToolUse) session.Permission {
			return session.Permission{Reason: "no"}
		}}
		s := newConversation(t.Context(), client.NewSession(req, nil, nil, 0))
		s.Out = client.NewOutbox(nopCloser{&sent})
		lines := &client.Lines{Max: client.MaxLine, Line: s.Line}
		lines.Write(printed)
		lines.Close()
		s.Out.Close()
		<-s.Out.Done()
		got := s.Finish(proc.Exit{Code: code}, "", s)
		if got.Outcome == "" {
			t.Errorf("the run ended as %+v", got)
		}
		if strings.Contains(sent.String(), `"accept"`) {
			t.Errorf("accepted: %s", sent.String())
		}
		transcripts.Check(t, record.Bytes(), got.Usage)
	})
}
