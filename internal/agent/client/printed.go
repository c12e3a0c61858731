package client

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"git-ralph/loop/session"
)

// MaxPrinted is the longest line of a plain client that is read as JSON, and
// the most of any line that is kept: 1 MiB.
const MaxPrinted = 1 << 20

// Printed reads the output of a client that speaks the plain contract: JSON
// lines {"type":"usage",…} (increments; context_tokens is the present use of
// the window), {"type":"text","text":…}, {"type":"tool","name":…,"text":…}, and for a run that could not work
// {"type":"limit","until":…,"reason":…} and {"type":"error","kind":…,"message":…};
// everything else is transcript. Its methods may be called from several
// goroutines; events never overlap.
type Printed struct {
	events     func(session.AgentEvent)
	transcript *Transcript

	mu    sync.Mutex
	usage session.Usage
	model string
	end   *PrintedEnd
	now   func() time.Time
	told  time.Time // when a line of output was the newest event of its kind
}

// PrintedEnd is why a client says that it could not work.
type PrintedEnd struct {
	Outcome session.OutcomeKind
	Detail  string
	Until   time.Time // of a limit; zero = not said
}

// NewPrinted reports to events, which may be nil.
func NewPrinted(events func(session.AgentEvent), transcript *Transcript) *Printed {
	return &Printed{events: events, transcript: transcript, now: time.Now}
}

// printedLine is a line of the contract. Counts are floats because a script's
// arithmetic may print 12.0; what does not make sense counts as 0.
type printedLine struct {
	Type          string   `json:"type"`
	Text          string   `json:"text"`
	Name          string   `json:"name"`
	Model         string   `json:"model"`
	Input         float64  `json:"input_tokens"`
	Output        float64  `json:"output_tokens"`
	CacheRead     float64  `json:"cache_read_tokens"`
	CacheWrite    float64  `json:"cache_write_tokens"`
	Context       float64  `json:"context_tokens"`
	ContextWindow float64  `json:"context_window"`
	CostUSD       *float64 `json:"cost_usd"`
	Reason        string   `json:"reason"`
	Kind          string   `json:"kind"`
	Message       string   `json:"message"`
	// Until is seconds or milliseconds since 1970, RFC 3339, or words like "5pm (UTC)".
	Until any `json:"until"`
}

// errorKinds are the kinds of {"type":"error"} and the reasons of {"type":"limit"}.
var errorKinds = map[string]session.OutcomeKind{
	"auth": session.AuthFailed, "overloaded": session.Overloaded, "rate_limit": session.RateLimited,
	"rate_limited": session.RateLimited,
	"usage_limit":  session.UsageLimit, "context_limit": session.ContextLimit, "max_turns": session.MaxTurns,
	"permission_denied": session.PermissionDenied, "protocol_error": session.ProtocolError,
}

// Stdout takes a line of standard output.
func (p *Printed) Stdout(line []byte, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	trimmed := bytes.TrimSpace(line)
	var l printedLine
	if cut || len(trimmed) == 0 || trimmed[0] != '{' || json.Unmarshal(trimmed, &l) != nil {
		p.transcript.Output("", line, cut)
		p.output(string(trimmed))
		return
	}
	p.transcript.JSON(trimmed)
	switch l.Type {
	case "text":
		p.event(session.AgentEvent{Kind: session.EventText, Text: l.Text})
	case "tool":
		// Shown, and no more: nobody judged the call, and it says not when it ended.
		p.output(strings.TrimSpace(l.Name + " " + l.Text))
	case "usage":
		p.add(l)
	case "limit":
		kind, ok := errorKinds[l.Reason]
		if !ok || kind != session.RateLimited && kind != session.Overloaded {
			kind = session.UsageLimit
		}
		p.end = &PrintedEnd{kind, Line(l.Reason, 200), moment(l.Until, p.now())}
		p.event(session.AgentEvent{Kind: session.EventLimit, Text: "limit: " + l.Reason})
	case "error":
		if kind, ok := errorKinds[l.Kind]; ok {
			p.end = &PrintedEnd{kind, Line(strings.TrimSpace(l.Kind+" "+l.Message), 200), moment(l.Until, p.now())}
		}
		p.event(session.AgentEvent{Kind: session.EventWarning, Text: "error: " + strings.TrimSpace(l.Kind+" "+l.Message)})
	}
}

