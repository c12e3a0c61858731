package guard

import (
	"path"
	"strings"
)

// Protected matches paths against globs. It is what the command guard, the file
// tools and the verdict on an iteration agree on.
//
// A glob is relative to the worktree's root and uses slashes: "*", "?" and
// "[…]" stay within one part, "**" stands for any number of parts, none
// included. "specs/**" matches specs and everything below it; a glob
// that names a folder protects everything in it. A leading "/" is ignored.
type Protected struct {
	Globs    []string
	FoldCase bool // compare without regard to case, for file systems that do
}

// Match returns the glob that protects rel, a slash-separated path relative to
// the worktree's root. Paths that leave the worktree match nothing.
func (p Protected) Match(rel string) (glob string, ok bool) {
	rel = path.Clean(strings.TrimPrefix(slash(rel), "./"))
	if rel == "." || rel == ".." || strings.HasPrefix(rel, "../") || strings.HasPrefix(rel, "/") {
		return "", false
	}
	if p.FoldCase {
		rel = strings.ToLower(rel)
	}
	parts := strings.Split(rel, "/")
	for _, g := range p.Globs {
		pat := strings.Trim(path.Clean("/"+slash(g)), "/")
		if p.FoldCase {
			pat = strings.ToLower(pat)
		}
		if pat != "" && matchParts(strings.Split(pat, "/"), parts) {
			return g, true
		}
	}
	return "", false
}

// matchParts matches a prefix of parts: a glob that is used up protects all
// below what it matched. Going back to the last "**" is enough, and
// keeps the cost at one pass for each part.
func matchParts(pat, parts []string) bool {
	star, mark := -1, 0
	for i, k := 0, 0; ; {
		switch {
		case i == len(pat):
			return true
		case pat[i] == "**":
			star, mark = i, k
			i++
			continue
		case k < len(parts) && matchPart(pat[i], parts[k]):
			i++
			k++
			continue
		}
		if star < 0 || mark >= len(parts) {
			return false
		}
		mark++
		i, k = star+1, mark
	}
}

// matchPart matches one part; a broken pattern stands for its own text.
func matchPart(pat, s string) bool {
	ok, err := path.Match(pat, s)
	return ok || err != nil && pat == s
}

// matchGlob reports whether the shell pattern pat matches s. Unlike path.Match
// it lets "*" cross slashes and never fails: "[" without an end is itself.
func matchGlob(pat, s string) bool {
	// Iterative with one point of return: linear in practice, at most
	// quadratic, whatever an agent writes.
	star, mark := -1, 0
	i, k := 0, 0
	for k < len(s) {
		if i < len(pat) {
			if pat[i] == '*' {
				star, mark = i, k
				i++
				continue
			}
			if n, ok := matchOne(pat[i:], s[k]); ok {
				i += n
				k++
				continue
			}
		}
		if star < 0 {
			return false
		}
		mark++
		i, k = star+1, mark
	}
	for i < len(pat) && pat[i] == '*' {
		i++
	}
	return i == len(pat)
}

// matchOne matches one byte against the first element of pat and returns the
// length of that element.
func matchOne(pat string, c byte) (int, bool) {
	switch pat[0] {
	case '?':
		return 1, true
	case '[':
		neg := len(pat) > 1 && (pat[1] == '!' || pat[1] == '^')
		i := 1
		if neg {
			i++
		}
		hit := false
		for start := i; i < len(pat); i++ {
			if pat[i] == ']' && i > start {
				return i + 1, hit != neg
			}
			if pat[i] == '[' && i+1 < len(pat) && pat[i+1] == ':' {
				if end := strings.Index(pat[i:], ":]"); end > 0 {
					// Classes are taken as matching: a pattern that might
					// mean a guarded name is treated as if it did.
					hit = true
					i += end + 1
					continue
				}
			}
			if i+2 < len(pat) && pat[i+1] == '-' && pat[i+2] != ']' {
				if pat[i] <= c && c <= pat[i+2] {
					hit = true
				}
				i += 2
				continue
			}
			if pat[i] == c {
				hit = true
			}
		}
		return 1, c == '['
	}
	return 1, pat[0] == c
}

// Pattern is a command pattern of guard.allow or guard.deny: words separated by
// blanks, each matched against one word of the command that would run, wrappers
// and quoting resolved; the first is compared with the command's name without
// its folder. "*" and "?" work within a word, a last word "*" stands for any
// number of further words, none included.
type Pattern string

// Match reports whether the pattern describes argv.
func (p Pattern) Match(argv []string) bool {
	words := strings.Fields(string(p))
	if len(words) == 0 || len(argv) == 0 {
		return false
	}
	for i, w := range words {
		if w == "*" && i == len(words)-1 {
			return true
		}
		if i >= len(argv) {
			return false
		}
		a := argv[i]
		if i == 0 && !strings.Contains(w, "/") {
			a = baseName(a)
		}
		if !matchGlob(w, a) {
			return false
		}
	}
	return len(words) == len(argv)
}

// baseName is the last part of a command's path, without the ending that
// Windows gives to programs.
func baseName(s string) string {
	if i := strings.LastIndexAny(s, `/\`); i >= 0 {
		s = s[i+1:]
	}
	if n := len(s) - 4; n > 0 {
		switch strings.ToLower(s[n:]) {
		case ".exe", ".cmd", ".bat", ".com":
			s = s[:n]
		}
	}
	return s
}
