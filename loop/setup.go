package loop

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/loop/refusal"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// makeReady does what comes before the first task: the setup commands, the
// baseline, the iteration of project.setup_prompt.
func (l *Loop) makeReady(ctx context.Context, s state.State, c RunOptions) (*Action, error) {
	var err error
	if !c.Build && !l.Settings.Unchecked { // start has asked before it began
		if err := l.CheckProvable(s.Plan); err != nil {
			return nil, err
		}
	}
	if _, ok := plan.Next(s.Plan); !ok {
		return nil, nil // nothing will be worked on
	}
	if err := l.setup(ctx, s); err != nil {
		return nil, err
	}
	if l.Settings.SetupPrompt != "" && !s.Run.SetUp {
		// What is missing now may be what the preparation brings.
		if err := l.baseline(ctx, s, setupPending); err != nil {
			return nil, err
		}
		if halt, err := l.setupPrompt(ctx); halt != nil || err != nil {
			return halt, err
		}
		if s, err = l.load(); err != nil {
			return nil, err
		}
	}
	if err := l.programs(ctx, s); err != nil {
		return nil, err
	}
	return nil, l.baseline(ctx, s, setupDone)
}

// setup runs the set-up commands once in every worktree. A marker beside git's
// own files records it. Changed commands run again. All run again when their
// output in the home folder of the checks is gone.
func (l *Loop) setup(ctx context.Context, s state.State) error {
	if len(l.Settings.Setup) == 0 || len(l.shared().Names) > 0 {
		return nil
	}
	home := warm(s.Journal.ID)
	sum := sha256.Sum256([]byte(l.Repo.Root + "\x00" + strings.Join(l.Settings.Setup, "\x00")))
	want := fmt.Sprintf("%x", sum)
	marker := l.setupMarker()
	if have, err := os.ReadFile(marker); err == nil && strings.TrimSpace(string(have)) == want &&
		l.Sandbox.HasLayer(home.Layer) {
		return nil
	}
	tracked := func() (string, error) {
		out, err := l.Repo.Git.Run(ctx, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all")
		return string(out), err
	}
	before, err := tracked()
	if err != nil {
		return fmt.Errorf("look at the worktree before the setup: %w", err)
	}
	l.emit("check", state.State{}, "", nil, "setup: %s", notes.OneLine(strings.Join(l.Settings.Setup, "; "), 200))
	if home, err = l.warmUp(ctx, s, home); err != nil {
		return err
	}
	err = l.inWorktree(home, nil, func(start session.Starter) error {
		return l.Prover.Setup(ctx, ProofRequest{Start: start, Dir: l.Repo.Root, Env: l.Settings.CheckEnv})
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return refusal.New(refusal.SetupFailed, "the setup failed: %w", err)
	}
	after, err := tracked()
	if err != nil {
		return fmt.Errorf("look at the worktree after the setup: %w", err)
	}
	if after != before {
		l.Log("the setup changed tracked files; they are not committed:\n%s", strings.TrimRight(after, "\n"))
	}
	if err := l.Repo.EnsureDir(); err != nil {
		return err
	}
	if err := gitstate.WriteFile(marker, []byte(want+"\n"), 0o600); err != nil {
		return fmt.Errorf("note that the setup was done: %w", err)
	}
	return nil
}

// shared are the folders that took the place of the setup.
func (l *Loop) shared() Shared {
	if l.Worker == nil {
		return Shared{}
	}
	return l.Worker.Shared
}

// repeatSetup runs the setup commands once more: what they made is gone.
func (l *Loop) repeatSetup(ctx context.Context) error {
	if err := os.Remove(l.setupMarker()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	s, err := l.load()
	if err != nil {
		return err
	}
	return l.setup(ctx, s)
}

// setupMarker is the file that says which setup was done in this worktree.
func (l *Loop) setupMarker() string {
	return filepath.Join(l.Repo.Dir(), "setup-"+text.FileName(l.Repo.WorktreeName()))
}

// warmUp is the home folder for the set-up commands of the worktree. Before any
// agent has built anything, they fill the layer that all later checks start from.
// Afterwards the worktree holds agents' files, so the layer is filled from the
// commit at which the journal begins, and the worktree's set-up writes to a home
// folder that is discarded.
func (l *Loop) warmUp(ctx context.Context, s state.State, home session.Home) (session.Home, error) {
	built, err := l.built(ctx, s)
	if err != nil {
		return home, err
	}
	filling := session.Home{Layer: home.Layer, Fill: true}
	if !built {
		return filling, nil
	}
	base, err := object.ParseID(s.Journal.Base)
	if err != nil || !l.Repo.Store.Has(base) {
		return home, nil // the branch began without a commit
	}
	l.Sandbox.DropLayer(home.Layer)
	err = l.inFresh(ctx, fresh{commit: base, bare: true, home: filling}, func(req ProofRequest) error {
		return l.Prover.Setup(ctx, req)
	})
	if err != nil && ctx.Err() == nil {
		l.Log("the setup failed on the commit at which the journal begins; checks start from your home folder alone: %v", err)
		err = nil
	}
	return home, err
}

// built says whether an agent has ever worked on the code in this journal.
func (l *Loop) built(ctx context.Context, s state.State) (bool, error) {
	found := false
	if s.Run.Iteration == 0 {
		return false, nil
	}
	err := l.Journal.WalkBrief(ctx, func(e journal.Entry) (bool, error) {
		found = e.Event.Type == state.EvStart && e.Event.Phase == state.Building
		return !found, nil
	})
	return found, err
}

// setupRun is the product of the iteration of project.setup_prompt: a worktree
// that is ready, and that the checks accept as they accept any other.
type setupRun struct {
	l *Loop
}

// setupTask is the set-up as a task in the prompt, of no plan.
const setupTask plan.TaskID = "setup"

func (u setupRun) prompt(s state.State) (state.State, plan.TaskID, bool) {
	s.Plan.Tasks = append([]plan.Task{{ID: setupTask, Title: "prepare the project", Description: u.l.Settings.SetupPrompt,
		Status: plan.Pending, NoChangeExpected: true}}, s.Plan.Tasks...)
	return s, setupTask, true
}

func (setupRun) scope(*session.Scope) {}

func (setupRun) missing(state.State, session.Collected) []string { return nil }

// settle has nothing to add: the checks ran, as for every iteration of building.
func (setupRun) settle(context.Context, *attempt) (made, error) { return made{done: true}, nil }

// setupPrompt runs the agent once before the first task of a journal.
func (l *Loop) setupPrompt(ctx context.Context) (*Action, error) {
	var t attempts
	for l.Settings.SetupPrompt != "" {
		s, err := l.load()
		if err != nil || s.Run.SetUp {
			return nil, err
		}
		if a, ok := decideOperator(s.Run); ok {
			if a.Kind != Wait {
				return &a, nil
			}
			if err := l.wait(ctx, a); err != nil {
				return nil, err
			}
		} else {
			end, err := l.iterate(ctx, s, Job{phase: state.Building, role: session.RoleCoding, attempt: 1, product: setupRun{l},
				failure: t.failure,
				task:    plan.Task{Title: "prepare the project", NoChangeExpected: true}})
			if err != nil || end.Halt != nil {
				return end.Halt, err
			}
			if halt := t.again(end, l.phaseTries()); halt != nil {
				return halt, nil
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return nil, nil
}

// phaseTries bounds the runs of a phase that did not come to an end.
func (l *Loop) phaseTries() int {
	if n := l.Settings.Limits.MaxAttempts; n > 0 {
		return n
	}
	return 3
}

// TrySigning makes a signature once, before anything is locked: a key that
// wants a passphrase must not hang a run at night.
func (l *Loop) TrySigning(ctx context.Context) error {
	if !l.Settings.Sign {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if _, err := l.Repo.Store.Write(object.Tree, nil); err != nil {
		return err
	}
	if err := l.Repo.Store.Sync(); err != nil {
		return err
	}
	_, err := l.Repo.Git.RunWith(ctx, strings.NewReader("try\n"), nil, "commit-tree", object.EmptyTree.String(), "-S",
		"-F", "-")
	if err != nil {
		return refusal.New(refusal.SigningAsks, "commits cannot be signed without a person: %w", err)
	}
	return nil
}
