package gitstate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// Detached is what is remembered, beside the locks, of a loop that works without
// a terminal.
type Detached struct {
	PID int    `json:"pid"`
	Log string `json:"log"` // the file with its output
}

func (r *Repo) detachedFile(branch, suffix string) string {
	return filepath.Join(r.Dir(), "detached-"+FileName(branch)+suffix)
}

// DetachedLog is where the output of a branch's loop without a terminal goes.
func (r *Repo) DetachedLog(branch string) string { return r.detachedFile(branch, ".log") }

// Detached is the loop of a branch that was last started without a terminal; it
// may have ended.
func (r *Repo) Detached(branch string) (Detached, bool) {
	data, err := os.ReadFile(r.detachedFile(branch, ".json"))
	var d Detached
	return d, err == nil && json.Unmarshal(data, &d) == nil && strings.TrimSpace(d.Log) != ""
}

// SetDetached remembers a loop without a terminal.
func (r *Repo) SetDetached(branch string, d Detached) error {
	data, err := json.Marshal(d)
	if err != nil {
		return err
	}
	file := r.detachedFile(branch, ".json")
	if err := os.WriteFile(file+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}
