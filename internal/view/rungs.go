package view

import (
	"cmp"
	"encoding/json"
	"fmt"

	"git-ralph/gitstate/state"
	"git-ralph/internal/stable"
	"git-ralph/plan"
)

// rungDoc is what the attempts on one rung of agent.ladder took and gave.
type rungDoc struct {
	Rung       int         `json:"rung"` // 0 = the settings alone
	Step       string      `json:"step"`
	Attempts   int         `json:"attempts"`
	Kept       int         `json:"kept"`
	Tokens     int64       `json:"tokens"`
	Cost       json.Number `json:"cost_usd"`
	DurationMs int64       `json:"duration_ms"`
	micro      int64
}

// ladder counts attempts at tasks. Kept steps and waits for a provider are not
// attempts, but their cost counts for their rung.
type ladder struct {
	by   map[rungKey]*rungDoc
	task map[plan.TaskID]*tried
}

type rungKey struct {
	rung int
	step string
}

// tried is how often a task was attempted, before it was done or not.
type tried struct {
	done     bool
	attempts int
}

func newLadder() *ladder {
	return &ladder{map[rungKey]*rungDoc{}, map[plan.TaskID]*tried{}}
}

func (r *ladder) add(id plan.TaskID, res state.Result) {
	k := rungKey{res.Rung, res.Step}
	d := r.by[k]
	if d == nil {
		d = &rungDoc{Rung: res.Rung, Step: res.Step}
		r.by[k] = d
	}
	d.Tokens += res.Tokens.Total()
	d.DurationMs += res.DurationMs
	if res.CostMicro != nil {
		d.micro += *res.CostMicro
	}
	done := res.TaskStatus == plan.Done
	if !done && !res.Attempt {
		return
	}
	d.Attempts++
	t := r.task[id]
	if t == nil {
		t = &tried{}
		r.task[id] = t
	}
	t.attempts++
	if done {
		d.Kept++
		t.done = true
	}
}

// sum is the rungs in order, the share of done tasks whose first attempt was
// kept, and the mean of attempts of a done task; 0 where none is done.
func (r *ladder) sum() (list []rungDoc, firstPass, attempts float64) {
	list = []rungDoc{}
	for _, d := range r.by {
		d.Cost = Dollars(d.micro)
		list = append(list, *d)
	}
	stable.Sort(list, func(x, y rungDoc) int {
		return cmp.Or(cmp.Compare(x.Rung, y.Rung), cmp.Compare(x.Step, y.Step))
	})
	done, first, all := 0, 0, 0
	for _, t := range r.task {
		if !t.done {
			continue
		}
		done++
		all += t.attempts
		if t.attempts == 1 {
			first++
		}
	}
	if done == 0 {
		return list, 0, 0
	}
	return list, float64(first) / float64(done), float64(all) / float64(done)
}

// rungs writes what each rung of the ladder took.
func (d StatsDoc) rungs(p Printer) {
	if d.Attempts > 0 {
		p.Say("\ntasks that are done: %.0f %% at the first attempt, %.1f attempts each\n", 100*d.FirstPass, d.Attempts)
	}
	if len(d.Rungs) < 2 {
		return // there was no ladder
	}
	p.Say("\n%s\n", p.Paint("1", "rungs of the ladder"))
	var rows [][]string
	for _, r := range d.Rungs {
		step := r.Step
		if r.Rung == 0 {
			step = "the settings alone"
		}
		rows = append(rows, []string{fmt.Sprintf("  %d", r.Rung), step, Plural(r.Attempts, "attempt"),
			fmt.Sprintf("%d kept", r.Kept), "$" + r.Cost.String(), Thousands(r.Tokens) + " tokens", Duration(r.DurationMs)})
	}
	p.Table(rows)
}
