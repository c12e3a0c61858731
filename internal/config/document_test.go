package config

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sameSettings compares what settings mean: an absent list is an empty one.
// Names of examples are left to the caller.
func sameSettings(t *testing.T, why string, want, got Settings) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", why, diff)
	}
}

// examples are the defaults with one table of each sort that has names, every
// field of it as a table of that name and nothing else would have it.
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

// TestDesignBlock holds the settings to the block of the design, word for word.
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
	// Every setting stands in the block, except those named only in its prose.
	only := regexp.MustCompile(
		`^(agent\.roles\.planning\.(driver|max_turns|timeout|tools|mcp)|mcp\.context7\.(url|env)|passes\.review\.tools)$`)
	for _, e := range r.List() {
		if e.Origin.Layer != LayerFile && !only.MatchString(e.Key) {
			t.Errorf("%s is not in the design", e.Key)
		}
	}
}

// uncomment takes away the # that stand directly before a key or table.
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
	// What nothing reads yet is accepted and not offered.
	unread := map[string]bool{"share.remote": true, "share.evidence": true, "share.lease": true}
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

func TestInitFile(t *testing.T) {
	for _, tt := range detectTests() {
		d := Detect(tt.files)
		data := InitFile(d)
		r, err := Load(Sources{Files: []File{{FileName, data}}})
		if err != nil {
			t.Errorf("%s: %v\n%s", tt.why, err, data)
			continue
		}
		want := Default()
		want.Project.Setup = d.Setup
		want.Toolchain = d.Toolchain
		want.Toolchain.Preset = "none"
		if d.Preset != "" {
			want.Toolchain.Preset = d.Preset
		}
		for _, c := range d.Checks {
			c.Timeout, c.When = 10*time.Minute, "each"
			want.Checks = append(want.Checks, c)
		}
		sameSettings(t, tt.why, want, r.Settings)
		if len(r.Warnings) > 0 {
			t.Errorf("%s: warnings %q", tt.why, r.Warnings)
		}
		for _, note := range d.Notes {
			if !strings.Contains(string(data), "# note: "+note+"\n") {
				t.Errorf("%s: the file does not say %q", tt.why, note)
			}
		}
	}
}

type detectTest struct {
	why    string
	files  fstest.MapFS
	kind   ProjectKind
	checks []string // name: run
	setup  string
	note   string // part of one
}

func tree(pairs ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return m
}

