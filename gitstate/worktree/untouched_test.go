//go:build linux

package worktree

import (
	"context"
	"testing"
	"time"
)

// TestUntouched: a worktree at rest is untouched. One that Restore would have to
// change is not.
func TestUntouched(t *testing.T) {
	rows := []struct{ why, touch string }{
		{"contents", "new d/x.txt other"},
		{"the same bytes written again may have been others in between", "new a.txt aaa"},
		{"a new file", "new n"},
		{"a file that is gone", "rm a.txt"},
		{"a permission bit that git does not know", "chmod 600 a.txt"},
		{"a folder's permissions", "chmod 700 d"},
		{"an empty folder", "mkdir d/empty"},
		{"an ignored file that belongs to the checkpoint", "new .env B"},
	}
	for _, row := range rows {
		t.Run(row.why, func(t *testing.T) {
			p := newPlace(t)
			p.script(baseRepo + "echo .env > .gitignore; commit; new .env A")
			p.open("", "")
			e, ctx := p.engine(Options{}), context.Background()
			var cp *Checkpoint
			var c *Capture
			// A file's change time comes from the clock. It proves something only
			// when it is a few ticks old.
			for deadline := time.Now().Add(10 * time.Second); ; {
				var err error
				if cp, err = e.Checkpoint(ctx); err != nil {
					t.Fatal(err)
				}
				if c, err = e.Capture(ctx, cp); err != nil {
					t.Fatal(err)
				}
				if c.Untouched() {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("a worktree at rest is never called untouched")
				}
			}
			p.script(row.touch)
			var err error
			if c, err = e.Capture(ctx, cp); err != nil {
				t.Fatal(err)
			}
			if c.Untouched() {
				t.Error("called untouched")
			}
		})
	}
}

// TestRulesOutliveARestore: after a restore lists a folder, its ignore rules are
// still the checkpoint's. With others, the next checkpoint would list every folder
// below again.
func TestRulesOutliveARestore(t *testing.T) {
	p := newPlace(t)
	p.script(baseRepo + "echo .env > .gitignore; echo '*.o' > d/.gitignore; commit")
	p.open("", "")
	e, ctx := p.engine(Options{}), context.Background()
	before, err := e.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p.script("new n; new d/n")
	if _, err := e.Restore(ctx, before); err != nil {
		t.Fatal(err)
	}
	after, err := e.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", "d"} {
		if before.root.at(dir).rules != after.root.at(dir).rules {
			t.Errorf("%q has other rules", dir)
		}
	}
}
