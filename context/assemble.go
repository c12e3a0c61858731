package agentctx

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/notes"
	"git-ralph/plan"
)

// maxGoal is how much of a goal every prompt carries, in characters.
const maxGoal = 500

// Assemble makes the prompt of a coding, planning, discovery or validation
// run. Sections are typed values in a fixed order; over budget they are
// dropped whole in the order of dropOrder, and only when nothing else is left
// is the task cut, which keeps its id, title and criteria. The estimate of
// Prompt.Text is never above Prompt.Budget.
//
// In agent-orchestrated mode with Options.Prepared the middle sections are the
// context agent's text; nothing is dropped there and the budget is
// PreparedLimit for that text. Without it the prompt is the index mode's.
func Assemble(s state.State, id plan.TaskID, opt Options) Prompt {
	a := newAssembly(s, id, opt)
	p := Prompt{System: System(a.opt), Budget: opt.budget(), Guidance: a.guidance()}
	if opt.mode() == Orchestrated && strings.TrimSpace(opt.Prepared) != "" {
		a.orchestrated(&p)
	} else {
		a.sections(&p)
		a.fit(&p)
	}
	a.finish(&p)
	return p
}

// assembly is one call of Assemble.
type assembly struct {
	s      state.State
	opt    Options // with phase, iteration and attempt filled in
	task   plan.Task
	hasJob bool // task is set
	factor float64
	values map[string]string
	index  index
}

func newAssembly(s state.State, id plan.TaskID, opt Options) *assembly {
	a := &assembly{s: s, factor: cmp.Or(opt.BytesPerToken, DefaultBytesPerToken)}
	if t := findTask(s.Plan, id); t != nil {
		a.task, a.hasJob = *t, true
	}
	opt.Phase, opt.Iteration = opt.phase(s), opt.iteration(s)
	if opt.Attempt == 0 {
		opt.Attempt = a.task.Attempts + 1
	}
	if opt.Role == "" {
		opt.Role = roleOf(opt.Phase)
	}
	a.opt = opt
	return a
}

func roleOf(p state.Phase) Role {
	switch p {
	case state.Discovery:
		return Discovery
	case state.Planning:
		return Planning
	case state.Validation:
		return Validation
	}
	return Building
}

// header is what stands above a section.
func header(n Name) string { return "## " + string(n) + "\n\n" }

// text is a section as it stands in the prompt.
func (sec Section) text() string {
	return header(sec.Name) + strings.TrimRight(sec.Text, "\n") + "\n"
}

func (a *assembly) add(p *Prompt, name Name, text string) {
	// Texts are cleaned when they are recorded. This is for state that was not
	// written by our events.
	if text = notes.Clean(text); strings.TrimSpace(text) == "" {
		return
	}
	sec := Section{Name: name, Text: closed(text)}
	sec.Tokens = Tokens(len(sec.text()), a.factor)
	p.Sections = append(p.Sections, sec)
}

func (a *assembly) sections(p *Prompt) {
	a.add(p, CurrentTask, a.currentTask())
	a.add(p, FailureContext, a.failureContext())
	a.add(p, RetrievedMemory, a.retrievedMemory(p.Budget))
	a.add(p, PreviousHandoff, a.previousHandoff())
	if a.opt.mode().Indexed() {
		a.add(p, ProjectMemory, a.projectMemory(0))
	}
	a.add(p, Skills, a.skills())
	a.add(p, OutputInstruction, a.outputInstructions())
}

// orchestrated puts the prepared text between the harness's own sections. The
// harness itself says what the task is, why it failed and how it is judged.
// Hard constraints, learnings and people's entries that the text does not
// repeat follow it.
func (a *assembly) orchestrated(p *Prompt) {
	p.Budget = 0
	a.add(p, CurrentTask, a.currentTask())
	a.add(p, FailureContext, a.failureContext())
	limit := int(float64(PreparedLimit(a.opt.window())) * a.factor)
	a.add(p, PreparedContext, cutText(a.opt.Prepared, limit))
	if len(a.opt.Prepared) > limit {
		p.Sections[len(p.Sections)-1].Reduced = true
		p.Dropped = append(p.Dropped, string(PreparedContext)+" (cut)")
	}
	var kept []notes.Knowledge
	for _, k := range a.s.Knowledge {
		if (k.Hard() || notes.IsLearning(k) || len(k.Source) == 0) && !strings.Contains(a.opt.Prepared, k.Text) {
			kept = append(kept, k)
		}
	}
	a.add(p, ProjectMemory, newIndex(kept).text(int(float64(a.opt.budget())*a.factor*indexShare)))
	a.add(p, OutputInstruction, a.outputInstructions())
}

