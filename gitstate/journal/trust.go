package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

// trustFile holds the hashes of the commands that were written into journals on
// this machine, or that a person here has trusted: one sha256 in hex a line. It
// is local to the repository, so that the commands of a journal that was fetched
// count only after a question. When it is lost, the question comes again.
func trustFile(repo *gitstate.Repo) string { return filepath.Join(repo.Dir(), "trusted-commands") }

func hashCommand(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Untrusted are the commands that came from elsewhere and that nobody here has
// trusted.
func Untrusted(repo *gitstate.Repo, commands []state.Command) ([]state.Command, error) {
	if len(commands) == 0 {
		return nil, nil
	}
	known, err := trustedHashes(repo)
	if err != nil {
		return nil, err
	}
	var out []state.Command
	for _, c := range commands {
		if !known[hashCommand(c.Text)] {
			out = append(out, c)
		}
	}
	return out, nil
}

// Trust remembers commands as trusted in this repository. It is on the disk
// when Trust returns.
func Trust(repo *gitstate.Repo, commands []state.Command) error {
	missing, err := Untrusted(repo, commands)
	if err != nil || len(missing) == 0 {
		return err
	}
	if err := repo.EnsureDir(); err != nil {
		return err
	}
	var b strings.Builder
	for _, c := range missing {
		b.WriteString(hashCommand(c.Text) + "\n")
	}
	f, err := os.OpenFile(trustFile(repo), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("remember trusted commands: %w", err)
	}
	// One write of whole lines: processes that do this at once do not mix theirs.
	_, err = f.WriteString(b.String())
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("remember trusted commands: %w", err)
	}
	return nil
}

func trustedHashes(repo *gitstate.Repo) (map[string]bool, error) {
	data, err := os.ReadFile(trustFile(repo))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the trusted commands: %w", err)
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		known[strings.TrimSpace(line)] = true
	}
	return known, nil
}

// AuthorOf is the actor of the newest entry that changed a task, "" when it
// cannot be told.
func (j *Journal) AuthorOf(ctx context.Context, task plan.TaskID) string {
	out, err := j.Repo.Git.Line(ctx, "log", "-1", "--format=%(trailers:key=Ralph-Actor,valueonly)", j.Ref(), "--",
		"tasks/"+string(task)+".toml")
	if id := strings.TrimSpace(out); err == nil && isActor(id) {
		return id
	}
	return ""
}

// RecordedCommands are the commands that iterations of the journal recorded as
// run, in entries newer than those that Looked was told of. They are what
// `git ralph verify` runs again. ErrNone when there is no journal.
func (j *Journal) RecordedCommands(ctx context.Context) ([]state.Command, error) {
	looked, err := os.ReadFile(lookedFile(j.Repo))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the trusted commands: %w", err)
	}
	tip, err := j.Tip(ctx)
	if err != nil {
		return nil, err
	}
	if tip.IsZero() {
		return nil, ErrNone
	}
	var out []state.Command
	seen := map[string]bool{}
	add := func(e Entry) error {
		if r := e.Event.Result; r != nil {
			for _, c := range r.Checks {
				if c.Command != "" && !seen[c.Command] {
					seen[c.Command] = true
					out = append(out, state.Command{Task: e.Event.Task, Text: c.Command})
				}
			}
		}
		return nil
	}
	if last, perr := object.ParseID(strings.TrimSpace(string(looked))); perr == nil && j.Repo.Store.Has(last) {
		// The entry may be on the side of a merge: only what it leads to has been looked at.
		err = j.between(ctx, tip, last, briefly, add)
	} else {
		err = j.WalkBrief(ctx, func(e Entry) (bool, error) { return true, add(e) })
	}
	return out, err
}

// Looked remembers that the recorded commands of the journal as it is now were
// shown to a person.
func (j *Journal) Looked(ctx context.Context) error {
	tip, err := j.Tip(ctx)
	if err != nil || tip.IsZero() {
		return err
	}
	return gitstate.WriteFile(lookedFile(j.Repo), []byte(tip.String()+"\n"), 0o600)
}

func lookedFile(repo *gitstate.Repo) string { return filepath.Join(repo.Dir(), "trusted-history") }
