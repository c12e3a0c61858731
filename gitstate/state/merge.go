package state

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"git-ralph/notes"
	"git-ralph/plan"
)

// Merge joins two lines of one journal. Its entry has two parents, the remote's
// tip first. What the remote has accepted keeps its effect. Events that only
// the other line has are applied again on top.
type Merge struct {
	Theirs string `json:"theirs"` // the first parent
	Ours   string `json:"ours"`
	// Events are the outcomes of our events, oldest first.
	Events []Merged `json:"events"`
	// CodeOfTheirs reports whether work was kept in theirs since the lines parted:
	// then the newest kept commit stays theirs.
	CodeOfTheirs bool `json:"code_of_theirs,omitempty"`
	// Again are the events that are applied again, as they fit: payload files
	// event/merged/<number>/, which share their blobs with our entries.
	Again []Event `json:"-"`
}

// Merged is the outcome of one event.
type Merged struct {
	ID      string    `json:"id"`
	Type    EventType `json:"type"`
	Outcome string    `json:"outcome"` // applied, partly, superseded, known (theirs has it already)
	Reason  string    `json:"reason,omitempty"`
	// Renamed are ids made by the harness that theirs had given to something else.
	Renamed map[string]string `json:"renamed,omitempty"`
}

// Lines are two lines of one journal that have parted.
type Lines struct {
	Theirs, Ours string // the tips
	State        State  // of theirs
	Base         State  // the newest state that both lines share
	Events       []Event
	// Known are ids of events that theirs has applied since then. Renamed are
	// its new names of our ids.
	Known   map[string]bool
	Renamed map[string]string
	Time    time.Time // of the newer tip
}

// Join makes the merge of two lines. It reads nothing but its argument, so that
// the same two tips become the same entry on every machine.
func Join(l Lines) Merge {
	m := Merge{Theirs: l.Theirs, Ours: l.Ours, Events: []Merged{},
		CodeOfTheirs: !reflect.DeepEqual(l.Base.Run.LastKeep, l.State.Run.LastKeep)}
	f := fitter{names: names{}, ours: l.Base, now: l.State}
	for from, to := range l.Renamed {
		f.names[from] = to
	}
	seen := map[string]bool{}
	for _, e := range l.Events {
		e.Superseded = nil
		before := f.ours
		f.ours, _ = Apply(f.ours, e)
		if l.Known[e.ID] || seen[e.ID] {
			m.Events = append(m.Events, Merged{ID: e.ID, Type: e.Type, Outcome: "known"})
			continue
		}
		seen[e.ID] = true
		again, left, renamed := f.fit(before, e)
		next, dropped := apply(f.now, again, &m)
		f.now = next
		r := Merged{ID: e.ID, Type: e.Type, Outcome: "applied", Renamed: renamed}
		for _, d := range append(left, dropped...) {
			r.Outcome, r.Reason = "partly", strings.TrimPrefix(r.Reason+"; "+d.What+": "+d.Reason, "; ")
		}
		if len(dropped) > 0 && whole(again, dropped[0]) || again.Plan != nil && len(left) > 0 && again.Plan.empty() {
			r.Outcome = "superseded"
		}
		r.Reason = notes.CutBytes(r.Reason, 2000)
		m.Events, m.Again = append(m.Events, r), append(m.Again, again)
	}
	return m
}

// whole says whether an event of which a part was superseded has no other effect.
func whole(e Event, first Superseded) bool {
	switch e.Type {
	case EvIteration:
		return first.What == string(e.Task) // it has lost its task
	case EvClaim, EvStart, EvQuestion, EvOperator, EvKnowledge:
		return true
	case EvTask:
		return e.TaskSet != nil && len(e.TaskSet.IDs) == 1
	case EvAmend:
		return true
	}
	return false
}

func (c *PlanChange) empty() bool {
	return len(c.Upsert)+len(c.Remove)+len(c.Aside)+len(c.Retired) == 0 && c.Goal == nil
}

// merge applies the events of a merge one after the other.
func (a *applier) merge() {
	m := a.e.Merge
	if m == nil {
		a.drop("merge", "no content")
		return
	}
	for _, e := range m.Again {
		next, dropped := apply(a.s, e, m)
		a.s = next
		for _, d := range dropped {
			a.drop(e.ID+" "+d.What, d.Reason)
		}
	}
	a.s.Run.LastAt = a.e.Time
}

// names maps our ids to those that they have in the merge. A key is the kind
// of the id and the id in lower case: "task t-005".
type names map[string]string

const (
	taskName      = "task "
	questionName  = "question "
	knowledgeName = "knowledge "
)

func (n names) of(kind, id string) string {
	if to, ok := n[kind+strings.ToLower(id)]; ok {
		return to
	}
	return id
}

func (n names) set(kind, id, to string) { n[kind+strings.ToLower(id)] = to }

