package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/plan"
)

// StatsCmd is `git ralph stats`.
type StatsCmd struct {
	JSON bool `name:"json" help:"Print one object."`
}

// Help says more.
func (StatsCmd) Help() string {
	return "Figures over the whole journal: how iterations ended and why, what tasks, roles and models took, how often " +
		"a claim of success was false, and how full the context windows were."
}

// statsDoc is `stats --json`.
type statsDoc struct {
	Iterations int            `json:"iterations"`
	Kept       int            `json:"kept"`
	Partial    int            `json:"partial"`
	Rejected   int            `json:"rejected"`
	Sessions   int            `json:"sessions"`
	Reasons    map[string]int `json:"reasons"`
	Outcomes   map[string]int `json:"outcomes"`
	Claims     int            `json:"claims"`
	False      int            `json:"false_claims"`
	FalseRate  float64        `json:"false_claim_rate"`
	Zone       zoneDoc        `json:"context_zone"`
	Tokens     tokensDoc      `json:"tokens"`
	Cost       json.Number    `json:"cost_usd"`
	Unknown    bool           `json:"cost_incomplete"`
	DurationMs int64          `json:"duration_ms"`
	Turns      int            `json:"turns"`
	Criteria   map[string]int `json:"criteria"`
	Roles      []useDoc       `json:"roles"`
	Models     []useDoc       `json:"models"`
	Rungs      []rungDoc      `json:"rungs"`
	// Of the tasks that were done: the share whose first attempt was kept, and how
	// many attempts they took.
	FirstPass float64      `json:"first_pass_rate"`
	Attempts  float64      `json:"attempts_to_done"`
	Tasks     []taskUseDoc `json:"tasks"`
}

type zoneDoc struct {
	Below   int `json:"below_40"`
	In      int `json:"in_40_60"`
	Above   int `json:"above_60"`
	Percent int `json:"percent_in_zone"`
}

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
	Cost       json.Number `json:"cost_usd"`
	DurationMs int64       `json:"duration_ms"`
	micro      int64
}

// Run counts.
func (c *StatsCmd) Run(a *App) error {
	snap, err := a.Load()
	if err != nil {
		return err
	}
	d, err := a.stats(snap.State)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(d)
	}
	if d.Iterations == 0 {
		a.printf("no iteration has ended yet: git ralph start\n")
		return nil
	}
	defer a.page()()
	a.statsText(d)
	return nil
}

// stats walks the whole history.
func (a *App) stats(s state.State) (statsDoc, error) {
	r := s.Run
	d := statsDoc{Sessions: r.Session, Claims: r.Claims, False: r.FalseClaims, Reasons: map[string]int{},
		Outcomes: map[string]int{}, Criteria: map[string]int{},
		Tokens: countTokens(r.Tokens), Cost: dollars(r.Cost.Total), Unknown: r.Cost.Unknown,
		Zone: zoneDoc{Below: r.ContextZone.Below, In: r.ContextZone.In, Above: r.ContextZone.Above}, Roles: []useDoc{},
		Models: []useDoc{}, Tasks: []taskUseDoc{}}
	if r.Claims > 0 {
		d.FalseRate = float64(r.FalseClaims) / float64(r.Claims)
	}
	if z := r.ContextZone; z.Below+z.In+z.Above > 0 {
		d.Zone.Percent = 100 * z.In / (z.Below + z.In + z.Above)
	}
	rungs := newRungs()
	roles, models, tasks := map[string]*useDoc{}, map[string]*useDoc{}, map[plan.TaskID]*taskUseDoc{}
	err := a.journal.WalkBrief(a.Ctx, func(e journal.Entry) (bool, error) {
		res := e.Event.Result
		if res == nil {
			return true, nil
		}
		d.Iterations++
		d.Outcomes[res.Outcome]++
		d.DurationMs += res.DurationMs
		d.Turns += res.Turns
		kept := 0
		if res.Verdict == state.Keep {
			d.Kept++
			kept = 1
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
			use(roles, run.Role, run)
			use(models, run.Model, run)
		}
		if id := e.Event.Task; id != "" {
			rungs.add(id, *res)
			t := tasks[id]
			if t == nil {
				t = &taskUseDoc{ID: id, Title: res.Title}
				tasks[id] = t
			}
			t.Iterations++
			t.Kept += kept
			t.Tokens += res.Tokens.Total()
			t.DurationMs += res.DurationMs
			if res.CostMicro != nil {
				t.micro += *res.CostMicro
			}
		}
		return true, nil
	})
	if err != nil {
		return d, err
	}
	d.Roles, d.Models = byCost(roles), byCost(models)
	d.Rungs, d.FirstPass, d.Attempts = rungs.sum()
	for _, t := range tasks {
		t.Cost = dollars(t.micro)
		d.Tasks = append(d.Tasks, *t)
	}
	slices.SortFunc(d.Tasks, func(x, y taskUseDoc) int {
		if x.Iterations != y.Iterations {
			return y.Iterations - x.Iterations
		}
		return strings.Compare(string(x.ID), string(y.ID))
	})
	return d, nil
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
		u.Cost = dollars(u.micro)
		out = append(out, *u)
	}
	slices.SortFunc(out, func(x, y useDoc) int {
		if x.micro != y.micro {
			return int(min(max(y.micro-x.micro, -1), 1))
		}
		return strings.Compare(x.Name, y.Name)
	})
	return out
}

