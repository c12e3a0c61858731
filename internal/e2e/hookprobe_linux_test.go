package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
	"git-ralph/guard"
	"git-ralph/guard/hook"
	"git-ralph/internal/agent/claude"
	"git-ralph/internal/agent/fakemodel"
	"git-ralph/loop/session"
)

// TestPlayClient is not a test: it makes this program a client.
func TestPlayClient(t *testing.T) {
	t.Parallel()
	if mode := os.Getenv("BE_CLIENT"); mode != "" {
		os.Exit(beClient(mode))
	}
}

// beClient plays a client that makes the calls of its model. The mode says how
// it treats the hook, well or badly.
func beClient(mode string) int {
	at := slices.Index(os.Args, "--settings")
	var settings struct {
		Hooks map[string][]struct{ Hooks []struct{ Command string } }
	}
	if err := json.Unmarshal([]byte(os.Args[at+1]), &settings); err != nil || len(settings.Hooks["PreToolUse"]) != 1 {
		fmt.Fprintln(os.Stderr, "settings:", err)
		return 1
	}
	if got := os.Getenv("ANTHROPIC_API_KEY") + os.Getenv("CLAUDE_CODE_OAUTH_TOKEN"); got != "canary" {
		fmt.Fprintln(os.Stderr, "the canary has the user's credentials:", got)
		return 1
	}
	if mode == "dumb" {
		fmt.Fprintln(os.Stderr, "Not logged in")
		return 1
	}
	hook := func(event string) (refused bool, says string) {
		c := exec.Command("sh", "-c", settings.Hooks["PreToolUse"][0].Hooks[0].Command)
		if mode == "wrong path" {
			c = exec.Command("sh", "-c", strings.Replace(settings.Hooks["PreToolUse"][0].Hooks[0].Command,
				"/bin/git-ralph", "/bin/gone", 1))
		}
		c.Env = append(os.Environ(), "BE_GIT_RALPH=1")
		if mode == "no policy" {
			c.Env = append(c.Env, hook.PolicyVar+"=/nowhere")
			os.Remove(filepath.Join(os.Getenv("PWD"), "..", hook.PolicyFile))
		}
		c.Stdin = strings.NewReader(`{"hook_event_name":"` + event +
			`","tool_name":"Bash","tool_input":{"command":"x"},"cwd":"/"}`)
		var errs bytes.Buffer
		c.Stderr = &errs
		c.Run()
		return c.ProcessState.ExitCode() == 2, errs.String()
	}
	var history []any
	for range 2 {
		body, err := json.Marshal(map[string]any{"model": "m", "tools": []any{map[string]any{"name": "Bash"}},
			"messages": history})
		if err != nil {
			return 1
		}
		resp, err := http.Post(os.Getenv("ANTHROPIC_BASE_URL")+"/v1/messages?beta=true", "application/json",
			bytes.NewReader(body))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		var answer struct {
			Content []struct {
				Type, ID string
				Input    struct{ Command string }
			}
		}
		if json.Unmarshal(data, &answer) != nil || err != nil || len(answer.Content) == 0 {
			fmt.Fprintf(os.Stderr, "answer: %s %v\n", data, err)
			return 1
		}
		call := answer.Content[0]
		if call.Type != "tool_use" {
			return 0
		}
		refused, says := false, ""
		switch mode {
		case "no hook":
		case "another event":
			hook("SessionStart")
		default:
			refused, says = hook("PreToolUse")
		}
		if !refused || mode == "runs it anyway" {
			exec.Command("sh", "-c", call.Input.Command).Run()
			says = "ok"
		}
		if mode == "keeps it to itself" {
			says = "something went wrong"
		}
		history = []any{map[string]any{"role": "user", "content": "text"},
			map[string]any{"role": "user", "content": []any{map[string]any{"type": "tool_result",
				"tool_use_id": call.ID, "content": says}}}}
	}
	return 0
}

