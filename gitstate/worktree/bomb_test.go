//go:build linux

package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"git-ralph/fixtures/figures"
)

// bombs are things that an agent may leave in great number. count is the total.
var bombs = []struct {
	name  string
	count int
	make  func(root string, i int) error
}{
	{"empty folders", 40_000, func(root string, i int) error {
		return os.MkdirAll(filepath.Join(root, fmt.Sprintf("bomb/%03d/%05d", i/400, i)), 0o755)
	}},
	{"small files", 200_000, func(root string, i int) error {
		path := filepath.Join(root, fmt.Sprintf("bomb/%03d/%06d", i/1000, i))
		if i%1000 == 0 {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
		}
		return os.WriteFile(path, []byte("x\n"), 0o644)
	}},
}

// BenchmarkBomb measures how long a restore takes to remove an agent's many folders
// and files, and how long git takes.
//
//	WORKTREE_BENCH_BOMB=20   a twentieth of it
func BenchmarkBomb(b *testing.B) {
	part := 1
	if s := os.Getenv("WORKTREE_BENCH_BOMB"); s != "" {
		var err error
		if part, err = strconv.Atoi(s); err != nil {
			b.Fatal(err)
		}
	}
	for _, bomb := range bombs {
		n := bomb.count / part
		b.Run(fmt.Sprintf("%d %s", n, bomb.name), func(b *testing.B) {
			p := benchPlace(b)
			p.script("git init -q -b main .; echo x > a; git add a; git commit -qm one")
			p.open("", "")
			ctx, s := context.Background(), series{}
			explode := func() {
				for i := range n {
					if err := bomb.make(p.root, i); err != nil {
						b.Fatal(err)
					}
				}
			}
			for b.Loop() {
				e := p.engine(Options{Aside: filepath.Join(p.dir, "aside")})
				cp, err := e.Checkpoint(ctx)
				if err != nil {
					b.Fatal(err)
				}
				explode()
				var c *Capture
				s.time("capture", func() {
					if c, err = e.Capture(ctx, cp); err != nil {
						b.Fatal(err)
					}
				})
				s.time("restore", func() {
					keep := Keeper{Known: c, Event: "x", Save: func([]Saved) error { return nil }}
					if _, err := e.Restore(ctx, cp, keep); err != nil {
						b.Fatal(err)
					}
				})
				if _, err := os.Lstat(filepath.Join(p.root, "bomb")); err == nil {
					b.Fatal("it is still there")
				}
				explode()
				s.time("clean", func() { p.script("git clean -fdxq") })
			}
			for _, name := range []string{"capture", "restore", "clean"} {
				b.ReportMetric(s.median(name), name+"-ms")
			}
			figures.Put(b, figures.Figure{What: fmt.Sprintf("restore of %d new %s", n, bomb.name), Value: s.median("restore"),
				Unit: "ms", Base: s.median("clean"), Against: "git clean -fdxq", Most: 2})
			b.ReportMetric(s.median("restore")/s.median("clean"), "restore/clean")
		})
	}
}
