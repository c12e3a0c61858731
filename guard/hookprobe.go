package guard

import (
	"encoding/json"
	"strings"
)

// HookProbe turns a policy into a test that a client really calls its hook.
// Before the loop, the driver has the client make one harmless tool call
// under such a policy alone. The hook refuses every tool call and records
// that it was asked. No agent runs yet that could answer in its place, and
// none may run before the record has been checked.
type HookProbe struct {
	// Nonce is new for every hook probe: a record or a refusal of an earlier one,
	// or one that was made up beforehand, says nothing.
	Nonce string `json:"nonce"`
	// Record is the file that the hook adds a line to, absolute. It is
	// outside of everything that an agent can see.
	Record string `json:"record"`
}

// HookProbeRecord is one line of the record: what the hook was asked, and whether
// it refused.
type HookProbeRecord struct {
	Nonce   string `json:"nonce"`
	Client  string `json:"client"`
	Event   string `json:"event"`
	Tool    string `json:"tool,omitempty"`
	Refused bool   `json:"refused"`
}

// ParseHookProbe reads a record. Lines that are not records are skipped: they
// prove nothing.
func ParseHookProbe(data []byte) []HookProbeRecord {
	var out []HookProbeRecord
	for line := range strings.Lines(string(data)) {
		var r HookProbeRecord
		if json.Unmarshal([]byte(line), &r) == nil && r.Nonce != "" {
			out = append(out, r)
		}
	}
	return out
}

// verdict is what a hook probe says to every tool call. The client shows the reason
// to its model, and so the driver sees that the refusal was obeyed.
func (c *HookProbe) verdict() Verdict {
	return denied(ClassDenied, "canary "+c.Nonce+": the harness is trying whether its hook is called",
		"nothing, this is expected")
}
