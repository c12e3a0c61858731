package loop

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// toolProver has a check that calls a program by name.
type toolProver struct{ filesProver }

func (p toolProver) lacks(dir string, c state.CheckRun) state.CheckRun {
	if !exists(dir, "tools/bin/lint") {
		c.Passed, c.ExitCode, c.Missing = false, 127, "lint"
	}
	return c
}

func (p toolProver) Prove(ctx context.Context, req ProofRequest) (ProofReport, error) {
	rep, err := p.filesProver.Prove(ctx, req)
	for i, c := range rep.Runs {
		if rep.Runs[i] = p.lacks(req.Dir, c); !rep.Runs[i].Passed && rep.Pass {
			rep.Pass, rep.Reasons = false, append(rep.Reasons, "checks: "+c.Name)
		}
	}
	return rep, err
}

func (p toolProver) Replay(ctx context.Context, req ProofRequest, recorded []state.CheckRun) ([]state.CheckRun, error) {
	runs, err := p.filesProver.Replay(ctx, req, recorded)
	for i, c := range runs {
		runs[i] = p.lacks(req.Dir, c)
	}
	return runs, err
}

// TestToolsTakenAway: an attempt removes or changes a program of an ignored folder. It
// is put back, and the attempt fails. If it was missing before, the run ends.
func TestToolsTakenAway(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why   string
		agent func(r *rig, bin string)
		gone  bool // missing before as well
		ends  string
		says  string
	}{
		{"removed", func(_ *rig, bin string) { os.RemoveAll(bin) }, false, "reject: checks: test | keep",
			"put back, because checks call lint"},
		{"with its folder behind a link", func(r *rig, bin string) {
			os.RemoveAll(bin)
			if err := os.Symlink(r.t.TempDir(), bin); err != nil {
				r.t.Error(err)
			}
		}, false, "reject: checks: test | keep", "put back, because checks call lint"},
		{"the machine lacks it", func(*rig, string) {}, true, "reject: environment: lint not found", ""},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				r.write("work.txt", "1")
				if len(r.results()) == 0 {
					c.agent(r, filepath.Join(r.repo.Dir, "tools/bin"))
				}
				b.done(req)
				return completed()
			}, plan.Task{ID: "A"})
			r.Prover = toolProver{}
			r.Settings.Fresh, r.Settings.BaselineMode = "never", "off"
			r.repo.Write(".gitignore", "tools/\n")
			r.repo.Git("add", "-A")
			r.repo.Git("commit", "-qm", "ignore the tools")
			if !c.gone {
				r.write("tools/bin/lint", "#!/bin/sh\n")
				r.write("tools/bin/large", strings.Repeat("x", maxToolFile+1))
				for _, name := range []string{"lint", "large"} {
					if err := os.Chmod(filepath.Join(r.repo.Dir, "tools/bin", name), 0o755); err != nil {
						t.Fatal(err)
					}
				}
				if err := os.Symlink("lint", filepath.Join(r.repo.Dir, "tools/bin/alias")); err != nil {
					t.Fatal(err)
				}
			}
			r.run(RunOptions{Build: true})
			var ends, notices []string
			for _, res := range r.results() {
				ends = append(ends, verdictLine(Verdict{Verdict: res.Verdict, Reasons: res.Reasons}))
				notices = append(notices, res.Notices...)
			}
			if got := strings.Join(ends, " | "); got != c.ends || !strings.Contains(strings.Join(notices, "\n"), c.says) {
				t.Errorf("%s, %q\n%s", got, notices, strings.Join(r.said, "\n"))
			}
		})
	}
}

// TestCopiedSecret: secrets of an untracked file must not be committed in another
// file.
func TestCopiedSecret(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
		r.write("config.txt", "token = hunter2-hunter2-hunter2\n")
		b.done(req)
		return completed()
	}, plan.Task{ID: "A"})
	r.Settings.Limits.MaxAttempts = 1
	r.repo.Write(".gitignore", ".env\n")
	r.repo.Git("add", "-A")
	r.repo.Git("commit", "-qm", "ignore")
	r.write(".env", "API_TOKEN=hunter2-hunter2-hunter2\n")
	r.write("app/.env.example", "API_TOKEN=\n")
	r.run(RunOptions{Build: true})
	list := r.results()
	if len(list) != 1 || !strings.Contains(strings.Join(list[0].Reasons, "; "), "config.txt") {
		t.Errorf("%+v", list)
	}
}
