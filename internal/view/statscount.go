package view

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/stable"
	"git-ralph/plan"
)

// StatsDoc is `stats --json`.
type StatsDoc struct {
	Iterations int            `json:"iterations"`
	Kept       int            `json:"kept"`
	Partial    int            `json:"partial"`
	Rejected   int            `json:"rejected"`
	Sessions   int            `json:"sessions"`
	Reasons    map[string]int `json:"reasons"`
	Outcomes   map[string]int `json:"outcomes"`
	// Completion is done tasks of all that are wanted, 0 to 1.
	Completion float64 `json:"task_completion_rate"`
	Claims     int     `json:"claims"`
	False      int     `json:"false_claims"`
	FalseRate  float64 `json:"false_claim_rate"`
	// FalseCompletion is the same under the name that verify has for it.
	FalseCompletion float64        `json:"false_completion_rate"`
	Zone            zoneDoc        `json:"context_zone"`
	Stuck           int            `json:"stagnations"`
	Recovered       int            `json:"stagnations_recovered"`
	Estimate        estimateDoc    `json:"estimate"`
	Interventions   map[string]int `json:"interventions"`
	Tokens          TokensDoc      `json:"tokens"`
	Cost            json.Number    `json:"cost_usd"`
	Unknown         bool           `json:"cost_incomplete"`
	DurationMs      int64          `json:"duration_ms"`
	Turns           int            `json:"turns"`
	Criteria        map[string]int `json:"criteria"`
	Phases          []useDoc       `json:"phases"`
	Roles           []useDoc       `json:"roles"`
	Models          []useDoc       `json:"models"`
	Rungs           []rungDoc      `json:"rungs"`
	// Of the tasks that were done: the share whose first attempt was kept, and how
	// many attempts they took.
	FirstPass float64      `json:"first_pass_rate"`
	Attempts  float64      `json:"attempts_to_done"`
	Tasks     []taskUseDoc `json:"tasks"`
	BySession []sessionDoc `json:"by_session"`
	Timeline  []pointDoc   `json:"timeline"`
}

type zoneDoc struct {
	Below   int `json:"below_40"`
	In      int `json:"in_40_60"`
	Above   int `json:"above_60"`
	Percent int `json:"percent_in_zone"`
}

// add counts a window that was at most peak percent full; 0 is not known.
func (z *zoneDoc) add(peak int) {
	switch {
	case peak <= 0:
		return
	case peak < 40:
		z.Below++
	case peak <= 60:
		z.In++
	default:
		z.Above++
	}
	z.Percent = 100 * z.In / (z.Below + z.In + z.Above)
}

// estimateDoc compares what planning expected of done tasks with what they
// took; tasks without an expectation are left out.
type estimateDoc struct {
	Tasks     int     `json:"tasks"`
	Estimated int64   `json:"estimated_tokens"`
	Actual    int64   `json:"actual_tokens"`
	Ratio     float64 `json:"ratio"`
}

type sessionDoc struct {
	Session    int         `json:"session"`
	Iterations int         `json:"iterations"`
	Kept       int         `json:"kept"`
	Zone       zoneDoc     `json:"context_zone"`
	Cost       json.Number `json:"cost_usd"`
	DurationMs int64       `json:"duration_ms"`
	micro      int64
}

// pointDoc is one iteration in the order of time.
type pointDoc struct {
	Iteration int         `json:"iteration"`
	Kept      bool        `json:"kept"`
	Context   int         `json:"context_percent"` // 0 = not known
	Cost      json.Number `json:"cost_usd"`
}

// maxTimeline is how many of the newest iterations the timeline has.
const maxTimeline = 500

type useDoc struct {
	Name       string      `json:"name"`
	Runs       int         `json:"runs"`
	Tokens     int64       `json:"tokens"`
	Cost       json.Number `json:"cost_usd"`
	DurationMs int64       `json:"duration_ms"`
	micro      int64
}

type taskUseDoc struct {
	ID         plan.TaskID `json:"id"`
	Title      string      `json:"title"`
	Iterations int         `json:"iterations"`
	Kept       int         `json:"kept"`
	Tokens     int64       `json:"tokens"`
	Estimated  int64       `json:"estimated_tokens"` // 0 = planning said nothing
	Cost       json.Number `json:"cost_usd"`
	DurationMs int64       `json:"duration_ms"`
	micro      int64
}

// Stats walks the whole history of a journal whose newest state is s.
func Stats(ctx context.Context, j *journal.Journal, s state.State) (StatsDoc, error) {
	c := newCount(s)
	err := j.WalkBrief(ctx, func(e journal.Entry) (bool, error) {
		c.add(e.Event)
		return true, nil
	})
	return c.result(), err
}

// count gathers figures from events, the newest first.
type count struct {
	d                     StatsDoc
	plan                  plan.Plan
	phases, roles, models map[string]*useDoc
	tasks                 map[plan.TaskID]*taskUseDoc
	ladder                *ladder
	keptLater             map[plan.TaskID]bool
	session               sessionDoc // whose begin is still to come
}

