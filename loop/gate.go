package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/notes"
	"git-ralph/plan"
)

// RemoteGate is the pull request of the branch, which a person has opened. Red
// checks there lead the next prompt, and complete waits for green ones.
type RemoteGate interface {
	// Look reads the pull request that is open, and its checks; nil = none is.
	Look(ctx context.Context) (*PullRequest, error)
	// Push moves the branch of the pull request to a commit. An ErrPushRefused
	// stays one however often it is tried again.
	Push(ctx context.Context, pr PullRequest, commit object.ID) error
	// Printed are the last lines of what a red check printed, "" = not known.
	Printed(ctx context.Context, c RemoteCheck) string
}

// ErrPushRefused: the branch of the pull request has commits that ours lacks.
var ErrPushRefused = errors.New("the branch there has other commits")

// PullRequest is one that is open.
type PullRequest struct {
	Name   string // "pull request 7"
	Commit string // at which it and its checks stand, "" = not known
	Checks []RemoteCheck
}

// RemoteCheck is a check that a server has run, or will.
type RemoteCheck struct {
	Name  string
	State RemoteState
	Link  string
}

// RemoteState is the result of a RemoteCheck.
type RemoteState string

// The states. A check that was left out, or that may fail, is RemoteGreen.
const (
	RemoteGreen   RemoteState = "green"
	RemoteRed     RemoteState = "red"
	RemotePending RemoteState = "pending"
)

// remoteChecks begins the reason of a run that ended for the checks of a pull request.
const remoteChecks = "remote_checks: "

// weighRemote says what the checks of a pull request mean for a commit. No check
// at all means nothing yet: a service takes its time to say which ones there are.
func weighRemote(pr PullRequest, commit string) (verdict RemoteState, why string) {
	if pr.Commit != "" && pr.Commit != commit {
		return RemotePending, fmt.Sprintf("%s stands at %s", pr.Name, short(pr.Commit))
	}
	pending := pr.in(RemotePending)
	switch red := pr.in(RemoteRed); {
	case len(pr.Checks) == 0:
		return RemotePending, "no check has reported"
	case len(pending) > 0:
		return RemotePending, "not through yet: " + text.List(pending)
	case len(red) > 0:
		return RemoteRed, text.List(red)
	}
	if len(pr.Checks) == 1 {
		return RemoteGreen, "its check is green"
	}
	return RemoteGreen, fmt.Sprintf("all %d checks are green", len(pr.Checks))
}

// in are the names of the checks in one state.
func (pr PullRequest) in(s RemoteState) []string {
	var names []string
	for _, c := range pr.Checks {
		if c.State == s {
			names = append(names, notes.OneLine(c.Name, 100))
		}
	}
	return names
}

func short(commit string) string { return commit[:min(12, len(commit))] }

// gating is what a loop remembers of the pull request.
type gating struct {
	later time.Time // after a failed read: not read again before this time
	said  string    // what a person was told last
}

// gateRest is how long a service that does not answer is left alone between iterations.
const gateRest = 5 * time.Minute

// followGate updates the pull request between two iterations and adds its failed
// checks to the next prompt. It returns the state with them. It blocks neither the
// run nor a user's request to stop.
func (l *Loop) followGate(ctx context.Context, s state.State) (state.State, error) {
	told := s
	var failed error
	_, err := l.asks(holdsUp).during(ctx, func(ctx context.Context) { told, failed = l.updateRemote(ctx, s) })
	return told, cmp.Or(failed, err)
}

func (l *Loop) updateRemote(ctx context.Context, s state.State) (state.State, error) {
	if l.Gate == nil {
		return l.noteRemote(s, "", "")
	}
	if l.Now().Before(l.gating.later) {
		return s, nil
	}
	pr, err := l.Gate.Look(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		l.gating.later = l.Now().Add(gateRest)
		l.sayGate("the checks of the pull request cannot be read now: %v", err)
		return s, nil
	case err != nil:
		return s, nil
	case pr == nil:
		l.sayGate("no pull request is open for this branch yet: git ralph pr opens it")
		return l.noteRemote(s, "", "")
	}
	if k := s.Run.LastKeep; k != nil && k.Commit != pr.Commit {
		id, err := object.ParseID(k.Commit)
		if err != nil {
			return s, err
		}
		if err := l.Gate.Push(ctx, *pr, id); err == nil {
			l.sayGate("pushed %s to %s", short(k.Commit), pr.Name)
		} else if ctx.Err() == nil {
			l.sayGate("%s was not pushed to %s: %v", short(k.Commit), pr.Name, err)
		}
	}
	return l.tellRemote(ctx, s, *pr)
}

