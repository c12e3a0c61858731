package plan

import (
	"bytes"
	"encoding/json"
	"time"
)

// fieldHelp is what people write into a plan; the other fields are the
// harness's, and an editor need not offer them.
var fieldHelp = map[string]string{
	"id":                 "never used twice; without one the task gets the next T-00n",
	"title":              "one line",
	"description":        "what is to be done, for one session of an agent",
	"status":             "pending when absent",
	"priority":           "the lowest number is worked on first",
	"depends_on":         "ids of tasks that must be done before",
	"criteria":           "what makes it done, in words; text for the agent, never run",
	"verify":             "commands, or names of checks; all must pass",
	"skills":             "skill files that the agent reads with it",
	"libraries":          "libraries that it is about",
	"needs_docs":         "it needs documentation that the agent may not know",
	"spec":               "the file under specs/ that it comes from",
	"type":               "a prompt template of the project; bug asks for a test that shows it",
	"model":              "the agent's model for it",
	"max_turns":          "turns of an agent on it; 0 = the setting",
	"max_attempts":       "attempts before it counts as failed; 0 = no limit",
	"allow_test_changes": "tests may be weakened by it",
	"no_change_expected": "it may be done without a change",
	"allow_protected":    "protected paths that it may change",
	"estimated_tokens":   "what it is expected to take",
	"notes":              "remarks for the agent",
}

// JSONSchema is the JSON Schema of a plan in TOML, for editors.
func JSONSchema() []byte {
	properties := map[string]any{}
	var t Task
	for _, f := range TaskFields {
		help, ok := fieldHelp[f.Name]
		if !ok {
			continue
		}
		field := map[string]any{"description": help}
		switch f.At(&t).(type) {
		case *bool:
			field["type"] = "boolean"
		case *int, *int64, **int:
			field["type"] = "integer"
		case *[]string, *[]TaskID:
			field["type"], field["items"] = "array", map[string]any{"type": "string"}
		case **time.Time:
			field["type"] = "string"
		case *Status:
			field["enum"] = []Status{Pending, InProgress, Done, Failed, Blocked, Skipped}
		default:
			field["type"] = "string"
		}
		properties[f.Name] = field
	}
	root := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "git ralph: plan.toml",
		"type":    "object",
		"properties": map[string]any{
			"goal": map[string]any{"type": "string", "description": "what all tasks together are for"},
			"tasks": map[string]any{"type": "array", "items": map[string]any{
				"type": "object", "properties": properties, "required": []string{"title"}}},
		},
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		panic(err) // texts and lists of them
	}
	return b.Bytes()
}
