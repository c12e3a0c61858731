package journal

import (
	"context"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
)

// Fork is one of several journals with the same id: a branch's journal and the
// one with which its linked worktree continues.
type Fork struct {
	Branch string // "" = archived
	Tip    object.ID
	State  state.State
}

// Forks are the journals of this repository with an id, archived ones (without
// a branch) included; none when there is only one journal at all. One that
// cannot be read is left out: its own commands say what is wrong with it.
func Forks(ctx context.Context, repo *gitstate.Repo, id string) ([]Fork, error) {
	heads, err := Others(ctx, repo)
	if err != nil {
		return nil, err
	}
	archived, err := repo.ListRefs(ctx, gitstate.ArchivePrefix)
	if err != nil || len(heads)+len(archived) < 2 {
		return nil, err
	}
	var out []Fork
	add := func(branch string, tip object.ID) {
		snap, err := (&Journal{Repo: repo, Branch: branch}).At(tip)
		if err == nil && snap.State.Journal.ID == id {
			out = append(out, Fork{branch, tip, snap.State})
		}
	}
	for branch, tip := range heads {
		add(branch, tip)
	}
	for _, tip := range archived {
		add("", tip)
	}
	return out, nil
}
