package loop

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	agentctx "git-ralph/context"
	"git-ralph/gitstate"
	"git-ralph/gitstate/state"
	"git-ralph/loop/recovery"
	"git-ralph/loop/refusal"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

const colours = `# Colours
## Problem Statement
Nobody sees them.
## Success Criteria
2 colours
## Constraints
none
## Non-Goals
none
## Acceptance Criteria
- [ ] blue is there
`

// phases plays every phase well.
func phases(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
	switch req.Role {
	case session.RoleDiscovery:
		if missing, again := req.FollowUp(completed()); !again || !strings.Contains(missing, "no spec was written") {
			r.t.Errorf("nothing is missing: %v %q", again, missing)
		}
		r.write("specs/colours.md", colours)
	case session.RolePlanning:
		b.say(func(c *session.Collected) {
			c.Tasks = []plan.Task{{ID: "T-001", Title: "paint it blue", Description: "d", Status: plan.Pending,
				Criteria: []string{"blue is there"}, Verify: []string{"blue.txt"}, Spec: "specs/colours.md"}}
		})
	case session.RoleCoding:
		r.write("blue.txt", "the colour is blue\n")
		b.say(func(c *session.Collected) { c.Handoff = handoff(req.TaskID, true) })
	case session.RoleValidation:
		b.say(func(c *session.Collected) {
			c.Criteria = []session.CriterionReport{{Spec: "specs/colours.md", Criterion: "blue is there", Verdict: "pass",
				Evidence: "seen",
				File:     "blue.txt", Quote: "the colour is blue", Command: "blue.txt"}}
		})
	}
	return completed()
}

func TestRunFromASentence(t *testing.T) {
	t.Parallel()
	r := newRig(t, phases)
	r.Settings.Critic = plan.Critic{Agent: true}
	end := r.run(RunOptions{Phase: state.Discovery, Request: "make it blue"})
	if end.Status != state.Complete {
		t.Fatalf("%s: %s\n%s", end.Status, end.Reason, strings.Join(r.said, "\n"))
	}
	s, err := r.load()
	if err != nil {
		t.Fatal(err)
	}
	if s.Report == nil || !s.Report.Passed || s.Report.Specs[0].Criteria[0].Mark != markProved {
		t.Errorf("%+v", s.Report)
	}
	v, err := r.Verify(context.Background(), "", nil)
	if err != nil || !v.OK() || v.Proved == 0 {
		t.Errorf("%v: %+v", err, v)
	}
	// The last iteration with a commit is rewound, in code and journal.
	rw := &recovery.Rewinder{Repo: r.Repo, Journal: r.Journal, Engine: r.Engine, Log: r.log}
	if _, err := rw.Run(context.Background(), 1); err != nil {
		t.Fatal(err)
	}
	if exists(r.repo.Dir, "blue.txt") {
		t.Error("the file of a later iteration is still there")
	}
	if err := recovery.Prune(r.Repo, r.Journal, 1); err != nil {
		t.Error(err)
	}
}

// TestReplan: when nothing gets done, a new plan is requested. If none is made, the
// old one stays. NextPrompt shows the prompt of the next iteration.
func TestReplan(t *testing.T) {
	t.Parallel()
	asked := 0
	r := newRig(t, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
		if req.Role == session.RolePlanning {
			asked++
		} else {
			r.write("broken", "")
			b.done(req)
		}
		return completed()
	}, plan.Task{ID: "A"})
	r.write("specs/colours.md", colours)
	r.repo.Git("add", "specs")
	r.repo.Git("commit", "-q", "-m", "say what is wanted")
	r.Settings.Limits = Limits{MaxAttempts: 5, Stagnation: 1, RegeneratePlan: true, Failures: 5, MaxIterations: 2}
	end := r.run(RunOptions{Build: true})
	if asked == 0 || !r.told("planning anew") || !r.told("the old one stays") {
		t.Errorf("%s: %s: asked %d times\n%s", end.Status, end.Reason, asked, strings.Join(r.said, "\n"))
	}
	if p := r.NextPrompt(r.state(), "A"); !strings.Contains(p.Text, "checks: test") {
		t.Errorf("%s", p.Text)
	}
	if p := r.NextPrompt(r.state(), "B"); p.Text != "" {
		t.Errorf("of a task that is not there: %s", p.Text)
	}
}

