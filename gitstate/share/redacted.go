package share

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/proc"
	"git-ralph/notes"
)

// BeforeError says that one side still has refs from before a redaction of the
// other side. Joining them would bring the redacted text back.
type BeforeError struct {
	Remote string
	Refs   []string
	Here   bool // the old refs are ours
}

func (e *BeforeError) Error() string {
	refs := strings.Join(e.Refs, " and ")
	if e.Here {
		return refs + " here is from before a text was taken out of what " + e.Remote + " has"
	}
	return e.Remote + " still has " + refs + " from before a text was taken out of it here"
}

// pair is one of our refs on both sides.
type pair struct {
	ref         string
	here, there object.ID
}

// pairs are the refs to join that both sides have with different values.
func (p *Partner) pairs(ctx context.Context, seen Seen) ([]pair, error) {
	all := []pair{{ref: p.Journal.Ref(), there: seen.Journal}}
	if p.Notes {
		all = append(all, pair{ref: gitstate.NotesRef, there: seen.Notes})
	}
	var out []pair
	for _, x := range all {
		var err error
		if x.here, err = p.Repo.ReadRef(ctx, x.ref); err != nil {
			return nil, err
		}
		if !x.here.IsZero() && !x.there.IsZero() && x.here != x.there {
			out = append(out, x)
		}
	}
	return out, nil
}

// tryOut asks before anything is fetched whether it is from before a text was taken
// out here. What has to be looked at for that is fetched into a folder that goes
// again, so that no object of it stays.
func (p *Partner) tryOut(ctx context.Context, seen Seen) error {
	pairs, err := p.pairs(ctx, seen)
	if err != nil {
		return err
	}
	var doubtful []pair
	var specs []string
	if !slices.ContainsFunc(pairs, func(x pair) bool { return !p.Repo.Store.Has(x.there) }) {
		var before *BeforeError
		if err := p.compare(ctx, pairs, nil); err == nil || errors.As(err, &before) {
			return err
		} // else some of it was pruned here
	}
	for _, x := range pairs {
		anew, err := p.beginnings(ctx, x.ref, x.here)
		if err != nil {
			return err
		}
		if len(anew) > 0 {
			doubtful, specs = append(doubtful, x), append(specs, x.ref)
		}
	}
	if len(doubtful) == 0 {
		return nil
	}
	dir, err := proc.TempDir("fetch")
	if err != nil {
		return fmt.Errorf("make room to look at what the remote has: %w", err)
	}
	defer os.RemoveAll(dir)
	aside := []string{"GIT_OBJECT_DIRECTORY=" + dir,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(p.Repo.CommonDir, "objects")}
	if err := p.fetch(ctx, aside, specs...); err != nil {
		return err
	}
	return p.compare(ctx, doubtful, aside)
}

// compare finds refs that one side began anew while the other continued the old
// history. It looks only at what the other side lacks.
func (p *Partner) compare(ctx context.Context, pairs []pair, env []string) error {
	before := map[bool][]string{} // refs, by whether those from before are here
	for _, x := range pairs {
		ours, err := p.anew(ctx, env, x.here.String(), "^"+x.there.String())
		if err != nil {
			return err
		}
		theirs, err := p.anew(ctx, env, x.there.String(), "^"+x.here.String())
		if err != nil {
			return err
		}
		if we, they := newest(ours), newest(theirs); we != "" || they != "" {
			before[they > we] = append(before[they > we], x.ref)
		}
	}
	for _, here := range []bool{false, true} {
		if refs := before[here]; len(refs) > 0 {
			return &BeforeError{Remote: p.Name, Refs: refs, Here: here}
		}
	}
	return nil
}

// newest is the time of the newest beginning; "" = there is none.
func newest(of map[string]string) string {
	at := ""
	for _, when := range of {
		at = max(at, when)
	}
	return at
}

// since is the event id with which the local journal last began anew; "" = it never
// did. Older evidence may contain the redacted text.
func (p *Partner) since(ctx context.Context) (string, error) {
	tip, err := p.Journal.Tip(ctx)
	if err != nil {
		return "", err
	}
	roots, err := p.beginnings(ctx, p.Journal.Ref(), tip)
	if err != nil {
		return "", err
	}
	event := ""
	for root := range roots {
		id, err := object.ParseID(root)
		if err != nil {
			return "", err
		}
		e, err := p.Journal.Read(id)
		if err != nil {
			return "", err
		}
		event = max(event, e.Event.ID)
	}
	return event, nil
}

// looked is the result of the last walk of a ref's history. The history of a commit never
// changes, so the next walk only reads what is new.
type looked struct {
	Tip  string            `json:"tip"`
	Anew map[string]string `json:"anew,omitempty"`
}

// beginnings is anew for the whole history of a local ref.
func (p *Partner) beginnings(ctx context.Context, ref string, tip object.ID) (map[string]string, error) {
	file := filepath.Join(p.Repo.Dir(), "begins-"+gitstate.FileName(ref))
	var was looked
	since := object.Zero
	if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &was) == nil {
		if id, err := object.ParseID(was.Tip); err == nil && p.Repo.Store.Has(id) {
			if in, err := p.Repo.IsAncestor(ctx, id, tip); err == nil && in {
				since = id
			}
		}
	}
	if since == tip {
		return was.Anew, nil
	}
	of := []string{tip.String()}
	if !since.IsZero() {
		of = append(of, "^"+since.String())
	}
	found, err := p.anew(ctx, nil, of...)
	if err != nil {
		return nil, err
	}
	if !since.IsZero() {
		maps.Copy(found, was.Anew)
	}
	data, err := json.Marshal(looked{tip.String(), found})
	if err == nil {
		err = gitstate.WriteFile(file, data, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("note where the history begins: %w", err)
	}
	return found, nil
}

// anew finds the root commits in a range with which redact began a history
// anew, and their times.
func (p *Partner) anew(ctx context.Context, env []string, of ...string) (map[string]string, error) {
	args := append([]string{"rev-list", "--max-parents=0", "--format=%ct%n%B%x00"}, of...)
	out, err := p.Repo.Git.RunWith(ctx, nil, env, args...)
	if err != nil {
		return nil, fmt.Errorf("look for where it begins: %w", err)
	}
	found := map[string]string{}
	for one := range strings.SplitSeq(string(out), "\x00") {
		head, rest, _ := strings.Cut(strings.TrimLeft(one, "\n"), "\n")
		when, text, _ := strings.Cut(rest, "\n")
		if strings.Contains(text, "\n"+state.BeginsAnew) || strings.HasPrefix(text, notes.BeginsAnew) {
			found[strings.TrimPrefix(head, "commit ")] = fmt.Sprintf("%20s", when)
		}
	}
	return found, nil
}
