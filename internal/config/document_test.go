package config

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sameSettings compares the meaning of settings: an absent list equals an empty
// one. The caller handles names of examples.
func sameSettings(t *testing.T, why string, want, got Settings) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", why, diff)
	}
}

// examples are the defaults with one example of each kind of named table. Its
// fields have the values of a table with only a name.
func examples() Settings {
	s := Default()
	s.Checks = []Check{{Name: "test", Run: "go test ./...", Kind: "test", Timeout: 10 * time.Minute, When: "each"}}
	s.Passes = []Pass{{Name: "review", Trigger: "on_success", MaxTurns: 5, ReadOnly: true}}
	s.Steps = []Step{{Name: "format", When: "after", Run: "gofmt -w .", Timeout: 5 * time.Minute}}
	s.MCP = map[string]MCPServer{"context7": {}}
	s.Pricing = map[string]Price{"model-name": {}}
	s.Agent.Roles = map[string]Role{"planning": {}}
	return s
}

// TestDesignBlock compares the settings with the design's block, word for word.
func TestDesignBlock(t *testing.T) {
	data, err := os.ReadFile("testdata/design.toml")
	if err != nil {
		t.Fatal(err)
	}
	r := mustLoad(t, Sources{Files: []File{{FileName, data}}})
	sameSettings(t, "the design's block", examples(), r.Settings)
	if len(r.Warnings) > 0 {
		t.Errorf("warnings: %q", r.Warnings)
	}
	// Every setting is in the block, except those named only in the design's prose.
	only := regexp.MustCompile(
		`^(agent\.roles\.planning\.(driver|effort|max_turns|timeout|tools|mcp)|` +
			`mcp\.context7\.(url|env)|passes\.review\.tools)$`)
	for _, e := range r.List() {
		if e.Origin.Layer != LayerFile && !only.MatchString(e.Key) {
			t.Errorf("%s is not in the design", e.Key)
		}
	}
}

// uncomment removes each # directly before a key or table.
func uncomment(data []byte) []byte {
	return regexp.MustCompile(`(?m)^#([A-Za-z\[])`).ReplaceAll(data, []byte("$1"))
}

func TestDocument(t *testing.T) {
	doc := Document()
	r := mustLoad(t, Sources{Files: []File{{FileName, doc}}})
	sameSettings(t, "the document as it is", Default(), r.Settings)

	r = mustLoad(t, Sources{Files: []File{{FileName, uncomment(doc)}}})
	want := examples()
	fifty, timeout := 50, 20*time.Minute
	want.Agent.Roles["planning"] = Role{MaxTurns: &fifty, Timeout: &timeout, Tools: []string{"Read", "Glob", "Grep"}}
	want.Passes[0].Tools = []string{"Read", "Glob", "Grep"}
	sameSettings(t, "the document with everything uncommented", want, r.Settings)
	if len(r.Warnings) > 0 {
		t.Errorf("warnings: %q", r.Warnings)
	}
	// Settings that nothing reads yet are accepted and not offered.
	unread := map[string]bool{}
	for _, e := range r.List() {
		if has := e.Origin.Layer == LayerFile; has == unread[e.Key] {
			t.Errorf("the document has %s: %v", e.Key, has)
		}
	}
	mustLoad(t, Sources{Files: []File{{FileName, []byte("[share]\nremote = \"origin\"\n")}}})
	for _, line := range strings.Split(string(doc), "\n") {
		if len(line) > 120 || strings.TrimRight(line, " ") != line {
			t.Errorf("a line that reads badly: %q", line)
		}
	}
}