// clientThat is a program that starts something else as the client.
func clientThat(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// probeHook lets the program probe a client.
func probeHook(t *testing.T, client string) result {
	t.Helper()
	c := exec.Command(self(t), "hook", "canary", "claude", client)
	tmp := t.TempDir()
	c.Env = []string{"BE_GIT_RALPH=1", "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "TMPDIR=" + tmp,
		"SHELL=/bin/sh",
		"ANTHROPIC_API_KEY=the-key", "CLAUDE_CODE_OAUTH_TOKEN=the-token", "ANTHROPIC_BASE_URL=http://127.0.0.1:1"}
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	c.Run()
	left, err := filepath.Glob(filepath.Join(tmp, "git-ralph-canary-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	return result{code: c.ProcessState.ExitCode(), out: out.String(), err: errs.String()}
}

// TestHookProbe: a client that does not ask the hook, or ignores it, is noticed
// before it gets work.
func TestHookProbe(t *testing.T) {
	t.Parallel()
	for _, r := range long.Sample(t, []struct {
		mode string
		code int
		says string
	}{
		{"good", 0, "asks the hook before its tools and obeys it"},
		{"no hook", 8, "ran a tool call that its hook should have refused"},
		{"another event", 8, "ran a tool call"},
		{"runs it anyway", 8, "ran a tool call"},
		{"keeps it to itself", 8, "does not say that it was refused"},
		{"wrong path", 8, "without asking the hook"},
		{"no policy", 8, "without asking the hook"},
		{"dumb", 8, "did not make the tool call: Not logged in"},
	}, 4) {
		t.Run(r.mode, func(t *testing.T) {
			t.Parallel()
			got := probeHook(t, clientThat(t, "unset BE_GIT_RALPH\nBE_CLIENT='"+r.mode+"' exec '"+self(t)+
				"' -test.run '^TestPlayClient$' -- \"$@\"\n"))
			if got.code != r.code || !strings.Contains(got.out+got.err, r.says) {
				t.Errorf("exit %d, expected %d and %q\n%s%s", got.code, r.code, r.says, got.out, got.err)
			}
			if r.code == 8 && !strings.Contains(got.err, "hint: ") {
				t.Errorf("no way out is named:\n%s", got.err)
			}
		})
	}
	got := probeHook(t, filepath.Join(t.TempDir(), "none"))
	if got.code != 8 || !strings.Contains(got.err, "was not found") {
		t.Errorf("no client: exit %d\n%s", got.code, got.err)
	}
}

func realClaude(t *testing.T) string {
	t.Helper()
	client := os.Getenv("RALPH_TEST_CLAUDE")
	if client == "" {
		t.Skip("no Claude Code: npm ci --prefix fixtures/clients --ignore-scripts, then " +
			"RALPH_TEST_CLAUDE=…/claude-code-linux-x64/claude")
	}
	return client
}

// TestHookProbeOfClaude: the same with the real client, unchanged and made to
// skip the hook.
func TestHookProbeOfClaude(t *testing.T) {
	t.Parallel()
	client := realClaude(t)
	for _, r := range []struct {
		why, script string
		code        int
		says        string
	}{
		{"as it is", `exec '` + client + `' "$@"`, 0, "obeys it"},
		{"hooks switched off", `exec '` + client + `' --bare "$@"`, 8, "ran a tool call"},
		{"hooks of a wrong shape are dropped without a word",
			`for a; do shift; case $a in '{"hooks"'*) a='{"hooks":{"PreToolUse":"nope"}}';; esac; set -- "$@" "$a"; done; ` +
				`exec '` + client + `' "$@"`, 8, "ran a tool call"},
		{"a hook that is gone blocks, and proves nothing",
			`for a; do shift; a=$(printf %s "$a" | sed 's#/bin/git-ralph#/bin/gone#'); set -- "$@" "$a"; done; exec '` +
				client + `' "$@"`, 8, "without asking the hook"},
		{"another hook answers in its place",
			`for a; do shift; case $a in '{"hooks"'*) ` +
				`a='{"hooks":{"PreToolUse":[{"matcher":"*","hooks":[{"type":"command","command":"echo no >&2; exit 2"}]}]}}';; ` +
				`esac; set -- "$@" "$a"; done; exec '` + client + `' "$@"`, 8, "without asking the hook"},
	} {
		t.Run(r.why, func(t *testing.T) {
			t.Parallel()
			got := probeHook(t, clientThat(t, r.script+"\n"))
			if got.code != r.code || !strings.Contains(got.out+got.err, r.says) {
				t.Errorf("exit %d, expected %d and %q\n%s%s", got.code, r.code, r.says, got.out, got.err)
			}
		})
	}
}

// TestClaudeWithSettingsHooks: the settings of the real client make it call
// `git ralph hook claude`. The model tries what an agent may not do.
func TestClaudeWithSettingsHooks(t *testing.T) {
	t.Parallel()
	client := realClaude(t)
	bash := func(line string) fakemodel.Step {
		return fakemodel.Step{Tools: []fakemodel.Tool{call("Bash", map[string]any{"command": line, "description": "x"})}}
	}
	for _, r := range []struct {
		why   string
		spoil func(run string) error
		says  []string // the results of the calls, in order
		wrote bool
	}{
		{"the policy of the run", nil, []string{"blocked (git-write)", "blocked (gitdir-files)", "On branch main"}, true},
		{"the program is gone", func(run string) error { return os.Remove(filepath.Join(run, "bin", "git-ralph")) },
			[]string{"hook error", "hook error", "hook error"}, false},
		{"the policy is gone", func(run string) error { return os.Remove(filepath.Join(run, hook.PolicyFile)) },
			[]string{"the hook has no policy", "the hook has no policy", "the hook has no policy"}, false},
		{"the policy is broken", func(run string) error {
			return os.WriteFile(filepath.Join(run, hook.PolicyFile), []byte("{\"wor"), 0o600)
		}, []string{"blocked (input)", "blocked (input)", "blocked (input)"}, false},
	} {
		t.Run(r.why, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "exit 1\n", "", nil)
			before := p.Git("for-each-ref") + p.Git("status", "--porcelain")
			model := fakemodel.Start(t, fakemodel.Script{
				bash("git commit --allow-empty -m mine"),
				{Tools: []fakemodel.Tool{call("Write", map[string]any{"file_path": filepath.Join(p.Dir,
					".git/hooks/pre-commit"), "content": "#!/bin/sh\n"})}},
				bash("git status && echo hello >\"$HOME/../wrote\""),
				{Text: "Done."},
			})
			policy := guard.New(p.Dir, outside(p, "home")).ForPhase("building")
			policy.Writable = []string{filepath.Dir(p.Dir)}
			data, err := policy.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			run := t.TempDir()
			if err := os.Mkdir(filepath.Join(run, "bin"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(run, hook.PolicyFile), data, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := session.InstallSelf(self(t), filepath.Join(run, "bin")); err != nil {
				t.Fatal(err)
			}
			if r.spoil != nil {
				if err := r.spoil(run); err != nil {
					t.Fatal(err)
				}
			}
			settings, err := claude.HookSettings([]string{filepath.Join(run, "bin", "git-ralph"), "hook", "claude"})
			if err != nil {
				t.Fatal(err)
			}
			c := exec.Command(client, "-p", "--output-format", "stream-json", "--verbose", "--setting-sources", "",
				"--strict-mcp-config",
				"--settings", settings, "--permission-mode", "bypassPermissions", "--tools", "Bash,Write", "--model",
				"claude-sonnet-4-5")
			c.Dir, c.Stdin = p.Dir, strings.NewReader("Work.\n")
			c.Env = append(append([]string{}, p.Env...), "ANTHROPIC_API_KEY=test-key", "ANTHROPIC_BASE_URL="+model.URL,
				"SHELL=/bin/sh", "IS_SANDBOX=1",
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1", "DISABLE_AUTOUPDATER=1",
				"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1")
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var results []string
			for line := range strings.Lines(string(out)) {
				var l struct {
					Type    string
					Message struct{ Content json.RawMessage }
				}
				if json.Unmarshal([]byte(line), &l) == nil && l.Type == "user" &&
					bytes.Contains(l.Message.Content, []byte("tool_result")) {
					results = append(results, string(l.Message.Content))
				}
			}
			if len(results) != len(r.says) {
				t.Fatalf("%d results\n%s", len(results), out)
			}
			for i, want := range r.says {
				if !strings.Contains(results[i], want) {
					t.Errorf("call %d: %s\nexpected %q", i+1, results[i], want)
				}
			}
			if after := p.Git("for-each-ref") + p.Git("status", "--porcelain"); after != before ||
				exists(filepath.Join(p.Dir, ".git/hooks/pre-commit")) {
				t.Errorf("the repository changed\n%s", after)
			}
			if got := exists(outside(p, "wrote")); got != r.wrote {
				t.Errorf("the last call ran: %v\n%s", got, results[2])
			}
		})
	}
}

// TestHostileClaude: the model of the real client tries to commit in several
// ways, writes a git hook with the client's own tool and leaves a process that
// would write later. None of it has an effect.
func TestHostileClaude(t *testing.T) {
	t.Parallel()
	realClaude(t)
	for _, off := range []bool{false, true} {
		name, env := "sandbox", []string(nil)
		if off {
			name, env = "off", []string{"RALPH_GUARD_SANDBOX=off"}
		}
		t.Run(name, func(t *testing.T) {
			bash := func(line string) fakemodel.Step {
				return fakemodel.Step{Tools: []fakemodel.Tool{call("Bash", map[string]any{"command": line, "description": "x"})}}
			}
			script := fakemodel.Script{
				bash("git add -A && git commit -m mine"),
				{Tools: []fakemodel.Tool{call("Write", map[string]any{"file_path": "HOOK", "content": "#!/bin/sh\ntouch ran\n"})}},
				bash("printf '#!/bin/sh\\ngit commit --allow-empty -qm scripted\\n' > w.sh; sh w.sh; rm w.sh"),
				// The client ends what its shell started, unless it is in a session of its own by then.
				bash("(setsid sh -c 'while :; do echo late > late.txt; echo late > \"$HOME/../late\"; sleep 0.2; done' " +
					">/dev/null 2>&1 &) ; while [ ! -e late.txt ]; do sleep 0.05; done; echo started; echo hello > hello.txt"),
				{Tools: []fakemodel.Tool{call("mcp__ralph__ralph_mark_task_complete",
					map[string]any{"task_id": "T-001", "verification_notes": "the file is there"})}},
				{Tools: []fakemodel.Tool{call("mcp__ralph__ralph_submit_handoff", handoffOf("T-001"))}},
				{Text: "Done."},
			}
			p, model := claudeProject(t, nil, "[validation]\nbaseline = \"off\"\nfresh = \"never\"\n")
			hook := filepath.Join(p.Dir, ".git", "hooks", "pre-commit")
			script[1].Tools[0].Input = json.RawMessage(strings.Replace(string(script[1].Tools[0].Input), "HOOK", hook, 1))
			model.Close()
			again := fakemodel.Start(t, script)
			p.Env = append(p.Env, "ANTHROPIC_BASE_URL="+again.URL)
			p.must(t, "add", "say hello")
			r := p.run(t, env, "start", "-v")
			if r.code != 0 {
				t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
			}
			for _, want := range []string{"blocked (git-write)", "blocked (gitdir-files)"} {
				if !strings.Contains(r.out, want) {
					t.Errorf("nobody said %q:\n%s", want, r.out)
				}
			}
			if got := p.Git("log", "--format=%s"); strings.Contains(got, "mine") || strings.Contains(got, "scripted") ||
				!strings.HasPrefix(got, "ralph[1]: T-001") {
				t.Errorf("the log says\n%s", got)
			}
			if exists(hook) || exists(filepath.Join(p.Dir, "ran")) {
				t.Error("there is a hook")
			}
			// What the process wrote during the iteration is part of it. Now it must
			// write no more.
			for _, path := range []string{filepath.Join(p.Dir, "late.txt"), outside(p, "late")} {
				if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
			}
			if left := runningIn(t, p.Dir); len(left) > 0 {
				t.Errorf("still there: %v", left)
			}
			p.Git("checkout", "-q", "--", ".")
			p.sound(t)
		})
	}
}

// runningIn are the processes of this machine that work in a folder.
func runningIn(t *testing.T, dir string) (found []string) {
	t.Helper()
	list, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range list {
		if to, err := os.Readlink(link); err == nil && (to == dir || strings.HasPrefix(to, dir+"/")) {
			line, err := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
			if err == nil {
				found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
			}
		}
	}
	return found
}
