package journal

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/history"
	"git-ralph/fixtures/repo"
)

// TestCheckReadsEveryObject gives each object of the history the contents of
// another one. Check finds it or reports that it did not see everything.
func TestCheckReadsEveryObject(t *testing.T) {
	ctx := context.Background()
	r := repo.New(t, nil)
	history.Make(t, r, history.Options{Iterations: 4, Tasks: 3, Plain: true})
	file := func(id string) string { return filepath.Join(r.Dir, ".git", "objects", id[:2], id[2:]) }
	if c, err := open(t, r).Check(ctx, nil); err != nil || !c.Whole || len(c.Faults) > 0 {
		t.Fatalf("%+v %v", c, err)
	}
	kinds := map[string][]string{}
	for _, line := range strings.Split(r.Git("rev-list", "--objects", "refs/ralph/heads/main"), "\n") {
		id, _, _ := strings.Cut(line, " ")
		kind := r.Git("cat-file", "-t", id)
		kinds[kind] = append(kinds[kind], id)
	}
	for kind, ids := range kinds {
		if len(ids) < 2 {
			t.Fatalf("only %d of %s", len(ids), kind)
		}
		for i, id := range ids {
			whole, err := os.ReadFile(file(id))
			if err != nil {
				t.Fatal(err)
			}
			other, err := os.ReadFile(file(ids[(i+1)%len(ids)]))
			if err != nil {
				t.Fatal(err)
			}
			put := func(data []byte) {
				if err := os.Remove(file(id)); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file(id), data, 0o444); err != nil {
					t.Fatal(err)
				}
			}
			put(other)
			if c, err := open(t, r).Check(ctx, nil); err == nil && c.Whole && len(c.Faults) == 0 {
				t.Errorf("the %s %s holds something else, and the history is said to be sound", kind, id)
			}
			put(whole)
		}
	}
}
