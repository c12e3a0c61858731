package gitstate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/fixtures/repo"
	"git-ralph/gitstate/object"
)

// TestListRefs: ListRefs lists what git lists, loose or packed.
func TestListRefs(t *testing.T) {
	t.Parallel()
	r := repo.New(t, nil)
	open, err := Open(t.Context(), r.Dir, r.Env)
	if err != nil {
		t.Fatal(err)
	}
	head := r.Git("rev-parse", "HEAD")
	other := r.Git("commit-tree", "-m", "other", "HEAD^{tree}")
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(r.Dir, ".git", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"packed", "both", "deep/er/packed"} {
		r.Git("update-ref", "refs/ralph/x/"+name, head)
	}
	r.Git("pack-refs", "--all", "--prune")
	r.Git("update-ref", "refs/ralph/x/both", other)
	r.Git("update-ref", "refs/ralph/x/loose", head)
	r.Git("update-ref", "refs/ralph/xy/beside", head)
	r.Git("symbolic-ref", "refs/ralph/x/symbolic", "refs/ralph/x/both")
	r.Git("symbolic-ref", "refs/ralph/x/dangling", "refs/ralph/x/none")
	put("refs/ralph/x/broken", "no id\n")
	put("refs/ralph/x/loose.lock", head+"\n")
	put("refs/ralph/x/bad..name", head+"\n")
	for _, prefix := range []string{"refs/ralph/x/", "refs/ralph/x", "refs/ralph/", "refs/ralph/none/"} {
		want := map[string]object.ID{}
		for line := range strings.Lines(r.Git("for-each-ref", "--format=%(objectname) %(refname)", prefix)) {
			if hash, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && len(hash) == 40 {
				if want[name], err = object.ParseID(hash); err != nil {
					t.Fatal(err)
				}
			}
		}
		got, err := open.ListRefs(t.Context(), prefix)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-git +ours):\n%s", prefix, err, diff)
		}
	}
}

// TestNamesOfRefs: an id from elsewhere leads to no ref but its own.
func TestNamesOfRefs(t *testing.T) {
	t.Parallel()
	r := repo.New(t, nil)
	open, err := Open(t.Context(), r.Dir, r.Env)
	if err != nil {
		t.Fatal(err)
	}
	r.Git("tag", "v1")
	r.Git("update-ref", "refs/ralph/local/other/1", "HEAD")
	for _, id := range []string{"../../tags", "../..", "..", ".", "", `..\..\tags`} {
		if refs, err := open.ListRefs(t.Context(), LocalPrefix+id+"/"); err == nil || len(refs) > 0 {
			t.Errorf("the id %q lists %v, %v", id, refs, err)
		}
	}
	for _, id := range []string{"../../../tags/v1", "./1", "../other/1"} {
		if at, err := open.ReadRef(t.Context(), LocalRef("other", id)); err == nil || !at.IsZero() {
			t.Errorf("the id %q reads %v, %v", id, at, err)
		}
	}
}

// TestIdentityFollowsTheSettings: a changed user.name takes effect at once. A committer
// that git does not know is an error although git knows the author.
func TestIdentityFollowsTheSettings(t *testing.T) {
	t.Parallel()
	r := repo.New(t, nil)
	open, err := Open(t.Context(), r.Dir, r.Env)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"A U Thor", "another", "A U Thor"} {
		r.Git("config", "user.name", name)
		for range 2 {
			if got, err := open.Identity(t.Context()); err != nil || got.Name != name {
				t.Errorf("%v: the author is %q, not %q", err, got.Name, name)
			}
		}
	}
	r.Git("config", "committer.name", "<>")
	if _, err := open.Identity(t.Context()); err == nil {
		t.Error("a committer whose name has no letter is taken")
	}
}
