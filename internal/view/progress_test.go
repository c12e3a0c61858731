package view

import (
	"testing"

	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

func TestPace(t *testing.T) {
	s := state.State{Plan: plan.Plan{Tasks: []plan.Task{{Status: plan.Done}, {Status: plan.Done},
		{Status: plan.Pending}, {Status: plan.Failed}, {Status: plan.Skipped}}}}
	if got := PaceLine(s); got != "" {
		t.Errorf("nothing was done in this session: %q", got)
	}
	s.Run.SessionDone, s.Run.Used.Ms, s.Run.Cost.Session = 2, 8*60_000, 3_000_000
	if got, want := PaceLine(s), Duration(4*60_000)+" a task, about "+Duration(8*60_000)+
		" for the 2 that are left; $1.50 a task, about $3.00"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
