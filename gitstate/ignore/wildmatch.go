package ignore

import "strings"

// The results of one attempt to match. The two aborts are what keeps a hostile
// pattern of many stars from taking exponential time: they say that a longer
// piece of the text for an earlier star cannot help either.
const (
	matched = iota
	noMatch
	abortAll
	abortToStarstar
)

// Subject is what a pattern is compared with: a slash separates the names of a path.
type Subject bool

// The values of Subject.
const (
	Path Subject = true
	Name Subject = false
)

// WildMatch reports whether text matches pattern by git's rules (wildmatch.c).
// With pathname a `*`, a `?` and a class do not match `/`, and `**` between
// slashes matches any number of folders. With fold ASCII letters match without
// regard to case. It takes polynomial time for every pattern.
func WildMatch(pattern, text string, pathname Subject, fold bool) bool {
	w := wild{pathname: bool(pathname), fold: fold, p: pattern, t: text}
	return w.match(0, 0) == matched
}

type wild struct {
	pathname, fold bool
	p, t           string
	calls          int
	memo           map[[2]int]int
}

// at is s[i], and 0 behind the end, as in C.
func at(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func special(c byte) bool { return c == '*' || c == '?' || c == '[' || c == '\\' }

// match remembers results once a pattern turns out to be expensive: the result
// depends on nothing but the two positions, which makes the time polynomial
// also where the aborts do not help (`**/` many times over).
func (w *wild) match(p, t int) int {
	if w.calls++; w.calls < 1000 {
		return w.do(p, t)
	}
	if w.memo == nil {
		w.memo = map[[2]int]int{}
	}
	key := [2]int{p, t}
	if r, ok := w.memo[key]; ok {
		return r
	}
	r := w.do(p, t)
	w.memo[key] = r
	return r
}

func (w *wild) do(p, t int) int {
	start := p
	for ; p < len(w.p); t, p = t+1, p+1 {
		pc, tc := w.p[p], at(w.t, t)
		if t >= len(w.t) && pc != '*' {
			return abortAll
		}
		if w.fold {
			pc, tc = lower(pc), lower(tc)
		}
		switch pc {
		default:
			if tc != pc {
				return noMatch
			}
		case '\\':
			// The escaped character is compared as it is written, also when
			// letters match without regard to case: git does not fold it.
			p++
			if tc != at(w.p, p) {
				return noMatch
			}
		case '?':
			if w.pathname && tc == '/' {
				return noMatch
			}
		case '*':
			r, next := w.star(start, p, t)
			if r >= 0 {
				return r
			}
			// One star before a slash took the rest of this folder's name.
			p = strings.IndexByte(w.p[p:], '/') + p
			t = next
		case '[':
			end, ok := w.class(p, tc)
			if end < 0 {
				return abortAll
			}
			if !ok || w.pathname && tc == '/' {
				return noMatch
			}
			p = end
		}
	}
	if t < len(w.t) {
		return noMatch
	}
	return matched
}

// star handles the run of stars at p. It returns a result, or -1 and the
// position of the slash in the text from which matching goes on.
func (w *wild) star(start, p, t int) (int, int) {
	anySlash := !w.pathname
	prev := p - 1
	p++
	if at(w.p, p) == '*' {
		for at(w.p, p) == '*' {
			p++
		}
		if w.pathname {
			c := at(w.p, p)
			whole := (prev < start || w.p[prev] == '/') &&
				(p >= len(w.p) || c == '/' || c == '\\' && at(w.p, p+1) == '/')
			if whole {
				// `**/x` also matches `x`: first try no folder at all.
				if c == '/' && w.match(p+1, t) == matched {
					return matched, 0
				}
				anySlash = true
			}
		}
	}
	if p >= len(w.p) {
		if !anySlash && strings.IndexByte(w.t[t:], '/') >= 0 {
			return abortToStarstar, 0
		}
		return matched, 0
	}
	if !anySlash && w.p[p] == '/' {
		i := strings.IndexByte(w.t[t:], '/')
		if i < 0 {
			return abortAll, 0
		}
		return -1, t + i
	}
	for t < len(w.t) {
		if pc := w.p[p]; !special(pc) {
			if w.fold {
				pc = lower(pc)
			}
			found := false
			for ; t < len(w.t) && (anySlash || w.t[t] != '/'); t++ {
				tc := w.t[t]
				if w.fold {
					tc = lower(tc)
				}
				if tc == pc {
					found = true
					break
				}
			}
			if !found {
				if anySlash {
					return abortAll, 0
				}
				return abortToStarstar, 0
			}
		}
		if r := w.match(p, t); r != noMatch {
			if !anySlash || r != abortToStarstar {
				return r, 0
			}
		} else if !anySlash && w.t[t] == '/' {
			return abortToStarstar, 0
		}
		t++
	}
	return abortAll, 0
}

// class matches c against the bracket expression at p and returns the position
// of its closing bracket, -1 when there is none or a class has no such name.
func (w *wild) class(p int, c byte) (end int, ok bool) {
	p++
	ch := at(w.p, p)
	negated := ch == '!' || ch == '^'
	if negated {
		p++
		ch = at(w.p, p)
	}
	var prev byte
	hit := false
	for first := true; first || ch != ']'; first = false {
		if p >= len(w.p) {
			return -1, false
		}
		next := ch
		switch {
		case ch == '\\':
			p++
			if p >= len(w.p) {
				return -1, false
			}
			next = w.p[p]
			hit = hit || c == next
		case ch == '-' && prev != 0 && p+1 < len(w.p) && w.p[p+1] != ']':
			p++
			hi := w.p[p]
			if hi == '\\' {
				p++
				if p >= len(w.p) {
					return -1, false
				}
				hi = w.p[p]
			}
			if prev <= c && c <= hi {
				hit = true
			} else if w.fold && 'a' <= c && c <= 'z' {
				u := c - 'a' + 'A'
				hit = hit || prev <= u && u <= hi
			}
			next = 0
		case ch == '[' && at(w.p, p+1) == ':':
			s := p + 2
			e := strings.IndexByte(w.p[s:], ']')
			if e < 0 {
				return -1, false
			}
			e += s
			if e == s || w.p[e-1] != ':' {
				// No ":]": an ordinary set that begins with a bracket.
				hit = hit || c == '['
				p = s - 2
				break
			}
			in, known := posix(w.p[s:e-1], c, w.fold)
			if !known {
				return -1, false
			}
			hit = hit || in
			p, next = e, 0
		default:
			hit = hit || c == ch
		}
		prev = next
		p++
		ch = at(w.p, p)
	}
	return p, hit != negated
}

func posix(name string, c byte, fold bool) (in, known bool) {
	up := 'A' <= c && c <= 'Z'
	lo := 'a' <= c && c <= 'z'
	digit := '0' <= c && c <= '9'
	graph := 0x21 <= c && c <= 0x7e
	switch name {
	case "alnum":
		return up || lo || digit, true
	case "alpha":
		return up || lo, true
	case "blank":
		return c == ' ' || c == '\t', true
	case "cntrl":
		return c < 0x20 || c == 0x7f, true
	case "digit":
		return digit, true
	case "graph":
		return graph, true
	case "lower":
		return lo, true
	case "print":
		return graph || c == ' ', true
	case "punct":
		return graph && !up && !lo && !digit, true
	case "space":
		// git's own isspace: no vertical tab, no form feed.
		return c == ' ' || c == '\t' || c == '\n' || c == '\r', true
	case "upper":
		return up || fold && lo, true
	case "xdigit":
		return digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F', true
	}
	return false, false
}
