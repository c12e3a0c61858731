package session

import (
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// CallWatch knows which files an agent's tool calls can have changed: files that
// a call names, and files that changed during a call that may change anything,
// such as a shell command.
type CallWatch struct {
	seen  bool // the driver tells of tool calls
	named map[string]bool
	wide  []span
	open  int
	from  time.Time // since when a call that may change anything is open
}

type span struct{ from, to time.Time }

// slack is the tolerated difference between file times and the times at which
// calls are reported.
const slack = time.Second

// readers change no file; writers only the one that they name.
var (
	readers = []string{"Read", "Glob", "Grep", "LS", "WebSearch", "WebFetch", "Todo", "TodoWrite", "TodoRead", "AskUser",
		"AskUserQuestion"}
	writers = []string{"Write", "Edit", "MultiEdit", "NotebookEdit"}
)

// Begin opens a call. root is the worktree.
func (w *CallWatch) Begin(tool, path, root string, now time.Time) {
	w.seen = true
	w.open++
	switch {
	case slices.Contains(readers, tool), strings.HasPrefix(tool, "ralph_"), strings.HasPrefix(tool, "mcp__ralph__"):
		return
	case slices.Contains(writers, tool) && path != "":
		if filepath.IsAbs(path) {
			rel, err := filepath.Rel(root, path)
			if err != nil {
				break
			}
			path = rel
		}
		if w.named == nil {
			w.named = map[string]bool{}
		}
		w.named[filepath.ToSlash(filepath.Clean(path))] = true
		return
	}
	if w.from.IsZero() {
		w.from = now
	}
}

// Done closes a call. It is not known which, so a wide one stays open until all
// are closed.
func (w *CallWatch) Done(now time.Time) {
	if w.open > 0 {
		w.open--
	}
	if w.open == 0 && !w.from.IsZero() {
		w.wide = append(w.wide, span{w.from, now})
		w.from = time.Time{}
	}
}

// CanHave says whether a call can have changed a file; changed is the file's
// time, zero when it is gone.
func (w *CallWatch) CanHave(path string, changed time.Time) bool {
	if !w.seen || w.named[path] {
		return true
	}
	if changed.IsZero() {
		return len(w.wide) > 0 || !w.from.IsZero()
	}
	if !w.from.IsZero() && changed.After(w.from.Add(-slack)) {
		return true
	}
	return slices.ContainsFunc(w.wide, func(s span) bool {
		return changed.After(s.from.Add(-slack)) && changed.Before(s.to.Add(slack))
	})
}