func detectTests() []detectTest {
	return []detectTest{
		{"Go", tree("go.mod", "module x\n"), KindGo, []string{"vet: go vet ./...", "test: go test ./..."}, "", ""},
		{"Go with its linter configured", tree("go.mod", "module x\n", ".golangci.yml", ""), KindGo,
			[]string{"vet: go vet ./...", "lint: golangci-lint run", "test: go test ./..."}, "", ""},
		{"a workspace whose root is no module",
			tree("go.work", "go 1.26\nuse ./a // main\nuse (\n\t./b/c\n\t../out\n\t\"./q;rm\"\n)\n"), KindGo,
			[]string{"vet: go vet ./a/... ./b/c/...", "test: go test ./a/... ./b/c/..."}, "", ""},
		{"a workspace of nothing", tree("go.work", "go 1.26\n"), KindGo, nil, "", "names no module"},
		{"Go beside Node", tree("go.mod", "module x\n", "package.json", "{}"), KindGo,
			[]string{"vet: go vet ./...", "test: go test ./..."}, "", "there is a package.json too"},
		{"npm with its lockfile", tree("package.json", `{"scripts":{"test":"jest","lint":"eslint .","build":"tsc"}}`,
			"package-lock.json", "{}"), KindNode,
			[]string{"lint: npm run lint", "test: npm test"}, "npm ci", ""},
		{"npm without one cannot install exactly", tree("package.json", `{"scripts":{"test":"jest"}}`), KindNode,
			[]string{"test: npm test"}, "", ""},
		{"pnpm",
			tree("package.json",
				`{"scripts":{"test":"vitest run","typecheck":"tsc --noEmit","format:check":"prettier --check ."}}`,
				"pnpm-lock.yaml", ""), KindNode,
			[]string{"format: pnpm run format:check", "typecheck: pnpm run typecheck", "test: pnpm test"},
			"pnpm install --frozen-lockfile", ""},
		{"packageManager says more than a stale lockfile", tree("package.json",
			`{"packageManager":"pnpm@9.1.0","scripts":{"test":"x"}}`, "yarn.lock", ""), KindNode,
			[]string{"test: pnpm test"}, "", ""},
		{"yarn classic", tree("package.json", `{"scripts":{"test":"x","type-check":"tsc"}}`, "yarn.lock", ""), KindNode,
			[]string{"typecheck: yarn run type-check", "test: yarn test"}, "yarn install --frozen-lockfile", ""},
		{"yarn berry", tree("package.json", `{"scripts":{"test":"x"}}`, "yarn.lock", "", ".yarnrc.yml", ""), KindNode,
			[]string{"test: yarn test"}, "yarn install --immutable", ""},
		{"bun", tree("package.json", `{"scripts":{"test":"x"}}`, "bun.lock", ""), KindNode,
			[]string{"test: bun run test"}, "bun install --frozen-lockfile", ""},
		{"the script that npm init writes is no test", tree("package.json",
			`{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`), KindNode, nil, "", "no test script"},
		{"a test that watches never ends",
			tree("package.json", `{"scripts":{"test":"jest --watch","test:unit":"jest"}}`), KindNode,
			[]string{"test: npm run test:unit"}, "", "watches and never ends"},
		{"a broken package.json", tree("package.json", `{`), KindNode, nil, "", "could not be read"},
		{"scripts of no sense", tree("package.json", `{"scripts":{"test":3}}`), KindNode, nil, "", "no test script"},
		{"Python with uv", tree("pyproject.toml",
			"[project]\nname = \"x\"\n[dependency-groups]\ndev = [\"pytest>=8\"]\n", "uv.lock", ""), KindPythonUV,
			[]string{"test: uv run pytest"}, "uv sync", ""},
		{"Python with uv's own table and all the tools", tree("pyproject.toml",
			"[tool.uv]\n[tool.pytest.ini_options]\n[tool.ruff.format]\n[tool.mypy]\n"), KindPythonUV,
			[]string{"format: uv run ruff format --check .", "lint: uv run ruff check .", "typecheck: uv run mypy .",
				"test: uv run pytest"}, "uv sync", ""},
		{"tools among the dependencies",
			tree("pyproject.toml", "[project.optional-dependencies]\ndev = [\"Ruff\", \"pyright[nodejs]\"]\n",
				"uv.lock", ""), KindPythonUV,
			[]string{"lint: uv run ruff check .", "typecheck: uv run pyright", "test: uv run pytest"}, "uv sync",
			"uv add --dev pytest"},
		{"a broken pyproject.toml", tree("pyproject.toml", "[", "uv.lock", ""), KindPythonUV,
			[]string{"test: uv run pytest"}, "uv sync", "could not be read"},
		{"Python without uv", tree("pyproject.toml", "[tool.poetry]\n"), KindNone, nil, "", "Python without uv"},
		{"Rust", tree("Cargo.toml", "[package]\n"), KindRust, []string{"test: cargo test"}, "", ""},
		{"Rust with lints and a format", tree("Cargo.toml", "[lints.clippy]\nall = \"warn\"\n", "rustfmt.toml", ""), KindRust,
			[]string{"format: cargo fmt --check", "clippy: cargo clippy --all-targets", "test: cargo test"}, "", ""},
		{"Make", tree("Makefile", "CC = cc\ntest: build\n\t./run\nlint:\n\tx\ncheck := 3\n"), KindNone,
			[]string{"lint: make lint", "test: make test"}, "", ""},
		{"just", tree("justfile", "check := \"x\"\ntest:\n  go\n"), KindNone, []string{"test: just test"}, "", ""},
		{"a variable is no target", tree("Makefile", "test := 3\n"), KindNone, nil, "", "no check was found"},
		{"nothing", tree("README", ""), KindNone, nil, "", "no check was found"},
		{"a folder called go.mod", tree("go.mod/x", ""), KindNone, nil, "", "no check was found"},
	}
}

func TestDetect(t *testing.T) {
	for _, tt := range detectTests() {
		d := Detect(tt.files)
		var got []string
		for _, c := range d.Checks {
			got = append(got, c.Name+": "+c.Run)
			if c.Kind == "" {
				t.Errorf("%s: %s has no kind", tt.why, c.Name)
			}
		}
		if d.Kind != tt.kind || strings.Join(d.Setup, "\n") != tt.setup {
			t.Errorf("%s: kind %s, setup %q", tt.why, d.Kind, d.Setup)
		}
		if diff := cmp.Diff(tt.checks, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.why, diff)
		}
		if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, tt.note) || tt.note == "" && notes != "" {
			t.Errorf("%s: notes %q, want %q", tt.why, notes, tt.note)
		}
	}
}
