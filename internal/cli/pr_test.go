package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/gitstate"
	"git-ralph/gitstate/state"
	"git-ralph/loop"
	"git-ralph/plan"
)

// TestWordsOfAgentsInAPullRequest: what agents wrote closes no issue, calls nobody and is no
// command, whereas the issue that a task came from is closed.
func TestWordsOfAgentsInAPullRequest(t *testing.T) {
	title := "closes #7, GH-8 and https://github.com/o/r/issues/9 for @pat, as !3"
	s := state.State{Plan: plan.Plan{Tasks: []plan.Task{{ID: "12", Title: title, Status: plan.Done}}}}
	body := prBody(s, loop.Verification{}, map[plan.TaskID]string{"12": "12"})
	for _, acts := range []string{"#7", "GH-8", "issues/9", "@pat", "!3"} {
		if strings.Contains(body, acts) {
			t.Errorf("%s acts in\n%s", acts, body)
		}
	}
	if !strings.Contains(body, "Closes #12\n") {
		t.Errorf("its own issue is not closed:\n%s", body)
	}
	if got := strings.ReplaceAll(body, "\u2060", ""); !strings.Contains(got, title) {
		t.Errorf("the title cannot be read:\n%s", body)
	}
	if got := inert("fine\n  /merge\n"); got != "fine\n  \u2060/merge\n" {
		t.Errorf("a command of GitLab: %q", got)
	}
}

// TestPullRequestOfAStranger: of two requests from branches of one name, the one from another
// person's repository is not ours, whichever is listed first.
func TestPullRequestOfAStranger(t *testing.T) {
	const stranger = `{"number":1,"url":"u1","isCrossRepository":true,"headRepositoryOwner":{"login":"eve"}}`
	const fork = `{"number":3,"url":"u3","isCrossRepository":true,"headRepositoryOwner":{"login":"Pat"}}`
	const own = `{"number":2,"url":"u2","isCrossRepository":false,"headRepositoryOwner":{"login":"pat"}}`
	for _, c := range []struct {
		why, list string
		number    int
	}{
		{"a stranger's alone", stranger, 0},
		{"a stranger's first", stranger + "," + own, 2},
		{"from the fork that the remote is", stranger + "," + fork, 3},
	} {
		dir := t.TempDir()
		script := "#!/bin/sh\necho '[" + c.list + "]'\n"
		if err := os.WriteFile(filepath.Join(dir, "gh"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		a := &App{Ctx: context.Background(), Env: os.Environ(), repo: &gitstate.Repo{Root: dir}}
		got, err := github.open(a.Ctx, a, "main", ownerOf("git@github.com:pat/notes.git"))
		if err != nil || c.number == 0 != (got == nil) || got != nil && got.Number != c.number {
			t.Errorf("%s: %+v %v", c.why, got, err)
		}
	}
	for remote, owner := range map[string]string{"https://github.com/pat/notes.git\n": "pat", "git@work:pat/notes": "pat",
		"/srv/git/pat/notes.git/": "pat", "notes": "", "": ""} {
		if got := ownerOf(remote); got != owner {
			t.Errorf("the owner of %q is %q, not %q", remote, got, owner)
		}
	}
}
