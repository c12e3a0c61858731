package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/config"
	"git-ralph/internal/text"
	"git-ralph/internal/view"
	"git-ralph/loop"
	"git-ralph/loop/recovery"
	"git-ralph/loop/session"
)

// launch is one session of agents: what start, run and the commands of single
// phases have in common.
type launch struct {
	flags *RunFlags
	work  workKind
	// before answers without starting anything when there is nothing to start;
	// optional.
	before func(s state.State, set *config.Resolved) (done bool, err error)
	// answers to questions of agents; nil = the terminal alone.
	answers *answers
	// quiet reports whether nothing is shown while it runs.
	quiet bool
	run   func(ctx context.Context, l *loop.Loop, s state.State) (loop.End, error)
}

// launch takes the locks, repairs what a dead run left, looks ahead and runs.
// False means that it ended before anything was started.
func (a *App) launch(c launch) (loop.End, bool, error) {
	if c.flags.Trust {
		a.Env = append(a.Env, "RALPH_TRUST=1")
	}
	repo, j, err := a.repoAndJournal()
	if err != nil {
		return loop.End{}, false, err
	}
	if here, ok := repo.LinkedHere(); ok && a.linked == nil {
		a.linked = &here // entered by a person
		if err := a.linkedBranch(repo); err != nil {
			return loop.End{}, false, err
		}
	}
	set, err := a.Settings(c.flags.flags(), c.flags.Config)
	if err != nil {
		return loop.End{}, false, err
	}
	ctx, cancel := a.interrupts()
	defer cancel()

	free, err := lockAll(func() (*gitstate.Lock, error) { return repo.LockBranch(j.Branch) }, repo.LockWorktree)
	if err != nil {
		return loop.End{}, false, err
	}
	defer free()
	e, err := a.engine(set)
	if err != nil {
		return loop.End{}, false, err
	}
	if err := a.recoverAll(c, j, e, set); err != nil {
		return loop.End{}, false, err
	}
	sharing, err := a.sharing(ctx, set, j, e)
	if err != nil {
		return loop.End{}, false, err
	}
	snap, done, err := c.load(a, j, set)
	if done || err != nil {
		return loop.End{}, false, err
	}
	l, err := a.preflight(ctx, set, snap.State, c.flags, c.work)
	if err != nil {
		return loop.End{}, false, err
	}
	l.Engine, l.Share = e, sharing
	if l.Gate, err = a.gate(set); err != nil {
		return loop.End{}, false, err
	}
	if c.flags.Workers > 0 {
		if l.Team, err = a.team(ctx, c.flags, set, l); err != nil {
			return loop.End{}, false, err
		}
		defer a.dropWorkers()
	}
	a.announce(c, set, snap.State.Run.Sandbox, l.Sandbox.Mechanism())
	out := newReporter(a, c.flags.JSON)
	if l.Emit = a.emitter(out, set); c.quiet {
		l.Emit = nil
	} else {
		out.open(set)
		defer out.close()
	}
	l.Answer = a.answerer(c)
	a.resolves(c, l)
	end, err := c.run(ctx, l, snap.State)
	out.close()
	if err != nil {
		return end, true, err
	}
	if err := recovery.Prune(repo, j, set.Evidence.Keep); err != nil {
		a.warn("old evidence could not be pruned: %v", err)
	}
	a.notify(set, end)
	return end, true, nil
}

// load reads the state and asks c.before, which may end the command and may write to the journal.
func (c launch) load(a *App, j *journal.Journal, set *config.Resolved) (snap *journal.Snapshot, done bool, err error) {
	if snap, err = j.Load(a.Ctx); err != nil || c.before == nil {
		return snap, false, err
	}
	if done, err = c.before(snap.State, set); done || err != nil {
		return nil, done, err
	}
	snap, err = j.Load(a.Ctx)
	return snap, false, err
}

// recoverAll repairs what a dead run and its workers left, and follows commits of people.
func (a *App) recoverAll(c launch, j *journal.Journal, e *worktree.Engine, set *config.Resolved) error {
	if err := a.recoverRun(j, e, set); err != nil {
		return err
	}
	if err := a.recoverWorkers(j, e, set); err != nil {
		return err
	}
	if c.flags.Workers == 0 {
		a.dropWorkers()
	}
	return a.follow(j, e)
}

// emitter shows what happens, and sends a notification when a limit is reached.
func (a *App) emitter(out *reporter, set *config.Resolved) func(session.Live) {
	if len(set.Notify.Limit) == 0 {
		return out.emit
	}
	return func(e session.Live) {
		out.emit(e)
		if e.Event == "wait" && (e.Message == string(session.UsageLimit) || e.Message == string(session.RateLimited)) {
			go a.notifyLimit(set, e.Message)
		}
	}
}

