//go:build unix

package gitstate

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestModesComeBack: changed modes and owners in the git directory are restored
// before anything is read there. Changes by git itself stay.
func TestModesComeBack(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why, cmd, undone string
		root             bool
	}{
		{"hooks that nobody may enter", "chmod 000 .git/hooks", "hooks", false},
		{"hooks for everybody", "chmod 0777 .git/hooks", "hooks", false},
		{"hooks with other bits", "chmod g+s,+t .git/hooks", "hooks", false},
		{"the git directory itself", "chmod 000 .git", ".git", false},
		{"the worktree that holds it", "chmod 000 .", "worktree", false},
		{"everything", "find .git -depth -exec chmod 000 {} +", ".git", false},
		{"refs", "chmod 000 .git/refs/heads .git/refs", "refs", false},
		{"a new folder of refs", "mkdir -m 000 .git/refs/heads/x", "refs/heads/x", false},
		{"objects and a pack", "git gc -q; chmod 000 .git/objects/pack/* .git/objects/pack", "objects/pack", false},
		{"HEAD and the index", "chmod 000 .git/HEAD .git/index", "HEAD", false},
		{"HEAD for everybody", "chmod 666 .git/HEAD", "HEAD", false},
		{"our own folder", "mkdir -p .git/ralph; chmod 000 .git/ralph", "ralph", false},
		{"a folder of another user", "chown 12345:12345 .git/hooks .git/info", "hooks", true},
		{"git's own work", "umask 077; git branch a/b; git pack-refs --all; git gc -q; git add -A; git stash -q; " +
			"git worktree add -q ../w; umask 022; git update-ref -d refs/heads/a/b; git branch a/c", "", false},
	} {
		t.Run(strings.ReplaceAll(c.why, " ", "-"), func(t *testing.T) {
			if c.root && os.Geteuid() != 0 {
				t.Skip("only root gives files away")
			}
			r, g := watchedRepo(t)
			r.Write("value.txt", "changed\n")
			must(t, os.MkdirAll(g.Dir(), 0o700))
			modes := func() map[string]access {
				all := map[string]access{}
				must(t, filepath.WalkDir(filepath.Join(r.Dir, ".git"), func(p string, d fs.DirEntry, err error) error {
					if errors.Is(err, fs.ErrNotExist) || err == nil && d.Type()&fs.ModeSymlink != 0 {
						return nil
					}
					must(t, err)
					st, err := d.Info()
					must(t, err)
					all[p] = accessOf(st)
					return nil
				}))
				return all
			}
			before, err := g.TakeSnapshot(context.Background(), nil)
			if err == nil {
				err = before.NoteModes()
			}
			must(t, err)
			defer before.Close()
			was := modes()
			run := exec.Command("sh", "-c", c.cmd)
			run.Dir, run.Env = r.Dir, r.Env
			if out, err := run.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			changed, err := before.PutBackModes()
			must(t, err)
			if c.undone == "" {
				if len(changed) > 0 {
					t.Errorf("undone: %v", changed)
				}
				return
			}
			if c.undone == "worktree" {
				c.undone = filepath.Base(r.Dir)
			}
			if len(changed) == 0 || changed[0] != c.undone {
				t.Errorf("undone: %v", changed)
			}
			if again, err := before.PutBackModes(); err != nil || len(again) > 0 {
				t.Errorf("twice: %v, %v", again, err)
			}
			for path, is := range modes() {
				a, ok := was[path]
				if rel, _ := filepath.Rel(r.Dir, path); ok && fixed(strings.TrimPrefix(rel, ".git/")) && a != is {
					if st, _ := os.Lstat(path); st.IsDir() {
						t.Errorf("%s: %v, was %v", rel, is, a)
					}
				}
			}
			now, err := g.TakeSnapshot(context.Background(), before)
			must(t, err)
			now.Close()
			if got := r.Git("status", "--porcelain"); got != "?? value.txt" {
				t.Errorf("git status: %q", got)
			}
		})
	}
}
