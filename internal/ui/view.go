// Package ui is the live view: a few lines at the bottom of a terminal that say
// what a run is doing now. What happened stands above them as ordinary lines
// and stays in the terminal. View is pure; Program draws it.
package ui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Task is one line of the list of tasks.
type Task struct {
	ID, Title string
	Status    string // pending in_progress done failed blocked skipped
}

// Worker is one of several at work on a branch.
type Worker struct {
	Number, Attempt int
	Task, Title     string
	Since           time.Time // when its iteration began
	Does            string    // what its agent does, as far as nothing newer was heard
}

// Snapshot is what the journal and the figures of the agent at work say. Its
// texts are shown as they are: whoever makes one escapes control characters.
type Snapshot struct {
	Branch, Phase, Status string
	Session, Iteration    int
	Task, Title           string // of the iteration at work; empty = none
	Attempt               int
	Since                 time.Time // when the iteration began
	Started               time.Time // when the session began
	Asked                 string    // what a person asked for and what is still to come: "pauses after this iteration"
	WaitUntil             time.Time // the end of a wait; zero = none
	WaitFor               string    // what it is for: "the provider's limit"
	Tasks                 []Task
	Workers               []Worker // of a run with several, those at work
	Done, Wanted          int
	Tokens                int64
	// Cost is in millionths of a dollar; the limit 0 = none.
	CostSession, CostLimit int64
	CostUnknown            bool
	// ContextPct is how much of the model's window is used, Zone where a handoff
	// is asked for and where the session is ended, in percent; 0 = unknown.
	ContextPct, Handoff, Hard int
	// ContextAt is when the agent at work told of it; zero = it was another one.
	ContextAt time.Time
	// Pace is how long a finished task took on average; 0 = unknown.
	Pace time.Duration
}

// Kind is what an event says of the agent at work.
type Kind int

// The kinds of Event.
const (
	Began Kind = iota // an iteration begins
	Tool              // a tool call; Text is the tool with a short argument
	Said              // text of the agent
	Check             // a check ended; Text is its line
	Ended             // the iteration, or the agent's part of it, is over
	Done              // a sub-agent has ended
)

// Event is one thing that happened.
type Event struct {
	Kind  Kind
	Time  time.Time
	Text  string
	Agent string // the sub-agent that it is of; "" = the agent itself
	// Worker is the one of several that it is of; 0 = there is only one.
	Worker int
}

// helper is a sub-agent at work.
type helper struct {
	name, does string
	at         time.Time
}

// View is what is shown.
type View struct {
	Snapshot
	tool   string
	toolAt time.Time
	said   string
	check  string
	last   time.Time // of the newest event
	subs   []helper
	heard  map[int]Event // the newest of each worker that tells what it does
	// Offset moves the list of tasks, in lines.
	Offset int
	// List and Help are switched by keys, Typing is the line being typed.
	List, Help bool
	Typing     *string
	Notice     string // the answer to the last key
}

// Apply takes an event in.
func (v *View) Apply(e Event) {
	v.last = e.Time
	if e.Worker > 0 {
		v.worker(e)
		return
	}
	if e.Agent != "" {
		v.sub(e)
		return
	}
	switch e.Kind {
	case Began:
		v.tool, v.said, v.check, v.subs = "", "", "", nil
	case Tool:
		v.tool, v.toolAt = e.Text, e.Time
	case Said:
		v.said = e.Text
		v.tool = ""
	case Check:
		v.check, v.tool, v.said = e.Text, "", ""
	case Ended:
		v.tool, v.said, v.check, v.subs = "", "", "", nil
	}
}

// worker takes in what one of several workers does.
func (v *View) worker(e Event) {
	if v.heard == nil {
		v.heard = map[int]Event{}
	}
	switch e.Kind {
	case Began, Ended:
		delete(v.heard, e.Worker)
	case Done:
	default:
		v.heard[e.Worker] = e
	}
}

