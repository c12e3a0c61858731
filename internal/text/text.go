// Package text has the small operations on strings that every layer needs:
// clips, one line of many, the edit distance behind "did you mean". It knows
// nothing of plans, agents or terminals.
package text

import (
	"strings"
	"unicode/utf8"
)

// Clip shortens s to at most n characters, the last of which is then "…".
func Clip(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// OneLine joins the words of s by single spaces.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// Clean makes text from outside fit to be kept: valid UTF-8 (each bad byte run
// becomes U+FFFD), line ends of other systems as \n, no NUL, which no process
// argument could carry.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.ContainsAny(s, "\r\x00") {
		s = strings.ReplaceAll(s, "\r\n", "\n")
		s = strings.ReplaceAll(s, "\r", "\n")
		s = strings.ReplaceAll(s, "\x00", "")
	}
	return s
}

// Distance is the number of single-byte edits between a and b.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}

// Key is a key without case and separators: acceptanceCriteria and
// acceptance_criteria are one key, and so are in-progress and in_progress.
func Key(key string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, key))
}

// OrEmpty is list, which JSON writes as [] and not null.
func OrEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
