package config

import (
	"errors"
	"fmt"
	"math"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// node is a value as a source gave it: a string, int64, float64, bool, other
// (a date), list or *table.
type node struct {
	val       any
	raw       string // of a number in a file: as written, for exact amounts
	line, col int    // where it starts, from 1; 0 outside files
}

type list []node

// other is a TOML value that no setting takes, by its name for people.
type other string

type table struct {
	entries []entry
	index   map[string]int
	line    int
	col     int
}

type entry struct {
	key       string
	line, col int
	val       node
}

func (t *table) get(key string) (node, bool) {
	if i, ok := t.index[key]; ok {
		return t.entries[i].val, true
	}
	return node{}, false
}

func (t *table) put(e entry) {
	if t.index == nil {
		t.index = map[string]int{}
	}
	t.index[e.key] = len(t.entries)
	t.entries = append(t.entries, e)
}

func stringList(items []string) node {
	l := make(list, len(items))
	for i, item := range items {
		l[i] = node{val: item}
	}
	return node{val: l}
}

// fromText makes of a text (environment, flag, git config, set) the value that
// a file would hold. The result is checked by assign.
func fromText(s *spec, text string) (node, error) {
	switch s.kind {
	case kindInt:
		v, err := parseInt(text, s.percent)
		return node{val: v}, err
	case kindFloat:
		v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			return node{}, fmt.Errorf("must be a number, not %s", quote(text))
		}
		return node{val: v}, nil
	case kindBool:
		v, err := parseBool(text)
		return node{val: v}, err
	case kindUSD:
		v, err := ParseUSD(text)
		return node{val: v}, err
	case kindStrings:
		items, err := splitList(s, text)
		return stringList(items), err
	case kindEnv:
		t := &table{}
		for _, line := range lines(text) {
			k, v, ok := strings.Cut(line, "=")
			if !ok || k == "" {
				return node{}, fmt.Errorf("must be lines of NAME=value, not %s", quote(line))
			}
			t.put(entry{key: k, val: node{val: v}})
		}
		return node{val: t}, nil
	}
	return node{val: text}, nil
}

// splitList reads a list from one text: a TOML array when it starts with a
// bracket, else one item a line; one line of an argv is split into words.
func splitList(s *spec, text string) ([]string, error) {
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		t, problem := parseTOML("", []byte("list = "+strings.TrimSpace(text)))
		if problem == nil && len(t.entries) == 1 {
			if l, ok := t.entries[0].val.val.(list); ok {
				items := make([]string, 0, len(l))
				for _, n := range l {
					item, ok := n.val.(string)
					if !ok {
						return nil, fmt.Errorf("must be a list of strings, not %s", quote(text))
					}
					items = append(items, item)
				}
				return items, nil
			}
		}
		// A pattern may start with a bracket too: [a-z]*.
		if !s.argv && (s.command || !strings.HasSuffix(strings.TrimSpace(text), "]")) {
			return lines(text), nil
		}
		return nil, fmt.Errorf("must be a list such as [\"a\", \"b\"], not %s", quote(text))
	}
	items := lines(text)
	if s.argv && len(items) == 1 {
		return words(items[0])
	}
	return items, nil
}

func lines(text string) []string {
	items := []string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			items = append(items, line)
		}
	}
	return items
}

