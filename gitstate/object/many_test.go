package object

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestReadMany reads loose, packed and not yet synced objects in one call, far more
// than a pipe holds.
func TestReadMany(t *testing.T) {
	s, git := newStore(t, "")
	var ids []ID
	want := map[ID][]byte{}
	add := func(n int, kind string) {
		for i := range n {
			data := fmt.Appendf(nil, "%s %d %s\n", kind, i, strings.Repeat("x", i*7%5000))
			id, err := s.Write(Blob, data)
			if err != nil {
				t.Fatal(err)
			}
			ids, want[id] = append(ids, id), data
		}
	}
	add(2000, "packed")
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	var list strings.Builder
	for _, id := range ids {
		fmt.Fprintln(&list, id)
	}
	git(list.String(), "pack-objects", "-q", ".git/objects/pack/pack")
	git("", "prune-packed", "-q")
	add(50, "loose")
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	add(5, "waiting")
	ids = append(ids, ids[0], ids[2010]) // duplicates are allowed
	got, err := s.ReadMany(ids)
	if err != nil {
		t.Fatal(err)
	}
	sizes, err := s.Sizes(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	for i, id := range ids {
		if sizes[i] != int64(len(want[id])) {
			t.Fatalf("object %d has %d bytes, not %d", i, sizes[i], len(want[id]))
		}
		if !bytes.Equal(got[i], want[id]) {
			t.Fatalf("object %d is %.40q", i, got[i])
		}
	}
	// A missing object is named in the error, and the next call works.
	absent := Sum(Blob, []byte("absent"))
	if _, err := s.ReadMany(append([]ID{absent}, ids...)); !errors.Is(err, ErrNotFound) ||
		!strings.Contains(err.Error(), absent.String()) {
		t.Errorf("absent: %v", err)
	}
	tree := git("", "mktree")
	id, err := ParseID(tree)
	if err != nil {
		t.Fatal(err)
	}
	git(tree+"\n", "pack-objects", "-q", ".git/objects/pack/pack")
	git("", "prune-packed", "-q")
	if _, err := s.ReadMany(append([]ID{id}, ids...)); err == nil || !strings.Contains(err.Error(),
		"is a tree, not a blob") {
		t.Errorf("a tree: %v", err)
	}
	if _, err := s.Sizes(t.Context(), []ID{ids[0], absent}); !errors.Is(err, ErrNotFound) ||
		!strings.Contains(err.Error(), absent.String()) {
		t.Errorf("the size of what is absent: %v", err)
	}
	if _, err := s.Sizes(t.Context(), []ID{ids[0], id}); err == nil ||
		!strings.Contains(err.Error(), "is a tree, not a blob") {
		t.Errorf("the size of a tree: %v", err)
	}
	if _, err := s.ReadMany(ids); err != nil {
		t.Error(err)
	}
}
