package session

import (
	"context"
	"strings"
	"sync"
	"time"

	"git-ralph/gitstate/state"
	"git-ralph/notes"
)

// Bound is a limit at which a client is stopped.
type Bound struct {
	Name  string
	Money bool  // in micro-dollars, else in tokens
	Limit int64 // 0 = none
	Used  int64 // before this session
	// Grace gives the client a moment more, to say what it used.
	Grace bool
}

// Spent is what finished sessions have used, in millionths of a dollar and in tokens.
func Spent(runs []state.AgentRun) (micro, tokens int64) {
	for _, r := range runs {
		tokens += r.Tokens.Total()
		if r.CostMicro != nil {
			micro += *r.CostMicro
		}
	}
	return micro, tokens
}

// meter adds up usage as it arrives and stops the client at a limit.
type meter struct {
	h    *Host
	ss   *Session
	ctx  context.Context // of the run
	stop context.CancelCauseFunc
	once sync.Once // a limit with a grace was crossed
	mu   sync.Mutex
	sum  Usage
	cost int64 // of the run so far, in micro-dollars
	// reported is the cost that the client reports; the prices of model count
	// where it reports none.
	reported int64
	model    string
	peak     int
	// lastText is what the agent said last.
	lastText string
	noted    time.Time // when the spend was written last
	filledAt time.Time // when the client told how full the window is
	behind   bool      // a note is still to be written
	over     bool      // the session has ended
	doing    *Doing
}

func (m *meter) event(e AgentEvent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	say := func(data map[string]string, format string, args ...any) {
		m.h.emit(m.ss, "agent", data, format, args...)
	}
	switch e.Kind {
	case EventUsage:
		if e.Model != "" {
			m.model = e.Model
		}
		m.usage(e.Usage)
	case EventText:
		m.lastText = notes.CutBytes(e.Text, 4000)
		say(agentData(e, "text", notes.CutBytes(e.Text, 4000)), "%s", notes.OneLine(e.Text, 200))
		m.does(notes.Redact(notes.OneLine(e.Text, 200)), saying)
	case EventOutput:
		line := notes.Redact(notes.OneLine(e.Text, 200))
		say(map[string]string{"output": line}, "%s", line)
		m.does(line, saying)
	case EventToolDone:
		m.ss.Calls.Done(time.Now())
		if e.Agent != "" {
			say(agentData(e, "done", "yes"), "%s is done", notes.OneLine(e.Agent, 60))
		}
	case EventToolCall:
		m.ss.Calls.Begin(e.Tool, e.Path, m.h.Repo.Root, time.Now())
		say(agentData(e, "tool", e.Tool), "%s %s", notes.OneLine(e.Tool, 60), notes.OneLine(e.Text, 160))
		m.does(notes.Redact(notes.OneLine(e.Tool, 60)+" "+notes.OneLine(e.Text, 160)), calling)
	case EventDenied:
		say(map[string]string{"denied": e.Tool}, "denied %s: %s", notes.OneLine(e.Tool, 60), notes.OneLine(e.Text, 200))
	case EventLimit, EventRetry, EventWarning:
		say(map[string]string{"kind": string(e.Kind)}, "%s", notes.OneLine(e.Text, 200))
	}
}

// agentData is what an event says besides its line, and which sub-agent it is of.
func agentData(e AgentEvent, key, value string) map[string]string {
	data := map[string]string{key: value}
	if e.Agent != "" {
		data["agent"] = e.Agent
	}
	return data
}

