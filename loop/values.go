package loop

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	agentctx "git-ralph/context"
	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/loop/recovery"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// An iteration is a pipeline of values. Each is made by one stage and read by
// those that follow:
//
//	Job ─prepare─▶ Ready ─work─▶ Ran ─examine─▶ Examined ─Judge(Facts)─▶ Verdict ─settle─▶ Ending

// Job is what an iteration is for. A task is one job like the others.
type Job struct {
	phase   state.Phase
	role    session.Role
	task    plan.Task // as it was at the start; outside of a plan what stands for one
	attempt int
	product product // what it leaves, and who says that this is enough
	claims  bool    // it is a task of the plan, which ends by the agent's claim
	under   string  // the claim on the task, "" = there is only one worker
	turn    int     // the iteration's number, which came with the claim
	spare   bool    // it is a recovery: that it fails is no failure
	specs   []agentctx.SpecFile
	request string       // a person's words
	failure string       // why the run before did not count
	proved  *ProofReport // by the harness, before the agent; nil = nothing was asked
}

// kind names the job in a reason: its phase, or what it does in building.
func (j Job) kind() string {
	if j.phase == state.Building {
		return "setup_prompt"
	}
	return string(j.phase)
}

// Ready is an iteration that has begun: its checkpoint is stored, its start is in
// the journal, and the prompt of its agent is made.
type Ready struct {
	Job
	origin
	outside
	*helped
	*recovery.Record        // its checkpoint and evidence
	id               string // of its event, evidence, checkpoint and commit
	number           int
	started          time.Time
	asked            state.State // before the start: what the prompt is made of
	briefing
	choice Choice      // what the ladder makes of it
	since  int         // the runs before belong to a first try of the same attempt
	use    session.Use // of its agent; RunDir is the private folder
	stop   *stopped    // the context agent said that nobody shall work on the task now
}

// briefing is what the agent is told, and what it is made of.
type briefing struct {
	around   surroundings // of the worktree
	prepared string       // the context agent's text
	prompt   agentctx.Prompt
}

// name is how people call what the iteration works on.
func (r *Ready) name() string {
	if r.task.ID == "" {
		return strings.TrimSpace(string(r.phase) + " " + notes.OneLine(r.task.Title, 100))
	}
	return string(r.task.ID) + " " + notes.OneLine(r.task.Title, 100)
}

// origin is what an iteration starts from.
type origin struct {
	branch  string
	tip     object.ID // of the branch, Zero when unborn
	landing bool      // on top of somebody else's commit
}

// outside is what an agent has to leave alone, as it was before.
type outside struct {
	git     *gitstate.Snapshot
	foreign map[string]string    // fingerprints of other repositories, where nothing keeps an agent from them
	ours    map[string]object.ID // our own refs, where nothing keeps an agent from them
	kills   *int64               // processes that the kernel had ended because memory ran out; nil: not known
	secrets []secretFile         // of the worktree, which git does not track
}

// helped is what the agents of an iteration have left so far, and the newest state of
// the journal.
type helped struct {
	state state.State
	contribution
}

// contribution is what one agent leaves: a helper agent, or a session of the coding
// agent. A step returns it, and add takes it in.
type contribution struct {
	runs    []state.AgentRun
	aside   session.Collected // learnings and memory
	learned []notes.Knowledge
	passed  []state.PassResult
	review  string // why a person is wanted
	halted  error  // the word of a person that ended it
	remarks []string
}

// remark adds notices for people.
func (c *contribution) remark(lines ...string) { c.remarks = recovery.Noted(c.remarks, lines...) }

// add takes in what one more agent left. Learnings and memory of the coding agent come
// with its tools, and are added here only for a first try.
func (c *contribution) add(more contribution) {
	c.runs = append(c.runs, more.runs...)
	c.aside.Learnings = append(c.aside.Learnings, more.aside.Learnings...)
	c.aside.Memory = append(c.aside.Memory, more.aside.Memory...)
	c.learned, c.passed = append(c.learned, more.learned...), append(c.passed, more.passed...)
	c.review, c.halted = cmp.Or(more.review, c.review), cmp.Or(more.halted, c.halted)
	c.remark(more.remarks...)
}

// stopped is the word of the context agent that ends an iteration before its agent.
type stopped struct {
	step agentctx.Step
	note state.ContextNote
}

// Ran is the result of the agent's sessions.
type Ran struct {
	run      session.Result // of the last session
	cause    error          // why the harness stopped the agent
	tools    session.Collected
	steps    []state.CheckRun // before the agent
	lacks    string           // a program that they lacked
	calls    session.CallWatch
	peak     int // of the window, in percent
	lastText string
	earlier  []notes.Handoff // of sessions that were ended for their context window
	repaired bool            // the agent was asked once to repair what it made
	prompt   agentctx.Prompt // of the last session
	warnings []string
}