// workers are the lines of several workers, one each, with what its agent does now.
func (v *View) workers(width int, now time.Time, p Palette) (lines []string) {
	for _, w := range v.Workers {
		does, at := w.Does, ""
		if e, ok := v.heard[w.Number]; ok {
			does, at = e.Text, " "+Clock(now.Sub(e.Time))
			if e.Kind == Check {
				does = "check " + does
			}
		}
		line := Clock(now.Sub(w.Since)) + " " + w.Task
		if does == "" || width >= 60 { // a narrow line has room for one of both
			line += " " + ansi.Truncate(w.Title, width/3, "…")
		}
		if w.Attempt > 1 {
			line += fmt.Sprintf("  attempt %d", w.Attempt)
		}
		line = paint(p.Key, fmt.Sprintf("[%d]", w.Number)) + " " + paint(p.Bold, line)
		if does != "" {
			line += "  " + paint(p.Dim, does+at)
		}
		lines = append(lines, line)
	}
	return lines
}

// sub takes in what a sub-agent does.
func (v *View) sub(e Event) {
	i := slices.IndexFunc(v.subs, func(h helper) bool { return h.name == e.Agent })
	switch {
	case e.Kind == Done && i >= 0:
		v.subs = slices.Delete(v.subs, i, i+1)
	case e.Kind == Done:
	case i >= 0:
		v.subs[i].does, v.subs[i].at = e.Text, e.Time
	default:
		v.subs = append(v.subs, helper{e.Agent, e.Text, e.Time})
	}
}

// maxSubs is how many sub-agents are shown one by one.
const maxSubs = 4

// helpers are the lines of the sub-agents at work.
func (v *View) helpers(now time.Time, p Palette) (lines []string) {
	for i, h := range v.subs {
		if i == maxSubs {
			return append(lines, paint(p.Dim, fmt.Sprintf("    and %d more sub-agents", len(v.subs)-i)))
		}
		since := paint(p.Dim, Clock(now.Sub(h.at)))
		lines = append(lines, fmt.Sprintf("    %s  %s  %s", paint(p.Key, h.name), h.does, since))
	}
	return lines
}

// Palette colours text; nil functions leave it as it is.
type Palette struct{ Bold, Dim, Good, Bad, Key func(string) string }

func paint(f func(string) string, s string) string {
	if f == nil || s == "" {
		return s
	}
	return f(s)
}

// maxList is how many tasks the list shows.
const maxList = 10

// Lines are the lines of the view at a time, each at most width columns wide
// and no more than height. A narrow terminal gets fewer words, never a wrapped
// line.
func (v *View) Lines(width, height int, now time.Time, p Palette) []string {
	if width < 20 {
		width = 20
	}
	var lines []string
	add := func(s string) { lines = append(lines, ansi.Truncate(s, width, "…")) }
	add(v.head(width, now, p))
	for _, s := range v.work(width, now, p) {
		add(s)
	}
	if v.List {
		for _, s := range v.list(min(maxList, height-7), p) {
			add(s)
		}
	}
	if v.Wanted > 0 {
		add(v.progress(width, now, p))
	}
	add(v.spent(width, now, p))
	if v.Notice != "" {
		add(paint(p.Key, v.Notice))
	}
	switch {
	case v.Typing != nil:
		add("note for the agent: " + *v.Typing + "▏ (enter sends, esc leaves)")
	case v.Help:
		for _, s := range help(width) {
			add(paint(p.Dim, s))
		}
	default:
		add(paint(p.Dim, keys(width)))
	}
	if height > 0 && len(lines) > height {
		lines = lines[len(lines)-height:]
	}
	return lines
}

func keys(width int) string {
	if width < 72 {
		return "p pause  s stop  q leave  ? help"
	}
	return "p pause  s stop  n note  k skip  t tasks  d detail  q leave  ? help"
}

func help(width int) []string {
	left := []string{"p  pause after this iteration, or continue", "s  stop after this iteration",
		"S  stop now; the attempt is kept aside",
		"n  a note for the next prompt", "k  skip the running task"}
	right := []string{"t  the list of tasks; ↑ ↓ move it", "d  what the agent says and calls",
		"q  leave this view; the run continues", "Ctrl-C  end the run now",
		"?  close this help"}
	if width < 80 {
		return append(left, right...)
	}
	for i := range left {
		left[i] = fmt.Sprintf("%-42s%s", left[i], right[i])
	}
	return left
}