func (m *meter) usage(u Usage) {
	m.sum.Input += u.Input
	m.sum.Output += u.Output
	m.sum.CacheRead += u.CacheRead
	m.sum.CacheWrite += u.CacheWrite
	m.sum.Turns += u.Turns
	m.sum.APICalls += u.APICalls
	if u.CostMicroUSD != nil {
		m.reported += *u.CostMicroUSD
	}
	if c, ok := m.spentSoFar(); ok {
		m.cost, m.sum.CostMicroUSD = c, &c
	}
	if u.ContextTokens > 0 {
		m.sum.ContextTokens, m.filledAt = u.ContextTokens, m.h.Now().UTC()
	}
	if u.ContextWindow > 0 {
		m.sum.ContextWindow = u.ContextWindow
	}
	if w := m.capacity(); w > 0 && m.sum.ContextTokens > 0 {
		m.peak = max(m.peak, int(100*m.sum.ContextTokens/w))
	}
	m.ss.Window.observe(u)
	m.soon()
	m.spend()
	for _, b := range m.ss.Bounds {
		used := b.Used + m.sum.Total()
		if b.Money {
			used = b.Used + m.cost
		}
		switch {
		case b.Limit <= 0 || used < b.Limit:
			continue
		case b.Grace:
			m.stopSoon(budgetError{b.Name})
		default:
			m.stop(budgetError{b.Name})
		}
		return
	}
}

// budgetGrace is how long a client may go on after a bound with a grace: clients say
// what they used when they are finished.
const budgetGrace = time.Second

func (m *meter) stopSoon(cause error) {
	m.once.Do(func() {
		go func() {
			m.h.Sleep(m.ctx, budgetGrace)
			m.stop(cause)
		}()
	})
}

func (m *meter) capacity() int64 {
	if m.sum.ContextWindow > 0 {
		return m.sum.ContextWindow
	}
	return int64(m.ss.Capacity)
}

// doing says whether an agent calls a tool or says something.
type doing bool

const (
	calling doing = true
	saying  doing = false
)

// does notes what the agent does. A tool call is written at once, since it may
// be the last that is heard for long; m.mu is held.
func (m *meter) does(text string, tool doing) {
	m.doing = &Doing{Text: text, Tool: bool(tool), Since: m.h.Now().UTC()}
	if tool {
		m.soon()
	}
	m.spend()
}

// soon lets the next note be written almost at once.
func (m *meter) soon() {
	if m.h.Now().Sub(m.noted) >= spendEvery/10 {
		m.noted = time.Time{}
	}
}

// spend notes what the iteration has used so far, or will a moment later when it
// has just done so; m.mu is held.
func (m *meter) spend() {
	if m.over {
		return
	}
	now := m.h.Now()
	if rest := spendEvery - now.Sub(m.noted); rest > 0 {
		if !m.behind {
			m.behind = true
			go m.catchUp(rest)
		}
		return
	}
	m.noted = now
	cost, _ := Spent(m.ss.Before)
	s := Spend{EventID: m.ss.Request.EventID, Tokens: tokens(m.sum), ContextTokens: m.sum.ContextTokens,
		ContextWindow: m.capacity(), ContextAt: m.filledAt, Doing: m.doing}
	known := m.sum.CostMicroUSD != nil
	for _, r := range m.ss.Before {
		s.Tokens = s.Tokens.Plus(r.Tokens)
		known = known || r.CostMicro != nil
	}
	if cost += m.cost; known {
		s.CostMicro = &cost
	}
	writeSpend(m.h.Repo, s)
}

// catchUp notes what came too soon after the note before.
func (m *meter) catchUp(rest time.Duration) {
	t := time.NewTimer(rest)
	defer t.Stop()
	select {
	case <-t.C:
	case <-m.ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note()
}

// note writes what was put off, if anything was; m.mu is held.
func (m *meter) note() {
	if m.behind && !m.over {
		m.behind, m.noted = false, time.Time{}
		m.spend()
	}
}

// end writes the last note. Nothing is written afterwards, because the journal
// then has what the iteration used.
func (m *meter) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note()
	m.over = true
}

// price finds the price of a model: by its name, or by the longest name that it
// begins with, as models are released under a name with a date behind it.
func (ss *Session) price(model string) (Price, bool) {
	best := ""
	for name := range ss.Pricing {
		if strings.HasPrefix(model, name) && len(name) > len(best) {
			best = name
		}
	}
	p, ok := ss.Pricing[best]
	return p, ok && best != ""
}

// spentSoFar is the cost of the run: what the client reported, else what its
// tokens cost; false when neither is known.
func (m *meter) spentSoFar() (int64, bool) {
	if m.reported > 0 {
		return m.reported, true
	}
	p, ok := m.ss.price(m.model)
	return p.Of(m.sum), ok
}
