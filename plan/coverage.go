package plan

import (
	"slices"
	"strings"
	"unicode"
)

// coveredShare is the part of a criterion's words that one task has to use to
// cover it. Planners seldom copy a criterion word for word.
const coveredShare = 0.6

// Uncovered are the criteria of a spec that no task covers. A task that is not
// skipped covers a criterion if its title, description, notes, criteria or
// verify commands repeat it or use most of its words.
func Uncovered(p Plan, criteria []string) []string {
	var texts []string
	var words []map[string]bool
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if t.Status == Skipped {
			continue
		}
		text := strings.Join(slices.Concat([]string{t.Title, t.Description, t.Notes}, t.Criteria, t.Verify), "\n")
		texts = append(texts, spoken(text))
		words = append(words, stems(text))
	}
	return slices.DeleteFunc(slices.Clone(criteria), func(c string) bool {
		want := stems(c)
		for i := range texts {
			n := 0
			for w := range want {
				if words[i][w] {
					n++
				}
			}
			if len(want) > 0 && float64(n) >= coveredShare*float64(len(want)) || strings.Contains(texts[i], spoken(c)) {
				return true
			}
		}
		return false
	})
}

// spoken is a text in small letters with single blanks, without punctuation.
func spoken(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), notInWord), " ")
}

func notInWord(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// commonWords say nothing about what a criterion is about.
var commonWords = strings.Fields("about after against also and any are been before being but can cannot each every " +
	"for from had has have " +
	"how into its may more must never not only other our out over shall should some such than that the their them then " +
	"there " +
	"these they this those under until upon very was were what when where which while who will with within without work " +
	"works would you your")

// stems are the significant words of a text, cut to what their forms have in
// common.
func stems(s string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.FieldsFunc(strings.ToLower(s), notInWord) {
		r := []rune(w)
		if slices.Contains(commonWords, w) || len(r) < 3 && !unicode.IsDigit(r[0]) {
			continue
		}
		for _, end := range []string{"ing", "ed", "es", "s"} {
			if cut := strings.TrimSuffix(w, end); len(cut) >= 4 && cut != w {
				w = cut
				break
			}
		}
		if r = []rune(strings.TrimSuffix(w, "e")); len(r) > 7 {
			r = r[:7]
		}
		out[string(r)] = true
	}
	return out
}
