package config

import (
	"encoding/json"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/pelletier/go-toml/v2"
)

// TestSchemaTakesWhatLoadTakes: the schema accepts the full file and the small one,
// and refuses what Load refuses.
func TestSchemaTakesWhatLoadTakes(t *testing.T) {
	var s jsonschema.Schema
	if err := json.Unmarshal(JSONSchema(), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		why, text string
		ok        bool
	}{
		{"every setting", string(uncomment(Document())), true},
		{"nothing", "", true},
		{"amounts and sizes", "[limits]\nsession_usd = 2.5\n[worktree]\nmax_file = \"50MB\"\n", true},
		{"an unknown key", "[loop]\nmodes = \"x\"\n", false},
		{"another type", "[loop]\nmax_attempts = \"three\"\n", false},
		{"a value that is not in the list", "[loop]\nmode = \"fast\"\n", false},
		{"a text for a list", "[project]\nsetup = \"npm ci\"\n", false},
	} {
		var value any
		if err := toml.Unmarshal([]byte(x.text), &value); err != nil {
			t.Fatalf("%s: %v", x.why, err)
		}
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &value); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(value); (err == nil) != x.ok {
			t.Errorf("%s: the schema says %v", x.why, err)
		}
		if _, err := Load(Sources{Files: []File{{Name: FileName, Data: []byte(x.text)}}}); (err == nil) != x.ok {
			t.Errorf("%s: Load says %v", x.why, err)
		}
	}
}
