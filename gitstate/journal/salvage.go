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
// nearest readable ancestor, else the newest readable entry that the ref's log or
// a remote's copy of the journal still names. From says which. Zero when there is
// none.
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
	for _, at := range slices.Backward(j.reflog(ctx)) {
		if at != tip && j.Whole(at) {
			return at, "the log of its ref"
		}
	}
	remotes, err := j.Repo.ListRefs(ctx, "refs/ralph/remotes/")
	if err != nil {
		return object.Zero, ""
	}
	for name, at := range remotes {
		if strings.HasSuffix(name, "/"+j.Branch) && j.Whole(at) {
			return at, name
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
