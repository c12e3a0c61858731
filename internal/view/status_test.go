package view

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"git-ralph/gitstate/state"
)

// TestStatusWithoutAMode: a new plan has the client of the last run and no mode yet. The
// line then has no comma.
func TestStatusWithoutAMode(t *testing.T) {
	for mode, want := range map[string]string{"": "command", "handoff-only": "command, handoff-only"} {
		for _, row := range (Reader{}).statusRows(StatusDoc{Driver: "command", Mode: mode}, state.State{}, time.Time{}) {
			if row[0] == "  agent" {
				if d := cmp.Diff(want, row[1]); d != "" {
					t.Errorf("mode %q: %s", mode, d)
				}
			}
		}
	}
}
