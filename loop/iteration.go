package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	agentctx "git-ralph/context"
	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/proc"
	"git-ralph/notes"
	"git-ralph/plan"
)

// iteration is everything that one iteration knows about itself.
type iteration struct {
	id      string // of its event, evidence, checkpoint and commit
	number  int
	attempt int
	phase   state.Phase
	role    Role
	task    plan.Task // as it was at the start; empty outside building
	started time.Time
	state   state.State // at the start

	tip     object.ID // of the branch, Zero when unborn
	branch  string
	before  *worktree.Checkpoint
	anchor  object.ID // the commit on the checkpoint's ref
	after   *worktree.Capture
	git     *gitstate.Snapshot
	foreign map[string]string    // fingerprints of other repositories, where nothing keeps an agent from them
	ours    map[string]object.ID // our own refs, where nothing keeps an agent from them
	prompt  agentctx.Prompt
	runDir  string
	use     Use
	clients *clients // of the last session; nil = none yet
	kills   *int64   // processes that had been ended for want of memory at the start; nil = not known

	run        Result // of the agent
	runs       []state.AgentRun
	tools      Collected
	handoff    *notes.Handoff
	badWords   string // why a handoff that was left does not count
	rawBad     []byte
	problems   []notes.Problem
	facts      Facts
	report     ProofReport
	reproduced []state.TestBlob // the test of a bug
	steps      []state.CheckRun
	landing    bool   // it is put on top of somebody else's commit
	stepFail   string // what the step that failed printed
	putBack    []string
	notices    []string
	back       []string // what restores changed back and kept, named in one notice
	evidence   evidenceFiles
	foundIndex object.ID // entries that were put back, as a tree
	calls      toolWatch
	found      []worktree.Saved // what restores took out of the worktree and stored
	spoiled    []worktree.Saved // large ignored files that changed, as they were
	more       bool             // some of it is in no evidence that was written before
	cause      error            // why the agent was stopped
	peak       int              // of the window, in percent
	lastText   string

	// What the prompt is made of: the state before the start, and the worktree.
	asked    state.State
	around   surroundings
	prepared string // the context agent's text
	session  string // what the session before handed over

	// Sessions of this iteration that were ended for their context window.
	window     *fill
	earlier    []notes.Handoff
	handedOver []byte // the newest of them as it came

	// What helper agents leave.
	aside   Collected // learnings and memory
	learned []notes.Knowledge
	passed  []state.PassResult
	review  string // why a person is wanted

	// Outside building:
	product  product             // what the run is for
	specs    []agentctx.SpecFile // that exist
	request  string              // a person's words
	failure  string              // why the run before did not count
	planned  *state.PlanChange   // what a planning run makes of the plan
	done     bool                // the product stands
	spare    bool                // it is a recovery: that it fails is no failure
	repaired bool                // the agent was asked once to mend it
	verdict  Verdict             // as it was carried out
}

// iterate is one iteration of the building phase. A halt that follows from it
// alone (moved refs, a lost login) is returned.
func (l *Loop) iterate(ctx context.Context, id plan.TaskID) (*Action, error) {
	s, err := l.load()
	if err != nil {
		return nil, err
	}
	i := s.Plan.Find(id)
	if i < 0 {
		return nil, nil // gone meanwhile: decide again
	}
	it := &iteration{phase: state.Building, role: RoleCoding, task: s.Plan.Tasks[i], attempt: s.Plan.Tasks[i].Attempts + 1, state: s}
	return l.work(ctx, it)
}

// work carries an iteration of any phase through: checkpoint, start, helpers,
// agent, proof, verdict.
func (l *Loop) work(ctx context.Context, it *iteration) (*Action, error) {
	if err := l.prepare(ctx, it); err != nil {
		return nil, err
	}
	defer os.RemoveAll(it.runDir)
	defer func() { it.git.Close() }()
	if err := l.start(ctx, it); err != nil {
		if errors.Is(err, journal.ErrNothing) {
			return nil, nil
		}
		return nil, err
	}
	ended, halt, err := l.equip(ctx, it)
	if err == nil && !ended {
		err = l.runAgent(ctx, it)
	}
	if k, ok := l.Sandbox.(LoginKeeper); ok {
		if kerr := k.KeepLogin(); kerr != nil {
			l.Log("the client's renewed login was not brought back: %v", kerr)
		}
	}
	if err != nil || ended {
		return halt, err
	}
	l.fail("iteration:agent-ended")
	halt, err = l.examine(ctx, it)
	if err != nil || halt != nil {
		return halt, err
	}
	return l.finish(ctx, it)
}

