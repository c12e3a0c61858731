package journal

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/stable"
)

// lostLook bounds the search for entries that no ref leads to.
const lostLook = 10 * time.Second

// Lost finds the newest entry of a journal whose ref is gone: in a remote's copy,
// the log of the ref, or among all commits of the repository. From says where.
// It is zero where this machine never had a journal, and where another branch's
// journal or an archived one holds the entry.
func (j *Journal) Lost(ctx context.Context) (id object.ID, from string) {
	if tip, err := j.Tip(ctx); err != nil || !tip.IsZero() {
		return object.Zero, ""
	}
	if knownActor(j.Repo) == "" {
		return object.Zero, "" // nothing was ever written here: a clone may hold entries all the same
	}
	ctx, cancel := context.WithTimeout(ctx, lostLook)
	defer cancel()
	return j.elsewhere(ctx, func(at object.ID) bool { return j.mine(ctx, at) })
}

// mine says whether an entry is whole, of this branch, and in no journal that
// still has a ref.
func (j *Journal) mine(ctx context.Context, id object.ID) bool {
	if !j.Whole(id) {
		return false
	}
	snap, err := j.At(id)
	j.readAnew()
	if err != nil || snap.State.Journal.Branch != j.Branch {
		return false
	}
	for _, prefix := range []string{"refs/ralph/heads/", gitstate.ArchivePrefix} {
		refs, err := j.Repo.ListRefs(ctx, prefix)
		if err != nil {
			return false
		}
		for name, tip := range refs {
			if name == j.Ref() {
				continue
			}
			if held, err := j.Repo.IsAncestor(ctx, id, tip); err != nil || held {
				return false
			}
		}
	}
	return true
}

// loose lists the entries of any journal that no other entry follows, newest
// first, whatever leads to them. It looks at each commit of the repository.
func (j *Journal) loose(ctx context.Context) []object.ID {
	const at, many = 10_000, 50 // commits read at once, entries looked at closely
	out, err := j.Repo.Git.Run(ctx, "cat-file", "--batch-all-objects", "--unordered",
		"--batch-check=%(objectname) %(objecttype)")
	if err != nil {
		return nil
	}
	var commits []string
	for line := range strings.Lines(string(out)) {
		if hash, ok := strings.CutSuffix(strings.TrimSpace(line), " commit"); ok {
			commits = append(commits, hash)
		}
	}
	type entry struct {
		id   object.ID
		when time.Time
	}
	var found []entry
	followed := map[object.ID]bool{}
	for chunk := range slices.Chunk(commits, at) {
		data, err := j.Repo.Git.RunWith(ctx, strings.NewReader(strings.Join(chunk, "\n")+"\n"), nil, "cat-file", "--batch",
			"--buffer")
		if err != nil {
			return nil
		}
		for _, hash := range entriesIn(data) {
			id, err := object.ParseID(hash)
			if err != nil {
				continue
			}
			c, err := j.Repo.Store.Records().ReadCommit(id)
			if err != nil {
				continue
			}
			found = append(found, entry{id, c.Committer.When})
			for _, p := range c.Parents {
				followed[p] = true
			}
		}
	}
	found = slices.DeleteFunc(found, func(e entry) bool { return followed[e.id] })
	stable.Sort(found, func(a, b entry) int { return b.when.Compare(a.when) })
	var ids []object.ID
	for _, e := range found[:min(len(found), many)] {
		ids = append(ids, e.id)
	}
	return ids
}

// entriesIn picks what look like entries from the output of cat-file --batch.
func entriesIn(data []byte) []string {
	var out []string
	mark := []byte("\nRalph-Format: " + state.Format + "\n")
	for len(data) > 0 {
		head, rest, ok := bytes.Cut(data, []byte("\n"))
		f := strings.Fields(string(head))
		if !ok || len(f) != 3 {
			return out
		}
		n := 0
		for _, d := range f[2] {
			n = n*10 + int(d-'0')
		}
		if n < 0 || n+1 > len(rest) {
			return out
		}
		if bytes.Contains(rest[:n], mark) {
			out = append(out, f[0])
		}
		data = rest[n+1:]
	}
	return out
}
