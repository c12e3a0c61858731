package loop

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// discovery is the product of a discovery run: specs that hold together.
type discovery struct {
	plain
	l      *Loop
	before map[string]Spec // as the run found them
}

// discover runs the discovery agent once.
func (l *Loop) discover(ctx context.Context, s state.State, failure string) (Ending, error) {
	specs, err := ReadSpecs(l.Repo.Root)
	if err != nil {
		return Ending{}, err
	}
	d := &discovery{l: l, before: map[string]Spec{}}
	for _, sp := range specs {
		d.before[sp.Path] = sp
	}
	return l.iterate(ctx, s, Job{phase: state.Discovery, role: session.RoleDiscovery, attempt: 1, product: d,
		specs: specFiles(specs), request: s.Run.Request, failure: failure})
}

// weigh checks the specs of the worktree. It returns problems in the specs that
// this run wrote, warnings, and the usable specs. Problems in a spec that the
// run did not change are only warnings.
func (d *discovery) weigh() (problems, warnings []string, changed, usable []Spec, err error) {
	specs, err := ReadSpecs(d.l.Repo.Root)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	for _, sp := range specs {
		old, was := d.before[sp.Path]
		ours := !was || !reflect.DeepEqual(old, sp)
		if ours {
			changed = append(changed, sp)
		}
		for _, p := range sp.Problems {
			if ours {
				problems = append(problems, sp.Path+": "+p)
			} else {
				warnings = append(warnings, sp.Path+": "+p)
			}
		}
		for _, w := range sp.Warnings {
			warnings = append(warnings, sp.Path+": "+w)
		}
		if len(sp.Problems) == 0 {
			usable = append(usable, sp)
		}
	}
	return problems, warnings, changed, usable, nil
}

func (d *discovery) missing(state.State, session.Collected) []string {
	problems, _, changed, usable, err := d.weigh()
	if err != nil {
		return []string{err.Error()}
	}
	open, err := d.open()
	if err != nil || len(open) > 0 && len(changed) == 0 {
		return nil // nothing can be asked of it before the answers are there
	}
	if len(usable) == 0 && len(problems) == 0 {
		problems = append(problems, "no spec was written: specs/<topic>.md")
	}
	return problems
}

func (d *discovery) open() ([]state.Question, error) {
	s, err := d.l.load()
	return OpenQuestions(s), err
}

func (d *discovery) settle(context.Context, *attempt) (made, error) {
	var m made
	problems, warnings, changed, usable, err := d.weigh()
	if err != nil {
		return m, err
	}
	open, err := d.open()
	if err != nil {
		return m, err
	}
	if len(usable) == 0 && len(problems) == 0 && len(open) == 0 {
		problems = append(problems, "none was written")
	}
	for _, p := range problems {
		m.problems = append(m.problems, "specs: "+notes.OneLine(p, 300))
	}
	for _, w := range warnings {
		m.notices = append(m.notices, "specs: "+notes.OneLine(w, 300))
		d.l.Log("%s", notes.OneLine(w, 300))
	}
	if len(changed) > 0 {
		m.title = changed[0].Title // of the commit
	}
	m.done = len(problems) == 0 && len(open) == 0
	return m, nil
}

// OpenQuestions are those that nobody has answered, in the order in which they
// were asked.
func OpenQuestions(s state.State) []state.Question {
	var open []state.Question
	for _, q := range s.Questions {
		if !q.Answered {
			open = append(open, q)
		}
	}
	return open
}

// ask puts a question into the journal and waits for an answer: of the person
// at the terminal, or by `git ralph answer`, whichever comes first. A question
// that an earlier run asked in the same words is not asked again.
func (l *Loop) ask(ctx context.Context, q state.Question) (string, bool) {
	known := state.Question{}
	snap, err := l.Journal.Append(ctx, func(s state.State) (state.Event, error) {
		known = state.Question{}
		for _, k := range s.Questions {
			if sameQuestion(k.Text, q.Text) {
				known = k
				if slices.ContainsFunc(q.Tasks, func(id plan.TaskID) bool { return !slices.Contains(k.Tasks, id) }) {
					k.Tasks = q.Tasks
					return state.Event{Type: state.EvQuestion, Question: &k}, nil
				}
				return state.Event{}, journal.ErrNothing
			}
		}
		q.ID, q.Asked = nextQuestion(s), l.Now()
		return state.Event{Type: state.EvQuestion, Question: &q}, nil
	})
	switch {
	case err != nil && !errors.Is(err, journal.ErrNothing):
		l.Log("the question could not be recorded: %v", err)
		return "", false
	case known.Answered:
		return known.Answer, true
	case known.ID != "":
		q = known
	}
	l.emit("question", snap.State, "", q, "%s: %s", q.ID, questionLine(q))
	if l.Answer == nil {
		return "", false
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type reply struct {
		text string
		ok   bool
	}
	person := make(chan reply, 1)
	go func() {
		text, ok := l.Answer(ctx, q)
		person <- reply{text, ok}
	}()
	for {
		select {
		case r := <-person:
			if !r.ok {
				return "", false
			}
			return r.text, l.recordAnswer(q.ID, r.text)
		case <-ctx.Done():
			return "", false
		case <-l.tick(ctx):
		}
		if snap, err := l.Journal.Load(ctx); err == nil {
			for _, k := range snap.State.Questions {
				if k.ID == q.ID && k.Answered {
					return k.Answer, true
				}
			}
		}
	}
}

func sameQuestion(a, b string) bool {
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}

func (l *Loop) recordAnswer(id, text string) bool {
	_, err := l.Journal.Append(l.background(), func(s state.State) (state.Event, error) {
		return state.Event{Type: state.EvOperator, Operator: state.AnswerTo(s, id, text)}, nil
	})
	if err != nil {
		l.Log("the answer could not be recorded: %v", err)
	}
	return err == nil
}

// tick is closed after a short while.
func (l *Loop) tick(ctx context.Context) <-chan struct{} {
	c := make(chan struct{})
	go func() {
		defer close(c)
		l.Sleep(ctx, 200*time.Millisecond)
	}()
	return c
}

// nextQuestion is the first free id, counted on from the highest one.
func nextQuestion(s state.State) string {
	n := 0
	for _, q := range s.Questions {
		var k int
		if _, err := fmt.Sscanf(q.ID, "Q%d", &k); err == nil {
			n = max(n, k)
		}
	}
	return fmt.Sprintf("Q%d", n+1)
}

func questionLine(q state.Question) string {
	line := notes.OneLine(q.Text, 300)
	if len(q.Options) > 0 {
		line += " [" + notes.OneLine(strings.Join(q.Options, " | "), 300) + "]"
	}
	return line
}
