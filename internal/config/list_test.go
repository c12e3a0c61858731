package config

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestListIsInFileOrder(t *testing.T) {
	r := mustLoad(t, Sources{Files: []File{{FileName, uncomment(Document())}}})
	var keys []string
	last := 0
	for _, e := range r.List() {
		keys = append(keys, e.Key)
		if e.Origin.line == 0 {
			continue // not in the document
		}
		if e.Origin.line < last {
			t.Errorf("%s stands before the setting above it", e.Key)
		}
		last = e.Origin.line
	}
	if keys[0] != "project.goal" || keys[len(keys)-1] != "pricing.model-name.cache_write" {
		t.Errorf("from %s to %s", keys[0], keys[len(keys)-1])
	}
}

func TestListAsJSON(t *testing.T) {
	r := mustLoad(t, Sources{
		Files: file(
			"[[checks]]\nname = \"t\"\nrun = \"go test\"\n[limits]\niteration_usd = 0.5\n[agent]\ntimeout = \"90m\"\nenv_deny " +
				"= []\n"),
		Env: map[string]string{"RALPH_INDEX_NOVELTY": "0.5"},
	})
	want := map[string]string{
		"loop.max_iterations": `{"key":"loop.max_iterations","value":100,"origin":"default","default":100}`,
		"agent.timeout":       `{"key":"agent.timeout","value":"1h30m","origin":"ralph.toml:7","default":"20m"}`,
		"agent.env_deny": `{"key":"agent.env_deny","value":[],"origin":"ralph.toml:8","default":["*SECRET*",` +
			`"*PASSWORD*","*TOKEN*","*_KEY","AWS_*"]}`,
		"agent.ask":            `{"key":"agent.ask","value":false,"origin":"default","default":false}`,
		"limits.iteration_usd": `{"key":"limits.iteration_usd","value":0.5,"origin":"ralph.toml:5","default":2}`,
		"index.novelty":        `{"key":"index.novelty","value":0.5,"origin":"RALPH_INDEX_NOVELTY","default":0.25}`,
		"worktree.max_file":    `{"key":"worktree.max_file","value":"50MB","origin":"default","default":"50MB"}`,
		"checks.t.run":         `{"key":"checks.t.run","value":"go test","origin":"ralph.toml:3","default":null}`,
		"checks.t.kind":        `{"key":"checks.t.kind","value":"test","origin":"guessed from the command","default":null}`,
		"checks.t.timeout":     `{"key":"checks.t.timeout","value":"10m","origin":"default","default":"10m"}`,
		"passes":               `{"key":"passes","value":[],"origin":"default","default":[]}`,
		"mcp":                  `{"key":"mcp","value":{},"origin":"default","default":{}}`,
	}
	for key, text := range want {
		e, err := r.Lookup(key)
		if err != nil {
			t.Error(err)
			continue
		}
		got, err := json.Marshal(e)
		if err != nil || string(got) != text {
			t.Errorf("%s: got %s, %v; want %s", key, got, err, text)
		}
	}
	if e, err := r.Lookup("loop.maxIterations"); err != nil || e.Key != "loop.max_iterations" {
		t.Errorf("Lookup as in git config: %v, %v", e, err)
	}
	var keys []string
	for _, e := range r.Under("Checks") {
		keys = append(keys, e.Key)
	}
	if !slices.Contains(keys, "checks.t.run") || len(r.Under("check")) > 0 || len(r.Under("checks.t")) != len(keys) {
		t.Errorf("Under checks: %q, under check: %v", keys, r.Under("check"))
	}
	if _, err := r.Lookup("loop.max_iteration"); err == nil || !strings.Contains(err.Error(),
		"did you mean loop.max_iterations?") {
		t.Errorf("Lookup of a misspelt key: %v", err)
	}
}

// TestListRoundTrips writes what the list says into a file and reads it back.
func TestListRoundTrips(t *testing.T) {
	r := mustLoad(t, Sources{Files: file(`
[project]
goal = "quotes \" and \\ and 'these', tab\t, é"
setup = ["printf 'a\nb'", '''multi
line''']
[agent.roles."odd name"]
mcp = ["m.1"]
[[passes]]
name = "odd name"
enabled = true
[mcp."m.1"]
command = ["x"]
env = {"A B" = "c"}
[worktree]
max_file = "1500KB"
`)})
	var text strings.Builder
	for _, e := range r.List() {
		// Elements of a list have no dotted form in TOML.
		if !strings.HasPrefix(e.Key, "passes") && !strings.HasPrefix(e.Key, "steps") && !strings.HasPrefix(e.Key, "checks") {
			text.WriteString(e.Text() + "\n")
		}
	}
	text.WriteString("[[passes]]\nname = \"odd name\"\nenabled = true\n")
	back := mustLoad(t, Sources{Files: file(text.String())})
	sameSettings(t, "read back", r.Settings, back.Settings)
	if back.Hash != r.Hash {
		t.Error("the same settings have another hash")
	}
}

