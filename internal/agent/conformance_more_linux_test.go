package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/agent/fakemodel"
	"git-ralph/loop/session"
)

// effort reaches the model, in each client's own words. A client without such a
// setting works as usual.
func (d dialect) effort(t *testing.T) {
	r := d.setUp(t, func(string) fakemodel.Script { return fakemodel.Script{{Text: "All done."}} })
	r.req.Effort = "high"
	if d.Driver == "claude" {
		r.req.Model = "claude-opus-4-5" // a model with effort levels
	}
	r.want(t, r.play(t, t.Context(), nil), session.Completed, "")
	levels, ok := Efforts(d.Driver)
	if len(levels) == 0 && ok {
		t.Error("no levels")
	}
	turns := r.model.Turns()
	body := string(turns[len(turns)-1].Body)
	marks := map[string]string{"claude": `"effort":"high"`, "codex": `"effort":"high"`,
		"opencode": `"budget_tokens":16000`}
	if mark := marks[d.Driver]; ok != (mark != "") || !strings.Contains(body, mark) {
		t.Errorf("the model was not told %q:\n%.3000s", mark, body)
	}
}

// brokenHooks replaces the settings that we wrote for Gemini CLI. With the new ones
// it asks no hook, asks another one, or ignores a failing hook. The first call ends
// the run although the guard allows it.
func (d dialect) brokenHooks(t *testing.T) {
	const rewrite = `const fs = require("node:fs"), file = process.env.GEMINI_CLI_HOME + "/.gemini/settings.json"
const s = JSON.parse(fs.readFileSync(file, "utf8"))
SPOIL
fs.writeFileSync(file, JSON.stringify(s))
import("CLIENT")
`
	for why, spoil := range map[string]string{
		"as it is":           "",
		"switched off":       `s.hooksConfig = { enabled: false }`,
		"none":               `delete s.hooks`,
		"of another event":   `s.hooks = { AfterTool: s.hooks.BeforeTool }`,
		"another one allows": `s.hooks.BeforeTool[0].hooks[0].command = "exit 0"`,
		"fails openly":       `s.hooks.BeforeTool[0].hooks[0].command = "exit 1"`,
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			r := d.setUp(t, func(dir string) fakemodel.Script {
				return fakemodel.Script{tools(d.Write(dir+"/hello.txt", "hello\n")), {Text: "All done."}}
			})
			wrapper := filepath.Join(r.root, "gemini.js")
			text := strings.NewReplacer("SPOIL", spoil, "CLIENT", d.pinned).Replace(rewrite)
			if err := os.WriteFile(wrapper, []byte(text), 0o755); err != nil {
				t.Fatal(err)
			}
			r.d.pinned = wrapper
			res := r.play(t, t.Context(), nil)
			if spoil == "" {
				r.want(t, res, session.Completed, "")
			} else {
				r.want(t, res, session.ProtocolError, "the client did not ask the hook about write_file")
			}
		})
	}
}

// toolless: a client does not report that the server of our tools failed to start.
func (d dialect) toolless(t *testing.T) {
	r := d.setUp(t, func(string) fakemodel.Script { return fakemodel.Script{{Text: "All done."}} })
	self := filepath.Join(r.root, "run", "bin", "broken")
	script := "#!/bin/sh\n[ \"$1\" = mcp ] && exit 1\nexec '" + r.req.Self + "' \"$@\"\n"
	if err := os.WriteFile(self, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	r.req.Self = self
	r.want(t, r.play(t, t.Context(), nil), session.ProtocolError, "our tools did not reach the client")
}

// hugeHandoff: our own tool gets a handoff longer than the longest readable line,
// inside the client's protocol. The client is told so, the model continues, and
// nothing of that size reaches the loop.
func (d dialect) hugeHandoff(t *testing.T) {
	r := d.setUp(t, func(string) fakemodel.Script {
		return fakemodel.Script{
			tools(d.Tool("ralph_submit_handoff", `{"summary":"`+strings.Repeat("x", client.MaxLine+1<<20)+`"}`)),
			tools(d.Tool("ralph_mark_task_complete", `{"task_id":"T-1"}`)), {Text: "All done."}}
	})
	r.want(t, r.play(t, t.Context(), nil), session.Completed, "")
	if want := []string{"ralph_mark_task_complete"}; !slices.Equal(r.calls, want) {
		t.Errorf("calls of our tools: %q", r.calls)
	}
	turns := r.model.Turns()
	if last := string(turns[len(turns)-1].Body); !strings.Contains(last, client.TooLong) {
		t.Error("the model was not told that the call is too long")
	}
	if n := r.transcript.Len(); n > 2*client.MaxLine {
		t.Errorf("the transcript has %d bytes", n)
	}
}