// Examined is what the harness found out for itself when the agent was gone.
type Examined struct {
	facts      Facts
	after      *worktree.Capture
	left       left
	report     ProofReport
	stepsAfter []state.CheckRun
	stepFail   string           // what the step that failed printed
	reproduced []state.TestBlob // the test of a bug
	putBack    []string
	made       made                  // by a job that works on no task
	moved      []gitstate.Difference // refs or HEAD, so that a person has to look
	notices    []string
}

// add takes what a step found out into the value. Only examine, which makes the
// value, and with, which makes the next one, call it.
func (x *Examined) add(f findings) {
	x.notices = recovery.Noted(x.notices, f.notices...)
	x.facts.Tampered = appendNew(x.facts.Tampered, f.tampered)
	if f.moved != nil {
		x.moved = f.moved
	}
	if f.advice != "" {
		x.report.FailText = strings.TrimSpace(x.report.FailText + f.advice)
	}
}

// findings are what a step of the harness found out besides its result. The step
// returns them to its caller.
type findings struct {
	notices  []string              // for people
	tampered []string              // kinds of git's own state that were changed, which rejects
	moved    []gitstate.Difference // refs or HEAD, so that a person has to look
	advice   string                // for the next attempt, after the output of the checks
}

// noted are findings of one notice.
func noted(format string, args ...any) findings {
	return findings{notices: []string{fmt.Sprintf(format, args...)}}
}

func (f *findings) note(format string, args ...any) {
	f.notices = recovery.Noted(f.notices, fmt.Sprintf(format, args...))
}

func (f *findings) add(g findings) {
	f.notices = recovery.Noted(f.notices, g.notices...)
	f.tampered = appendNew(f.tampered, g.tampered)
	f.advice += g.advice
	if g.moved != nil {
		f.moved = g.moved
	}
}

// appendNew adds the lines that the list does not have.
func appendNew(list, lines []string) []string {
	for _, line := range lines {
		if !slices.Contains(list, line) {
			list = append(list, line)
		}
	}
	return list
}

// proof is what the checks and the guards of the tests showed of an attempt.
type proof struct {
	findings
	report      ProofReport
	checks      Checks
	reproduced  []state.TestBlob
	interrupted bool
}

// prove takes the result of the checks into the value.
func (x *Examined) prove(p proof) {
	x.report, x.facts.Checks, x.reproduced = p.report, p.checks, p.reproduced
	if p.interrupted {
		x.facts.Outcome = session.Interrupted
	}
	x.add(p.findings)
}

// left is the handoff that an agent left, or why it does not count.
type left struct {
	handoff  *notes.Handoff
	raw      []byte // of one that could not be read
	problems []notes.Problem
}

// made is what a job without a claim has produced.
type made struct {
	done      bool // the phase has what it is for
	title     string
	plan      *state.PlanChange
	problems  []string // why not
	notices   []string
	validated *validated // by a job that changes nothing
}

// validated is what a validation has run on the commit, after it took back what its agent
// changed.
type validated struct {
	after       *worktree.Capture // without a change
	putBack     []string
	runs        []state.CheckRun
	criteria    []state.CriterionMark
	interrupted bool
}

// attempt is an iteration as far as it has come: the values of its stages.
type attempt struct {
	*Ready
	*Ran
	*Examined
}

// with is the attempt with what a step found out after it was examined. It shares
// nothing that is written with the attempt that it comes from.
func (it *attempt) with(f findings) *attempt {
	x := *it.Examined
	x.notices, x.facts.Tampered = slices.Clone(x.notices), slices.Clone(x.facts.Tampered)
	x.add(f)
	return &attempt{it.Ready, it.Ran, &x}
}

// onTop is the attempt with another tip to land on.
func (it *attempt) onTop(tip object.ID, f findings) *attempt {
	rd := *it.Ready
	rd.tip, rd.landing = tip, true
	it = it.with(f)
	it.Ready = &rd
	return it
}

// Ending is how an iteration ended. Halt ends the run as well.
type Ending struct {
	Verdict  Verdict
	Halt     *Action
	job      Job
	number   int
	outcome  session.OutcomeKind
	repaired bool
	refused  []session.RefusedTask
	plan     *state.PlanChange
}

func (it *attempt) ending(v Verdict, halt *Action) Ending {
	return Ending{Verdict: v, Halt: halt, job: it.Job, number: it.number, outcome: it.facts.Outcome, repaired: it.repaired,
		refused: it.tools.Refused, plan: it.made.plan}
}