func TestRunGates(t *testing.T) {
	for _, c := range []struct {
		why     string
		set     func(*Settings)
		options RunOptions
		tasks   []plan.Task
		play    client
		status  state.Status
		reason  string
	}{
		{"specs wait for a person", func(s *Settings) { s.ConfirmSpecs = true },
			RunOptions{Phase: state.Discovery, Request: "x"},
			nil, phases,
			state.NeedsReview, "the specs are waiting to be approved"},
		{"a single phase ends when it is over", func(*Settings) {},
			RunOptions{Phase: state.Discovery, Request: "x", Only: true},
			nil, phases, state.Ready, ""},
		{"nothing that could be worked on", func(*Settings) {}, RunOptions{Build: true}, nil, phases, state.New,
			"the plan is empty"},
		{"a phase that fails twice ends the run", func(*Settings) {}, RunOptions{Phase: state.Planning}, nil,
			func(*rig, session.Request, *box, func(session.AgentEvent)) session.Result { return completed() },
			state.HaltedStatus, "planning: plan: no task was added: record each with ralph_add_task"},
		{"the project is prepared once, by an iteration of its own", func(s *Settings) { s.SetupPrompt = "prepare" },
			RunOptions{Build: true}, []plan.Task{{ID: "A"}},
			func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				if req.TaskID == "" {
					r.write("prepared", "")
					return completed()
				}
				if !exists(r.repo.Dir, "prepared") {
					r.t.Error("the project is not prepared")
				}
				r.write("work.txt", "")
				b.done(req)
				return completed()
			}, state.Complete, ""},
		{"a run that stands still is planned anew", func(s *Settings) {
			s.Limits.RegeneratePlan, s.Limits.Stagnation, s.Limits.MaxAttempts, s.Limits.Failures = true, 1, 9, 9
		}, RunOptions{Build: true}, []plan.Task{{ID: "A"}, {ID: "B"}, {ID: "C"}},
			func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				switch {
				case req.Role == session.RolePlanning:
					b.say(func(c *session.Collected) {
						c.Tasks = []plan.Task{{ID: "N", Title: "another way", Status: plan.Pending, Criteria: []string{"c"},
							Description: "d"}}
					})
				case req.TaskID == "N":
					r.write("work.txt", "")
					b.done(req)
				default:
					r.write("broken", "")
					r.write("specs/x.md", colours)
					b.done(req)
				}
				return completed()
			}, state.HaltedStatus, "stagnation:1"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, c.play, c.tasks...)
			c.set(&r.Settings)
			if end := r.run(c.options); end.Status != c.status || end.Reason != c.reason {
				t.Errorf("%s: %q, want %s: %q\n%s", end.Status, end.Reason, c.status, c.reason, strings.Join(r.said, "\n"))
			}
		})
	}
}

// TestRunBaseline: a check is red before any work.
func TestRunBaseline(t *testing.T) {
	for _, c := range []struct {
		mode   string
		kind   refusal.Kind // of the refusal
		titles string
	}{{"require", refusal.RedBaseline, ""}, {"fix-first", 0, "make the checks green: test|task A"}} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				os.Remove(r.repo.Dir + "/broken")
				r.write(req.TaskID+".txt", "")
				b.done(req)
				return completed()
			}, plan.Task{ID: "A"})
			r.repo.Write("broken", "")
			r.repo.Git("add", "broken")
			r.repo.Git("commit", "-q", "-m", "broken")
			r.Settings.BaselineMode = c.mode
			_, err := r.Run(context.Background(), RunOptions{Build: true})
			var refused *refusal.Error
			if errors.As(err, &refused) != (c.kind != 0) || refused != nil && refused.Kind != c.kind {
				t.Fatalf("%v\n%s", err, strings.Join(r.said, "\n"))
			}
			var titles []string
			for _, res := range r.results() {
				titles = append(titles, res.Title)
			}
			if strings.Join(titles, "|") != c.titles {
				t.Errorf("%q", titles)
			}
		})
	}
}

const longPrompt = "## Task\n\nThis is task A: make work.txt. Look at a.txt first, it is the only file that " +
	"matters here; then write the new one beside it.\n"

