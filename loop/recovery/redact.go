package recovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/stable"
	"git-ralph/loop/refusal"
	"git-ralph/notes"
)

// Redactor takes what a pattern matches out of everything that git ralph has
// recorded. No commit of the user's is rewritten. The caller holds the locks of all
// branches that have a journal.
type Redactor struct {
	Repo    *gitstate.Repo
	Pattern *regexp.Regexp
	Open    func(branch string) (*journal.Journal, error)
	Now     func() time.Time
	Fail    func(step string)
}

// RedactSteps are the places where it can be stopped. Whatever is left of it then,
// the next redact of the pattern finds and finishes.
var RedactSteps = []string{"redact:caches", "redact:objects", "redact:refs", "redact:removed"}

// Redaction is where the pattern was found.
type Redaction struct {
	Journals []RedactedJournal `json:"journals"`
	Evidence []string          `json:"evidence"` // refs that go
	Notes    int               `json:"notes"`
	// Pushed are the copies of journals that remotes have, as far as is known here.
	Pushed []string `json:"pushed"`
	// Aside are files of the user's that were moved aside and are left as they are.
	Aside []string `json:"aside"`
	// Objects counts old unreachable objects with a match: how many there are, and
	// after Apply how many were removed. Packed is how many lie in packs that git may
	// not rewrite.
	Objects int `json:"objects_removed"`
	Packed  int `json:"objects_packed"`
}

// RedactedJournal is a journal that begins anew.
type RedactedJournal struct {
	Ref    string `json:"ref"`
	Branch string `json:"branch"`
	Old    string `json:"old"`
	New    string `json:"new"`
}

// Any says whether anything was found.
func (r Redaction) Any() bool {
	return len(r.Journals)+len(r.Evidence)+len(r.Pushed)+r.Notes+r.Objects+r.Packed > 0
}

// Find looks everywhere and changes nothing.
func (r *Redactor) Find(ctx context.Context) (Redaction, error) {
	found := Redaction{Journals: []RedactedJournal{}, Evidence: []string{}, Pushed: []string{}, Aside: []string{}}
	refs, err := r.Repo.ListRefs(ctx, gitstate.OwnPrefix)
	if err != nil {
		return found, err
	}
	scan := scanner{r: r, seen: map[object.ID]bool{}}
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		kind, rest, _ := strings.Cut(strings.TrimPrefix(name, gitstate.OwnPrefix), "/")
		var not []string
		if kind == "evidence" || kind == "local" {
			if not, err = r.parents(refs[name]); err != nil {
				return found, err
			}
		}
		hit, err := scan.reachable(ctx, refs[name], not...)
		if err != nil || !hit {
			if err != nil {
				return found, err
			}
			continue
		}
		switch kind {
		case "heads", "archive":
			j := RedactedJournal{Ref: name, Old: refs[name].String()}
			if kind == "heads" {
				j.Branch = rest
			}
			found.Journals = append(found.Journals, j)
		case "evidence", "local":
			found.Evidence = append(found.Evidence, name)
		case "remotes":
			found.Pushed = append(found.Pushed, name)
		}
	}
	if at, err := r.Repo.ReadRef(ctx, gitstate.NotesRef); err != nil {
		return found, err
	} else if !at.IsZero() {
		hit, err := scan.reachable(ctx, at)
		if err != nil {
			return found, err
		}
		if hit {
			found.Notes = 1
		}
	}
	if found.Aside, err = r.aside(); err != nil {
		return found, err
	}
	old, err := r.unreachable(ctx, &scan)
	if err != nil {
		return found, err
	}
	found.Objects = len(old)
	return found, nil
}

func (r *Redactor) parents(commit object.ID) ([]string, error) {
	c, err := r.Repo.Store.ReadCommit(commit)
	var out []string
	for _, p := range c.Parents {
		out = append(out, "^"+p.String())
	}
	return out, err
}

