package guard

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// param evaluates ${…}. list says that several values are separate words even
// when quoted ("$@", "${a[@]}").
func (j *judge) param(sc *scope, pe *syntax.ParamExp) (vals []string, list bool) {
	unknown := []string{string(holeForeign)}
	if pe.Param == nil || pe.NestedParam != nil || pe.Flags != nil || len(pe.Modifiers) > 0 {
		return unknown, false
	}
	name := pe.Param.Value
	if pe.Names != 0 {
		return unknown, false
	}
	var set bool
	switch {
	case name == "@" || name == "*":
		vals, set = append([]string(nil), sc.params...), len(sc.params) > 0
		if sc.params == nil {
			vals = []string{string(holeForeign)}
		}
		list = name == "@"
	case pe.Index != nil:
		vals, list, set = j.element(sc, name, pe.Index)
	default:
		var s string
		s, set = j.lookup(sc, name)
		vals = []string{s}
	}
	if pe.Excl {
		if list || pe.Index != nil { // ${!a[@]}: the indices
			return []string{string(holeNum)}, false
		}
		if !known(vals[0]) || vals[0] == "" {
			return unknown, false
		}
		s, ok := j.lookup(sc, vals[0])
		vals, set = []string{s}, ok
	}
	if pe.Length || pe.Width || pe.IsSet {
		return []string{string(holeNum)}, false
	}
	switch {
	case pe.Slice != nil:
		vals = j.slice(sc, vals, list || name == "*", pe.Slice)
	case pe.Repl != nil:
		orig, with := j.text(sc, pe.Repl.Orig), j.text(sc, pe.Repl.With)
		for i, v := range vals {
			vals[i] = replace(v, orig, with, pe.Repl.All)
		}
	case pe.Exp != nil:
		vals = j.expansion(sc, name, vals, set, pe.Exp)
	}
	return vals, list
}

// lookup returns the value of a variable, and whether it is set in this line.
// What the line did not set comes from the environment that the harness made.
func (j *judge) lookup(sc *scope, name string) (string, bool) {
	if v, ok := sc.vars[name]; ok {
		if len(v.vals) == 0 {
			return "", false
		}
		return v.vals[0].scalar(), true
	}
	if name == "0" {
		return "bash", true
	}
	if n, err := strconv.Atoi(name); err == nil {
		if sc.params == nil {
			return string(holeForeign), false
		}
		if n >= 1 && n <= len(sc.params) {
			return sc.params[n-1], true
		}
		return "", false
	}
	switch name {
	case "HOME":
		return j.home(sc), true
	case "PWD":
		return sc.cwd(), true
	case "TMPDIR", "TMP", "TEMP":
		return "/tmp", false
	case "IFS":
		return " \t\n", true
	case "PPID":
		return string(holePPID), true
	case "SHELL", "BASH":
		return "/bin/bash", true
	case "?", "#", "$", "!", "-", "UID", "EUID", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "EPOCHSECONDS", "COLUMNS",
		"LINES", "SHLVL", "BASHPID":
		return string(holeNum), true
	case "PATH", "USER", "LOGNAME", "LANG", "HOSTNAME", "TERM", "OLDPWD":
		return string(holeEnv), true
	case "_", "BASH_COMMAND", "REPLY", "BASH_EXECUTION_STRING", "BASH_ALIASES", "PS4", "BASH_REMATCH", "DIRSTACK":
		return string(holeForeign), true
	}
	return string(holeEnv), false
}

func (j *judge) home(sc *scope) string {
	if s := sc.get("HOME", ""); s != "" {
		return s
	}
	if j.p.Home != "" {
		return j.p.Home
	}
	// A name that no policy lists: paths below it are "in some home".
	return "/home/" + string(holeName)
}

