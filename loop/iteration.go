package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/proc"
	"git-ralph/loop/recovery"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// iterate carries a job of any kind through one iteration. Nothing of it is
// visible before prepare has recorded its start, and settle is its only end; the
// zero Ending says that it did not begin, because its task is gone.
func (l *Loop) iterate(ctx context.Context, s state.State, job Job) (Ending, error) {
	rd, err := l.prepare(ctx, s, job)
	if rd != nil {
		defer l.behind.Go(rd.release)
	}
	if rd == nil || err != nil {
		return Ending{}, err
	}
	if rd.stop != nil {
		return l.endPrepared(rd)
	}
	it, err := l.tryWork(ctx, rd)
	if err != nil {
		return Ending{}, err
	}
	v := Judge(it.facts)
	if it.moved == nil && ctx.Err() == nil && wantsSecond(rd.choice, it.facts, v) {
		if it, v, err = l.second(ctx, it, v); err != nil {
			return Ending{}, err
		}
	}
	return l.settle(ctx, it, v)
}

// taskJob is the work on a task of the plan.
func taskJob(t plan.Task) Job {
	return Job{phase: state.Building, role: session.RoleCoding, task: t, attempt: t.Attempts + 1, claims: true}
}

// prepare takes the checkpoint, records the start and lets helper agents make
// ready what the agent will read. nil without an error means that the job is
// gone. What comes back has to be released, with an error as well.
func (l *Loop) prepare(ctx context.Context, s state.State, job Job) (*Ready, error) {
	var err error
	rd := &Ready{Job: job, helped: &helped{state: s}, asked: s, started: l.Now(),
		number: s.Run.Iteration + 1}
	rd.id = gitstate.NewID(rd.started)
	rd.Record = &recovery.Record{Place: l.place(), Journal: s.Journal.ID, Event: rd.id, Number: rd.number}
	if rd.branch, rd.tip, err = l.head(ctx); err != nil {
		return rd, err
	}
	if rd.Before, err = l.Engine.Checkpoint(ctx); err != nil {
		return rd, fmt.Errorf("take the checkpoint: %w", err)
	}
	for _, n := range rd.Before.Oversized {
		l.Log("%s is large and untracked: it is left alone", n)
	}
	l.noteTools(rd.Before.IgnoredFolders())
	if err := rd.Hold(ctx, rd.tip, rd.started); err != nil {
		return rd, err
	}
	runDir, err := session.NewRunDir(l.RunBase)
	if err != nil {
		return rd, err
	}
	if job.proved != nil {
		rd.AddOutputs(job.proved.Outputs)
	}
	if rd.role == session.RoleCoding {
		rd.choice = Choose(l.Settings.Ladder, job.task.Rung)
	}
	rd.around = l.readSurroundings(rd.task.Skills)
	rd.prompt = l.assemble(rd, "")
	rd.use = session.Use{Agent: true, Driver: l.driver(rd.role), Dir: l.Repo.Root, Home: warm(s.Journal.ID),
		RunDir: runDir, Files: l.AgentFiles,
		ReadOnly:      rd.phase == state.Planning,
		ReadOnlyPaths: l.covered(rd.Before)}
	rd.foreign = l.foreign()
	err = l.start(rd)
	if errors.Is(err, journal.ErrNothing) {
		rd.release()
		return nil, nil
	}
	if err == nil {
		err = l.prepareHelpers(ctx, rd)
	}
	return rd, err
}

// release lets go of what an iteration holds outside of the repository.
func (r *Ready) release() {
	r.git.Close()
	if r.use.RunDir != "" {
		os.RemoveAll(r.use.RunDir)
	}
}

// start records iteration-start; from here on the iteration has a number.
func (l *Loop) start(it *Ready) error {
	host, _ := os.Hostname()
	self := proc.Self()
	snap, err := l.Journal.Append(l.background(), func(s state.State) (state.Event, error) {
		if it.claims {
			// A person may have skipped or edited the task since it was chosen.
			i := s.Plan.Find(it.task.ID)
			free := i >= 0 && s.Plan.Tasks[i].Status == plan.Pending
			if it.under != "" {
				free = s.Holds(it.under)
			}
			if !free || s.Run.StopAsked > 0 || s.Run.PauseAsked {
				return state.Event{}, journal.ErrNothing
			}
		}
		if it.number = s.Run.Iteration + 1; it.under != "" {
			it.number = it.turn
		}
		it.Number = it.number
		return state.Event{Type: state.EvStart, Time: it.started, Phase: it.phase, Iteration: it.number,
			Task: it.task.ID, Attempt: it.attempt, Under: it.under,
			Start: &state.Start{IterationID: it.id, Branch: it.branch, Tip: object.Hex(it.tip), Checkpoint: it.Anchor.String(),
				HeadRef: gitstate.BranchRef(it.branch), Worktree: l.Repo.Root, Agent: l.Settings.Driver,
				Model: l.model(it.role, it.task, it.choice),
				Rung:  it.choice.Rung, Step: it.choice.Step, Effort: l.effort(it.role, it.choice),
				Role: string(it.role), Sandbox: l.Sandbox.Mechanism(), Mode: l.Settings.Mode, Guidance: it.prompt.Guidance,
				PID: self.Pid, BootID: self.BootID, StartTime: self.StartTime, Host: host,
				Shared: l.shared().Names, NotShared: l.shared().Not,
				PromptTokens: it.prompt.Tokens, Dropped: it.prompt.Dropped}}, nil
	})
	if err != nil {
		return err
	}
	l.fail("iteration:started")
	it.state = snap.State
	if it.git, err = l.Repo.TakeSnapshot(l.background(), nil); err != nil {
		return fmt.Errorf("note git's own state: %w", err)
	}
	if !l.isolated() {
		if err := it.git.NoteModes(); err != nil {
			return err
		}
	}
	if it.ours, err = l.ours(); err != nil {
		return err
	}
	if it.secrets, err = l.readSecrets(); err != nil {
		return err
	}
	if n := proc.MemoryKills(); n >= 0 {
		it.kills = &n
	}
	l.emit("iteration_start", it.state, it.task.ID, map[string]any{"attempt": it.attempt,
		"prompt_tokens": it.prompt.Tokens, "event_id": it.id},
		"iteration %d: %s", it.number, it.name())
	return nil
}

// model is what a run works with, "" = the client's own choice: the fallback while
// the provider is limited, then the ladder, the task, the role.
func (l *Loop) model(role session.Role, task plan.Task, c Choice) string {
	if l.limited(l.Now()) {
		if l.FallbackAgent != nil || l.Settings.Fallback != "" {
			return l.Settings.Fallback // with another client: "" = the default of that client
		}
	}
	if role == session.RoleCoding {
		if m := cmp.Or(c.Model, task.Model); m != "" {
			return m
		}
	}
	if r := l.Settings.Roles[role]; r.Model != "" {
		return r.Model
	}
	return l.Settings.Model
}

func promptRole(r session.Role) string {
	if r == session.RoleCoding {
		return "building"
	}
	return string(r)
}
