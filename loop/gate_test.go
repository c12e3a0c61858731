package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

func TestWeighRemote(t *testing.T) {
	green, red := RemoteCheck{Name: "lint", State: RemoteGreen}, RemoteCheck{Name: "build", State: RemoteRed}
	pending := RemoteCheck{Name: "docs", State: RemotePending}
	for _, tt := range []struct {
		why  string
		pr   PullRequest
		want RemoteState
		said string
	}{
		{"all of this commit are green", PullRequest{Commit: "c1", Checks: []RemoteCheck{green}}, RemoteGreen,
			"its check is green"},
		{"a service that does not say of which commit they are is believed", PullRequest{Checks: []RemoteCheck{green}},
			RemoteGreen, "its check is green"},
		{"green ones of another commit prove nothing", PullRequest{Name: "pull request 7", Commit: "c0",
			Checks: []RemoteCheck{green}}, RemotePending, "pull request 7 stands at c0"},
		{"no check at all is not green", PullRequest{Commit: "c1"}, RemotePending, "no check has reported"},
		{"one that runs is waited for, also beside a red one", PullRequest{Commit: "c1",
			Checks: []RemoteCheck{green, red, pending}}, RemotePending, "not through yet: docs"},
		{"one that is red is red", PullRequest{Commit: "c1", Checks: []RemoteCheck{green, red}}, RemoteRed, "build"},
	} {
		got, said := weighRemote(tt.pr, "c1")
		if got != tt.want || !strings.Contains(said, tt.said) {
			t.Errorf("%s: %s, %q; want %s, %q", tt.why, got, said, tt.want, tt.said)
		}
	}
}

// server plays a hosting service with the checks of each pushed commit.
type server struct {
	r      *rig
	none   bool // no pull request is open
	at     string
	pushed []string
	looks  int
	// checks returns the check results of its current commit.
	checks func(s *server) ([]RemoteCheck, error)
	refuse error
	// hang may block a look until ctx ends and says so; nil = it does not.
	hang func(ctx context.Context) bool
}

func (s *server) Look(ctx context.Context) (*PullRequest, error) {
	s.looks++
	if s.hang != nil && s.hang(ctx) {
		return nil, ctx.Err()
	}
	list, err := s.checks(s)
	if s.none || err != nil {
		return nil, err
	}
	return &PullRequest{Name: "pull request 7", Commit: s.at, Checks: list}, nil
}

func (s *server) Push(_ context.Context, _ PullRequest, commit object.ID) error {
	if s.refuse != nil {
		return s.refuse
	}
	s.at = commit.String()
	s.pushed = append(s.pushed, s.at)
	return nil
}

func (s *server) Printed(_ context.Context, c RemoteCheck) string {
	return c.Name + " says: undefined: parse"
}

func checked(name string, is RemoteState) []RemoteCheck {
	return []RemoteCheck{{Name: name, State: is}}
}

// behind makes a loop with a server as gate and an agent that succeeds.
func behind(t *testing.T, checks func(s *server) ([]RemoteCheck, error), tasks ...plan.Task) (*server, *[]string) {
	t.Helper()
	prompts := &[]string{}
	n := 0
	r := newRig(t, func(r *rig, req session.Request, b *box, _ func(session.AgentEvent)) session.Result {
		n++
		*prompts = append(*prompts, req.Prompt)
		r.write("work.txt", fmt.Sprint(n))
		b.done(req)
		return completed()
	}, tasks...)
	s := &server{r: r, checks: checks}
	r.Gate = s
	r.Settings.GateWait = time.Hour
	return s, prompts
}

func TestGateWaitsForGreen(t *testing.T) {
	s, _ := behind(t, func(s *server) ([]RemoteCheck, error) {
		if s.looks < 9 {
			return checked("build", RemotePending), nil
		}
		return checked("build", RemoteGreen), nil
	}, plan.Task{ID: "T-1"}, plan.Task{ID: "T-2"})
	s.r.Settings.GateSettle = 0
	end := s.r.run(RunOptions{Build: true})
	if end.Status != state.Complete {
		t.Fatalf("%s: %s\n%s", end.Status, end.Reason, strings.Join(s.r.said, "\n"))
	}
	head := s.r.repo.Git("rev-parse", "HEAD")
	if n := len(s.pushed); n != 2 || s.pushed[n-1] != head || s.pushed[0] == head {
		t.Errorf("pushed %v; want both kept commits, the last %s", s.pushed, head)
	}
	if !s.r.told("wait green checks of the pull request, not through yet: build") ||
		!s.r.told("pull request 7: its check is green") {
		t.Errorf("nobody was told of the wait:\n%s", strings.Join(s.r.said, "\n"))
	}
}

