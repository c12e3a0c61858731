package notes

import (
	"cmp"
	"slices"
	"strings"
)

// SearchKnowledge returns the entries that hold every word of the query, in
// any case, as part of a word of their id, text, tags or task. Active entries
// come first, then those with more of the words in their id, then the newest.
// A query without words finds nothing.
func SearchKnowledge(entries []Knowledge, query string) []Knowledge {
	words := strings.Fields(strings.ToLower(query))
	if len(words) == 0 {
		return nil
	}
	type hit struct {
		k            Knowledge
		inID, newest int
		superseded   int
	}
	var hits []hit
	for _, k := range entries {
		id := strings.ToLower(k.ID)
		all := id + " " + strings.ToLower(strings.Join(append([]string{k.Text, k.Task}, k.Tags...), " "))
		h := hit{k: k}
		if !k.Live() {
			h.superseded = 1
		}
		for _, n := range k.Source {
			h.newest = max(h.newest, n)
		}
		matches := true
		for _, w := range words {
			if !strings.Contains(all, w) {
				matches = false
				break
			}
			if strings.Contains(id, w) {
				h.inID++
			}
		}
		if matches {
			hits = append(hits, h)
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int {
		return cmp.Or(a.superseded-b.superseded, b.inID-a.inID, b.newest-a.newest, strings.Compare(a.k.ID, b.k.ID))
	})
	out := make([]Knowledge, len(hits))
	for i, h := range hits {
		out[i] = h.k
	}
	return out
}
