package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/internal/agent/fakemodel"
)

// codexProject is a project whose agent is the real Codex, with a scripted model
// on loopback.
func codexProject(t *testing.T, script fakemodel.Script, settings string) (*project, *fakemodel.Server) {
	t.Helper()
	client := os.Getenv("RALPH_TEST_CODEX")
	if client == "" {
		t.Skip("no Codex: npm ci --prefix fixtures/clients --ignore-scripts, then " +
			"RALPH_TEST_CODEX=…/codex-linux-x64/vendor/…/bin/codex")
	}
	model := fakemodel.Start(t, script)
	p := newProject(t, "exit 1\n", check, nil)
	p.Write("ralph.toml",
		"[agent]\ndriver = \"codex\"\nmodel = \"gpt-5.5\"\ntimeout = \"9m\"\nidle_timeout = \"5m\"\n"+settings+check)
	p.Git("commit", "-qam", "the agent is Codex")
	p.must(t, "trust")
	if err := os.Symlink(client, filepath.Join(p.bin, "codex")); err != nil {
		t.Fatal(err)
	}
	for i, kv := range p.Env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			p.Env[i] = "PATH=" + p.bin + ":" + path
		}
	}
	p.Env = append(p.Env, "OPENAI_BASE_URL="+model.URL+"/v1")
	return p, model
}

// realClient is how a scripted model works through one of the real clients.
type realClient struct {
	project              func(*testing.T, fakemodel.Script, string) (*project, *fakemodel.Server)
	shell, complete, key string
	env                  []string
}

var realClients = map[string]realClient{
	"claude": {claudeProject, "Bash", "mcp__ralph__ralph_mark_task_complete", "command", nil},
	"codex":  {codexProject, "exec_command", "ralph_mark_task_complete", "cmd", []string{"OPENAI_API_KEY=test-key"}},
}

// lie is a model that runs a command and then claims that all is well.
func (c realClient) lie(command string) fakemodel.Script {
	return fakemodel.Script{
		{Text: "I fix it.", Tools: []fakemodel.Tool{call(c.shell,
			map[string]any{c.key: command, "description": "fix it"})}},
		{Tools: []fakemodel.Tool{call(c.complete,
			map[string]any{"task_id": "T-001", "verification_notes": "all tests pass"})}},
		{Text: "All tests pass. The task is complete."},
	}
}

// TestRealClientsThatLie: a model breaks the code, deletes the test or makes it
// always pass, and claims each time that all tests pass. The run never ends as
// complete. Each attempt is undone, and its evidence has what it did and said.
func TestRealClientsThatLie(t *testing.T) {
	t.Parallel()
	for name, c := range realClients {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var script fakemodel.Script
			for _, command := range []string{"echo x > broken", "echo x > broken; rm test.sh",
				"echo x > broken; echo true > test.sh"} {
				script = append(script, c.lie(command)...)
			}
			p, _ := c.project(t, script, "")
			p.Env = append(p.Env, c.env...)
			before := p.Git("rev-parse", "HEAD")
			p.must(t, "add", "say hello")
			r := p.run(t, nil, "start")
			if r.code != 3 && r.code != 5 || strings.Contains(r.out, "\ncomplete\n") {
				t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
			}
			if p.Git("rev-parse", "HEAD") != before || p.Git("status", "--porcelain") != "" ||
				p.Read("test.sh") != "test ! -e broken\n" {
				t.Errorf("the attempts were not taken back: %s", p.Git("status", "--porcelain"))
			}
			for i, want := range []string{"checks: test", "test_weakened", "test_weakened"} {
				n := string(rune('1' + i))
				var shown struct {
					Verdict, Reason, Outcome string
					Evidence                 string
					Files                    []struct{ Path string }
				}
				if err := json.Unmarshal([]byte(p.must(t, "show", n, "--json")), &shown); err != nil {
					t.Fatal(err)
				}
				if shown.Verdict != "reject" || shown.Outcome != "completed" || !strings.Contains(shown.Reason, want) {
					t.Errorf("iteration %s: %+v, want %s", n, shown, want)
				}
				if said := p.must(t, "show", n, "--transcript"); !strings.Contains(said, "All tests pass") {
					t.Errorf("iteration %s: the transcript does not hold the lie", n)
				}
				if got := p.Git("show", shown.Evidence+":worktree/broken"); got != "x" {
					t.Errorf("iteration %s: the evidence holds %q", n, got)
				}
			}
			if got := p.must(t, "status", "--json"); strings.Contains(got, `"status": "complete"`) {
				t.Error(got)
			}
			p.sound(t)
		})
	}
}

// TestRetryGoesOnInItsSession: with agent.resume_session a retry continues the
// session of the rejected attempt and pays only for what it adds. Without the
// setting, or if that session was 60 % full, it starts a new one.
func TestRetryGoesOnInItsSession(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		client   realClient
		settings string
		in       int
		resumed  bool
	}{
		"claude":              {realClients["claude"], "resume_session = true\n", 1000, true},
		"claude, but full":    {realClients["claude"], "resume_session = true\n", 130_000, false},
		"claude, but not set": {realClients["claude"], "", 1000, false},
		"codex":               {realClients["codex"], "resume_session = true\n", 1000, true},
		"codex, but not set":  {realClients["codex"], "", 1000, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sum := int64(2000 + c.in)
			var script fakemodel.Script
			for _, command := range []string{"echo x > broken", "ls broken || echo hello > hello.txt"} {
				steps := c.client.lie(command)
				for i, in := range []int{1000, 1000, c.in} {
					steps[i].Usage = &fakemodel.Usage{In: in, Out: 50}
				}
				script = append(script, steps...)
			}
			p, model := c.client.project(t, script, c.settings)
			p.Env = append(p.Env, c.client.env...)
			p.must(t, "add", "say hello")
			r := p.run(t, nil, "start")
			if r.code != 0 {
				t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
			}
			var shown [2]struct {
				Tokens map[string]int64
				Cost   float64 `json:"cost_usd"`
				Agents []struct {
					Session string `json:"session_id"`
				}
			}
			for i := range shown {
				if err := json.Unmarshal([]byte(p.must(t, "show", string(rune('1'+i)), "--json")), &shown[i]); err != nil {
					t.Fatal(err)
				}
			}
			turns := model.Turns()
			if len(turns) != 6 {
				t.Fatalf("%d turns\n%s%s", len(turns), r.out, r.err)
			}
			if got := strings.Contains(string(turns[3].Body), "I fix it."); got != c.resumed {
				t.Errorf("the model sees the attempt before: %v", got)
			}
			if got := strings.Contains(string(turns[3].Body), "its changes were taken back"); got != c.resumed {
				t.Errorf("the model is told that its changes are gone: %v", got)
			}
			if got := shown[0].Agents[0].Session == shown[1].Agents[0].Session; got != c.resumed {
				t.Errorf("the sessions are the same: %v", got)
			}
			if shown[1].Tokens["input"] != sum || shown[1].Cost > shown[0].Cost*1.01 {
				t.Errorf("the retry counts what the first attempt used: %+v", shown)
			}
			p.sound(t)
		})
	}
}