func (a *App) statsText(d statsDoc) {
	head := func(s string) { a.printf("\n%s\n", a.colour(a.Out, "1", s)) }
	a.printf("%s in %s: %d kept", plural(d.Iterations, "iteration"), plural(d.Sessions, "session"), d.Kept)
	if d.Partial > 0 {
		a.printf(" (%d of them steps)", d.Partial)
	}
	a.printf(", %d rejected\n", d.Rejected)
	incomplete := ""
	if d.Unknown {
		incomplete = " and what was not reported"
	}
	a.printf("$%s%s, %s tokens, %s of work", d.Cost, incomplete, thousands(d.Tokens.Total), duration(d.DurationMs))
	if d.Turns > 0 {
		a.printf(", %s", plural(d.Turns, "turn"))
	}
	a.printf("\n")
	if d.Claims > 0 {
		a.printf("%s of success, %d of them false (%.0f %%)\n", plural(d.Claims, "claim"), d.False, 100*d.FalseRate)
	}
	if n := d.Zone.Below + d.Zone.In + d.Zone.Above; n > 0 {
		a.printf("context windows: %d %% ended between 40 and 60 %% full (%d below, %d in, %d above)\n", d.Zone.Percent,
			d.Zone.Below, d.Zone.In, d.Zone.Above)
	}
	if len(d.Criteria) > 0 {
		a.printf("criteria: %s\n", state.CriteriaCount{Proved: d.Criteria["proved"], Judged: d.Criteria["judged"],
			Unjudged: d.Criteria["unjudged"], Failed: d.Criteria["failed"]})
	}
	if len(d.Reasons) > 0 {
		head("why rejected")
		table(a.Out, countRows(d.Reasons))
	}
	head("how agents ended")
	table(a.Out, countRows(d.Outcomes))
	for _, x := range []struct {
		name string
		use  []useDoc
	}{{"roles", d.Roles}, {"models", d.Models}} {
		if len(x.use) == 0 || x.name == "models" && len(x.use) == 1 && x.use[0].Name == "" {
			continue
		}
		head(x.name)
		var rows [][]string
		for _, u := range x.use {
			rows = append(rows, []string{"  " + orDash(u.Name), plural(u.Runs, "run"), "$" + u.Cost.String(),
				thousands(u.Tokens) + " tokens", duration(u.DurationMs)})
		}
		table(a.Out, rows)
	}
	a.rungsText(d)
	head("tasks that took most")
	var rows [][]string
	for _, t := range d.Tasks[:min(len(d.Tasks), 15)] {
		rows = append(rows, []string{"  " + string(t.ID), text.Clip(t.Title, 50), plural(t.Iterations, "iteration"),
			fmt.Sprintf("%d kept", t.Kept), "$" + t.Cost.String(), duration(t.DurationMs)})
	}
	table(a.Out, rows)
}

// countRows are counts, the largest first.
func countRows(m map[string]int) [][]string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	slices.SortFunc(names, func(x, y string) int {
		if m[x] != m[y] {
			return m[y] - m[x]
		}
		return strings.Compare(x, y)
	})
	var rows [][]string
	for _, name := range names {
		rows = append(rows, []string{"  " + orDash(name), fmt.Sprint(m[name])})
	}
	return rows
}
