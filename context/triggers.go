package agentctx

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"git-ralph/gitstate/state"
	"git-ralph/notes"
	"git-ralph/plan"
)

// TriggerOptions are the settings under [index]. Interval and Bytes of 0 are
// no trigger; so is a Novelty of 0.
type TriggerOptions struct {
	Interval int     // iterations since the last run
	Bytes    int     // of handoffs not indexed
	Novelty  float64 // overlap of terms below which the task counts as new
	Recent   int     // handoffs that novelty looks at
}

// IndexTrigger reports whether the indexer runs before an iteration on the task,
// and why. The first match wins: the task needs documentation, its terms are
// new, too much is not indexed, it has been too long.
func IndexTrigger(s state.State, id plan.TaskID, opt TriggerOptions) (reason string, fire bool) {
	t := findTask(s.Plan, id)
	if t != nil && len(t.Libraries) > 0 {
		return "the task names libraries: " + strings.Join(t.Libraries, ", "), true
	}
	if t != nil && t.NeedsDocs {
		return "the task needs documentation", true
	}
	if recent := lastHandoffs(s, opt.Recent); t != nil && len(recent) > 0 && opt.Novelty > 0 {
		if share, ok := overlap(*t, recent); ok && share < opt.Novelty {
			return fmt.Sprintf("the task is new: %.2f of its terms are in the last %s", share,
				count(len(recent), "handoff")), true
		}
	}
	if n := s.Run.Index.Bytes; opt.Bytes > 0 && n > opt.Bytes {
		return fmt.Sprintf("%d bytes of handoffs are not indexed, more than %d", n, opt.Bytes), true
	}
	if n := s.Run.Index.Since; opt.Interval > 0 && n >= opt.Interval {
		return fmt.Sprintf("%s since the last time", count(n, "iteration")), true
	}
	return "", false
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func lastHandoffs(s state.State, n int) []notes.Record {
	recent := s.Recent
	if len(recent) == 0 && s.Handoff != nil {
		recent = []notes.Record{*s.Handoff}
	}
	return recent[max(0, len(recent)-n):]
}

// overlap is the share of the task's terms that occur in the handoffs; false
// when the task has no terms to compare.
func overlap(t plan.Task, handoffs []notes.Record) (float64, bool) {
	task := map[string]bool{}
	addTerms(task, t.Title, t.Description)
	addTerms(task, t.Criteria...)
	addTerms(task, t.Libraries...)
	if len(task) == 0 {
		return 0, false
	}
	seen := map[string]bool{}
	for _, rec := range handoffs {
		addTerms(seen, rec.Summary, rec.Freeform, rec.TaskCompleted.Summary)
		addTerms(seen, rec.ArchitecturalNotes...)
		addTerms(seen, rec.Recommendations...)
		for _, c := range rec.ConstraintsDiscovered {
			addTerms(seen, c.Constraint, c.Impact)
		}
		for _, u := range rec.UnfinishedBusiness {
			addTerms(seen, u.Item)
		}
		for _, f := range rec.FilesTouched {
			addTerms(seen, f.Path)
		}
	}
	both := 0
	for term := range task {
		if seen[term] {
			both++
		}
	}
	return float64(both) / float64(len(task)), true
}

// addTerms puts the lower case words of more than two characters into terms.
func addTerms(terms map[string]bool, texts ...string) {
	for _, s := range texts {
		for _, w := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			if len([]rune(w)) > 2 {
				terms[strings.ToLower(w)] = true
			}
		}
	}
}

// Trigger says when a pass runs: always, on_success, on_failure, periodic:N.
type Trigger struct {
	kind  string
	every int
}

// ParseTrigger reads a trigger.
func ParseTrigger(s string) (Trigger, error) {
	switch s {
	case "always", "on_success", "on_failure":
		return Trigger{kind: s}, nil
	}
	if rest, ok := strings.CutPrefix(s, "periodic:"); ok {
		if n, err := strconv.Atoi(rest); err == nil && n > 0 {
			return Trigger{kind: "periodic", every: n}, nil
		}
	}
	return Trigger{}, fmt.Errorf("unknown trigger %q: it must be always, on_success, on_failure or periodic:N", s)
}

// Fires reports whether the pass runs after an iteration that was kept or not.
func (t Trigger) Fires(kept bool, iteration int) bool {
	switch t.kind {
	case "always":
		return true
	case "on_success":
		return kept
	case "on_failure":
		return !kept
	case "periodic":
		return iteration%t.every == 0
	}
	return false
}
