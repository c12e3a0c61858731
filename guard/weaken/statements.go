package weaken

import (
	"cmp"
	"slices"
	"strings"
)

// Control flow of the languages that are read as trees: where statements begin and end,
// which of them end what they stand in, and which are passed over.

// statementStart reports whether list[i] begins a statement.
func statementStart(list []node, i int) bool {
	if i == 0 {
		return true
	}
	switch at(list, i-1) {
	case ";", ":", "async":
		return true
	case "else", "do", "=>":
		return false
	}
	return list[i-1].open == '{' || list[i].first || list[i-1].open == '('
}

// guarded reports whether the statement at i is the body of an if or a loop.
func guarded(list []node, i int) bool {
	if i == 0 {
		return false
	}
	if at(list, i-1) == "else" {
		return true
	}
	if list[i-1].open != '(' {
		return at(list, i-1) == ":" && i >= 2 // a case clause
	}
	switch at(list, i-2) {
	case "if", "while", "for":
		return true
	}
	return false
}

// statementEnd is the index behind the statement at i: its semicolon, or the
// first token of a new line that cannot go on with it.
func statementEnd(list []node, i int) int {
	for j := i + 1; j < len(list); j++ {
		if at(list, j) == ";" {
			return j + 1
		}
		if list[j].first && list[j].open == 0 && list[j].kind == ident {
			switch at(list, j-1) {
			case ".", "+", "-", "*", "=", "&&", "||", "?", ":", ",", "=>", "await", "return", "throw":
				if j-1 == i {
					return j // a bare return
				}
				continue
			}
			return j
		}
	}
	return len(list)
}

// skipBranch is the last index of the statement at i.
func skipBranch(list []node, i int) int {
	if group(list, i, '{') {
		return i
	}
	return statementEnd(list, i) - 1
}

// condition is what stands between an if or while at list[i] and its body, and
// the index of the body.
func condition(list []node, i int) ([]node, int) {
	if group(list, i+1, '(') && !group(list, i+2, '{') {
		return list[i+1].kids, i + 2
	}
	if body := bodyAt(list, i+1); body > 0 {
		return list[i+1 : body], body
	}
	return nil, i + 1
}

// bodyAt is the first block from i on in the same statement; 0 = none.
func bodyAt(list []node, i int) int {
	for k := i; k < min(len(list), i+lookAhead); k++ {
		if list[k].open == '{' {
			return k
		}
		if at(list, k) == ";" {
			break
		}
	}
	return 0
}

// iterated is what the loop at list[i] goes over, and the index of its body; 0 = not known.
func iterated(list []node, i int) (over []node, body int) {
	head := i + 1
	if at(list, head) == "await" {
		head++
	}
	var in []node
	if group(list, head, '(') && head+1 < len(list) && !slices.Contains([]string{"in", "of"}, at(list, head+1)) {
		in, body = list[head].kids, head+1
	} else if body = bodyAt(list, head); body > 0 {
		in = list[head:body]
	}
	for k := range in {
		if w := at(in, k); w == "of" || w == "in" {
			return in[k+1:], body
		}
	}
	return nil, 0
}

// called is the full name of what is called at list[i]; "" = nothing is.
func called(list []node, i int) string {
	name := ""
	for k := i; k < len(list); k++ {
		switch word := at(list, k); {
		case word == "." || word == "::":
			name += "."
		case list[k].kind == ident && list[k].open == 0 && (k == i || strings.HasSuffix(name, ".")):
			name += word
		case list[k].open == '(':
			return name
		default:
			return ""
		}
	}
	return ""
}

// exitCalls end the process.
var exitCalls = set("sys.exit os._exit os.abort pytest.exit process.exit process.abort process.reallyExit " +
	"System.exit std.process.exit std.process.abort process.kill os.Exit syscall.Exit runtime.Goexit")

// exitCall reports whether the interpreter or the process ends at list[i].
func (l *language) exitCall(list []node, i int) bool {
	name := called(list, i)
	return exitCalls.has(name) || l.layout && (name == "exit" || name == "quit")
}

