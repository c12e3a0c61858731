package cli

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/state"
	"git-ralph/internal/config"
	"git-ralph/internal/view"
	"git-ralph/loop"
	"git-ralph/loop/session"
)

// RunCmd is `git ralph run`.
type RunCmd struct {
	RunFlags
	Text    []string `arg:"" optional:"" help:"What you want; @FILE reads it from a file. Without it the run continues."`
	Answers string   `placeholder:"FILE" help:"Answers to the agent's questions: one a line, or JSON."`
}

// Help says more.
func (RunCmd) Help() string {
	return "Discovery, planning, building and validation, one after the other; what the validation finds goes back to " +
		"building. " +
		"The run pauses where a person is wanted: git ralph answer, approve or reject, and git ralph run again."
}

// Run goes through all phases.
func (c *RunCmd) Run(a *App) error { return a.goThrough(&c.RunFlags, c.Text, c.Answers, "") }

// goThrough takes what a person wants through all phases, or through one alone.
func (a *App) goThrough(f *RunFlags, words []string, answers string, only state.Phase) error {
	text, err := a.sentence(words)
	if err != nil {
		return err
	}
	given, err := a.readAnswers(answers)
	if err != nil {
		return err
	}
	if err := a.enterLinked(f, mayBeginJournal); err != nil {
		return err
	}
	if err := a.begun(); err != nil {
		return err
	}
	options := loop.RunOptions{}
	end, ran, err := a.launch(launch{flags: f, answers: given,
		before: func(s state.State, set *config.Resolved) (bool, error) {
			if only != "" && text == "" && (s.Run.Phase != only || s.Run.Request == "") {
				return true, usage(`git ralph discover "Build …"`, "say what you want")
			}
			done, next, err := a.underway(s, set, text, given, f)
			options, options.Only = next, only != ""
			return done, err
		},
		run: func(ctx context.Context, l *loop.Loop, _ state.State) (loop.End, error) {
			return l.Run(ctx, options)
		}})
	if err != nil || !ran {
		return err
	}
	if !f.JSON {
		if only != "" && end.Status == state.Ready {
			a.specs()
		}
		a.phaseEnd(end)
		a.summary(end)
	}
	return endError(end)
}

// underway finds out where a run stands, and the options of what comes next. True means
// that there is nothing to run.
func (a *App) underway(s state.State, set *config.Resolved, text string, given *answers, f *RunFlags) (bool,
	loop.RunOptions, error) {
	if text != "" && (text != s.Run.Request || s.Run.Status == state.Complete) {
		if s.Run.PauseAsked {
			return true, loop.RunOptions{}, a.waiting(s, set, f.Yes)
		}
		return false, loop.RunOptions{Phase: state.Discovery, Request: text}, nil
	}
	if err := a.answerOpen(s, given); err != nil {
		return true, loop.RunOptions{}, err
	}
	if err := a.waiting(s, set, f.Yes); err != nil {
		return true, loop.RunOptions{}, err
	}
	snap, err := a.journal.Load(a.Ctx)
	if err != nil {
		return true, loop.RunOptions{}, err
	}
	s = snap.State
	if open := loop.OpenQuestions(s); s.Run.Phase == state.Discovery && len(open) > 0 && !a.mayAnswer(f) {
		if !f.JSON {
			a.questions(open)
		}
		return true, loop.RunOptions{}, gitstate.Hint(6, "git ralph answer "+open[0].ID+
			" \"…\", or --answers FILE; then git ralph run", "the run waits for answers to %s",
			view.Plural(len(open), "question"))
	}
	if s.Run.Phase == state.Discovery && s.Run.Request == "" && !s.Run.PhaseDone && len(s.Plan.Tasks) == 0 {
		specs, err := loop.ReadSpecs(a.repo.Root)
		if err != nil {
			return true, loop.RunOptions{}, err
		}
		for _, sp := range specs {
			if len(sp.Problems) == 0 {
				return false, loop.RunOptions{Phase: state.Planning}, nil
			}
		}
		return true, loop.RunOptions{}, usage(
			`git ralph run "Build …"; a plan that exists is read by git ralph import FILE`,
			"there is nothing to continue: say what you want")
	}
	gates := loop.Gates{Specs: set.Discovery.Confirm && !f.Yes, Plan: set.Planning.Confirm && !f.Yes,
		Report: set.Validation.HumanApproval, Rounds: set.Validation.Rounds}
	if d := loop.DecidePhase(s, gates); d.Kind == loop.Halt && d.Status == state.Complete {
		if f.JSON {
			return true, loop.RunOptions{}, a.printLine(session.Live{Time: a.journal.Now(), Event: "end",
				Message: strings.TrimSuffix("complete: "+d.Reason, ": "),
				Data:    map[string]any{"status": state.Complete, "reason": d.Reason}})
		}
		a.printf("complete: %s; nothing to do\n", cmp.Or(d.Reason, "the work is validated"))
		return true, loop.RunOptions{}, nil
	}
	return false, loop.RunOptions{}, nil
}

// mayAnswer says that a person is at the terminal.
func (a *App) mayAnswer(f *RunFlags) bool { return terminal(a.In) && terminal(a.Err) && !f.JSON }

// phaseEnd shows what the phase in which a session ended has left.
func (a *App) phaseEnd(end loop.End) {
	s := end.State
	switch {
	case end.Status == state.Paused && len(loop.OpenQuestions(s)) > 0:
		a.printf("\n")
		a.questions(loop.OpenQuestions(s))
	case s.Run.Phase == state.Discovery && end.Status == state.NeedsReview:
		a.specs()
	case s.Run.Phase == state.Planning && end.Status == state.NeedsReview:
		a.printf("\n")
		a.planTree(s)
	case s.Run.Phase == state.Validation && s.Report != nil:
		a.printf("\n%s", reportMarkdown(*s.Report))
	}
}

// specs lists the specs of the worktree.
func (a *App) specs() {
	list, err := loop.ReadSpecs(a.repo.Root)
	if err != nil {
		a.warn("%v", err)
		return
	}
	a.printf("\n")
	for _, sp := range list {
		a.printf("%s  %s, %s\n", sp.Path, sp.Title, criteriaCount(len(sp.Criteria)))
		for _, p := range append(append([]string{}, sp.Problems...), sp.Warnings...) {
			a.printf("    %s\n", a.colour(a.Out, "33", p))
		}
	}
}

func criteriaCount(n int) string {
	if n == 1 {
		return "1 acceptance criterion"
	}
	return strconv.Itoa(n) + " acceptance criteria"
}
