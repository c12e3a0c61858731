package index

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ralph/gitstate/object"
)

// gitIndex builds an index with real git and returns its bytes and a way to ask
// git about a changed one.
func gitIndex(t *testing.T, script string) (data []byte, ask func([]byte, ...string) string) {
	t.Helper()
	dir := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"}
	run := func(name string, extra []string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir, c.Env = dir, append(env, extra...)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v %s", name, args, err, out)
		}
		return string(out)
	}
	run("sh", nil, "-ec",
		"git init -q -b main .; mkdir -p d/e; for f in a b d/x d/e/y d-z; do echo $f > $f; done; git add -A; git commit "+
			"-qm x;"+script)
	data, err := os.ReadFile(filepath.Join(dir, ".git", "index"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	return data, func(b []byte, args ...string) string {
		t.Helper()
		n++
		file := filepath.Join(dir, ".git", "asked")
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return run("git", []string{"GIT_INDEX_FILE=" + file}, args...)
	}
}

func TestDecodeEncode(t *testing.T) {
	for _, c := range []struct{ name, why, script string }{
		{"plain", "version 2 with a cache of trees", ""},
		{"v4", "compressed paths", "git update-index --index-version 4"},
		{"v3", "flags that need the extended form",
			"echo n > n; git add -N n; git update-index --skip-worktree a; git update-index --assume-unchanged b"},
		{"v4-flags", "both",
			"echo n > n; git add -N n; git update-index --skip-worktree a; git update-index --index-version 4"},
		{"unmerged", "stages",
			"git checkout -qb s; echo s > a; git commit -qam s; git checkout -q main; echo m > a; git commit -qam m; git " +
				"merge s >/dev/null || true"},
		{"long-path", "longer than the length field",
			"p=$(printf 'abcdefghi/%.0s' $(seq 50)); mkdir -p $p; echo > $p/f; git add -A"},
		{"untracked-cache", "an extension that is kept", "git update-index --untracked-cache; git status >/dev/null"},
		{"resolve-undo", "another one",
			"git checkout -qb s; echo s > a; git commit -qam s; git checkout -q main; echo m > a; git commit -qam m; git " +
				"merge s >/dev/null || true; git add a"},
		{"sparse", "folders as entries", "git sparse-checkout set --sparse-index nowhere"},
		{"empty", "no entries", "git rm -rq --cached ."},
		{"submodule", "a link", "git init -q s; (cd s; git commit -q --allow-empty -m x); git add s 2>/dev/null"},
	} {
		t.Run(c.name, func(t *testing.T) {
			data, ask := gitIndex(t, c.script)
			f, err := Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			again := f.Encode()
			for _, q := range [][]string{{"ls-files", "-s", "-z", "--sparse"}, {"ls-files", "-v", "-t", "-z"},
				{"ls-files", "--debug"}, {"ls-files", "--resolve-undo"}} {
				if a, b := ask(data, q...), ask(again, q...); a != b {
					t.Errorf("git %v differs (%s):\n%s\n%s", q, c.why, a, b)
				}
			}
			if c.name != "unmerged" {
				if a, b := ask(data, "write-tree"), ask(again, "write-tree"); a != b {
					t.Errorf("write-tree: %s, was %s", b, a)
				}
			}
			g, err := Decode(again)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(again, g.Encode()) {
				t.Error("encoding is not stable")
			}
			if f.Trees != nil && (g.Trees == nil || g.Trees.Entries != f.Trees.Entries || g.Trees.ID != f.Trees.ID) {
				t.Errorf("the cache of trees is lost: %+v", g.Trees)
			}
		})
	}
}

// TestReplace sets and removes entries and lets git read the result.
func TestReplace(t *testing.T) {
	for _, script := range []string{"", "git update-index --index-version 4",
		"git update-index --untracked-cache; git status > /dev/null"} {
		data, ask := gitIndex(t, script)
		f, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		id := object.Sum(object.Blob, []byte("a\n"))
		f.Replace([]Entry{{Path: "d/e/new", ID: id, Mode: object.ModeRegular},
			{Path: "a", ID: id, Mode: object.ModeExecutable},
			{Path: "0", ID: id, Mode: object.ModeRegular}, {Path: "zz/z", ID: id, Mode: object.ModeRegular}},
			[]string{"d/x", "b"})
		got := ask(f.Encode(), "ls-files", "-s")
		var paths []string
		for _, line := range strings.Split(strings.TrimSpace(got), "\n") {
			paths = append(paths, line[:6]+line[strings.IndexByte(line, '\t'):])
		}
		want := "100644\t0 100755\ta 100644\td-z 100644\td/e/new 100644\td/e/y 100644\tzz/z"
		if strings.Join(paths, " ") != want {
			t.Errorf("entries are %q, want %q", paths, want)
		}
		if f.Trees != nil && (f.Trees.Entries >= 0 || f.Trees.Child("d").Entries >= 0) {
			t.Error("the ids of changed folders are still taken for valid")
		}
		ask(f.Encode(), "write-tree")
		for _, x := range f.Extensions {
			if x.Name == "UNTR" || x.Name == "FSMN" {
				t.Errorf("%s knows names that have changed", x.Name)
			}
		}
	}
}

func TestSplitIsSaid(t *testing.T) {
	data, _ := gitIndex(t, "git update-index --split-index; echo q > q; git add q")
	if _, err := Decode(data); !errors.Is(err, ErrSplit) {
		t.Errorf("got %v, want ErrSplit", err)
	}
}

// FuzzDecode: an index is a file that anybody may have written.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("DIRC\x00\x00\x00\x02\x00\x00\x00\x00"))
	x := File{Version: 4, NullHash: true, Entries: []Entry{{Path: "a", Mode: object.ModeRegular},
		{Path: "a/b", Mode: object.ModeRegular, Flags: SkipWorktree}},
		Trees:      &CacheTree{Entries: -1, Sub: []*CacheTree{{Name: "a", Entries: 1}}},
		Extensions: []Extension{{"REUC", []byte("x")}}}
	f.Add(x.Encode())
	x.Version = 2
	f.Add(x.Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		// A null checksum lets the input pass the first check.
		if len(data) >= 32 {
			data = append(bytes.Clone(data[:len(data)-20]), make([]byte, 20)...)
		}
		got, err := Decode(data)
		if err != nil {
			return
		}
		again, err := Decode(got.Encode())
		if err != nil || len(again.Entries) != len(got.Entries) {
			t.Fatalf("what was decoded cannot be encoded: %v", err)
		}
		for i := range got.Entries {
			if again.Entries[i] != got.Entries[i] {
				t.Fatalf("entry %d: %+v, was %+v", i, again.Entries[i], got.Entries[i])
			}
		}
	})
}

