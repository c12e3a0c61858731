package checks

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// filtered is an expression that is not tried on a text without the words that each
// match has: looking for those takes a hundredth of the time.
type filtered struct {
	*regexp.Regexp
	words []string // each match has one of these; none = any text may match
}

func newFiltered(pattern string) filtered {
	f := filtered{Regexp: regexp.MustCompile(pattern)}
	if parsed, err := syntax.Parse(pattern, syntax.Perl); err == nil {
		f.words = required(parsed)
	}
	return f
}

// find is FindAllStringSubmatch.
func (f filtered) find(s string) [][]string {
	if len(f.words) > 0 && !slices.ContainsFunc(f.words, func(w string) bool { return strings.Contains(s, w) }) {
		return nil
	}
	return f.FindAllStringSubmatch(s, -1)
}

// required are texts of which each match of an expression has at least one; none = not known.
func required(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return []string{string(re.Rune)}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []string
		for _, sub := range re.Sub {
			if words := required(sub); shortest(words) > shortest(best) {
				best = words
			}
		}
		return best
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			words := required(sub)
			if len(words) == 0 {
				return nil
			}
			all = append(all, words...)
		}
		return all
	}
	return nil
}

// shortest is the length of the shortest text, 0 of none.
func shortest(words []string) int {
	if len(words) == 0 {
		return 0
	}
	n := len(words[0])
	for _, w := range words {
		n = min(n, len(w))
	}
	return n
}
