package state

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"git-ralph/fixtures/long"
	"git-ralph/notes"
	"git-ralph/plan"
)

// node is an entry of a journal in memory.
type node struct {
	id      string
	parents []*node
	event   Event
	state   State
}

func entry(e Event, parents ...*node) *node {
	var old State
	h := sha256.New()
	if len(parents) > 0 {
		old = parents[0].state
	}
	for _, p := range parents {
		h.Write([]byte(p.id))
	}
	files := EncodeEvent(e)
	paths := make([]string, 0, len(files))
	for path := range files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		fmt.Fprintf(h, "%s\n%s", path, files[path])
	}
	next, _ := Apply(old, e)
	return &node{hex.EncodeToString(h.Sum(nil)), parents, e, next}
}

// all are the entries reachable from n, by id.
func (n *node) all() map[string]*node {
	seen := map[string]*node{}
	for todo := []*node{n}; len(todo) > 0; {
		x := todo[0]
		todo = todo[1:]
		if seen[x.id] == nil {
			seen[x.id] = x
			todo = append(todo, x.parents...)
		}
	}
	return seen
}

// line are the entries along first parents, oldest first.
func (n *node) line() (out []*node) {
	for ; ; n = n.parents[0] {
		out = append(out, n)
		if len(n.parents) == 0 {
			slices.Reverse(out)
			return out
		}
	}
}

// joined is ours on top of theirs.
func joined(theirs, ours *node) *node {
	above, below := theirs.all(), ours.all()
	switch {
	case above[ours.id] != nil:
		return theirs
	case below[theirs.id] != nil:
		return ours
	}
	l := Lines{Theirs: theirs.id, Ours: ours.id, State: theirs.state, Known: map[string]bool{},
		Renamed: map[string]string{}, Time: theirs.event.Time}
	if ours.event.Time.After(l.Time) {
		l.Time = ours.event.Time
	}
	for _, n := range theirs.line() {
		if below[n.id] != nil {
			continue
		}
		l.Known[n.event.ID] = true
		if m := n.event.Merge; m != nil {
			for _, done := range m.Events {
				l.Known[done.ID] = true
				if below[m.Ours] != nil {
					for from, to := range done.Renamed {
						l.Renamed[from] = to
					}
				}
			}
		}
	}
	for _, n := range ours.line() {
		switch {
		case above[n.id] != nil:
			l.Base = n.state
		case n.event.Merge != nil:
			l.Events = append(l.Events, n.event.Merge.Again...)
		default:
			l.Events = append(l.Events, n.event)
		}
	}
	m := Join(l)
	sum := sha256.Sum256([]byte(l.Theirs + l.Ours))
	return entry(Event{ID: "m" + hex.EncodeToString(sum[:8]), Actor: "git-ralph", Time: l.Time, Type: EvMerge, Merge: &m},
		theirs, ours)
}

// replica is a machine with a clock of its own.
type replica struct {
	name string
	tip  *node
	skew time.Duration
	n    int
}

// act makes one random event, as the program would make it on this state.
func (r *replica) act(rnd *rand.Rand, now time.Time) {
	s := r.tip.state
	r.n++
	e := Event{ID: fmt.Sprintf("%s-%04d", r.name, r.n), Actor: r.name, Time: now.Add(r.skew)}
	some := func() plan.TaskID {
		if len(s.Plan.Tasks) == 0 {
			return "T-404"
		}
		return s.Plan.Tasks[rnd.IntN(len(s.Plan.Tasks))].ID
	}
	switch rnd.IntN(10) {
	case 0, 1:
		t := plan.Task{ID: plan.NextID(s.Plan), Title: fmt.Sprintf("%s %d", r.name, r.n), Status: plan.Pending, Priority: 1}
		if len(s.Plan.Tasks) > 0 && rnd.IntN(2) == 0 {
			t.DependsOn = []plan.TaskID{some()}
		}
		e.Type, e.Plan = EvPlan, &PlanChange{Reason: "add", Upsert: []plan.Task{t}}
	case 2:
		if len(s.Plan.Tasks) == 0 {
			return
		}
		t := s.Plan.Tasks[rnd.IntN(len(s.Plan.Tasks))]
		if t.Title += "!"; rnd.IntN(2) == 0 {
			t.Priority++
		}
		e.Type, e.Plan = EvPlan, &PlanChange{Reason: "edit", Upsert: []plan.Task{t}}
	case 3:
		e.Type, e.TaskSet = EvTask, &TaskChange{Action: "skip", IDs: []plan.TaskID{some()}, Status: plan.Skipped}
	case 4, 5:
		id := some()
		c := &ClaimChange{Action: "take", Worker: "main", Lease: "3m"}
		if held := s.ClaimOf(id); held != nil && held.Actor != r.name {
			c.Over = held.ID
		}
		e.Type, e.Task, e.Claim, e.Iteration = EvClaim, id, c, s.Run.Iteration+1
	case 6, 7:
		for _, c := range s.Claims {
			if c.Actor == r.name {
				e.Type, e.Task, e.Under, e.Phase, e.Iteration = EvIteration, c.Task, c.ID, Building, c.Iteration
				e.Result = &Result{Verdict: Keep, TaskStatus: plan.Done, Commit: "c" + e.ID, Landed: true,
					Handoff: &notes.Record{Origin: notes.Origin{Iteration: c.Iteration, EventID: e.ID, Task: string(c.Task)}}}
			}
		}
		if e.Result == nil {
			return
		}
	case 8:
		id := fmt.Sprintf("Q%d", len(s.Questions)+1)
		e.Type, e.Question = EvQuestion, &Question{ID: id, Text: r.name + " asks", Asked: e.Time}
	default:
		e.Type, e.Knowledge = EvKnowledge, &KnowledgeChange{Source: "person", Add: []notes.Knowledge{{
			ID: fmt.Sprintf("K-pattern-%d", rnd.IntN(5)), Type: "pattern", Status: "active", Text: "said by " + e.ID}}}
	}
	_, e.Superseded = Apply(s, e)
	r.tip = entry(e, r.tip)
}

