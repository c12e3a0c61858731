package loop

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/loop/session"
	"git-ralph/plan"
)

func TestReproduced(t *testing.T) {
	red, green := TestRun{Name: "a"}, TestRun{Name: "a", Passed: true}
	for _, c := range []struct {
		why           string
		before, after []TestRun
		ok            bool
		unclear       string
	}{
		{"red before, green now", []TestRun{red}, []TestRun{green}, true, ""},
		{"green on both sides", []TestRun{green}, []TestRun{green}, false, ""},
		{"red on both sides: the surroundings", []TestRun{red}, []TestRun{red}, false, "a"},
		{"one of many is enough", []TestRun{red, green, red}, []TestRun{red, green, green}, true, ""},
		{"what could not be run shows nothing", []TestRun{red}, nil, false, ""},
	} {
		if ok, unclear := reproduced(c.before, c.after); ok != c.ok || unclear != c.unclear {
			t.Errorf("%s: %v %q", c.why, ok, unclear)
		}
	}
}

// bugProver takes files that end in _bug.txt as tests. Such a test passes if
// the file that it names exists.
type bugProver struct{ filesProver }

func (bugProver) TestFiles(req WeakenRequest) (tests, data []ChangedFile) {
	for _, f := range req.Files {
		if strings.HasSuffix(f.Path, "_bug.txt") && f.After != nil {
			tests = append(tests, f)
		}
	}
	return tests, nil
}

func (bugProver) RunTests(_ context.Context, _ plan.Task, in func(func(ProofRequest) error) error) ([]TestRun, error) {
	var out []TestRun
	err := in(func(req ProofRequest) error {
		list, err := filepath.Glob(filepath.Join(req.Dir, "*_bug.txt"))
		for _, path := range list {
			want, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			out = append(out, TestRun{Name: filepath.Base(path), Passed: exists(req.Dir, string(want))})
		}
		return err
	})
	return out, err
}

// TestRunOnABug: a bug is done when a test of the change fails without it.
func TestRunOnABug(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why  string
		play func(r *rig, req session.Request, b *box)
		more []plan.Task
		ends string
		says string
	}{
		{"a test that fails on the code before", func(r *rig, req session.Request, b *box) {
			r.write("one_bug.txt", "fix.txt")
			r.write("fix.txt", "fixed")
			b.done(req)
		}, nil, "keep", ""},
		{"a test that passes on it", func(r *rig, req session.Request, b *box) {
			r.write("one_bug.txt", "a.txt")
			r.write("fix.txt", "fixed")
			b.done(req)
		}, nil, "reject: reproduction: no test fails on the code before the change | " +
			"reject: reproduction: no test fails on the code before the change", ""},
		{"a test that fails with the change as well", func(r *rig, req session.Request, b *box) {
			r.write("one_bug.txt", "nowhere.txt")
			r.write("fix.txt", "fixed")
			b.done(req)
		}, nil, "keep", "fails in a fresh checkout with the change as well"},
		{"no test at all", func(r *rig, req session.Request, b *box) {
			r.write("fix.txt", "fixed")
			b.done(req)
		}, nil, "keep", "was run"},
		{"in two steps", func(r *rig, req session.Request, b *box) {
			if !exists(r.repo.Dir, "one_bug.txt") {
				r.write("one_bug.txt", "fix.txt")
				b.say(func(c *session.Collected) { c.Handoff = handoff("A", false) })
				return
			}
			r.write("fix.txt", "fixed")
			b.done(req)
		}, nil, "keep (partial) | keep", ""},
		{"a later task makes the test say something else", func(r *rig, req session.Request, b *box) {
			if req.TaskID == "A" {
				r.write("one_bug.txt", "fix.txt")
				r.write("fix.txt", "fixed")
			} else {
				os.Remove(filepath.Join(r.repo.Dir, "fix.txt"))
				r.write("one_bug.txt", "a.txt")
			}
			b.done(req)
		}, []plan.Task{{ID: "B", DependsOn: []plan.TaskID{"A"}}}, "keep | keep", "it fails as it was when it was kept"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				c.play(r, req, b)
				return completed()
			}, append([]plan.Task{{ID: "A", Type: "bug"}}, c.more...)...)
			r.Prover = bugProver{}
			r.run(RunOptions{Build: true})
			var ends, notices []string
			for _, res := range r.results() {
				ends = append(ends, verdictLine(Verdict{Verdict: res.Verdict, Partial: res.Partial, Reasons: res.Reasons}))
				notices = append(notices, res.Notices...)
			}
			got := strings.Join(ends, " | ")
			if got != c.ends || !r.told(c.says) && !strings.Contains(strings.Join(notices, "\n"), c.says) {
				t.Errorf("%s, %q\n%s", got, notices, strings.Join(r.said, "\n"))
			}
		})
	}
}
