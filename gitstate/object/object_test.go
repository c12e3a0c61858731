package object

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/internal/proc"
)

func newStore(t *testing.T, shared string) (*Store, func(stdin string, args ...string) string) {
	t.Helper()
	dir := t.TempDir()
	env := proc.GitEnv(append(os.Environ(), "HOME="+dir, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com"))
	path, err := proc.FindGit(env)
	if err != nil {
		t.Fatal(err)
	}
	run := func(stdin string, args ...string) string {
		t.Helper()
		c := exec.Command(path, args...)
		c.Dir, c.Env, c.Stdin = dir, env, strings.NewReader(stdin)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	run("", "init", "-q", ".")
	s := Open(&proc.Git{Path: path, GitDir: filepath.Join(dir, ".git"), Env: env}, filepath.Join(dir, ".git"), shared)
	t.Cleanup(func() { s.Close() })
	return s, run
}

// TestObjectsAreGits writes more objects than one sweep of flushes takes and
// lets git check every one.
func TestObjectsAreGits(t *testing.T) {
	s, git := newStore(t, "")
	r := rand.New(rand.NewPCG(1, 2))
	want := map[ID][]byte{}
	for i := range 700 {
		data := make([]byte, r.IntN(3000))
		for k := range data {
			data[k] = byte(r.IntN(20)) + 'a'
		}
		if i%100 == 0 {
			data = bytes.Repeat(data, 800) // larger than what is hashed in memory
		}
		id, err := s.Write(Blob, data)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := s.Write(Blob, data); err != nil || again != id {
			t.Fatalf("second write: %s %v", again, err)
		}
		want[id] = data
	}
	var entries []TreeEntry
	for id := range want {
		entries = append(entries, TreeEntry{Name: id.String(), Mode: ModeRegular, ID: id})
	}
	tree, err := s.WriteTree(entries)
	if err != nil {
		t.Fatal(err)
	}
	for id, data := range want { // before they are permanent
		if got, err := s.ReadType(id, Blob); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("read %s before Sync: %v", id, err)
		}
	}
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	git("", "fsck", "--strict", "--full", tree.String())
	if n := len(strings.Split(git("", "ls-tree", tree.String()), "\n")); n != len(want) {
		t.Errorf("git sees %d entries, want %d", n, len(want))
	}
	git("", "update-ref", "refs/x/y", git("", "commit-tree", "-m", "x", tree.String()))
	git("", "gc", "-q", "--prune=now")
	for id, data := range want {
		if got, err := s.ReadType(id, Blob); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("read %s from a pack: %v", id, err)
		}
	}
	// An object that is only in a pack is written again: a gc may drop the pack.
	for id, data := range want {
		if s.Freshen(id) {
			t.Fatalf("%s is only in a pack and was freshened", id)
		}
		if _, err := s.Write(Blob, data); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	for id := range want {
		if !s.Freshen(id) {
			t.Fatalf("%s is not there as a file", id)
		}
	}
	left, err := filepath.Glob(filepath.Join(s.dir, "ralph", "new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("temporary files are left: %v %v", left, err)
	}
}

// TestModesOfObjects: objects have git's modes, also with core.sharedRepository.
func TestModesOfObjects(t *testing.T) {
	for _, c := range []struct {
		shared       string
		want, folder os.FileMode
	}{{"", 0o444, 0o755}, {"group", 0o440, 0o770}, {"all", 0o444, 0o775}, {"0660", 0o440, 0o770}, {"0640", 0o440, 0o750},
		{"0644", 0o444, 0o755}, {"false", 0o444, 0o755}} {
		s, _ := newStore(t, c.shared)
		id, err := s.Write(Blob, []byte("x"))
		if err == nil {
			err = s.Sync()
		}
		if err != nil {
			t.Fatal(err)
		}
		st, err := os.Stat(s.path(id))
		if err != nil || st.Mode().Perm() != c.want {
			t.Errorf("shared %q: mode %v, want %v (%v)", c.shared, st.Mode(), c.want, err)
		}
		st, err = os.Stat(filepath.Dir(s.path(id)))
		if err != nil || st.Mode().Perm() != c.folder {
			t.Errorf("shared %q: the folder has %v, want %v (%v)", c.shared, st.Mode(), c.folder, err)
		}
	}
}

// TestSizesAreChecked: a file that changes while it is read must not become an
// object of another size.
func TestSizesAreChecked(t *testing.T) {
	s, _ := newStore(t, "")
	for _, size := range []int64{10, 2 << 20} {
		text := strings.Repeat("x", int(size))
		for _, delta := range []int64{-1, 1} {
			if _, err := s.WriteFrom(Blob, size+delta, strings.NewReader(text)); err == nil {
				t.Errorf("%d bytes were taken for %d", size, size+delta)
			}
		}
		if _, err := s.WriteFrom(Blob, size, strings.NewReader(text)); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(filepath.Join(s.dir, "ralph", "new-*"))
	if len(left) > 0 {
		t.Errorf("Close left %v", left)
	}
}

// TestPackLoose: the pack has a name that every git implementation knows. A file
// that cannot be an object is left alone.
func TestPackLoose(t *testing.T) {
	s, git := newStore(t, "")
	if err := s.PackLoose(t.Context()); err != nil {
		t.Fatalf("nothing to pack: %v", err)
	}
	var ids []ID
	for i := range 300 {
		id, err := s.Write(Blob, fmt.Appendf(nil, "object %d", i))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	empty := s.path(Sum(Blob, []byte("cut off by a power cut")))
	odd := filepath.Join(filepath.Dir(s.path(ids[0])), "tmp_obj_x")
	for _, name := range []string{empty, odd} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.PackLoose(t.Context()); err != nil {
		t.Fatal(err)
	}
	packs, err := filepath.Glob(filepath.Join(s.dir, "pack", "*.pack"))
	if err != nil || len(packs) != 1 || !strings.HasPrefix(filepath.Base(packs[0]), "pack-") {
		t.Errorf("packs %v (%v)", packs, err)
	}
	for _, id := range ids {
		if _, err := os.Stat(s.path(id)); err == nil {
			t.Fatalf("%s is a loose file still", id)
		}
		if _, err := s.ReadType(id, Blob); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(odd); err != nil {
		t.Error(err)
	}
	if got := git("", "count-objects", "-v"); !strings.Contains(got, "in-pack: 300") {
		t.Error(got)
	}
}

func BenchmarkWriteAndSync(b *testing.B) {
	dir := b.TempDir()
	s := Open(&proc.Git{}, dir, "")
	if err := os.Mkdir(filepath.Join(dir, "objects"), 0o755); err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		for range 80 {
			n++
			if _, err := s.Write(Blob, fmt.Appendf(nil, "object %d", n)); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}
