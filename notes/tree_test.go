package notes

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
)

// memStore is a TreeStore in memory; it counts the trees that are read.
type memStore struct {
	objects map[object.ID][]byte
	reads   int
}

func newMemStore() *memStore { return &memStore{objects: map[object.ID][]byte{}} }

func (m *memStore) ReadTree(id object.ID) ([]object.TreeEntry, error) {
	m.reads++
	if id == object.EmptyTree {
		return nil, nil
	}
	data, ok := m.objects[id]
	if !ok {
		return nil, fmt.Errorf("%w: %s", object.ErrNotFound, id)
	}
	return object.DecodeRecordTree(data)
}

func (m *memStore) WriteTree(e []object.TreeEntry) (object.ID, error) {
	data, err := object.EncodeRecordTree(e)
	if err != nil {
		return object.Zero, err
	}
	return m.Write(object.Tree, data)
}

func (m *memStore) ReadType(id object.ID, _ object.Type) ([]byte, error) {
	data, ok := m.objects[id]
	if !ok {
		return nil, fmt.Errorf("%w: %s", object.ErrNotFound, id)
	}
	return data, nil
}

func (m *memStore) Write(t object.Type, data []byte) (object.ID, error) {
	id := object.Sum(t, data)
	m.objects[id] = bytes.Clone(data)
	return id, nil
}

// gitRepo is a repository with real git, the oracle.
type gitRepo struct {
	t   *testing.T
	dir string
}

func newGitRepo(t *testing.T) *gitRepo {
	t.Helper()
	g := &gitRepo{t, t.TempDir()}
	g.git("", "init", "-q")
	return g
}

func (g *gitRepo) git(stdin string, args ...string) string {
	g.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = g.dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+g.dir, "GIT_AUTHOR_NAME=t",
		"GIT_AUTHOR_EMAIL=t@example.invalid",
		"GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.invalid")
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		g.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

// blobs makes n different objects, noted or notes, and returns their ids. Git
// reads them from a pack that fast-import writes at once.
func (g *gitRepo) blobs(prefix string, n int) []object.ID {
	g.t.Helper()
	var in strings.Builder
	marks := filepath.Join(g.dir, "marks")
	for i := range n {
		text := fmt.Sprintf("%s %d\n", prefix, i)
		fmt.Fprintf(&in, "blob\nmark :%d\ndata %d\n%s\n", i+1, len(text), text)
	}
	g.git(in.String(), "fast-import", "--quiet", "--export-marks="+marks)
	data, err := os.ReadFile(marks)
	if err != nil {
		g.t.Fatal(err)
	}
	out := make([]object.ID, n)
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		var mark int
		var hash string
		if _, err := fmt.Sscanf(line, ":%d %s", &mark, &hash); err != nil {
			g.t.Fatal(err)
		}
		if out[mark-1], err = object.ParseID(hash); err != nil {
			g.t.Fatal(err)
		}
	}
	return out
}

// tree is the tree of the notes ref.
func (g *gitRepo) tree() object.ID {
	id, err := object.ParseID(g.git("", "rev-parse", "refs/notes/commits^{tree}"))
	if err != nil {
		g.t.Fatal(err)
	}
	return id
}

// load copies a tree with everything below it into a memory store.
func (g *gitRepo) load(tree object.ID) *memStore {
	g.t.Helper()
	m := newMemStore()
	for todo := []object.ID{tree}; len(todo) > 0; {
		var in strings.Builder
		for _, id := range todo {
			fmt.Fprintln(&in, id)
		}
		cmd := exec.Command("git", "cat-file", "--batch")
		cmd.Dir, cmd.Stdin = g.dir, strings.NewReader(in.String())
		out, err := cmd.Output()
		if err != nil {
			g.t.Fatal(err)
		}
		var next []object.ID
		for _, id := range todo {
			var size int
			head, rest, _ := bytes.Cut(out, []byte("\n"))
			if _, err := fmt.Sscanf(string(head), id.String()+" tree %d", &size); err != nil {
				g.t.Fatalf("%q: %v", head, err)
			}
			m.objects[id] = rest[:size]
			out = rest[size+1:]
			entries, err := object.DecodeRecordTree(m.objects[id])
			if err != nil {
				g.t.Fatal(err)
			}
			for _, e := range entries {
				if e.Mode == object.ModeDir {
					next = append(next, e.ID)
				}
			}
		}
		todo = next
	}
	return m
}

