package loop

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/loop/recovery"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// TestRedactEverywhere: a text is removed from journal, notes and evidence. No
// commit of the user changes, and a second look finds nothing.
func TestRedactEverywhere(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	const word = "half of A"
	for _, step := range long.Sample(t, append([]string{""}, recovery.RedactSteps...), 3) {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				r.write("work.txt", "1")
				b.say(func(c *session.Collected) { c.Handoff = handoff("A", true) })
				return completed()
			}, plan.Task{ID: "A"})
			r.run(RunOptions{Build: true})
			tip := r.repo.Git("rev-parse", "HEAD")
			r.repo.Git("update-ref", gitstate.RemotePrefix+"origin/heads/main", r.repo.Git("rev-parse", r.Journal.Ref()))
			red := func() *recovery.Redactor {
				return &recovery.Redactor{Repo: r.Repo, Pattern: regexp.MustCompile(word), Now: r.now,
					Fail: func(s string) { r.fail(s) },
					Open: func(branch string) (*journal.Journal, error) { return journal.Open(ctx, r.Repo, branch) }}
			}
			apply := func() error {
				found, err := red().Find(ctx)
				if err == nil && found.Any() {
					err = red().Apply(ctx, &found)
				}
				return err
			}
			found, err := red().Find(ctx)
			if err != nil || len(found.Journals) != 1 || found.Notes != 1 || len(found.Pushed) != 1 {
				t.Fatalf("%v, %+v", err, found)
			}
			if there := r.dies(step, apply); !there && step != "" {
				t.Fatal("the step was never reached")
			}
			if err := apply(); err != nil {
				t.Fatal(err)
			}
			// As another process: git here can still read deleted packs that are open.
			g, err := gitstate.Open(ctx, r.repo.Dir, r.repo.Env)
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			look := red()
			look.Repo = g
			if again, err := look.Find(ctx); err != nil || again.Any() {
				t.Errorf("%v, %+v is left", err, again)
			}
			all := r.repo.Git("log", "--format=%B", "refs/ralph/heads/main") + r.repo.Git("log", "--notes=ralph", "--format=%N")
			if strings.Contains(all, word) || r.repo.Git("rev-parse", "HEAD") != tip {
				t.Error("it is still there, or a commit of the user's was changed")
			}
			if out, err := r.repo.Try("fsck", "--strict", "--no-dangling"); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
