package exchange

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"git-ralph/internal/text"
	"git-ralph/plan"
	"git-ralph/plan/located"
)

// stateTable holds other names for states; blanks, "-" and "_" do not count.
// "review" and "cancelled" are not states of our tasks.
var stateTable = map[string]string{
	string(plan.Pending): "pending, todo, open, opened, ready, backlog, not started, not done, new, planned, queued, " +
		"to be done, none, false, no, incomplete, draft, proposed, approved, accepted, triage, unstarted, " +
		"created, reopened, waiting, scheduled, ideas, selected for development, ready for development, " +
		"ready for dev, ready to start, next, up next, later, now, unresolved, needs work, on hold, " +
		"paused, parked, partial, partially done, partly done, failing, not implemented, offen, " +
		"ausstehend, geplant, à faire, en attente, pendiente, por hacer, pendente, a fazer, da fare, te " +
		"doen, 待办, 待处理, 未开始, 未着手, 未完了, 할 일, 할일, не начато, к выполнению, запланировано",
	string(plan.InProgress): "in progress, inprogress, doing, started, active, ongoing, wip, work in progress, in work, " +
		"in development, in dev, developing, underway, working, current, running, claimed, assigned, " +
		"executing, indeterminate, in arbeit, en cours, en progreso, en curso, em andamento, in corso, " +
		"进行中, 進行中, 진행 중, 진행중, в работе",
	"review": "review, in review, code review, needs review, ready for review, to verify, verifying, qa, in qa, " +
		"testing, in test, in testing, ready for qa, ready for test, ready for testing",
	string(plan.Done): "done, true, yes, complete, completed, closed, finished, resolved, merged, implemented, shipped, " +
		"released, deployed, verified, passed, passing, passes, success, succeeded, live, fixed, " +
		"archived, erledigt, fertig, abgeschlossen, terminé, fait, hecho, completado, terminado, feito, " +
		"concluído, fatto, completato, klaar, gereed, 完成, 已完成, 完了, 완료, готово, выполнено, завершено",
	string(plan.Failed):  "failed, error, errored",
	string(plan.Blocked): "blocked, blockiert, stuck, impeded, bloqueado, bloqué, 阻塞",
	string(plan.Skipped): "skipped",
	"cancelled": "deferred, cancelled, canceled, wontfix, won't fix, wont do, won't do, dropped, obsolete, " +
		"duplicate, rejected, abandoned, superseded, declined, invalid, not planned, removed, cancelado, " +
		"annulé, abgebrochen, 已取消, отменено",
}

// stateWords is the state behind each word.
var stateWords = sync.OnceValue(func() map[string]string {
	out := map[string]string{"": string(plan.Pending)}
	for state, words := range stateTable {
		for word := range strings.SplitSeq(words, ", ") {
			out[text.Key(word)] = state
		}
	}
	return out
})

// statusWord reads what a person writes behind "Status": the mark or the first
// words decide.
func statusWord(s string) (plan.Status, bool) {
	done, known, rest := marked(strings.Trim(s, "*`_ "))
	if done {
		return plan.Done, true
	}
	words := strings.FieldsFunc(strings.ToLower(rest), func(c rune) bool {
		return strings.ContainsRune(" *`_-.,:;()[]–—/", c)
	})
	for n := min(len(words), 4); n > 0; n-- {
		switch state, ok := stateWords()[strings.Join(words[:n], "")]; {
		case ok && state == "cancelled":
			return plan.Skipped, true
		case ok && (state == "review" || state == string(plan.InProgress)), ok && inPart(state, words[:n], words[n:]):
			return plan.Pending, true
		case ok:
			return plan.Status(state), true
		}
	}
	return plan.Pending, known
}

// partWords are those behind "done" that say what is still missing, and plainWords those
// behind "complete" that leave it a state: "complete the form" is none.
var (
	partWords = strings.Fields("except but partially partly mostly almost when if once until unless without needs need " +
		"not no pending todo untested minus only half")
	plainWords = strings.Fields("on in at since with via and see as")
)

// inPart reports whether the words behind a state take it back: "done, but untested".
func inPart(state string, said, rest []string) bool {
	if state != string(plan.Done) || len(rest) == 0 {
		return false
	}
	if slices.ContainsFunc(rest, func(w string) bool { return slices.Contains(partWords, w) }) {
		return true
	}
	return slices.Equal(said, []string{"complete"}) && !slices.Contains(plainWords, rest[0]) &&
		strings.ToLower(rest[0]) != strings.ToUpper(rest[0])
}

