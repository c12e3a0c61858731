package loop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ralph/gitstate/state"
	"git-ralph/loop/refusal"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// A command whose program is missing or may not be run says nothing about the
// work, unless the program is part of the work. No agent can repair the machine,
// so the run ends without counting an attempt. A missing or non-executable file
// of the worktree is the attempt's own fault.

// Lack is a program that PATH does not have.
type Lack struct {
	Program string
	For     string      // check test, or a task's verify command
	Task    plan.TaskID // whose verify command it is; "" = a check
}

func environment(program string) string { return "environment: " + program + " not found" }

// programs refuses to start when PATH lacks programs that checks or runnable
// tasks need. For later tasks it only warns, because earlier tasks may create
// those programs.
func (l *Loop) programs(ctx context.Context, s state.State) error {
	runnable := s.Plan.Runnable()
	var tasks []plan.Task
	for _, t := range s.Plan.Tasks {
		if t.Status == plan.Pending {
			tasks = append(tasks, t)
		}
	}
	var lacks []Lack
	err := l.inWorktree(warm(s.Journal.ID), nil, func(start session.Starter) error {
		var err error
		lacks, err = l.Prover.Lacking(ctx, ProofRequest{Start: start, Dir: l.Repo.Root, Env: l.Settings.CheckEnv}, tasks)
		return err
	})
	if err != nil || ctx.Err() != nil {
		return err
	}
	var now []string
	for _, k := range lacks {
		if k.Task == "" || slices.Contains(runnable, k.Task) {
			now = append(now, fmt.Sprintf("%s, which %s needs", environment(k.Program), k.For))
			continue
		}
		l.Log("%s needs %s, and it is not there yet", k.For, k.Program)
	}
	if len(now) == 0 {
		return nil
	}
	return refusal.New(refusal.MissingProgram, "%s", strings.Join(now, "; "))
}

// lacking are the runs that failed for a missing program and are not tolerated.
func lacking(runs []state.CheckRun) []state.CheckRun {
	return slices.DeleteFunc(slices.Clone(runs), func(c state.CheckRun) bool {
		return c.Passed || c.Tolerated ||
			c.Missing == ""
	})
}

func named(runs []state.CheckRun, name string) []state.CheckRun {
	return slices.DeleteFunc(runs, func(c state.CheckRun) bool { return c.Name != name })
}

// workFile reports whether a program is a path of the worktree and no
// executable file is there.
func (l *Loop) workFile(program string) bool {
	if !strings.ContainsRune(program, '/') {
		return false
	}
	path := program
	if !filepath.IsAbs(path) {
		path = filepath.Join(l.Repo.Root, path)
	}
	if rel, err := filepath.Rel(l.Repo.Root, path); err != nil || !filepath.IsLocal(rel) {
		return false
	}
	st, err := os.Stat(path)
	return err != nil || !st.Mode().IsRegular() || st.Mode()&0o111 == 0
}

// blameEnvironment finds out whether checks, criteria or steps of an iteration
// failed because of a program that the worktree lacks without the attempt as
// well: they are run again on the checkpoint.
func (l *Loop) blameEnvironment(ctx context.Context, it *attempt, p proof) (proof, error) {
	runs := lacking(p.report.Runs)
	if p.checks.StepFailed != "" {
		runs = append(runs, named(lacking(it.stepsAfter), p.checks.StepFailed)...)
	}
	blamed := map[string]bool{}
	runs = slices.DeleteFunc(runs, func(c state.CheckRun) bool {
		if _, known := blamed[c.Missing]; !known {
			tools, taken := l.blameTools(c.Missing)
			p.add(tools)
			blamed[c.Missing] = taken || l.workFile(c.Missing)
		}
		return blamed[c.Missing]
	})
	if len(runs) == 0 {
		return p, nil
	}
	if _, err := l.Engine.Restore(l.background(), it.Before); err != nil {
		return p, fmt.Errorf("look at the checks without the attempt: %w", err)
	}
	var again []state.CheckRun
	err := l.guarded(it.Ready, readWrite, func(start session.Starter) error {
		req := l.proofRequest(it.Ready, start)
		req.Result = nil
		var err error
		again, err = l.Prover.Replay(ctx, req, runs)
		return err
	})
	if _, rerr := l.Engine.RestoreTo(l.background(), it.after); rerr != nil {
		return p, fmt.Errorf("put the attempt back: %w", rerr)
	}
	if ctx.Err() != nil {
		p.interrupted = true
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("run the checks without the attempt: %w", err)
	}
	for i, c := range again {
		if c.Missing == runs[i].Missing {
			p.checks.Environment = c.Missing
			return p, nil
		}
	}
	return p, nil
}

// environmentHalt ends the run. The setup is done again at the next start: it
// may have been what made the program.
func (l *Loop) environmentHalt(program string) *Action {
	if err := os.Remove(l.setupMarker()); err != nil && !os.IsNotExist(err) {
		l.Log("%v", err)
	}
	return &Action{Kind: Halt, Status: state.HaltedStatus, Reason: environment(program)}
}
