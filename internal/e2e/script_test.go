package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/testscript"

	"git-ralph/fixtures/long"
	"git-ralph/fixtures/repo"
	"git-ralph/guard/sandbox"
)

// schemas and samples (work lists of other tools) are absolute: scripts run elsewhere.
var (
	schemas, _ = filepath.Abs("../../doc/schema")
	samples, _ = filepath.Abs("../../fixtures/coming-from")
)

// TestScripts runs testdata/script: one promise a file, in real repositories.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:   "testdata/script",
		Setup: setUpScript,
		Condition: func(name string) (bool, error) {
			switch name {
			case "sandbox":
				return hasNamespaces(), nil
			case "long":
				return long.On(), nil
			}
			return false, fmt.Errorf("there is no condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"repository": repository,
			"json":       compareJSON,
			"schema":     fitsSchema,
			"remember":   remember,
			"unchanged":  unchanged,
		},
	})
}

// hasNamespaces says whether a script may ask for the kernel sandbox here.
var hasNamespaces = sync.OnceValue(func() bool {
	report, err := sandbox.Probe(context.Background(),
		sandbox.Spec{Worktree: os.TempDir(), Network: sandbox.NetworkOpen})
	return err == nil && report.Mechanism == sandbox.Namespaces
})

// setUpScript gives a script its own home folder and git identity. The kernel
// sandbox has its own tests; here it would only make scripts depend on the
// machine. All scripts share one Go build cache.
func setUpScript(env *testscript.Env) error {
	if cache, err := os.UserCacheDir(); err == nil {
		env.Setenv("GOCACHE", cmp.Or(os.Getenv("GOCACHE"), filepath.Join(cache, "go-build")))
	}
	home := filepath.Join(env.WorkDir, ".home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	for name, value := range map[string]string{
		"HOME": home, "XDG_CACHE_HOME": filepath.Join(home, "cache"), "XDG_RUNTIME_DIR": "", "GIT_CONFIG_NOSYSTEM": "1",
		"SAMPLES": samples, "EDITOR": "false", "PAGER": "cat", "TZ": "UTC", "NO_COLOR": "1", "RALPH_GUARD_SANDBOX": "off",
	} {
		env.Setenv(name, value)
	}
	return os.WriteFile(filepath.Join(home, ".gitconfig"),
		[]byte("[user]\n\tname = Pat\n\temail = pat@example.com\n[init]\n\tdefaultBranch = main\n"), 0o600)
}

// repository makes the present folder a repository with all its files in one
// commit.
func repository(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: repository")
	}
	ts.Check(os.WriteFile(ts.MkAbs(".gitignore"), []byte(".home\n.tmp\n"), 0o666))
	ts.Check(repo.Init(ts.MkAbs(".")))
	ts.Check(ts.Exec("git", "add", "-A"))
	ts.Check(ts.Exec("git", "-c", "maintenance.auto=false", "commit", "-qm", "begin"))
}

// fitsSchema checks every JSON value of standard output or standard error
// against a schema of doc/schema. Unknown keys fail. Usage: schema status,
// schema error stderr.
func fitsSchema(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: schema NAME [stderr]")
	}
	data, err := os.ReadFile(filepath.Join(schemas, args[0]+".json"))
	ts.Check(err)
	var s jsonschema.Schema
	ts.Check(json.Unmarshal(data, &s))
	closeSchema(&s)
	resolved, err := s.Resolve(nil)
	ts.Check(err)
	text := ts.ReadFile(append(args, "stdout")[1])
	dec := json.NewDecoder(strings.NewReader(text))
	n := 0
	for ; dec.More(); n++ {
		var value any
		ts.Check(dec.Decode(&value))
		if err := resolved.Validate(value); err != nil {
			ts.Fatalf("it is not as doc/schema/%s.json says: %v\n%s", args[0], err, text)
		}
	}
	if n == 0 {
		ts.Fatalf("there is no JSON")
	}
}

