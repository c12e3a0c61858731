package notes

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// TestSchemaAgainstLibrary: a full implementation of draft 2020-12 accepts the
// schema. It agrees about every change of a good handoff, except where ParseHandoff
// is kinder or stricter on purpose.
func TestSchemaAgainstLibrary(t *testing.T) {
	var s jsonschema.Schema
	if err := json.Unmarshal(HandoffSchema(), &s); err != nil {
		t.Fatal(err)
	}
	lib, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	accepts := func(data []byte) bool {
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		return lib.Validate(v) == nil
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal([]byte(good), &doc); err != nil {
		t.Fatal(err)
	}
	values := []string{"", `null`, `true`, `1`, `1.5`, `""`, `"text"`, `"` + string(make50()) + `"`, `[]`, `{}`,
		`["a"]`, `[1]`, `[{}]`, `[null]`,
		`{"needed":true}`, `{"task_id":"T-1","summary":"","fully_complete":false}`, `[{"path":"a"}]`,
		`[{"file":"a","test_names":["b"]}]`, `[{"file":"a","test_names":"b"}]`,
		`[{"planned":"a","actual":"b","more":1}]`, `[{"constraint":"x"}]`, `[{"constraint":""}]`,
		`[{"item":"x","priority":3}]`, `"high"`, `"HIGH"`}
	tried := 0
	for key := range doc {
		for _, value := range values {
			if value == "null" && !required(&s, key) {
				continue // our parser takes null for absent
			}
			data := with(t, key, value)
			_, problems := ParseHandoff(data)
			if ours, theirs := problems == nil, accepts(data); ours != theirs {
				t.Errorf("%s = %s: ours %v (%v), the library %v", key, value, ours, problems, theirs)
			}
			tried++
		}
	}
	if tried < 300 {
		t.Errorf("only %d documents were compared", tried)
	}
}

func make50() []byte {
	b := make([]byte, 50)
	for i := range b {
		b[i] = 'x'
	}
	return b
}

func required(s *jsonschema.Schema, key string) bool {
	for _, name := range s.Required {
		if name == key {
			return true
		}
	}
	return false
}
