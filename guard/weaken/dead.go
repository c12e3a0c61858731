package weaken

import (
	"go/constant"
	gotoken "go/token"
	"slices"
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
	if computed(l) || computed(r) {
		return maybe
	}
	if a == nil || b == nil || a.Kind() != b.Kind() {
		return certain(op != "==" && op != "===" && op != "is")
	}
	return compareConstants(a, op, b)
}

// computed says that an expression of literals is a calculation, which is not done here.
func computed(list []node) bool {
	return len(list) > 1 && slices.ContainsFunc(list[1:], func(n node) bool { // a sign is no calculation
		return n.kind == punct && strings.Contains("+ - * / % ** << >> & | ^", n.text) && n.open == 0
	})
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

// literalTruth is the truth of a literal by itself. An empty list or map is
// true in some languages and false in others, so it stays open.
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
