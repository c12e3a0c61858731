package worktree

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
)

func TestSmoke(t *testing.T) {
	root := t.TempDir()
	sh := func(s string) string {
		c := exec.Command("sh", "-ec", s)
		c.Dir = root
		b, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", s, err, b)
		}
		return string(b)
	}
	sh(`git init -q . && git config user.name a && git config user.email a@b
mkdir -p d/e && echo a>a && echo b>d/b && echo c>d/e/c && ln -s /etc x && printf '*.log\nnm/\n' >.gitignore
git add -A && git commit -qm x && sleep 0.05
echo u>u && echo l>z.log && mkdir nm && echo q>nm/q && mkdir empty && chmod 600 d/b && chmod 700 d/e`)
	env := proc.GitEnv(os.Environ())
	p, _ := proc.FindGit(env)
	g := &proc.Git{Path: p, GitDir: filepath.Join(root, ".git"), WorkTree: root, Env: env}
	st := object.Open(g, g.GitDir, "")
	defer st.Close()
	for _, portable := range []bool{false, true} {
		e, err := New(Repo{root, g.GitDir, g.GitDir, g, st}, Options{portable: portable})
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			cp, err := e.Checkpoint(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if err := st.Sync(); err != nil {
				t.Fatal(err)
			}
			want := sh(`cp .git/index .git/pi; GIT_INDEX_FILE=.git/pi git add -A; GIT_INDEX_FILE=.git/pi git write-tree; rm .git/pi`)[:40]
			if cp.Tree.String() != want {
				t.Fatalf("tree %s want %s: %s", cp.Tree, want, sh("git ls-tree -r "+cp.Tree.String()))
			}
			t.Logf("%+v", cp)
			sh(`echo new>a; rm -rf d/e; mkdir n; echo n>n/n; rm z.log u; ln -sfn /tmp x; rmdir empty; chmod 644 d/b; echo y>>.gitignore; echo y>y; chmod 755 d; mkfifo ff; rm d/b; mkfifo d/b`)
			cap, err := e.Capture(context.Background(), cp)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", cap.Changes)
			t.Logf("%+v", cap)
			rep, err := e.Restore(context.Background(), cp)
			t.Logf("%+v", rep)
			if err != nil {
				t.Fatal(err)
			}
			t.Log(sh("git status --short; ls -lAR --time-style=+; cat a d/b u z.log"))
		}
	}
}