// copyNote gives many objects one note, in a single commit by git.
func (g *gitRepo) copyNote(from object.ID, to []object.ID) {
	var in strings.Builder
	for _, id := range to {
		fmt.Fprintf(&in, "%s %s\n", from, id)
	}
	g.git(in.String(), "notes", "copy", "-f", "--stdin")
}

func TestNotesTreeIsGits(t *testing.T) {
	rows := []struct {
		notes, remove int
		why           string
	}{
		{1, 0, "one note lies flat in the root"},
		{40, 10, "below the fan-out threshold everything is flat"},
		{95, 20, "about where git begins to fan out, and back"},
		{300, 290, "a fanned-out tree that shrinks to a few notes"},
		{6000, 300, "folders inside folders begin"},
	}
	for _, row := range rows {
		t.Run(fmt.Sprint(row.notes), func(t *testing.T) {
			g := newGitRepo(t)
			objects := g.blobs("object", row.notes+1)
			note := g.blobs("note", 1)[0]
			seed, rest := objects[0], objects[1:]
			g.git("", "notes", "add", "-C", note.String(), seed.String())
			g.copyNote(seed, rest)
			want := g.tree()

			ours := newMemStore()
			nt, err := OpenNotes(ours, object.Zero)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range objects {
				if err := nt.Set(id, note); err != nil {
					t.Fatal(err)
				}
			}
			if got := mustWrite(t, nt); got != want {
				t.Fatalf("%s: built at once: %s, git has %s", row.why, got, want)
			}

			// One more note on top of git's tree, read folder by folder.
			store := g.load(want)
			nt, err = OpenNotes(store, want)
			if err != nil {
				t.Fatal(err)
			}
			other := g.blobs("other note", 1)[0]
			extra := g.blobs("extra", 1)[0]
			if err := nt.Set(extra, other); err != nil {
				t.Fatal(err)
			}
			if err := nt.Set(seed, other); err != nil {
				t.Fatal(err)
			}
			g.git("", "notes", "add", "-f", "-C", other.String(), extra.String())
			g.git("", "notes", "add", "-f", "-C", other.String(), seed.String())
			if got, want := mustWrite(t, nt), g.tree(); got != want {
				t.Fatalf("%s: one more: %s, git has %s", row.why, got, want)
			}

			if row.remove == 0 {
				return
			}
			// git removes many notes, and we set one on the remaining tree.
			var in strings.Builder
			for _, id := range rest[:row.remove] {
				fmt.Fprintln(&in, id)
			}
			g.git(in.String(), "notes", "remove", "--stdin")
			want = g.tree()
			nt, err = OpenNotes(g.load(want), want)
			if err != nil {
				t.Fatal(err)
			}
			if err := nt.Set(rest[0], other); err != nil {
				t.Fatal(err)
			}
			g.git("", "notes", "add", "-C", other.String(), rest[0].String())
			if got, want := mustWrite(t, nt), g.tree(); got != want {
				t.Fatalf("%s: after removing: %s, git has %s", row.why, got, want)
			}
		})
	}
}