// head is the rule with branch, phase, session and the time since it began.
func (v *View) head(width int, now time.Time, p Palette) string {
	left := "── " + v.Branch
	for _, s := range []string{v.Phase, fmt.Sprintf("session %d", v.Session)} {
		if s != "" && ansi.StringWidth(left)+len(s)+14 < width {
			left += " · " + s
		}
	}
	right := ""
	if !v.Started.IsZero() {
		right = " " + Clock(now.Sub(v.Started)) + " ──"
	}
	left += " "
	fill := width - ansi.StringWidth(left) - ansi.StringWidth(right)
	if fill < 0 {
		return paint(p.Dim, left)
	}
	return paint(p.Dim, left+strings.Repeat("─", fill)+right)
}

// work is what is done now: the iteration, and what its agent does.
func (v *View) work(width int, now time.Time, p Palette) (lines []string) {
	switch {
	case !v.WaitUntil.IsZero() && v.WaitUntil.After(now):
		lines = append(lines, paint(p.Bad, fmt.Sprintf("waiting until %s, %s left: %s",
			v.WaitUntil.Local().Format("15:04"), Clock(v.WaitUntil.Sub(now)), v.WaitFor)))
	case len(v.Workers) > 0:
		lines = v.workers(width, now, p)
	case v.Task == "" && v.Iteration == 0:
		lines = append(lines, paint(p.Bold, "getting ready"))
	case v.Task == "":
		lines = append(lines, paint(p.Bold, "between iterations"))
	default:
		s := fmt.Sprintf("%s %s", v.Task, v.Title)
		if v.Attempt > 1 {
			s += fmt.Sprintf("  attempt %d", v.Attempt)
		}
		lines = append(lines, paint(p.Bold, fmt.Sprintf("%s #%d  %s", Clock(now.Sub(v.Since)), v.Iteration, s)))
	}
	switch {
	case len(v.Workers) > 0: // their lines say it
	case v.tool != "":
		lines = append(lines, fmt.Sprintf("  %s  %s", v.tool, paint(p.Dim, Clock(now.Sub(v.toolAt)))))
	case v.check != "":
		lines = append(lines, "  check "+v.check)
	case v.said != "":
		lines = append(lines, "  "+v.said)
	case v.Task != "" && !v.last.IsZero():
		lines = append(lines, paint(p.Dim, "  the agent works; last sign "+Clock(now.Sub(v.last))+" ago"))
	}
	lines = append(lines, v.helpers(now, p)...)
	if v.Asked != "" {
		lines = append(lines, paint(p.Bad, "  "+v.Asked))
	}
	return lines
}

var marks = map[string]string{"done": "✓", "in_progress": "▸", "failed": "✗", "blocked": "!", "skipped": "–"}

// list are the tasks around the one at work.
func (v *View) list(n int, p Palette) (lines []string) {
	if n <= 0 || len(v.Tasks) == 0 {
		return nil
	}
	at := max(0, slices.IndexFunc(v.Tasks, func(t Task) bool { return t.Status == "in_progress" }))
	if v.Task == "" {
		at = max(0, slices.IndexFunc(v.Tasks, func(t Task) bool { return t.Status == "pending" }))
	}
	from := max(0, min(at-n/2+v.Offset, len(v.Tasks)-n))
	v.Offset = from - max(0, min(at-n/2, len(v.Tasks)-n)) // no further than the list goes
	to := min(len(v.Tasks), from+n)
	for _, t := range v.Tasks[from:to] {
		mark := marks[t.Status]
		if mark == "" {
			mark = "·"
		}
		line := fmt.Sprintf("  %s %s  %s", mark, t.ID, t.Title)
		switch t.Status {
		case "done":
			line = paint(p.Good, line)
		case "failed", "blocked":
			line = paint(p.Bad, line)
		case "in_progress":
			line = paint(p.Bold, line)
		default:
			line = paint(p.Dim, line)
		}
		lines = append(lines, line)
	}
	if rest := len(v.Tasks) - (to - from); rest > 0 {
		lines = append(lines, paint(p.Dim, fmt.Sprintf("  %d more", rest)))
	}
	return lines
}

