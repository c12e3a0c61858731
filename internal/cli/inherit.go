package cli

import (
	"strconv"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/notes"
)

// inherit finds the nearest journal in the history of a new one's branch and
// returns what it knows that still holds, and its id.
func (a *App) inherit(j *journal.Journal, base object.ID) ([]notes.Knowledge, string, error) {
	refs, err := j.Repo.ListRefs(a.Ctx, "refs/ralph/heads/")
	if err != nil {
		return nil, "", err
	}
	archived, err := j.Repo.ListRefs(a.Ctx, gitstate.ArchivePrefix)
	if err != nil {
		return nil, "", err
	}
	for name, id := range archived {
		refs[name] = id
	}
	best, far, from := []notes.Knowledge(nil), -1, ""
	for _, tip := range refs {
		snap, err := j.At(tip)
		if err != nil || len(snap.State.Knowledge) == 0 {
			continue
		}
		at := snap.State.Journal.Base
		if k := snap.State.Run.LastKeep; k != nil {
			at = k.Commit
		}
		commit, err := object.ParseID(at)
		if err != nil || !j.Repo.Store.Has(commit) {
			continue
		}
		if ok, err := j.Repo.IsAncestor(a.Ctx, commit, base); err != nil || !ok {
			continue
		}
		line, err := j.Repo.Git.Line(a.Ctx, "rev-list", "--count", commit.String()+".."+base.String())
		if err != nil {
			return nil, "", err
		}
		if n, err := strconv.Atoi(line); err == nil && (far < 0 || n < far) {
			best, far, from = live(snap.State.Knowledge), n, snap.State.Journal.ID
		}
	}
	return best, from, nil
}

// live is the knowledge that still holds, without the links to what it
// replaced: those entries stay in the journal they are from.
func live(all []notes.Knowledge) []notes.Knowledge {
	var out []notes.Knowledge
	for _, k := range all {
		if k.Live() {
			k.Supersedes = nil
			out = append(out, k)
		}
	}
	return out
}
