package loop

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	agentctx "git-ralph/context"
	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

func steps(t *testing.T, list ...string) []Step {
	t.Helper()
	var out []Step
	for _, text := range list {
		s, err := ParseStep(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

func TestParseStep(t *testing.T) {
	for _, c := range []struct{ text, want, err string }{
		{"model:opus", "model:opus", ""},
		{"model:anthropic/claude:thinking", "model:anthropic/claude:thinking", ""},
		{"effort:high", "effort:high", ""},
		{"approach", "approach", ""},
		{"best-of-2", "best-of-2", ""},
		{"model:", "", "steps are model:NAME"},
		{"model:a,effort:high", "", "steps are model:NAME"},
		{"effort:very", "", "an effort is one of minimal"},
		{"approach:other", "", "steps are model:NAME"},
		{"best-of-3", "", "steps are model:NAME"},
		{"", "", "steps are model:NAME"},
	} {
		s, err := ParseStep(c.text)
		if c.err == "" && (err != nil || s.String() != c.want) || c.err != "" &&
			(err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("ParseStep(%q) = %v, %v; want %q, %q", c.text, s, err, c.want, c.err)
		}
	}
}

func TestChoose(t *testing.T) {
	full := steps(t, "model:opus", "effort:high", "approach", "best-of-2")
	for _, c := range []struct {
		why    string
		ladder []Step
		rung   int
		want   Choice
	}{
		{"the first attempt works as the settings say", full, 0, Choice{}},
		{"one step", full, 1, Choice{Rung: 1, Step: "model:opus", Model: "opus"}},
		{"steps add up", full, 3, Choice{Rung: 3, Step: "approach", Model: "opus", Effort: "high", Approach: true}},
		{"the attempt that reaches it is made twice", full, 4,
			Choice{Rung: 4, Step: "best-of-2", Model: "opus", Effort: "high", Approach: true, Best: true}},
		{"and only that one", full, 5, Choice{Rung: 5, Step: "after best-of-2", Model: "opus", Effort: "high",
			Approach: true}},
		{"a step after it is tried once", steps(t, "best-of-2", "model:opus"), 2,
			Choice{Rung: 2, Step: "model:opus", Model: "opus"}},
		{"a later model takes the place of an earlier one", steps(t, "model:b", "model:c"), 2,
			Choice{Rung: 2, Step: "model:c", Model: "c"}},
		{"a ladder that became shorter", full[:1], 4, Choice{Rung: 1, Step: "model:opus", Model: "opus"}},
		{"no ladder", nil, 3, Choice{}},
		{"a rung that nobody wrote", full, -1, Choice{}},
	} {
		if d := cmp.Diff(c.want, Choose(c.ladder, c.rung)); d != "" {
			t.Errorf("%s:\n%s", c.why, d)
		}
	}
}

func TestClimb(t *testing.T) {
	two, best := steps(t, "model:b", "approach"), steps(t, "model:b", "best-of-2")
	for _, c := range []struct {
		why     string
		ladder  []Step
		rung    int
		v       Verdict
		stalled bool
		want    int
	}{
		{"a rejected attempt climbs", two, 0, rejectAttempt("checks: test"), false, 1},
		{"a stall climbs one rung as well", two, 0, rejectAttempt("checks: test"), true, 1},
		{"a stall that spends no attempt climbs", two, 0, Verdict{Verdict: state.Reject, Failure: true}, true, 1},
		{"another failure that spends none stays", two, 0, Verdict{Verdict: state.Reject, Failure: true}, false, 0},
		{"a limit stays", two, 1, reject("usage_limit"), true, 1},
		{"a step that was kept stays", two, 1, Verdict{Verdict: state.Keep, Partial: true}, false, 1},
		{"the top is the top", two, 2, rejectAttempt("checks: test"), true, 2},
		{"best-of-2 is left after one attempt", best, 2, rejectAttempt("checks: test"), false, 3},
		{"and not reached again", best, 3, rejectAttempt("checks: test"), false, 3},
		{"without a ladder nothing climbs", nil, 0, rejectAttempt("checks: test"), true, 0},
		{"a ladder that became shorter takes no rung away", two[:1], 2, rejectAttempt("x"), false, 2},
	} {
		if got := Climb(c.ladder, c.rung, c.v, c.stalled); got != c.want {
			t.Errorf("%s: %d, want %d", c.why, got, c.want)
		}
	}
}

// worked is the input of a session.
type worked struct {
	Role          session.Role
	Model, Effort string
	Approach      bool
}

func (r *rig) noting(list *[]worked, play client) client {
	return func(r *rig, req session.Request, b *box, tell func(session.AgentEvent)) session.Result {
		*list = append(*list, worked{req.Role, req.Model, req.Effort, strings.Contains(req.Prompt, "change the approach")})
		return play(r, req, b, tell)
	}
}

func put(r *rig, name, text string) {
	if err := os.WriteFile(filepath.Join(r.repo.Dir, name), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

// TestPromptOfARung: what `git ralph prompt` shows is what the agent reads on each rung, and its size is
// estimated for the model of that rung.
func TestPromptOfARung(t *testing.T) {
	var factors []float64
	n := 0
	r := newRig(t, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
		p := r.NextPrompt(r.state(), "A")
		if p.Text != req.Prompt {
			t.Errorf("the prompt that is shown differs: %s", cmp.Diff(req.Prompt, p.Text))
		}
		factors = append(factors, p.BytesPerToken)
		n++
		put(r, "broken", fmt.Sprint(n))
		b.done(req)
		return completed()
	}, plan.Task{ID: "A"})
	r.Settings.Model, r.Settings.Limits.MaxAttempts = "small", 4
	r.Settings.Ladder = steps(t, "model:opus", "model:gpt-5.5", "approach")
	r.run(RunOptions{Build: true})
	if d := cmp.Diff([]float64{agentctx.DefaultBytesPerToken, 3.1, 3.7, 3.7}, factors); d != "" {
		t.Error(d)
	}
}

// TestLadder climbs a rung at each rejected attempt and records each rung.
func TestLadder(t *testing.T) {
	var got []worked
	n := 0
	broken := func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
		n++
		put(r, "b.txt", fmt.Sprint(n))
		if n < 4 {
			put(r, "broken", "x")
		}
		b.done(req)
		return session.Result{Outcome: session.Completed}
	}
	r := newRig(t, nil, plan.Task{ID: "A", Model: "small"})
	r.Agent = r.noting(&got, broken).over(r)
	four := 4
	r.Settings.Model, r.Settings.Limits.MaxAttempts = "base", four
	r.Settings.Ladder = steps(t, "model:big", "effort:high", "approach")
	if end := r.run(RunOptions{Build: true}); end.Status != state.Complete {
		t.Fatalf("%s %s", end.Status, end.Reason)
	}
	want := []worked{{session.RoleCoding, "small", "", false}, {session.RoleCoding, "big", "", false},
		{session.RoleCoding, "big", "high", false},
		{session.RoleCoding, "big", "high", true}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	var rungs []string
	for _, res := range r.results() {
		rungs = append(rungs, fmt.Sprint(res.Rung, " ", res.Step, " ", res.Verdict, " ", res.Runs[0].Model))
	}
	if d := cmp.Diff([]string{"0  reject small", "1 model:big reject big", "2 effort:high reject big",
		"3 approach keep big"},
		rungs); d != "" {
		t.Error(d)
	}
}

// TestBestOfTwo: the checks choose between two tries of one attempt. The
// evidence has both, and the first leaves nothing in the worktree.
func TestBestOfTwo(t *testing.T) {
	for _, c := range []struct {
		why    string
		red    int // tries that are red, the first attempt among them
		tries  int
		keeps  bool
		passed string
	}{
		{"the first try is green", 1, 2, true, "2"},
		{"the second try is green", 2, 3, true, "3"},
		{"both are red", 3, 3, false, ""},
	} {
		t.Run(c.why, func(t *testing.T) {
			n := 0
			r := newRig(t, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				n++
				if exists(r.repo.Dir, "broken") || exists(r.repo.Dir, "b.txt") {
					t.Errorf("try %d finds what the one before left", n)
				}
				put(r, "b.txt", fmt.Sprint(n))
				if n <= c.red {
					put(r, "broken", "x")
				}
				b.done(req)
				return session.Result{Outcome: session.Completed, Usage: session.Usage{Input: 10}}
			}, plan.Task{ID: "A"})
			r.Settings.Ladder = steps(t, "best-of-2")
			r.run(RunOptions{Build: true})
			res := r.results()
			if len(res) != 2 || n != c.tries || (res[1].Verdict == state.Keep) != c.keeps {
				t.Fatalf("%d iterations, %d tries, %+v", len(res), n, res[len(res)-1])
			}
			last := res[1]
			if last.Tokens.Total() != int64(10*(c.tries-1)) {
				t.Errorf("%d tokens", last.Tokens.Total())
			}
			if c.keeps {
				if text := r.repo.Git("show", "main:b.txt"); text != c.passed {
					t.Errorf("kept %q", text)
				}
			}
			files := r.repo.Git("ls-tree", "-r", "--name-only", last.Evidence)
			if two := c.tries == 3; strings.Contains(files, "tries/1/worktree/broken") != two ||
				strings.Contains(files, "tries/1/transcript.jsonl") != two || !strings.Contains(files, "\ntranscript.jsonl") &&
				!strings.HasPrefix(files, "transcript") {
				t.Errorf("the evidence holds\n%s", files)
			}
			if !c.keeps && !strings.Contains(r.state().Plan.Tasks[0].Failure, "The first:") {
				t.Errorf("the next attempt is told %q", r.state().Plan.Tasks[0].Failure)
			}
		})
	}
}

func (r *rig) state() state.State {
	r.t.Helper()
	s, err := r.load()
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}