func (n names) task(id plan.TaskID) plan.TaskID { return plan.TaskID(n.of(taskName, string(id))) }

func (n names) tasks(ids []plan.TaskID) []plan.TaskID {
	if len(n) == 0 || ids == nil {
		return ids
	}
	out := make([]plan.TaskID, len(ids))
	for i, id := range ids {
		out[i] = n.task(id)
	}
	return out
}

// inMerge is one of our tasks with the ids of the merge.
func (n names) inMerge(t plan.Task) plan.Task {
	t.ID, t.DependsOn = n.task(t.ID), n.tasks(t.DependsOn)
	return t
}

// fitter makes our events fit what theirs has become.
type fitter struct {
	names names
	ours  State // with the event applied
	now   State // the merge so far
}

// fit returns one of our events as it is applied to the merge: before is the state
// that it was written for. What cannot be applied is left out and named.
func (f *fitter) fit(before State, e Event) (again Event, left []Superseded, renamed map[string]string) {
	had := len(f.names)
	note := func(id, reason string) { left = append(left, Superseded{id, reason}) }
	was := map[string]bool{}
	for k := range f.names {
		was[k] = true
	}
	if e.Plan != nil {
		e.Plan = f.plan(before, e.Plan, note)
	}
	if e.Result != nil {
		r := *e.Result
		if r.Plan != nil {
			r.Plan = f.plan(before, r.Plan, note)
		}
		r.Learned = f.knowledge(before, r.Learned)
		if r.Handoff != nil {
			h := *r.Handoff
			h.TaskCompleted.TaskID = f.names.of(taskName, h.TaskCompleted.TaskID)
			h.Origin.Task = f.names.of(taskName, h.Origin.Task)
			r.Handoff = &h
		}
		e.Result = &r
	}
	if e.Amend != nil {
		c := *e.Amend
		if c.Task != nil && c.Accepted {
			c.Task = f.amended(before, &c)
		}
		c.TaskID, c.After = f.names.task(c.TaskID), f.names.task(c.After)
		e.Amend = &c
	}
	if e.Knowledge != nil {
		k := *e.Knowledge
		k.Add = f.knowledge(before, k.Add)
		e.Knowledge = &k
	}
	if q := e.Question; q != nil {
		c := *q
		if taken := func(s State, id string) bool {
			same := func(x Question) bool { return strings.EqualFold(x.ID, id) }
			return slices.ContainsFunc(s.Questions, same)
		}; taken(f.now, c.ID) && !taken(before, c.ID) {
			n := 1
			for taken(f.now, fmt.Sprintf("Q%d", n)) || taken(f.ours, fmt.Sprintf("Q%d", n)) {
				n++
			}
			f.names.set(questionName, c.ID, fmt.Sprintf("Q%d", n))
		}
		c.ID, c.Tasks = f.names.of(questionName, c.ID), f.names.tasks(c.Tasks)
		e.Question = &c
	}
	if len(f.names) > 0 {
		e.Task = f.names.task(e.Task)
		if c := e.TaskSet; c != nil {
			t := *c
			t.IDs = f.names.tasks(t.IDs)
			e.TaskSet = &t
		}
		if o := e.Operator; o != nil {
			c := *o
			c.ID, c.Tasks = f.names.of(questionName, c.ID), f.names.tasks(c.Tasks)
			e.Operator = &c
		}
		if r := e.Rewind; r != nil {
			c := *r
			c.Tasks = f.names.tasks(c.Tasks)
			e.Rewind = &c
		}
	}
	if len(f.names) > had {
		renamed = map[string]string{}
		for from, to := range f.names {
			if !was[from] {
				renamed[from] = to
			}
		}
	}
	return e, left, renamed
}

// plan fits a change of the plan. Our new task gets another id if theirs uses that
// id for another task. Of a changed task, only the fields that we changed are
// taken.
func (f *fitter) plan(before State, c *PlanChange, note func(id, reason string)) *PlanChange {
	p := *c
	p.Upsert = nil
	for _, t := range c.Upsert {
		i, known := f.now.Plan.Find(f.names.task(t.ID)), before.Plan.Find(t.ID)
		switch {
		case known < 0 && (i >= 0 || f.used(t.ID)):
			if i >= 0 && sameTask(f.now.Plan.Tasks[i], t) {
				continue // both read the same plan
			}
			if _, made := plan.Number(t.ID); !made || c.Reason == "import" || c.Reason == "edit" {
				note(string(t.ID), "the id was taken meanwhile")
				continue
			}
			f.rename(t.ID)
		case known >= 0 && i < 0:
			note(string(t.ID), "not in the plan any more")
			continue
		}
		p.Upsert = append(p.Upsert, t)
	}
	for i, t := range p.Upsert { // with the names of them all
		p.Upsert[i] = f.names.inMerge(t)
		known, at := before.Plan.Find(t.ID), f.now.Plan.Find(p.Upsert[i].ID)
		if known >= 0 && at >= 0 {
			p.Upsert[i] = mergeTask(f.names.inMerge(before.Plan.Tasks[known]), p.Upsert[i], f.now.Plan.Tasks[at])
		}
	}
	p.IDs = nil
	p.Remove, p.Order = f.names.tasks(c.Remove), f.names.tasks(c.Order)
	p.Aside, p.Retired = f.names.tasks(c.Aside), f.names.tasks(c.Retired)
	return &p
}

