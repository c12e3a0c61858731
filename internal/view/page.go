package view

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/config"
	"git-ralph/internal/proc"
	"git-ralph/plan"
)

// PageEntry is an entry with what the page shows besides.
type PageEntry struct {
	EntryDoc
	Title       string `json:"title"`
	Partial     bool   `json:"partial"`
	ContextPeak int    `json:"context_peak"`
}

// DescribePage makes the document of one entry.
func DescribePage(e journal.Entry) PageEntry {
	d := PageEntry{EntryDoc: Describe(e)}
	if r := e.Event.Result; r != nil {
		d.Title, d.Partial, d.ContextPeak = r.Title, r.Partial, r.ContextPeak
	}
	return d
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

// settingDoc is a setting that may be changed while the run continues.
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

// Page is what the page shows of a run: `status --json` by keys, and more.
// Version is that of the program.
func (r Reader) Page(d StatusDoc, s state.State, version string) (map[string]any, error) {
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
	doc["repository"], doc["version"] = filepath.Base(r.Journal.Repo.Root), version
	doc["goal"], doc["plan"], doc["pace"] = s.Plan.Goal, planDoc(s.Plan), PaceLine(s)
	doc["knowledge"], doc["guidance"] = List(s.Knowledge), guidance
	doc["report"], doc["next"] = s.Report, r.Next(d, s)
	doc["asked"] = d.Asked // also when there is nothing
	doc["iteration_since"] = nil
	if c := s.Run.Current; c != nil {
		doc["iteration_since"] = c.Since
	}
	var limits *limitsDoc
	settings := []settingDoc{}
	if set, err := r.Settings(s.Run.Overrides); err == nil {
		limits = &limitsDoc{SessionUSD: Dollars(int64(set.Limits.SessionUSD)), TotalUSD: Dollars(int64(set.Limits.TotalUSD)),
			MaxIterations: set.Loop.MaxIterations, Handoff: set.Context.HandoffPercent, Hard: set.Context.HardPercent}
		for _, key := range config.Settable() {
			if e, err := set.Lookup(key); err == nil {
				settings = append(settings, settingDoc{e.Key, e.Value, e.Origin.String(), e.Help, List(e.Choices)})
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
		d := taskDoc{ID: t.ID, Title: t.Title, Status: t.Status, Priority: t.Priority, DependsOn: List(t.DependsOn),
			Attempts: t.Attempts, Cost: Dollars(t.CostMicroUSD), Tokens: t.ActualTokens, Waits: waits[t.ID],
			SetAside: t.SetAside(), Next: t.ID == next}
		if d.SetAside {
			d.Waits = t.AsideReason()
		}
		out = append(out, d)
	}
	return out
}

// PageTask is everything about a task of a plan.
func (r Reader) PageTask(ctx context.Context, of plan.Plan, id plan.TaskID) (map[string]any, error) {
	entries, err := r.Journal.TaskIterations(ctx, id)
	if err != nil {
		return nil, err
	}
	docs := []PageEntry{}
	for _, e := range entries {
		docs = append(docs, DescribePage(e))
	}
	return map[string]any{"task": of.Tasks[of.Find(id)], "iterations": docs}, nil
}

// PageIteration is everything about iteration n, also while it is at work.
func (r Reader) PageIteration(ctx context.Context, s state.State, n int) (any, error) {
	found, err := r.Iterations(ctx, n)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		starts, err := r.Journal.Starts(ctx, n)
		if err == nil && len(starts) == 0 {
			err = NoIteration(s, n)
		}
		if err != nil {
			return nil, err
		}
		return DescribeStart(starts[0]), nil
	}
	var docs []ShowDoc
	for _, e := range found {
		d, err := r.Show(ctx, s, e)
		if err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
	res := found[0].Event.Result
	return struct {
		ShowDoc
		Title       string    `json:"title"`
		ContextPeak int       `json:"context_peak"`
		Twins       []ShowDoc `json:"same_number,omitempty"` // given by other machines
	}{docs[0], res.Title, res.ContextPeak, docs[1:]}, nil
}

// maxPart bounds a text that the page shows, in bytes; the middle is left out.
const maxPart = 1 << 20

// PagePart is a text that belongs to iteration n: diff, prompt, transcript, or
// the output of the check with that name.
func (r Reader) PagePart(ctx context.Context, s state.State, n int, part, name string) ([]byte, error) {
	e, err := r.Iteration(ctx, s, n)
	if err != nil {
		return nil, err
	}
	cut := proc.NewHeadTail(maxPart)
	if part != "diff" {
		data, err := r.Text(ctx, s, e, part, name)
		if err != nil {
			return nil, err
		}
		cut.Write(data)
		return cut.Bytes(), nil
	}
	before, after, err := r.Attempt(ctx, s, e)
	if err != nil {
		return nil, err
	}
	// What the repository's settings would start to show a difference is not
	// started: the page only looks.
	err = r.Journal.Repo.Git.Stream(ctx, nil, cut, nil, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--patch",
		before.String(), after.String(), "--")
	if err != nil {
		return nil, fmt.Errorf("compare the trees of iteration %d: %w", n, err)
	}
	return cut.Bytes(), nil
}