// endsHere reports whether control never passes the statement that begins at
// list[i]: a return, an exit, or a branch, loop or block that is always entered and
// ends so. next is the index behind it. A break ends the loop body and not what
// follows the loop (in a loop, held contains "break"). A try may catch what is
// thrown in it ("throw").
func (l *language) endsHere(list []node, i int, held string) (next int, ends bool) {
	switch word := at(list, i); word {
	case "return":
		return statementEnd(list, i), true
	case "throw", "raise":
		return statementEnd(list, i), !strings.Contains(held, "throw")
	case "break", "continue", "goto":
		return statementEnd(list, i), !strings.Contains(held, "break")
	case "if", "while":
		cond, body := condition(list, i)
		if word == "while" {
			held += " break"
		}
		if truthOf(cond) == yes {
			return l.endsBody(list, body, held)
		}
		if _, ends := l.endsBody(list, body, held); word == "if" && ends && at(list, body+1) == "else" {
			if other := bodyAt(list, body+2); other == body+2 || at(list, body+2) == "if" {
				return l.endsBody(list, body+2, held)
			}
		}
	case "switch", "match", "select":
		_, body := condition(list, i)
		return l.endsSwitch(list, body, held)
	case "for":
		if group(list, i+1, '(') && len(list[i+1].kids) == 2 && at(list[i+1].kids, 0) == ";" { // for (;;)
			return l.endsBody(list, i+2, held+" break")
		}
		if over, body := iterated(list, i); body > 0 && (always(over) || l.filled(over)) {
			return l.endsBody(list, body, held+" break")
		}
	case "with":
		_, body := condition(list, i)
		return l.endsBody(list, body, held+" throw")
	case "do", "loop":
		return l.endsBody(list, i+1, held+" break")
	case "try":
		return l.endsTry(list, i, held)
	case "unsafe":
		return l.endsBody(list, i+1, held)
	}
	if l.exitCall(list, i) {
		return statementEnd(list, i), true
	}
	if group(list, i, '{') && (i == 0 || at(list, i-1) == ";") {
		return l.endsBody(list, i, held)
	}
	return i, false
}

// filled reports whether a value of Go has elements.
func (l *language) filled(value []node) bool {
	n, ok := literalRows(value)
	return l == golang && ok && n > 0
}

func (l *language) endsBody(list []node, i int, held string) (next int, ends bool) {
	if !group(list, i, '{') {
		return l.endsHere(list, i, held)
	}
	kids := list[i].kids
	for k := range kids {
		if statementStart(kids, k) && !guarded(kids, k) {
			if _, ok := l.endsHere(kids, k, held); ok {
				return i + 1, true
			}
		}
	}
	return i, false
}

// endsSwitch looks at a switch whose first clause is always taken: the default one.
func (l *language) endsSwitch(list []node, body int, held string) (next int, ends bool) {
	if !group(list, body, '{') {
		return body, false
	}
	kids := list[body].kids
	if len(kids) < 3 || at(kids, 0) != "default" && at(kids, 0) != "_" {
		return body + 1, l.endsClauses(kids, held+" break", at(list, body-1) == "select")
	}
	if at(kids, 0) == "_" {
		_, ends = l.endsBody(kids, 2, held)
		return body + 1, ends
	}
	for k := 2; k < len(kids) && !ends && at(kids, k) != "case"; k++ {
		if k == 2 || statementStart(kids, k) && !guarded(kids, k) {
			_, ends = l.endsHere(kids, k, held+" break")
		}
	}
	return body + 1, ends
}

// endsClauses reports whether every clause of a switch ends, and one of them is always taken.
func (l *language) endsClauses(kids []node, held string, taken bool) bool {
	clauses, ends := 0, true
	for k := range kids {
		if word := at(kids, k); (word == "case" || word == "default") && statementStart(kids, k) {
			if !ends {
				return false
			}
			clauses++
			taken = taken || word == "default"
			ends = false
		} else if !ends && (at(kids, k-1) == ":" || statementStart(kids, k) && !guarded(kids, k)) {
			_, ends = l.endsHere(kids, k, held)
		}
	}
	return clauses > 0 && ends && taken
}

// endsTry looks at a try that ends: by itself, by its finally, or because it throws and
// every handler ends.
func (l *language) endsTry(list []node, i int, held string) (next int, ends bool) {
	body := bodyAt(list, i+1)
	if body == 0 {
		return i, false
	}
	_, inner := l.endsBody(list, body, held+" throw")
	_, throws := l.endsBody(list, body, strings.ReplaceAll(held, " throw", ""))
	handlers, all := 0, true
	k := body + 1
	for k < len(list) {
		word := at(list, k)
		if word != "catch" && word != "except" && word != "else" && word != "finally" {
			break
		}
		block := bodyAt(list, k+1)
		if block == 0 {
			break
		}
		_, ends := l.endsBody(list, block, held)
		k = block + 1
		switch word {
		case "finally":
			if ends {
				return k, true
			}
		case "catch", "except":
			handlers++
			all = all && ends
		}
	}
	return k, inner || throws && handlers > 0 && all
}

// reached is the part of a block that can be reached: the index behind the first
// statement that ends it.
func (l *language) reached(list []node) int {
	if word := at(list, 0); word == "case" || word == "default" {
		return len(list) // what ends a clause does not end the next
	}
	for i := range list {
		if !statementStart(list, i) || guarded(list, i) {
			continue
		}
		if next, ok := l.endsHere(list, i, ""); ok {
			return cmp.Or(next, i)
		}
	}
	return len(list)
}