// words splits as a shell would, with quotes and backslashes and nothing else.
func words(text string) ([]string, error) {
	var out []string
	var word strings.Builder
	var quoted rune
	open := false
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		switch {
		case quoted == '\'' && r != '\'', quoted == '"' && r != '"' && r != '\\':
			word.WriteRune(r)
		case quoted != 0 && r == quoted:
			quoted = 0
		case quoted == 0 && (r == '\'' || r == '"'):
			quoted, open = r, true
		case r == '\\' && i+1 < len(runes) && (quoted == 0 || strings.ContainsRune(`"\$`, runes[i+1])):
			i++
			word.WriteRune(runes[i])
			open = true
		case quoted == 0 && (r == ' ' || r == '\t'):
			if open {
				out = append(out, word.String())
				word.Reset()
				open = false
			}
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if quoted != 0 {
		return nil, fmt.Errorf("has a quote that is not closed: %s", quote(text))
	}
	if open {
		out = append(out, word.String())
	}
	return out, nil
}

// assign checks a value against its spec and stores it. The error is the end
// of a sentence that begins with the key: "must be …".
func assign(s *spec, n node, dst reflect.Value) error {
	if s.pointer {
		fresh := reflect.New(dst.Type().Elem())
		plain := *s
		plain.pointer = false
		if err := assign(&plain, n, fresh.Elem()); err != nil {
			return err
		}
		dst.Set(fresh)
		return nil
	}
	switch s.kind {
	case kindString:
		text, ok := n.val.(string)
		if !ok {
			return fmt.Errorf("must be a string, not %s", describe(n))
		}
		if err := checkString(s, text); err != nil {
			return err
		}
		dst.SetString(text)
	case kindBool:
		v, ok := n.val.(bool)
		if !ok {
			return fmt.Errorf("must be true or false, not %s", describe(n))
		}
		dst.SetBool(v)
	case kindInt:
		v, ok := n.val.(int64)
		if !ok {
			return fmt.Errorf("must be a whole number, not %s", describe(n))
		}
		if err := inRange(s, float64(v)); err != nil {
			return err
		}
		if dst.OverflowInt(v) {
			return fmt.Errorf("must be a smaller number, not %d", v)
		}
		dst.SetInt(v)
	case kindFloat:
		v, ok := n.val.(float64)
		if i, whole := n.val.(int64); whole {
			v, ok = float64(i), true
		}
		if !ok || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("must be a number, not %s", describe(n))
		}
		if err := inRange(s, v); err != nil {
			return err
		}
		dst.SetFloat(v)
	case kindDuration:
		return assignDuration(s, n, dst)
	case kindSize:
		return assignSize(n, dst)
	case kindUSD:
		v, err := dollars(n)
		if err != nil {
			return err
		}
		dst.SetInt(int64(v))
	case kindStrings:
		return assignList(s, n, dst)
	case kindEnv:
		return assignEnv(n, dst)
	}
	return nil
}

func assignDuration(s *spec, n node, dst reflect.Value) error {
	text, ok := n.val.(string)
	if !ok {
		return fmt.Errorf("must be a duration such as \"20m\" or \"1h30m\", not %s", describe(n))
	}
	d, err := ParseDuration(text)
	if err != nil {
		return err
	}
	if float64(d) < s.min {
		return errors.New("must be more than no time")
	}
	dst.SetInt(int64(d))
	return nil
}

func assignSize(n node, dst reflect.Value) error {
	text, ok := n.val.(string)
	if i, whole := n.val.(int64); whole {
		text, ok = strconv.FormatInt(i, 10), true
	}
	if !ok {
		return fmt.Errorf("must be a size such as \"50MB\" or \"1MiB\", not %s", describe(n))
	}
	v, err := ParseSize(text)
	if err != nil {
		return err
	}
	dst.SetInt(int64(v))
	return nil
}

func assignEnv(n node, dst reflect.Value) error {
	t, ok := n.val.(*table)
	if !ok {
		return fmt.Errorf("must be a table of strings, not %s", describe(n))
	}
	m := make(map[string]string, len(t.entries))
	for _, e := range t.entries {
		text, ok := e.val.val.(string)
		if !ok {
			return fmt.Errorf("must be a table of strings; %s is %s", quote(e.key), describe(e.val))
		}
		if e.key == "" || strings.ContainsAny(e.key, "=\x00") || strings.Contains(text, "\x00") ||
			!utf8.ValidString(e.key+text) {
			return fmt.Errorf("has %s, which no environment can hold", quote(e.key))
		}
		m[e.key] = text
	}
	dst.Set(reflect.ValueOf(m))
	return nil
}

