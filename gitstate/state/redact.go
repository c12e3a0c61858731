package state

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"time"

	"git-ralph/notes"
	"git-ralph/plan"
)

// Redact is the state without what the pattern matches, in every text of it. Names
// of commits, entries and journals are no texts. It fails when a match cannot be
// taken out, or when two things would have one name afterwards.
func Redact(s State, pattern *regexp.Regexp) (State, error) {
	r := redaction{pattern}
	out := r.value(reflect.ValueOf(s), "").Interface().(State)
	files := Changes(State{}, out)
	if was := Changes(State{}, s); len(was) != len(files) {
		return s, fmt.Errorf("two things would have the same name: %d files become %d", len(was), len(files))
	}
	for path, data := range files {
		if path != "journal.toml" && path != "run.toml" && path != "format" &&
			(pattern.MatchString(path) || pattern.Match(data)) {
			return s, fmt.Errorf("the pattern matches what %s is made of", path)
		}
	}
	return Decode(files)
}

type redaction struct{ pattern *regexp.Regexp }

// mark stands for a match: in names without the brackets that no name may have.
func (r redaction) mark(text string, name bool) string {
	if name {
		return r.pattern.ReplaceAllLiteralString(text, "redacted")
	}
	return r.pattern.ReplaceAllLiteralString(text, notes.Redacted)
}

// facts are types whose texts the program itself has chosen.
var facts = []reflect.Type{reflect.TypeFor[Journal](), reflect.TypeFor[*Kept](), reflect.TypeFor[time.Time](),
	reflect.TypeFor[*Current](), reflect.TypeFor[Claim]()}

// value is a copy of v without matches. field is the name of the field that has it.
func (r redaction) value(v reflect.Value, field string) reflect.Value {
	t := v.Type()
	if slices.Contains(facts, t) || !v.IsValid() {
		return v
	}
	out := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.String:
		if t == reflect.TypeFor[string]() || t == reflect.TypeFor[plan.TaskID]() {
			name := t != reflect.TypeFor[string]() || field == "ID" || field == "LastTask" || field == "LastFailTask"
			out.SetString(r.mark(v.String(), name))
			return out
		}
		return v
	case reflect.Slice:
		if t == reflect.TypeFor[json.RawMessage]() {
			out.SetBytes(r.pattern.ReplaceAllLiteral(v.Bytes(), []byte(notes.Redacted)))
			return out
		}
		if v.IsNil() {
			return v
		}
		out.Set(reflect.MakeSlice(t, v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(r.value(v.Index(i), field))
		}
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out.Set(reflect.MakeMapWithSize(t, v.Len()))
		for _, k := range v.MapKeys() {
			out.SetMapIndex(r.value(k, "ID"), r.value(v.MapIndex(k), ""))
		}
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out.Set(reflect.New(t.Elem()))
		out.Elem().Set(r.value(v.Elem(), field))
	case reflect.Struct:
		out.Set(v)
		for i := range t.NumField() {
			if f := t.Field(i); f.IsExported() {
				out.Field(i).Set(r.value(v.Field(i), f.Name))
			}
		}
	default:
		return v
	}
	return out
}