// A test that returns under a condition before it asserts anything is silently skipped
// where the condition holds. earlyReturn is the name of such a return.
const earlyReturn = "return under a condition"

// underCondition is the skip of a test that runs under a condition alone.
const underCondition = "under a condition"

// here marks what is skipped on other platforms alone.
func here(what, condition string) string {
	condition = strings.ToLower(condition)
	for _, w := range []string{"process . platform", "goos", "sys . platform", "os . name", "windows", "win32",
		"version_info", "goarch"} {
		if strings.Contains(condition, w) {
			return what + elsewhere
		}
	}
	return what
}

// earlyReturns finds such returns among the statements of a test, and where the first stands.
func earlyReturns(list []node) (first int, out []string) {
	for i := range list {
		if at(list, i) != "if" || !statementStart(list, i) || at(list, i-1) == "else" {
			continue
		}
		cond, body := condition(list, i)
		if len(cond) == 0 || truthOf(cond) != maybe {
			continue
		}
		end := body + 1
		inner := list[min(body, len(list)):min(body+2, len(list))]
		if group(list, body, '{') {
			inner = list[body].kids
		} else {
			end = body + 2
		}
		for at(list, end) == ";" {
			end++
		}
		if next := at(list, end); bareReturn(inner) && !speaks(inner) && next != "else" && next != "elif" &&
			end < len(list) {
			if out == nil {
				first = i
			}
			out = append(out, here(earlyReturn, text(cond)))
		}
	}
	return first, out
}

// bareReturn reports whether statements end with a return without a value.
func bareReturn(list []node) bool {
	for i := range list {
		if at(list, i) == "return" && (i+1 == len(list) || at(list, i+1) == ";" || list[i+1].first) {
			return true
		}
	}
	return false
}

// swallowed reports whether the handlers at list[i] silently catch failed
// assertions.
func (l *language) swallowed(list []node, i int) bool {
	for at(list, i) == "catch" || at(list, i) == "except" {
		body := bodyAt(list, i+1)
		if body == 0 {
			return false
		}
		caught, handler := list[i+1:body], list[body].kids
		passes := func(n node) bool { return n.kind == ident && passesOn(handler, n.text) }
		flat := caught
		if len(caught) == 1 && caught[0].open != 0 {
			flat = caught[0].kids
		}
		if l.takes(caught) && !speaks(handler) && !slices.ContainsFunc(flat, passes) && !setsFlag(handler) {
			return true
		}
		i = body + 1
	}
	return false
}

// takes reports whether a handler of some classes catches a failed assertion.
func (l *language) takes(classes []node) bool {
	return l.catchesAll || len(classes) == 0 || slices.ContainsFunc(classes, func(n node) bool {
		return n.open == 0 && l.catches.has(n.text) || n.open != 0 && len(n.kids) > 0 && l.takes(n.kids)
	})
}

// passesOn reports whether a handler gives what it caught to a function that can
// do something about it, callback(err) but not console.log(err), or keeps it.
func passesOn(list []node, caught string) bool {
	for i, n := range list {
		if n.open == 0 {
			if at(list, i) == caught && at(list, i-1) == "=" {
				return true
			}
			continue
		}
		if n.open == '(' && i > 0 && list[i-1].kind == ident {
			switch list[i-1].text {
			case "log", "warn", "error", "debug", "info", "trace", "print", "println":
				continue // told to nobody who could fail
			case "String", "stringify", "str", "repr", "if", "while", "switch":
			default:
				for k := range n.kids {
					if at(n.kids, k) == caught {
						return true
					}
				}
			}
		}
		if passesOn(n.kids, caught) {
			return true
		}
	}
	return false
}

// setsFlag sees failed.set(true) and failed = true, which a test looks at later.
func setsFlag(list []node) bool {
	for i := range list {
		if list[i].open != 0 && setsFlag(list[i].kids) {
			return true
		}
		if at(list, i) == "set" && at(list, i-1) == "." || at(list, i) == "=" && strings.EqualFold(at(list, i+1), "true") {
			return true
		}
	}
	return false
}

// speaks reports whether code fails, asserts or hands on.
func speaks(list []node) bool {
	for i, n := range list {
		if n.open != 0 {
			if speaks(n.kids) {
				return true
			}
			continue
		}
		logs := at(list, i+2) == "log" || at(list, i+2) == "Log" || at(list, i+2) == "Logf"
		if n.kind == ident && (speaking.has(n.text) || asserting(n.text) || n.text == "t" && !logs) {
			return true
		}
	}
	return false
}

var speaking = set("throw raise expect assert panic reject done")
