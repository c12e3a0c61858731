package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text/lazyregexp"
	"git-ralph/internal/view"
	"git-ralph/loop"
	"git-ralph/notes"
)

// AnswerCmd is `git ralph answer`.
type AnswerCmd struct {
	ID   string   `complete:"questions" arg:"" optional:"" name:"question" help:"The question, such as Q1; none lists the open ones."`
	Text []string `arg:"" optional:"" help:"The answer, or the number of an option; - reads standard input."`
	JSON bool     `name:"json" help:"Print the questions as JSON."`
}

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 16 << 10

// Run answers a question, or lists them.
func (c *AnswerCmd) Run(a *App) error {
	snap, err := a.Load()
	if err != nil {
		return err
	}
	if c.ID == "" {
		return c.list(a, snap.State)
	}
	if len(c.Text) == 0 {
		return usage("git ralph answer "+c.ID+` "…"`, "there is no answer")
	}
	text := strings.TrimSpace(strings.Join(c.Text, " "))
	if text == "-" {
		data, err := a.readInput("-")
		if err != nil {
			return err
		}
		text = strings.TrimSpace(string(data))
	}
	if text == "" || len(text) > maxAnswer {
		return usage("git ralph answer "+c.ID+` "…"`, "an answer has 1 to %d bytes, not %d", maxAnswer, len(text))
	}
	var q state.Question
	snap, changed, err := a.change(func(s state.State) (state.Event, error) {
		i := findQuestion(s, c.ID)
		if i < 0 {
			return state.Event{}, gitstate.Hint(1, openHint(s), "there is no question %s", c.ID)
		}
		q = s.Questions[i]
		text = chosen(q, text)
		if q.Answered && q.Answer == text {
			return state.Event{}, journal.ErrNothing
		}
		return operator(*state.AnswerTo(s, q.ID, text)), nil
	})
	if err != nil {
		return err
	}
	if !changed {
		a.printf("%s has that answer already\n", q.ID)
		return nil
	}
	a.printf("%s: %s\n", q.ID, notes.OneLine(text, 200))
	if open := loop.OpenQuestions(snap.State); len(open) > 0 {
		a.printf("%s open:\n", view.Plural(len(open), "question"))
		a.questions(open)
	} else if _, alive := a.journal.Repo.BranchHolder(a.journal.Branch); !alive {
		a.printf("next: git ralph %s continues with the answers\n", view.GoesOn(snap.State.Run.Phase))
	}
	return nil
}

func (c *AnswerCmd) list(a *App, s state.State) error {
	open := loop.OpenQuestions(s)
	if c.JSON {
		for i := range open {
			open[i].Options = view.List(open[i].Options)
		}
		return a.printJSON(view.List(open))
	}
	if len(open) == 0 {
		a.printf("no question is open\n")
		return nil
	}
	a.questions(open)
	return nil
}

func openHint(s state.State) string {
	var ids []string
	for _, q := range loop.OpenQuestions(s) {
		ids = append(ids, q.ID)
	}
	if len(ids) == 0 {
		return "no question is open; git ralph status shows where the run stands"
	}
	return "open: " + strings.Join(ids, ", ")
}

// findQuestion finds a question by its id in any case; a bare number is one, too.
func findQuestion(s state.State, id string) int {
	if _, err := strconv.Atoi(id); err == nil {
		id = "Q" + id
	}
	for i, q := range s.Questions {
		if strings.EqualFold(q.ID, id) {
			return i
		}
	}
	return -1
}

// chosen turns the number of an option into its text.
func chosen(q state.Question, text string) string {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(q.Options) {
		return q.Options[n-1]
	}
	return text
}

// answers were given beforehand, by --answers.
type answers struct {
	list   []string          // the n-th answers question Qn
	byName map[string]string // by id or by the question's text, lower case
}

var answerLine = lazyregexp.New(`^(?i:(Q\d{1,4}))\s*[:=]\s*(.+)$`)

