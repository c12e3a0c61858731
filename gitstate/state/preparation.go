package state

import (
	"maps"
	"slices"
	"strings"

	"git-ralph/notes"
)

// Bounds of what helper agents leave for the next preparation.
const (
	maxFindings = 20  // lines of passes
	maxFinding  = 500 // bytes a line
	maxTopics   = 20
	maxResearch = 8000 // bytes
)

// prep takes over what a preparation answered. What was left for it has been
// read, unless it failed.
func (a *applier) prep(c *ContextNote) {
	if c.Failed {
		return
	}
	p := &a.s.Run.Prep
	*p = Preparation{Rounds: p.Rounds}
	if c.Action != "research" {
		return
	}
	p.Rounds = maps.Clone(p.Rounds)
	if p.Rounds == nil {
		p.Rounds = map[string]int{}
	}
	p.Rounds[string(a.e.Task)]++
	p.Task, p.Research = a.e.Task, notes.CutBytes(c.Research, maxResearch)
	for _, t := range c.Topics[:min(len(c.Topics), maxTopics)] {
		p.Topics = append(p.Topics, notes.OneLine(t, maxFinding))
	}
}

// pass keeps the findings of a pass for the next preparation.
func (a *applier) pass() {
	c := a.e.Pass
	if c == nil {
		a.drop("pass", "no content")
		return
	}
	p := &a.s.Run.Prep
	p.Findings = slices.Clone(p.Findings)
	for line := range strings.SplitSeq(c.Findings, "\n") {
		if line = notes.OneLine(line, maxFinding); line != "" {
			p.Findings = append(p.Findings, c.Name+": "+line)
		}
	}
	if n := len(p.Findings); n > maxFindings {
		p.Findings = p.Findings[n-maxFindings:]
	}
}

// researched forgets the rounds of a task that is done.
func (a *applier) researched() {
	p := &a.s.Run.Prep
	if p.Rounds[string(a.e.Task)] == 0 {
		return
	}
	p.Rounds = maps.Clone(p.Rounds)
	delete(p.Rounds, string(a.e.Task))
	if len(p.Rounds) == 0 {
		p.Rounds = nil // as it is read back
	}
}