// element evaluates ${a[i]}.
func (j *judge) element(sc *scope, name string, index syntax.ArithmExpr) (vals []string, list, set bool) {
	v, ok := sc.vars[name]
	w, isWord := index.(*syntax.Word)
	var sub string
	if isWord {
		sub = j.text(sc, w)
		if !ok || !v.assoc {
			j.arithText(sc, sub)
		}
	} else {
		j.arithm(sc, index)
	}
	if !ok || len(v.vals) == 0 {
		if name == "BASH_ALIASES" || name == "PIPESTATUS" || name == "BASH_REMATCH" {
			return []string{string(holeForeign)}, false, true
		}
		return []string{string(holeEnv)}, false, false
	}
	elems := v.vals[0].elems()
	if !isWord {
		return []string{string(holeForeign)}, false, true
	}
	switch s := sub; s {
	case "@":
		return append([]string(nil), elems...), true, true
	case "*":
		return []string{strings.Join(elems, " ")}, false, true
	default:
		if v.assoc {
			if s, ok := v.keys[s]; ok {
				return []string{s}, false, true
			}
			return []string{string(holeForeign)}, false, true
		}
		n, err := strconv.Atoi(s)
		if err != nil {
			return []string{string(holeForeign)}, false, true
		}
		if n < 0 {
			n += len(elems)
		}
		if n < 0 || n >= len(elems) {
			return []string{""}, false, true
		}
		return []string{elems[n]}, false, true
	}
}

func (j *judge) slice(sc *scope, vals []string, list bool, sl *syntax.Slice) []string {
	j.arithm(sc, sl.Offset)
	j.arithm(sc, sl.Length)
	off, ok1 := j.constant(sc, sl.Offset)
	length, ok2 := j.constant(sc, sl.Length)
	if sl.Offset == nil {
		off, ok1 = 0, true
	}
	if !ok1 || sl.Length != nil && !ok2 {
		return []string{string(holeForeign)}
	}
	cut := func(n int) (int, int) {
		from := off
		if from < 0 {
			from += n
		}
		from = min(max(from, 0), n)
		to := n
		if sl.Length != nil {
			if length < 0 {
				to = n + length
			} else {
				to = min(n, from+length)
			}
		}
		return from, max(from, to)
	}
	if list { // "${@:2}" counts from 1, with $0 at 0
		if off > 0 {
			off--
		}
		from, to := cut(len(vals))
		return vals[from:to]
	}
	out := make([]string, len(vals))
	for i, v := range vals {
		if !known(v) {
			out[i] = string(holeForeign) // a slice of an unknown text may spell anything
			continue
		}
		from, to := cut(len(v))
		out[i] = v[from:to]
	}
	return out
}

// constant evaluates an arithmetic expression that is one number.
func (j *judge) constant(sc *scope, x syntax.ArithmExpr) (int, bool) {
	switch x := x.(type) {
	case *syntax.Word:
		n, err := strconv.Atoi(strings.TrimSpace(j.text(sc, x)))
		return n, err == nil
	case *syntax.UnaryArithm:
		n, ok := j.constant(sc, x.X)
		if x.Op == syntax.Minus {
			n = -n
		}
		return n, ok && (x.Op == syntax.Minus || x.Op == syntax.Plus)
	case *syntax.ParenArithm:
		return j.constant(sc, x.X)
	}
	return 0, false
}

func (j *judge) expansion(sc *scope, name string, vals []string, set bool, e *syntax.Expansion) []string {
	if e.Op == syntax.OtherParamOps && slices.ContainsFunc(vals, hidesCommand) && j.text(sc, e.Word) == "P" {
		j.deny(ClassUndecidable, "the expansion would run the command hidden in its text", "write the command itself")
	}
	empty := len(vals) == 0 || len(vals) == 1 && vals[0] == ""
	switch e.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
		if set && empty && e.Op == syntax.AlternateUnsetOrNull {
			return []string{""}
		}
		// Not set in this line. Assume that it is set: only then is something
		// added.
		return []string{j.text(sc, e.Word)}
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
		orNull := e.Op == syntax.DefaultUnsetOrNull || e.Op == syntax.AssignUnsetOrNull
		if set && (!orNull || !empty) {
			return vals
		}
		s := j.text(sc, e.Word)
		if e.Op == syntax.AssignUnset || e.Op == syntax.AssignUnsetOrNull {
			sc.set(name, value{s: s})
		}
		return []string{s}
	case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		j.text(sc, e.Word)
		return vals
	case syntax.OtherParamOps:
		// @P expands the value as a prompt, @A and @E rewrite it.
		for i, v := range vals {
			if op := j.text(sc, e.Word); op != "Q" && op != "U" && op != "L" && op != "u" || !known(v) {
				vals[i] = string(holeForeign)
			} else if op == "U" {
				vals[i] = strings.ToUpper(v)
			} else if op == "L" {
				vals[i] = strings.ToLower(v)
			}
		}
		return vals
	}
	pat := j.text(sc, e.Word)
	for i, v := range vals {
		vals[i] = trim(e.Op, v, pat)
	}
	return vals
}

