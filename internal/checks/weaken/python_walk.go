package weaken

import (
	"slices"
	"strings"
)

// pyWalker counts what one function asserts, leaving out what cannot be reached
// and what a handler around it swallows.
type pyWalker struct {
	r      *pyReader
	u      *unit
	tables map[string]int
}

func (w *pyWalker) block(lines []*pyLine, times int) {
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		toks := l.toks
		if at(toks, 0) == "async" {
			toks = toks[1:]
		}
		switch at(toks, 0) {
		case "def":
			w.block(l.kids, times) // a nested function is assumed to be called
			continue
		case "class", "@":
			w.block(l.kids, times)
			continue
		case "if", "while", "elif":
			cond := header(toks)
			w.line(cond, times)
			if !never(cond) {
				w.block(l.kids, times)
			}
			if pyEnds(l, "") {
				return
			}
			continue
		case "for":
			w.loop(l, toks, times)
			if pyEnds(l, "") {
				return
			}
			continue
		case "with":
			w.line(toks, times)
			if swallowsWith(toks) {
				w.skipsOnly(l.kids)
			} else {
				w.block(l.kids, times)
			}
			if pyEnds(l, "") {
				return
			}
			continue
		case "try":
			if w.swallowed(lines[i+1:], l.col) {
				w.skipsOnly(l.kids)
			} else {
				w.block(l.kids, times)
			}
			continue
		}
		w.line(toks, times)
		w.block(l.kids, times)
		if pyEnds(l, "") {
			return // what follows in this block is never reached
		}
	}
}

// pyEnds reports whether control never goes past a line with what stands below
// it: a return, an exit, and a branch, loop or block that is always entered and
// ends so. held names what does not count: a break in a loop ends the loop alone,
// what is raised in a try or a with may be caught.
func pyEnds(l *pyLine, held string) bool {
	ends := func(more string) bool {
		return slices.ContainsFunc(l.kids, func(k *pyLine) bool { return pyEnds(k, held+more) })
	}
	switch at(l.toks, 0) {
	case "return":
		return true
	case "raise":
		return !strings.Contains(held, "raise")
	case "continue", "break":
		return !strings.Contains(held, "break")
	case "if":
		return always(header(l.toks)) && ends("")
	case "while":
		return always(header(l.toks)) && ends(" break")
	case "with", "try":
		return ends(" raise")
	case "for": // for _ in [1]: return
		for i := range l.toks {
			if at(l.toks, i) == "in" {
				return always(header(l.toks)[i:]) && ends(" break")
			}
		}
	}
	return pyExit(l.toks)
}

// header is the condition between the keyword and the colon.
func header(toks []node) []node {
	end := len(toks)
	if end > 0 && at(toks, end-1) == ":" {
		end--
	}
	return toks[min(1, end):end]
}

func (w *pyWalker) loop(l *pyLine, toks []node, times int) {
	head := header(toks)
	for i := range head {
		if at(head, i) != "in" {
			continue
		}
		over := head[i+1:]
		rows, ok := w.r.rows(over)
		if !ok && len(over) == 1 {
			rows, ok = w.tables[at(over, 0)]
		}
		if ok {
			before := w.u.total()
			w.block(l.kids, times*rows)
			if w.u.total() > before || rows == 0 {
				w.u.rows = max(1, w.u.rows) * rows
			}
			return
		}
		w.line(over, times)
		break
	}
	w.block(l.kids, times)
}

// skipsOnly walks swallowed code for its skips.
func (w *pyWalker) skipsOnly(lines []*pyLine) {
	w.block(lines, 0)
}

func swallowsWith(toks []node) bool {
	for i := range toks {
		if at(toks, i) == "suppress" && group(toks, i+1, '(') && catchesAll(toks[i+1].kids) {
			return true
		}
	}
	return false
}

// catchesAll reports whether an except clause catches a failed assertion.
func catchesAll(list []node) bool {
	if len(list) == 0 {
		return true
	}
	for i, n := range list {
		if n.open != 0 && catchesAll(n.kids) && len(n.kids) > 0 {
			return true
		}
		switch at(list, i) {
		case "AssertionError", "Exception", "BaseException":
			return true
		}
	}
	return false
}

// swallowed reports whether a handler of the try before it catches failed
// assertions and neither raises nor asserts anything itself.
func (w *pyWalker) swallowed(rest []*pyLine, col int) bool {
	for _, l := range rest {
		switch at(l.toks, 0) {
		case "except":
			if catchesAll(exceptTypes(l.toks)) && !speaks(l.kids) {
				return true
			}
		case "else", "finally":
		default:
			return false
		}
	}
	return false
}

// exceptTypes are the classes of a clause, without `as e`.
func exceptTypes(toks []node) []node {
	types := header(toks)
	for i := range types {
		if at(types, i) == "as" {
			return types[:i]
		}
	}
	return types
}

func speaks(lines []*pyLine) bool {
	for _, l := range lines {
		for _, n := range l.toks {
			if n.kind == ident && n.open == 0 && (n.text == "raise" || n.text == "assert" || asserting(n.text)) {
				return true
			}
		}
		if speaks(l.kids) {
			return true
		}
	}
	return false
}

// line counts the assertions of one logical line.
func (w *pyWalker) line(toks []node, times int) {
	switch at(toks, 0) {
	case "assert":
		cond := toks[1:]
		if parts := split(cond, ","); len(parts) > 0 {
			cond = parts[0]
		}
		// A non-empty tuple is always true, whatever stands in it.
		tuple := len(cond) == 1 && cond[0].open == '(' && len(split(cond[0].kids, ",")) > 1
		if !always(cond) && !tuple {
			w.u.plain += times
		}
		w.calls(toks[1:], times)
		return
	case "raise":
		for i := range toks {
			if at(toks, i) == "AssertionError" {
				w.u.plain += times
			}
		}
		if word := pySkipWord(toks); word != "" {
			w.u.skips = append(w.u.skips, "raise "+word)
			return
		}
	}
	if at(toks, 1) == "=" && len(toks) > 2 {
		if n, ok := pyRows(toks[2:]); ok {
			w.tables[at(toks, 0)] = n
		}
	}
	w.calls(toks, times)
}

// calls looks for called names at any depth.
func (w *pyWalker) calls(list []node, times int) {
	for i, n := range list {
		if n.open != 0 {
			w.calls(n.kids, times)
			continue
		}
		if n.kind != ident {
			continue
		}
		called := group(list, i+1, '(')
		owner := ""
		if at(list, i-1) == "." {
			owner = at(list, i-2)
		}
		switch {
		case owner == "pytest" && (n.text == "skip" || n.text == "xfail" || n.text == "importorskip"), n.text == "skipTest":
			w.u.skips = append(w.u.skips, strings.TrimPrefix(owner+"."+n.text, "."))
		case w.r.skipNames[n.text] != "" && called:
			w.u.skips = append(w.u.skips, n.text)
		case !called || at(list, i-1) == "." && foreignSkip(n.text, owner):
		case owner == "pytest" && (n.text == "raises" || n.text == "warns" || n.text == "fail" ||
			n.text == "deprecated_call"):
			w.u.plain += times
		case owner != "" && libraryAssertion(n.text) && trivial(list[i+1].kids):
			// self.assertTrue(True)
		default:
			w.u.calls[n.text] += times
		}
	}
}
