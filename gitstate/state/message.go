package state

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"git-ralph/notes"
	"git-ralph/plan"
)

// Trailer is one line at the end of an entry's message.
type Trailer struct{ Key, Value string }

// Message is what `git log` shows of an entry: a subject for people, a body,
// and trailers. Programs read event/event.json instead.
func Message(e Event, s State) string {
	subject, body := describe(e, s)
	var b strings.Builder
	// git drops empty lines at the beginning, and with them what divides subject, body and trailers.
	b.WriteString(cmp.Or(notes.Title(subject), notes.Title(string(e.Type)), "event"))
	b.WriteString("\n\n")
	if body = notes.Narrative(body); body != "" {
		b.WriteString(body)
		b.WriteString("\n\n")
	}
	for _, t := range Trailers(e) {
		fmt.Fprintf(&b, "%s: %s\n", t.Key, notes.OneLine(t.Value, 1000))
	}
	return b.String()
}

// Trailers of an event, in the order of the message.
func Trailers(e Event) []Trailer {
	t := []Trailer{{"Ralph-Format", Format}, {"Ralph-Event", string(e.Type)}, {"Ralph-Event-Id", e.ID},
		{"Ralph-Actor", e.Actor}}
	add := func(key, value string) {
		if value != "" {
			t = append(t, Trailer{key, value})
		}
	}
	if e.Iteration > 0 {
		add("Ralph-Iteration", strconv.Itoa(e.Iteration))
		if e.Phase != Building {
			add("Ralph-Phase", string(e.Phase))
		}
	}
	add("Ralph-Task", string(e.Task))
	if e.Attempt > 0 {
		add("Ralph-Attempt", strconv.Itoa(e.Attempt))
	}
	if r := e.Result; r != nil {
		v := string(r.Verdict)
		if r.Partial {
			v += " (partial)"
		}
		add("Ralph-Verdict", v)
		add("Ralph-Reason", strings.Join(r.Reasons, "; "))
		add("Ralph-Commit", r.Commit)
		add("Ralph-Evidence", r.Evidence)
		add("Ralph-Agent", strings.TrimSpace(r.Agent+" "+r.Model))
		if r.Tokens.Total() > 0 {
			add("Ralph-Tokens", fmt.Sprintf("input=%d output=%d cache-read=%d cache-write=%d",
				r.Tokens.Input, r.Tokens.Output, r.Tokens.CacheRead, r.Tokens.CacheWrite))
		}
		if r.CostMicro != nil {
			add("Ralph-Cost-USD", Dollars(*r.CostMicro))
		}
		if r.Turns > 0 {
			add("Ralph-Turns", strconv.Itoa(r.Turns))
		}
		if r.APICalls > 0 {
			add("Ralph-Api-Calls", strconv.Itoa(r.APICalls))
		}
		add("Ralph-Duration-Ms", strconv.FormatInt(r.DurationMs, 10))
		add("Ralph-Sandbox", r.Sandbox)
	}
	if st := e.Start; st != nil {
		add("Ralph-Checkpoint", st.Checkpoint)
		add("Ralph-Tip", st.Tip)
		add("Ralph-Agent", strings.TrimSpace(st.Agent+" "+st.Model))
		add("Ralph-Sandbox", st.Sandbox)
		add("Ralph-Guidance", strings.Join(st.Guidance, " "))
	}
	if r := e.Rewind; r != nil {
		add("Ralph-Commit", r.Commit)
	}
	if b := e.Breaker; b != nil {
		add("Ralph-Breaker", b.State)
		add("Ralph-Reason", b.Reason)
	}
	if h := e.Halt; h != nil {
		add("Ralph-Status", string(h.Status))
		add("Ralph-Reason", h.Reason)
	}
	if c := e.Sess; c != nil {
		add("Ralph-Session", strconv.Itoa(e.Session))
		add("Ralph-Status", string(c.Status))
		add("Ralph-Reason", c.Reason)
	}
	for _, x := range e.Superseded {
		add("Ralph-Superseded", x.What+": "+x.Reason)
	}
	return t
}

// Dollars prints millionths of a dollar as dollars with four digits.
func Dollars(micro int64) string { return strconv.FormatFloat(float64(micro)/1e6, 'f', 4, 64) }

// BeginsAnew is in the message of the entry that redact puts in the place of a history.
const BeginsAnew = "It begins anew: something was taken out of what was recorded before."

