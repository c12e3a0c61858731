package view

import (
	"strings"

	"git-ralph/notes"
)

// Handoff writes a handoff for people.
func (p Printer) Handoff(rec notes.Record) {
	h := rec.Handoff
	by := ""
	if rec.Origin.Source == "harness" {
		by = ", made by the harness because the agent left none"
	}
	p.Say("%s of iteration %d, %s%s\n", p.Paint("1", "handoff"), rec.Origin.Iteration, rec.Origin.Verdict, by)
	if h.Summary != "" {
		p.Say("\n%s\n", h.Summary)
	}
	if h.Freeform != "" && h.Freeform != h.Summary {
		p.Say("\n%s\n", strings.TrimRight(h.Freeform, "\n"))
	}
	section := func(title string, n int, item func(int) string) {
		if n == 0 {
			return
		}
		p.Say("\n%s\n", p.Paint("1", title))
		for i := range n {
			p.Say("  - %s\n", item(i))
		}
	}
	section("deviations", len(h.Deviations), func(i int) string {
		d := h.Deviations[i]
		return "planned " + d.Planned + "; did " + d.Actual + ": " + d.Reason
	})
	section("bugs", len(h.BugsEncountered), func(i int) string {
		b := h.BugsEncountered[i]
		if b.Resolved {
			return b.Description + " (resolved: " + b.Resolution + ")"
		}
		return b.Description + " (open)"
	})
	section("constraints", len(h.ConstraintsDiscovered), func(i int) string {
		k := h.ConstraintsDiscovered[i]
		if k.Workaround != "" {
			return k.Constraint + ": " + k.Impact + "; " + k.Workaround
		}
		return k.Constraint + ": " + k.Impact
	})
	section("architecture", len(h.ArchitecturalNotes), func(i int) string { return h.ArchitecturalNotes[i] })
	section("unfinished", len(h.UnfinishedBusiness), func(i int) string {
		u := h.UnfinishedBusiness[i]
		return "[" + u.Priority + "] " + u.Item + ": " + u.Reason
	})
	section("recommendations", len(h.Recommendations), func(i int) string { return h.Recommendations[i] })
	section("tests added", len(h.TestsAdded), func(i int) string {
		return h.TestsAdded[i].File + ": " + strings.Join(h.TestsAdded[i].TestNames, ", ")
	})
	section("files", len(h.FilesTouched), func(i int) string {
		return h.FilesTouched[i].Action + " " +
			h.FilesTouched[i].Path
	})
	section("research wanted", len(h.RequestResearch), func(i int) string { return h.RequestResearch[i] })
	if r := h.RequestHumanReview; r != nil && r.Needed {
		p.Say("\n%s %s\n", p.Paint("33", "the agent asks a person to look at it:"), r.Reason)
	}
	if h.ConfidenceLevel == "low" && rec.Origin.Source != "harness" {
		p.Say("\n%s\n", p.Paint("33", "the agent's confidence is low"))
	}
}
