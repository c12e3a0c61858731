package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"git-ralph/notes"
)

// kind is the type of an argument.
type kind int

const (
	kText kind = iota
	kInt
	kBool
	kTexts
	kInts
)

// field is one argument. It is both the schema that clients are shown and the
// check that is made, so that the two cannot differ.
type field struct {
	name, help string
	kind       kind
	required   bool
	// max is the most characters of a text, of one entry of a list, or the
	// largest number. Required for all but booleans.
	max int
	// min is the smallest number.
	min int
	// items is the most entries of a list.
	items int
	enum  []string
	// cut takes a text that is too long; the tool cuts it and says so.
	cut bool
	// aliases are other names of it in formats that agents know. They are
	// accepted, not shown.
	aliases []string
	// parts are the names of other arguments that may also be given as members
	// of an object instead of this text.
	parts []string
}

// object is the arguments of a tool.
type object []field

// none are the arguments of a tool that takes none.
func none() object { return object{} }

func (o object) schema() json.RawMessage {
	type prop map[string]any
	props, required := map[string]prop{}, []string{}
	for _, f := range o {
		p := prop{"description": f.help}
		switch f.kind {
		case kText:
			p["type"] = "string"
			if f.parts != nil {
				p["type"] = []string{"string", "object"}
			}
			f.textLimits(p)
		case kInt:
			p["type"], p["minimum"], p["maximum"] = "integer", f.min, f.max
		case kBool:
			p["type"] = "boolean"
		case kTexts:
			item := prop{"type": "string"}
			f.textLimits(item)
			p["type"], p["items"], p["maxItems"] = "array", item, f.items
		case kInts:
			p["type"], p["items"], p["maxItems"] = "array", prop{"type": "integer", "minimum": f.min, "maximum": f.max}, f.items
		}
		props[f.name] = p
		if f.required {
			required = append(required, f.name)
		}
	}
	doc := map[string]any{"type": "object", "properties": props, "additionalProperties": false}
	if len(required) > 0 {
		doc["required"] = required
	}
	return encode(doc)
}

func (f field) textLimits(p map[string]any) {
	if f.enum != nil {
		p["enum"] = f.enum
		return
	}
	if f.required || f.kind == kTexts {
		p["minLength"] = 1
	}
	if !f.cut {
		p["maxLength"] = f.max
	}
}

// values are checked arguments by name.
type values struct {
	raw   json.RawMessage
	given map[string]any
}

func (v values) has(name string) bool { _, ok := v.given[name]; return ok }

// text is an argument without blanks around it, "" when it was not given.
func (v values) text(name string) string {
	s, _ := v.given[name].(string)
	return strings.TrimSpace(s)
}

func (v values) texts(name string) []string { l, _ := v.given[name].([]string); return l }
func (v values) int(name string, otherwise int) int {
	if n, ok := v.given[name].(int); ok {
		return n
	}
	return otherwise
}
func (v values) ints(name string) []int { l, _ := v.given[name].([]int); return l }
func (v values) bool(name string) bool  { b, _ := v.given[name].(bool); return b }

// decode reads arguments and reports everything that is wrong with them. No
// arguments at all are an empty object; null is an argument that is not given.
func (o object) decode(tool string, data json.RawMessage) (values, error) {
	v := values{raw: data, given: map[string]any{}}
	got, err := topLevel(data)
	if err != nil {
		return v, refuse("send one JSON object; "+o.usage(tool), "the arguments are not a JSON object: %s",
			notes.OneLine(err.Error(), 200))
	}
	var problems []string
	if err := o.spread(&got); err != nil {
		problems = append(problems, err.Error())
	}
	add := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	seen := map[string]string{}
	for _, key := range got.keys {
		i := slices.IndexFunc(o, func(f field) bool { return f.name == key || slices.Contains(f.aliases, key) })
		if i < 0 {
			add("%s is not an argument of %s", quoted(key), tool)
			continue
		}
		f := o[i]
		if other, twice := seen[f.name]; twice {
			add("%s is given twice, as %s and as %s", f.name, other, key)
			continue
		}
		value, problem := f.read(got.values[key])
		switch {
		case problem != "":
			add("%s %s", key, problem)
		case value == nil:
			continue
		default:
			v.given[f.name] = value
		}
		seen[f.name] = key
	}
	for _, f := range o {
		if f.required && (seen[f.name] == "" || f.kind == kText && v.has(f.name) && v.text(f.name) == "") {
			add("%s is missing", f.name)
		}
	}
	return v, several(o.usage(tool), problems)
}

// spread puts the members of an object that stands for a text with parts beside
// it, as if they had been given as arguments of their own.
func (o object) spread(m *members) error {
	for _, f := range o {
		inner := bytes.TrimSpace(m.values[f.name])
		if f.parts == nil || len(inner) == 0 || inner[0] != '{' {
			continue
		}
		parts, err := topLevel(inner)
		if err != nil {
			return fmt.Errorf("%s is not a JSON object: %s", f.name, notes.OneLine(err.Error(), 200))
		}
		delete(m.values, f.name)
		m.keys = slices.DeleteFunc(m.keys, func(k string) bool { return k == f.name })
		for _, key := range parts.keys {
			known := key == f.name || slices.ContainsFunc(o, func(p field) bool {
				return slices.Contains(f.parts, p.name) && (p.name == key || slices.Contains(p.aliases, key))
			})
			_, twice := m.values[key]
			switch {
			case !known:
				return fmt.Errorf("%s has no member %s", f.name, quoted(key))
			case twice:
				return fmt.Errorf("%s is given twice, inside %s and beside it", key, f.name)
			}
			m.keys, m.values[key] = append(m.keys, key), parts.values[key]
		}
	}
	return nil
}

