// Package mcp owns the ralph_* tools: plan and notes as an agent sees and
// reports them, one file a tool, and the ways in which they are served. The
// loop's own process calls them by Box.Call; `git ralph tool` and `git ralph
// mcp` reach the same Box through an endpoint of the run (endpoint.go).
//
// A tool validates, records and answers with JSON. It changes nothing: what was
// recorded (Box.Collected) becomes part of the iteration's one event, or is
// dropped with it, so an answer promises nothing beyond the iteration. The same
// call twice records once. The package stores nothing but the endpoint's files
// in the run's private folder.
package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// MaxRequest is the largest request to a tool, arguments and envelope, in bytes.
const MaxRequest = 1 << 20

// Box is the toolbox of one agent run. It implements session.Toolbox and may be
// used by any number of goroutines.
type Box struct {
	scope session.Scope
	tools []tool // offered in this run, in the order of the documentation
	end   *endpoint

	ctx    context.Context // of the run; ended by Close
	cancel context.CancelFunc
	open   atomic.Int64
	// connected: a client has spoken with git ralph mcp.
	connected atomic.Bool
	asking    sync.WaitGroup

	mu     sync.Mutex
	closed bool
	got    session.Collected
	puts   []notes.Put
	drafts []draft
	asked  map[string]*question
	// handoffValid: got.Handoff passed its schema.
	handoffValid bool
	// ended says how the agent ended its own iteration, "" while it has not.
	ended string
}

var _ session.Toolbox = (*Box)(nil)

// Open makes the tools of one agent run and, when s.RunDir is set, serves them
// there until Close. Tasks are added to s.State.Plan: for a plan that replaces
// the rest of an older one, s.State.Plan holds only the tasks that stay.
func Open(s session.Scope) (session.Toolbox, error) {
	b := newBox(s)
	if s.RunDir == "" {
		return b, nil
	}
	var err error
	if b.end, err = listen(s.RunDir, b.serve); err != nil {
		b.cancel()
		return nil, fmt.Errorf("open the endpoint of the tools: %w", err)
	}
	return b, nil
}

func newBox(s session.Scope) *Box {
	if s.Role == "" {
		s.Role = roleOf(s.Phase)
	}
	b := &Box{scope: s, asked: map[string]*question{}}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	for _, t := range allTools() {
		if t.offered(s) {
			b.tools = append(b.tools, t)
		}
	}
	return b
}

func roleOf(p state.Phase) session.Role {
	switch p {
	case state.Discovery:
		return session.RoleDiscovery
	case state.Planning:
		return session.RolePlanning
	case state.Validation:
		return session.RoleValidation
	}
	return session.RoleCoding
}

// Specs describes the tools that this run offers.
func (b *Box) Specs() []session.ToolSpec {
	out := make([]session.ToolSpec, len(b.tools))
	for i, t := range b.tools {
		out[i] = session.ToolSpec{Name: t.name, Description: t.help, Schema: t.schema(b.scope)}
	}
	return out
}

// Refusal is what a tool says instead of doing something. Its JSON is the
// answer, `{error, hint}`, with the problems one by one when there are several.
type Refusal struct {
	Message  string   `json:"error"`
	Hint     string   `json:"hint"`
	Problems []string `json:"problems,omitempty"`
	// Criteria are those that could have been meant.
	Criteria []string `json:"criteria,omitempty"`
}

func (r *Refusal) Error() string { return r.Message }

func refuse(hint, format string, args ...any) *Refusal {
	return &Refusal{Message: fmt.Sprintf(format, args...), Hint: hint}
}

// Call calls a tool. The answer is JSON in every case; the error is a *Refusal
// when the tool refused, and the answer then is the refusal's JSON. Only
// ralph_ask_user waits, and only as long as ctx.
func (b *Box) Call(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	b.open.Add(1)
	defer b.open.Add(-1)
	answer, err := b.call(ctx, name, args)
	if err != nil {
		var r *Refusal
		if !errors.As(err, &r) {
			r = &Refusal{Message: err.Error(), Hint: "try again"}
		}
		return encode(r), r
	}
	return encode(answer), nil
}

