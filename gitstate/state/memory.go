package state

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"git-ralph/notes"
	"git-ralph/plan"
)

// SessionMemory is the memory of the session of s. Files are those that the
// newest iteration changed, said is what its agent asked to remember, ended is
// why the session ended ("" = it has not).
func SessionMemory(s State, files, said []string, ended string) string {
	before, kept := s.Memory["session"], ""
	before, kept, _ = strings.Cut(before, notes.AgentNotes)
	if !OfSession(before, s.Run.Session) {
		before, kept = "", ""
	}
	return sessionText(s, before, kept, files, said, ended)
}

// MemoryUpTo is the memory of a session after a rewind. Of the old text it only
// keeps what agents noted up to iteration n.
func MemoryUpTo(s State, memory string, n int) string {
	before, kept, _ := strings.Cut(memory, notes.AgentNotes)
	if !OfSession(before, s.Run.Session) {
		kept = ""
	}
	return sessionText(s, "", notes.MemoryUpTo(kept, n), nil, nil, "")
}

func sessionText(s State, before, kept string, files, said []string, ended string) string {
	in := notes.SessionInput{Session: s.Run.Session, Iteration: s.Run.Iteration, Phase: string(s.Run.Phase), Reason: ended,
		Percent: s.Plan.PercentComplete(), Figures: sessionFigures(s.Run)}
	for _, t := range s.Plan.Tasks {
		name := strings.TrimSpace(string(t.ID) + " " + notes.OneLine(t.Title, 100))
		switch {
		case t.Status == plan.Done && t.CompletedAt != nil && !t.CompletedAt.Before(s.Run.StartedAt):
			in.Completed = append(in.Completed, name)
		case t.Status == plan.Failed || t.Status == plan.Blocked:
			in.Blockers = append(in.Blockers, fmt.Sprintf("%s is %s: %s", name, t.Status, strings.Join(t.BlockedBy, "; ")))
		case string(t.ID) == s.Run.LastTask && t.Status != plan.Skipped && t.Status != plan.Done:
			in.InProgress = name
			if t.Partial > 0 {
				in.Progress = fmt.Sprintf("Unfinished steps kept: %d. ", t.Partial)
			}
			if t.Attempts > 0 {
				in.Progress += fmt.Sprintf("Attempts rejected: %d. ", t.Attempts)
			}
		}
	}
	in.Decisions = section(before, "Architectural Decisions")
	if h := s.Handoff; h != nil {
		if in.InProgress != "" && h.Origin.Task == s.Run.LastTask {
			in.Progress += h.Summary
		}
		in.Decisions = NewestLines(append(in.Decisions, h.ArchitecturalNotes...), 12)
		if h.Origin.Source != "harness" { // the harness's handoff repeats the rest of this text
			for _, u := range h.UnfinishedBusiness {
				in.Notes = append(in.Notes, u.Item)
			}
		}
		in.Notes = append(in.Notes, h.Recommendations...)
		for _, b := range h.BugsEncountered {
			if !b.Resolved {
				in.Blockers = append(in.Blockers, b.Description)
			}
		}
	}
	// The newest stand first.
	in.Files = slices.Compact(files)
	for _, f := range section(before, "Files Modified") {
		if !slices.Contains(in.Files, f) {
			in.Files = append(in.Files, f)
		}
	}
	in.Files = in.Files[:min(len(in.Files), 10)]
	in.Deps = section(before, "Dependencies Added")
	for _, f := range files {
		if line := fmt.Sprintf("%s changed in iteration %d", f, s.Run.Iteration); isManifest(f) {
			in.Deps = NewestLines(append(in.Deps, line), 10)
		}
	}
	return notes.SessionMemory(in) + agentPart(kept, said, s.Run.Iteration)
}

// OfSession says whether a memory text is that of a session.
func OfSession(text string, session int) bool {
	return strings.Contains(text, fmt.Sprintf("\n- Session: %d\n", session))
}

func agentPart(kept string, said []string, iteration int) string {
	for _, text := range said {
		kept = notes.AddMemory(kept, text, iteration)
	}
	if kept = strings.Trim(kept, "\n"); kept == "" {
		return ""
	}
	return notes.AgentNotes + kept + "\n"
}

func sessionFigures(r Run) notes.Figures {
	f := notes.Figures{Iterations: r.SessionIterations, Tokens: r.Used.Tokens, Duration: r.LastAt.Sub(r.StartedAt)}
	if !r.Cost.Unknown {
		cost := r.Cost.Session
		f.CostMicroUSD = &cost
	}
	return f
}

// section returns the items below a heading of one of our memory texts.
func section(text, title string) []string {
	_, rest, ok := strings.Cut(text, "\n## "+title+"\n")
	if !ok {
		return nil
	}
	var out []string
	for line := range strings.Lines(rest) {
		item, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "- ")
		if !ok {
			break
		}
		if !strings.HasPrefix(item, "and ") || !strings.HasSuffix(item, " more") {
			out = append(out, item)
		}
	}
	return out
}

// NewestLines keeps the last n of the lines, each once.
func NewestLines(lines []string, n int) []string {
	var out []string
	for _, s := range slices.Backward(lines) {
		if s = notes.OneLine(s, 400); s != "" && !slices.Contains(out, s) && len(out) < n {
			out = append(out, s)
		}
	}
	slices.Reverse(out)
	return out
}

// isManifest says whether a file declares what a project depends on.
func isManifest(name string) bool {
	switch base := path.Base(name); base {
	case "go.mod", "package.json", "pyproject.toml", "Cargo.toml", "Gemfile", "composer.json", "pom.xml", "build.gradle",
		"build.gradle.kts", "mix.exs", "Package.swift":
		return true
	default:
		return strings.HasPrefix(base, "requirements") && strings.HasSuffix(base, ".txt")
	}
}
