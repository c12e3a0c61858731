package hook

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"git-ralph/fixtures/figures"
	"git-ralph/guard"
)

// policyFile writes the policy of a building run whose worktree is dir.
func policyFile(t testing.TB, dir string) string {
	t.Helper()
	data, err := guard.New(dir, "/home/user").ForPhase("building").Marshal()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), PolicyFile)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func bashEvent(command string) string {
	return `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"` + command +
		`"},"cwd":"/srv/app"}`
}

// TestHookFailsClosed: a client runs a tool unless its hook ends with status 2.
func TestHookFailsClosed(t *testing.T) {
	good := policyFile(t, "/srv/app")
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`{"worktree":"/srv/app","surprise":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why, policy string
		args        []string
		event       string
		exit        int
		says        string // on standard error
	}{
		{"a reading command", good, []string{"claude"}, bashEvent("git status"), 0, ""},
		{"a commit", good, []string{"claude"}, bashEvent("git commit -m x"), 2, "blocked (git-write)"},
		{"the same for another client", good, []string{"codex"}, bashEvent("git commit -m x"), 2, "blocked (git-write)"},
		{"no policy at all", "", []string{"claude"}, bashEvent("git status"), 2, PolicyVar},
		{"a policy that is gone", good + ".gone", []string{"claude"}, bashEvent("git status"), 2, "read the policy"},
		{"a policy of a newer version", broken, []string{"claude"}, bashEvent("git status"), 2, "surprise"},
		{"a folder in place of the policy", t.TempDir(), []string{"claude"}, bashEvent("git status"), 2, "read the policy"},
		{"an unknown client", good, []string{"emacs"}, bashEvent("git status"), 2, "unknown client"},
		{"no client", good, nil, "", 2, "no client"},
		{"no event", good, []string{"claude"}, "", 2, "not JSON"},
		{"half an event", good, []string{"claude"}, `{"hook_event_name":"PreToolUse"`, 2, "not JSON"},
		{"more than a hook reads", good, []string{"claude"}, bashEvent(strings.Repeat("x", maxHookEvent)), 2, "not JSON"},
		{"a shim of nothing", good, []string{"shim"}, "", 2, "no program"},
		{"a shim without a policy", "", []string{"shim", "git", "status"}, "", 2, PolicyVar},
	} {
		var out, errs bytes.Buffer
		env := []string{"PATH=/nowhere"}
		if c.policy != "" {
			env = append(env, PolicyVar+"="+c.policy)
		}
		exit := answer(append([]string{"git-ralph", "hook"}, c.args...), env, strings.NewReader(c.event), &out, &errs)
		if exit != c.exit || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%s: exit %d, %q; expected %d and %q", c.why, exit, errs.String(), c.exit, c.says)
		}
		if exit == 2 && len(c.args) > 0 && c.args[0] == "claude" && !strings.Contains(out.String(), `"deny"`) {
			t.Errorf("%s: the refusal is not said as JSON: %q", c.why, out.String())
		}
	}
	// Standard input that ends too early.
	var out, errs bytes.Buffer
	in := iotest.TimeoutReader(strings.NewReader(bashEvent("git status")))
	if exit := answer([]string{"git-ralph", "hook", "claude"}, []string{PolicyVar + "=" + good},
		iotest.OneByteReader(in), &out, &errs); exit != 2 {
		t.Errorf("an event that breaks off: exit %d", exit)
	}
}

// TestPolicyOfTheRunComesFirst: an agent can set a variable but cannot write to the
// run's folder.
func TestPolicyOfTheRunComesFirst(t *testing.T) {
	lax := guard.New("/elsewhere", "")
	lax.Allow = []string{"git commit *"}
	data, err := lax.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	forged := filepath.Join(t.TempDir(), "forged.json")
	if err := os.WriteFile(forged, data, 0o600); err != nil {
		t.Fatal(err)
	}
	run := filepath.Dir(policyFile(t, "/srv/app"))
	self := filepath.Join(run, "bin", "git-ralph")
	p, err := readPolicy(runFolder(self), []string{PolicyVar + "=" + forged})
	if err != nil || p.Worktree != "/srv/app" {
		t.Errorf("got %+v, %v", p, err)
	}
	if p, err = readPolicy(runFolder("/nowhere/bin/git-ralph"), []string{PolicyVar + "=" + forged}); err != nil ||
		p.Worktree != "/elsewhere" {
		t.Errorf("outside a folder of a run the variable counts: %+v, %v", p, err)
	}
}

func TestChangedGitEnv(t *testing.T) {
	ours := []string{"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=credential.helper", "GIT_CONFIG_VALUE_0=",
		"GIT_CONFIG_KEY_1=credential.helper", "GIT_CONFIG_VALUE_1="}
	if got := changedGitEnv(append(slices.Clone(ours), "GIT_SSL_CAINFO=/etc/ca", "A=b")); !slices.Equal(got,
		[]string{"A=b"}) {
		t.Errorf("the harness's own settings are judged: %q", got)
	}
	for why, change := range map[string]string{
		"another key":    "GIT_CONFIG_KEY_1=core.fsmonitor",
		"another helper": "GIT_CONFIG_VALUE_0=!sh -c x",
		"one more":       "GIT_CONFIG_COUNT=3",
		"many more":      "GIT_CONFIG_COUNT=100000",
	} {
		env := append(slices.Clone(ours), change)
		if got := changedGitEnv(env); len(got) != len(env) {
			t.Errorf("%s: left out, and so not judged: %q", why, got)
		}
	}
}

// BenchmarkHook measures one decision as a process and compares it by turns with an
// empty Go program. The ratio must stay within 3.
func BenchmarkHook(b *testing.B) {
	dir := b.TempDir()
	empty := filepath.Join(dir, "empty.go")
	if err := os.WriteFile(empty, []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	build := func(out string, args ...string) string {
		c := exec.Command("go", append([]string{"build", "-trimpath", "-ldflags", "-s -w", "-o", out}, args...)...)
		c.Env = append(os.Environ(), "CGO_ENABLED=0") // as releases are built
		if msg, err := c.CombinedOutput(); err != nil {
			b.Fatalf("go build: %v\n%s", err, msg)
		}
		return out
	}
	base := build(filepath.Join(dir, "empty"), empty)
	self := build(filepath.Join(dir, "git-ralph"), "git-ralph")
	env := []string{PolicyVar + "=" + policyFile(b, "/srv/app")}
	once := func(path string, args ...string) time.Duration {
		c := exec.Command(path, args...)
		c.Env, c.Stdin = env, strings.NewReader(bashEvent("git status"))
		began := time.Now()
		if out, err := c.CombinedOutput(); err != nil {
			b.Fatalf("%s: %v\n%s", path, err, out)
		}
		return time.Since(began)
	}
	for range 5 {
		once(base)
		once(self, "hook", "claude")
	}
	var floor, ours []time.Duration
	for b.Loop() {
		floor = append(floor, once(base))
		ours = append(ours, once(self, "hook", "claude"))
	}
	median := func(d []time.Duration) time.Duration { slices.Sort(d); return d[len(d)/2] }
	f, o := median(floor), median(ours)
	figures.Put(b, figures.Figure{What: "one decision of the guard as a process", Value: float64(o.Microseconds()) / 1000,
		Unit: "ms", Base: float64(f.Microseconds()) / 1000, Against: "an empty Go program", Most: 3})
	b.ReportMetric(float64(o)/float64(f), "×empty")
	b.ReportMetric(float64(o.Microseconds()), "µs/hook")
	b.ReportMetric(float64(f.Microseconds()), "µs/empty")
}