func mustWrite(t *testing.T, nt *NotesTree) object.ID {
	t.Helper()
	id, err := nt.Write()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestNotesTakeTurns: git removes notes and we set some, at random. After each of
// our changes git has the same tree.
func TestNotesTakeTurns(t *testing.T) {
	g := newGitRepo(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	objects := g.blobs("object", 400)
	blobs := g.blobs("note", 5)
	g.git("", "notes", "add", "-C", blobs[0].String(), objects[0].String())
	g.copyNote(objects[0], objects[1:200])
	for step := range 40 {
		before := g.tree()
		nt, err := OpenNotes(g.load(before), before)
		if err != nil {
			t.Fatal(err)
		}
		id, blob := objects[rnd.IntN(len(objects))], blobs[rnd.IntN(len(blobs))]
		_, has, err := nt.Get(id)
		if err != nil {
			t.Fatal(err)
		}
		if has && rnd.IntN(2) == 0 {
			g.git("", "notes", "remove", id.String())
			continue
		}
		g.git("", "notes", "add", "-f", "-C", blob.String(), id.String())
		if err := nt.Set(id, blob); err != nil {
			t.Fatal(err)
		}
		if got, want := mustWrite(t, nt), g.tree(); got != want {
			t.Fatalf("step %d, set %s: %s, git has %s", step, id, got, want)
		}
	}
}

// TestNotesForeign: we read what git reads: mixed fan-outs, an object twice,
// entries that are not notes. And git reads what we write.
func TestNotesForeign(t *testing.T) {
	g := newGitRepo(t)
	objects := g.blobs("object", 4)
	notes := g.blobs("note", 4)
	h := func(i int) string { return objects[i].String() }
	// flat, 2/38 and 2/2/36, one object both flat and in a folder, a foreign
	// file and a foreign folder, also inside a fan-out folder.
	var in strings.Builder
	fmt.Fprintf(&in, "commit refs/notes/commits\ncommitter t <t@example.invalid> 0 +0000\ndata 0\n")
	file := func(path string, blob object.ID) { fmt.Fprintf(&in, "M 100644 %s %s\n", blob, path) }
	file(h(0), notes[0])
	file(h(1)[:2]+"/"+h(1)[2:], notes[1])
	file(h(2)[:2]+"/"+h(2)[2:4]+"/"+h(2)[4:], notes[2])
	file(h(0)[:2]+"/"+h(0)[2:], notes[3])
	file("version", notes[0])
	file("zz/readme", notes[1])
	file(h(1)[:2]+"/not-a-note", notes[2])
	in.WriteString("\n")
	g.git(in.String(), "fast-import", "--quiet")

	tree := g.tree()
	m := g.load(tree)
	for _, b := range notes {
		m.objects[b] = []byte(g.git("", "cat-file", "-p", b.String()) + "\n")
	}
	nt, err := OpenNotes(m, tree)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if _, ok, err := nt.Get(objects[i]); err != nil || !ok {
			t.Fatalf("note %d: %v %v", i, ok, err)
		}
	}
	blob, ok, err := nt.Get(objects[0])
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if got, want := string(m.objects[blob]), g.git("", "notes", "show", h(0))+"\n"; got != want ||
		strings.Count(got, "note") != 2 {
		t.Errorf("an object that is there twice: %q, git says %q", got, want)
	}
	g.git("", "notes", "add", "-C", notes[0].String(), h(3))
	if err := nt.Set(objects[3], notes[0]); err != nil {
		t.Fatal(err)
	}
	if got, want := mustWrite(t, nt), g.tree(); got != want {
		t.Errorf("foreign entries: %s, git has %s\n%s", got, want, g.git("", "ls-tree", "-r", want.String()))
	}
}

// TestNotesTreeIsLazy: adding one note reads and writes a few folders, however many
// notes there are.
func TestNotesTreeIsLazy(t *testing.T) {
	store := newMemStore()
	nt, err := OpenNotes(store, object.Zero)
	if err != nil {
		t.Fatal(err)
	}
	blob, err := store.Write(object.Blob, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	id := func(i int) object.ID { return object.Sum(object.Blob, fmt.Append(nil, i)) }
	for i := range 20000 {
		if err := nt.Set(id(i), blob); err != nil {
			t.Fatal(err)
		}
	}
	tree := mustWrite(t, nt)
	store.reads = 0
	nt, err = OpenNotes(store, tree)
	if err != nil {
		t.Fatal(err)
	}
	if err := nt.Set(id(20001), blob); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, nt)
	if store.reads > 3 {
		t.Errorf("%d trees were read to add one note, want at most 3", store.reads)
	}
}

func TestNotesDamaged(t *testing.T) {
	store := newMemStore()
	missing := object.Sum(object.Blob, []byte("gone"))
	if _, err := OpenNotes(store, missing); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("a missing tree: %v", err)
	}
	// A folder that cannot be read is an error, not an absent note.
	folder := []object.TreeEntry{{Name: "ab", Mode: object.ModeDir, ID: missing}}
	tree, err := store.WriteTree(folder)
	if err != nil {
		t.Fatal(err)
	}
	nt, err := OpenNotes(store, tree)
	if err != nil {
		t.Fatal(err)
	}
	key, _ := hex.DecodeString("ab" + strings.Repeat("0", 38))
	var id object.ID
	copy(id[:], key)
	if _, _, err := nt.Get(id); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("Get through a missing folder: %v", err)
	}
	nt, _ = OpenNotes(store, tree)
	if err := nt.Set(id, id); !errors.Is(err, object.ErrNotFound) {
		t.Errorf("Set through a missing folder: %v", err)
	}
}