// sayGate reports the state of the pull request, each message once.
func (l *Loop) sayGate(format string, args ...any) {
	if said := fmt.Sprintf(format, args...); said != l.gating.said {
		l.gating.said = said
		l.emit("pull_request", state.State{}, "", nil, "%s", said)
	}
}

// tellRemote keeps what is red for the next prompts, until it is green. Checks
// that are not through yet change nothing.
func (l *Loop) tellRemote(ctx context.Context, s state.State, pr PullRequest) (state.State, error) {
	if red := pr.in(RemoteRed); len(red) > 0 {
		said := l.remoteText(ctx, s, pr)
		if ctx.Err() != nil {
			return s, nil // it may lack what the checks printed
		}
		return l.noteRemote(s, text.List(red), said)
	}
	if verdict, _ := weighRemote(pr, pr.Commit); verdict == RemoteGreen {
		return l.noteRemote(s, "", "")
	}
	return s, nil
}

// noteRemote records the failed checks of the pull request unless they are
// already recorded.
func (l *Loop) noteRemote(s state.State, red, said string) (state.State, error) {
	if s.Run.Remote == said {
		return s, nil
	}
	action := "red"
	if said == "" {
		action = "green"
	}
	if err := l.record(state.Event{Type: state.EvContext, Phase: s.Run.Phase, Context: &state.ContextNote{Kind: "remote",
		Action: action, Reason: red, Detail: said}}); err != nil {
		return s, err
	}
	return l.load()
}

// maxPrinted is for how many red checks the output is fetched.
const maxPrinted = 3

// remoteText is what the next prompts say about red checks. It is the same for the
// same checks of the same commit, so that their output is fetched once.
func (l *Loop) remoteText(ctx context.Context, s state.State, pr PullRequest) string {
	head := fmt.Sprintf("In %s, at %s, these are red:\n", pr.Name, cmp.Or(short(pr.Commit), "the newest commit there"))
	for _, c := range pr.Checks {
		if c.State == RemoteRed {
			head += strings.TrimSuffix("- "+notes.OneLine(c.Name, 100)+": "+notes.OneLine(c.Link, 300), ": ") + "\n"
		}
	}
	head = strings.TrimSpace(notes.Redact(head))
	if before, _, _ := strings.Cut(s.Run.Remote, "\n\n"); before == head {
		return s.Run.Remote
	}
	var b strings.Builder
	b.WriteString(head + "\n")
	n := 0
	for _, c := range pr.Checks {
		if c.State != RemoteRed || n == maxPrinted {
			continue
		}
		n++
		if out := strings.TrimSpace(notes.Clean(l.Gate.Printed(ctx, c))); out != "" {
			fmt.Fprintf(&b, "\n%s printed:\n\n    %s\n", notes.OneLine(c.Name, 100), strings.ReplaceAll(out, "\n", "\n    "))
		}
	}
	return strings.TrimSpace(notes.CutBytes(notes.Redact(b.String()), state.MaxRemote))
}

// passGate delays complete until the checks of the pull request pass for the proved tip.
// It waits at most pr.wait. nil means that the loop goes on: failed checks became a task,
// the user asked for something, or ctx ended.
func (l *Loop) passGate(ctx context.Context, s state.State, done Action) (*Action, error) {
	if l.Gate == nil {
		return &done, nil
	}
	_, tip, err := l.head(ctx)
	if err != nil {
		return nil, err
	}
	w := &gateWait{l: l, tip: tip, until: l.Now().Add(l.Settings.GateWait)}
	over := false
	look := func(ctx context.Context) bool { over = w.look(ctx); return over }
	asked, err := l.asks(personWaits).during(ctx, func(ctx context.Context) { look(ctx) })
	if err == nil && !asked && !over {
		err = l.waitFor(ctx, Action{Kind: Wait, Status: state.Waiting, Reason: "green checks of the pull request, " + w.why,
			Until: w.until}, look, personWaits)
	}
	switch {
	case asked || ctx.Err() != nil:
		return nil, nil
	case err != nil:
		return nil, err
	case over && w.verdict == RemoteGreen:
		l.emit("pull_request", s, "", nil, "%s: %s at %s", w.pr.Name, w.why, short(tip.String()))
		_, err := l.noteRemote(s, "", "")
		return &done, err
	case over && w.verdict == RemoteRed, !over && w.pr != nil && len(w.pr.in(RemoteRed)) > 0 && w.late():
		var halt *Action
		var failed error
		_, err := l.asks(personWaits).during(ctx, func(ctx context.Context) { halt, failed = l.redRemote(ctx, s, *w.pr) })
		return halt, cmp.Or(failed, err)
	case over || w.late():
		return &Action{Kind: Halt, Status: state.HaltedStatus, Reason: remoteChecks + w.why}, nil
	}
	return nil, nil // the user asked for something
}

