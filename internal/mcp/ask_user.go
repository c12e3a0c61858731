package mcp

import (
	"context"
	"encoding/json"

	"git-ralph/gitstate/state"
)

const askUser = "ralph_ask_user"

func askUserTool() tool {
	return tool{
		name: askUser,
		help: "Ask a person one question and wait for the answer. Ask only what you cannot find out yourself. " +
			"When nobody can answer now, the question is kept and the run continues after it was answered: end your run.",
		where: "discovery, and to building when the settings allow it",
		args: object{
			{name: "question", help: "one question, that makes sense without the conversation", required: true, max: 4000},
			{name: "options", help: "answers to choose from; the person may also write another", kind: kTexts,
				items: 20, max: 500}},
		offered: asking,
		waits:   ask,
	}
}

// question is one that was asked in this run. done is closed when answer and
// ok hold.
type question struct {
	done   chan struct{}
	answer string
	ok     bool
}

type answered struct {
	Question string  `json:"question"`
	Answered bool    `json:"answered"`
	Answer   *string `json:"answer"`
	Note     string  `json:"note,omitempty"`
}

// ask puts a question once, however often it is called with it: a client that
// gave up waiting and asks again gets the answer to the first. The person is
// asked under the context of the run, not of the call.
func ask(ctx context.Context, b *Box, v values) (any, error) {
	asked := state.Question{Text: text(v.text("question")), Iteration: b.scope.Iteration}
	for _, o := range v.texts("options") {
		if o = brief(text(o), 500); o != "" {
			asked.Options = append(asked.Options, o)
		}
	}
	if asked.Text == "" {
		return nil, refuse("ask in words", "the question is empty")
	}
	q, err := b.put(asked)
	if err != nil {
		return nil, err
	}
	select {
	case <-q.done:
	case <-b.ctx.Done():
		return nil, errOver()
	case <-ctx.Done():
		return nil, refuse("ask the same again to go on waiting", "nobody has answered yet")
	}
	if !q.ok {
		return answered{Question: asked.Text,
			Note: "nobody can answer now; the question is kept: leave a handoff and end your run"}, nil
	}
	return answered{Question: asked.Text, Answered: true, Answer: &q.answer}, nil
}

// put finds a question that was asked already or asks it.
func (b *Box) put(asked state.Question) (*question, error) {
	key, _ := json.Marshal([]any{asked.Text, asked.Options})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errOver()
	}
	if q := b.asked[string(key)]; q != nil {
		return q, nil
	}
	if limit := b.scope.MaxQuestions; limit > 0 && b.got.Asked >= limit {
		return nil, refuse("decide yourself and say so in the handoff",
			"%d questions were asked in this run, more are not allowed", limit)
	}
	q := &question{done: make(chan struct{})}
	b.asked[string(key)] = q
	b.got.Asked++
	b.asking.Go(func() {
		defer close(q.done)
		q.answer, q.ok = b.scope.Ask(b.ctx, asked)
		if !q.ok {
			b.mu.Lock()
			b.got.Unanswered = append(b.got.Unanswered, asked.Text)
			b.mu.Unlock()
		}
	})
	return q, nil
}
