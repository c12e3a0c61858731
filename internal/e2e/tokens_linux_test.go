package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	"git-ralph/internal/agent/fakemodel"
)

// TestTokensWhileAClientRuns: `git ralph status` has the tokens of a request two seconds after the real client
// sends the next one, which waits for its answer. Gemini CLI reports tokens only at the end of a prompt;
// TestConformance checks that.
func TestTokensWhileAClientRuns(t *testing.T) {
	for _, name := range []string{"claude", "codex", "opencode"} {
		t.Run(name, func(t *testing.T) {
			binary := os.Getenv(clientVariables[name])
			if binary == "" {
				t.Skipf("without %s: npm ci --prefix fixtures/clients --ignore-scripts, then %s=…", name, clientVariables[name])
			}
			t.Parallel()
			p := newProject(t, "exit 1\n", check, nil)
			c := newPlanClient(t, p, name, binary)
			c.chosen(t, p)
			p.must(t, "add", "a thing")
			model := fakemodel.Start(t, fakemodel.Script{
				{Text: "I look.", Tools: []fakemodel.Tool{c.Shell("echo one >T-001.txt")},
					Usage: &fakemodel.Usage{In: 4000, Out: 321}},
				{NoAnswer: true, Repeat: -1}})
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			start := exec.Command(self, "start")
			start.Dir, start.Env = p.Dir, append(p.Env, c.environment(p, model)...)
			if err := start.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				p.run(t, nil, "stop", "--now")
				start.Wait()
			}()
			waitFor(t, "the client asks a second time", func() bool { return len(model.Turns()) > 1 })
			time.Sleep(2 * time.Second)
			var status struct{ Tokens struct{ Input, Output int } }
			if err := json.Unmarshal([]byte(p.must(t, "status", "--json")), &status); err != nil {
				t.Fatal(err)
			}
			if status.Tokens.Input != 4000 || status.Tokens.Output != 321 {
				t.Errorf("%+v", status)
			}
		})
	}
}