// several is a refusal for any number of problems; nil for none.
func several(hint string, problems []string) error {
	const shown = 20
	switch n := len(problems); {
	case n == 0:
		return nil
	case n == 1:
		return refuse(hint, "%s", problems[0])
	case n > shown:
		problems = append(problems[:shown:shown], fmt.Sprintf("and %d more", n-shown))
	}
	return &Refusal{Message: strings.Join(problems, "; "), Hint: hint, Problems: problems}
}

// usage is a tool's arguments in one line: name {task_id, notes?}.
func (o object) usage(tool string) string {
	parts := make([]string, len(o))
	for i, f := range o {
		parts[i] = f.name
		if f.enum != nil {
			parts[i] += ": " + strings.Join(f.enum, "|")
		}
		if !f.required {
			parts[i] += "?"
		}
	}
	return "use " + tool + " {" + strings.Join(parts, ", ") + "}"
}

func quoted(key string) string { return fmt.Sprintf("%q", notes.OneLine(key, 60)) }

// members are the members of a JSON object. A name that is given twice is read
// as its last value, as every other reader of JSON does.
type members struct {
	keys   []string
	values map[string]json.RawMessage
}

func topLevel(data json.RawMessage) (members, error) {
	m := members{values: map[string]json.RawMessage{}}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	if len(data) == 0 || string(data) == "null" {
		return m, nil
	}
	if !utf8.Valid(data) {
		return m, errors.New("it is not valid UTF-8")
	}
	if data[0] != '{' {
		return m, errors.New("it does not begin with {")
	}
	if err := json.Unmarshal(data, &m.values); err != nil {
		return m, err
	}
	for key := range m.values {
		m.keys = append(m.keys, key)
	}
	slices.Sort(m.keys)
	return m, nil
}

// read checks one value; nil without a problem is null.
func (f field) read(raw json.RawMessage) (any, string) {
	if string(bytes.TrimSpace(raw)) == "null" {
		return nil, ""
	}
	switch f.kind {
	case kText:
		s, problem := f.readText(raw)
		return s, problem
	case kInt:
		n, problem := f.readInt(raw)
		return n, problem
	case kBool:
		var b bool
		if json.Unmarshal(raw, &b) != nil {
			return nil, "must be true or false"
		}
		return b, ""
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil, "must be a list"
	}
	if len(list) > f.items {
		return nil, fmt.Sprintf("has %d entries, at most %d are taken", len(list), f.items)
	}
	if f.kind == kInts {
		out := make([]int, len(list))
		for i, item := range list {
			var problem string
			if out[i], problem = f.readInt(item); problem != "" {
				return nil, fmt.Sprintf("entry %d %s", i+1, problem)
			}
		}
		return out, ""
	}
	out := make([]string, len(list))
	for i, item := range list {
		s, problem := f.readText(item)
		if problem == "" && strings.TrimSpace(s) == "" {
			problem = "is empty"
		}
		if problem != "" {
			return nil, fmt.Sprintf("entry %d %s", i+1, problem)
		}
		out[i] = strings.TrimSpace(s)
	}
	return out, ""
}

func (f field) readText(raw json.RawMessage) (string, string) {
	var s string
	if string(bytes.TrimSpace(raw)) == "null" || json.Unmarshal(raw, &s) != nil {
		return "", "must be a text"
	}
	if f.enum != nil {
		s = strings.ToLower(strings.TrimSpace(s))
		if !slices.Contains(f.enum, s) {
			return "", fmt.Sprintf("is %s, must be one of %s", quoted(s), strings.Join(f.enum, ", "))
		}
		return s, ""
	}
	if n := utf8.RuneCountInString(s); n > f.max && !f.cut {
		return "", fmt.Sprintf("has %d characters, at most %d are taken", n, f.max)
	}
	return s, ""
}

// readInt takes 3, 3.0 and "3": clients that print numbers as text are common.
func (f field) readInt(raw json.RawMessage) (int, string) {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(bytes.TrimSpace(raw))
	}
	n, ok := wholeNumber(strings.TrimSpace(s))
	switch {
	case !ok:
		return 0, "must be a whole number"
	case n < f.min || n > f.max:
		return 0, fmt.Sprintf("is %d, must be from %d to %d", n, f.min, f.max)
	}
	return n, ""
}

func wholeNumber(s string) (int, bool) {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var v any
	if len(s) > 40 || dec.Decode(&v) != nil {
		return 0, false
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return 0, false
	}
	num, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	// Up to 2^53 a float holds every whole number; unlike exact arithmetic it
	// costs the same for 1e-999999999.
	f, err := num.Float64()
	if err != nil || math.Abs(f) > 1<<53 || f != math.Trunc(f) {
		return 0, false
	}
	return int(f), true
}
