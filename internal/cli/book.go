package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/config"
	"git-ralph/internal/dashboard"
	"git-ralph/internal/livefeed"
	"git-ralph/internal/proc"
	"git-ralph/plan"
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

// pageEntry is an entry with what the page shows besides.
type pageEntry struct {
	entryDoc
	Title       string `json:"title"`
	Partial     bool   `json:"partial"`
	ContextPeak int    `json:"context_peak"`
}

func (b *book) Describe(e journal.Entry) any { return describePage(e) }

func describePage(e journal.Entry) pageEntry {
	d := pageEntry{entryDoc: describeEntry(e)}
	if r := e.Event.Result; r != nil {
		d.Title, d.Partial, d.ContextPeak = r.Title, r.Partial, r.ContextPeak
	}
	return d
}

func (b *book) Advice(err error) (string, int) {
	code, hint := exitOf(err, false)
	return hint, code
}

// aside is an App of its own on the same branch, with output to out.
func (b *book) aside(ctx context.Context, out *bytes.Buffer) (*App, error) {
	a := &App{Ctx: ctx, In: strings.NewReader(""), Out: through(out, false), Err: through(out, false), Env: b.a.Env,
		Dir: b.a.Dir, via: "page"}
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

// taskDoc is a task as lists and the graph show it; the rest is asked for.
type taskDoc struct {
	ID        plan.TaskID   `json:"id"`
	Title     string        `json:"title"`
	Status    plan.Status   `json:"status"`
	Priority  int           `json:"priority"`
	DependsOn []plan.TaskID `json:"depends_on"`
	Attempts  int           `json:"attempts"`
	Cost      json.Number   `json:"cost_usd"`
	Tokens    int64         `json:"tokens"`
	Waits     string        `json:"waits"` // why it is not worked on, "" when nothing holds it
	SetAside  bool          `json:"set_aside"`
	Next      bool          `json:"next"`
}

// settingDoc is a setting that may be changed while the run goes on.
type settingDoc struct {
	Key     string   `json:"key"`
	Value   any      `json:"value"`
	Origin  string   `json:"origin"`
	Help    string   `json:"help"`
	Choices []string `json:"choices"`
}

// limitsDoc is what a run may use.
type limitsDoc struct {
	SessionUSD    json.Number `json:"session_usd"`
	TotalUSD      json.Number `json:"total_usd"`
	MaxIterations int         `json:"max_iterations"`
	Handoff       int         `json:"handoff_percent"` // of the context
	Hard          int         `json:"hard_percent"`
}

// State is `status --json` by keys, and what the page shows besides.
func (b *book) State(ctx context.Context) (map[string]any, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.a
	d, s, err := a.status()
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	keys := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &keys); err != nil {
		return nil, err
	}
	doc := map[string]any{}
	for key, value := range keys {
		doc[key] = value
	}
	if d.Linked == nil {
		doc["linked"] = nil
	}
	if d.Activity == nil {
		doc["activity"] = nil
	}
	guidance := []map[string]any{}
	for _, g := range s.Guidance {
		guidance = append(guidance, map[string]any{"text": g.Text, "time": g.Time, "shown": g.Shown})
	}
	doc["repository"], doc["version"] = filepath.Base(a.repo.Root), Version
	doc["goal"], doc["plan"], doc["pace"] = s.Plan.Goal, planDoc(s.Plan), paceLine(s)
	doc["knowledge"], doc["guidance"] = list(s.Knowledge), guidance
	doc["report"], doc["next"] = s.Report, a.nextCommand(d, s)
	doc["asked"] = d.Asked // also when there is nothing
	doc["iteration_since"] = nil
	if c := s.Run.Current; c != nil {
		doc["iteration_since"] = c.Since
	}
	var limits *limitsDoc
	settings := []settingDoc{}
	if set, err := a.settingsQuietly(s.Run.Overrides); err == nil {
		limits = &limitsDoc{SessionUSD: dollars(int64(set.Limits.SessionUSD)), TotalUSD: dollars(int64(set.Limits.TotalUSD)),
			MaxIterations: set.Loop.MaxIterations, Handoff: set.Context.HandoffPercent, Hard: set.Context.HardPercent}
		for _, key := range config.Settable() {
			if e, err := set.Lookup(key); err == nil {
				settings = append(settings, settingDoc{e.Key, e.Value, e.Origin.String(), e.Help, list(e.Choices)})
			}
		}
	}
	doc["limits"], doc["settings"] = limits, settings
	return doc, nil
}

