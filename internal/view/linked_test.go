package view

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
)

// A ref is read again if it moves while two branches are compared and git prunes
// its old commit. A ref that stays at a missing commit is an error.
func TestGapBesidePrune(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the git that moves a ref first is a shell script")
	}
	dir := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "first")
	tree := git("rev-parse", "HEAD^{tree}")
	old := git("commit-tree", tree, "-p", "HEAD", "-m", "old")
	git("update-ref", "refs/heads/side", old)

	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	script := `#!/bin/sh
case " $* " in *" rev-list "*) if [ ! -e "` + bin + `/moved" ]; then
	: >"` + bin + `/moved"
	new=$("` + real + `" -C "` + dir + `" -c user.name=a -c user.email=a@b commit-tree ` + tree + ` -p HEAD -m new)
	"` + real + `" -C "` + dir + `" update-ref refs/heads/side $new
	"` + real + `" -C "` + dir + `" reflog expire --expire=now --all
	"` + real + `" -C "` + dir + `" prune --expire=now
fi ;; esac
exec "` + real + `" "$@"
`
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	repo, err := gitstate.Open(context.Background(), dir, env)
	if err != nil {
		t.Fatal(err)
	}
	r := Reader{Journal: &journal.Journal{Repo: repo, Branch: "main"}}
	l := gitstate.Linked{Branch: "side", Of: "main"}
	code, _, err := r.Gap(context.Background(), l)
	if err != nil || code.Ahead != 1 || code.Behind != 0 {
		t.Errorf("beside a prune: %+v, %v, want one commit ahead", code, err)
	}
	if exec.Command("git", "-C", dir, "cat-file", "-e", old).Run() == nil {
		t.Error("the old commit is still there, so nothing was tried")
	}

	name := filepath.Join(dir, ".git", "refs", "heads", "side")
	if err := os.WriteFile(name, []byte(strings.Repeat("1", len(old))+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Gap(context.Background(), l); err == nil {
		t.Error("a branch that names no commit is compared")
	}
}
