package notes

import (
	"fmt"
	"strings"
)

// NotesRef holds the notes on code commits; plain git shows them with
// `git log --notes=ralph`. It is derived: the journal can rebuild it.
const NotesRef = "refs/notes/ralph"

// Fact is one line of a note, Ralph-Cost-USD: 0.4211.
type Fact struct{ Key, Value string }

// maxNote bounds a note, in bytes: it is for people, the whole handoff is in
// the journal.
const maxNote = 16 << 10

// NoteText is what a code commit's note says: the summary, the narrative, what
// is left to do and what to respect, then facts one a line. Facts with an
// empty value are left out. It ends with one line feed and, like the
// narrative of a commit, holds nothing that git or a terminal acts upon.
func NoteText(rec Record, facts ...Fact) string {
	var b strings.Builder
	para := func(s string) {
		// Not TrimSpace: the indent of a first line defuses it.
		if s = strings.Trim(s, "\n"); s == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(s)
		b.WriteString("\n")
	}
	para(Narrative(OneLine(breakMarks(rec.Summary), 400)))
	para(Narrative(CutBytes(rec.Freeform, maxNote/2)))
	para(noteList("Constraints", rec.ConstraintsDiscovered, func(c Constraint) string { return c.Constraint }))
	para(noteList("Decisions", rec.ArchitecturalNotes, func(s string) string { return s }))
	para(noteList("Unfinished", rec.UnfinishedBusiness, func(u Unfinished) string { return u.Item }))

	var f strings.Builder
	own := []Fact{
		{"Ralph-Iteration", number(rec.Origin.Iteration)},
		{"Ralph-Task", rec.Origin.Task},
		{"Ralph-Verdict", rec.Origin.Verdict},
		{"Ralph-Event-Id", rec.Origin.EventID},
		{"Ralph-Handoff", rec.Origin.Source},
		{"Ralph-Confidence", rec.ConfidenceLevel},
	}
	for _, fact := range append(own, facts...) {
		if v := OneLine(fact.Value, 300); v != "" {
			fmt.Fprintf(&f, "%s: %s\n", fact.Key, v)
		}
	}
	para(f.String())
	return b.String()
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func noteList[T any](title string, items []T, text func(T) string) string {
	const shown = 12
	var lines []string
	for i, item := range items {
		if i == shown {
			lines = append(lines, fmt.Sprintf("- and %d more", len(items)-shown))
			break
		}
		if s := OneLine(text(item), 300); s != "" {
			lines = append(lines, "- "+s)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	// A title that ended in a colon would read as a trailer.
	return title + "\n" + Narrative(strings.Join(lines, "\n"))
}
