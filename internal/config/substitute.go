package config

import (
	"errors"
	"fmt"
	"strings"
)

const substituteHint = "set the variable, or write $${ for a literal ${"

// substitute replaces ${NAME} in the strings of a value. $${ stands for ${.
// Commands are not given to it: a shell reads them.
func substitute(n node, env map[string]string) (node, bool, error) {
	switch v := n.val.(type) {
	case string:
		text, err := expand(v, env)
		changed := text != v
		n.val = text
		return n, changed, err
	case list:
		out, any := make(list, len(v)), false
		for i, item := range v {
			fresh, changed, err := substitute(item, env)
			if err != nil {
				return n, false, err
			}
			out[i], any = fresh, any || changed
		}
		n.val = out
		return n, any, nil
	case *table:
		out, any := &table{line: v.line, col: v.col}, false
		for _, e := range v.entries {
			fresh, changed, err := substitute(e.val, env)
			if err != nil {
				return n, false, err
			}
			e.val, any = fresh, any || changed
			out.put(e)
		}
		n.val = out
		return n, any, nil
	}
	return n, false, nil
}

func expand(text string, env map[string]string) (string, error) {
	if !strings.Contains(text, "${") {
		return text, nil
	}
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		if !found {
			out.WriteString(text)
			return out.String(), nil
		}
		if literal, ok := strings.CutSuffix(before, "$"); ok {
			out.WriteString(literal + "${")
			text = after
			continue
		}
		out.WriteString(before)
		name, rest, closed := strings.Cut(after, "}")
		if !closed {
			return "", errors.New("has a ${ that is not closed")
		}
		if !isVariable(name) {
			return "", fmt.Errorf("has ${%s}, which is not the name of a variable", quoteBare(name))
		}
		value, set := env[name]
		if !set {
			return "", fmt.Errorf("uses ${%s}, which is not set in the environment", quoteBare(name))
		}
		out.WriteString(value)
		text = rest
	}
}

func isVariable(name string) bool {
	for i, r := range name {
		if r != '_' && !(r >= 'a' && r <= 'z') && !(r >= 'A' && r <= 'Z') && !(i > 0 && r >= '0' && r <= '9') {
			return false
		}
	}
	return name != ""
}

// rawValue is a value as it was written, for people to read.
func rawValue(n node) any {
	switch v := n.val.(type) {
	case list:
		items := make([]any, len(v))
		for i, item := range v {
			items[i] = rawValue(item)
		}
		return items
	case *table:
		m := map[string]any{}
		for _, e := range v.entries {
			m[e.key] = rawValue(e.val)
		}
		return m
	}
	return n.val
}
