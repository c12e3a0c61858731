package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/fakemodel"
)

// planClient is what differs between the real clients in a whole run.
type planClient struct {
	driver, variable, model string
	env                     func(url string) []string
	shell                   func(command string) fakemodel.Tool
	ralph                   string // prefix of our tools
}

var planClients = []planClient{
	{"claude", "RALPH_TEST_CLAUDE", "claude-sonnet-4-5",
		func(url string) []string { return []string{"ANTHROPIC_API_KEY=test-key", "ANTHROPIC_BASE_URL=" + url} },
		func(c string) fakemodel.Tool { return call("Bash", map[string]any{"command": c, "description": "x"}) },
		"mcp__ralph__"},
	{"codex", "RALPH_TEST_CODEX", "gpt-5.5",
		func(url string) []string {
			return []string{"OPENAI_API_KEY=test-key", "OPENAI_BASE_URL=" + url + "/v1"}
		},
		func(c string) fakemodel.Tool { return call("exec_command", map[string]any{"cmd": c}) }, ""},
	{"gemini", "RALPH_TEST_GEMINI", "gemini-2.5-pro",
		func(url string) []string { return []string{"GEMINI_API_KEY=test-key", "GOOGLE_GEMINI_BASE_URL=" + url} },
		func(c string) fakemodel.Tool {
			return call("run_shell_command", map[string]any{"command": c, "description": "x"})
		}, "mcp_ralph_"},
	{"opencode", "RALPH_TEST_OPENCODE", "anthropic/claude-sonnet-4-5",
		func(url string) []string { return []string{"ANTHROPIC_API_KEY=test-key", "ANTHROPIC_BASE_URL=" + url} },
		func(c string) fakemodel.Tool { return call("bash", map[string]any{"command": c, "description": "x"}) }, "ralph_"},
}

// The same plan of three tasks is finished by each of the real clients, one
// after the other, in one journal: each writes, is denied a commit, completes
// its tasks and hands over by our tools.
func TestEachClientFinishesAPlan(t *testing.T) {
	t.Parallel()
	p := newProject(t, "exit 1\n", check, nil)
	var used []string
	for _, c := range planClients {
		binary := os.Getenv(c.variable)
		if binary == "" {
			t.Logf("without %s: npm ci --prefix fixtures/clients --ignore-scripts, then %s=…", c.driver, c.variable)
			continue
		}
		c.finishes(t, p, binary, 3*len(used))
		used = append(used, c.driver)
	}
	if len(used) == 0 {
		t.Skip("none of the real clients is here")
	}
	if r := p.run(t, nil, "fsck"); r.code != 0 {
		t.Errorf("fsck: exit %d\n%s%s", r.code, r.out, r.err)
	}
	history := p.must(t, "history")
	if n := strings.Count(p.Git("log", "--format=%s"), "ralph["); n != 3*len(used) {
		t.Errorf("%d commits of %d clients\n%s", n, len(used), history)
	}
}

func (c planClient) finishes(t *testing.T, p *project, binary string, before int) {
	if err := os.Symlink(binary, filepath.Join(p.bin, c.driver)); err != nil {
		t.Fatal(err)
	}
	p.Write("ralph.toml", "[agent]\ndriver = \""+c.driver+"\"\nmodel = \""+c.model+"\"\n"+check)
	p.Git("commit", "-qam", "the agent is "+c.driver)
	p.must(t, "trust")
	for i := range 3 {
		c.finishesTask(t, p, fmt.Sprintf("T-%03d", before+i+1))
	}
}

func (c planClient) finishesTask(t *testing.T, p *project, id string) {
	model := fakemodel.Start(t, fakemodel.Script{
		{Text: "I write the file.", Tools: []fakemodel.Tool{c.shell("echo " + c.driver + " >" + id + ".txt")}},
		{Tools: []fakemodel.Tool{c.shell("git add -A && git commit -m mine")}},
		{Tools: []fakemodel.Tool{call(c.ralph+"ralph_mark_task_complete",
			map[string]any{"task_id": id, "verification_notes": "the file is there"})}},
		{Tools: []fakemodel.Tool{call(c.ralph+"ralph_submit_handoff", handoffOf(id))}},
		{Text: "Done."}})
	p.must(t, "add", "task "+id+" for "+c.driver)
	env := c.env(model.URL)
	for _, kv := range p.Env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			env = append(env, "PATH="+p.bin+":"+path)
		}
	}
	r := p.run(t, env, "start", "-v")
	if r.code != 0 || !strings.Contains(r.out, "denied") || p.Read(id+".txt") != c.driver+"\n" {
		t.Fatalf("%s %s: exit %d\n%s%s", c.driver, id, r.code, r.out, r.err)
	}
	for _, turn := range model.Turns() {
		if strings.Contains(string(turn.Body), "test-key") {
			t.Errorf("%s: the model saw the key", c.driver)
		}
	}
}
