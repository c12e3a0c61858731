// Package text has the small operations on strings that every layer needs:
// clips, one line of many, the edit distance behind "did you mean". It knows
// nothing of plans, agents or terminals.
package text

import (
	"strings"
	"unicode/utf8"
)

// Clip shortens s to at most n characters, the last of which is then "…", with
// no blank before it.
func Clip(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:max(n-1, 0)]), " ") + "…"
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

// CutBytes keeps the beginning of s, at most n bytes, and splits no character.
func CutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:max(n, 0)]
}

// FirstLine is the first line of s that is not blank, without blanks around it.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(line)
}

// CutPrefixFold is strings.CutPrefix that takes capitals for small letters.
func CutPrefixFold(s, prefix string) (after string, found bool) {
	if len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
		return s[len(prefix):], true
	}
	return s, false
}

// Distance counts the insertions, deletions, substitutions and swaps of
// neighbours that make b of a, in bytes. Its time grows with the product of the
// lengths: callers bound what they compare.
func Distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
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

// List names the first few of many things.
func List(names []string) string {
	if len(names) > 5 {
		return strings.Join(names[:5], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

// Parent is the folder of a slash-separated path, "" at the root.
func Parent(path string) string {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return ""
	}
	return path[:i]
}

// FileName makes a name safe as one component of a path.
func FileName(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			b.WriteRune(r)
		} else {
			b.WriteByte('-')
		}
	}
	name := strings.Trim(b.String(), ".-")
	if name == "" {
		name = "output"
	}
	return name[:min(len(name), 60)]
}
