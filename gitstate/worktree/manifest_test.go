package worktree

import (
	"context"
	"math"
	"testing"
)

// TestManifestOfLargeInodes: some file systems use all 64 bits of an inode, and a checkpoint
// there can be loaded like any other.
func TestManifestOfLargeInodes(t *testing.T) {
	p := newPlace(t)
	p.script(baseRepo + "new mine.txt; mkfifo pipe")
	p.open("", "")
	e := p.engine(Options{})
	ctx := context.Background()
	c, err := e.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := range c.root.files {
		c.root.files[i].ino = math.MaxUint64 - uint64(i)
		n++
	}
	for i := range c.root.extras {
		c.root.extras[i].ino = 1<<63 + uint64(i)
		n++
	}
	if n < 2 {
		t.Fatalf("there are %d inodes", n)
	}
	tree, err := c.Store(ctx)
	if err != nil {
		t.Fatal(err)
	}
	again, err := e.Load(ctx, tree)
	if err != nil {
		t.Fatal(err)
	}
	if pipe := again.root.extra("pipe"); pipe == nil || pipe.ino != 1<<63 {
		t.Errorf("the pipe is %+v", pipe)
	}
}
