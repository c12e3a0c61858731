package weaken

import (
	"cmp"
	"go/constant"
	gotoken "go/token"
	"strings"
)

// certainty of a condition.
type certainty uint8

const (
	maybe certainty = iota
	yes
	no
)

func (c certainty) not() certainty {
	switch c {
	case yes:
		return no
	case no:
		return yes
	}
	return maybe
}

func certain(b bool) certainty {
	if b {
		return yes
	}
	return no
}

// always and never see conditions that hold, or fail, by their form alone.
func always(cond []node) bool { return truthOf(cond) == yes }
func never(cond []node) bool  { return truthOf(cond) == no }

// truthOf weighs a condition of any language: literals, comparisons of literals
// or of the same with itself, and what and, or, not make of them.
func truthOf(cond []node) certainty {
	for len(cond) == 1 && cond[0].open == '(' && len(split(cond[0].kids, ",")) == 1 {
		cond = cond[0].kids
	}
	if len(cond) == 0 {
		return maybe
	}
	for _, or := range []string{"||", "or"} {
		if parts := split(cond, or); len(parts) > 1 {
			return join3(parts, yes)
		}
	}
	for _, and := range []string{"&&", "and"} {
		if parts := split(cond, and); len(parts) > 1 {
			return join3(parts, no)
		}
	}
	nots := 0
	for nots+1 < len(cond) && (at(cond, nots) == "!" || at(cond, nots) == "not") {
		nots++
	}
	if nots > 0 {
		if c := truthOf(cond[nots:]); nots%2 == 0 {
			return c
		} else {
			return c.not()
		}
	}
	if len(cond) == 2 && cond[1].open == '(' && (at(cond, 0) == "Boolean" || at(cond, 0) == "bool") {
		return truthOf(cond[1].kids)
	}
	for _, op := range []string{"==", "===", "!=", "!==", "<=", ">=", "<", ">", "is"} {
		if parts := split(cond, op); len(parts) == 2 && len(parts[0]) > 0 && len(parts[1]) > 0 {
			return compared(parts[0], op, parts[1])
		}
	}
	return literalTruth(cond)
}

// join3 is yes for one yes among alternatives, no for one no among conditions.
func join3(parts [][]node, decisive certainty) certainty {
	all := true
	for _, p := range parts {
		switch truthOf(p) {
		case decisive:
			return decisive
		case maybe:
			all = false
		}
	}
	if all {
		return decisive.not()
	}
	return maybe
}

func compared(l []node, op string, r []node) certainty {
	if text(l) == text(r) {
		return certain(op == "==" || op == "===" || op == "is" || op == "<=" || op == ">=")
	}
	if !literalOnly(l) || !literalOnly(r) {
		return maybe
	}
	a, b := literalValue(l), literalValue(r)
	if a == nil || b == nil || a.Kind() != b.Kind() {
		return certain(op != "==" && op != "===" && op != "is")
	}
	return compareConstants(a, op, b)
}

func compareConstants(a constant.Value, op string, b constant.Value) certainty {
	tok := map[string]gotoken.Token{"==": gotoken.EQL, "===": gotoken.EQL, "is": gotoken.EQL,
		"!=": gotoken.NEQ, "!==": gotoken.NEQ, "<": gotoken.LSS, ">": gotoken.GTR, "<=": gotoken.LEQ, ">=": gotoken.GEQ}[op]
	if a.Kind() == constant.Bool && tok != gotoken.EQL && tok != gotoken.NEQ {
		return maybe
	}
	return certain(constant.Compare(a, tok, b))
}

// literalValue is a single number, string or truth value; nil = anything else.
func literalValue(list []node) constant.Value {
	if len(list) != 1 || list[0].open != 0 {
		return nil
	}
	switch n := list[0]; n.kind {
	case str:
		return constant.MakeString(n.text)
	case number:
		for _, kind := range []gotoken.Token{gotoken.INT, gotoken.FLOAT} {
			if v := constant.MakeFromLiteral(strings.TrimRight(n.text, "fFdDlLun"), kind, 0); v.Kind() != constant.Unknown {
				return constant.ToFloat(v)
			}
		}
	case ident:
		switch n.text {
		case "true", "True":
			return constant.MakeBool(true)
		case "false", "False":
			return constant.MakeBool(false)
		}
	}
	return nil
}