// amended fits the task of an amendment that was accepted.
func (f *fitter) amended(before State, c *AmendChange) *plan.Task {
	t := *c.Task
	known, i := before.Plan.Find(t.ID), f.now.Plan.Find(f.names.task(t.ID))
	if _, made := plan.Number(t.ID); known < 0 && made && (i >= 0 || f.used(t.ID)) {
		f.rename(t.ID)
	}
	t = f.names.inMerge(t)
	if known >= 0 && i >= 0 {
		t = mergeTask(f.names.inMerge(before.Plan.Tasks[known]), t, f.now.Plan.Tasks[i])
	}
	return &t
}

func (f *fitter) used(id plan.TaskID) bool {
	return slices.ContainsFunc(f.now.Plan.Used(), func(x plan.TaskID) bool { return plan.Fold(x) == plan.Fold(id) })
}

// rename gives one of our tasks a number that neither line has used.
func (f *fitter) rename(id plan.TaskID) {
	both := plan.Plan{Retired: slices.Concat(f.now.Plan.Used(), f.ours.Plan.Used())}
	for key, to := range f.names {
		if strings.HasPrefix(key, taskName) {
			both.Retired = append(both.Retired, plan.TaskID(to))
		}
	}
	f.names.set(taskName, string(id), string(plan.NextID(both)))
}

// sameTask says whether two tasks ask for the same, wherever they stand.
func sameTask(a, b plan.Task) bool {
	return a.ID == b.ID && a.Title == b.Title && a.Description == b.Description &&
		slices.Equal(a.DependsOn, b.DependsOn) && slices.Equal(a.Verify, b.Verify) && slices.Equal(a.Criteria, b.Criteria)
}

// mergeTask is now with the fields that differ between from and to.
func mergeTask(from, to, now plan.Task) plan.Task {
	a, b, out := reflect.ValueOf(from), reflect.ValueOf(to), reflect.ValueOf(&now).Elem()
	for i := range a.NumField() {
		if !reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			out.Field(i).Set(b.Field(i))
		}
	}
	return now
}

// knowledge fits our new entries.
func (f *fitter) knowledge(before State, add []notes.Knowledge) []notes.Knowledge {
	if len(add) == 0 {
		return add
	}
	find := func(list []notes.Knowledge, id string) int {
		return slices.IndexFunc(list, func(k notes.Knowledge) bool { return strings.EqualFold(k.ID, id) })
	}
	var out []notes.Knowledge
	for _, k := range add {
		if i := find(f.now.Knowledge, f.names.of(knowledgeName, k.ID)); i >= 0 && find(before.Knowledge, k.ID) < 0 {
			if f.now.Knowledge[i].Text == k.Text {
				continue
			}
			n := 2
			id := func() string { return fmt.Sprintf("%s-%d", k.ID, n) }
			for find(f.now.Knowledge, id()) >= 0 || find(f.ours.Knowledge, id()) >= 0 {
				n++
			}
			f.names.set(knowledgeName, k.ID, id())
		}
		k.ID = f.names.of(knowledgeName, k.ID)
		k.Supersedes = slices.Clone(k.Supersedes)
		for i := range k.Supersedes {
			k.Supersedes[i] = f.names.of(knowledgeName, k.Supersedes[i])
		}
		out = append(out, k)
	}
	return out
}

func describeMerge(m *Merge) (subject, body string) {
	subject = fmt.Sprintf("merge: %d events on top of %s", len(m.Again), short(m.Theirs))
	if len(m.Again) == 1 {
		subject = "merge: 1 event on top of " + short(m.Theirs)
	}
	var b strings.Builder
	for i, e := range m.Events {
		if i == 50 {
			fmt.Fprintf(&b, "… and %d more\n", len(m.Events)-50)
			break
		}
		fmt.Fprintf(&b, "- %s %s: %s\n", e.Type, e.ID, strings.TrimSuffix(e.Outcome+", "+notes.OneLine(e.Reason, 200), ", "))
		for _, from := range slices.Sorted(maps.Keys(e.Renamed)) {
			fmt.Fprintf(&b, "  %s is %s now\n", from, e.Renamed[from])
		}
	}
	return subject, b.String()
}

func short(hash string) string { return hash[:min(12, len(hash))] }