func (b *Box) call(ctx context.Context, name string, args json.RawMessage) (any, error) {
	t, err := b.find(name)
	if err != nil {
		return nil, err
	}
	if len(args) > MaxRequest {
		return nil, refuse("say it shorter", "the arguments have %d bytes, at most %d are taken", len(args), MaxRequest)
	}
	v := values{raw: args}
	if t.args != nil {
		if v, err = t.args.decode(t.name, args); err != nil {
			return nil, err
		}
	}
	if t.waits != nil {
		return t.waits(ctx, b, v)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil, errOver()
	}
	return t.run(b, v)
}

func errOver() *Refusal {
	return refuse("nothing more can be recorded in this run", "the run has ended")
}

// find looks a tool up and says why it is not there when it is not.
func (b *Box) find(name string) (tool, error) {
	if i := slices.IndexFunc(b.tools, func(t tool) bool { return t.name == name }); i >= 0 {
		return b.tools[i], nil
	}
	names := make([]string, len(b.tools))
	for i, t := range b.tools {
		names[i] = t.name
	}
	hint := "the tools of this run: " + strings.Join(names, ", ")
	if i := slices.IndexFunc(allTools(), func(t tool) bool { return t.name == name }); i >= 0 {
		t := allTools()[i]
		if t.name == askUser && b.scope.Ask == nil && (b.scope.Role == session.RoleCoding ||
			b.scope.Role == session.RoleDiscovery) {
			return tool{}, refuse("decide yourself and say so in the handoff",
				"%s is not available: nobody can be asked in this run", name)
		}
		return tool{}, refuse("it belongs to "+t.where+"; "+hint, "%s is not available to the role %s in the phase %s",
			name, b.scope.Role, b.scope.Phase)
	}
	return tool{}, refuse(hint, "there is no tool %q", notes.OneLine(name, 80))
}

// Open is the number of calls that are being worked on.
func (b *Box) Open() int { return int(b.open.Load()) }

// Connected says that a client has spoken with git ralph mcp in this run.
func (b *Box) Connected() bool { return b.connected.Load() }

// Env names the endpoint for processes of the run. SocketVar holds the path of
// one file in the run's folder, as seen from outside of a sandbox: whoever
// shows that folder elsewhere translates this one value.
func (b *Box) Env() []string {
	if b.end == nil {
		return nil
	}
	return []string{SocketVar + "=" + b.end.path, TokenVar + "=" + b.end.token}
}

// Collected is what the tools have recorded so far. The caller may keep it.
func (b *Box) Collected() session.Collected {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.got
	c.Complete, c.Blocked = cloneClaim(c.Complete), cloneClaim(c.Blocked)
	c.Handoff, c.Directive = slices.Clone(c.Handoff), slices.Clone(c.Directive)
	c.Learnings, c.Memory, c.Criteria = slices.Clone(c.Learnings), slices.Clone(c.Memory), slices.Clone(c.Criteria)
	c.Tasks, c.Knowledge = slices.Clone(c.Tasks), slices.Clone(c.Knowledge)
	return c
}

func cloneClaim(c *session.Claim) *session.Claim {
	if c == nil {
		return nil
	}
	out := *c
	return &out
}

// Close ends the endpoint and every call that waits, and returns when they are
// over. What was collected stays. It may be called more than once.
func (b *Box) Close() error {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.cancel()
	var err error
	if b.end != nil {
		err = b.end.close()
	}
	b.asking.Wait()
	return err
}

// plan is the work list with the tasks that this run added.
func (b *Box) plan() plan.Plan {
	p := b.scope.State.Plan
	p.Tasks = append(slices.Clip(p.Tasks), b.got.Tasks...)
	return p
}

// encode writes an answer. Answers are made of our own types, so an error is
// our mistake and not the caller's.
func encode(v any) json.RawMessage {
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage(`{"error":"the answer cannot be written","hint":"report this"}`)
	}
	return json.RawMessage(strings.TrimSuffix(out.String(), "\n"))
}

// text makes a value fit to be recorded: valid UTF-8, no control characters, no
// secrets (also none that an invisible character hid), no blanks around it.
func text(s string) string { return strings.TrimSpace(notes.Redact(notes.Clean(s))) }

// cutRunes is s with at most max characters, and whether it had more.
func cutRunes(s string, max int) (string, bool) {
	if utf8.RuneCountInString(s) <= max {
		return s, false
	}
	n := 0
	for i := range s {
		if n == max {
			return strings.TrimSpace(s[:i]), true
		}
		n++
	}
	return s, false
}