// announce says where the run works and what is different from the last time.
func (a *App) announce(c launch, set *config.Resolved, was, is string) {
	if was != "" && was != is {
		a.warn("the last session ran with the sandbox %s, this one runs with %s: %s", was, is,
			view.SandboxLine(is, set.Guard.Sockets))
	}
	if c.flags.JSON || c.quiet {
		return
	}
	if a.linked != nil && a.typed != "" {
		a.printf("working in %s on %s; git ralph -C %s status shows it\n", a.linked.Root, a.linked.Branch,
			text.Shell(a.linked.Root))
	}
	if a.linked == nil && c.work == planWork && terminal(a.Out) {
		a.printer().Say("the run works in this folder; to keep working here yourself: git ralph start --worktree\n")
	}
}

// resolves lets the loop read its settings again when `set` changes them.
func (a *App) resolves(c launch, l *loop.Loop) {
	// What this start added to the settings stays when `set` changes others.
	keep := func(s loop.Settings) loop.Settings {
		s.Versions, s.Unchecked, s.SetupPrompt = l.Settings.Versions, l.Settings.Unchecked, l.Settings.SetupPrompt
		if c.flags.Yes {
			s.ConfirmSpecs, s.ConfirmPlan = false, false
		}
		return s
	}
	l.Settings = keep(l.Settings)
	l.Resolve = func(over map[string]string) (loop.Settings, error) {
		src, err := a.sources(c.flags.Config, over)
		if err != nil {
			return loop.Settings{}, err
		}
		src.Flags = c.flags.flags()
		res, err := config.Load(src)
		if err != nil {
			return loop.Settings{}, err
		}
		return keep(a.loopSettings(res)), nil
	}
}

// setupPrompt reads the file that project.setup_prompt names.
func (a *App) setupPrompt(set *config.Resolved, root string) (string, error) {
	name := set.Project.SetupPrompt
	if name == "" {
		return "", nil
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(root, filepath.FromSlash(path))
	}
	data, err := os.ReadFile(path)
	if err == nil && strings.TrimSpace(string(data)) == "" {
		err = fmt.Errorf("%s is empty", name)
	}
	if err != nil {
		return "", gitstate.Hint(8, "write the file, or set setup_prompt = \"\" under [project] in ralph.toml",
			"read project.setup_prompt: %w", err)
	}
	return string(data), nil
}

// waiting refuses a command that would run agents while a person has to
// decide first, with exit code 6; nil when nothing waits. yes approves what
// it may approve: specs and plans, not a validation.
func (a *App) waiting(s state.State, set *config.Resolved, yes bool) error {
	switch {
	case s.Run.PauseAsked:
		return gitstate.Hint(6, "git ralph resume, then the same again", "the run is paused")
	case s.Run.Status == state.NeedsReview && yes && (s.Run.Phase == state.Discovery ||
		s.Run.Phase == state.Planning) && s.Run.PhaseDone:
		return a.recordOperator(state.Operator{Command: "approve"})
	case s.Run.Status == state.NeedsReview && strings.HasPrefix(s.Run.Reason, state.SetAside):
		return a.asideError(s)
	case s.Run.Status == state.NeedsReview:
		return gitstate.Hint(6, "look at it, then git ralph approve or git ralph reject \"why\"",
			"the run waits for a person: %s", s.Run.Reason)
	case breakerHolds(s.Run.Breaker, a.journal.Now()):
		return gitstate.Hint(5, "git ralph log shows why; git ralph resume allows one attempt",
			"the circuit breaker is open: %s", s.Run.Breaker.Reason)
	}
	return nil
}

func (a *App) recordOperator(o state.Operator) error {
	_, err := a.journal.Append(a.Ctx, func(state.State) (state.Event, error) { return operator(o), nil })
	return err
}

// begun makes sure that the branch has a journal, for commands that may be the
// first ones.
func (a *App) begun() error {
	j, err := a.Journal()
	if err != nil {
		return err
	}
	_, err = a.ensureJournal(j)
	return err
}

// maxSentence bounds what a person asks for: longer texts are files that the
// sentence should name.
const maxSentence = 32 << 10

// sentence is the text of a request: words of the command line, @FILE, or - for
// standard input.
func (a *App) sentence(words []string) (string, error) {
	text := strings.TrimSpace(strings.Join(words, " "))
	if len(words) == 1 {
		if name, ok := strings.CutPrefix(words[0], "@"); ok || words[0] == "-" {
			if !ok {
				name = "-"
			}
			data, err := a.readInput(name)
			if err != nil {
				return "", err
			}
			if text = strings.TrimSpace(string(data)); text == "" {
				return "", usage("say what you want in it", "%s is empty", words[0])
			}
		}
	}
	if len(text) > maxSentence {
		return "", usage("put the details into files of the project and name them",
			"a request of %d bytes is too long; at most %d KiB", len(text), maxSentence>>10)
	}
	return text, nil
}

// questions shows what agents want to know, and how it is answered.
func (a *App) questions(open []state.Question) {
	for _, q := range open {
		a.printf("%s %s\n", a.colour(a.Out, "33", q.ID+":"), q.Text)
		for _, o := range q.Options {
			a.printf("    - %s\n", o)
		}
	}
}
