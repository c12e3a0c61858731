package object

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// TestHoldTree: what git has written of a tree outlives a prune, and what is gone already is said
// to be.
func TestHoldTree(t *testing.T) {
	s, git := newStore(t, "")
	made := func(stdin string, args ...string) ID {
		id, err := ParseID(strings.TrimSpace(git(stdin, args...)))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	blob := func(text string) ID { return made(text, "hash-object", "-w", "--stdin") }
	tree := func(lines string) ID { return made(lines, "mktree") }
	old := tree("100644 blob " + blob("old").String() + "\told\n")
	added := blob("new")
	sub := tree("100644 blob " + added.String() + "\tnew\n")
	top := tree("040000 tree " + sub.String() + "\tsub\n100644 blob " + blob("old").String() + "\told\n")
	if err := s.HoldTree(top, old); err != nil {
		t.Fatal(err)
	}
	git("", "prune", "--expire=now")
	if err := s.Ensure(); err != nil {
		t.Fatal(err)
	}
	for name, id := range map[string]ID{"the tree": top, "its folder": sub, "its new file": added} {
		if !s.Has(id) {
			t.Errorf("%s is gone", name)
		}
	}
	lone := blob("lone")
	if err := os.Remove(s.path(lone)); err != nil {
		t.Fatal(err)
	}
	if err := s.HoldTree(tree("100644 blob "+added.String()+"\tx\n"), top); err != nil {
		t.Error(err)
	}
	if err := s.HoldNew(lone); !errors.Is(err, ErrNotFound) {
		t.Errorf("an object that is gone: %v", err)
	}
}
