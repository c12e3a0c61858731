package gitstate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"git-ralph/gitstate/object"
)

// Anchor makes a ref for an object that may be reachable from nowhere else. It
// never moves an existing ref, which may be the only one to its object. Instead
// it adds name.2, name.3 and so on, and returns the name used.
func (r *Repo) Anchor(name string, to object.ID) (string, error) {
	n := 1
	for try := 0; try < 20; {
		at := anchorName(name, n)
		old, err := r.ReadRef(context.Background(), at)
		switch {
		case err != nil:
			return "", err
		case old == to:
			return at, nil
		case !old.IsZero():
			n++
			continue
		}
		err = r.UpdateRefs("", RefUpdate{Name: at, New: to})
		if err == nil {
			return at, nil
		}
		if !errors.Is(err, ErrRefMoved) && !errors.Is(err, ErrRefLocked) {
			return "", err
		}
		try++
		time.Sleep(Jitter())
	}
	return "", fmt.Errorf("make %s: %w", name, ErrRefLocked)
}

func anchorName(name string, n int) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s.%d", name, n)
}

// EvidenceOf finds the evidence of an iteration: the commit want that its entry
// names ("" = none), else the first one stored for it. Zero when all of it was
// pruned.
func (r *Repo) EvidenceOf(ctx context.Context, journal, event, want string) (object.ID, error) {
	first := object.Zero
	for n := 1; ; n++ {
		at, err := r.ReadRef(ctx, anchorName(EvidenceRef(journal, event), n))
		if err != nil || at.IsZero() || at.String() == want {
			if err == nil && at.IsZero() {
				at = first
			}
			return at, err
		}
		if n == 1 {
			first = at
		}
		if want == "" {
			return at, nil
		}
	}
}
