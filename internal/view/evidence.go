package view

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/checks"
)

// Text reads a text of an iteration's evidence: the prompt, the
// transcript, or the whole output of the check with that name.
func (r Reader) Text(ctx context.Context, s state.State, e journal.Entry, part, name string) ([]byte, error) {
	tree, err := r.evidenceTree(ctx, s, e)
	if err != nil {
		return nil, err
	}
	path := map[string]string{"prompt": "prompt.md", "transcript": "transcript.jsonl"}[part]
	if path == "" {
		if path, err = r.outputFile(tree, name); err != nil {
			return nil, err
		}
	}
	entry, ok, err := r.Journal.Repo.Lookup(tree, path)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, gitstate.Hint(1, "git ls-tree -r --name-only "+tree.String()[:12],
			"the evidence of iteration %d %w %s", e.Event.Iteration, ErrNoText, path)
	}
	return r.Journal.Repo.Store.ReadType(entry.ID, object.Blob)
}

// ErrPruned says that evidence is gone.
var ErrPruned = errors.New("its evidence was pruned")

// ErrNoText says that evidence does not hold a text.
var ErrNoText = errors.New("has no")

// Evidence is the evidence of an iteration, Zero when it was pruned. That of
// iterations before a fork belongs to the journal that was forked.
func (r Reader) Evidence(ctx context.Context, s state.State, e journal.Entry) (object.ID, error) {
	at, err := r.Journal.Repo.EvidenceOf(ctx, s.Journal.ID, e.Event.ID, e.Event.Result.Evidence)
	for _, o := range s.Journal.Origins {
		if err != nil || !at.IsZero() {
			break
		}
		at, err = r.Journal.Repo.EvidenceOf(ctx, o.Journal, e.Event.ID, e.Event.Result.Evidence)
	}
	return at, err
}

// evidenceTree is the tree of an iteration's evidence.
func (r Reader) evidenceTree(ctx context.Context, s state.State, e journal.Entry) (object.ID, error) {
	at, err := r.Evidence(ctx, s, e)
	if err != nil {
		return object.Zero, err
	}
	if at.IsZero() {
		return object.Zero, gitstate.Hint(1, "evidence.keep says how many iterations keep theirs; git ralph show prints "+
			"what the journal recorded", "%w", ErrPruned)
	}
	return r.Journal.Repo.TreeOf(at)
}

// outputFile finds the output of a check: its file ends in the check's name.
func (r Reader) outputFile(tree object.ID, check string) (string, error) {
	entry, ok, err := r.Journal.Repo.Lookup(tree, "checks")
	if err != nil {
		return "", err
	}
	var names []string
	if ok {
		list, err := r.Journal.Repo.TreeFiles(entry.ID, "")
		if err != nil {
			return "", err
		}
		for _, f := range list {
			_, name, _ := strings.Cut(strings.TrimSuffix(f.Name, ".txt"), "-")
			if strings.EqualFold(name, checks.SafeName(check)) {
				return "checks/" + f.Name, nil
			}
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "", gitstate.Hint(1, "git ralph show", "no check was run in this iteration")
	}
	return "", gitstate.Hint(1, "there are: "+strings.Join(names, ", "), "there is no output of %q", check)
}

// Iterations finds the ends of iteration n; none is an error unless it is in
// work now.
func (r Reader) Iterations(ctx context.Context, n int) ([]journal.Entry, error) {
	if n <= 0 {
		return nil, gitstate.Hint(2, "iterations are numbered from 1", "%d is not an iteration number", n)
	}
	return r.Journal.Iterations(ctx, n)
}

// NoIteration says that there is no iteration n.
func NoIteration(s state.State, n int) error {
	hint := fmt.Sprintf("the newest is %d; git ralph log --event iteration lists them", s.Run.Iteration)
	if s.Run.Iteration == 0 {
		hint = "git ralph start begins the first"
	}
	return gitstate.Hint(1, hint, "there is no iteration %d", n)
}

// Iteration is the end of iteration n; the newest of several.
func (r Reader) Iteration(ctx context.Context, s state.State, n int) (journal.Entry, error) {
	found, err := r.Iterations(ctx, n)
	if err != nil {
		return journal.Entry{}, err
	}
	if len(found) == 0 {
		return journal.Entry{}, NoIteration(s, n)
	}
	return found[0], nil
}

// Attempt is what an attempt started from and what it left, as trees. What was
// kept is known without evidence, too.
func (r Reader) Attempt(ctx context.Context, s state.State, e journal.Entry) (before, after object.ID, err error) {
	res := e.Event.Result
	if before, err = r.treeOfHex(res.Parent); err != nil {
		return before, after, err
	}
	tree, err := r.evidenceTree(ctx, s, e)
	if errors.Is(err, ErrPruned) && res.Commit != "" {
		after, err = r.treeOfHex(res.Commit)
		return before, after, err
	}
	if err != nil {
		return before, after, err
	}
	if res.Parent == "" {
		// Recovery does not record it; the evidence's first parent is where
		// the attempt started.
		if before, err = r.evidenceStart(ctx, s, e); err != nil {
			return before, after, err
		}
	}
	entry, ok, err := r.Journal.Repo.Lookup(tree, "worktree")
	if err != nil {
		return before, after, err
	}
	if !ok {
		return before, object.EmptyTree, nil
	}
	return before, entry.ID, nil
}

func (r Reader) evidenceStart(ctx context.Context, s state.State, e journal.Entry) (object.ID, error) {
	at, err := r.Evidence(ctx, s, e)
	if err != nil {
		return object.Zero, err
	}
	c, err := r.Journal.Repo.Store.ReadCommit(at)
	if err != nil || len(c.Parents) == 0 {
		return object.EmptyTree, err
	}
	return r.Journal.Repo.TreeOf(c.Parents[0])
}

// treeOfHex is the tree of a commit named in an event; "" is an unborn branch.
func (r Reader) treeOfHex(commit string) (object.ID, error) {
	if commit == "" {
		return object.EmptyTree, nil
	}
	id, err := object.ParseID(commit)
	if err != nil {
		return object.Zero, err
	}
	return r.Journal.Repo.TreeOf(id)
}