func newCount(s state.State) *count {
	r := s.Run
	d := StatsDoc{Sessions: r.Session, Claims: r.Claims, False: r.FalseClaims, Reasons: map[string]int{},
		Outcomes: map[string]int{}, Criteria: map[string]int{}, Interventions: map[string]int{},
		Tokens: countTokens(r.Tokens), Cost: Dollars(r.Cost.Total), Unknown: r.Cost.Unknown,
		Tasks: []taskUseDoc{}, BySession: []sessionDoc{}, Timeline: []pointDoc{}}
	if n := s.Plan.Counts(); n.Wanted() > 0 {
		d.Completion = float64(n.Done) / float64(n.Wanted())
	}
	if r.Claims > 0 {
		d.FalseRate = float64(r.FalseClaims) / float64(r.Claims)
		d.FalseCompletion = d.FalseRate
	}
	for _, t := range s.Plan.Tasks {
		if t.Status == plan.Done && t.EstimatedTokens > 0 && t.ActualTokens > 0 {
			d.Estimate.Tasks++
			d.Estimate.Estimated += t.EstimatedTokens
			d.Estimate.Actual += t.ActualTokens
		}
	}
	if d.Estimate.Estimated > 0 {
		d.Estimate.Ratio = float64(d.Estimate.Actual) / float64(d.Estimate.Estimated)
	}
	return &count{d: d, plan: s.Plan, phases: map[string]*useDoc{}, roles: map[string]*useDoc{},
		models: map[string]*useDoc{}, tasks: map[plan.TaskID]*taskUseDoc{}, keptLater: map[plan.TaskID]bool{},
		ladder: newLadder()}
}

func (c *count) add(e state.Event) {
	switch {
	case e.Result != nil:
		c.iteration(e, *e.Result)
	case e.Stuck != nil:
		c.d.Stuck++
		if c.keptLater[e.Task] {
			c.d.Recovered++
		}
	case e.Operator != nil:
		c.d.Interventions[e.Operator.Command]++
	case e.TaskSet != nil && e.TaskSet.Rule == "" && slices.Contains([]string{"skip", "retry", "block", "unblock"},
		e.TaskSet.Action):
		c.d.Interventions[e.TaskSet.Action]++
	case e.Rewind != nil:
		c.d.Interventions["rewind"]++
	case e.Sess != nil && e.Sess.Action == "begin":
		c.session.Session = e.Sess.Number
		c.endSession()
	}
}

// endSession puts what was counted since the last call to its session.
func (c *count) endSession() {
	if c.session.Iterations > 0 {
		c.session.Cost = Dollars(c.session.micro)
		c.d.BySession = append(c.d.BySession, c.session)
	}
	c.session = sessionDoc{}
}

func (c *count) iteration(e state.Event, res state.Result) {
	d, kept := &c.d, 0
	d.Iterations++
	d.Outcomes[res.Outcome]++
	d.DurationMs += res.DurationMs
	d.Turns += res.Turns
	if res.Verdict == state.Keep {
		d.Kept++
		kept = 1
		c.keptLater[e.Task] = true
	} else {
		d.Rejected++
	}
	if res.Partial {
		d.Partial++
	}
	for _, reason := range res.Reasons {
		word, _, _ := strings.Cut(reason, ":")
		d.Reasons[word]++
	}
	for _, m := range res.Criteria {
		d.Criteria[m.Mark]++
	}
	for _, run := range res.Runs {
		use(c.roles, run.Role, run)
		use(c.models, run.Model, run)
	}
	var micro int64
	if res.CostMicro != nil {
		micro = *res.CostMicro
	}
	use(c.phases, string(e.Phase), state.AgentRun{Tokens: res.Tokens, CostMicro: &micro, DurationMs: res.DurationMs})
	d.Zone.add(res.ContextPeak)
	c.session.Iterations++
	c.session.Kept += kept
	c.session.Zone.add(res.ContextPeak)
	c.session.micro += micro
	c.session.DurationMs += res.DurationMs
	if len(d.Timeline) < maxTimeline {
		d.Timeline = append(d.Timeline, pointDoc{e.Iteration, kept == 1, res.ContextPeak, Dollars(micro)})
	}
	if id := e.Task; id != "" {
		c.ladder.add(id, res)
		t := c.tasks[id]
		if t == nil {
			t = &taskUseDoc{ID: id, Title: res.Title}
			if i := c.plan.Find(id); i >= 0 {
				t.Estimated = c.plan.Tasks[i].EstimatedTokens
			}
			c.tasks[id] = t
		}
		t.Iterations++
		t.Kept += kept
		t.Tokens += res.Tokens.Total()
		t.DurationMs += res.DurationMs
		t.micro += micro
	}
}

func (c *count) result() StatsDoc {
	c.endSession()
	d := c.d
	slices.Reverse(d.BySession)
	slices.Reverse(d.Timeline)
	d.Rungs, d.FirstPass, d.Attempts = c.ladder.sum()
	d.Phases, d.Roles, d.Models = byCost(c.phases), byCost(c.roles), byCost(c.models)
	for _, t := range c.tasks {
		t.Cost = Dollars(t.micro)
		d.Tasks = append(d.Tasks, *t)
	}
	stable.Sort(d.Tasks, func(x, y taskUseDoc) int {
		return cmp.Or(cmp.Compare(y.micro, x.micro), cmp.Compare(y.Iterations, x.Iterations), cmp.Compare(x.ID, y.ID))
	})
	return d
}

func use(m map[string]*useDoc, name string, run state.AgentRun) {
	u := m[name]
	if u == nil {
		u = &useDoc{Name: name}
		m[name] = u
	}
	u.Runs++
	u.Tokens += run.Tokens.Total()
	u.DurationMs += run.DurationMs
	if run.CostMicro != nil {
		u.micro += *run.CostMicro
	}
}

func byCost(m map[string]*useDoc) []useDoc {
	out := []useDoc{}
	for _, u := range m {
		u.Cost = Dollars(u.micro)
		out = append(out, *u)
	}
	stable.Sort(out, func(x, y useDoc) int {
		if x.micro != y.micro {
			return int(min(max(y.micro-x.micro, -1), 1))
		}
		return strings.Compare(x.Name, y.Name)
	})
	return out
}
