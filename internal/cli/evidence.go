package cli

import (
	"errors"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/checks"
)

// evidence prints a file of the evidence.
func (c *ShowCmd) evidence(a *App, s state.State, found []journal.Entry) error {
	for _, e := range found {
		part, name := "output", c.Output
		if c.Prompt {
			part = "prompt"
		} else if c.Transcript {
			part = "transcript"
		}
		data, err := a.evidencePart(s, e, part, name)
		if err != nil {
			return err
		}
		if _, err := a.raw().Write(data); err != nil {
			return err
		}
	}
	return nil
}

// evidencePart reads a text of an iteration's evidence: the prompt, the
// transcript, or the whole output of the check with that name.
func (a *App) evidencePart(s state.State, e journal.Entry, part, name string) ([]byte, error) {
	tree, err := a.evidenceTree(s, e)
	if err != nil {
		return nil, err
	}
	path := map[string]string{"prompt": "prompt.md", "transcript": "transcript.jsonl"}[part]
	if path == "" {
		if path, err = a.outputFile(tree, name); err != nil {
			return nil, err
		}
	}
	entry, ok, err := a.repo.Lookup(tree, path)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, gitstate.Hint(1, "git ls-tree -r --name-only "+tree.String()[:12],
			"the evidence of iteration %d has no %s", e.Event.Iteration, path)
	}
	return a.repo.Store.ReadType(entry.ID, object.Blob)
}

// errPruned says that evidence is gone.
var errPruned = errors.New("its evidence was pruned")

// evidence is the evidence of an iteration, Zero when it was pruned. That of
// iterations before a fork belongs to the journal that was forked.
func (a *App) evidence(s state.State, e journal.Entry) (object.ID, error) {
	at, err := a.journal.Repo.EvidenceOf(a.Ctx, s.Journal.ID, e.Event.ID, e.Event.Result.Evidence)
	for _, o := range s.Journal.Origins {
		if err != nil || !at.IsZero() {
			break
		}
		at, err = a.journal.Repo.EvidenceOf(a.Ctx, o.Journal, e.Event.ID, e.Event.Result.Evidence)
	}
	return at, err
}

// evidenceTree is the tree of an iteration's evidence.
func (a *App) evidenceTree(s state.State, e journal.Entry) (object.ID, error) {
	at, err := a.evidence(s, e)
	if err != nil {
		return object.Zero, err
	}
	if at.IsZero() {
		return object.Zero, gitstate.Hint(1,
			"evidence.keep says how many iterations keep theirs; git ralph show tells what the journal knows", "%w", errPruned)
	}
	return a.journal.Repo.TreeOf(at)
}

// outputFile finds the output of a check: its file ends in the check's name.
func (a *App) outputFile(tree object.ID, check string) (string, error) {
	entry, ok, err := a.repo.Lookup(tree, "checks")
	if err != nil {
		return "", err
	}
	var names []string
	if ok {
		list, err := a.repo.TreeFiles(entry.ID, "")
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
