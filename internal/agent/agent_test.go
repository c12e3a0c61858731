package agent

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ralph/gitstate"
)

func TestNew(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script.toml")
	if err := os.WriteFile(script, []byte("[[play]]\nsteps = [{}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		why, driver string
		opts        Options
		err         string
	}{
		{"the default client", "claude", Options{}, ""},
		{"any program", "command", Options{Command: []string{"sh"}}, ""},
		{"no program", "command", Options{}, "agent.command"},
		{"the embedded demo", "scripted", Options{}, ""},
		{"a script that is not there", "scripted", Options{Script: script + ".gone"}, "read the agent's script"},
		{"a script with a mistake", "scripted", Options{Script: script}, "play 1, steps 1: does nothing"},
		{"another client", "codex", Options{}, ""},
		{"Google's", "gemini", Options{}, ""},
		{"the open one", "opencode", Options{}, ""},
		{"a slip of the pen", "cluade", Options{}, `"cluade" is not one of`},
	}
	for _, r := range rows {
		a, err := New(r.driver, r.opts)
		var hint *gitstate.HintError
		if r.driver == "cluade" && (!errors.As(err, &hint) || hint.Code != 8 || !strings.Contains(hint.Hint, "codex")) {
			t.Errorf("%s: no exit 8 with the drivers that there are: %v", r.why, err)
		}
		if r.err == "" && (err != nil || a == nil) || r.err != "" && (err == nil || !strings.Contains(err.Error(), r.err)) {
			t.Errorf("%s: %v, %v", r.why, a, err)
		}
	}
}

func TestProbe(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "agent.sh"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + filepath.Join(dir, "nothing")}
	rows := []struct {
		why, driver string
		opts        Options
		supported   bool
		problem     string
	}{
		{"a client that is not installed", "claude", Options{}, false, "was not found"},
		{"another one", "codex", Options{}, false, "was not found"},
		{"the open one", "opencode", Options{}, false, "was not found"},
		{"Google's", "gemini", Options{}, false, "was not found"},
		{"a program at the root of the worktree", "command", Options{Command: []string{"agent.sh"}, Dir: dir}, true, ""},
		{"the same by its path", "command", Options{Command: []string{"./agent.sh"}, Dir: dir}, true, ""},
		{"a program that is nowhere", "command", Options{Command: []string{"agnet.sh"}, Dir: dir}, false,
			`"agnet.sh" was not found`},
		{"a folder is no program", "command", Options{Command: []string{"."}, Dir: dir}, false, "was not found"},
		{"nothing configured", "command", Options{}, false, "agent.command is empty"},
		{"the demo needs nothing", "scripted", Options{}, true, ""},
		{"an unknown driver", "gpt", Options{}, false, `"gpt" is not one of`},
	}
	for _, r := range rows {
		info, err := Probe(t.Context(), r.driver, r.opts, env)
		if err != nil || info.Supported != r.supported || !strings.Contains(info.Problem, r.problem) ||
			r.supported == (info.Hint != "") {
			t.Errorf("%s: %+v, %v", r.why, info, err)
		}
	}
}

// Every driver of the list can be made, and each client that is known by name says
// which login it needs.
func TestNames(t *testing.T) {
	for _, name := range Names() {
		if _, err := New(name, Options{Command: []string{"sh"}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if login := LoginOf(name); (len(login.Env) > 0) != !slices.Contains([]string{"acp", "command", "scripted"}, name) {
			t.Errorf("%s: %+v", name, login)
		}
	}
}
