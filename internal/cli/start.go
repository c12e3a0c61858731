package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/config"
	"git-ralph/internal/view"
	"git-ralph/loop"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// StartCmd is `git ralph start`.
type StartCmd struct {
	RunFlags
	Once   bool `help:"One iteration."`
	DryRun bool `help:"Print the decision, the prompt and the preflight; change nothing."`
	Detach bool `help:"Go on without this terminal; git ralph watch attaches."`
}

// RunFlags are shared by the commands that run agents.
type RunFlags struct {
	MaxIterations *int     `placeholder:"N" help:"End after N finished iterations."`
	MaxCost       string   `placeholder:"USD" help:"End when this session has cost so much."`
	Mode          string   `complete:"modes" placeholder:"M" help:"handoff-only, handoff-plus-index or agent-orchestrated."`
	Agent         string   `complete:"agents" placeholder:"D" help:"claude, codex, gemini, opencode, acp, command or scripted."`
	Model         string   `placeholder:"NAME" help:"The agent's model."`
	OnLimit       string   `complete:"=wait,stop,fallback" placeholder:"wait|stop|fallback" help:"When the provider's limit is reached."`
	Script        string   `placeholder:"FILE" help:"Script of the agent scripted."`
	Worktree      bool     `help:"Work in a linked worktree of its own on the branch ralph/BRANCH: yours stays free. The end says how the work comes over."`
	Workers       int      `placeholder:"N" help:"Work on up to N tasks at once, each in a linked worktree of its own, and land the results one by one."`
	Dirty         string   `complete:"=refuse,commit" placeholder:"refuse|commit" help:"What to do with changed tracked files."`
	Unchecked     bool     `help:"Work although nothing could be verified."`
	Trust         bool     `help:"Trust the ralph.toml of this repository for this call."`
	Config        []string `placeholder:"FILE" sep:"none" help:"Further settings over ralph.toml; may be repeated."`
	Yes           bool     `short:"y" help:"Answer yes to every question."`
	JSON          bool     `name:"json" help:"Print events as lines of JSON."`
}

func (f *RunFlags) flags() map[string]string {
	m := map[string]string{}
	put := func(key, val string) {
		if val != "" {
			m[key] = val
		}
	}
	if f.MaxIterations != nil {
		m["loop.max_iterations"] = strconv.Itoa(*f.MaxIterations)
	}
	put("limits.session_usd", f.MaxCost)
	put("loop.mode", f.Mode)
	put("agent.driver", f.Agent)
	put("agent.model", f.Model)
	put("agent.on_limit", f.OnLimit)
	put("agent.script", f.Script)
	put("loop.dirty", f.Dirty)
	if f.Script != "" && f.Agent == "" {
		m["agent.driver"] = "scripted"
	}
	return m
}

// Run starts the loop.
func (c *StartCmd) Run(a *App) error {
	if c.Once {
		one := 1
		c.MaxIterations = &one
	}
	if c.MaxIterations != nil && *c.MaxIterations < 0 {
		return usage("--max-iterations 0 means no limit", "--max-iterations %d is negative", *c.MaxIterations)
	}
	if c.Detach && !c.DryRun {
		return a.detach(c.JSON)
	}
	a.takeDetached()
	if c.Workers < 0 || c.Workers > maxWorkers {
		return usage(fmt.Sprintf("1 to %d", maxWorkers), "--workers %d is no number of workers", c.Workers)
	}
	if c.Trust {
		a.Env = append(a.Env, "RALPH_TRUST=1")
	}
	if done, err := c.enter(a); done || err != nil {
		return err
	}
	j, err := a.Journal()
	if err != nil {
		return err
	}
	if _, err := j.Load(a.Ctx); errors.Is(err, journal.ErrNone) {
		return a.nothingYet(j)
	} else if err != nil {
		return err
	}
	if c.DryRun {
		set, err := a.Settings(c.flags(), c.Config)
		if err != nil {
			return err
		}
		return c.dryRun(a, set)
	}
	end, ran, err := a.launch(launch{flags: &c.RunFlags, work: planWork,
		before: func(s state.State, _ *config.Resolved) (bool, error) { return c.nothingToDo(a, s) },
		run: func(ctx context.Context, l *loop.Loop, _ state.State) (loop.End, error) {
			return l.Run(ctx, loop.RunOptions{Build: true})
		}})
	if err != nil || !ran {
		return err
	}
	if !c.JSON {
		a.summary(end)
	}
	return endError(end)
}