// TestNoteInGitLog: plain git log shows a note that was written through the real
// object store.
func TestNoteInGitLog(t *testing.T) {
	g := newGitRepo(t)
	g.git("", "commit", "-q", "--allow-empty", "-m", "ralph[7]: T-003 add the login endpoint")
	head, err := object.ParseID(g.git("", "rev-parse", "HEAD"))
	if err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(g.dir, ".git")
	store := object.Open(&proc.Git{Path: path, GitDir: dir, Env: proc.GitEnv(os.Environ())}, dir, "")
	t.Cleanup(func() { store.Close() })

	h, problems := ParseHandoff([]byte(good))
	if problems != nil {
		t.Fatal(problems)
	}
	rec := Record{Handoff: *h, Origin: Origin{Iteration: 7, Task: "T-003", Verdict: "keep", Source: "agent"}}
	blob, err := store.Write(object.Blob, []byte(NoteText(rec, Fact{"Ralph-Cost-USD", "0.4211"})))
	if err != nil {
		t.Fatal(err)
	}
	nt, err := OpenNotes(store, object.Zero)
	if err != nil {
		t.Fatal(err)
	}
	if err := nt.Set(head, blob); err != nil {
		t.Fatal(err)
	}
	tree := mustWrite(t, nt)
	if err := store.Sync(); err != nil {
		t.Fatal(err)
	}
	commit := g.git("", "commit-tree", tree.String(), "-m", "note")
	g.git("", "update-ref", NotesRef, commit)
	log := g.git("", "log", "-1", "--notes=ralph")
	for _, part := range []string{"Notes (ralph):", "    add the login endpoint", "    - must not log tokens",
		"    Ralph-Cost-USD: 0.4211"} {
		if !strings.Contains(log, part) {
			t.Errorf("git log does not show %q:\n%s", part, log)
		}
	}
	// And what is there can be read back through the same store.
	again, err := OpenNotes(store, tree)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok, err := again.Get(head); err != nil || !ok || got != blob {
		t.Errorf("%v %v %v", got, ok, err)
	}
}

// TestNotesThatAreTooMany: a tree from elsewhere that claims to hold more folders than can be
// read is an error. Git would fan none of them out, so that all of them would be read.
func TestNotesThatAreTooMany(t *testing.T) {
	m := newMemStore()
	blob, err := m.Write(object.Blob, []byte("text"))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := m.WriteTree([]object.TreeEntry{{Name: "00", Mode: object.ModeRegular, ID: blob}})
	for range 19 {
		var list []object.TreeEntry
		for i := range 16 {
			list = append(list, object.TreeEntry{Name: fmt.Sprintf("%02x", i), Mode: object.ModeDir, ID: tree})
		}
		if err == nil {
			tree, err = m.WriteTree(list)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	nt, err := OpenNotes(m, tree)
	if err != nil {
		t.Fatal(err)
	}
	var id object.ID
	id[0] = 0xff
	if err := nt.Set(id, blob); err != nil {
		t.Fatal(err)
	}
	if _, err := nt.Write(); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("written: %v", err)
	}
	if _, err := Union(m, object.EmptyTree, tree); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("joined: %v", err)
	}
}