// applied counts how often each event is applied along the line of a tip.
func applied(n *node) map[string]int {
	times := map[string]int{}
	for _, x := range n.line() {
		if m := x.event.Merge; m != nil {
			for _, e := range m.Again {
				times[e.ID]++
			}
			continue
		}
		times[x.event.ID]++
	}
	return times
}

// TestReplicasConverge lets machines with different clocks act at random, join, and
// push to a remote that only accepts a push on top of its tip. After a last round
// all have the same tip, in which every event was applied once. What the remote had
// accepted kept its effect. Without news no merge follows.
func TestReplicasConverge(t *testing.T) {
	rounds := long.Number(t, 60, 2000)
	for round := range rounds {
		rnd := rand.New(rand.NewPCG(uint64(round), 1))
		first := entry(Event{ID: "init", Actor: "ann", Time: t0, Type: EvInit,
			Init: &Init{JournalID: "j", Branch: "main"}})
		remote := first
		var all []*replica
		for i := range 2 + rnd.IntN(3) {
			all = append(all, &replica{name: []string{"ann", "bob", "cid", "dan"}[i], tip: first,
				skew: time.Duration(rnd.IntN(7200)-3600) * time.Second})
		}
		now, events := t0, 0
		sync := func(r *replica, push bool) {
			was := remote
			r.tip = joined(remote, r.tip)
			if again := joined(remote, r.tip); again != r.tip {
				t.Fatalf("round %d: joining twice makes another entry", round)
			}
			if push {
				remote = r.tip
			}
			checkKept(t, round, was.state, r.tip)
		}
		for range 10 + rnd.IntN(60) {
			now = now.Add(time.Duration(rnd.IntN(100)) * time.Second)
			r := all[rnd.IntN(len(all))]
			if k := rnd.IntN(6); k < 4 {
				r.act(rnd, now)
			} else {
				sync(r, k == 5)
			}
		}
		for range 2 {
			for _, r := range all {
				sync(r, true)
			}
		}
		merges := 0
		for _, x := range remote.all() {
			if x.event.Merge != nil {
				merges++
			} else {
				events++
			}
		}
		times := applied(remote)
		for id, x := range remote.all() {
			if x.event.Merge == nil && times[x.event.ID] != 1 {
				t.Fatalf("round %d: event %s (%s) was applied %d times", round, x.event.ID, id[:8], times[x.event.ID])
			}
		}
		for _, r := range all {
			if r.tip != remote && r.tip.id != remote.id {
				t.Fatalf("round %d: %s and the remote have different tips after two rounds", round, r.name)
			}
			sync(r, true)
			if got := len(remote.all()); got != merges+events {
				t.Fatalf("round %d: merges go on although nothing is new: %d entries, then %d", round, merges+events, got)
			}
		}
		checkStored(t, round, remote)
	}
}

// checkKept: a task that was done in what the remote had accepted is still done. A
// claim there still has its holder, unless an event on top of it names the claim or
// its task.
func checkKept(t *testing.T, round int, was State, now *node) {
	m := now.event.Merge
	if m == nil {
		return
	}
	var took []string
	for _, e := range m.Again {
		if e.Claim != nil {
			took = append(took, e.Claim.Over)
		}
		if e.TaskSet != nil {
			for _, id := range e.TaskSet.IDs {
				took = append(took, string(id))
			}
		}
	}
	for _, task := range was.Plan.Tasks {
		i := now.state.Plan.Find(task.ID)
		if i < 0 {
			t.Fatalf("round %d: %s is lost", round, task.ID)
		}
		if task.Status == plan.Done && now.state.Plan.Tasks[i].Status != plan.Done {
			t.Fatalf("round %d: %s was done", round, task.ID)
		}
	}
	for _, c := range was.Claims {
		if m.Theirs == now.parents[0].id && !now.state.Holds(c.ID) && !slices.Contains(took, c.ID) &&
			!slices.Contains(took, string(c.Task)) &&
			!slices.ContainsFunc(m.Again, func(e Event) bool { return e.Under == c.ID }) {
			t.Fatalf("round %d: the claim %s on %s was lost", round, c.ID, c.Task)
		}
	}
}

