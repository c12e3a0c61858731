package loop

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// amending is a handoff with proposals for the plan.
func amending(id string, proposals ...string) []byte {
	var h map[string]any
	if err := json.Unmarshal(handoff(id, true), &h); err != nil {
		panic(err)
	}
	list := []json.RawMessage{}
	for _, p := range proposals {
		list = append(list, json.RawMessage(p))
	}
	h["plan_amendments"] = list
	data, err := json.Marshal(h)
	if err != nil {
		panic(err)
	}
	return data
}

// TestAmendments: each proposal of a handoff is judged by itself, and all of
// them are refused when there are too many.
func TestAmendments(t *testing.T) {
	t.Parallel()
	add := `{"action":"add","task":{"id":"C","title":"more","description":"d","criteria":["c"]},"reason":"it is missing"}`
	remove := `{"action":"remove","task_id":"B","reason":"too hard"}`
	for _, c := range []struct {
		why       string
		proposals []string
		says      []string
		b         plan.Status
	}{
		{"a task is set aside", []string{remove}, []string{"B is set aside until a person agrees: too hard"}, plan.Skipped},
		{"a done task stays", []string{`{"action":"remove","task_id":"A","reason":"never needed"}`},
			[]string{"refused: remove A"}, plan.Done},
		{"what is no proposal", []string{`{"action":"dance","reason":"r"}`}, []string{"refused: "}, plan.Done},
		{"a new task", []string{add}, []string{"more"}, plan.Done},
		{"too many", []string{remove, remove, remove, remove}, []string{"4 amendments in one handoff; at most 3 are taken"},
			plan.Done},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				r.write(req.TaskID+".txt", req.TaskID)
				if req.TaskID == "A" {
					b.say(func(k *session.Collected) { k.Handoff = amending("A", c.proposals...) })
				} else {
					b.done(req)
				}
				return completed()
			}, plan.Task{ID: "A"}, plan.Task{ID: "B", DependsOn: []plan.TaskID{"A"}})
			r.run(RunOptions{Build: true})
			for _, text := range c.says {
				if !r.told(text) {
					t.Errorf("nobody was told %q:\n%s", text, strings.Join(r.said, "\n"))
				}
			}
			s := r.state()
			if got := s.Plan.Tasks[s.Plan.Find("B")].Status; got != c.b {
				t.Errorf("B is %s, want %s", got, c.b)
			}
		})
	}
}

// TestValidationReturns: unmet criteria become tasks, and the run goes back to
// building. The judge is asked for a criterion that it did not report.
func TestValidationReturns(t *testing.T) {
	t.Parallel()
	asked := ""
	r := newRig(t, func(r *rig, req session.Request, b *box, tell func(session.AgentEvent)) session.Result {
		switch {
		case req.Role == session.RoleValidation && !exists(r.repo.Dir, "mended.txt"):
			asked, _ = req.FollowUp(completed())
			b.say(func(c *session.Collected) {
				c.Criteria = []session.CriterionReport{{Spec: "specs/colours.md", Criterion: "blue is there", Verdict: "fail",
					Evidence: "it is not"}}
			})
			r.write("left-by-the-judge.txt", "x")
			return completed()
		case req.Role == session.RoleCoding && exists(r.repo.Dir, "blue.txt"):
			r.write("mended.txt", "1")
			b.done(req)
			return completed()
		}
		return phases(r, req, b, tell)
	})
	end := r.run(RunOptions{Phase: state.Discovery, Request: "make it blue"})
	if end.Status != state.Complete {
		t.Errorf("%s: %s\n%s", end.Status, end.Reason, strings.Join(r.said, "\n"))
	}
	if !strings.Contains(asked, "not reported with ralph_report_criterion: specs/colours.md: blue is there") {
		t.Errorf("the judge was asked for %q", asked)
	}
	if !exists(r.repo.Dir, "mended.txt") || exists(r.repo.Dir, "left-by-the-judge.txt") {
		t.Error("the files are not those of the work alone")
	}
	if s := r.state(); s.Run.Rounds == 0 || len(s.Plan.Tasks) != 2 {
		t.Errorf("%d returns, %d tasks", s.Run.Rounds, len(s.Plan.Tasks))
	}
}

// setUps counts the setups, and may fail.
type setUps struct {
	filesProver
	n    *int
	fail error
}

func (p setUps) Setup(_ context.Context, req ProofRequest) error {
	*p.n++
	if p.fail != nil {
		return p.fail
	}
	return os.WriteFile(filepath.Join(req.Dir, "installed"), nil, 0o644)
}

// freshSandbox is a sandbox without layers.
type freshSandbox struct{ noSandbox }

func (freshSandbox) HasLayer(string) bool { return false }