// progress is the bar of the tasks with an estimate of what is left.
func (v *View) progress(width int, now time.Time, p Palette) string {
	n := min(30, max(8, width/4))
	s := paint(p.Good, bar(n, float64(v.Done)/float64(v.Wanted))) + fmt.Sprintf(" %d of %d tasks", v.Done, v.Wanted)
	counts := map[string]int{}
	for _, t := range v.Tasks {
		counts[t.Status]++
	}
	for _, what := range []string{"failed", "blocked"} {
		if counts[what] > 0 {
			s += ", " + paint(p.Bad, fmt.Sprintf("%d %s", counts[what], what))
		}
	}
	if left := v.Wanted - v.Done; v.Pace > 0 && left > 0 {
		rest := time.Duration(left) * v.Pace
		if v.Task != "" {
			rest -= min(v.Pace, now.Sub(v.Since))
		}
		s += paint(p.Dim, ", about "+Rough(rest)+" left")
	}
	return s
}

// contextFresh is how old an agent's report of its window may be without its
// age being shown: one comes with each answer of the model.
const contextFresh = 30 * time.Second

// spent is tokens, money and how full the model's window is, with the zone in
// which a handoff is asked for.
func (v *View) spent(width int, now time.Time, p Palette) string {
	var parts []string
	if v.ContextPct > 0 && len(v.Workers) == 0 { // each of several has a window of its own
		n := min(20, max(6, width/6))
		colour := p.Good
		switch {
		case v.Hard > 0 && v.ContextPct >= v.Hard:
			colour = p.Bad
		case v.Handoff > 0 && v.ContextPct >= v.Handoff:
			colour = p.Key
		}
		part := fmt.Sprintf("context %s %d %%", paint(colour, zoned(n, v.ContextPct, v.Handoff)), v.ContextPct)
		switch age := now.Sub(v.ContextAt); {
		case v.ContextAt.IsZero():
			part += paint(p.Dim, " before")
		case age >= contextFresh:
			part += paint(p.Dim, " "+Clock(age)+" ago")
		}
		parts = append(parts, part)
	}
	if v.Tokens > 0 {
		parts = append(parts, Count(v.Tokens)+" tokens")
	}
	switch {
	case v.CostSession > 0 && v.CostLimit > 0:
		parts = append(parts, fmt.Sprintf("$%.2f of $%.2f", float64(v.CostSession)/1e6, float64(v.CostLimit)/1e6))
	case v.CostSession > 0:
		parts = append(parts, fmt.Sprintf("$%.2f", float64(v.CostSession)/1e6))
	case v.CostUnknown:
		parts = append(parts, "cost unknown")
	}
	if len(parts) == 0 {
		return paint(p.Dim, "no tokens used yet")
	}
	return strings.Join(parts, "  ")
}

func bar(n int, part float64) string {
	full := min(n, max(0, int(part*float64(n)+0.5)))
	return strings.Repeat("█", full) + strings.Repeat("░", n-full)
}

// zoned is a bar on which the place is marked where a handoff is asked for.
func zoned(n, percent, mark int) string {
	cells := []rune(bar(n, float64(percent)/100))
	if at := mark * n / 100; mark > 0 && at < n {
		cells[at] = '┃'
	}
	return string(cells)
}

// Clock is a duration to the second: 45s, 3m05s, 2h03m.
func Clock(d time.Duration) string {
	d = max(0, d).Truncate(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// Rough is an estimate in words: 20m, 2h, under a minute.
func Rough(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "a minute"
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()+0.5))
	case d < 10*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60/10*10)
	}
	return fmt.Sprintf("%dh", int(d.Hours()+0.5))
}

// Count is a number of tokens in three digits: 950, 1.2k, 119k, 4.3M.
func Count(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 10_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}
