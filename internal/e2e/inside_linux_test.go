package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// TestReadingInsideARun: the commands that the guard recommends to an agent
// answer correctly, although its sandbox hides the loop's process.
func TestReadingInsideARun(t *testing.T) {
	t.Parallel()
	long.Only(t, "it tries every reading command")
	request :=
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
			`"clientInfo":{"name":"x","version":"1"}}}`
	agent := `
git ralph status > status.txt 2>&1
git ralph status --json > status.json
git ralph prompt > prompt.txt
cp "$RALPH_PROMPT_FILE" given.txt
git ralph export > export.txt 2>&1
{ printf '%s\n' '` + request + `'; until [ -s mcp.txt ]; do sleep 0.05; done; } | timeout 60 git ralph mcp > mcp.txt 2>&1
` + doTask
	for _, sandbox := range []string{"auto", "off"} {
		t.Run(sandbox, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, agent, "[guard]\nsandbox = \""+sandbox+"\"\n"+check, nil)
			p.must(t, "add", "look around")
			p.must(t, "start")
			if text := p.Read("status.txt"); strings.Contains(text, "interrupted") || !strings.Contains(text, "main: running") {
				t.Errorf("status:\n%s", text)
			}
			var s struct {
				Status  string
				Running *struct{ PID int }
			}
			if err := json.Unmarshal([]byte(p.Read("status.json")), &s); err != nil || s.Status != "running" ||
				s.Running == nil || s.Running.PID == 0 {
				t.Errorf("%v: %s", err, p.Read("status.json"))
			}
			if strings.TrimSpace(p.Read("prompt.txt")) != strings.TrimSpace(p.Read("given.txt")) {
				t.Errorf("prompt prints another prompt than the agent was given:\n%s", p.Read("prompt.txt"))
			}
			if text := p.Read("mcp.txt"); !strings.Contains(text, `"serverInfo"`) {
				t.Errorf("mcp:\n%s", text)
			}
			if text := p.Read("export.txt"); !strings.Contains(text, "look around") {
				t.Errorf("export:\n%s", text)
			}
		})
	}
}
