package notes

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"git-ralph/internal/text"
)

//go:embed handoff.schema.json
var handoffSchema []byte

// HandoffSchema is the JSON Schema (draft 2020-12) of a handoff, for clients
// that can enforce one. The caller owns the bytes.
func HandoffSchema() json.RawMessage { return slices.Clone(handoffSchema) }

// schema is the part of JSON Schema that the handoff's schema uses. The test
// of the embedded file refuses keywords that are not here. It reports every
// problem at once, because the agent is asked only once to repair its handoff.
type schema struct {
	Schema      string             `json:"$schema"`
	Title       string             `json:"title"`
	Description string             `json:"description"`
	Type        string             `json:"type"`
	Required    []string           `json:"required"`
	Properties  map[string]*schema `json:"properties"`
	Items       *schema            `json:"items"`
	Enum        []string           `json:"enum"`
	MinLength   int                `json:"minLength"`
	MaxLength   int                `json:"maxLength"`
}

var loadedSchema = sync.OnceValue(func() *schema {
	var s schema
	if err := json.Unmarshal(handoffSchema, &s); err != nil {
		panic("embedded handoff schema: " + err.Error())
	}
	return &s
})

// check reports what is wrong with v and returns a cleaned v. It has no
// properties that the schema does not name, so that no reader takes a key in
// another case. Its texts are cleaned and redacted, because a handoff goes into
// history, and history is shared.
func (s *schema) check(path string, v any, problem func(path, message string)) any {
	if text, ok := v.(string); ok && s.Type == "object" && s.Properties == nil {
		// An open object, as a client with closed schemas writes it.
		var inner map[string]any
		if json.Unmarshal([]byte(text), &inner) == nil && inner != nil {
			v = inner
		}
	}
	if got := jsonType(v); got != s.Type && !(s.Type == "number" && got == "integer") {
		problem(path, "is "+article(got)+", must be "+article(s.Type))
		return v
	}
	switch v := v.(type) {
	case string:
		v = Redact(Clean(v))
		s.checkText(path, v, problem)
		return v
	case []any:
		if s.Items == nil {
			return v
		}
		for i := range v {
			v[i] = s.Items.check(path+"["+strconv.Itoa(i)+"]", v[i], problem)
		}
	case map[string]any:
		return s.checkObject(path, v, problem)
	}
	return v
}

func (s *schema) checkText(path, v string, problem func(path, message string)) {
	n := utf8.RuneCountInString(v)
	switch {
	case len(s.Enum) > 0 && !slices.Contains(s.Enum, v):
		problem(path, fmt.Sprintf("is %q, must be one of %s", text.Clip(v, 40), strings.Join(s.Enum, ", ")))
	case s.MinLength > 0 && utf8.RuneCountInString(strings.TrimSpace(v)) < s.MinLength:
		// Blanks around the text do not count: fifty of them say nothing.
		if n == 0 || s.MinLength == 1 {
			problem(path, "is empty")
		} else {
			problem(path, fmt.Sprintf("has %d characters, at least %d are needed",
				utf8.RuneCountInString(strings.TrimSpace(v)), s.MinLength))
		}
	case s.MaxLength > 0 && n > s.MaxLength:
		problem(path, fmt.Sprintf("has %d characters, at most %d are allowed", n, s.MaxLength))
	}
}

// missingField is the message about a missing required field.
const missingField = "is missing"

func (s *schema) checkObject(path string, v map[string]any, problem func(path, message string)) any {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			problem(join(path, name), missingField)
		}
	}
	if s.Properties == nil {
		return cleanAll(v)
	}
	out := make(map[string]any, len(v))
	for _, name := range slices.Sorted(maps.Keys(v)) {
		p := s.Properties[name]
		if p == nil {
			continue
		}
		if v[name] == nil && !slices.Contains(s.Required, name) {
			continue // null stands for "absent" where a client must name every key
		}
		out[name] = p.check(join(path, name), v[name], problem)
	}
	return out
}

// cleanAll cleans the texts of a value whose form is checked elsewhere.
func cleanAll(v any) any {
	switch v := v.(type) {
	case string:
		return Redact(Clean(v))
	case []any:
		for i := range v {
			v[i] = cleanAll(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = cleanAll(v[k])
		}
	}
	return v
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func jsonType(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}

func article(t string) string {
	switch t {
	case "array", "object", "integer":
		return "an " + t
	case "null":
		return t
	}
	return "a " + t
}