// planDoc is the plan as lists and the graph show it.
func planDoc(p plan.Plan) []taskDoc {
	waits := map[plan.TaskID]string{}
	for _, x := range p.Blockers() {
		waits[x.ID] = x.Reason
	}
	next, _ := plan.Next(p)
	out := []taskDoc{}
	for _, t := range p.Tasks {
		d := taskDoc{ID: t.ID, Title: t.Title, Status: t.Status, Priority: t.Priority, DependsOn: list(t.DependsOn),
			Attempts: t.Attempts, Cost: dollars(t.CostMicroUSD), Tokens: t.ActualTokens, Waits: waits[t.ID],
			SetAside: t.SetAside(), Next: t.ID == next}
		if d.SetAside {
			d.Waits = t.AsideReason()
		}
		out = append(out, d)
	}
	return out
}

func (b *book) Task(ctx context.Context, id string) (any, error) {
	a, err := b.aside(ctx, &bytes.Buffer{})
	if err != nil {
		return nil, err
	}
	defer a.close()
	snap, err := a.Load()
	if err != nil {
		return nil, err
	}
	ids, err := taskIDs(snap.State.Plan, []string{id})
	if err != nil {
		return nil, err
	}
	entries, err := a.journal.TaskIterations(ctx, ids[0])
	if err != nil {
		return nil, err
	}
	docs := []pageEntry{}
	for _, e := range entries {
		docs = append(docs, describePage(e))
	}
	return map[string]any{"task": snap.State.Plan.Tasks[snap.State.Plan.Find(ids[0])], "iterations": docs}, nil
}

func (b *book) Iteration(ctx context.Context, n int) (any, error) {
	a, err := b.aside(ctx, &bytes.Buffer{})
	if err != nil {
		return nil, err
	}
	defer a.close()
	snap, err := a.Load()
	if err != nil {
		return nil, err
	}
	found, err := a.iterations(n)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		starts, err := a.journal.Starts(ctx, n)
		if err == nil && len(starts) == 0 {
			err = noIteration(snap.State, n)
		}
		if err != nil {
			return nil, err
		}
		return describeStart(starts[0]), nil
	}
	var docs []showDoc
	for _, e := range found {
		d, err := a.showDoc(snap.State, e)
		if err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
	r := found[0].Event.Result
	return struct {
		showDoc
		Title       string    `json:"title"`
		ContextPeak int       `json:"context_peak"`
		Twins       []showDoc `json:"same_number,omitempty"` // given by other machines
	}{docs[0], r.Title, r.ContextPeak, docs[1:]}, nil
}

// maxPart bounds a text that the page shows, in bytes; the middle is left out.
const maxPart = 1 << 20

func (b *book) Part(ctx context.Context, n int, part, name string) ([]byte, error) {
	a, err := b.aside(ctx, &bytes.Buffer{})
	if err != nil {
		return nil, err
	}
	defer a.close()
	snap, err := a.Load()
	if err != nil {
		return nil, err
	}
	e, err := a.newestIteration(snap.State, n)
	if err != nil {
		return nil, err
	}
	cut := proc.NewHeadTail(maxPart)
	if part != "diff" {
		data, err := a.evidencePart(snap.State, e, part, name)
		if err != nil {
			return nil, err
		}
		cut.Write(data)
		return cut.Bytes(), nil
	}
	before, after, err := a.attempt(snap.State, e)
	if err != nil {
		return nil, err
	}
	// What the repository's settings would start to show a difference is not
	// started: the page only looks.
	err = a.repo.Git.Stream(ctx, nil, cut, nil, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--patch",
		before.String(), after.String(), "--")
	if err != nil {
		return nil, fmt.Errorf("compare the trees of iteration %d: %w", n, err)
	}
	return cut.Bytes(), nil
}

// Live tells what the loop says over its socket.
func (b *book) Live(ctx context.Context, f func(any)) {
	b.a.hear(ctx, func(l livefeed.Line) { f(l) })
}

// asked is what a person has asked a loop for that is running, and what is still
// to come.
func asked(s state.State) string {
	r, atWork := s.Run, len(s.InWork()) > 0
	switch {
	case r.StopAsked == r.Session && r.Session > 0 && r.StopNow:
		return "stopping now"
	case r.StopAsked == r.Session && r.Session > 0:
		return "stopping after this iteration"
	case r.PauseAsked && !atWork:
		return "paused"
	case r.PauseAsked:
		return "pausing after this iteration"
	}
	return ""
}
