package loop

import (
	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

// provedBy says what a run has shown by its end: by the last proof of the work
// as a whole, or without one by what was proved when each task was kept.
func provedBy(s state.State, report *ProofReport) state.Proved {
	p := state.Proved{Red: []string{}, Tolerated: []string{}, LeftOut: []state.LeftOut{}}
	var marks []state.CriterionMark
	if report != nil {
		p.Whole, marks = true, report.Criteria
		for _, c := range report.Runs {
			if c.Skipped != "" {
				continue
			}
			if c.Kind != "criterion" { // those are counted below
				p.Checks++
				if c.Passed {
					p.Green++
				}
			}
			switch {
			case c.Tolerated:
				p.Tolerated = append(p.Tolerated, c.Name)
			case !c.Passed:
				p.Red = append(p.Red, c.Name)
			}
		}
	}
	for _, t := range s.Plan.Tasks {
		switch {
		case t.Status == plan.Skipped:
			p.LeftOut = append(p.LeftOut, state.LeftOut{ID: t.ID, ByAgent: t.SetAside(), Reasons: t.BlockedBy})
		case report == nil && t.Status == plan.Done && t.CompletedAt != nil:
			for _, v := range t.Verify {
				marks = append(marks, state.CriterionMark{Text: v, Mark: markProved})
			}
			for _, text := range t.Criteria {
				marks = append(marks, state.CriterionMark{Text: text, Mark: markUnjudged})
			}
		}
	}
	for _, m := range marks {
		mark := m.Mark
		if mark == markUnjudged && s.Report != nil {
			mark = reportMark(*s.Report, m.Text)
		}
		p.Criteria.Add(mark)
	}
	return p
}