// prepare takes the checkpoint and makes the prompt. Nothing is visible yet.
func (l *Loop) prepare(ctx context.Context, it *iteration) error {
	it.started = l.Now()
	it.id = gitstate.NewID(it.started)
	it.number = it.state.Run.Iteration + 1
	var err error
	if it.branch, it.tip, err = l.Repo.Head(ctx); err != nil {
		return err
	}
	if it.before, err = l.Engine.Checkpoint(ctx); err != nil {
		return fmt.Errorf("take the checkpoint: %w", err)
	}
	for _, n := range it.before.Oversized {
		l.Log("%s is large and untracked: it is left alone", n)
	}
	l.noteTools(it.before.IgnoredFolders())
	if err := l.anchor(ctx, it); err != nil {
		return err
	}
	if it.runDir, err = newRunDir(l.RunBase); err != nil {
		return err
	}
	it.asked, it.around = it.state, l.look(it.task.Skills)
	it.prompt = l.assemble(it)
	it.use = Use{Agent: true, Dir: l.Repo.Root, Home: warm(it.state.Journal.ID), RunDir: it.runDir, Files: l.AgentFiles,
		ReadOnly:      it.phase == state.Planning,
		ReadOnlyPaths: l.covered(it.before)}
	l.foreign(it)
	return nil
}

// anchor stores the checkpoint under its ref, so that a restart can restore
// what the agent has not yet touched at this moment.
func (l *Loop) anchor(ctx context.Context, it *iteration) error {
	tree, err := it.before.Store(ctx)
	if err != nil {
		return fmt.Errorf("store the checkpoint: %w", err)
	}
	var parents []object.ID
	if !it.tip.IsZero() {
		parents = []object.ID{it.tip}
	}
	sig := ourSignature(it.started)
	commit, err := l.Repo.Store.WriteCommit(object.CommitData{Tree: tree, Parents: parents, Author: sig, Committer: sig,
		Message: fmt.Sprintf("checkpoint before iteration %d\n", it.number)})
	if err == nil {
		err = l.Repo.Store.Sync()
	}
	if err != nil {
		return fmt.Errorf("store the checkpoint: %w", err)
	}
	l.fail("checkpoint:objects")
	it.anchor = commit
	if err := l.Repo.MoveRef(l.localRef(it), commit); err != nil {
		return fmt.Errorf("anchor the checkpoint: %w", err)
	}
	l.fail("checkpoint:ref")
	return nil
}

func (l *Loop) localRef(it *iteration) string {
	return gitstate.LocalRef(it.state.Journal.ID, it.id)
}

func ourSignature(t time.Time) object.Signature {
	return object.Signature{Name: "git-ralph", Email: "git-ralph@localhost", When: t}
}

// start records iteration-start; from here on the iteration has a number.
func (l *Loop) start(ctx context.Context, it *iteration) error {
	host, _ := os.Hostname()
	self := proc.Self()
	snap, err := l.Journal.Append(l.background(), func(s state.State) (state.Event, error) {
		if it.product == nil {
			// A person may have skipped or edited the task since it was chosen.
			i := s.Plan.Find(it.task.ID)
			if i < 0 || s.Plan.Tasks[i].Status != plan.Pending || s.Run.StopAsked > 0 || s.Run.PauseAsked {
				return state.Event{}, journal.ErrNothing
			}
		}
		it.number = s.Run.Iteration + 1
		return state.Event{Type: state.EvStart, Time: it.started, Phase: it.phase, Iteration: it.number,
			Task: it.task.ID, Attempt: it.attempt,
			Start: &state.Start{IterationID: it.id, Branch: it.branch, Tip: hex(it.tip), Checkpoint: it.anchor.String(),
				HeadRef: gitstate.BranchRef(it.branch), Worktree: l.Repo.Root, Agent: l.Settings.Driver, Model: l.model(it.role),
				Role: string(it.role), Sandbox: l.Sandbox.Mechanism(), Mode: l.Settings.Mode, Guidance: it.prompt.Guidance,
				PID: self.Pid, BootID: self.BootID, StartTime: self.StartTime, Host: host,
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
	if err := l.ours(it); err != nil {
		return err
	}
	if n := proc.MemoryKills(); n >= 0 {
		it.kills = &n
	}
	l.emit("iteration_start", it.state, it.task.ID, map[string]any{"attempt": it.attempt, "prompt_tokens": it.prompt.Tokens, "event_id": it.id},
		"iteration %d: %s", it.number, it.name())
	return nil
}

// name is how people call what the iteration works on.
func (it *iteration) name() string {
	if it.task.ID == "" {
		return strings.TrimSpace(string(it.phase) + " " + notes.OneLine(it.task.Title, 100))
	}
	return string(it.task.ID) + " " + notes.OneLine(it.task.Title, 100)
}

func hex(id object.ID) string {
	if id.IsZero() {
		return ""
	}
	return id.String()
}

func (l *Loop) model(role Role) string {
	if l.limited(l.Now()) {
		if l.FallbackAgent != nil || l.Settings.Fallback != "" {
			return l.Settings.Fallback // with another client: "" = that one's own
		}
	}
	if r := l.Settings.Roles[role]; r.Model != "" {
		return r.Model
	}
	return l.Settings.Model
}

func promptRole(r Role) string {
	if r == RoleCoding {
		return "building"
	}
	return string(r)
}
