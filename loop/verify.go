package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

// Standing is what verify found out about one commit.
type Standing string

// What a commit can be.
const (
	// Proved: every check that passed when it was kept passes again.
	Proved Standing = "proved"
	// Failed: one of them does not, or could not be run.
	Failed Standing = "failed"
	// Unproved: nothing was recorded that could be run again.
	Unproved Standing = "unproved"
)

// VerifiedCommit is one kept commit.
type VerifiedCommit struct {
	Commit    string      `json:"commit"`
	Iteration int         `json:"iteration"`
	Task      plan.TaskID `json:"task,omitempty"`
	Phase     state.Phase `json:"phase"`
	Title     string      `json:"title"`
	Events    []string    `json:"events"` // several after a squash
	Standing  Standing    `json:"standing"`
	Reason    string      `json:"reason,omitempty"`
	// Checks as they ran now; WasRed names those that were kept red, which
	// prove nothing.
	Checks []state.CheckRun `json:"checks"`
	WasRed []string         `json:"was_red"`
	// WasFlaky are those that were red and then green when the commit was kept.
	WasFlaky []string `json:"was_flaky,omitempty"`
}

// Verification is the result for a range of commits.
type Verification struct {
	Branch   string           `json:"branch"`
	Range    string           `json:"range"`
	Commits  []VerifiedCommit `json:"commits"`
	Proved   int              `json:"proved"`
	Failed   int              `json:"failed"`
	Unproved int              `json:"unproved"`
	// Others are commits in the range that no iteration made.
	Others int `json:"others"`
	// Missing are kept commits that are not in the branch, when no range was
	// given.
	Missing []string `json:"missing"`

	Criteria state.CriteriaCount `json:"criteria"`
	// Claims are iterations that said they were done; FalseClaims are those of
	// them that the harness did not keep.
	Claims      int     `json:"claims"`
	FalseClaims int     `json:"false_claims"`
	FalseRate   float64 `json:"false_completion_rate"`
	Kept        int     `json:"kept"`
	Rejected    int     `json:"rejected"`

	Report *state.Report `json:"report"`
}

// OK says whether everything that could be proved was.
func (v Verification) OK() bool { return v.Failed == 0 && len(v.Missing) == 0 }

// Verify proves, offline and in throw-away checkouts, that the kept commits of
// a range pass the checks that were recorded for them. The range is git's; ""
// means the whole branch. Commits are found by their event id, so that those
// that were rebased or squashed since count as what they are now. told is
// called as each is known; it may be nil.
func (l *Loop) Verify(ctx context.Context, rng string, told func(VerifiedCommit)) (Verification, error) {
	v := Verification{Branch: l.Journal.Branch, Range: rng, Commits: []VerifiedCommit{}, Missing: []string{}}
	made, err := l.history(ctx, &v)
	if err != nil {
		return v, err
	}
	commits, err := l.commitsOf(ctx, rng)
	if err != nil {
		return v, err
	}
	seen := map[string]bool{}
	for _, c := range commits {
		var events []state.Event
		for _, id := range c.events {
			if e, ok := made[id]; ok && !seen[id] {
				seen[id] = true
				events = append(events, e)
			}
		}
		if len(events) == 0 {
			v.Others++
			continue
		}
		one, err := l.verifyCommit(ctx, c.id, events)
		if err != nil {
			return v, err
		}
		v.count(one, events)
		if told != nil {
			told(one)
		}
	}
	if rng == "" {
		for id, e := range made {
			if !seen[id] {
				v.Missing = append(v.Missing, e.Result.Commit)
			}
		}
		slices.Sort(v.Missing)
	}
	return v, nil
}

// history reads the ends of all iterations: the kept commits by their event id,
// and what is counted over all of them.
func (l *Loop) history(ctx context.Context, v *Verification) (map[string]state.Event, error) {
	snap, err := l.Journal.Load(ctx)
	if err != nil {
		return nil, err
	}
	v.Report = snap.State.Report
	made := map[string]state.Event{}
	err = l.Journal.Walk(ctx, func(e journal.Entry) (bool, error) {
		r := e.Event.Result
		if e.Event.Type != state.EvIteration || r == nil {
			return true, nil
		}
		switch r.Verdict {
		case state.Keep:
			v.Kept++
		case state.Reject:
			v.Rejected++
		}
		if r.ClaimedDone {
			if v.Claims++; r.Verdict != state.Keep {
				v.FalseClaims++
			}
		}
		if r.Commit != "" && r.Landed {
			made[e.Event.ID] = e.Event
		}
		return true, nil
	})
	if v.Claims > 0 {
		v.FalseRate = float64(v.FalseClaims) / float64(v.Claims)
	}
	return made, err
}

