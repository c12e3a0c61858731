package view

import (
	"fmt"
	"strings"

	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/loop"
	"git-ralph/notes"
	"git-ralph/plan"
)

// Next is the one thing to do next.
func (r Reader) Next(d StatusDoc, s state.State) string {
	switch {
	case len(d.Questions) > 0:
		return "git ralph answer " + d.Questions[0].ID + ` "…"`
	case d.Running != nil && d.Paused:
		return "git ralph resume"
	case d.Running != nil && d.Status == state.Waiting:
		return "git ralph log -n 5; git ralph stop ends it"
	case d.Running != nil:
		return "git ralph log -n 5; git ralph stop ends it after this iteration"
	case d.Status == state.NeedsReview && strings.HasPrefix(d.HaltReason, state.SetAside):
		return AsideHint
	case d.Status == state.NeedsReview:
		return "look at it, then git ralph approve or git ralph reject \"why\", and git ralph " + GoesOn(d.Phase)
	case d.Tasks.Total == 0 && s.Run.Request != "":
		return "git ralph run continues"
	case d.Tasks.Total == 0:
		return `git ralph import FILE, or git ralph add "a task"`
	case d.Paused:
		return "git ralph resume, then git ralph start"
	}
	switch d.Status {
	case state.Complete:
		return "git log --notes=ralph shows the work; git ralph log how it came about"
	case state.BlockedStatus:
		return "git ralph retry --failed, git ralph unblock ID, or git ralph edit"
	case state.HaltedStatus:
		return r.NextMove(loop.End{Status: d.Status, Reason: d.HaltReason, State: s})
	case state.Interrupted:
		return "git ralph " + GoesOn(d.Phase) + " recovers what was left and continues"
	}
	if GoesOn(d.Phase) == "run" && s.Run.Request != "" {
		return "git ralph run continues"
	}
	if next, ok := plan.Next(s.Plan); ok {
		return "git ralph start begins with " + string(next)
	}
	if s.Plan.Complete() {
		return proveWhole
	}
	return "git ralph tasks shows what waits on what"
}

// NextMove is the one thing to do after the end of a run.
func (r Reader) NextMove(end loop.End) string {
	switch end.Status {
	case state.Complete:
		return "git log --notes=ralph shows the work; git log ralph/heads/" + end.State.Journal.Branch + " how it came about"
	case state.BlockedStatus:
		return "git ralph show N says why; git ralph retry --failed, git ralph unblock ID, or git ralph edit"
	case state.MaxIterations:
		return "git ralph start continues"
	case state.HaltedStatus:
		if strings.HasPrefix(end.Reason, "old_tests") {
			return "fix the code, commit the test as it should be yourself, or allow the task that changed it: git ralph " +
				"edit, with allow_test_changes = true; then git ralph start"
		}
		if strings.HasPrefix(end.Reason, "reproduction") {
			return "fix the code or commit the test as it should be yourself, or allow the task that changed it: git ralph " +
				"edit, with allow_test_changes = true; then git ralph start"
		}
		if strings.HasPrefix(end.Reason, "fresh_checks") {
			for _, red := range end.Proved.Red {
				if ids := end.State.Plan.CarriedBy(red); len(ids) > 0 {
					return fmt.Sprintf("`%s` comes from %s, which a new plan has replaced: fix the code, or take the task back "+
						"with git ralph retry %[2]s, "+
						"or change its verify with git ralph edit; then git ralph start", notes.OneLine(red, 100), ids[0])
				}
			}
			return "fix what is red; what the checks need and the repository does not hold (dependencies, generated files) " +
				"is made by setup under [project] in ralph.toml, " +
				"for example setup = [\"npm ci\"]; a check that may stay red gets allow_failure = true; then git ralph start"
		}
		if why, ok := strings.CutPrefix(end.Reason, "remote_checks: "); ok {
			return remoteMove(why)
		}
		if strings.HasPrefix(end.Reason, "environment") {
			return "install it, or name what installs it as setup under [project] in ralph.toml, then git ralph " +
				GoesOn(end.State.Run.Phase)
		}
		if strings.HasPrefix(end.Reason, "unproved") {
			return "make a check green, or give the task a verify command: git ralph edit; then git ralph start"
		}
		if loop.IsBudget(end.Reason) {
			return r.budgetMove(end.State.Run)
		}
		if end.State.Run.Breaker.State == "open" {
			return "git ralph log says why; git ralph resume allows one attempt"
		}
		return "git ralph log says why; git ralph " + GoesOn(end.State.Run.Phase) + " tries again"
	case state.Paused:
		if open := loop.OpenQuestions(end.State); len(open) > 0 {
			return "git ralph answer " + open[0].ID + " \"…\", then git ralph " + GoesOn(end.State.Run.Phase)
		}
		return "git ralph resume, then git ralph start"
	case state.NeedsReview:
		if strings.HasPrefix(end.Reason, state.SetAside) {
			return AsideHint
		}
		return "look at it, then git ralph approve or git ralph reject \"why\", and git ralph " + GoesOn(end.State.Run.Phase)
	case state.Ready:
		if end.State.Run.Phase == state.Planning {
			return "git ralph plan, or git ralph run for all that follows"
		}
	}
	if GoesOn(end.State.Run.Phase) == "start" && end.State.Plan.Complete() {
		return proveWhole
	}
	return "git ralph " + GoesOn(end.State.Run.Phase) + " continues"
}

// proveWhole is what is left of a run that ended after its last task and before its end.
const proveWhole = "git ralph start proves the whole once more and completes the run"

// remoteMove is what to do when complete did not get the green checks that it waits for.
func remoteMove(why string) string {
	switch {
	case strings.HasPrefix(why, "no pull request"):
		return "git ralph pr opens it, then git ralph start"
	case strings.Contains(why, "was not pushed"):
		return "git fetch, look at what is there and bring it into this branch, then git ralph start"
	case strings.Contains(why, "tasks to mend them"):
		return "fix them yourself and commit, or git ralph add \"…\"; then git ralph start"
	}
	return "git ralph start waits for them again; wait under [pr] in ralph.toml says how long"
}

// budgetMove is what to do when a budget is used up.
func (r Reader) budgetMove(run state.Run) string {
	const again = "git ralph start begins a new session with a new budget"
	set, err := r.Settings(run.Overrides)
	if err != nil {
		return again
	}
	raise := func(key string) string {
		return "git ralph set " + key + " N raises the limit of all sessions, then git ralph start"
	}
	switch l := set.Limits; {
	case l.TotalUSD > 0 && run.Cost.Total >= int64(l.TotalUSD):
		return raise("limits.total_usd")
	case l.TotalTokens > 0 && run.Tokens.Total() >= l.TotalTokens:
		return raise("limits.total_tokens")
	}
	return again
}

// GoesOn is the command that continues a phase.
func GoesOn(p state.Phase) string {
	if p == state.Building || p == "" {
		return "start"
	}
	return "run"
}

// Aside names the tasks that agents left out, each with the reason.
func (p Printer) Aside(of plan.Plan) {
	aside := of.SetAside()
	if len(aside) == 0 {
		return
	}
	p.Say("%s\n", p.Paint("33", "left out by agents, and not agreed to:"))
	var rows [][]string
	for _, id := range aside {
		t := of.Tasks[of.Find(id)]
		rows = append(rows, []string{"  " + string(t.ID), text.Clip(t.Title, 60), t.AsideReason()})
	}
	p.Table(rows)
}

// AsideHint is what a person may say about tasks that agents left out.
const AsideHint = "git ralph approve agrees to all of them; git ralph retry ID takes one back, then git ralph start"
