package cli

import (
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/view"
	"git-ralph/plan"
)

// SkipCmd is `git ralph skip`.
type SkipCmd struct {
	IDs     []string `complete:"tasks" arg:"" name:"id" help:"Tasks to skip."`
	Reason  string   `short:"m" placeholder:"TEXT" help:"Why."`
	Cascade bool     `help:"Also skip the tasks that wait for them; otherwise those keep waiting."`
}

// Run skips tasks.
func (c *SkipCmd) Run(a *App) error {
	var ids, waiting []plan.TaskID
	var before plan.Plan
	_, changed, err := a.changeTasks(func(s state.State) (state.Event, error) {
		named, err := taskIDs(s.Plan, c.IDs)
		if err != nil {
			return state.Event{}, err
		}
		ids, waiting, before = nil, nil, s.Plan
		var done []plan.TaskID
		seen := map[plan.TaskID]bool{}
		for _, id := range named {
			all := []plan.TaskID{id}
			rest := s.Plan.Waiting(id)
			if c.Cascade {
				all = append(all, rest...)
			} else {
				waiting = append(waiting, rest...)
			}
			for _, id := range all {
				t := s.Plan.Tasks[s.Plan.Find(id)]
				switch {
				case t.Status == plan.Done:
					done = append(done, id)
				case (t.Status != plan.Skipped || t.SetAside()) && !seen[id]:
					ids = append(ids, id)
				}
				seen[id] = true
			}
		}
		if len(done) > 0 {
			return state.Event{}, gitstate.Hint(1, "git ralph rewind takes work back", "%s is done", view.JoinIDs(done))
		}
		return taskEvent(ids, "skip", plan.Skipped, c.Reason)
	})
	if err != nil {
		return err
	}
	if !changed {
		a.printf("%s: skipped already\n", strings.Join(c.IDs, ", "))
		return nil
	}
	a.eachTask(before, ids, "skipped")
	if len(waiting) > 0 {
		a.printf("waiting for tasks that will not be done: %s; --cascade skips those, too\n", view.JoinIDs(waiting))
	}
	return nil
}

// taskEvent is the event of a person's decision about tasks.
func taskEvent(ids []plan.TaskID, action string, to plan.Status, reason string) (state.Event, error) {
	if len(ids) == 0 {
		return state.Event{}, journal.ErrNothing
	}
	e := state.Event{Type: state.EvTask, TaskSet: &state.TaskChange{Action: action, IDs: ids, Status: to,
		Reason: strings.TrimSpace(reason), Reset: action == "retry"}}
	if len(ids) == 1 {
		e.Task = ids[0]
	}
	return e, nil
}

// eachTask prints one line a task.
func (a *App) eachTask(p plan.Plan, ids []plan.TaskID, word string) {
	for _, id := range ids {
		title := ""
		if i := p.Find(id); i >= 0 {
			title = p.Tasks[i].Title
		}
		a.printf("%s %s %s%s\n", word, id, title, a.note())
	}
}

// RetryCmd is `git ralph retry`.
type RetryCmd struct {
	IDs              []string `complete:"tasks" arg:"" optional:"" name:"id" help:"Tasks to try again."`
	Failed           bool     `help:"Every failed task."`
	AllowTestChanges bool     `help:"Let them weaken tests. A running task gets the permission with its next attempt."`
}