// closeSchema allows no keys that a schema does not name.
func closeSchema(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Properties) > 0 && s.AdditionalProperties == nil {
		s.AdditionalProperties = &jsonschema.Schema{Not: &jsonschema.Schema{}}
	}
	closeSchema(s.Items)
	for _, p := range s.Properties {
		closeSchema(p)
	}
}

// compareJSON looks at one value in the JSON of standard output, or of one of
// its lines (json 2 task T-001): `json tasks.total 3`. "keys" instead of a
// value compares the names of an object, in any order.
func compareJSON(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile("stdout")
	if len(args) >= 3 {
		if n, err := strconv.Atoi(args[0]); err == nil {
			lines := strings.Split(text, "\n")
			if n < 1 || n > len(lines) {
				ts.Fatalf("there is no line %d in %q", n, text)
			}
			text, args = lines[n-1], args[1:]
		}
	}
	if len(args) < 2 {
		ts.Fatalf("usage: json [LINE] PATH VALUE, or json PATH keys NAME...")
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var value any
	if err := dec.Decode(&value); err != nil {
		ts.Fatalf("standard output is no JSON: %v\n%s", err, text)
	}
	for _, part := range strings.Split(args[0], ".") {
		if part == "" {
			continue
		}
		value = member(ts, value, part)
	}
	got := fmt.Sprint(value)
	want := args[1]
	if args[1] == "keys" {
		object, ok := value.(map[string]any)
		if !ok {
			ts.Fatalf("%s is no object: %v", args[0], value)
		}
		got, want = strings.Join(slices.Sorted(maps.Keys(object)), " "),
			strings.Join(slices.Sorted(slices.Values(args[2:])), " ")
	} else if _, list := value.([]any); list {
		data, err := json.Marshal(value)
		ts.Check(err)
		got = string(data)
	} else if value == nil {
		got = "null"
	}
	if (got == want) == neg {
		ts.Fatalf("%s is %q; want %q (negated: %v)", args[0], got, want, neg)
	}
}

func member(ts *testscript.TestScript, value any, part string) any {
	switch v := value.(type) {
	case map[string]any:
		inner, ok := v[part]
		if !ok {
			ts.Fatalf("there is no %q among %v", part, slices.Sorted(maps.Keys(v)))
		}
		return inner
	case []any:
		if part == "len" {
			return len(v)
		}
		i, err := strconv.Atoi(part)
		if err != nil || i < 0 || i >= len(v) {
			ts.Fatalf("there is no %q in a list of %d", part, len(v))
		}
		return v[i]
	}
	ts.Fatalf("%v has no %q", value, part)
	return nil
}

// remember notes all that a person owns: refs (our own too), HEAD, index
// entries, stash, config and files.
func remember(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: remember")
	}
	ts.Check(os.WriteFile(ts.MkAbs(".home/remembered"), []byte(scriptPossessions(ts)), 0o600))
}

// unchanged compares all of that with what was remembered.
func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: unchanged")
	}
	if before, now := ts.ReadFile(".home/remembered"), scriptPossessions(ts); before != now {
		ts.Fatalf("something was changed:\nbefore\n%s\nnow\n%s", before, now)
	}
}

func scriptPossessions(ts *testscript.TestScript) string {
	var b strings.Builder
	for _, args := range [][]string{{"for-each-ref"}, {"symbolic-ref", "-q", "HEAD"}, {"ls-files", "-s"},
		{"stash", "list"},
		{"config", "--local", "--list"}, {"status", "--porcelain", "--ignored", "--", ".", ":!.tmp", ":!.home"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = ts.MkAbs("."), append(os.Environ(), "HOME="+ts.Getenv("HOME"))
		out, err := cmd.CombinedOutput()
		fmt.Fprintf(&b, "git %s: %v\n%s\n", strings.Join(args, " "), err, out)
	}
	return b.String()
}