func TestRedRemoteChecksLeadTheNextPrompt(t *testing.T) {
	s, prompts := behind(t, func(s *server) ([]RemoteCheck, error) {
		if len(s.pushed) < 3 {
			return checked("build", RemoteRed), nil
		}
		return checked("build", RemoteGreen), nil
	}, plan.Task{ID: "T-1"}, plan.Task{ID: "T-2"})
	end := s.r.run(RunOptions{Build: true})
	if end.Status != state.Complete {
		t.Fatalf("%s: %s\n%s", end.Status, end.Reason, strings.Join(s.r.said, "\n"))
	}
	if len(*prompts) != 3 {
		t.Fatalf("%d prompts; want one for each task and one for the red check", len(*prompts))
	}
	for i, p := range *prompts {
		task, _, _ := strings.Cut(p, "### T-")
		if !strings.Contains(task, "### Red checks of the pull request") || !strings.Contains(task, "undefined: parse") {
			t.Errorf("prompt %d says nothing of the red check before its task:\n%s", i+1, p)
		}
	}
	if last := end.State.Plan.Tasks[2]; last.Title != redTitle+"build" || last.Status != plan.Done {
		t.Errorf("the red check became %q, %s", last.Title, last.Status)
	}
	if end.State.Run.Remote != "" {
		t.Errorf("the next prompts still tell of it: %s", end.State.Run.Remote)
	}
}

func TestGateEndsARun(t *testing.T) {
	away := errors.New("gh pr list: connection refused")
	pending := func(*server) ([]RemoteCheck, error) { return checked("build", RemotePending), nil }
	for _, tt := range []struct {
		why    string
		set    func(s *server)
		status state.Status
		reason string
	}{
		{"no pull request is open, and none is made", func(s *server) { s.none = true }, state.HaltedStatus,
			"remote_checks: no pull request is open for this branch"},
		{"its checks do not come to an end", func(*server) {}, state.HaltedStatus,
			"remote_checks: not through yet: build"},
		{"it has none", func(s *server) { s.checks = func(*server) ([]RemoteCheck, error) { return nil, nil } },
			state.HaltedStatus, "remote_checks: no check has reported"},
		{"the service is away", func(s *server) { s.checks = func(*server) ([]RemoteCheck, error) { return nil, away } },
			state.HaltedStatus,
			"remote_checks: the checks of the pull request cannot be read: gh pr list: connection refused"},
		{"somebody else pushed there", func(s *server) { s.refuse = fmt.Errorf("notes: %w", ErrPushRefused) },
			state.HaltedStatus, "the branch there has other commits"},
		{"they stay red", func(s *server) {
			s.checks = func(*server) ([]RemoteCheck, error) { return checked("build", RemoteRed), nil }
		}, state.HaltedStatus, "remote_checks: build, after 2 tasks to mend them"},
	} {
		s, _ := behind(t, pending, plan.Task{ID: "T-1"})
		s.r.Settings.GateWait = 30 * time.Second
		tt.set(s)
		end := s.r.run(RunOptions{Build: true})
		if end.Status != tt.status || !strings.Contains(end.Reason, tt.reason) {
			t.Errorf("%s: %s, %q; want %q", tt.why, end.Status, end.Reason, tt.reason)
		}
		if s.none && len(s.pushed) > 0 {
			t.Errorf("%s: pushed %v", tt.why, s.pushed)
		}
	}
}

func TestGateLetsAPersonIn(t *testing.T) {
	for _, tt := range []struct {
		why  string
		ask  state.Event
		want state.Status
	}{
		{"stop", state.Event{Type: state.EvOperator, Operator: &state.Operator{Command: "stop", Session: 1}}, state.Stopped},
		{"more work, which is done first", state.Event{Type: state.EvPlan, Plan: &state.PlanChange{Reason: "add",
			Upsert: []plan.Task{{ID: "T-9", Title: "more", Status: plan.Pending}}}}, state.Complete},
	} {
		asked := false
		s, _ := behind(t, func(s *server) ([]RemoteCheck, error) {
			if s.looks > 5 && !asked {
				asked = true
				if _, err := s.r.Journal.Record(context.Background(), tt.ask); err != nil {
					t.Error(err)
				}
			}
			if len(s.pushed) > 1 {
				return checked("build", RemoteGreen), nil
			}
			return checked("build", RemotePending), nil
		}, plan.Task{ID: "T-1"})
		if end := s.r.run(RunOptions{Build: true}); end.Status != tt.want {
			t.Errorf("%s: %s, %s; want %s", tt.why, end.Status, end.Reason, tt.want)
		}
	}
}

// Right after a green result, more checks may still appear.
func TestGreenHasToStand(t *testing.T) {
	s, _ := behind(t, func(s *server) ([]RemoteCheck, error) {
		list := checked("build", RemoteGreen)
		if len(s.pushed) == 1 && s.looks > 3 { // it comes late, and is red
			list = append(list, RemoteCheck{Name: "late", State: RemoteRed})
		}
		return list, nil
	}, plan.Task{ID: "T-1"})
	s.r.Settings.GateSettle = 20 * time.Second
	if end := s.r.run(RunOptions{Build: true}); end.Status != state.Complete || len(end.State.Plan.Tasks) != 2 {
		t.Errorf("%s, %s, %d tasks; want the late check to become a task", end.Status, end.Reason, len(end.State.Plan.Tasks))
	}
}