// scanner remembers which objects it has looked at, and what it found.
type scanner struct {
	r    *Redactor
	seen map[object.ID]bool // whether the pattern matches
}

// reachable says whether the pattern matches a commit or a file that a commit leads
// to.
func (s *scanner) reachable(ctx context.Context, from object.ID, not ...string) (bool, error) {
	ids, err := s.r.objects(ctx, append([]string{from.String()}, not...))
	if err != nil {
		return false, err
	}
	hit := false
	for _, id := range ids {
		one, err := s.matches(id)
		if err != nil {
			return false, err
		}
		hit = hit || one
	}
	return hit, nil
}

func (s *scanner) matches(id object.ID) (bool, error) {
	if hit, ok := s.seen[id]; ok {
		return hit, nil
	}
	t, data, err := s.r.Repo.Store.Read(id)
	if err != nil {
		return false, fmt.Errorf("look into %s: %w", id, err)
	}
	hit := t != object.Tree && s.r.Pattern.Match(data)
	if t == object.Tree {
		list, err := object.DecodeTree(data)
		hit = err == nil && slices.ContainsFunc(list, func(e object.TreeEntry) bool {
			return s.r.Pattern.MatchString(e.Name)
		})
	}
	s.seen[id] = hit
	return hit, nil
}

// objects lists what rev-list does.
func (r *Redactor) objects(ctx context.Context, revs []string, options ...string) ([]object.ID, error) {
	args := append(append([]string{"rev-list", "--objects"}, options...), "--stdin")
	out, err := r.Repo.Git.RunWith(ctx, strings.NewReader(strings.Join(revs, "\n")+"\n"), nil, args...)
	if err != nil {
		return nil, fmt.Errorf("list what was recorded: %w", err)
	}
	var ids []object.ID
	for line := range strings.Lines(string(out)) {
		hash, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		id, err := object.ParseID(hash)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// unreachable are the matching objects to which only our commits without a ref
// lead.
func (r *Redactor) unreachable(ctx context.Context, scan *scanner) ([]object.ID, error) {
	out, err := r.Repo.Git.Run(ctx, "cat-file", "--batch-all-objects", "--unordered",
		"--batch-check=%(objectname) %(objecttype)")
	if err != nil {
		return nil, fmt.Errorf("look for old entries: %w", err)
	}
	logged, err := r.logged()
	if err != nil {
		return nil, err
	}
	keep, err := r.objects(ctx, logged, "--all", "--indexed-objects")
	if err != nil {
		return nil, err
	}
	seen := map[object.ID]bool{}
	for _, id := range keep {
		seen[id] = true
	}
	var found []object.ID
	// A redact that was killed may have removed some of them: what cannot be read
	// is gone already.
	var walk func(id object.ID)
	walk = func(id object.ID) {
		if seen[id] {
			return
		}
		seen[id] = true
		if hit, err := scan.matches(id); err != nil {
			return
		} else if hit {
			found = append(found, id)
		}
		if list, err := r.Repo.Store.Records().ReadTree(id); err == nil {
			for _, e := range list {
				walk(e.ID)
			}
		}
	}
	for line := range strings.Lines(string(out)) {
		hash, ok := strings.CutSuffix(strings.TrimSpace(line), " commit")
		id, err := object.ParseID(hash)
		if !ok || err != nil || seen[id] {
			continue
		}
		if c, err := r.Repo.Store.ReadCommit(id); err == nil && c.Committer.Name == "git-ralph" {
			walk(id)
			walk(c.Tree)
		}
	}
	return found, nil
}

// logged are the commits that the logs of the user's refs name: older stashes, and what
// a branch was before it was reset. git keeps their objects like those of a ref.
func (r *Redactor) logged() ([]string, error) {
	common := r.Repo.CommonDir
	own := []string{filepath.Join(common, "logs", "refs", "ralph"),
		filepath.Join(common, "logs", filepath.FromSlash(gitstate.NotesRef))}
	var ids []object.ID
	look := func(path string, d os.DirEntry, err error) error {
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil
		case err != nil:
			return err
		case slices.Contains(own, path) && d.IsDir():
			return filepath.SkipDir
		case slices.Contains(own, path) || !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		for line := range bytes.Lines(data) {
			f := bytes.Fields(line) // the old value, the new one, and who moved it
			for _, hash := range f[:min(2, len(f))] {
				if id, err := object.ParseID(string(hash)); err == nil && !id.IsZero() {
					ids = append(ids, id)
				}
			}
		}
		return err
	}
	dirs := []string{common}
	linked, err := os.ReadDir(filepath.Join(common, "worktrees"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("look for linked worktrees: %w", err)
	}
	for _, d := range linked {
		dirs = append(dirs, filepath.Join(common, "worktrees", d.Name()))
	}
	for _, dir := range dirs {
		if err := filepath.WalkDir(filepath.Join(dir, "logs"), look); err != nil {
			return nil, fmt.Errorf("read the logs of refs: %w", err)
		}
	}
	stable.Sort(ids, func(a, b object.ID) int { return bytes.Compare(a[:], b[:]) })
	ids = slices.Compact(ids)
	var revs []string
	for i, there := range r.Repo.Store.HasMany(ids) {
		if there { // git has pruned what is not
			revs = append(revs, ids[i].String())
		}
	}
	return revs, nil
}

func (r *Redactor) aside() ([]string, error) {
	out := []string{}
	err := filepath.WalkDir(filepath.Join(r.Repo.Dir(), "aside"), func(path string, d os.DirEntry, err error) error {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && r.Pattern.Match(data) {
			out = append(out, path)
		}
		return err
	})
	return out, err
}

// Apply removes the matches. Every journal, the notes and the evidence change
// in one transaction. Afterwards unreachable objects are removed.
func (r *Redactor) Apply(ctx context.Context, found *Redaction) error {
	if err := r.caches(); err != nil {
		return err
	}
	r.fail("redact:caches")
	var ups []gitstate.RefUpdate
	for i := range found.Journals {
		up, err := r.journal(ctx, &found.Journals[i])
		if err != nil {
			return err
		}
		ups = append(ups, up)
	}
	for _, name := range append(slices.Clone(found.Evidence), found.Pushed...) {
		at, err := r.Repo.ReadRef(ctx, name)
		if err != nil {
			return err
		}
		ups = append(ups, gitstate.RefUpdate{Name: name, Old: at})
	}
	if found.Notes > 0 {
		up, n, err := r.notes(ctx)
		if err != nil {
			return err
		}
		found.Notes, ups = n, append(ups, up)
	}
	if err := r.Repo.Store.Sync(); err != nil {
		return err
	}
	r.fail("redact:objects")
	if len(ups) > 0 {
		if err := r.Repo.UpdateRefs("ralph: redact", ups...); err != nil {
			return fmt.Errorf("put what is redacted in place: %w", err)
		}
	}
	r.fail("redact:refs")
	if err := r.remove(ctx, found); err != nil {
		return err
	}
	r.fail("redact:removed")
	return r.caches()
}

// journal makes the first entry of the journal that takes the place of the old one.
func (r *Redactor) journal(ctx context.Context, j *RedactedJournal) (gitstate.RefUpdate, error) {
	none := gitstate.RefUpdate{}
	old, err := object.ParseID(j.Old)
	if err != nil {
		return none, err
	}
	jr, err := r.Open(j.Branch)
	if err != nil {
		return none, err
	}
	snap, err := jr.At(old)
	if err != nil {
		return none, err
	}
	s, err := state.Redact(snap.State, r.Pattern)
	if err != nil {
		return none, refusal.New(refusal.NotRedactable, "the journal %s cannot be redacted: %w", j.Ref, err)
	}
	next, err := jr.Draft(ctx, nil, state.Event{Type: state.EvInit, Init: &state.Init{JournalID: s.Journal.ID,
		Base: s.Journal.Base, Branch: s.Journal.Branch, Redacted: j.Old, State: &s}})
	if err != nil {
		return none, err
	}
	j.New = next.Tip.String()
	return gitstate.RefUpdate{Name: j.Ref, Old: old, New: next.Tip}, nil
}

// notes makes the notes without what was found, as a first commit.
func (r *Redactor) notes(ctx context.Context) (gitstate.RefUpdate, int, error) {
	up := gitstate.RefUpdate{Name: gitstate.NotesRef}
	at, err := r.Repo.ReadRef(ctx, gitstate.NotesRef)
	if err != nil {
		return up, 0, err
	}
	up.Old = at
	tree, err := r.Repo.TreeOf(at)
	if err != nil {
		return up, 0, err
	}
	files, err := r.Repo.RecordFiles(tree, "")
	if err != nil {
		return up, 0, err
	}
	edits := map[string]*object.TreeEntry{}
	for _, f := range files {
		data, err := r.Repo.Store.ReadType(f.ID, object.Blob)
		if err != nil {
			return up, 0, err
		}
		clean := r.Pattern.ReplaceAllLiteral(data, []byte(notes.Redacted))
		if bytes.Equal(clean, data) {
			continue
		}
		id, err := r.Repo.Store.Write(object.Blob, clean)
		if err != nil {
			return up, 0, err
		}
		edits[f.Name] = &object.TreeEntry{Mode: f.Mode, ID: id}
	}
	if tree, err = r.Repo.EditRecord(tree, edits); err != nil {
		return up, 0, err
	}
	sig := object.Ours(r.Now())
	up.New, err = r.Repo.Store.WriteCommit(object.CommitData{Tree: tree, Author: sig, Committer: sig,
		Message: notes.BeginsAnew + "\n"})
	return up, max(len(edits), 1), err
}

// remove deletes the old objects that match and that nothing leads to.
func (r *Redactor) remove(ctx context.Context, found *Redaction) error {
	refs, err := r.Repo.ListRefs(ctx, gitstate.OwnPrefix)
	if err != nil {
		return err
	}
	refs[gitstate.NotesRef] = object.Zero
	for name := range refs {
		if strings.HasPrefix(name, gitstate.EvidencePrefix) {
			continue // made once and never moved
		}
		// What a log still knows of the old entries; many refs have no log.
		r.Repo.Git.Run(ctx, "reflog", "expire", "--expire=never", "--expire-unreachable=all", name)
	}
	scan := scanner{r: r, seen: map[object.ID]bool{}}
	old, err := r.unreachable(ctx, &scan)
	if err != nil {
		return err
	}
	left, err := r.erase(ctx, old)
	if err == nil && left > 0 {
		// Unreachable objects become loose objects, so none is lost.
		if _, err := r.Repo.Git.Run(ctx, "repack", "-A", "-d", "-q"); err != nil {
			return fmt.Errorf("take old objects out of the packs: %w", err)
		}
		left, err = r.erase(ctx, old)
	}
	found.Objects, found.Packed = len(old)-left, left
	return err
}

// erase removes the files of objects and says how many lie in packs.
func (r *Redactor) erase(ctx context.Context, ids []object.ID) (left int, err error) {
	var names strings.Builder
	for _, id := range ids {
		if err := r.Repo.Store.Erase(id); err != nil {
			return 0, err
		}
		names.WriteString(id.String() + "\n")
	}
	out, err := r.Repo.Git.RunWith(ctx, strings.NewReader(names.String()), nil, "cat-file", "--batch-check")
	return len(ids) - strings.Count(string(out), " missing\n"), err
}

// caches removes git ralph's caches.
func (r *Redactor) caches() error {
	if err := os.RemoveAll(filepath.Join(r.Repo.Dir(), "cache")); err != nil {
		return fmt.Errorf("remove the cache: %w", err)
	}
	return nil
}

func (r *Redactor) fail(step string) {
	if r.Fail != nil {
		r.Fail(step)
	}
}