func assignList(s *spec, n node, dst reflect.Value) error {
	l, ok := n.val.(list)
	if !ok {
		if text, isText := n.val.(string); isText {
			return fmt.Errorf("must be a list, [%s], not a string", quote(text))
		}
		return fmt.Errorf("must be a list of strings, not %s", describe(n))
	}
	items := make([]string, len(l))
	for i, item := range l {
		text, ok := item.val.(string)
		if !ok {
			return fmt.Errorf("must be a list of strings, not one with %s", describe(item))
		}
		if text == "" && !s.argv {
			return errors.New("must not have an empty item")
		}
		if err := checkString(s, text); err != nil {
			return err
		}
		items[i] = text
	}
	if s.argv && len(items) > 0 && items[0] == "" {
		return errors.New("must begin with the name of a program")
	}
	dst.Set(reflect.ValueOf(items))
	return nil
}

// dollars reads a TOML number by its digits: 0.1 is a hundred thousand
// micro-dollars, whatever binary fraction is nearest to it.
func dollars(n node) (USD, error) {
	switch v := n.val.(type) {
	case USD:
		return v, nil
	case int64:
		return ParseUSD(strconv.FormatInt(v, 10))
	case float64:
		if n.raw != "" && !math.IsInf(v, 0) && !math.IsNaN(v) {
			return ParseUSD(n.raw)
		}
	}
	return 0, fmt.Errorf("must be an amount in dollars such as 2.50, not %s", describe(n))
}

func inRange(s *spec, v float64) error {
	switch {
	case s.percent && (v < s.min || v > s.max):
		return fmt.Errorf("must be a percentage from %g to %g, not %g", s.min, s.max, v)
	case v < 0:
		return fmt.Errorf("must not be negative, not %s", number(v))
	case v < s.min:
		return fmt.Errorf("must be at least %s, not %s", number(s.min), number(v))
	case s.max > 0 && v > s.max:
		return fmt.Errorf("must be at most %s, not %s", number(s.max), number(v))
	}
	return nil
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// checkString refuses what would break a line of a prompt, a trailer, an
// environment or a command further on, where no file and line can be named.
func checkString(s *spec, text string) error {
	if s.enum != nil && !slices.Contains(s.enum, text) {
		values := slices.DeleteFunc(slices.Clone(s.enum), func(v string) bool { return v == "" })
		msg := "must be one of " + strings.Join(values, ", ")
		if best, distance := nearest(text, values); distance <= 2 && text != "" {
			return fmt.Errorf("%s, not %s; did you mean %s?", msg, quote(text), best)
		}
		return fmt.Errorf("%s, not %s", msg, quote(text))
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("must be UTF-8, not %s", quote(text))
	}
	for _, r := range text {
		if r == 0 || (!s.command && (r < ' ' && r != '\t' || r == 0x7f)) {
			return fmt.Errorf("must be one line of text without control characters, not %s", quote(text))
		}
	}
	if s.glob {
		if _, err := path.Match(strings.ReplaceAll(text, "**", "*"), ""); err != nil {
			return fmt.Errorf("has a broken pattern: %s", quote(text))
		}
	}
	return nil
}

// describe names a value of the wrong type.
func describe(n node) string {
	switch v := n.val.(type) {
	case string:
		return "the string " + quote(v)
	case int64:
		return fmt.Sprintf("the number %d", v)
	case float64:
		if n.raw != "" {
			return "the number " + quoteBare(n.raw)
		}
		return "the number " + strconv.FormatFloat(v, 'g', -1, 64)
	case USD:
		return "an amount"
	case bool:
		return fmt.Sprint(v)
	case list:
		return "a list"
	case *table:
		return "a table"
	case other:
		return string(v)
	}
	return "nothing"
}

func quoteBare(text string) string { return strings.Trim(quote(text), `"`) }

// plain is the value of a field as JSON and messages show it: durations and
// sizes in their text form, lists never nil.
func plain(s *spec, v reflect.Value) any {
	if s.pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	switch s.kind {
	case kindDuration:
		return FormatDuration(time.Duration(v.Int()))
	case kindSize:
		return Size(v.Int()).String()
	case kindUSD:
		return USD(v.Int())
	case kindStrings:
		items := v.Interface().([]string)
		return append([]string{}, items...)
	case kindEnv:
		m := map[string]string{}
		for _, k := range v.MapKeys() {
			m[k.String()] = v.MapIndex(k).String()
		}
		return m
	}
	return v.Interface()
}
