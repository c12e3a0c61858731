package gitstate

import (
	"context"
	"strings"
	"testing"

	"git-ralph/fixtures/repo"
	"git-ralph/gitstate/object"
)

// TestCommitIsGits: a commit is byte for byte what git makes of the same identity, time and
// message.
func TestCommitIsGits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why      string
		settings []string // key value ...
		env      []string
		msg      string
		asked    bool // git itself has to make it
	}{
		{why: "plain", msg: "a title\n\na body\n\nRalph-Task: T-001\n"},
		{why: "no body", msg: "a title\n"},
		{why: "no end of the line", msg: "a title", asked: true},
		{why: "empty lines at the end", msg: "\n a title\n\n\n"},
		{why: "letters of all kinds", settings: []string{"user.name", "Zoë 大", "user.email", "zoë@example.com"},
			msg: "ünï 大\n"},
		{why: "signs that git removes", settings: []string{"user.name", " .,A <B> \"C\".,; ", "user.email", "<a@b>"},
			msg: "x\n"},
		{why: "another author", settings: []string{"author.name", "Somebody Else"}, msg: "x\n", asked: true},
		{why: "another committer", env: []string{"GIT_COMMITTER_NAME=Robot"}, msg: "x\n", asked: true},
		{why: "another encoding", settings: []string{"i18n.commitEncoding", "ISO-8859-1"}, msg: "x\n", asked: true},
		{why: "no text", msg: "x \xff\n", asked: true},
		{why: "another time zone", env: []string{"TZ=XYZ-5:45"}, msg: "x\n", asked: true},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			r := repo.New(t, map[string]string{"a": "b\n"})
			for i := 0; i < len(c.settings); i += 2 {
				r.Git("config", c.settings[i], c.settings[i+1])
			}
			env := append(append([]string{}, r.Env...), c.env...)
			g, err := Open(ctx, r.Dir, env)
			must(t, err)
			t.Cleanup(func() { g.Close() })
			tip, err := g.ReadRef(ctx, "refs/heads/main")
			must(t, err)
			at, err := g.Store.ReadCommit(tip)
			must(t, err)
			if _, plain := g.plainIdentity(ctx); plain == c.asked && !strings.HasPrefix(c.why, "no ") {
				t.Errorf("made without git: %v", plain)
			}
			for _, parents := range [][]object.ID{nil, {tip}} {
				id, err := g.Commit(ctx, c.msg, Unsigned, at.Tree, parents...)
				must(t, err)
				must(t, g.Store.Sync())
				made := r.Git("cat-file", "commit", id.String())
				var author, committer string
				for line := range strings.Lines(made) {
					key, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
					_, when, _ := strings.Cut(rest, "> ")
					switch key {
					case "author":
						author = when
					case "committer":
						committer = when
					}
				}
				args := []string{at.Tree.String()}
				for _, p := range parents {
					args = append(args, "-p", p.String())
				}
				dates := []string{"GIT_AUTHOR_DATE=" + author, "GIT_COMMITTER_DATE=" + committer}
				want, err := g.commitTree(ctx, dates, c.msg, args)
				must(t, err)
				if want != id {
					t.Errorf("git makes\n%s\nand not\n%s", r.Git("cat-file", "commit", want.String()), made)
				}
			}
		})
	}
}
