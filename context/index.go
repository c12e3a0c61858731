package agentctx

import (
	"fmt"
	"strconv"
	"strings"

	"git-ralph/internal/stable"
	"git-ralph/notes"
)

// Index writes the active entries as the section of a prompt: one line an
// entry, by type, hard constraints first and then the newest. With limit > 0
// it takes at most limit bytes; what is missing is counted in its last line.
//
// An entry is a line like this:
//
//   - [K-constraint-no-force] Must never force. [source: iter 3,7] [supersedes: K-constraint-old]
func Index(entries []notes.Knowledge, limit int) string { return newIndex(entries).text(limit) }

// index is the knowledge index in its order, rendered line by line so that a
// shorter one costs nothing more.
type index []indexGroup

type indexGroup struct {
	title   string
	entries []indexEntry
}

type indexEntry struct {
	id     string
	line   string
	hard   bool
	newest int
}

func newIndex(entries []notes.Knowledge) index {
	titles := map[notes.KnowledgeType]string{
		notes.KConstraint: "Constraints", notes.KDecision: "Decisions", notes.KUnresolved: "Unresolved",
		notes.KGotcha: "Gotchas", notes.KPattern: "Patterns",
	}
	byType := map[notes.KnowledgeType][]indexEntry{}
	for i := range entries {
		if k := &entries[i]; k.Live() {
			byType[k.Type] = append(byType[k.Type], indexEntry{k.ID, indexLine(k), k.Hard(), newest(k)})
		}
	}
	var groups index
	for _, t := range notes.KnowledgeTypes() {
		list := byType[t]
		if len(list) == 0 {
			continue
		}
		// The state has entries in the order in which they were added, or by id
		// when read from a tree. Sort by the newest source, then by id, so that
		// both give the same bytes.
		stable.Sort(list, func(a, b indexEntry) int {
			switch {
			case a.hard && !b.hard:
				return -1
			case b.hard && !a.hard:
				return 1
			case a.newest != b.newest:
				return b.newest - a.newest
			}
			return strings.Compare(a.id, b.id)
		})
		groups = append(groups, indexGroup{titles[t], list})
	}
	return groups
}

func newest(k *notes.Knowledge) int {
	n := 0
	for _, s := range k.Source {
		n = max(n, s)
	}
	return n
}

func indexLine(k *notes.Knowledge) string {
	text, gap := indent(notes.Clean(k.Text)), " "
	if strings.Contains(text, "\n") {
		gap = "\n  " // a block of code may end the text
	}
	var b strings.Builder
	b.Grow(len(k.ID) + len(text) + 64)
	b.WriteString("- [")
	b.WriteString(k.ID)
	b.WriteString("] ")
	b.WriteString(text)
	if len(k.Source) > 0 {
		b.WriteString(gap)
		b.WriteString("[source: iter ")
		for i, n := range k.Source {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.Itoa(n))
		}
		b.WriteByte(']')
	}
	if len(k.Supersedes) > 0 {
		b.WriteString(gap)
		b.WriteString("[supersedes: ")
		b.WriteString(strings.Join(k.Supersedes, ", "))
		b.WriteByte(']')
	}
	b.WriteByte('\n')
	return b.String()
}

// text renders the index in at most limit bytes (0 = any); "" when not one
// entry fits.
func (x index) text(limit int) string {
	if n := x.size(); limit <= 0 || n <= limit {
		return x.render(n, 0, 0)
	}
	// What matters most first, until the room is used; the last line is
	// reserved.
	const reserve = 120
	room := limit - reserve
	var kept index
	missing, hard := 0, 0
	for _, g := range x {
		k := indexGroup{title: g.title}
		for _, e := range g.entries {
			n := len(e.line)
			if len(k.entries) == 0 {
				n += g.head() + 1
			}
			if n > room {
				missing++
				if e.hard {
					hard++
				}
				continue
			}
			room -= n
			k.entries = append(k.entries, e)
		}
		if len(k.entries) > 0 {
			kept = append(kept, k)
		}
	}
	if len(kept) == 0 {
		return ""
	}
	return kept.render(limit, missing, hard)
}

func (g indexGroup) head() int { return len("### \n\n") + len(g.title) }

func (x index) size() int {
	n := max(0, len(x)-1)
	for _, g := range x {
		n += g.head()
		for _, e := range g.entries {
			n += len(e.line)
		}
	}
	return n
}

func (x index) render(size, missing, hard int) string {
	var b strings.Builder
	b.Grow(size)
	for i, g := range x {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("### ")
		b.WriteString(g.title)
		b.WriteString("\n\n")
		for _, e := range g.entries {
			b.WriteString(e.line)
		}
	}
	if missing > 0 {
		fmt.Fprintf(&b, "\n%d more entries did not fit", missing)
		if hard > 0 {
			fmt.Fprintf(&b, ", %d of them hard constraints", hard)
		}
		b.WriteString("; `git ralph knowledge list` shows all.\n")
	}
	return b.String()
}
