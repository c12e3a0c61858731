package notes

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"git-ralph/internal/text"
	"git-ralph/internal/text/lazyregexp"
)

// The harness captures memory at three boundaries, whether or not the agent
// co-operates: the end of an iteration, of a phase, of a session. The texts
// are Markdown and bounded; nothing rotates away, history is the archive.

// Figures are what a stretch of work used. Cost is nil while it is unknown, in
// millionths of a dollar.
type Figures struct {
	Iterations   int
	Tokens       int64
	CostMicroUSD *int64
	Duration     time.Duration
}

func (f Figures) lines() []string {
	var out []string
	if f.Iterations > 0 {
		out = append(out, fmt.Sprintf("Iterations: %d", f.Iterations))
	}
	out = append(out, "Tokens: "+thousands(f.Tokens))
	if f.CostMicroUSD != nil {
		out = append(out, fmt.Sprintf("Cost: $%.4f", float64(*f.CostMicroUSD)/1e6))
	} else {
		out = append(out, "Cost: unknown")
	}
	if f.Duration > 0 {
		out = append(out, "Duration: "+f.Duration.Round(time.Second).String())
	}
	return out
}

func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// PhaseInput is a phase that was completed.
type PhaseInput struct {
	Phase     string
	Next      string
	Reason    string
	Artifacts []string // specs, tasks, commits
	Decisions []string
	Figures   Figures
}

// maxMemory bounds a stored memory text, in characters, so that the previous
// phase leaves room in active memory.
const maxMemory = 4000

// PhaseMemory is the memory of a phase: its artifacts, decisions and metrics.
func PhaseMemory(in PhaseInput) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Phase %s\n", in.Phase)
	if in.Next != "" {
		fmt.Fprintf(&b, "\nFollowed by %s", in.Next)
		if in.Reason != "" {
			fmt.Fprintf(&b, ": %s", OneLine(in.Reason, 200))
		}
		b.WriteString("\n")
	}
	section(&b, "Artifacts", in.Artifacts, 20)
	section(&b, "Decisions", in.Decisions, 20)
	section(&b, "Metrics", in.Figures.lines(), 10)
	return clipLines(b.String())
}

// SessionInput is what a session leaves for the next one.
type SessionInput struct {
	Session    int
	Iteration  int
	Phase      string
	Reason     string   // why it ended
	Completed  []string // "T-001 add the column"
	InProgress string   // "T-002 title"
	Progress   string   // how far that is
	Decisions  []string
	Files      []string // most important first
	Blockers   []string
	Notes      []string
	Deps       []string
	Percent    int // of the plan
	Figures    Figures
}

// SessionMemory is the memory of a session, under fixed headings.
func SessionMemory(in SessionInput) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Session Memory - Iteration %d\n", in.Iteration)
	done := make([]string, len(in.Completed))
	for i, s := range in.Completed {
		done[i] = "[x] " + s
	}
	section(&b, "Completed This Session", done, 20)
	if in.InProgress != "" {
		b.WriteString("\n## Current Task In Progress\n")
		fmt.Fprintf(&b, "Task: %s\n", OneLine(in.InProgress, 200))
		if s := OneLine(in.Progress, 400); s != "" {
			fmt.Fprintf(&b, "Progress: %s\n", s)
		}
	}
	section(&b, "Architectural Decisions", in.Decisions, 12)
	section(&b, "Files Modified", in.Files, 10)
	section(&b, "Blockers/Issues", in.Blockers, 10)
	section(&b, "Notes for Next Session", in.Notes, 12)
	section(&b, "Dependencies Added", in.Deps, 10)
	meta := []string{"Phase: " + in.Phase, fmt.Sprintf("Session: %d", in.Session),
		fmt.Sprintf("Iteration: %d", in.Iteration)}
	meta = append(meta, in.Figures.lines()...)
	meta = append(meta, fmt.Sprintf("Total Progress: %d%%", in.Percent))
	if in.Reason != "" {
		meta = append(meta, "Ended: "+OneLine(in.Reason, 200))
	}
	section(&b, "Session Metadata", meta, 20)
	return clipLines(b.String())
}

// section writes a heading and its items, nothing when there are none.
func section(b *strings.Builder, title string, items []string, shown int) {
	n := 0
	for _, s := range items {
		if s = OneLine(s, 400); s == "" {
			continue
		}
		if n == 0 {
			fmt.Fprintf(b, "\n## %s\n", title)
		}
		if n++; n > shown {
			fmt.Fprintf(b, "- and %d more\n", len(items)-shown)
			return
		}
		fmt.Fprintf(b, "- %s\n", s)
	}
}

// clipLines keeps whole lines in at most maxMemory characters.
func clipLines(s string) string {
	if utf8.RuneCountInString(s) <= maxMemory {
		return s
	}
	const mark = "[… cut …]\n"
	cut := text.Clip(s, maxMemory-len(mark))
	if i := strings.LastIndexByte(cut, '\n'); i > 0 {
		cut = cut[:i+1]
	}
	return cut + mark
}

// MaxUpdate is how much one ralph_update_memory adds, in characters.
const MaxUpdate = 2000

// AgentNotes begins the part of a session's memory that agents wrote themselves.
const AgentNotes = "\n## Notes From Agents\n"

// maxUpdates bounds all of them together.
const maxUpdates = 6000

// AddMemory appends an agent's note (ralph_update_memory) to the others of the
// session. If there are too many, the oldest are dropped; history keeps them.
func AddMemory(current, content string, iteration int) string {
	content = strings.TrimSpace(text.Clip(Clean(Redact(content)), MaxUpdate))
	if content == "" {
		return current
	}
	text := strings.TrimRight(current, "\n")
	if text != "" {
		text += "\n"
	}
	text += fmt.Sprintf("- Iteration %d: %s\n", iteration, strings.ReplaceAll(content, "\n", "\n  "))
	for utf8.RuneCountInString(text) > maxUpdates {
		i := strings.Index(text, "\n- ")
		if i < 0 {
			break
		}
		text = text[i+1:]
	}
	return text
}

var noteBegins = lazyregexp.New(`(?m)^- Iteration (\d+): `)

// MemoryUpTo is what AddMemory has put together up to an iteration.
func MemoryUpTo(current string, iteration int) string {
	var b strings.Builder
	begins := noteBegins().FindAllStringSubmatchIndex(current, -1)
	for i, m := range begins {
		end := len(current)
		if i+1 < len(begins) {
			end = begins[i+1][0]
		}
		if n, err := strconv.Atoi(current[m[2]:m[3]]); err == nil && n <= iteration {
			b.WriteString(current[m[0]:end])
		}
	}
	return b.String()
}
