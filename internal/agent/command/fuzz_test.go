package command

import (
	"bytes"
	"encoding/json"
	"testing"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
)

// FuzzTranslate: whatever a preset's client prints, each line that we make of it is
// one JSON value, and no sum is negative.
func FuzzTranslate(f *testing.F) {
	for _, line := range []string{
		`{"type":"assistant","message":{"content":[{"type":"text","text":"a"},{"type":"tool_use","name":"x","input":{}}]}}`,
		`{"type":"result","usage":{"input_tokens":9e18,"output_tokens":-5},"total_cost_usd":-1e308}`,
		`{"type":"result","is_error":true,"result":{"message":"429 try again at 9:00 PM"},"error":"x"}`,
		`{"type":"result","is_error":true,"error":[1]}`} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.ContainsAny(data, "\n") {
			return // not a single line
		}
		var record bytes.Buffer
		p := client.NewPrinted(nil, client.NewTranscript(&record))
		for range 2 {
			for _, line := range (Preset{PerMessage: true}).translate(data, proc.SystemClock()) {
				if !json.Valid(line) || bytes.ContainsAny(line, "\n") {
					t.Errorf("%q becomes %q", data, line)
				}
				p.Stdout(line, false)
			}
		}
		p.End()
		u, _ := p.Usage()
		if min(u.Input, u.Output, u.Total()) < 0 || u.CostMicroUSD != nil && *u.CostMicroUSD < 0 {
			t.Errorf("%q: usage %+v", data, u)
		}
	})
}