// Run makes tasks pending again.
func (c *RetryCmd) Run(a *App) error {
	if len(c.IDs) == 0 && !c.Failed {
		return usage("git ralph retry T-003, or git ralph retry --failed", "name a task, or say --failed")
	}
	var ids []plan.TaskID
	var before plan.Plan
	_, changed, err := a.changeTasks(func(s state.State) (state.Event, error) {
		named, err := taskIDs(s.Plan, c.IDs)
		if err != nil {
			return state.Event{}, err
		}
		ids, before = nil, s.Plan
		for _, t := range s.Plan.Tasks {
			if c.Failed && t.Status == plan.Failed {
				named = append(named, t.ID)
			}
		}
		seen := map[plan.TaskID]bool{}
		for _, id := range named {
			t := s.Plan.Tasks[s.Plan.Find(id)]
			allow := c.AllowTestChanges && !t.AllowTestChanges
			if t.Status == plan.InProgress && !c.AllowTestChanges {
				return state.Event{}, gitstate.Hint(1, "git ralph skip "+string(id)+" stops it", "%s is being worked on", id)
			}
			if !seen[id] && (allow || t.Status != plan.InProgress && (t.Status != plan.Pending || t.Attempts > 0)) {
				ids = append(ids, id)
			}
			seen[id] = true
		}
		e, err := taskEvent(ids, "retry", plan.Pending, "")
		if err == nil {
			e.TaskSet.AllowTestChanges = c.AllowTestChanges
		}
		return e, err
	})
	if err != nil {
		return err
	}
	if !changed {
		if c.Failed && len(c.IDs) == 0 {
			a.printf("no task has failed\n")
		} else {
			a.printf("%s: pending already, with no attempt spent\n", strings.Join(c.IDs, ", "))
		}
		return nil
	}
	word := "to be tried again:"
	if c.AllowTestChanges {
		word = "may change tests, to be tried again:"
	}
	a.eachTask(before, ids, word)
	return nil
}

// BlockCmd is `git ralph block`.
type BlockCmd struct {
	ID     string   `complete:"tasks" arg:"" name:"id" help:"The task."`
	Reason []string `arg:"" help:"What it waits for."`
}

// Run blocks a task.
func (c *BlockCmd) Run(a *App) error {
	reason := strings.TrimSpace(strings.Join(c.Reason, " "))
	if reason == "" {
		return usage(`git ralph block `+c.ID+` "what it waits for"`, "a blocked task needs a reason")
	}
	var ids []plan.TaskID
	var before plan.Plan
	_, changed, err := a.changeTasks(func(s state.State) (state.Event, error) {
		var err error
		if ids, err = taskIDs(s.Plan, []string{c.ID}); err != nil {
			return state.Event{}, err
		}
		before = s.Plan
		t := s.Plan.Tasks[s.Plan.Find(ids[0])]
		if t.Status == plan.Done {
			return state.Event{}, gitstate.Hint(1, "git ralph retry "+string(t.ID)+" makes it pending again", "%s is done", t.ID)
		}
		if t.Status == plan.Blocked && len(t.BlockedBy) == 1 && t.BlockedBy[0] == reason {
			return state.Event{}, journal.ErrNothing
		}
		return taskEvent(ids, "block", plan.Blocked, reason)
	})
	if err != nil {
		return err
	}
	if !changed {
		a.printf("%s is blocked for that reason already\n", view.JoinIDs(ids))
		return nil
	}
	a.eachTask(before, ids, "blocked")
	return nil
}

// UnblockCmd is `git ralph unblock`.
type UnblockCmd struct {
	IDs []string `complete:"tasks" arg:"" name:"id" help:"The tasks."`
}

// Run makes blocked tasks pending.
func (c *UnblockCmd) Run(a *App) error {
	var ids []plan.TaskID
	var before plan.Plan
	_, changed, err := a.changeTasks(func(s state.State) (state.Event, error) {
		named, err := taskIDs(s.Plan, c.IDs)
		if err != nil {
			return state.Event{}, err
		}
		ids, before = nil, s.Plan
		for _, id := range named {
			t := s.Plan.Tasks[s.Plan.Find(id)]
			switch t.Status {
			case plan.Blocked, plan.Skipped:
				ids = append(ids, id)
			case plan.Failed:
				return state.Event{}, gitstate.Hint(1, "git ralph retry "+string(id), "%s has failed and is not blocked", id)
			}
		}
		return taskEvent(ids, "unblock", plan.Pending, "")
	})
	if err != nil {
		return err
	}
	if !changed {
		a.printf("%s: nothing blocks it\n", strings.Join(c.IDs, ", "))
		for _, b := range before.Blockers() {
			for _, id := range c.IDs {
				if strings.EqualFold(id, string(b.ID)) {
					a.printf("  %s %s\n", b.ID, b.Reason)
				}
			}
		}
		return nil
	}
	a.eachTask(before, ids, "unblocked")
	return nil
}
