package loop

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate/worktree"
)

// toolWatch knows which files an agent's tool calls can have changed: those that
// a call names, and whatever changed while a call was open that may change
// anything, as a shell command may.
type toolWatch struct {
	seen  bool // the driver tells of tool calls
	named map[string]bool
	wide  []span
	open  int
	from  time.Time // since when a call that may change anything is open
}

type span struct{ from, to time.Time }

// slack is what clocks of the file system and the moments at which calls are
// heard of may differ.
const slack = time.Second

// readers change no file; writers only the one that they name.
var (
	readers = []string{"Read", "Glob", "Grep", "LS", "WebSearch", "WebFetch", "Todo", "TodoWrite", "TodoRead", "AskUser",
		"AskUserQuestion"}
	writers = []string{"Write", "Edit", "MultiEdit", "NotebookEdit"}
)

func (w *toolWatch) call(tool, path, root string, now time.Time) {
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

// done closes a call. Which one it was is not told: a wide one counts as open
// until none is.
func (w *toolWatch) done(now time.Time) {
	if w.open > 0 {
		w.open--
	}
	if w.open == 0 && !w.from.IsZero() {
		w.wide = append(w.wide, span{w.from, now})
		w.from = time.Time{}
	}
}

// canHave says whether a call can have changed a file; changed is the file's
// time, zero when it is gone.
func (w *toolWatch) canHave(path string, changed time.Time) bool {
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

// nameBeside says which tracked files changed while the agent ran and none of
// its tool calls can have changed them. It says nothing where that cannot be
// known: of a driver whose calls are not told. The caller asks only where no step ran.
func nameBeside(calls toolWatch, after *worktree.Capture) (notices []string) {
	var paths []string
	for _, c := range after.Changes {
		if !c.Old.ID.IsZero() && !calls.canHave(c.Path, after.ChangedAt(c.Path)) {
			paths = append(paths, c.Path)
		}
	}
	if len(paths) > 0 {
		notices = append(notices,
			"changed while it ran, perhaps by you: "+list(paths)+" (git ralph start --worktree leaves your files to you)")
	}
	return notices
}