func describe(e Event, s State) (subject, body string) {
	title := func(id plan.TaskID) string {
		if i := s.Plan.Find(id); i >= 0 {
			return strings.TrimSpace(string(id) + " " + s.Plan.Tasks[i].Title)
		}
		return string(id)
	}
	what := title(e.Task)
	if e.Task == "" {
		what = string(e.Phase)
	}
	switch e.Type {
	case EvInit:
		subject, body = "init: journal of "+s.Journal.Branch, ""
		if e.Init != nil {
			subject, body = describeInit(e.Init, subject)
		}
	case EvPhase:
		if p := e.PhaseTo; p != nil {
			subject, body = describePhase(p)
		}
	case EvPlan:
		subject, body = describePlan(e.Plan)
	case EvAmend:
		if c := e.Amend; c != nil {
			word := "refuse"
			if c.Accepted {
				word = "accept"
			}
			subject, body = fmt.Sprintf("amend: %s %s %s", word, c.Action, c.TaskID), c.Reason
		}
	case EvTask:
		if c := e.TaskSet; c != nil {
			subject, body = describeTask(c, title)
		}
	case EvStart:
		subject = fmt.Sprintf("iteration %d: start %s", e.Iteration, what)
		if e.Attempt > 1 {
			subject += fmt.Sprintf(" (attempt %d)", e.Attempt)
		}
	case EvIteration:
		if r := e.Result; r != nil {
			subject = fmt.Sprintf("iteration %d: %s %s", e.Iteration, r.Verdict, what)
			body = describeResult(r)
		}
	case EvKnowledge:
		if e.Knowledge != nil {
			subject, body = describeKnowledge(e.Knowledge)
		}
	case EvOperator:
		if o := e.Operator; o != nil {
			subject = strings.TrimSpace("operator: " + o.Command + " " + o.Key + " " + o.Value)
			body = o.Text
		}
	default:
		subject, body = describeRun(e, title)
	}
	if subject == "" {
		subject = string(e.Type)
	}
	return subject, body
}

// describeRun describes the events of a run that are no iteration.
func describeRun(e Event, title func(plan.TaskID) string) (subject, body string) {
	switch e.Type {
	case EvBreaker:
		if b := e.Breaker; b != nil {
			subject, body = "breaker: "+b.State, b.Reason
		}
	case EvHalt:
		if h := e.Halt; h != nil {
			subject, body = "halt: "+string(h.Status), strings.TrimSpace(h.Reason+"\n\n"+h.Detail)
		}
	case EvSession:
		if c := e.Sess; c != nil {
			subject, body = describeSession(c, e.Session)
		}
	case EvRewind:
		if e.Rewind != nil {
			subject, body = fmt.Sprintf("rewind: to iteration %d", e.Rewind.To), describeRewind(e.Rewind)
		}
	case EvMerge:
		if m := e.Merge; m != nil {
			subject, body = describeMerge(m)
		}
	case EvClaim:
		if c := e.Claim; c != nil {
			subject, body = "claim: "+c.Action+" "+title(e.Task), c.Reason
		}
	case EvQuestion:
		if e.Question != nil {
			subject, body = "question "+e.Question.ID, e.Question.Text
		}
	case EvContext:
		if c := e.Context; c != nil {
			subject, body = strings.TrimSpace("context: "+c.Kind+" "+c.Action), strings.TrimSpace(c.Reason+"\n\n"+c.Detail)
		}
	case EvStuck:
		if e.Stuck != nil {
			subject, body = "stuck: "+title(e.Task), e.Stuck.Reason
		}
	case EvPass:
		if e.Pass != nil {
			subject, body = "pass: "+e.Pass.Name, e.Pass.Findings
		}
	case EvBaseline:
		subject, body = "baseline", describeBaseline(e.Baseline)
	case EvReport:
		if r := e.Report; r != nil {
			subject = "report: validation " + map[bool]string{true: "passed", false: "failed"}[r.Passed]
		}
	}
	return subject, body
}

func describeInit(i *Init, plain string) (subject, body string) {
	subject = plain
	if i.Base != "" {
		body = "The branch stood at " + i.Base + "."
	}
	if i.Redacted != "" {
		body = BeginsAnew + "\nThe newest entry then was " + i.Redacted + "."
	}
	if f := i.Fork; f != nil {
		subject = fmt.Sprintf("init: fork of %s at iteration %d", f.Branch, f.Iteration)
		body = fmt.Sprintf("The journal %s goes on from %s.", i.JournalID, f.Entry)
	}
	return subject, body
}

func describePhase(p *PhaseChange) (subject, body string) {
	subject, body = fmt.Sprintf("phase: %s to %s", p.From, p.To), p.Reason
	if p.From == p.To {
		subject = "phase: " + string(p.To) + " begins"
	}
	if p.Request != "" {
		body += "\n\n" + p.Request
	}
	return subject, body
}

func describeSession(c *SessionChange, n int) (subject, body string) {
	subject = fmt.Sprintf("session %d: %s", n, c.Action)
	if c.Action == "end" {
		subject += ", " + string(c.Status)
	}
	return subject, c.Reason
}

func describeTask(c *TaskChange, title func(plan.TaskID) string) (subject, body string) {
	subject = "task: " + c.Action + " " + joinIDs(c.IDs, 5)
	if len(c.IDs) == 1 {
		subject = "task: " + c.Action + " " + title(c.IDs[0])
	}
	body = c.Reason
	if c.AllowTestChanges {
		body = "Tests may be changed."
	}
	if c.Rule != "" {
		body = strings.TrimSpace(body + "\n\nRule: " + c.Rule)
	}
	return subject, body
}

