package notes

import (
	"encoding/json"
	"fmt"
	"strings"
)

// SynthInput is what the harness knows about an iteration whose agent left no
// valid handoff. Only Tail and Raw are the agent's claims.
type SynthInput struct {
	Iteration int
	Attempt   int
	TaskID    string
	Title     string
	// Outcome is how the run ended (completed, hang, crashed …), Detail one
	// line about it ("signal 9", "idle 5m").
	Outcome string
	Detail  string
	// Claimed says that the agent reported the task complete through the tool.
	Claimed bool
	// Files is the tree difference, Tests the test files among them.
	Files []FileTouched
	Tests []string
	// Tail is the agent's last text, Tools its last tool calls, oldest first.
	Tail  string
	Tools []string
	// Raw is a handoff that was not accepted and Problems say why. Its readable
	// plain texts are reused.
	Raw      []byte
	Problems []Problem
}

// synthTail is how much of the agent's last words goes into the narrative.
const synthTail = 1500

// Synthesize builds the handoff of an iteration whose agent left none: from
// the tree difference, the transcript's tail and the exit. It is valid against
// the schema for every input.
func Synthesize(in SynthInput) Handoff {
	h := Handoff{
		TaskCompleted:         TaskCompleted{TaskID: in.TaskID, FullyComplete: in.Claimed},
		Deviations:            []Deviation{},
		BugsEncountered:       []Bug{},
		ArchitecturalNotes:    []string{},
		UnfinishedBusiness:    []Unfinished{},
		Recommendations:       []string{},
		FilesTouched:          append([]FileTouched{}, in.Files...),
		PlanAmendments:        []json.RawMessage{},
		TestsAdded:            []TestsAdded{},
		ConstraintsDiscovered: []Constraint{},
		ConfidenceLevel:       "low",
	}
	for _, f := range in.Tests {
		h.TestsAdded = append(h.TestsAdded, TestsAdded{File: f, TestNames: []string{}})
	}
	end := endOf(in)
	h.Summary = fmt.Sprintf("%s; %s", end, countFiles(in.Files))
	h.TaskCompleted.Summary = h.Summary
	if h.TaskCompleted.TaskID == "" {
		h.TaskCompleted.TaskID = "none"
	}
	if !in.Claimed {
		item := strings.TrimSpace(in.TaskID + " " + OneLine(in.Title, 200))
		if item != "" { // a phase has no task that could be left
			h.UnfinishedBusiness = append(h.UnfinishedBusiness, Unfinished{Item: item, Reason: end, Priority: "high"})
		}
	}
	h.Freeform = synthText(in, end)
	return h
}

func endOf(in SynthInput) string {
	switch in.Outcome {
	case "", "completed":
		return "the agent ended without a valid handoff"
	}
	end := "the agent ended with " + OneLine(in.Outcome, 60)
	if in.Detail != "" {
		end += " (" + OneLine(in.Detail, 200) + ")"
	}
	return end
}

func countFiles(files []FileTouched) string {
	switch len(files) {
	case 0:
		return "no file was changed"
	case 1:
		return "1 file was changed"
	}
	return fmt.Sprintf("%d files were changed", len(files))
}

func synthText(in SynthInput, end string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "This handoff was written by the harness: %s.", end)
	if in.Iteration > 0 {
		fmt.Fprintf(&b, " It was iteration %d", in.Iteration)
		if in.TaskID != "" {
			fmt.Fprintf(&b, " on %s", strings.TrimSpace(in.TaskID+" "+OneLine(in.Title, 200)))
		}
		if in.Attempt > 0 {
			fmt.Fprintf(&b, ", attempt %d", in.Attempt)
		}
		b.WriteString(".")
	}
	if in.Claimed {
		b.WriteString(" The agent had reported the task complete.")
	}
	b.WriteString("\n")
	const shown = 20
	if len(in.Files) > 0 {
		fmt.Fprintf(&b, "\nChanged files:\n")
		for i, f := range in.Files {
			if i == shown {
				fmt.Fprintf(&b, "- and %d more\n", len(in.Files)-shown)
				break
			}
			fmt.Fprintf(&b, "- %s %s\n", OneLine(f.Action, 20), OneLine(f.Path, 300))
		}
	} else {
		b.WriteString("\nNo file differs from the checkpoint.\n")
	}
	if len(in.Tools) > 0 {
		b.WriteString("\nIts last tool calls:\n")
		for _, t := range in.Tools[max(0, len(in.Tools)-10):] {
			fmt.Fprintf(&b, "- %s\n", OneLine(Redact(t), 200))
		}
	}
	if len(in.Problems) > 0 {
		b.WriteString("\nThe handoff it left was not accepted:\n")
		b.WriteString(FormatProblems(in.Problems[:min(len(in.Problems), 10)]))
	}
	for _, part := range []struct{ title, text string }{
		{"From the refused handoff", salvage(in.Raw)},
		{"Its last words", in.Tail},
	} {
		if text := strings.TrimSpace(tail(Redact(Clean(part.text)), synthTail)); text != "" {
			fmt.Fprintf(&b, "\n%s:\n%s\n", part.title, text)
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// salvage reads the two narrative texts of a handoff that is not valid.
func salvage(raw []byte) string {
	if len(raw) == 0 || len(raw) > MaxHandoff {
		return ""
	}
	var doc map[string]any
	if json.Unmarshal(raw, &doc) != nil {
		return ""
	}
	var parts []string
	for _, key := range []string{"summary", "freeform"} {
		if s, ok := doc[key].(string); ok && strings.TrimSpace(s) != "" {
			parts = append(parts, strings.TrimSpace(s))
		}
	}
	return strings.Join(parts, "\n\n")
}

// tail keeps the end of s: at most n bytes, from the start of a line where
// there is one.
func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	if i := strings.IndexByte(s, '\n'); i >= 0 && i < len(s)-1 {
		return "[…]\n" + s[i+1:]
	}
	return "[…] " + strings.ToValidUTF8(s, "")
}