// gateWait is one wait for the checks of the pull request.
type gateWait struct {
	l     *Loop
	tip   object.ID
	until time.Time

	next   time.Time // look
	pause  time.Duration
	pushed bool
	green  time.Time // since when all that have reported are green

	pr      *PullRequest
	verdict RemoteState // "" = the wait ended without a result
	why     string
}

// look reads the checks when it is time to, and says whether the wait is over.
func (w *gateWait) look(ctx context.Context) bool {
	l := w.l
	if l.Now().Before(w.next) {
		return false
	}
	w.pause = min(max(2*w.pause, time.Second), 30*time.Second)
	defer func() { w.next = l.Now().Add(w.pause) }()
	pr, err := l.Gate.Look(ctx)
	if ctx.Err() != nil {
		return false
	}
	if err != nil {
		w.verdict, w.why = RemotePending, "the checks of the pull request cannot be read: "+notes.OneLine(err.Error(), 300)
		l.sayGate("%s", w.why)
		return false
	}
	if w.pr = pr; pr == nil {
		w.verdict, w.why = "", "no pull request is open for this branch"
		return true
	}
	if !w.pushed && pr.Commit != w.tip.String() {
		switch err := l.Gate.Push(ctx, *pr, w.tip); {
		case errors.Is(err, ErrPushRefused):
			w.verdict, w.why = "", fmt.Sprintf("%s was not pushed to %s: %v", short(w.tip.String()), pr.Name, err)
			return true
		case ctx.Err() != nil:
			return false
		case err != nil:
			w.verdict, w.why = RemotePending, "the push failed: "+notes.OneLine(err.Error(), 300)
			l.sayGate("%s", w.why)
			return false
		}
		l.sayGate("pushed %s to %s", short(w.tip.String()), pr.Name)
		w.pushed = true
		if pr, err = l.Gate.Look(ctx); err != nil || pr == nil {
			w.verdict, w.why = RemotePending, "the push has not arrived"
			return false
		}
		w.pr = pr
	}
	if w.verdict, w.why = weighRemote(*pr, w.tip.String()); w.verdict == RemotePending {
		w.green = time.Time{}
		l.sayGate("%s: %s", pr.Name, w.why)
		return false
	}
	if w.verdict == RemoteRed {
		return true
	}
	// Some services report checks late: green counts once it has lasted.
	if w.green.IsZero() {
		w.green = l.Now()
	}
	return l.Now().Sub(w.green) >= l.Settings.GateSettle
}

// late says that the time of the wait is used up.
func (w *gateWait) late() bool { return !w.l.Now().Before(w.until) }

// redTitle begins the title of a task that was made of red checks.
const redTitle = "make the checks of the pull request green: "

// redRemote makes a task of red checks, and ends the run when that has been done
// as often as a validation may go back to building.
func (l *Loop) redRemote(ctx context.Context, s state.State, pr PullRequest) (*Action, error) {
	red := pr.in(RemoteRed)
	s, err := l.tellRemote(ctx, s, pr)
	if err != nil || ctx.Err() != nil {
		return nil, err
	}
	rounds := 0
	for _, t := range s.Plan.Tasks {
		if strings.HasPrefix(t.Title, redTitle) {
			rounds++
		}
	}
	if rounds >= l.Settings.Rounds {
		return &Action{Kind: Halt, Status: state.HaltedStatus, Reason: fmt.Sprintf("%s%s, after %d tasks to mend them",
			remoteChecks, text.List(red), rounds)}, nil
	}
	l.emit("pull_request", s, "", nil, "%s is red: %s; a task is made of it", pr.Name, text.List(red))
	_, err = l.Journal.Append(l.background(), func(s state.State) (state.Event, error) {
		if !s.Plan.Complete() {
			return state.Event{}, journal.ErrNothing // there is work already
		}
		t := plan.Task{ID: plan.NextID(s.Plan), Title: redTitle + text.List(red), Status: plan.Pending,
			Description: "The work is done and its checks pass on this machine, but these checks of the pull request fail. " +
				"Find out what differs there, and mend the code, not the checks."}
		return state.Event{Type: state.EvPlan, Phase: s.Run.Phase, Plan: &state.PlanChange{Reason: "pull-request",
			Upsert: []plan.Task{t}, IDs: []plan.TaskID{t.ID}}}, nil
	})
	if errors.Is(err, journal.ErrNothing) {
		err = nil
	}
	return nil, err
}

// personWaits reports whether the user asked for something that must end a wait.
func personWaits(s state.State) bool {
	return holdsUp(s) || !s.Plan.Complete() ||
		slices.ContainsFunc(s.Questions, func(q state.Question) bool { return !q.Answered })
}
