package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop"
)

// FuzzTranscript: whatever the client prints, the run ends with one outcome, what
// was recorded is JSON, nothing is counted below zero, no call is accepted that
// the guard refuses, and a run in which one ran is not a completed one.
func FuzzTranscript(f *testing.F) {
	files, err := filepath.Glob("../../../fixtures/transcripts/codex/*/stdout.jsonl")
	if err != nil || len(files) == 0 {
		f.Fatal("no recordings", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, "building", 0)
	}
	f.Add([]byte(`{"id":1,"method":"item/commandExecution/requestApproval","params":{"itemId":"c","command":"x"}}`+"\n"+
		`{"id":"ralph-reason-c","result":{}}`), "planning", 1)
	f.Fuzz(func(t *testing.T, printed []byte, phase string, code int) {
		var record bytes.Buffer
		var sent strings.Builder
		req := loop.Request{Phase: phase, Transcript: &record, Judge: func(u loop.ToolUse) loop.Permission {
			return loop.Permission{Reason: "no"}
		}}
		clock := proc.SystemClock()
		watch := client.NewWatch(0, 0, nil, clock)
		defer watch.Stop()
		s := newSession(context.Background(), req, nil, &proc.Process{Stdin: nopCloser{&sent}}, watch,
			client.NewTranscript(&record))
		s.clock = clock
		lines := &client.Lines{Max: maxLine, Line: s.line}
		lines.Write(printed)
		lines.Close()
		s.out.Close()
		<-s.out.Done()
		s.cancel()
		s.calls.Wait()
		got := s.finish(proc.Exit{Code: code}, "")
		if got.Outcome == "" {
			t.Errorf("the run ended as %+v", got)
		}
		if strings.Contains(sent.String(), `"accept"`) {
			t.Errorf("accepted: %s", sent.String())
		}
		if u := got.Usage; min(u.Input, u.Output, u.CacheRead, u.Total()) < 0 {
			t.Errorf("usage %+v", u)
		}
		for line := range bytes.Lines(record.Bytes()) {
			if !json.Valid(line) {
				t.Errorf("the transcript has %q", line)
			}
		}
	})
}
