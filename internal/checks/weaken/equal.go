package weaken

// alwaysEqual finds methods in the code under test by which a value is equal to everything:
// `def __eq__(self, other): return True`. Every assertion of equality holds for such a value.
func alwaysEqual(lang string, toks []token) []string {
	is := func(i int, words ...string) bool {
		for _, w := range words {
			if i >= 0 && i < len(toks) && toks[i].is(w) {
				return true
			}
		}
		return false
	}
	var out []string
	for i, t := range toks {
		name := t.text
		verdict := "true"
		switch {
		case t.kind != ident:
			continue
		case lang == "python" && (name == "__eq__" || name == "__ne__"):
			if verdict = "True"; name == "__ne__" {
				verdict = "False"
			}
		case lang == "java" && name == "equals", lang == "go" && name == "Equal" && is(i-1, ")"),
			lang == "rust" && name == "eq" && is(i-1, "fn"), lang == "js" && name == "asymmetricMatch":
		default:
			continue
		}
		k := i + 1
		if lang == "python" && is(k, "=") && is(k+1, "lambda") {
			for k += 2; k < len(toks) && !is(k, ":"); k++ {
			}
		} else {
			if !is(k, "(") {
				continue // named, not defined
			}
			for depth := 0; k < len(toks); k++ {
				if is(k, "(") {
					depth++
				} else if is(k, ")") {
					if depth--; depth == 0 {
						break
					}
				}
			}
			for end := k + 8; k < min(end, len(toks)) && !is(k, "{", "=") && !(lang == "python" && is(k, ":")); k++ {
			}
		}
		for k++; k < len(toks) && toks[k].kind == str; k++ { // what documents it
		}
		if is(k, "return") {
			k++
		}
		if is(k, verdict) && (k+1 == len(toks) || is(k+1, "}", ";") || toks[k+1].first) {
			out = append(out, name+" that always holds")
		}
	}
	return out
}