// saysDone reports whether a text begins with a word for it.
func saysDone(s string) bool {
	word, _, _ := strings.Cut(strings.ToLower(strings.Trim(s, "*`_ ")), " ")
	return stateWords()[strings.Trim(word, ",.;:(-")] == string(plan.Done)
}

// tracker reports whether the file is a tracker's export, whose states and
// links refer to more than the file has.
func (im *importer) tracker() bool {
	return im.format == FormatIssues || im.syntax == syntaxCSV || im.syntax == syntaxXML
}

// unknownStates says which words for a state were not known, each once.
func (im *importer) unknownStates() {
	for _, u := range im.unknown.list {
		var names []string
		for _, t := range u.Tasks {
			names = append(names, string(t))
		}
		if more := len(names) - 8; more > 0 {
			names = append(names[:8], fmt.Sprintf("%d more", more))
		}
		im.Warn(0, "", "the status %q is not known, so what has it is pending: %s", u.Field, strings.Join(names, ", "))
	}
}

// status reads the word for a state. In our own list an unknown word is an
// error. Other tools have custom states: such a task is pending, and reported.
func (r *taskReader) status(n located.Node) {
	category := located.Node{}
	if o, ok := n.Value.(*located.Object); ok {
		if c, ok := o.Fields["statusCategory"].Value.(*located.Object); ok {
			category = c.Fields["key"]
		}
	}
	n = nameOf(n)
	s, ok := n.Value.(string)
	if _, known := stateWords()[text.Key(s)]; !known && category.Value != nil {
		s, _ = category.Value.(string) // the category of a custom state
	}
	if done, flag := n.Value.(bool); flag {
		s, ok = map[bool]string{true: "done", false: "pending"}[done], true
	}
	if !ok {
		r.wrong(n, r.name, "status", "a text")
		return
	}
	word, known := stateWords()[text.Key(s)]
	switch {
	case known && word == "review":
		r.t.Status = plan.Pending
		r.Warn(n.Line, r.t.ID, "%s was in review and is pending now", r.name)
	case known && word == "cancelled":
		r.t.Status = plan.Skipped
		r.t.BlockedBy = append(r.t.BlockedBy, text.Key(s))
	case known:
		r.t.Status = plan.Status(word)
	case r.format != FormatJSON:
		r.unknown.add(text.Clip(s, 40), "", plan.TaskID(r.name))
	default:
		r.Bad(n.Line, r.t.ID, "write one of "+plan.StatusNames, "%s has the status %q, which is not known", r.name,
			text.Clip(s, 40))
	}
}

// finished reads a flag, or the word or the time that stands for one.
func (r *taskReader) finished(n located.Node, key string) bool {
	switch v := n.Value.(type) {
	case string:
		if word, known := stateWords()[text.Key(v)]; known {
			return word == string(plan.Done)
		}
		if _, ok := moment(v); ok {
			return true
		}
		switch text.Key(v) {
		case "true", "yes", "y", "x", "1", "✓", "✔", "✅":
			return true
		case "false", "no", "n", "0":
			return false
		}
	case located.Number:
		return v == "1"
	}
	return r.flag(n, key)
}

// priorityWord reads the words of task-master and of issue labels.
func priorityWord(s string) (int, bool) {
	s = text.Key(strings.Trim(s, " .()[]*`"))
	if rest, ok := strings.CutPrefix(s, "priority"); ok {
		s = rest
	}
	for p, words := range [][]string{
		{"critical", "urgent", "highest", "p0", "blocker", "immediate", "showstopper", "🔴", "kritisch"},
		{"high", "p1", "must", "musthave", "major", "important", "hoch", "alta", "haute", "élevée", "高"},
		{"medium", "normal", "p2", "should", "shouldhave", "moderate", "mid", "med", "average", "🟡", "mittel", "media",
			"moyenne", "中"},
		{"low", "p3", "could", "couldhave", "minor", "nicetohave", "🟢", "niedrig", "baja", "baixa", "basse", "低"},
		{"lowest", "p4", "trivial", "wont", "wonthave", "someday", "none", "nopriority"},
	} {
		if slices.Contains(words, s) {
			return p, true
		}
	}
	return 0, false
}

func (r *taskReader) priority(n located.Node) {
	n = nameOf(n)
	if s, ok := n.Value.(string); ok {
		if p, ok := priorityWord(s); ok {
			r.t.Priority = p
			return
		}
		if _, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err != nil {
			r.lost.add("priority", "the word is not known: "+text.Clip(s, 40), r.t.ID)
			return
		}
	}
	if num, ok := n.Value.(located.Number); ok && r.fraction(num) {
		return
	}
	if v, ok := r.count(n, "priority"); ok {
		r.t.Priority = v
	}
}
