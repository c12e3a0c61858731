//go:build linux

package agent

import (
	"strings"
	"testing"

	"git-ralph/internal/agent/fakemodel"
	"git-ralph/loop"
)

// effort is told to the model. Each client has words of its own for it; a client
// without such a choice works as if nothing was said.
func (d dialect) effort(t *testing.T) {
	r := d.setUp(t, func(string) fakemodel.Script { return fakemodel.Script{{Text: "All done."}} })
	r.req.Effort = "high"
	if d.Driver == "claude" {
		r.req.Model = "claude-opus-4-5" // a model that has levels
	}
	r.want(t, r.play(t, t.Context(), nil), loop.Completed, "")
	levels, ok := Efforts(d.Driver)
	if len(levels) == 0 && ok {
		t.Error("no levels")
	}
	turns := r.model.Turns()
	body := string(turns[len(turns)-1].Body)
	marks := map[string]string{"claude": `"effort":"high"`, "codex": `"effort":"high"`, "opencode": `"budget_tokens":16000`}
	if mark := marks[d.Driver]; ok != (mark != "") || !strings.Contains(body, mark) {
		t.Errorf("the model was not told %q:\n%.3000s", mark, body)
	}
}
