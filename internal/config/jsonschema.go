package config

import (
	"bytes"
	"encoding/json"
)

// SchemaFile is where init puts the schema of ralph.toml, below the worktree's
// root, for editors that complete the file.
const SchemaFile = ".git/ralph/ralph.toml.json"

// JSONSchema is the JSON Schema of ralph.toml.
func JSONSchema() []byte {
	root := objectSchema(schema())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "git ralph: ralph.toml"
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		panic(err) // maps of texts and numbers
	}
	return b.Bytes()
}

func objectSchema(s *spec) map[string]any {
	properties := map[string]any{}
	for _, f := range s.fields {
		properties[f.name] = fieldSchema(f)
	}
	return map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
}

func fieldSchema(f *spec) map[string]any {
	out := map[string]any{}
	switch f.kind {
	case kindTable:
		out = objectSchema(f)
	case kindMap:
		out = map[string]any{"type": "object", "additionalProperties": objectSchema(f)}
	case kindList:
		out = map[string]any{"type": "array", "items": objectSchema(f)}
	case kindString:
		out["type"] = "string"
	case kindInt:
		out["type"] = "integer"
	case kindFloat, kindUSD:
		out["type"] = "number"
	case kindBool:
		out["type"] = "boolean"
	case kindDuration:
		out["type"] = "string"
	case kindSize:
		out["type"] = []string{"string", "number"}
	case kindStrings:
		items := map[string]any{"type": "string"}
		if f.enum != nil {
			items["enum"] = f.enum
		}
		out["type"], out["items"] = "array", items
	case kindEnv:
		out["type"], out["additionalProperties"] = "object", map[string]any{"type": "string"}
	}
	out["description"] = f.help
	if f.kind == kindString && f.enum != nil {
		out["enum"] = f.enum
	}
	if f.leaf() && f.preset != "" {
		out["default"] = f.value
	}
	return out
}