// TestRunOrchestrated: helper agents before and after the coding agent are sessions
// of the same iteration.
func TestRunOrchestrated(t *testing.T) {
	directive := func(d agentctx.Directive) json.RawMessage {
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for _, c := range []struct {
		why    string
		mode   string
		prep   agentctx.Directive
		prompt string
		pass   func(r *rig)
		status state.Status
		ends   []string
		file   string // adopted.txt
	}{
		{"a prepared prompt, and a pass whose change is kept", "agent-orchestrated",
			agentctx.Directive{Action: agentctx.Proceed}, longPrompt,
			func(r *rig) { r.write("adopted.txt", "better") }, state.Complete, []string{"keep"}, "better"},
		{"a pass that breaks the checks is taken back", "agent-orchestrated", agentctx.Directive{Action: agentctx.Proceed},
			longPrompt,
			func(r *rig) { r.write("broken", "") }, state.Complete, []string{"keep"}, ""},
		{"the context agent may skip a task", "agent-orchestrated",
			agentctx.Directive{Action: agentctx.Skip, Reason: "done elsewhere"}, "", nil,
			state.NeedsReview, []string{"reject: prep: skip"}, ""},
		{"the index before an iteration", string(agentctx.HandoffIndex), agentctx.Directive{}, "", nil, state.Complete,
			[]string{"keep"}, ""},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
				switch req.Role {
				case session.RoleContextPrep:
					r.write("scratch.txt", "of a helper")
					b.say(func(k *session.Collected) { k.Directive, k.Prompt = directive(c.prep), c.prompt })
				case session.RoleContextPost:
					b.say(func(k *session.Collected) { k.Directive = directive(agentctx.Directive{Action: agentctx.Proceed}) })
				case session.RoleIndexer:
					b.say(func(k *session.Collected) {
						k.Learnings = []session.Learning{{Text: "the tests are quick", Category: "gotcha"}}
					})
				case "reviewer":
					c.pass(r)
				default:
					if !strings.Contains(req.Prompt, strings.TrimSpace(c.prompt)) || exists(r.repo.Dir, "scratch.txt") {
						r.t.Errorf("the preparation did not reach the agent, or its files did:\n%s", req.Prompt)
					}
					r.write("work.txt", "1")
					b.done(req)
				}
				return completed()
			}, plan.Task{ID: "A"})
			r.Settings.Mode = c.mode
			r.Settings.Index = agentctx.TriggerOptions{Interval: 1}
			if c.pass != nil {
				trigger, err := agentctx.ParseTrigger("on_success")
				if err != nil {
					t.Fatal(err)
				}
				r.Settings.Passes = []Pass{{Name: "reviewer", Trigger: trigger}}
			}
			end := r.run(RunOptions{Build: true})
			var ends []string
			for _, res := range r.results() {
				ends = append(ends, verdictLine(Verdict{Verdict: res.Verdict, Partial: res.Partial, Reasons: res.Reasons}))
			}
			if end.Status != c.status || strings.Join(ends, "|") != strings.Join(c.ends, "|") {
				t.Errorf("%s: %s, %q\n%s", end.Status, end.Reason, ends, strings.Join(r.said, "\n"))
			}
			if data, _ := os.ReadFile(r.repo.Dir + "/adopted.txt"); string(data) != c.file {
				t.Errorf("adopted.txt: %q", data)
			}
		})
	}
}

// TestRecovery: a process died during an iteration and left its start and its
// files. The next one stores the files and restores the checkpoint.
func TestRecovery(t *testing.T) {
	t.Parallel()
	type died struct{}
	r := newRig(t, func(r *rig, _ session.Request, _ *box, _ func(session.AgentEvent)) session.Result {
		r.write("work.txt", "half")
		r.write("a.txt", "changed\n")
		return completed()
	}, plan.Task{ID: "A"})
	r.Fail = func(step string) {
		if step == "iteration:agent-ended" {
			panic(died{})
		}
	}
	func() {
		defer func() {
			if p := recover(); p != (died{}) {
				t.Fatalf("it did not die: %v", p)
			}
		}()
		_, _ = r.Run(context.Background(), RunOptions{Build: true})
	}()
	ctx := context.Background()
	rec := &recovery.Recovery{Journal: r.Journal, Place: r.place()}
	for range 2 { // the second finds nothing to do
		if err := rec.Run(ctx); err != nil {
			t.Fatal(err)
		}
	}
	list := r.results()
	if len(list) != 1 || list[0].Reasons[0] != "interrupted" || list[0].Evidence == "" ||
		list[0].TaskStatus != plan.Pending {
		t.Fatalf("%+v", list)
	}
	if exists(r.repo.Dir, "work.txt") || r.repo.Read("a.txt") != "a\n" {
		t.Error("the worktree is not as before")
	}
	if got := r.repo.Git("show", list[0].Evidence+":worktree/work.txt"); got != "half" {
		t.Errorf("the evidence holds %q", got)
	}
	s, err := r.load()
	if err != nil {
		t.Fatal(err)
	}
	if err := recovery.CheckJournal(ctx, r.Repo, r.Journal, s); err != nil {
		t.Error(err)
	}
	tip := r.repo.Git("rev-parse", "HEAD")
	if refs := r.repo.Git("for-each-ref", gitstate.LocalPrefix); refs != "" || tip == "" {
		t.Errorf("checkpoints are left: %s", refs)
	}
}