// trim applies the operators that cut or change case.
func trim(op syntax.ParExpOperator, v, pat string) string {
	switch op {
	case syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		switch {
		case pat != "" || !known(v):
			return dissolve(v)
		case op == syntax.UpperAll:
			return strings.ToUpper(v)
		case op == syntax.LowerAll:
			return strings.ToLower(v)
		case v == "":
			return v
		case op == syntax.UpperFirst:
			return strings.ToUpper(v[:1]) + v[1:]
		}
		return strings.ToLower(v[:1]) + v[1:]
	}
	if !known(v) || !known(pat) {
		return dissolve(v)
	}
	if len(v) > 512 || len(pat) > 64 { // each cut is tried: the cost is cubic
		return string(holeForeign)
	}
	switch op {
	case syntax.RemSmallPrefix:
		for i := 0; i <= len(v); i++ {
			if matchGlob(pat, v[:i]) {
				return v[i:]
			}
		}
	case syntax.RemLargePrefix:
		for i := len(v); i >= 0; i-- {
			if matchGlob(pat, v[:i]) {
				return v[i:]
			}
		}
	case syntax.RemSmallSuffix:
		for i := len(v); i >= 0; i-- {
			if matchGlob(pat, v[i:]) {
				return v[:i]
			}
		}
	case syntax.RemLargeSuffix:
		for i := 0; i <= len(v); i++ {
			if matchGlob(pat, v[i:]) {
				return v[:i]
			}
		}
	default:
		return string(holeForeign)
	}
	return v
}

// dissolve is the result of cutting a text that holds a hole: the same hole,
// or an unknown text when it was known.
func dissolve(v string) string {
	if i := strings.IndexAny(v, holes); i >= 0 && !foreign(v) {
		return v[i : i+1]
	}
	return string(holeForeign)
}

func replace(v, orig, with string, all bool) string {
	if orig == "" {
		return v
	}
	if !known(v) || !known(orig) {
		return dissolve(v + with)
	}
	if strings.HasPrefix(orig, "#") || strings.HasPrefix(orig, "%") {
		return string(holeForeign)
	}
	if !strings.ContainsAny(orig, "*?[") {
		if all {
			return strings.ReplaceAll(v, orig, with)
		}
		return strings.Replace(v, orig, with, 1)
	}
	if len(v) > 128 || len(orig) > 64 {
		return string(holeForeign)
	}
	var b strings.Builder
	for i := 0; i < len(v); {
		end := -1
		for k := len(v); k > i; k-- {
			if matchGlob(orig, v[i:k]) {
				end = k
				break
			}
		}
		if end < 0 {
			b.WriteByte(v[i])
			i++
			continue
		}
		b.WriteString(with)
		i = end
		if !all {
			b.WriteString(v[i:])
			break
		}
	}
	return b.String()
}

// arithm follows the substitutions inside an arithmetic expression. Arithmetic
// evaluates the contents of variables again, subscripts included, so a text
// with a substitution in it is a command that nobody sees.
func (j *judge) arithm(sc *scope, x syntax.ArithmExpr) {
	switch x := x.(type) {
	case *syntax.Word:
		j.arithText(sc, j.text(sc, x))
	case *syntax.BinaryArithm:
		j.arithm(sc, x.X)
		j.arithm(sc, x.Y)
	case *syntax.UnaryArithm:
		j.arithm(sc, x.X)
	case *syntax.ParenArithm:
		j.arithm(sc, x.X)
	case *syntax.FlagsArithm:
		j.arithm(sc, x.X)
	}
}

func (j *judge) arithText(sc *scope, s string) {
	if v, ok := sc.vars[s]; ok {
		for _, alt := range v.vals {
			for _, e := range alt.elems() {
				if hidesCommand(e) {
					s = e
				}
			}
		}
	}
	if hidesCommand(s) {
		j.deny(ClassUndecidable, "arithmetic would run the command hidden in its text", "write the command itself")
	}
}

func hidesCommand(s string) bool {
	return strings.Contains(s, "$(") || strings.IndexByte(s, '`') >= 0
}
