package gitstate

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ralph/fixtures/repo"
)

// TestReached: which files of the worktree git takes settings from or runs.
func TestReached(t *testing.T) {
	for _, row := range []struct{ why, key, value, want string }{
		{"settings of the team", "include.path", "../team.gitconfig", "team.gitconfig"},
		{"on one branch alone", "includeIf.onbranch:x.path", "../sub/x.cfg", "sub/x.cfg"},
		{"a file of the git directory is watched by itself", "include.path", "more.cfg", ""},
		{"a script", "filter.x.clean", "sh clean.sh %f", "clean.sh"},
		{"one that does not exist yet", "filter.x.smudge", "python3 'tools/smudge.py' -v", "tools/smudge.py"},
		{"by its whole path", "filter.x.process", "$PWD/clean.sh", "clean.sh"},
		{"a module", "filter.x.clean", "python3 -m tools.strip", "tools/strip.py tools/strip/__init__.py " +
			"tools/strip/__main__.py"},
		{"a program on PATH, with words that are no files", "filter.lfs.clean", "git-lfs clean -- %f", ""},
		{"a program that the folder of the same name is not", "core.sshCommand", "clean.sh", ""},
		{"no command", "blame.ignoreRevsFile", "clean.sh", ""},
	} {
		t.Run(row.why, func(t *testing.T) {
			r := repo.New(t, map[string]string{"clean.sh": "cat\n", "team.gitconfig": "[core]\n"})
			r.Git("config", row.key, strings.ReplaceAll(row.value, "$PWD", r.Dir))
			g, err := Open(context.Background(), r.Dir, r.Env)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { g.Close() })
			config, err := g.Git.Config(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, name := range strings.Fields(row.want) {
				want = append(want, filepath.Join(r.Dir, name))
			}
			if got := g.reached(config); !slices.Equal(got, want) {
				t.Errorf("%v, expected %v", got, want)
			}
		})
	}
}

// TestPutBackWithin restores a file from which git reads settings and keeps its contents aside.
// A change of a file that the sandbox protects is the user's.
func TestPutBackWithin(t *testing.T) {
	r := repo.New(t, map[string]string{"team.gitconfig": "[core]\n"})
	r.Git("config", "include.path", "../team.gitconfig")
	r.Git("config", "--add", "include.path", "../mine.gitconfig")
	g, err := Open(context.Background(), r.Dir, r.Env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	for _, bound := range []bool{true, false} {
		s, err := g.TakeSnapshot(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		r.Write("team.gitconfig", "[alias]\n")
		r.Write("mine.gitconfig", "[alias]\n")
		aside := filepath.Join(g.Dir(), "aside", "x")
		if err := s.PutBackWithin(bound, aside); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Join(r.Dir, "mine.gitconfig")); err == nil {
			t.Error("what was new is still there")
		}
		want := map[bool]string{true: "[alias]\n", false: "[core]\n"}[bound]
		if got := r.Read("team.gitconfig"); got != want {
			t.Errorf("bound %v: team.gitconfig is %q", bound, got)
		}
		if got := s.TakeSpoiled(); len(got) != map[bool]int{true: 1, false: 2}[bound] || len(s.TakeSpoiled()) > 0 {
			t.Errorf("bound %v: put back %v", bound, got)
		}
		if kept, _ := filepath.Glob(filepath.Join(aside, "outside", r.Dir, "*")); len(kept) == 0 {
			t.Error("what was found is nowhere")
		}
		r.Write("team.gitconfig", "[core]\n")
	}
}
