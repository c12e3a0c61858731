package recovery

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/fixtures/repo"
	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
)

// TestSummed: many notices of a kind become one line with their number and
// where to look.
func TestSummed(t *testing.T) {
	many := func(kind, tail string, n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("%sf%02d%s", kind, i, tail))
		}
		return out
	}
	hint := " (git ralph restore 7 -- x brings it back)"
	for _, row := range []struct {
		why  string
		list []string
		want []string
	}{
		{"three are named one by one, with what to type", many(movedAside, hint, 3), many(movedAside, hint, 3)},
		{"79 are one line", append(many(movedAside, hint, 79), "a check was red"),
			[]string{movedAside + "f00, f01, f02, f03, f04 and 74 more (git ralph restore 7 -- PATH brings one back, " +
				"git ralph gc --dry-run says where they are)", "a check was red"}},
		{"each kind has its own line, where its first one stood",
			append(append([]string{"before"}, many(goneForGood, "", 4)...), append(many(leftInPlace, "", 4), "after")...),
			[]string{"before", goneForGood + "f00, f01, f02, f03", leftInPlace + "f00, f01, f02, f03", "after"}},
		{"of what no command shows a hundred are named", many(NotCaptured, "", 102),
			[]string{NotCaptured + SomeOf(many("", "", 100), 100) + " and 2 more"}},
		{"nothing", nil, nil},
	} {
		if d := cmp.Diff(row.want, summed(row.list, 7)); d != "" {
			t.Errorf("%s: %s", row.why, d)
		}
	}
}

func TestQuoteArg(t *testing.T) {
	for in, want := range map[string]string{"plain.txt": "plain.txt", "a b": "'a b'", "it's": `'it'\''s'`} {
		if got := quoteArg(in); got != want {
			t.Errorf("%q is written %s", in, got)
		}
	}
}

// TestReadFoundOfAnother: evidence that came from a remote brings no file to where git
// looks for what it runs.
func TestReadFoundOfAnother(t *testing.T) {
	t.Parallel()
	r := repo.New(t, nil)
	open, err := gitstate.Open(t.Context(), r.Dir, r.Env)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	var list []Found
	for _, path := range []string{"sub/mine.txt", ".git/hooks/post-checkout", ".GIT/config", "sub/.git/config",
		"git~1/config", "../outside", "/etc/passwd", "a/../b", "a//b", ""} {
		list = append(list, Found{Path: path, At: "found/x", Perm: "755"})
	}
	data, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	edits := map[string]*object.TreeEntry{}
	for name, text := range map[string]string{foundFile: string(data), "found/x": "#!/bin/sh\n"} {
		id, err := open.Store.Write(object.Blob, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		edits[name] = &object.TreeEntry{Mode: object.ModeRegular, ID: id}
	}
	tree, err := open.EditTree(object.EmptyTree, edits)
	if err != nil {
		t.Fatal(err)
	}
	saved, err := ReadFound(open, tree)
	if err != nil || len(saved) != 1 || saved[0].Path != "sub/mine.txt" {
		t.Errorf("%+v %v", saved, err)
	}
}
