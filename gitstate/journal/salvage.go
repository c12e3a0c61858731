package journal

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ralph/gitstate/object"
)

// Salvage finds the newest entry that can be read whole when the tip cannot: its
// nearest readable ancestor, else the one of Elsewhere. From says which. Zero when
// there is none.
func (j *Journal) Salvage(ctx context.Context) (id object.ID, from string) {
	tip, err := j.Tip(ctx)
	if err != nil {
		return object.Zero, ""
	}
	for at := tip; !at.IsZero() && ctx.Err() == nil; {
		if at != tip && j.Whole(at) {
			return at, "its history"
		}
		c, err := j.Repo.Store.Records().ReadCommit(at)
		if err != nil || len(c.Parents) == 0 {
			break
		}
		at = c.Parents[0]
	}
	return j.Elsewhere(ctx)
}

// Elsewhere finds the newest entry that can be read whole without the ref: in its
// log, in a remote's copy of the journal, or among the entries of this branch
// that no ref leads to.
func (j *Journal) Elsewhere(ctx context.Context) (id object.ID, from string) {
	return j.elsewhere(ctx, j.Whole)
}

func (j *Journal) elsewhere(ctx context.Context, fits func(object.ID) bool) (id object.ID, from string) {
	for _, at := range slices.Backward(j.reflog(ctx)) {
		if fits(at) {
			return at, "the log of its ref"
		}
	}
	remotes, err := j.Repo.ListRefs(ctx, "refs/ralph/remotes/")
	if err != nil {
		return object.Zero, ""
	}
	for name, at := range remotes {
		if strings.HasSuffix(name, "/"+j.Branch) && fits(at) {
			return at, name
		}
	}
	for _, at := range j.loose(ctx) {
		if j.mine(ctx, at) {
			return at, "entries that no ref leads to"
		}
	}
	return object.Zero, ""
}

// reflog lists what the ref has named, oldest first. git refuses to show the log
// of a ref whose object is gone, so the file is read where there is one.
func (j *Journal) reflog(ctx context.Context) []object.ID {
	var out []object.ID
	add := func(hash string) {
		if id, err := object.ParseID(hash); err == nil && !id.IsZero() {
			out = append(out, id)
		}
	}
	if data, err := os.ReadFile(filepath.Join(j.Repo.CommonDir, "logs", filepath.FromSlash(j.Ref()))); err == nil {
		for line := range strings.Lines(string(data)) {
			if f := strings.Fields(line); len(f) > 1 {
				add(f[0])
				add(f[1])
			}
		}
		return out
	}
	if data, err := j.Repo.Git.Run(ctx, "reflog", "show", "--format=%H", j.Ref()); err == nil {
		for line := range strings.Lines(string(data)) {
			add(strings.TrimSpace(line))
		}
		slices.Reverse(out)
	}
	return out
}

// Whole says whether the state and the event of an entry can be read.
func (j *Journal) Whole(id object.ID) bool {
	j.readAnew() // not what is known of it, but what can be read
	if _, err := j.At(id); err != nil {
		return false
	}
	_, err := j.Read(id)
	return err == nil
}