// TestDecodeAllocatesOnce: the entries of an index are decoded into one list that
// does not grow.
func TestDecodeAllocatesOnce(t *testing.T) {
	f := &File{Version: 2}
	for n := range 2000 {
		f.Entries = append(f.Entries, Entry{Path: fmt.Sprintf("d/f%04d", n), Mode: object.ModeRegular})
	}
	data := f.Encode()
	if n := testing.AllocsPerRun(5, func() {
		if _, err := Decode(data); err != nil {
			t.Fatal(err)
		}
	}); n > 8 {
		t.Errorf("%v allocations for 2000 entries", n)
	}
}

// TestReplaceAsOneByOne: a few entries are put in as many are, also where paths have stages.
func TestReplaceAsOneByOne(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var all []Entry
		for i := range 40 {
			for stage := range uint8(4) {
				if rnd.IntN(3) == 0 && (stage == 0 || rnd.IntN(3) == 0) {
					all = append(all, Entry{Path: fmt.Sprintf("f%02d", i), Stage: stage, Size: 1})
				}
			}
		}
		var set []Entry
		var remove []string
		for _, i := range rnd.Perm(44)[:rnd.IntN(12)] {
			if path := fmt.Sprintf("f%02d", i); rnd.IntN(2) == 0 {
				set = append(set, Entry{Path: path, Size: 2})
			} else {
				remove = append(remove, path)
			}
		}
		want := slices.DeleteFunc(slices.Clone(all), func(e Entry) bool {
			return slices.Contains(remove, e.Path) || slices.ContainsFunc(set, func(s Entry) bool { return s.Path == e.Path })
		})
		want = append(want, set...)
		slices.SortFunc(want, func(a, b Entry) int {
			return cmp.Or(strings.Compare(a.Path, b.Path), int(a.Stage)-int(b.Stage))
		})
		for _, least := range []int{0, few + 1} {
			f := &File{Entries: slices.Clone(all)}
			more := slices.Clone(remove)
			for i := range least {
				more = append(more, fmt.Sprintf("not there %d", i))
			}
			f.Replace(slices.Clone(set), more)
			if !slices.Equal(f.Entries, want) {
				t.Fatalf("set %v, removed %v of %v:\n%v\nwant %v", set, more, all, f.Entries, want)
			}
		}
	}
}
