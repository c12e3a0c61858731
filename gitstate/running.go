package gitstate

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"git-ralph/internal/proc"
)

// runningPrefix begins the names of the empty folders in runningDir. An event
// id and the identity of the process that runs its commands follow.
const runningPrefix = "event-"

func (r *Repo) runningDir() string { return filepath.Join(r.Dir(), "running") }

// NoteRunning records that commands with the mark of an event run until done is
// called, so that a later process can end them when this one is killed: not
// every such event is in the journal.
func (r *Repo) NoteRunning(eventID string) (done func(), err error) {
	if err := os.MkdirAll(r.runningDir(), 0o700); err != nil {
		return nil, fmt.Errorf("note what is started: %w", err)
	}
	path, err := os.MkdirTemp(r.runningDir(), proc.OwnedPrefix(runningPrefix+eventID+"-"))
	if err != nil {
		return nil, fmt.Errorf("note what is started: %w", err)
	}
	return func() { os.Remove(path) }, nil
}

// EndLeft ends the commands that dead processes noted with NoteRunning and says
// how many processes there were.
func (r *Repo) EndLeft() (ended int, err error) {
	for _, path := range proc.Orphans(r.runningDir(), runningPrefix) {
		id, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), runningPrefix), "-")
		killed, err := proc.SweepEvent(id)
		if ended += len(killed); err != nil {
			return ended, err
		}
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return ended, err
		}
	}
	return ended, nil
}
