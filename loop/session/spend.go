package session

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/state"
)

// Spend is what the agents of the iteration in work have used so far, in a file
// beside the locks. The journal gets it at the end of the iteration. If the loop
// is killed before, recovery reads it here, so that a crash or restart does not
// reset a budget. status shows it while the agent works.
type Spend struct {
	EventID       string       `json:"event_id"`
	Tokens        state.Tokens `json:"tokens"`
	CostMicro     *int64       `json:"cost_micro_usd"` // null = unknown
	ContextTokens int64        `json:"context_tokens,omitempty"`
	ContextWindow int64        `json:"context_window,omitempty"`
	ContextAt     time.Time    `json:"context_at,omitzero"` // when the agent told of it
	Doing         *Doing       `json:"doing,omitempty"`

	Written time.Time `json:"-"` // when the file was written
}

// Doing is what the agent at work did last: a tool call, or words. It is for
// people who look, and nothing decides by it.
type Doing struct {
	Text  string    `json:"text"` // one line, without secrets that are known by their form
	Tool  bool      `json:"tool"` // a tool call
	Since time.Time `json:"since"`
}

// spendEvery is how often the file is written at most, while usage arrives.
const spendEvery = 500 * time.Millisecond

func spendFile(repo *gitstate.Repo, eventID string) string {
	return filepath.Join(repo.Dir(), "spend-"+filepath.Base(eventID))
}

// ReadSpend is what an iteration has used so far; false when nothing is known.
func ReadSpend(repo *gitstate.Repo, eventID string) (Spend, bool) {
	data, err := os.ReadFile(spendFile(repo, eventID))
	var s Spend
	if err != nil || json.Unmarshal(data, &s) != nil || s.EventID != eventID {
		return Spend{}, false
	}
	if st, err := os.Stat(spendFile(repo, eventID)); err == nil {
		s.Written = st.ModTime()
	}
	return s, true
}

// writeSpend puts the file in place in one step. A failure loses no more than
// what a crash in this moment would.
func writeSpend(repo *gitstate.Repo, s Spend) {
	data, err := json.Marshal(s)
	if err != nil {
		return
	}
	path := spendFile(repo, s.EventID)
	tmp := path + ".new"
	if os.WriteFile(tmp, data, 0o600) == nil {
		_ = os.Rename(tmp, path)
	}
}

// DropSpend removes the file once the journal has what it says.
func DropSpend(repo *gitstate.Repo, eventID string) error {
	err := os.Remove(spendFile(repo, eventID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