// enter goes to the linked worktree. A dry run makes none, and neither does a
// start that has nothing to do: true says that it was answered.
func (c *StartCmd) enter(a *App) (bool, error) {
	if c.DryRun {
		return false, a.lookLinked(&c.RunFlags)
	}
	if made, err := a.hasLinked(); c.Worktree && !made && err == nil {
		if snap, err := a.journal.Load(a.Ctx); err == nil {
			if done, err := c.nothingToDo(a, snap.State); done || err != nil {
				return true, err
			}
		}
	} else if err != nil {
		return false, err
	}
	return false, a.enterLinked(&c.RunFlags, needsJournal)
}

// nothingYet is the answer to a start on a branch without a journal.
func (a *App) nothingYet(j *journal.Journal) error {
	if err := cmp.Or(a.lostJournal(j, 8), a.journalThere(j, 8)); err != nil {
		return err
	}
	return gitstate.Hint(8, "git ralph import FILE, or git ralph add \"a first task\"",
		"the branch %s has no journal and no plan", j.Branch)
}

// endError turns the end of a run into its exit code.
func endError(end loop.End) error {
	if code := end.ExitCode(); code != 0 {
		return &ExitError{Code: code}
	}
	return nil
}

// nothingToDo answers a start that has no work, without starting anything.
func (c *StartCmd) nothingToDo(a *App, s state.State) (bool, error) {
	switch {
	case len(s.Plan.Tasks) == 0:
		return true, gitstate.Hint(8, "git ralph import FILE, git ralph add \"a task\", or git ralph run \"what you want\"",
			"the plan is empty")
	case s.Plan.Complete() && s.Run.Status == state.Complete:
		if c.JSON {
			return true, a.printLine(session.Live{Time: time.Now().UTC(), Event: "end", Message: "complete",
				Data: map[string]any{"status": state.Complete}})
		}
		n := s.Plan.Counts()
		if unmet := s.Report.Unmet(); unmet != "" {
			a.printf("complete: %s; ", unmet)
		} else {
			a.printf("complete: ")
		}
		a.printf("%d of %d tasks are done; nothing to do\n", n.Done, n.Wanted())
		return true, nil
	case s.Run.PauseAsked:
		return true, gitstate.Hint(6, "git ralph resume, then git ralph start", "the run is paused")
	case s.Run.Status == state.NeedsReview && strings.HasPrefix(s.Run.Reason, state.SetAside):
		return true, a.asideError(s)
	case s.Run.Status == state.NeedsReview:
		return true, gitstate.Hint(6, "git ralph approve, or git ralph reject \"why\"; then git ralph start",
			"the run waits for a person: %s", s.Run.Reason)
	case s.Plan.Complete() && s.Run.Iteration == 0 && c.Worktree:
		a.printf("complete: every task was left out by a person; nothing to do\n")
		return true, nil
	case s.Plan.Complete():
		return false, nil // nothing has shown yet that it stands: the loop does
	case breakerHolds(s.Run.Breaker, time.Now()):
		return true, gitstate.Hint(5, "git ralph log shows why; git ralph resume allows one attempt",
			"the circuit breaker is open: %s", s.Run.Breaker.Reason)
	}
	return false, nil
}

// breakerHolds says whether an open breaker lets nothing through. The loop
// decides about one that a budget opened: a new session has a new budget, and a
// limit may have been raised.
func breakerHolds(b state.Breaker, now time.Time) bool {
	return b.State == "open" && !loop.IsBudget(b.Reason) && (b.Until == nil || now.Before(*b.Until))
}