// checkStored: every entry can be read again and makes the same state.
func checkStored(t *testing.T, round int, tip *node) {
	for _, x := range tip.line() {
		var old State
		if len(x.parents) > 0 {
			var err error
			if old, err = Decode(Changes(State{}, x.parents[0].state)); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		again, err := DecodeEvent(EncodeEvent(x.event))
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		next, _ := Apply(old, again)
		files, want := Changes(State{}, next), Changes(State{}, x.state)
		if d := cmp.Diff(want, files); d != "" {
			t.Fatalf("round %d: the stored %s makes another state: %s", round, x.event.Type, d)
		}
		s, err := Decode(want)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if d := cmp.Diff(x.state.Plan, s.Plan, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("round %d: the plan is read otherwise than it was written: %s", round, d)
		}
	}
}

// TestJoinRenames: ids that the harness made on both sides at once stay apart, and
// references follow. An id that the user chose is not renamed.
func TestJoinRenames(t *testing.T) {
	base := with(pending("T-001"))
	add := func(id string, title, reason string, needs ...plan.TaskID) Event {
		task := pending(id)
		task.Title, task.DependsOn = title, needs
		return Event{ID: id + title, Time: t0, Type: EvPlan,
			Plan: &PlanChange{Reason: reason, Upsert: []plan.Task{task}}}
	}
	theirs, _ := Apply(base, add("T-002", "theirs", "add"))
	theirs, _ = Apply(theirs, add("login", "theirs", "import"))
	theirs, _ = Apply(theirs, add("same", "equal", "import"))
	theirs, _ = Apply(theirs, Event{Type: EvQuestion, Question: &Question{ID: "Q1", Text: "theirs"}})
	m := Join(Lines{Theirs: "a", Ours: "b", State: theirs, Base: base, Events: []Event{
		add("T-002", "ours", "add"), add("T-003", "on top", "add", "T-002"),
		{ID: "skip", Type: EvTask, TaskSet: &TaskChange{Action: "skip", IDs: []plan.TaskID{"T-002"}, Status: plan.Skipped}},
		add("login", "ours", "import"), add("same", "equal", "import"),
		{ID: "ask", Type: EvQuestion, Question: &Question{ID: "Q1", Text: "ours"}},
		{ID: "answer", Type: EvOperator, Operator: &Operator{Command: "answer", ID: "Q1", Text: "yes"}},
	}})
	s, _ := Apply(theirs, Event{ID: "m", Time: t0, Type: EvMerge, Merge: &m})
	var got []string
	for _, x := range s.Plan.Tasks {
		got = append(got, fmt.Sprintf("%s %s %s %v", x.ID, x.Title, x.Status, x.DependsOn))
	}
	for _, q := range s.Questions {
		got = append(got, fmt.Sprintf("%s %s %q", q.ID, q.Text, q.Answer))
	}
	for _, e := range m.Events {
		got = append(got, strings.TrimSuffix(e.ID+": "+e.Outcome+" "+e.Reason, " "))
	}
	want := []string{"T-001 do T-001 pending []", "T-002 theirs pending []", "login theirs pending []",
		"same equal pending []",
		"T-003 ours skipped []", "T-004 on top pending [T-003]", `Q1 theirs ""`, `Q2 ours "yes"`,
		"T-002ours: applied", "T-003on top: applied", "skip: applied",
		"loginours: superseded login: the id was taken meanwhile", "sameequal: applied", "ask: applied", "answer: applied"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the merge: %s", d)
	}
}

// TestJoinTakesFields: if both have changed a task, the changes of both stay. An
// end that theirs has recorded stands.
func TestJoinTakesFields(t *testing.T) {
	base := with(pending("A"))
	edit := func(id string, change func(*plan.Task)) Event {
		x := pending("A")
		change(&x)
		return Event{ID: id, Time: t0, Type: EvPlan,
			Plan: &PlanChange{Reason: "edit", Upsert: []plan.Task{x}}}
	}
	theirs, _ := Apply(base, edit("t", func(x *plan.Task) { x.Priority, x.Status = 9, plan.Done }))
	ours := edit("o", func(x *plan.Task) { x.Title = "a new title" })
	m := Join(Lines{State: theirs, Base: base, Events: []Event{ours}})
	s, _ := Apply(theirs, Event{Type: EvMerge, Merge: &m})
	if x := s.Plan.Tasks[0]; x.Title != "a new title" || x.Priority != 9 || x.Status != plan.Done {
		t.Errorf("the task is %+v", x)
	}
}