type rangeCommit struct {
	id     object.ID
	events []string
}

// commitsOf lists the commits of a range, oldest first, with the event ids that
// their messages carry.
func (l *Loop) commitsOf(ctx context.Context, rng string) ([]rangeCommit, error) {
	args := []string{"log", "--reverse", "--topo-order", "-z", "--format=%H%n%B", "--end-of-options"}
	if rng == "" {
		_, tip, err := l.Repo.Head(ctx)
		if err != nil || tip.IsZero() {
			return nil, err
		}
		rng = tip.String()
	}
	out, err := l.Repo.Git.Run(ctx, append(args, rng, "--")...)
	if err != nil {
		return nil, gitstate.Hint(2, "a range is written as git log takes it: main~5.., v1..v2, HEAD", "%q is no range of commits: %w", rng, err)
	}
	var list []rangeCommit
	for _, rec := range strings.Split(string(out), "\x00") {
		hash, body, ok := strings.Cut(rec, "\n")
		if !ok {
			continue
		}
		id, err := object.ParseID(strings.TrimSpace(hash))
		if err != nil {
			return nil, err
		}
		c := rangeCommit{id: id}
		// A squash leaves the trailers of the others in the middle of the text.
		for line := range strings.Lines(body) {
			if val, ok := strings.CutPrefix(strings.TrimSpace(line), "Ralph-Event-Id: "); ok {
				c.events = append(c.events, strings.TrimSpace(val))
			}
		}
		list = append(list, c)
	}
	return list, nil
}

func (v *Verification) count(one VerifiedCommit, events []state.Event) {
	v.Commits = append(v.Commits, one)
	switch one.Standing {
	case Proved:
		v.Proved++
	case Failed:
		v.Failed++
	default:
		v.Unproved++
	}
	for _, e := range events {
		if e.Result.Partial {
			continue // its task is counted when it is done
		}
		for _, m := range e.Result.Criteria {
			mark := m.Mark
			if mark == markUnjudged && v.Report != nil {
				mark = reportMark(*v.Report, m.Text)
			}
			v.Criteria.Add(mark)
		}
	}
}

// reportMark is how far the validation showed a criterion with this text.
func reportMark(r state.Report, text string) string {
	for _, sp := range r.Specs {
		for _, c := range sp.Criteria {
			if c.Text == text && c.Verdict == "pass" {
				return or(c.Mark, markJudged)
			}
		}
	}
	return markUnjudged
}

// verifyCommit runs the recorded checks of one commit on nothing but its files.
func (l *Loop) verifyCommit(ctx context.Context, commit object.ID, events []state.Event) (VerifiedCommit, error) {
	last := events[len(events)-1]
	one := VerifiedCommit{Commit: commit.String(), Iteration: last.Iteration, Task: last.Task, Phase: last.Phase,
		Title: last.Result.Title, Checks: []state.CheckRun{}, WasRed: []string{}}
	var recorded []state.CheckRun
	have := map[string]bool{}
	for _, e := range events {
		one.Events = append(one.Events, e.ID)
		for _, c := range e.Result.Checks {
			key := c.Kind + "\x00" + c.Name + "\x00" + c.Command
			switch {
			case c.Kind == "step" || c.Command == "" || c.Skipped != "" || have[key]:
			case !c.Passed:
				one.WasRed = append(one.WasRed, c.Name)
			default:
				recorded = append(recorded, c)
				if c.Flaky {
					one.WasFlaky = append(one.WasFlaky, c.Name)
				}
			}
			have[key] = true
		}
	}
	if len(recorded) == 0 {
		one.Standing, one.Reason = Unproved, "no check that passed was recorded"
		return one, nil
	}
	one.Standing = Proved
	err := l.inFresh(ctx, fresh{commit: commit}, func(req ProofRequest) error {
		var err error
		one.Checks, err = l.Prover.Replay(ctx, req, recorded)
		for _, c := range one.Checks {
			if !c.Passed {
				one.Standing, one.Reason = Failed, joined(one.Reason, c.Name+": "+passed(c))
			}
		}
		return err
	})
	var setup *setupError
	switch {
	case ctx.Err() != nil:
		return one, ctx.Err()
	case errors.As(err, &setup):
		one.Standing, one.Reason = Failed, setup.Error()
	case err != nil:
		return one, fmt.Errorf("run the checks of %s: %w", one.Commit[:12], err)
	}
	return one, nil
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