// maxWait bounds how far ahead the end of a limit may lie.
const maxWait = 31 * 24 * time.Hour

// moment reads the end of a limit; zero when it makes no sense.
func moment(v any, now time.Time) time.Time {
	var at time.Time
	switch v := v.(type) {
	case float64:
		if v > 0 && v < 1e14 {
			at = epoch(strconv.FormatInt(int64(v), 10))
		}
	case string:
		at = ResetTime("until "+v, now)
		if t, err := time.Parse(time.RFC3339, strings.TrimSpace(v)); err == nil {
			at = t // also one that has passed: it was said
		}
	}
	if at.Sub(now) > maxWait {
		return time.Time{}
	}
	return at
}

// End is what the client said last about why it could not work; nil = nothing.
func (p *Printed) End() *PrintedEnd {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end
}

// Stderr takes a line of standard error.
func (p *Printed) Stderr(line []byte, cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.transcript.Output("stderr", line, cut)
	p.output(string(bytes.TrimSpace(line)))
}

// outputEvery is how often a line of output becomes an event at most: a person
// watches these, and the transcript has all of them.
const outputEvery = 250 * time.Millisecond

func (p *Printed) output(line string) {
	if now := p.now(); line != "" && now.Sub(p.told) >= outputEvery {
		p.told = now
		p.event(session.AgentEvent{Kind: session.EventOutput, Text: Line(line, 500)})
	}
}

func (p *Printed) add(l printedLine) {
	u := session.Usage{Input: count(l.Input), Output: count(l.Output), CacheRead: count(l.CacheRead),
		CacheWrite:    count(l.CacheWrite),
		ContextTokens: count(l.Context), ContextWindow: count(l.ContextWindow)}
	if l.CostUSD != nil {
		cost := MicroUSD(*l.CostUSD)
		u.CostMicroUSD = &cost
	}
	if l.Model != "" {
		p.model = Line(l.Model, 100)
	}
	p.usage = AddUsage(p.usage, u)
	p.event(session.AgentEvent{Kind: session.EventUsage, Usage: u, Model: p.model})
}

func (p *Printed) event(e session.AgentEvent) {
	if p.events != nil {
		p.events(e)
	}
}

// Usage is the sum so far, Model the newest that was named.
func (p *Printed) Usage() (u session.Usage, model string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.usage, p.model
}

// maxCount bounds what one line can claim, so that sums cannot overflow.
const maxCount = 1e12

func count(f float64) int64 {
	if !(f > 0) { // also NaN
		return 0
	}
	return int64(math.Min(f, maxCount))
}

// MicroUSD is dollars in millionths, rounded; what is negative or no number is 0.
func MicroUSD(usd float64) int64 { return count(math.Round(usd * 1e6)) }

// AddUsage is u with the increment d: counts add up, what describes the present
// (the window) is replaced when d knows it.
func AddUsage(u, d session.Usage) session.Usage {
	u.Input += d.Input
	u.Output += d.Output
	u.CacheRead += d.CacheRead
	u.CacheWrite += d.CacheWrite
	u.Turns += d.Turns
	u.APICalls += d.APICalls
	if d.CostMicroUSD != nil {
		sum := *d.CostMicroUSD
		if u.CostMicroUSD != nil {
			sum += *u.CostMicroUSD
		}
		u.CostMicroUSD = &sum
	}
	if d.ContextTokens > 0 {
		u.ContextTokens = d.ContextTokens
	}
	if d.ContextWindow > 0 {
		u.ContextWindow = d.ContextWindow
	}
	return u
}
