package cli

import (
	"fmt"
	"os"

	"git-ralph/gitstate/state"
)

// ownPrompt is the prompt that the agent of this run was given, false outside of
// a run.
func (a *App) ownPrompt(s state.State) (string, bool, error) {
	path := a.getenv("RALPH_PROMPT_FILE")
	if path == "" || !a.reader().PartOf(s) {
		return "", false, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", false, fmt.Errorf("read the prompt of this run: %w", err)
	}
	return string(data), true, nil
}
