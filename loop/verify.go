package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/proc"
	"git-ralph/loop/refusal"
	"git-ralph/plan"
)

// VerifyResult is what verify found out about one commit.
type VerifyResult string

// What a commit can be.
const (
	// Proved: everything that it demands is green.
	Proved VerifyResult = "proved"
	// Failed: something of it is not, or could not be run.
	Failed VerifyResult = "failed"
	// Unproved: it demands nothing that could be run, or the record is not what
	// settings and plan demand.
	Unproved VerifyResult = "unproved"
)

// VerifiedCommit is one kept commit, or one of a person that none follows.
type VerifiedCommit struct {
	Commit    string       `json:"commit"`
	Iteration int          `json:"iteration"`
	Task      plan.TaskID  `json:"task,omitempty"`
	Phase     state.Phase  `json:"phase"`
	Title     string       `json:"title"`
	Events    []string     `json:"events"` // several after a squash
	Result    VerifyResult `json:"standing"`
	Reason    string       `json:"reason,omitempty"`
	// Person: no iteration made it, and the present checks were run.
	Person bool `json:"person,omitempty"`
	// Checks as they ran now; WasRed names those that were kept red and are red
	// still, which prove nothing.
	Checks []state.CheckRun `json:"checks"`
	WasRed []string         `json:"was_red"`
	// Notes say what is odd about the record and does no harm.
	Notes []string `json:"notes,omitempty"`
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
	// Others are commits in the range that no iteration made. Those in the middle
	// are covered by the checks of the commits after them, as are the Covered:
	// kept commits of phases without checks.
	Others  int `json:"others"`
	Covered int `json:"covered"`
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

	redacted bool // the journal began anew, without the iterations before
}

// OK says whether everything was proved. Nothing at all is not everything.
func (v Verification) OK() bool {
	return len(v.Commits) > 0 && v.Failed == 0 && v.Unproved == 0 && len(v.Missing) == 0
}

// Verify proves, offline and in throw-away checkouts, that the commits of a
// range pass what they demand. The range is git's; "" means the whole branch.
// Commits are found by their event id, so that those
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
		var entries []journal.Entry
		for _, id := range c.events {
			if e, ok := made[id]; ok && !seen[id] {
				seen[id] = true
				entries = append(entries, e)
			}
		}
		var one VerifiedCommit
		switch {
		case len(entries) > 0 && !unchecked(entries):
			one, err = l.verifyCommit(ctx, c, entries)
		case c.head:
			one, err = l.verifyPerson(ctx, c)
		}
		if err != nil {
			return v, err
		}
		if len(entries) == 0 {
			v.Others++
		} else if one.Commit == "" {
			v.Covered++
		}
		if one.Commit == "" {
			continue
		}
		v.count(one, entries)
		if told != nil {
			told(one)
		}
	}
	if rng == "" {
		for id, e := range made {
			if !seen[id] {
				v.Missing = append(v.Missing, e.Event.Result.Commit)
			}
		}
		slices.Sort(v.Missing)
	}
	return v, nil
}

// history reads the ends of all iterations: the kept commits by their event id,
// and what is counted over all of them.
func (l *Loop) history(ctx context.Context, v *Verification) (map[string]journal.Entry, error) {
	snap, err := l.Journal.Load(ctx)
	if err != nil {
		return nil, err
	}
	v.Report = snap.State.Report
	made := map[string]journal.Entry{}
	err = l.Journal.Walk(ctx, func(e journal.Entry) (bool, error) {
		r := e.Event.Result
		if i := e.Event.Init; i != nil && i.Redacted != "" {
			v.redacted = true
		}
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
			made[e.Event.ID] = e
		}
		return true, nil
	})
	if v.Claims > 0 {
		v.FalseRate = float64(v.FalseClaims) / float64(v.Claims)
	}
	return made, err
}

type rangeCommit struct {
	id      object.ID
	parents []object.ID
	title   string
	events  []string
	tasks   []plan.TaskID
	head    bool // no other commit of the range follows
}

// commitsOf lists the commits of a range, oldest first, with the event ids and tasks
// that their messages carry.
func (l *Loop) commitsOf(ctx context.Context, rng string) ([]rangeCommit, error) {
	args := []string{"log", "--reverse", "--topo-order", "-z", "--format=%H %P%n%B", "--end-of-options"}
	if rng == "" {
		_, tip, err := l.Repo.Head(ctx)
		if err != nil || tip.IsZero() {
			return nil, err
		}
		rng = tip.String()
	}
	out, err := l.Repo.Git.Run(ctx, append(args, rng, "--")...)
	if err != nil {
		if said := new(proc.GitError); errors.As(err, &said) && strings.Contains(said.Stderr, "revision") {
			return nil, refusal.New(refusal.NoRange, "%q is no range of commits", rng)
		}
		return nil, fmt.Errorf("list the commits of %s: %w", rng, err)
	}
	var list []rangeCommit
	for _, rec := range strings.Split(string(out), "\x00") {
		hash, body, ok := strings.Cut(rec, "\n")
		if !ok {
			continue
		}
		var ids []object.ID
		for _, word := range strings.Fields(hash) {
			id, err := object.ParseID(word)
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
		c := rangeCommit{id: ids[0], parents: ids[1:], head: true}
		c.title, _, _ = strings.Cut(strings.TrimSpace(body), "\n")
		// A squash leaves the trailers of the others in the middle of the text.
		for line := range strings.Lines(body) {
			if val, ok := strings.CutPrefix(strings.TrimSpace(line), "Ralph-Event-Id: "); ok {
				c.events = append(c.events, strings.TrimSpace(val))
			}
			if val, ok := strings.CutPrefix(strings.TrimSpace(line), "Ralph-Task: "); ok {
				c.tasks = append(c.tasks, plan.TaskID(strings.TrimSpace(val)))
			}
		}
		list = append(list, c)
	}
	at := map[object.ID]int{}
	for i, c := range list {
		at[c.id] = i
	}
	for _, c := range list {
		for _, p := range c.parents {
			if i, ok := at[p]; ok {
				list[i].head = false
			}
		}
	}
	return list, nil
}

func (v *Verification) count(one VerifiedCommit, entries []journal.Entry) {
	v.Commits = append(v.Commits, one)
	switch one.Result {
	case Proved:
		if !one.Person {
			v.Proved++
		}
	case Failed:
		v.Failed++
	default:
		v.Unproved++
	}
	for _, e := range entries {
		if e.Event.Result.Partial {
			continue // its task is counted when it is done
		}
		for _, m := range e.Event.Result.Criteria {
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
				return cmp.Or(c.Mark, markJudged)
			}
		}
	}
	return markUnjudged
}