// asideError refuses to go on before a person has decided about the tasks that
// agents left out.
func (a *App) asideError(s state.State) error {
	return gitstate.Hint(6, view.AsideHint, "agents left out %s of the plan, and a person decides: %s",
		view.Plural(len(s.Plan.SetAside()), "task"),
		strings.TrimPrefix(s.Run.Reason, state.SetAside))
}

// interrupts makes Ctrl-C, SIGTERM and SIGHUP end the context once, and the
// process when they come again at least a second later: git forwards the
// first one twice.
func (a *App) interrupts() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(a.Ctx)
	ch := make(chan os.Signal, 4)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	go func() {
		var first time.Time
		for sig := range ch {
			switch {
			case sig == syscall.SIGPIPE && !outputGone():
				// Every broken pipe and socket raises it: a watcher left, or a program stopped reading.
			case first.IsZero():
				first = time.Now()
				fmt.Fprintln(a.Err, "\ninterrupted: keeping the attempt as evidence and restoring the checkpoint (again to leave "+
					"at once)")
				cancel()
			case time.Since(first) >= time.Second:
				os.Exit(130)
			}
		}
	}()
	return ctx, func() { signal.Stop(ch); cancel() }
}

// summary says what the run did and what comes next.
func (a *App) summary(end loop.End) {
	s := end.State
	n := s.Plan.Counts()
	a.printf("\n%s", a.colour(a.Out, "1", string(end.Status)))
	if end.Reason != "" && end.Reason != string(end.Status) {
		a.printf(": %s", end.Reason)
	}
	a.printf("\n")
	if why := view.Why(end.Reason); why != "" {
		a.printer().Say("  %s\n", a.colour(a.Out, "2", why))
	}
	var rows [][]string
	rows = append(rows, []string{"iterations",
		fmt.Sprintf("%d in this session, %d in all", s.Run.SessionIterations, s.Run.Iteration)})
	tasks := fmt.Sprintf("%d of %d done", n.Done, n.Wanted())
	if s.Run.SessionDone > 0 {
		tasks += fmt.Sprintf(", %d in this session", s.Run.SessionDone)
	}
	for _, x := range []struct {
		n    int
		word string
	}{{n.Failed, "failed"}, {n.Blocked, "blocked"}, {n.SetAside, "set aside"}, {n.Skipped - n.SetAside, "skipped"},
		{n.Pending, "pending"}} {
		if x.n > 0 {
			tasks += fmt.Sprintf(", %d %s", x.n, x.word)
		}
	}
	rows = append(rows, []string{"tasks", tasks}, []string{"proved", notes.OneLine(end.Proved.String(), 1000)})
	if t := s.Run.Tokens.Total(); t > 0 {
		rows = append(rows, []string{"tokens", fmt.Sprintf("%d in this session, %d in all", s.Run.Used.Tokens, t)})
	}
	if s.Run.Cost.Total > 0 || s.Run.Tokens.Total() > 0 {
		cost := fmt.Sprintf("$%s in this session, $%s in all", view.USD(s.Run.Cost.Session), view.USD(s.Run.Cost.Total))
		if s.Run.Cost.Unknown {
			cost += " (some runs reported none)"
		}
		rows = append(rows, []string{"cost", cost})
	}
	rows = append(rows, []string{"time", view.Duration(s.Run.LastAt.Sub(s.Run.StartedAt).Milliseconds())})
	a.printer().Table(rows)
	a.printer().Aside(s.Plan)
	if end.Status == state.BlockedStatus {
		a.printer().Blockers(s.Plan)
	}
	end.State.Journal.Branch = a.journal.Branch // that of a linked worktree names its origin
	a.printer().Say("%s %s\n", a.colour(a.Out, "36", "next:"), a.reader().NextMove(end))
	a.homeward()
}

// pendingTasks are those that a run would work on.
func pendingTasks(p plan.Plan) []plan.Task {
	var out []plan.Task
	for _, t := range p.Tasks {
		if t.Status == plan.Pending || t.Status == plan.InProgress {
			out = append(out, t)
		}
	}
	return out
}
