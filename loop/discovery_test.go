package loop

import (
	"context"
	"sync"
	"testing"
	"time"

	"git-ralph/fixtures/repo"
	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
)

// asking is a loop of which only the journal is used.
func asking(t *testing.T) *Loop {
	t.Helper()
	r := repo.New(t, nil)
	ctx := context.Background()
	g, err := gitstate.Open(ctx, r.Dir, r.Env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	j, err := journal.Open(ctx, g, "main")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Record(ctx, state.Event{Type: state.EvInit, Init: &state.Init{JournalID: gitstate.NewID(j.Now()),
		Branch: "main"}}); err != nil {
		t.Fatal(err)
	}
	return &Loop{Host: session.Host{Repo: g, Journal: j, Now: j.Now, Log: t.Logf,
		Sleep: func(ctx context.Context, d time.Duration) {
			select {
			case <-ctx.Done():
			case <-time.After(time.Millisecond):
			}
		}}}
}

func TestAsk(t *testing.T) {
	ctx := context.Background()
	l := asking(t)

	if text, ok := l.ask(ctx, state.Question{Text: "Which colour?"}); ok || text != "" {
		t.Errorf("nobody is there, and the answer is %q", text)
	}
	s, err := l.load()
	if err != nil || len(s.Questions) != 1 || s.Questions[0].ID != "Q1" || s.Questions[0].Asked.IsZero() {
		t.Fatalf("%v: %+v", err, s.Questions)
	}

	// A question that is asked again is the same question.
	l.Answer = func(context.Context, state.Question) (string, bool) { return "blue", true }
	if text, ok := l.ask(ctx, state.Question{Text: " which colour? "}); !ok || text != "blue" {
		t.Errorf("the person said blue: %q", text)
	}
	l.Answer = nil
	if text, ok := l.ask(ctx, state.Question{Text: "Which colour?"}); !ok || text != "blue" {
		t.Errorf("it was answered before: %q", text)
	}

	// An answer by command reaches an agent that waits for the terminal.
	asked := make(chan string, 1)
	ended := make(chan struct{})
	l.Answer = func(ctx context.Context, q state.Question) (string, bool) {
		asked <- q.ID
		<-ctx.Done()
		close(ended)
		return "", false
	}
	go func() {
		_, err := l.Journal.Record(ctx, state.Event{Type: state.EvOperator,
			Operator: &state.Operator{Command: "answer", ID: <-asked, Text: "large"}})
		if err != nil {
			t.Error(err)
		}
	}()
	if text, ok := l.ask(ctx, state.Question{Text: "Which size?"}); !ok || text != "large" {
		t.Errorf("the command said large: %q", text)
	}
	<-ended // the terminal is not asked any more

	// When a run ends, its question stays open.
	run, stop := context.WithCancel(ctx)
	l.Answer = func(ctx context.Context, q state.Question) (string, bool) {
		stop()
		<-ctx.Done()
		return "", false
	}
	if _, ok := l.ask(run, state.Question{Text: "Anything else?"}); ok {
		t.Error("an answer came from nowhere")
	}
	s, err = l.load()
	if err != nil {
		t.Fatal(err)
	}
	if open := OpenQuestions(s); len(open) != 1 || open[0].ID != "Q3" {
		t.Errorf("open are %+v", open)
	}
}

// TestAskAtOnce: a client may ask several things in one turn.
func TestAskAtOnce(t *testing.T) {
	l := asking(t)
	var wg sync.WaitGroup
	for _, text := range []string{"One?", "Two?", "Three?", "Four?"} {
		wg.Go(func() { l.ask(context.Background(), state.Question{Text: text}) })
	}
	wg.Wait()
	s, err := l.load()
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, q := range s.Questions {
		ids[q.ID] = true
	}
	if len(ids) != 4 || !ids["Q1"] || !ids["Q4"] {
		t.Errorf("asked are %+v", s.Questions)
	}
}
