package view

import (
	"fmt"
	"strings"

	"git-ralph/gitstate/state"
	"git-ralph/internal/stable"
	"git-ralph/internal/text"
)

// Print writes the figures for people.
func (d StatsDoc) Print(p Printer) {
	line := fmt.Sprintf("%s in %s: %d kept", Plural(d.Iterations, "iteration"), Plural(d.Sessions, "session"), d.Kept)
	if d.Partial > 0 {
		line += fmt.Sprintf(" (%d of them steps)", d.Partial)
	}
	p.Say("%s, %d rejected\n", line, d.Rejected)
	incomplete, turns := "", ""
	if d.Unknown {
		incomplete = " and what was not reported"
	}
	if d.Turns > 0 {
		turns = ", " + Plural(d.Turns, "turn")
	}
	p.Say("$%s%s, %s tokens, %s of work%s\n", d.Cost, incomplete, Thousands(d.Tokens.Total), Duration(d.DurationMs), turns)
	p.Say("%.0f %% of the tasks that are wanted are done\n", 100*d.Completion)
	if d.Claims > 0 {
		p.Say("%s of success, %d of them false (%.0f %%)\n", Plural(d.Claims, "claim"), d.False, 100*d.FalseRate)
	}
	if n := d.Zone.Below + d.Zone.In + d.Zone.Above; n > 0 {
		p.Say("context windows: %d %% ended between 40 and 60 %% full (%d below, %d in, %d above)\n", d.Zone.Percent,
			d.Zone.Below, d.Zone.In, d.Zone.Above)
	}
	if d.Stuck > 0 {
		p.Say("stuck %s, got on after %d of them\n", times(d.Stuck), d.Recovered)
	}
	if d.Estimate.Tasks > 0 {
		p.Say("%s took %s tokens, %s were expected (%.1f times)\n", Plural(d.Estimate.Tasks, "done task"),
			Thousands(d.Estimate.Actual), Thousands(d.Estimate.Estimated), d.Estimate.Ratio)
	}
	if n := sum(d.Interventions); n > 0 {
		var parts []string
		for _, row := range countRows(d.Interventions) {
			parts = append(parts, row[1]+" "+strings.TrimSpace(row[0]))
		}
		p.Say("a person stepped in %s: %s\n", times(n), strings.Join(parts, ", "))
	}
	p.timeline(d.Timeline)
	if len(d.Criteria) > 0 {
		p.Say("criteria: %s\n", state.CriteriaCount{Proved: d.Criteria["proved"], Judged: d.Criteria["judged"],
			Unjudged: d.Criteria["unjudged"], Failed: d.Criteria["failed"]})
	}
	if len(d.Reasons) > 0 {
		p.head("why rejected")
		p.Table(countRows(d.Reasons))
	}
	p.head("how agents ended")
	p.Table(countRows(d.Outcomes))
	d.uses(p)
	d.sessions(p)
	d.rungs(p)
	p.head("tasks that took most")
	var rows [][]string
	shown := d.Tasks[:min(len(d.Tasks), 15)]
	for _, t := range shown {
		rows = append(rows, []string{"  " + string(t.ID), p.Paint("36", bar(t, shown)),
			fmt.Sprintf("%d of %d kept", t.Kept, t.Iterations), "$" + t.Cost.String(), Duration(t.DurationMs),
			text.Clip(t.Title, 50)})
	}
	p.Table(rows)
}

func (p Printer) head(s string) { p.Say("\n%s\n", p.Paint("1", s)) }

// uses says what phases, roles and models took.
func (d StatsDoc) uses(p Printer) {
	for _, x := range []struct {
		name string
		use  []useDoc
	}{{"phases", d.Phases}, {"roles", d.Roles}, {"models", d.Models}} {
		if len(x.use) == 0 || len(x.use) == 1 &&
			(x.name == "phases" || x.name == "models" && x.use[0].Name == "") {
			continue
		}
		p.head(x.name)
		var rows [][]string
		for _, u := range x.use {
			rows = append(rows, []string{"  " + OrDash(u.Name), Plural(u.Runs, "run"), "$" + u.Cost.String(),
				Thousands(u.Tokens) + " tokens", Duration(u.DurationMs)})
		}
		p.Table(rows)
	}
}

// sessions lists the newest sessions.
func (d StatsDoc) sessions(p Printer) {
	if len(d.BySession) > 1 {
		p.head("sessions")
		var rows [][]string
		for _, s := range d.BySession[max(0, len(d.BySession)-15):] {
			zone := "window not known"
			if n := s.Zone.Below + s.Zone.In + s.Zone.Above; n > 0 {
				zone = fmt.Sprintf("%d of %d windows at 40-60 %%", s.Zone.In, n)
			}
			rows = append(rows, []string{fmt.Sprintf("  %d", s.Session),
				fmt.Sprintf("%d of %d kept", s.Kept, s.Iterations), "$" + s.Cost.String(), Duration(s.DurationMs), zone})
		}
		p.Table(rows)
	}
}

// bar compares a task with the largest one: in dollars, or in time when no
// costs are known.
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
func (p Printer) timeline(points []pointDoc) {
	most := 60
	if p.Columns > 0 {
		most = min(most, max(p.Columns-24, 10)) // what the signs mean stands behind them
	}
	points = points[max(0, len(points)-most):]
	if len(points) < 2 {
		return
	}
	var windows, verdicts strings.Builder
	known := false
	for _, x := range points {
		level := []rune(" ▁▂▃▄▅▆▇█")
		known = known || x.Context > 0
		windows.WriteRune(level[min(8, (x.Context*8+99)/100)])
		if x.Kept {
			verdicts.WriteString(p.Paint("32", "+"))
		} else {
			verdicts.WriteString(p.Paint("33", "-"))
		}
	}
	p.Say("\niterations %d to %d\n", points[0].Iteration, points[len(points)-1].Iteration)
	if known {
		p.Say("  %s  window\n", windows.String())
	}
	p.Say("  %s  + kept, - rejected\n", verdicts.String())
}

func sum(m map[string]int) (n int) {
	for _, v := range m {
		n += v
	}
	return n
}

// countRows are counts, the largest first.
func countRows(m map[string]int) [][]string {
	var names []string
	for name := range m {
		names = append(names, name)
	}
	stable.Sort(names, func(x, y string) int {
		if m[x] != m[y] {
			return m[y] - m[x]
		}
		return strings.Compare(x, y)
	})
	var rows [][]string
	for _, name := range names {
		rows = append(rows, []string{"  " + OrDash(name), fmt.Sprint(m[name])})
	}
	return rows
}
