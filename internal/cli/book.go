package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/dashboard"
	"git-ralph/internal/livefeed"
	"git-ralph/internal/view"
)

// book is the run of one branch for the page. What is asked for often comes from
// one opened repository; a command and what may take long open their own.
type book struct {
	a  *App
	mu sync.Mutex // for a
}

var _ dashboard.Book = (*book)(nil)

func (b *book) Tip(ctx context.Context) (object.ID, error) { return b.a.journal.Tip(ctx) }

func (b *book) Walk(ctx context.Context, from object.ID, f func(journal.Entry) (bool, error)) error {
	return b.a.journal.WalkFrom(ctx, from, f)
}

func (b *book) Describe(e journal.Entry) any { return view.DescribePage(e) }

func (b *book) Advice(err error) (string, int) {
	code, hint := exitOf(err, notAskedForLinked)
	return hint, code
}

// aside is an App of its own on the same branch, with output to out.
func (b *book) aside(ctx context.Context, out *bytes.Buffer) (*App, error) {
	a := &App{Ctx: ctx, In: strings.NewReader(""), Out: view.Through(out, view.Text), Err: view.Through(out, view.Text),
		Env: b.a.Env, Dir: b.a.Dir, via: "page"}
	repo, err := a.Repo()
	if err != nil {
		return nil, err
	}
	a.journal, err = journal.Open(ctx, repo, b.a.journal.Branch)
	if err != nil {
		a.close()
	}
	return a, err
}

// Do runs a command as if it were typed in the worktree. The journal is that of
// the branch whose page this is, whatever is checked out by now.
func (b *book) Do(ctx context.Context, words []string) (string, error) {
	var out bytes.Buffer
	a, err := b.aside(ctx, &out)
	if err != nil {
		return "", err
	}
	defer a.close()
	if branch, _, err := a.repo.Head(ctx); err != nil {
		return "", err
	} else if branch != a.journal.Branch {
		return "", gitstate.Hint(1, "git switch "+a.journal.Branch+", or git ralph serve again",
			"%s is checked out now, and this is the page of %s", branch, a.journal.Branch)
	}
	err = a.execute(words)
	return strings.TrimSpace(out.String()), err
}

// read calls f with a reader of its own and the newest state.
func (b *book) read(ctx context.Context, f func(view.Reader, state.State) (any, error)) (any, error) {
	a, err := b.aside(ctx, &bytes.Buffer{})
	if err != nil {
		return nil, err
	}
	defer a.close()
	snap, err := a.Load()
	if err != nil {
		return nil, err
	}
	return f(a.reader(), snap.State)
}

func (b *book) State(ctx context.Context) (map[string]any, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.a.reader()
	d, s, err := r.Status(ctx)
	if errors.Is(err, journal.ErrNone) {
		err = b.a.noJournalHere(b.a.journal)
	}
	if err != nil {
		return nil, err
	}
	return r.Page(d, s, Version)
}

func (b *book) Task(ctx context.Context, id string) (any, error) {
	return b.read(ctx, func(r view.Reader, s state.State) (any, error) {
		ids, err := taskIDs(s.Plan, []string{id})
		if err != nil {
			return nil, err
		}
		return r.PageTask(ctx, s.Plan, ids[0])
	})
}

func (b *book) Iteration(ctx context.Context, n int) (any, error) {
	return b.read(ctx, func(r view.Reader, s state.State) (any, error) { return r.PageIteration(ctx, s, n) })
}

func (b *book) Part(ctx context.Context, n int, part, name string) ([]byte, error) {
	data, err := b.read(ctx, func(r view.Reader, s state.State) (any, error) {
		return r.PagePart(ctx, s, n, part, name)
	})
	text, _ := data.([]byte)
	return text, err
}

// Live tells what the loop says over its socket.
func (b *book) Live(ctx context.Context, f func(any)) {
	b.a.hear(ctx, func(l livefeed.Line) { f(l) })
}
