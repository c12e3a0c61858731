package cli

import (
	"fmt"
	"slices"
	"strings"

	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
)

// StatsCmd is `git ralph stats`.
type StatsCmd struct {
	JSON bool `name:"json" help:"Print one object."`
}

// Help says more.
func (StatsCmd) Help() string {
	return "Figures over the whole journal: how much is done, how iterations ended and why, what tasks, phases, roles " +
		"and models took, how often a claim of success was false, how full the context windows were, what was expected " +
		"of tasks and what they took, and how often a person had to step in."
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
	a.printf("%.0f %% of the tasks that are wanted are done\n", 100*d.Completion)
	if d.Claims > 0 {
		a.printf("%s of success, %d of them false (%.0f %%)\n", plural(d.Claims, "claim"), d.False, 100*d.FalseRate)
	}
	if n := d.Zone.Below + d.Zone.In + d.Zone.Above; n > 0 {
		a.printf("context windows: %d %% ended between 40 and 60 %% full (%d below, %d in, %d above)\n", d.Zone.Percent,
			d.Zone.Below, d.Zone.In, d.Zone.Above)
	}
	if d.Stuck > 0 {
		a.printf("stuck %s, got on after %d of them\n", times(d.Stuck), d.Recovered)
	}
	if d.Estimate.Tasks > 0 {
		a.printf("%s took %s tokens, %s were expected (%.1f times)\n", plural(d.Estimate.Tasks, "done task"),
			thousands(d.Estimate.Actual), thousands(d.Estimate.Estimated), d.Estimate.Ratio)
	}
	if n := sum(d.Interventions); n > 0 {
		var parts []string
		for _, row := range countRows(d.Interventions) {
			parts = append(parts, row[1]+" "+strings.TrimSpace(row[0]))
		}
		a.printf("a person stepped in %s: %s\n", times(n), strings.Join(parts, ", "))
	}
	a.timeline(d.Timeline)
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
	}{{"phases", d.Phases}, {"roles", d.Roles}, {"models", d.Models}} {
		if len(x.use) == 0 || len(x.use) == 1 &&
			(x.name == "phases" || x.name == "models" && x.use[0].Name == "") {
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
	if len(d.BySession) > 1 {
		head("sessions")
		var rows [][]string
		for _, s := range d.BySession[max(0, len(d.BySession)-15):] {
			zone := "window not known"
			if n := s.Zone.Below + s.Zone.In + s.Zone.Above; n > 0 {
				zone = fmt.Sprintf("%d of %d windows at 40-60 %%", s.Zone.In, n)
			}
			rows = append(rows, []string{fmt.Sprintf("  %d", s.Session),
				fmt.Sprintf("%d of %d kept", s.Kept, s.Iterations), "$" + s.Cost.String(), duration(s.DurationMs), zone})
		}
		table(a.Out, rows)
	}
	a.rungsText(d)
	head("tasks that took most")
	var rows [][]string
	shown := d.Tasks[:min(len(d.Tasks), 15)]
	for _, t := range shown {
		rows = append(rows, []string{"  " + string(t.ID), a.colour(a.Out, "36", bar(t, shown)),
			fmt.Sprintf("%d of %d kept", t.Kept, t.Iterations), "$" + t.Cost.String(), duration(t.DurationMs),
			text.Clip(t.Title, 50)})
	}
	table(a.Out, rows)
}

// bar is how much of the largest task a task took: in dollars, or in time where
// nothing is known of those.
func bar(t taskUseDoc, all []taskUseDoc) string {
	const width = 10
	measure := func(t taskUseDoc) int64 { return t.micro }
	if all[0].micro == 0 {
		measure = func(t taskUseDoc) int64 { return t.DurationMs }
	}
	var most int64
	for _, x := range all {
		most = max(most, measure(x))
	}
	n := 0
	if most > 0 {
		n = int((measure(t)*width + most - 1) / most)
	}
	return strings.Repeat("█", n) + strings.Repeat("░", width-n)
}

// timeline draws the newest iterations: how full their windows became, and
// below that whether they were kept.
func (a *App) timeline(points []pointDoc) {
	const most = 60
	points = points[max(0, len(points)-most):]
	if len(points) < 2 {
		return
	}
	var windows, verdicts strings.Builder
	known := false
	for _, p := range points {
		level := []rune(" ▁▂▃▄▅▆▇█")
		known = known || p.Context > 0
		windows.WriteRune(level[min(8, (p.Context*8+99)/100)])
		if p.Kept {
			verdicts.WriteString(a.colour(a.Out, "32", "+"))
		} else {
			verdicts.WriteString(a.colour(a.Out, "33", "-"))
		}
	}
	a.printf("\niterations %d to %d\n", points[0].Iteration, points[len(points)-1].Iteration)
	if known {
		a.printf("  %s  window\n", windows.String())
	}
	a.printf("  %s  + kept, - rejected\n", verdicts.String())
}

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
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
