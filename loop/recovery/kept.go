package recovery

import (
	"context"
	"fmt"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
)

// keptCommit is a commit of the branch that a kept iteration made.
type keptCommit struct{ id, parent object.ID }

// KeptCommits knows which kept iterations a branch has: by their commit, or by
// the event id that it carries after a rebase or squash.
type KeptCommits struct {
	byID    map[string]keptCommit
	byEvent map[string]keptCommit
}

// FindKept reads the history of tip since the journal's base.
func FindKept(ctx context.Context, repo *gitstate.Repo, s state.State, tip object.ID) (*KeptCommits, error) {
	k := &KeptCommits{map[string]keptCommit{}, map[string]keptCommit{}}
	if tip.IsZero() {
		return k, nil
	}
	// The whole message: a squash puts the trailers of what it joins in its body.
	args := []string{"log", "-z", "--format=%H%n%P%n%B", tip.String()}
	if base, err := object.ParseID(s.Journal.Base); err == nil && repo.Store.Has(base) {
		args = append(args, "^"+base.String())
	}
	out, err := repo.Git.Run(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("read the history of the branch: %w", err)
	}
	for text := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		hash, rest, _ := strings.Cut(text, "\n")
		parents, message, ok := strings.Cut(rest, "\n")
		if !ok {
			continue
		}
		var c keptCommit
		if c.id, err = object.ParseID(hash); err != nil {
			return nil, err
		}
		if first, _, _ := strings.Cut(parents, " "); first != "" {
			if c.parent, err = object.ParseID(first); err != nil {
				return nil, err
			}
		}
		k.byID[hash] = c
		for line := range strings.Lines(message) {
			if id, ok := strings.CutPrefix(strings.TrimSpace(line), "Ralph-Event-Id: "); ok && k.byEvent[id].id.IsZero() {
				k.byEvent[id] = c
			}
		}
	}
	return k, nil
}

// find looks for the commit of an iteration.
func (k *KeptCommits) find(commit, event string) (keptCommit, bool) {
	if c, ok := k.byID[commit]; ok {
		return c, true
	}
	c, ok := k.byEvent[event]
	return c, ok
}

// HasEvent reports whether a commit of the branch carries the id of an event.
func (k *KeptCommits) HasEvent(id string) bool {
	_, ok := k.byEvent[id]
	return ok
}

// Has says whether the branch has an iteration's commit, and as which one.
func (k *KeptCommits) Has(commit, event string) (string, bool) {
	c, ok := k.find(commit, event)
	return c.id.String(), ok
}
