package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// Entry is one line of `git ralph config`. Value and Default are a string,
// number, bool, []string or map; durations and sizes are strings in their text
// form, money is dollars. Default is nil where a setting has none, as the
// command of a check.
type Entry struct {
	Key     string
	Value   any
	Origin  Origin
	Default any
	Help    string
	Choices []string // all values that it takes, where they are few
}

// MarshalJSON writes {key, value, origin, default}.
func (e Entry) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Key     string `json:"key"`
		Value   any    `json:"value"`
		Origin  string `json:"origin"`
		Default any    `json:"default"`
	}{e.Key, e.Value, e.Origin.String(), e.Default})
}

// Text is the entry as ralph.toml could hold it: loop.mode = "handoff-only".
func (e Entry) Text() string { return e.Key + " = " + tomlText(e.Value) }

// List is every setting in the order of ralph.toml. Named tables show their
// elements, lists in their own order and maps by name, or one entry with an
// empty value when there are none. Settings of a role that it takes from
// [agent] are left out. Values of [mcp.<name>] env are shown as written, since
// ${NAME} is there to keep secrets out of sight.
func (r *Resolved) List() []Entry {
	var out []Entry
	r.walk(schema(), reflect.ValueOf(&r.Settings).Elem(), nil, &out)
	return out
}

// Lookup is the entry of a key in any spelling that git config takes.
func (r *Resolved) Lookup(key string) (Entry, error) {
	entries := r.List()
	known := make([]string, 0, len(entries))
	for _, e := range entries {
		if norm(e.Key) == norm(key) {
			return e, nil
		}
		known = append(known, e.Key)
	}
	return Entry{}, &Error{Problems: []Problem{{Key: key, Msg: "unknown key " + cut(key) + suggest(key, known)}}}
}

// Under are the entries below a table or a list of tables, such as limits or checks.
func (r *Resolved) Under(table string) []Entry {
	var out []Entry
	for _, e := range r.List() {
		if strings.HasPrefix(norm(e.Key), norm(table)+".") {
			out = append(out, e)
		}
	}
	return out
}

func (r *Resolved) walk(s *spec, v reflect.Value, path []string, out *[]Entry) {
	for _, c := range s.fields {
		here := append(append([]string{}, path...), c.name)
		f := v.Field(c.index)
		switch c.kind {
		case kindTable:
			r.walk(c, f, here, out)
		case kindMap:
			m := map[string]bool{}
			for _, k := range f.MapKeys() {
				m[k.String()] = true
			}
			for _, name := range sorted(m) {
				r.walk(c, f.MapIndex(reflect.ValueOf(name)), append(here, name), out)
			}
			if len(m) == 0 {
				*out = append(*out, Entry{Key: c.key, Value: map[string]any{}, Default: map[string]any{}, Help: c.help})
			}
		case kindList:
			for i := range f.Len() {
				r.walk(c, f.Index(i), append(here, elementName(f.Index(i))), out)
			}
			if f.Len() == 0 {
				*out = append(*out, Entry{Key: c.key, Value: []any{}, Default: []any{}, Help: c.help})
			}
		default:
			if inherits(c, f) {
				continue
			}
			key := joinKey(here)
			e := Entry{Key: key, Value: plain(c, f), Origin: r.Origin[key], Default: c.value, Help: c.help,
				Choices: c.enum}
			if c.kind == kindEnv && e.Origin.raw != nil {
				e.Value = e.Origin.raw
			}
			*out = append(*out, e)
		}
	}
}

// inherits says that a setting of a role or pass is absent, which is not the
// same as empty: tools = [] means no tool at all.
func inherits(s *spec, v reflect.Value) bool {
	return (s.pointer || s.kind == kindStrings && s.example != "") && v.IsNil()
}

// presetOf is the default of a field, nil where it has none.
func presetOf(s *spec) any {
	if s.pointer || s.preset == "" && s.example != "" {
		return nil
	}
	holder := reflect.New(typeOf(s.kind)).Elem()
	if s.preset != "" {
		if n, err := fromPreset(s); err == nil {
			_ = assign(s, n, holder)
		}
	}
	return plain(s, holder)
}

func typeOf(k kind) reflect.Type {
	switch k {
	case kindInt, kindDuration, kindSize, kindUSD:
		return reflect.TypeFor[int64]()
	case kindFloat:
		return reflect.TypeFor[float64]()
	case kindBool:
		return reflect.TypeFor[bool]()
	case kindStrings:
		return reflect.TypeFor[[]string]()
	case kindEnv:
		return reflect.TypeFor[map[string]string]()
	}
	return reflect.TypeFor[string]()
}

// hash is over keys and values alone, in file order.
func (r *Resolved) hash() string {
	h := sha256.New()
	for _, e := range r.List() {
		// Values are strings, numbers, bools, lists and maps of them, which
		// always marshal, maps by sorted key.
		value, _ := json.Marshal(e.Value)
		fmt.Fprintf(h, "%s=%s\n", e.Key, value)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Text is a value as it is written in ralph.toml.
func Text(value any) string { return tomlText(value) }

func tomlText(value any) string {
	switch v := value.(type) {
	case string:
		return tomlString(v)
	case float64:
		text := number(v)
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		return text
	case USD:
		text := v.String()
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		return text
	case []string:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = tomlString(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = tomlText(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]string:
		items := make([]string, 0, len(v))
		for _, k := range sorted(v) {
			items = append(items, tomlKey(k)+" = "+tomlString(v[k]))
		}
		return "{" + strings.Join(items, ", ") + "}"
	case map[string]any:
		items := make([]string, 0, len(v))
		for _, k := range sorted(v) {
			items = append(items, tomlKey(k)+" = "+tomlText(v[k]))
		}
		return "{" + strings.Join(items, ", ") + "}"
	}
	return fmt.Sprint(value)
}

func tomlKey(k string) string {
	if joinKey([]string{k}) == k {
		return k
	}
	return tomlString(k)
}

// tomlString quotes as TOML does: its escapes are fewer than Go's. What does
// not print is escaped, so that a value cannot rearrange the line it stands in.
func tomlString(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r == '\n':
			out.WriteString(`\n`)
		case r == '\t':
			out.WriteString(`\t`)
		case r > 0xffff && !unicode.IsPrint(r):
			fmt.Fprintf(&out, `\U%08x`, r)
		case !unicode.IsPrint(r):
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}
