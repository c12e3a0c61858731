// Package ignore decides which untracked paths git ignores: it reads ignore
// files (.gitignore, info/exclude, core.excludesFile) and matches paths as git
// does, byte for byte. It reads no file itself; the caller that walks the tree
// passes the contents. The walker keeps one rule that no single match can know: what
// lies in an ignored folder is ignored, whatever later patterns say.
package ignore

import (
	"bytes"
	"strings"
)

// Verdict is what the rules say about one path.
type Verdict uint8

// The verdicts. Undecided paths are not ignored.
const (
	Undecided Verdict = iota
	Ignored
	Included // by a negated pattern
)

type pattern struct {
	text     string // without a leading slash
	literal  int    // bytes of text before the first wildcard
	negated  bool
	onlyDir  bool
	basename bool // no slash: compared with the last component
	suffix   bool // `*literal`
}

// List is one ignore file. It is immutable.
type List struct {
	base     string // its folder, "" for the root, else with a final slash
	patterns []pattern
	fold     bool
	source   string
}

// Parse reads the ignore file of the folder base ("" for the root of
// the worktree, also for info/exclude and core.excludesFile). Every input is
// valid; lines that can match nothing are kept out. With fold (core.ignorecase)
// letters match without regard to case.
func Parse(data []byte, base string, fold bool) *List {
	l := &List{base: base, fold: fold, source: string(data)}
	if base != "" && !strings.HasSuffix(base, "/") {
		l.base = base + "/"
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	for len(data) > 0 {
		var line []byte
		line, data, _ = bytes.Cut(data, []byte{'\n'})
		if len(line) > 0 && line[0] == '#' {
			continue
		}
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		if nul := bytes.IndexByte(line, 0); nul >= 0 {
			line = line[:nul]
		}
		if p, ok := parsePattern(trimSpaces(string(line))); ok {
			l.patterns = append(l.patterns, p)
		}
	}
	return l
}

// Empty reports whether the list can decide nothing.
func (l *List) Empty() bool { return l == nil || len(l.patterns) == 0 }

// trimSpaces removes trailing blanks that no backslash protects.
func trimSpaces(s string) string {
	cut := -1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			if cut < 0 {
				cut = i
			}
			continue
		case '\\':
			i++
			if i >= len(s) {
				return s
			}
		}
		cut = -1
	}
	if cut >= 0 {
		return s[:cut]
	}
	return s
}

func parsePattern(s string) (pattern, bool) {
	var p pattern
	if strings.HasPrefix(s, "!") {
		p.negated, s = true, s[1:]
	}
	if strings.HasSuffix(s, "/") {
		p.onlyDir, s = true, s[:len(s)-1]
	}
	if s == "" {
		return p, false
	}
	p.basename = strings.IndexByte(s, '/') < 0
	s = strings.TrimPrefix(s, "/")
	p.text = s
	p.literal = literalLength(s)
	p.suffix = s != "" && s[0] == '*' && literalLength(s[1:]) == len(s)-1
	return p, true
}

func literalLength(s string) int {
	for i := 0; i < len(s); i++ {
		if special(s[i]) {
			return i
		}
	}
	return len(s)
}

func same(a, b string, fold bool) bool {
	if !fold {
		return a == b
	}
	if len(a) != len(b) {
		return false
	}
	for i := 0; i < len(a); i++ {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func (l *List) match(path, base string, dir bool) Verdict {
	for i := len(l.patterns) - 1; i >= 0; i-- {
		p := &l.patterns[i]
		if p.onlyDir && !dir {
			continue
		}
		hit := false
		if p.basename {
			hit = p.matchBase(base, l.fold)
		} else {
			hit = p.matchPath(path, l.base, l.fold)
		}
		if hit {
			if p.negated {
				return Included
			}
			return Ignored
		}
	}
	return Undecided
}

func (p *pattern) matchBase(name string, fold bool) bool {
	switch {
	case p.literal == len(p.text):
		return same(p.text, name, fold)
	case p.suffix:
		n := len(p.text) - 1
		return n <= len(name) && same(p.text[1:], name[len(name)-n:], fold)
	}
	return WildMatch(p.text, name, Name, fold)
}

func (p *pattern) matchPath(path, base string, fold bool) bool {
	if len(path) < len(base) || !same(base, path[:len(base)], fold) {
		return false
	}
	name := path[len(base):]
	if p.literal > len(name) || !same(p.text[:p.literal], name[:p.literal], fold) {
		return false
	}
	if p.literal == len(p.text) {
		return len(name) == p.literal
	}
	return WildMatch(p.text[p.literal:], name[p.literal:], Path, fold)
}

// Rules is a chain of lists, the strongest (that of the deepest folder) last.
// It is immutable; a nil chain decides nothing. Two equal pointers mean equal
// rules, which is how a walk knows that an earlier verdict still holds.
type Rules struct {
	parent *Rules
	list   *List
}

// Push returns the chain with l on top. An empty list changes nothing.
func (r *Rules) Push(l *List) *Rules {
	if l.Empty() {
		return r
	}
	return &Rules{r, l}
}

// Parent is the chain without its top list; nil for an empty chain.
func (r *Rules) Parent() *Rules {
	if r == nil {
		return nil
	}
	return r.parent
}

// Source is the text that the top list was read from.
func (r *Rules) Source() string {
	if r == nil {
		return ""
	}
	return r.list.source
}

// Match says what the rules decide about path (slashes, relative to the root of
// the worktree, no final slash), by itself: the caller has made sure that no
// folder above it is ignored.
func (r *Rules) Match(path string, dir bool) Verdict {
	base := path[strings.LastIndexByte(path, '/')+1:]
	for ; r != nil; r = r.parent {
		if v := r.list.match(path, base, dir); v != Undecided {
			return v
		}
	}
	return Undecided
}
