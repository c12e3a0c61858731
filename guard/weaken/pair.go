package weaken

import (
	"cmp"
	"path"
	"strings"

	"git-ralph/internal/stable"
)

// pairUp finds, for each test of the checkpoint, what it has become: in this order of
// certainty the same name in the same file, the same body anywhere, the same
// name in another file with a similar body, and a similar body under another
// name. A test is taken once.
func (j *judge) pairUp() {
	j.pairs = map[*unit]*unit{}
	var olds, news []*unit
	for _, s := range j.before {
		olds = append(olds, tests(s)...)
	}
	for _, s := range j.after {
		news = append(news, tests(s)...)
	}
	taken := map[*unit]bool{}
	pair := func(o, n *unit) {
		j.pairs[o] = n
		taken[n] = true
	}

	byName := map[string][]*unit{}
	byBody := map[string][]*unit{}
	for _, n := range news {
		byName[n.file+"\x00"+n.name] = append(byName[n.file+"\x00"+n.name], n)
		byBody[n.lang+"\x00"+n.body] = append(byBody[n.lang+"\x00"+n.body], n)
	}
	// An exact twin under the same name first, so that two tests of one title
	// do not swap; then the name alone.
	for _, exact := range []bool{true, false} {
		for _, o := range olds {
			if j.pairs[o] != nil {
				continue
			}
			for _, n := range byName[o.file+"\x00"+o.name] {
				if !taken[n] && (!exact || n.body == o.body) {
					pair(o, n)
					break
				}
			}
		}
	}
	for _, o := range olds {
		if j.pairs[o] != nil {
			continue
		}
		var best *unit
		for _, n := range byBody[o.lang+"\x00"+o.body] {
			if !taken[n] && (best == nil || closeness(o, n) > closeness(o, best)) {
				best = n
			}
		}
		if best != nil {
			pair(o, best)
		}
	}

	// The rest by similarity, the most similar pairs first. Only tests left on
	// both sides are compared, which are few in an honest change. maxLoose
	// bounds the work on others.
	const maxLoose = 800
	var looseOld, looseNew []*unit
	for _, o := range olds {
		if j.pairs[o] == nil {
			looseOld = append(looseOld, o)
		}
	}
	for _, n := range news {
		if !taken[n] {
			looseNew = append(looseNew, n)
		}
	}
	slots := j.slots(taken)
	type candidate struct {
		o, n  *unit
		score float64
		order int
	}
	var all []candidate
	for _, o := range looseOld[:min(len(looseOld), maxLoose)] {
		for _, n := range looseNew[:min(len(looseNew), maxLoose)] {
			if o.lang != n.lang {
				continue
			}
			s := similarity(o, n)
			need := 0.6
			if sameTitle(o, n) && j.newHelp.weight(n) >= j.oldHelp.weight(o) {
				need = 0.05 // nobody gives two tests the same sentence
			} else if simple(o.name) == simple(n.name) || o.name == n.name {
				need = 0.35
			} else if j.newHelp.weight(n) < j.oldHelp.weight(o) {
				need = 0.75 // another name and fewer assertions: it has to be close
			} else if o.file == n.file && slots.of[o] == slots.of[n] {
				need = 0.3 // rewritten where it stood
			}
			if s >= need {
				all = append(all, candidate{o, n, s + 0.01*float64(closeness(o, n)), len(all)})
			}
		}
	}
	stable.Sort(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score),
			cmp.Compare(a.order, b.order))
	})
	for _, c := range all {
		if j.pairs[c.o] == nil && !taken[c.n] {
			pair(c.o, c.n)
		}
	}
	for _, n := range news {
		if !taken[n] {
			j.fresh = append(j.fresh, n)
		}
	}
}

// slots says between which kept tests a test stands. A test that was renamed
// and rewritten still stands between them.
type slots struct{ of map[*unit][2]*unit }

func (j *judge) slots(taken map[*unit]bool) slots {
	out := slots{map[*unit][2]*unit{}}
	name := func(list []*unit, i int, kept func(*unit) *unit) *unit {
		if i < 0 || i >= len(list) {
			return nil
		}
		if k := kept(list[i]); k != nil {
			return k
		}
		return list[i] // not kept: nobody else stands beside it
	}
	for _, side := range []struct {
		sources []*source
		kept    func(*unit) *unit
	}{
		{j.before, func(u *unit) *unit { return j.pairs[u] }},
		{j.after, func(u *unit) *unit {
			if taken[u] {
				return u
			}
			return nil
		}},
	} {
		for _, s := range side.sources {
			list := tests(s)
			for i, u := range list {
				out.of[u] = [2]*unit{name(list, i-1, side.kept), name(list, i+1, side.kept)}
			}
		}
	}
	return out
}

func tests(s *source) []*unit {
	var out []*unit
	for i := range s.units {
		if s.units[i].test {
			out = append(out, &s.units[i])
		}
	}
	return out
}

// sameTitle reports whether two tests are called by the same words, three at least, in
// suites or classes of different names.
func sameTitle(a, b *unit) bool {
	leaf := func(u *unit) string {
		if u.lang == "js" {
			return u.name[strings.LastIndexByte(u.name, '/')+1:]
		}
		return simple(u.name)
	}
	title := leaf(a)
	return title == leaf(b) && len(splitWords(title)) >= 4
}

// closeness prefers the same name, file and folder among equals.
func closeness(o, n *unit) int {
	c := 0
	if simple(o.name) == simple(n.name) {
		c += 4
	}
	if o.file == n.file {
		c += 2
	}
	if path.Dir(o.file) == path.Dir(n.file) || path.Base(o.file) == path.Base(n.file) {
		c++
	}
	return c
}

// similarity is the share of names and literals that two bodies have in common.
func similarity(a, b *unit) float64 {
	if len(a.words) == 0 || len(b.words) == 0 {
		return 0
	}
	both := 0
	for w := range a.words {
		if b.words[w] {
			both++
		}
	}
	return float64(both) / float64(len(a.words)+len(b.words)-both)
}