// literalTruth is the truth of a literal by itself; an empty list or map counts
// in one language and not in the other, and stays open.
func literalTruth(cond []node) certainty {
	if !literalOnly(cond) {
		return maybe
	}
	if v := literalValue(cond); v != nil {
		switch v.Kind() {
		case constant.Bool:
			return certain(constant.BoolVal(v))
		case constant.String:
			return certain(constant.StringVal(v) != "")
		default:
			return certain(constant.Sign(v) != 0)
		}
	}
	if len(cond) == 1 && cond[0].open == 0 {
		switch cond[0].text {
		case "None", "null", "undefined", "nil":
			return no
		}
	}
	if len(cond) == 1 && cond[0].open != 0 && len(cond[0].kids) == 0 {
		return maybe
	}
	return yes
}

// endsHere reports whether control never goes past the statement that begins at
// list[i], for the languages with braces: a return, an exit, and a branch, loop or
// block that is always entered and ends so. next is the index behind it.
// A break ends what is in the loop and not what is behind it (in a loop, held
// holds "break"); what is thrown in a try may be caught ("throw").
func endsHere(list []node, i int, held string) (next int, ends bool) {
	switch word := at(list, i); word {
	case "return":
		return statementEnd(list, i), true
	case "throw", "break", "continue":
		if word == "continue" {
			word = "break"
		}
		return statementEnd(list, i), !strings.Contains(held, word)
	case "process", "System", "std":
		end := statementEnd(list, i)
		for k := i + 1; k < min(end, i+6); k++ {
			if (at(list, k) == "exit" || at(list, k) == "abort") && group(list, k+1, '(') {
				return end, true
			}
		}
	case "if", "while":
		cond, body := condition(list, i)
		if word == "while" {
			held += " break"
		}
		if truthOf(cond) == yes {
			return endsBody(list, body, held)
		}
	case "for":
		if group(list, i+1, '(') && len(list[i+1].kids) == 2 && at(list[i+1].kids, 0) == ";" { // for (;;)
			return endsBody(list, i+2, held+" break")
		}
	case "do", "loop":
		return endsBody(list, i+1, held+" break")
	case "try":
		return endsBody(list, i+1, held+" throw")
	case "unsafe":
		return endsBody(list, i+1, held)
	}
	if group(list, i, '{') && (i == 0 || at(list, i-1) == ";") {
		return endsBody(list, i, held)
	}
	return i, false
}

// condition is what stands between an if or while at list[i] and its body, and
// the index of the body.
func condition(list []node, i int) ([]node, int) {
	if group(list, i+1, '(') && !group(list, i+2, '{') {
		return list[i+1].kids, i + 2
	}
	for k := i + 1; k < min(len(list), i+lookAhead); k++ {
		if list[k].open == '{' {
			return list[i+1 : k], k
		}
		if at(list, k) == ";" {
			break
		}
	}
	return nil, i + 1
}

func endsBody(list []node, i int, held string) (next int, ends bool) {
	if !group(list, i, '{') {
		return endsHere(list, i, held)
	}
	kids := list[i].kids
	for k := range kids {
		if statementStart(kids, k) && !guarded(kids, k) {
			if _, ok := endsHere(kids, k, held); ok {
				return i + 1, true
			}
		}
	}
	return i, false
}

// reached is the part of a block that can be reached: the index behind the first
// statement that ends it.
func reached(list []node) int {
	for i := range list {
		if !statementStart(list, i) || guarded(list, i) {
			continue
		}
		if next, ok := endsHere(list, i, ""); ok {
			return cmp.Or(next, i)
		}
	}
	return len(list)
}
