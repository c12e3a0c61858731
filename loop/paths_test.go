package loop

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"git-ralph/fixtures/repo"
	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/loop/session"
)

// TestPathsOfATree: the list of each tree is git's, whatever list came before.
func TestPathsOfATree(t *testing.T) {
	t.Parallel()
	r := repo.New(t, map[string]string{"a": "1\n", "b/c": "1\n", "b/d": "1\n", "b.txt": "1\n", "e": "1\n"})
	steps := []string{
		"true", "echo 2 > a", "echo new > b/a", "rm -r b", "echo file > b", "rm b; mkdir b; echo x > b/-; echo y > z",
		"chmod +x a; ln -s a link", "rm a; mkdir a; echo x > a/a",
		"mkdir many; for i in $(seq 1100); do echo $i > many/$i; done",
		"rm -r many", "rm -r *",
	}
	var trees []object.ID
	for _, s := range steps {
		if out, err := exec.Command("sh", "-c", "cd \"$1\" && "+s, "sh", r.Dir).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		r.Git("add", "-A")
		id, err := object.ParseID(r.Git("write-tree"))
		if err != nil {
			t.Fatal(err)
		}
		trees = append(trees, id)
	}
	g, err := gitstate.Open(t.Context(), r.Dir, r.Env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	l := &Loop{Host: session.Host{Repo: g}}
	for _, i := range []int{0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 10, 5, 3, 1} {
		var want []string
		for line := range strings.Lines(r.Git("ls-tree", "-r", "--name-only", trees[i].String())) {
			want = append(want, strings.TrimSpace(line))
		}
		slices.Sort(want)
		got, err := l.pathsOf(trees[i])
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("after %q: %d paths, git has %d (%v)", steps[i], len(got), len(want), err)
		}
	}
}

// TestTreeInItself: the walk of a damaged tree that holds itself ends.
func TestTreeInItself(t *testing.T) {
	folder := func(name string, b byte) []object.TreeEntry {
		return []object.TreeEntry{{Name: name, Mode: object.ModeDir, ID: object.ID{b}}}
	}
	trees := map[object.ID][]object.TreeEntry{{4}: folder("again", 5), {5}: folder("round", 4)}
	read := func(id object.ID) ([]object.TreeEntry, error) { return trees[id], nil }
	if _, err := walk(read, nil, object.ID{4}, "", nil); err == nil {
		t.Error("no error")
	}
}
