package agentctx

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"git-ralph/notes"
)

// Index writes the active entries as the section of a prompt: one line an
// entry, by type, hard constraints first and then the newest. With limit > 0
// it takes at most limit bytes; what is missing is counted in its last line.
//
// The line of an entry is that of the third seed:
//
//   - [K-constraint-no-force] Must never force. [source: iter 3,7] [supersedes: K-constraint-old]
func Index(entries []notes.Knowledge, limit int) string {
	groups := indexOrder(entries)
	if len(groups) == 0 {
		return ""
	}
	full := renderIndex(groups, 0, 0)
	if limit <= 0 || len(full) <= limit {
		return full
	}
	// Most important first until the room is used; headings and the last line
	// are counted as they come.
	const reserve = 120
	room := limit - reserve
	var kept []indexGroup
	missing, missingHard, total := 0, 0, 0
	for _, g := range groups {
		k := indexGroup{title: g.title}
		cost := len(g.title) + 7
		for _, e := range g.entries {
			total++
			n := len(indexLine(e.Knowledge)) + 1
			if len(k.entries) == 0 {
				n += cost
			}
			if n > room {
				missing++
				if e.hard {
					missingHard++
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
	if missing == total {
		return ""
	}
	return renderIndex(kept, missing, missingHard)
}

type indexGroup struct {
	title   string
	entries []indexEntry
}

// indexEntry carries what sorting asks for again and again.
type indexEntry struct {
	notes.Knowledge
	hard   bool
	newest int
}

func indexOrder(entries []notes.Knowledge) []indexGroup {
	titles := map[notes.KnowledgeType]string{
		notes.KConstraint: "Constraints", notes.KDecision: "Decisions", notes.KUnresolved: "Unresolved",
		notes.KGotcha: "Gotchas", notes.KPattern: "Patterns",
	}
	byType := map[notes.KnowledgeType][]indexEntry{}
	for _, k := range entries {
		if k.Live() {
			byType[k.Type] = append(byType[k.Type], indexEntry{k, k.Hard(), newest(k)})
		}
	}
	var groups []indexGroup
	for _, t := range notes.KnowledgeTypes() {
		list := byType[t]
		if len(list) == 0 {
			continue
		}
		// Newest first; hard ones before all others. Entries stand in the
		// state in the order in which they were added, or by id when read
		// from a tree, so the newest source decides and the id settles ties.
		slices.SortStableFunc(list, func(a, b indexEntry) int {
			if a.hard != b.hard {
				if a.hard {
					return -1
				}
				return 1
			}
			if d := b.newest - a.newest; d != 0 {
				return d
			}
			return strings.Compare(a.ID, b.ID)
		})
		groups = append(groups, indexGroup{titles[t], list})
	}
	return groups
}

func newest(k notes.Knowledge) int {
	n := 0
	for _, s := range k.Source {
		n = max(n, s)
	}
	return n
}

func indexLine(k notes.Knowledge) string {
	var b strings.Builder
	b.Grow(len(k.ID) + len(k.Text) + 48)
	text, gap := indent(notes.Clean(k.Text)), " "
	if strings.Contains(text, "\n") {
		gap = "\n  " // a block of code may end the text
	}
	fmt.Fprintf(&b, "- [%s] %s", k.ID, text)
	if len(k.Source) > 0 {
		b.WriteString(gap + "[source: iter ")
		for i, n := range k.Source {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(strconv.Itoa(n))
		}
		b.WriteByte(']')
	}
	if len(k.Supersedes) > 0 {
		b.WriteString(gap + "[supersedes: " + strings.Join(k.Supersedes, ", ") + "]")
	}
	return b.String()
}

func renderIndex(groups []indexGroup, missing, hard int) string {
	var b strings.Builder
	for i, g := range groups {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("### " + g.title + "\n\n")
		for _, e := range g.entries {
			b.WriteString(indexLine(e.Knowledge))
			b.WriteByte('\n')
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
