package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"git-ralph/internal/config"
	"git-ralph/internal/view"
	"git-ralph/loop"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

var update = flag.Bool("update", false, "write doc/json.md and doc/schema anew")

// errorDoc is what App.report writes.
type errorDoc struct {
	Error string `json:"error"`
	Hint  string `json:"hint"`
	Code  int    `json:"code"`
}

// entryOfConfig is what config.Entry.MarshalJSON writes.
type entryOfConfig struct {
	Key     string `json:"key"`
	Value   any    `json:"value"`
	Origin  string `json:"origin"`
	Default any    `json:"default"`
}

// published are the shapes that programs may rely on.
var published = []struct {
	name string
	of   any
}{
	{"error", errorDoc{}}, {"status", view.StatusDoc{}}, {"log", view.EntryDoc{}}, {"show", view.ShowDoc{}},
	{"history", view.HistoryDoc{}},
	{"stats", view.StatsDoc{}}, {"progress", view.ProgressDoc{}}, {"tasks", []plan.Task{}}, {"config", []entryOfConfig{}},
	{"events", session.Live{}}, {"verify", loop.Verification{}}, {"import", importResult{}}, {"prompt", promptDoc{}},
}

// schemaOf is the schema of a type as encoding/json writes it: lists and maps
// are never null, and an object may gain keys.
func schemaOf(t *testing.T, of any) *jsonschema.Schema {
	t.Helper()
	opts := &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.Number](): {Type: "number"},
	}}
	task, err := jsonschema.For[plan.WireTask](opts)
	if err != nil {
		t.Fatal(err)
	}
	opts.TypeSchemas[reflect.TypeFor[plan.Task]()] = task
	s, err := jsonschema.ForType(reflect.TypeOf(of), opts)
	if err != nil {
		t.Fatal(err)
	}
	open(s)
	return s
}

// open changes the library's defaults where we promise something else.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 && (s.Items != nil || len(s.Properties) == 0 && slices.Contains(s.Types,
		"object")) {
		s.Type, s.Types = s.Types[1-i], nil
	}
	if len(s.Properties) > 0 {
		s.AdditionalProperties = nil
	} else {
		open(s.AdditionalProperties)
	}
	open(s.Items)
	for _, p := range s.Properties {
		open(p)
	}
}

// jsonWords are the sentences of doc/json.md: of each document, and of its keys.
func jsonWords(t *testing.T) map[string]map[string]string {
	t.Helper()
	data, err := os.ReadFile("testdata/json-words.txt")
	if err != nil {
		t.Fatal(err)
	}
	words, at := map[string]map[string]string{}, ""
	for line := range strings.Lines(string(data)) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if key, ok := strings.CutPrefix(name, "  "); ok {
			words[at][key] = text
			continue
		}
		at = name
		words[at] = map[string]string{"": text}
	}
	return words
}

// TestSchemasAreCurrent compares doc/json.md and doc/schema with the output of the
// commands. Every top key needs a sentence that explains it.
func TestSchemasAreCurrent(t *testing.T) {
	words := jsonWords(t)
	files := map[string]string{}
	var doc strings.Builder
	doc.WriteString(jsonHead)
	for _, p := range published {
		s := schemaOf(t, p.of)
		body := s
		if s.Items != nil {
			body = s.Items
		}
		said := words[p.name]
		if p.name == "show" {
			for key, text := range words["log"] {
				if key != "" {
					said[key] = text
				}
			}
		}
		fmt.Fprintf(&doc, "\n## %s\n\n%s Schema: [%s.json](schema/%s.json).\n\n| key | type | meaning |\n|---|---|---|\n",
			p.name, said[""], p.name, p.name)
		for _, key := range body.PropertyOrder {
			if p.name == "show" && words["log"][key] != "" {
				body.Properties[key].Description = said[key]
				continue
			}
			if said[key] == "" {
				t.Errorf("testdata/json-words.txt does not say what %s of %s is", key, p.name)
			}
			body.Properties[key].Description = strings.ReplaceAll(said[key], "`", "")
			fmt.Fprintf(&doc, "| `%s` | %s | %s |\n", key, typeName(body.Properties[key]), said[key])
		}
		for key := range said {
			if key != "" && body.Properties[key] == nil {
				t.Errorf("%s has no key %s", p.name, key)
			}
		}
		s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", "git ralph: "+p.name
		data, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		files["schema/"+p.name+".json"] = string(data) + "\n"
	}
	files["json.md"] = doc.String()
	files["schema/ralph.toml.json"] = string(config.JSONSchema())
	files["schema/plan.json"] = string(plan.JSONSchema())
	for name, want := range files {
		file := filepath.Join(root, "doc", name)
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")), []byte(want)) {
			t.Errorf("doc/%s is not what the code says: run just doc", name)
		}
	}
}

// typeName is a type as doc/json.md says it.
func typeName(s *jsonschema.Schema) string {
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	var out []string
	for _, name := range types {
		switch name {
		case "array":
			name = "list of " + typeName(s.Items)
		case "object":
			if len(s.PropertyOrder) > 0 {
				name = "{`" + strings.Join(s.PropertyOrder, "`, `") + "`}"
			}
		}
		out = append(out, name)
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(b, a) })
	if i := slices.Index(out, "null"); i >= 0 {
		out = append(slices.Delete(out, i, i+1), "null")
	}
	if len(out) == 0 {
		return "any"
	}
	return strings.Join(out, " or ")
}

const jsonHead = `# JSON for programs

<!-- Written by "just doc" from the types that the commands print and internal/cli/testdata/json-words.txt. -->

Every reading command takes ` + "`--json`" + `. The shapes below are stable: a key is not renamed, removed or given another
type; objects may gain keys, so a program passes over those that it does not know. Lists are never null. Times are RFC 3339 in
UTC, money is dollars as a number without rounding. Each shape has a JSON Schema in ` + "`doc/schema/`" + `, and real output of
each command is tested against it.

` + "`doc/schema/ralph.toml.json`" + ` and ` + "`doc/schema/plan.json`" + ` are the schemas of ` + "`ralph.toml`" + ` and of a plan in TOML. An editor
with a TOML language server completes and checks the file when its first line names the schema; the ` + "`ralph.toml`" + ` that
` + "`git ralph init`" + ` writes has that line, and init puts the schema of this version into the folder that it names:

    #:schema .git/ralph/ralph.toml.json
`