// TestSetupOnce: the setup is run once in a worktree, again when its commands
// change, and once more when what it left in the home folder is gone.
func TestSetupOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, writes, plan.Task{ID: "A"}, plan.Task{ID: "B"}, plan.Task{ID: "C"}, plan.Task{ID: "D"})
	n := 0
	r.Prover = setUps{n: &n}
	r.repo.Write(".gitignore", "installed\n")
	r.repo.Git("add", "-A")
	r.repo.Git("commit", "-qm", "ignore what the setup makes")
	r.Settings.Fresh, r.Settings.Setup = "never", []string{"install"}
	r.Settings.Limits.MaxIterations = 1
	for _, c := range []struct {
		why    string
		change func()
		want   int
	}{{"the first run", func() {}, 1}, {"the second", func() {}, 1},
		// Agents have worked, so setup also fills the checks' layer from a commit.
		{"other commands", func() { r.Settings.Setup = []string{"install -f"} }, 3},
		{"the layer is gone", func() { r.Sandbox = freshSandbox{"off"} }, 5}} {
		c.change()
		if end := r.run(RunOptions{Build: true}); end.Status == state.HaltedStatus || n != c.want {
			t.Errorf("%s: %s %s, %d setups, want %d\n%s", c.why, end.Status, end.Reason, n, c.want, strings.Join(r.said, "\n"))
		}
	}
	r.Prover = setUps{n: &n, fail: errors.New("no network")}
	if err := r.repeatSetup(context.Background()); err == nil ||
		!strings.Contains(err.Error(), "the setup failed: no network") {
		t.Errorf("%v", err)
	}
}

// TestLimitsOfASession: each limit ends the session that reaches it.
func TestLimitsOfASession(t *testing.T) {
	t.Parallel()
	cost := int64(5_000_000)
	for _, c := range []struct {
		why   string
		set   func(*Settings)
		event session.AgentEvent
		ends  string
	}{
		{"dollars of the iteration", func(s *Settings) { s.IterationMicroUSD = 1_000_000 },
			session.AgentEvent{Kind: session.EventUsage, Usage: session.Usage{CostMicroUSD: &cost}}, "limit: iteration_usd"},
		{"dollars of the session", func(s *Settings) { s.Limits.SessionMicroUSD = 1_000_000 },
			session.AgentEvent{Kind: session.EventUsage, Usage: session.Usage{CostMicroUSD: &cost}}, ""},
		{"dollars in all", func(s *Settings) { s.Limits.TotalMicroUSD = 1_000_000 },
			session.AgentEvent{Kind: session.EventUsage, Usage: session.Usage{CostMicroUSD: &cost, ContextWindow: 1000}}, ""},
		{"tokens of the session", func(s *Settings) { s.Limits.SessionTokens = 10 },
			session.AgentEvent{Kind: session.EventUsage, Usage: session.Usage{Input: 50}}, ""},
		{"nothing", func(s *Settings) { s.Delay = time.Second }, session.AgentEvent{Kind: session.EventOutput, Text: "line"},
			""},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(r *rig, req session.Request, b *box, tell func(session.AgentEvent)) session.Result {
				tell(session.AgentEvent{Kind: session.EventText, Text: "hello", Model: "m-1"})
				tell(session.AgentEvent{Kind: session.EventDenied, Tool: "Bash", Text: "no"})
				tell(session.AgentEvent{Kind: session.EventWarning, Text: "slow"})
				tell(session.AgentEvent{Kind: session.EventToolDone, Agent: "helper"})
				tell(c.event)
				if p := req.Judge(session.ToolUse{Tool: "Bash", Input: []byte(`{"command":"git push"}`)}); p.Allow ||
					p.Reason == "" {
					r.t.Errorf("a push is allowed: %+v", p)
				}
				if p := req.Judge(session.ToolUse{Tool: "Bash", Input: []byte(`{"command":"ls"}`)}); !p.Allow && c.ends == "" &&
					c.why == "nothing" {
					r.t.Errorf("ls is not: %+v", p)
				}
				r.write("work.txt", "1")
				b.done(req)
				return completed()
			}, plan.Task{ID: "A", MaxTurns: 3})
			r.Settings.Limits.MaxAttempts = 1
			c.set(&r.Settings)
			end := r.run(RunOptions{Build: true})
			list := r.results()
			if len(list) != 1 || !strings.Contains(strings.Join(list[0].Reasons, ";"), c.ends) {
				t.Errorf("%s %s: %+v\n%s", end.Status, end.Reason, list, strings.Join(r.said, "\n"))
			}
		})
	}
}

// TestVerifyOfPeople: the present checks prove a person's commit at the tip, and
// a red one is failed with the reason.
func TestVerifyOfPeople(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := newRig(t, writes, plan.Task{ID: "A"})
	r.run(RunOptions{Build: true})
	r.write("mine.txt", "mine\n")
	r.repo.Git("add", "mine.txt")
	r.repo.Git("commit", "-qm", "by a person")
	v, err := r.Verify(ctx, "", nil)
	if err != nil || !v.OK() || len(v.Commits) != 2 {
		t.Errorf("%v: %+v", err, v)
	}
	r.write("broken", "")
	r.write("ralph.toml", "# other checks\n")
	r.repo.Git("add", "-A")
	r.repo.Git("commit", "-qm", "red, by a person")
	told := 0
	v, err = r.Verify(ctx, "HEAD~1..HEAD", func(VerifiedCommit) { told++ })
	if err != nil || v.OK() || told == 0 || len(v.Commits) != 1 || !v.Commits[0].Person {
		t.Errorf("%v: %+v", err, v)
	}
	if got := notes.OneLine(v.Commits[0].Reason, 200); !strings.Contains(got, "test") {
		t.Errorf("the reason is %q", got)
	}
}