func TestHash(t *testing.T) {
	base := mustLoad(t, Sources{}).Hash
	with := func(src Sources) string { return mustLoad(t, src).Hash }
	tests := []struct {
		why  string
		src  Sources
		same bool
	}{
		{"the place does not matter", Sources{Env: map[string]string{"RALPH_LOOP_MAX_ITERATIONS": "100"}}, true},
		{"nor the spelling", Sources{Files: file("[agent]\ntimeout = \"1200s\"\n")}, true},
		{"a value does", Sources{Files: file("[loop]\nmax_iterations = 99\n")}, false},
		{"a check does", Sources{Files: file("[[checks]]\nname = \"a\"\nrun = \"b\"\n")}, false},
	}
	for _, tt := range tests {
		if got := with(tt.src); (got == base) != tt.same {
			t.Errorf("%s: %s against %s", tt.why, got, base)
		}
	}
	secret := func(v string) string {
		return with(Sources{Files: file("[mcp.a]\nenv = {T = \"${T}\"}\n"), Env: map[string]string{"T": v}})
	}
	if secret("one") != secret("two") {
		t.Error("a renewed secret changes the hash")
	}
	if len(base) != 64 {
		t.Errorf("hash %q", base)
	}
}

func TestTextForms(t *testing.T) {
	for _, tt := range []struct{ in, want, why string }{
		{"20m", "20m", ""}, {"0s", "0s", ""}, {"0", "0s", "zero needs no unit"}, {"60m", "1h", ""}, {"90s", "1m30s", ""},
		{"1d", "24h", "runs take days"}, {"1d12h30m", "36h30m", ""}, {"1.5h", "1h30m", ""}, {"250ms", "250ms", ""},
		{"10h0m5s", "10h0m5s", ""},
	} {
		d, err := ParseDuration(tt.in)
		if got := FormatDuration(d); err != nil || got != tt.want {
			t.Errorf("duration %q = %s, %v; want %s %s", tt.in, got, err, tt.want, tt.why)
		}
	}
	for _, bad := range []string{"", "20", "m", "1x", "-1s", "1d-2h", "d", "-1d", "1dd", "9999999h", "65536d", "0.5d",
		"106751d24h"} {
		if d, err := ParseDuration(bad); err == nil {
			t.Errorf("duration %q = %v", bad, d)
		}
	}
	for _, tt := range []struct {
		in   string
		want Size
		text string
	}{
		{"50MB", 50_000_000, "50MB"}, {"1MiB", 1 << 20, "1MiB"}, {"1m", 1 << 20, "1MiB"}, {"0", 0, "0B"},
		{"1.5 kb", 1500, "1500B"},
		{"1024", 1024, "1KiB"}, {"2GiB", 2 << 30, "2GiB"}, {"7B", 7, "7B"}, {"1tb", 1e12, "1TB"},
		{"9223372036854775807", 1<<63 - 1, "9223372036854775807B"},
	} {
		got, err := ParseSize(tt.in)
		if err != nil || got != tt.want || got.String() != tt.text {
			t.Errorf("size %q = %d (%s), %v; want %d (%s)", tt.in, got, got, err, tt.want, tt.text)
		}
	}
	for _, bad := range []string{"", "MB", "1 XB", "-1", "1.5B", "9223372036854775808", "1e99999999MB", "1/2MB", "0x10",
		"NaN", "Inf", "1e400"} {
		if s, err := ParseSize(bad); err == nil {
			t.Errorf("size %q = %d", bad, s)
		}
	}
	for _, tt := range []struct {
		in   string
		want USD
		text string
	}{{"2", 2_000_000, "2"}, {"0.1", 100_000, "0.1"}, {"$50.00", 50_000_000, "50"}, {"0.000001", 1, "0.000001"},
		{"1e-1", 100_000, "0.1"}, {"1_000", 1_000_000_000, "1000"}} {
		got, err := ParseUSD(tt.in)
		if err != nil || got != tt.want || got.String() != tt.text {
			t.Errorf("amount %q = %d (%s), %v; want %d (%s)", tt.in, got, got, err, tt.want, tt.text)
		}
	}
	for _, bad := range []string{"", "$", "-1", "0.0000001", "1000000001", "two", "1e-50", "1e1000000000"} {
		if u, err := ParseUSD(bad); err == nil {
			t.Errorf("amount %q = %d", bad, u)
		}
	}
	if got := USD(-1_500_000).String(); got != "-1.5" {
		t.Errorf("a negative amount reads %s", got)
	}
	for _, tt := range []struct {
		in   string
		want []string
	}{{`a  b`, []string{"a", "b"}}, {`'a b'c "d\"e" \f "\x"`, []string{"a bc", `d"e`, "f", `\x`}}, {`""`, []string{""}},
		{"", nil}, {`a\`, []string{`a\`}}} {
		got, err := words(tt.in)
		if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
			t.Errorf("words of %q: %v\n%s", tt.in, err, diff)
		}
	}
}