// parseAnswers reads a file of answers: a JSON list or object, or lines, of
// which the n-th answers question Qn unless it begins with `Q3:`.
func parseAnswers(data []byte) (*answers, error) {
	out := &answers{byName: map[string]string{}}
	trimmed := bytes.TrimSpace(data)
	switch {
	case bytes.HasPrefix(trimmed, []byte("[")):
		if err := json.Unmarshal(trimmed, &out.list); err != nil {
			return nil, fmt.Errorf("a list of texts was expected: %w", err)
		}
	case bytes.HasPrefix(trimmed, []byte("{")):
		var named map[string]string
		if err := json.Unmarshal(trimmed, &named); err != nil {
			return nil, fmt.Errorf("an object of texts was expected: %w", err)
		}
		for name, text := range named {
			out.byName[strings.ToLower(strings.TrimSpace(name))] = text
		}
	default:
		for line := range strings.Lines(string(trimmed)) {
			line = strings.TrimSpace(line)
			if m := answerLine().FindStringSubmatch(line); m != nil {
				out.byName[strings.ToLower(m[1])] = m[2]
			} else if line != "" {
				out.list = append(out.list, line)
			}
		}
	}
	if len(out.list)+len(out.byName) == 0 {
		return nil, errors.New("it holds no answers")
	}
	return out, nil
}

// readAnswers reads the file of --answers; "" gives none.
func (a *App) readAnswers(name string) (*answers, error) {
	if name == "" {
		return nil, nil
	}
	data, err := a.readInput(name)
	if err != nil {
		return nil, err
	}
	out, err := parseAnswers(data)
	if err != nil {
		return nil, usage("one answer a line, or JSON: a list, or an object by question", "read %q: %w", name, err)
	}
	return out, nil
}

// of is the answer to a question, if one was given.
func (s *answers) of(q state.Question) (string, bool) {
	if s == nil {
		return "", false
	}
	for _, name := range []string{q.ID, strings.TrimSpace(q.Text)} {
		if text, ok := s.byName[strings.ToLower(name)]; ok && strings.TrimSpace(text) != "" {
			return chosen(q, strings.TrimSpace(text)), true
		}
	}
	n, err := strconv.Atoi(strings.TrimPrefix(strings.ToUpper(q.ID), "Q"))
	if err != nil || n < 1 || n > len(s.list) || strings.TrimSpace(s.list[n-1]) == "" {
		return "", false
	}
	return chosen(q, strings.TrimSpace(s.list[n-1])), true
}

// answerOpen answers the questions that an earlier run left open.
func (a *App) answerOpen(s state.State, given *answers) error {
	for _, q := range loop.OpenQuestions(s) {
		if text, ok := given.of(q); ok {
			if err := a.recordOperator(*state.AnswerTo(s, q.ID, text)); err != nil {
				return err
			}
		}
	}
	return nil
}

// answerer answers questions of a running agent: from --answers, else from the
// person at the terminal. nil when neither is there.
func (a *App) answerer(c launch) func(context.Context, state.Question) (string, bool) {
	person := terminal(a.In) && terminal(a.Err) && !c.flags.JSON && !c.quiet
	if !person && c.answers == nil {
		return nil
	}
	var pending chan string // of a read that nobody waited for
	return func(ctx context.Context, q state.Question) (answer string, ok bool) {
		if text, ok := c.answers.of(q); ok {
			return text, true
		}
		if !person {
			return "", false
		}
		a.alone(func() {
			fmt.Fprintf(a.Err, "\n%s %s\n", a.colour(a.Err, "33", q.ID+":"), q.Text)
			for i, o := range q.Options {
				fmt.Fprintf(a.Err, "  %d. %s\n", i+1, o)
			}
			fmt.Fprint(a.Err, "answer (empty = later): ")
			if pending == nil {
				// A read of a terminal cannot be cancelled. An abandoned one gets the
				// answer to the next question.
				pending = make(chan string, 1)
				go func(to chan<- string) { to <- readLine(a.In) }(pending)
			}
			select {
			case <-ctx.Done():
				fmt.Fprintln(a.Err)
			case line := <-pending:
				pending = nil
				if line = strings.TrimSpace(line); line != "" {
					answer, ok = chosen(q, line), true
				}
			}
		})
		return answer, ok
	}
}

// alone runs a question with the terminal to itself.
func (a *App) alone(question func()) {
	if a.view == nil {
		question()
		return
	}
	a.view.Ask(question)
}
