package notes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"git-ralph/internal/text"
	"git-ralph/internal/text/lazyregexp"
)

// NoSummary is the summary of a handoff in which the agent wrote none.
const NoSummary = "The agent wrote no summary."

// Repaired is a handoff with formal faults after the harness has put defaults in
// their place.
type Repaired struct {
	Handoff Handoff
	// Faults are what was wrong, as ParseHandoff names it.
	Faults []Problem
	// Claim is what it says about the task, nil when that cannot be read.
	Claim *bool
}

// RepairHandoff reads what it can of a handoff that ParseHandoff refuses.
// Missing lists become empty, a single value may stand for a list of one, and
// text around the JSON object and extra commas are dropped. A fault of form says
// nothing about the work. It returns false when there is no JSON object. An
// empty task id stays empty.
func RepairHandoff(data []byte) (Repaired, bool) {
	_, faults := ParseHandoff(data)
	if len(data) > MaxHandoff {
		return Repaired{}, false
	}
	doc, ok := looseObject(data)
	if !ok {
		return Repaired{}, false
	}
	lift(doc)
	m := Repaired{Faults: faults, Claim: claimOf(doc)}
	whole := loadedSchema().repair(doc)
	clean := loadedSchema().check("", whole, func(string, string) {})
	encoded, err := json.Marshal(clean)
	if err == nil {
		err = json.Unmarshal(encoded, &m.Handoff)
	}
	if err != nil {
		return Repaired{}, false
	}
	h := &m.Handoff
	h.Summary = firstText(h.Summary, h.TaskCompleted.Summary, text.FirstLine(h.Freeform))
	if utf8.RuneCountInString(strings.TrimSpace(h.Freeform)) < loadedSchema().Properties["freeform"].MinLength {
		h.Freeform = strings.TrimSpace(firstText(h.Freeform, h.Summary) +
			"\n\n(The agent wrote no more than this into its handoff.)")
	}
	h.Summary = firstText(h.Summary, NoSummary)
	h.TaskCompleted.Summary = firstText(h.TaskCompleted.Summary, h.Summary)
	h.ConstraintsDiscovered = slices.DeleteFunc(h.ConstraintsDiscovered,
		func(c Constraint) bool { return strings.TrimSpace(c.Constraint) == "" })
	if h.ConfidenceLevel != "" && !slices.Contains(loadedSchema().Properties["confidence_level"].Enum, h.ConfidenceLevel) {
		h.ConfidenceLevel = ""
	}
	return m, true
}

func firstText(texts ...string) string {
	for _, s := range texts {
		if s = strings.TrimSpace(s); s != "" {
			return s
		}
	}
	return ""
}

var looseComma = lazyregexp.New(`,(\s*[}\]])`)

// looseObject is the JSON object in a text: the whole text, or what is between
// the first and the last brace, in a code block or in prose.
func looseObject(data []byte) (map[string]any, bool) {
	if doc, problems := decodeHandoff(data); problems == nil {
		m, ok := doc.(map[string]any)
		return m, ok
	}
	data = bytes.ToValidUTF8(data, []byte("\uFFFD"))
	from, to := bytes.IndexByte(data, '{'), bytes.LastIndexByte(data, '}')
	if from < 0 || to < from {
		return nil, false
	}
	data = data[from : to+1]
	if m := lastObject(data); m != nil {
		return m, true
	}
	for _, text := range [][]byte{data, looseComma().ReplaceAll(data, []byte("$1"))} {
		var m map[string]any
		if json.Unmarshal(text, &m) == nil && m != nil {
			return m, true
		}
	}
	return nil, false
}

// lastObject is the last of JSON objects that follow each other, as an agent leaves them that
// appends to its handoff; nil when that is not what data is.
func lastObject(data []byte) map[string]any {
	var last map[string]any
	dec := json.NewDecoder(bytes.NewReader(data))
	for dec.More() {
		var m map[string]any
		if dec.Decode(&m) != nil {
			return nil
		}
		last = m
	}
	return last
}

// snakeKeys gives the members of a document the spelling of the schema: taskCompleted is
// task_completed.
func snakeKeys(doc map[string]any) {
	for k, v := range doc {
		var b strings.Builder
		for _, c := range k {
			if c >= 'A' && c <= 'Z' {
				b.WriteString("_" + strings.ToLower(string(c)))
			} else {
				b.WriteRune(c)
			}
		}
		if name := b.String(); name != k && doc[name] == nil && len(k) < 100 {
			delete(doc, k)
			doc[name] = v
		}
	}
}

// lift puts the facts about the task where they belong when they stand at the
// top, and takes the document out of a member named handoff.
func lift(doc map[string]any) {
	snakeKeys(doc)
	if inner, ok := doc["handoff"].(map[string]any); ok && len(doc) == 1 {
		delete(doc, "handoff")
		for k, v := range inner {
			doc[k] = v
		}
	}
	if yes, ok := doc["task_completed"].(bool); ok {
		doc["task_completed"] = map[string]any{"fully_complete": yes}
	}
	task, ok := doc["task_completed"].(map[string]any)
	if !ok {
		if doc["task_completed"] != nil {
			return
		}
		task = map[string]any{}
	}
	snakeKeys(task)
	for _, key := range []string{"task_id", "fully_complete"} {
		if v, have := doc[key]; have && task[key] == nil {
			task[key] = v
		}
	}
	if len(task) > 0 {
		doc["task_completed"] = task
	}
}

// claimOf is what a document says about the completeness of its task.
func claimOf(doc map[string]any) *bool {
	task, _ := doc["task_completed"].(map[string]any)
	switch v := task["fully_complete"].(type) {
	case bool:
		return &v
	case string:
		if yes := strings.EqualFold(v, "true"); yes || strings.EqualFold(v, "false") {
			return &yes
		}
	}
	return nil
}

// repair turns v into a value of the schema's type; a missing one is empty.
func (s *schema) repair(v any) any {
	switch s.Type {
	case "array":
		list, ok := v.([]any)
		switch {
		case ok:
		case v == nil || v == "":
			list = []any{}
		default:
			list = []any{v}
		}
		out := make([]any, 0, len(list))
		for _, x := range list {
			if x != nil && s.Items != nil {
				out = append(out, s.Items.repair(x))
			}
		}
		return out
	case "object":
		return s.mendObject(v)
	case "boolean":
		if text, ok := v.(string); ok {
			return strings.EqualFold(text, "true")
		}
		yes, _ := v.(bool)
		return yes
	case "string":
		value := ""
		switch v := v.(type) {
		case nil:
		case string:
			value = v
		case float64, bool:
			value = fmt.Sprint(v)
		default:
			data, _ := json.Marshal(v)
			value = string(data)
		}
		if s.MaxLength > 0 {
			value = text.Clip(value, s.MaxLength)
		}
		return value
	}
	return v
}

func (s *schema) mendObject(v any) any {
	m, ok := v.(map[string]any)
	if s.Properties == nil {
		if !ok {
			return map[string]any{}
		}
		return m
	}
	if !ok {
		m = map[string]any{}
		if v != nil && len(s.Required) > 0 {
			m[s.Required[0]] = v // the one thing that had to be said
		}
	}
	out := map[string]any{}
	for name, p := range s.Properties {
		x, have := m[name]
		if have && x != nil || slices.Contains(s.Required, name) {
			out[name] = p.repair(x)
		}
	}
	return out
}
