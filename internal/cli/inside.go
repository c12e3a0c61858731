package cli

import (
	"fmt"
	"os"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/proc"
)

// holder says which living process holds a branch. From inside the sandbox of a
// run the loop's process cannot be seen; there the run is alive because this
// process is part of it.
func (a *App) holder(j *journal.Journal, branch string) (gitstate.Holder, bool) {
	h, alive := j.Repo.BranchHolder(branch)
	if alive || h.Pid == 0 || a.getenv(proc.EventVariable) == "" {
		return h, alive
	}
	tip, err := j.Repo.ReadRef(a.Ctx, gitstate.JournalRef(branch))
	if err != nil || tip.IsZero() {
		return h, false
	}
	snap, err := j.At(tip)
	return h, err == nil && a.partOf(snap.State)
}

// partOf says whether this process belongs to the iteration that is at work.
func (a *App) partOf(s state.State) bool {
	id := a.getenv(proc.EventVariable)
	return id != "" && s.Run.Current != nil && s.Run.Current.EventID == id
}

// ownPrompt is the prompt that the agent of this run was given, false outside of
// a run.
func (a *App) ownPrompt(s state.State) (string, bool, error) {
	path := a.getenv("RALPH_PROMPT_FILE")
	if path == "" || !a.partOf(s) {
		return "", false, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", false, fmt.Errorf("read the prompt of this run: %w", err)
	}
	return string(data), true, nil
}