func describeKnowledge(c *KnowledgeChange) (subject, body string) {
	for _, k := range c.Add {
		body += "- " + k.ID + ": " + notes.OneLine(k.Text, 200) + "\n"
	}
	return fmt.Sprintf("knowledge: %d from %s", len(c.Add), c.Source), body
}

func describeBaseline(checks []CheckState) (body string) {
	for _, c := range checks {
		state := "green"
		if c.Red {
			state = "already red"
		}
		body += "- " + c.Name + ": " + state + "\n"
	}
	return body
}

func describeRewind(r *Rewind) string {
	numbers := func(list []int) string {
		var out []string
		for i, n := range list {
			if i == 20 {
				out = append(out, fmt.Sprintf("and %d more", len(list)-i))
				break
			}
			out = append(out, strconv.Itoa(n))
		}
		return strings.Join(out, ", ")
	}
	var b strings.Builder
	if len(r.Reverted) > 0 {
		fmt.Fprintf(&b, "Taken back: %s.\n", numbers(r.Reverted))
	}
	if len(r.NotFound) > 0 {
		fmt.Fprintf(&b, "Not in the branch any more: %s.\n", numbers(r.NotFound))
	}
	if len(r.Tasks) > 0 {
		fmt.Fprintf(&b, "To be done again: %s.\n", joinIDs(r.Tasks, 20))
	}
	return b.String()
}

func describePlan(c *PlanChange) (subject, body string) {
	if c == nil {
		return "plan", ""
	}
	subject = "plan: " + c.Reason
	if n := len(c.Upsert); n == 1 {
		subject += " " + string(c.Upsert[0].ID) + " " + c.Upsert[0].Title
	} else if n > 1 {
		subject += fmt.Sprintf(" %d tasks", n)
	}
	if n := len(c.Remove); n > 0 {
		subject += fmt.Sprintf(", %d removed", n)
	}
	if n := len(c.Aside); n > 0 {
		subject += fmt.Sprintf(", %d set aside", n)
	}
	if c.Source != "" {
		body = "From " + c.Source + ".\n\n"
	}
	for i, t := range c.Upsert {
		if i == 50 {
			body += fmt.Sprintf("… and %d more\n", len(c.Upsert)-50)
			break
		}
		body += fmt.Sprintf("- %s %s\n", t.ID, t.Title)
	}
	for _, id := range c.Aside {
		body += fmt.Sprintf("- %s is set aside: %s\n", id, c.AsideWhy)
	}
	for _, id := range c.Remove {
		body += fmt.Sprintf("- %s is gone\n", id)
	}
	return subject, body
}

func describeResult(r *Result) string {
	var b strings.Builder
	if r.Summary != "" {
		b.WriteString(r.Summary + "\n\n")
	}
	if len(r.Reasons) > 0 {
		b.WriteString("Rejected: " + strings.Join(r.Reasons, "; ") + "\n")
		if r.Detail != "" {
			b.WriteString(r.Detail + "\n")
		}
		b.WriteString("\n")
	}
	if r.Handoff != nil && r.Handoff.Freeform != "" && r.Handoff.Freeform != r.Summary {
		b.WriteString(notes.CutBytes(r.Handoff.Freeform, 4000) + "\n\n")
	}
	for _, c := range r.Checks {
		mark := "passed"
		switch {
		case c.Skipped != "":
			mark = "skipped, " + c.Skipped
		case c.Passed && c.Flaky:
			mark = "passed, flaky"
		case c.AlreadyRed:
			mark = "already red"
		case c.Tolerated:
			mark = "failed, and may"
		case c.TimedOut:
			mark = "timeout"
		case c.Limit != "":
			mark = "failed, limit: " + c.Limit
		case c.NoTests:
			mark = "failed, no test ran"
		case !c.Passed:
			mark = fmt.Sprintf("failed with %d", c.ExitCode)
		}
		name := c.Name
		if c.Kind == "step" {
			name = "step " + name
		}
		fmt.Fprintf(&b, "- %s: %s\n", name, mark)
	}
	for _, n := range r.Notices {
		b.WriteString("- " + n + "\n")
	}
	return b.String()
}

func joinIDs(ids []plan.TaskID, most int) string {
	var out []string
	for i, id := range ids {
		if i == most {
			out = append(out, fmt.Sprintf("and %d more", len(ids)-most))
			break
		}
		out = append(out, string(id))
	}
	return strings.Join(out, " ")
}

// Note is the text of the note on the commit that an iteration kept: its record, and
// those trailers that the record does not say.
func Note(e Event) string {
	var rec notes.Record
	if e.Result.Handoff != nil {
		rec = *e.Result.Handoff
	}
	var facts []notes.Fact
	for _, t := range Trailers(e) {
		switch t.Key {
		case "Ralph-Format", "Ralph-Event", "Ralph-Actor", "Ralph-Commit", "Ralph-Event-Id", "Ralph-Iteration", "Ralph-Task",
			"Ralph-Verdict":
			// The record says those, or they are of no use to a reader.
		default:
			facts = append(facts, notes.Fact{Key: t.Key, Value: t.Value})
		}
	}
	return notes.NoteText(rec, facts...)
}