// size is the bytes of the sections that are not dropped, with an empty line
// between them.
func size(sections []Section) int {
	n := 0
	for _, sec := range sections {
		if !sec.Dropped {
			if n > 0 {
				n++
			}
			n += len(sec.text())
		}
	}
	return n
}

// fit drops until the prompt is within its budget.
func (a *assembly) fit(p *Prompt) {
	over := func() bool { return Tokens(size(p.Sections), a.factor) > p.Budget }
	if !over() {
		return
	}
	a.reduceIndex(p)
	for _, name := range dropOrder() {
		if !over() {
			return
		}
		for i := range p.Sections {
			if p.Sections[i].Name == name {
				p.Sections[i].Dropped = true
				p.Dropped = append(p.Dropped, string(name))
			}
		}
	}
	if !over() {
		return
	}
	for i := range p.Sections {
		if sec := &p.Sections[i]; sec.Name == CurrentTask {
			room := int(float64(p.Budget)*a.factor) - len(header(CurrentTask)) - 1
			sec.Text = a.cutTask(room)
			sec.Reduced = true
			sec.Tokens = Tokens(len(sec.text()), a.factor)
			p.Dropped = append(p.Dropped, string(CurrentTask)+" (cut)")
			if !strings.Contains(sec.Text, guidanceTitle) {
				p.Guidance = nil // it did not fit: it has not been shown
			}
		}
	}
}

// reduceIndex gives the index its share of the budget when the whole of it
// would push other sections out: hard constraints first, then the rest by
// kind, the newest first. The index stays useful at any size, and a hard
// constraint found early is still there late.
func (a *assembly) reduceIndex(p *Prompt) {
	i := slices.IndexFunc(p.Sections, func(sec Section) bool { return sec.Name == ProjectMemory })
	if i < 0 {
		return
	}
	sec := &p.Sections[i]
	share := int(float64(p.Budget) * a.factor * indexShare)
	if len(sec.Text) <= share {
		return
	}
	short := a.projectMemory(share)
	if short == "" {
		return // not one entry fits: it is dropped in its turn
	}
	sec.Text = short
	sec.Reduced = true
	sec.Tokens = Tokens(len(sec.text()), a.factor)
}

// finish writes the text.
func (a *assembly) finish(p *Prompt) {
	var b strings.Builder
	b.Grow(size(p.Sections))
	for _, sec := range p.Sections {
		if sec.Dropped {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(sec.text())
	}
	p.Text = b.String()
	if p.Budget > 0 {
		// Only a budget too small for the task's header gets here.
		p.Text = text.CutBytes(p.Text, int(float64(p.Budget)*a.factor))
	}
	p.Tokens, p.BytesPerToken = Tokens(len(p.Text), a.factor), a.factor
}

// guidance lists the notes of the operator that this prompt carries: those
// nobody has seen yet, and those first shown to this task.
func (a *assembly) guidance() []string {
	var ids []string
	for _, g := range a.s.Guidance {
		if a.carries(g) {
			ids = append(ids, g.ID)
		}
	}
	return ids
}

func (a *assembly) carries(g state.Guidance) bool { return a.s.Carries(g, a.task.ID) }

// progress counts the tasks that are done, and those that are wanted.
func progress(p plan.Plan) (done, total int) {
	c := p.Counts()
	return c.Done, c.Wanted()
}

func (a *assembly) facts() string {
	var b strings.Builder
	goal := notes.OneLine(a.s.Plan.Goal, maxGoal)
	// The project's goal and the plan's are often the same sentence.
	if project := notes.OneLine(a.opt.Goal, maxGoal); goal == "" {
		goal = project
	} else if project != "" && project != goal {
		fmt.Fprintf(&b, "Project: %s\n", project)
	}
	if goal != "" {
		fmt.Fprintf(&b, "Goal: %s\n", goal)
	}
	done, total := progress(a.s.Plan)
	fmt.Fprintf(&b, "Iteration %d", a.opt.Iteration)
	if total > 0 {
		fmt.Fprintf(&b, ", %d of %d tasks done", done, total)
	}
	b.WriteString("\n")
	return b.String()
}
