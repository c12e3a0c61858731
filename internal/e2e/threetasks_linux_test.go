package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
	"git-ralph/internal/agent"
	"git-ralph/internal/agent/fakemodel"
)

// clientVariables name the programs of the real clients, by driver.
var clientVariables = map[string]string{"claude": "RALPH_TEST_CLAUDE", "codex": "RALPH_TEST_CODEX",
	"gemini": "RALPH_TEST_GEMINI", "opencode": "RALPH_TEST_OPENCODE"}

// planClients are the clients that finish a plan. Some also do so over the Agent
// Client Protocol.
var planClients = func() map[string]string {
	m := maps.Clone(clientVariables)
	for _, client := range []string{"gemini", "opencode"} {
		m["acp "+client] = clientVariables[client]
	}
	return m
}()

// acpCommand is the setting that starts a client in the mode of the protocol.
func acpCommand(client, binary string) string {
	if client == "gemini" {
		return fmt.Sprintf("command = [\"node\", %q, \"--acp\"]\n", binary)
	}
	return fmt.Sprintf("command = [%q, \"acp\"]\n", binary)
}

// planClient is a real client in a whole run.
type planClient struct {
	agent.Dialect
	name, settings string
}

// Each real client finishes the same plan of three tasks, one client after the
// other in one journal. Each writes, is denied a commit, completes its tasks and
// hands over with our tools. Only the long form has all three tasks.
func TestEachClientFinishesAPlan(t *testing.T) {
	t.Parallel()
	tasks := 1
	if long.Full() {
		tasks = 3
	}
	p := newProject(t, "exit 1\n", check, nil)
	var used []string
	for _, name := range slices.Sorted(maps.Keys(planClients)) {
		binary := os.Getenv(planClients[name])
		if binary == "" {
			t.Logf("without %s: npm ci --prefix fixtures/clients --ignore-scripts, then %s=…", name, planClients[name])
			continue
		}
		c := newPlanClient(t, p, name, binary)
		c.chosen(t, p)
		for i := range tasks {
			c.finishesTask(t, p, fmt.Sprintf("T-%03d", tasks*len(used)+i+1))
		}
		used = append(used, name)
	}
	if len(used) == 0 {
		t.Skip("none of the real clients is here")
	}
	if r := p.run(t, nil, "fsck"); r.code != 0 {
		t.Errorf("fsck: exit %d\n%s%s", r.code, r.out, r.err)
	}
	history := p.must(t, "history")
	if n := strings.Count(p.Git("log", "--format=%s"), "ralph["); n != tasks*len(used) {
		t.Errorf("%d commits of %d clients\n%s", n, len(used), history)
	}
}

// newPlanClient puts a client into a project.
func newPlanClient(t *testing.T, p *project, name, binary string) planClient {
	t.Helper()
	c := planClient{name: name}
	if _, client, generic := strings.Cut(name, " "); generic {
		c.Dialect, _ = agent.ACPDialectOf(client)
		c.settings = acpCommand(client, binary) + fmt.Sprintf("env_allow = [\"%s\"]\n",
			strings.Join(slices.Sorted(maps.Keys(c.Env(""))), `", "`))
	} else {
		c.Dialect, _ = agent.DialectOf(name)
		if err := os.Symlink(binary, filepath.Join(p.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, kv := range p.Env {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok {
			if err := c.Furnish(home); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

// chosen makes the client the agent of the project.
func (c planClient) chosen(t *testing.T, p *project) {
	p.Write("ralph.toml", "[agent]\ndriver = \""+c.Driver+"\"\nmodel = \""+c.Model+"\"\n"+c.settings+check)
	p.Git("commit", "-qam", "the agent is "+c.name)
	p.must(t, "trust")
}

// environment leads the client to its model, and git ralph to the client.
func (c planClient) environment(p *project, model *fakemodel.Server) []string {
	var env []string
	for name, value := range c.Env(model.URL) {
		env = append(env, name+"="+value)
	}
	for _, kv := range p.Env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			env = append(env, "PATH="+p.bin+":"+path)
		}
	}
	return env
}

func (c planClient) finishesTask(t *testing.T, p *project, id string) {
	model := fakemodel.Start(t, fakemodel.Script{
		{Text: "I write the file.", Tools: []fakemodel.Tool{c.Shell("echo " + c.name + " >" + id + ".txt")}},
		{Tools: []fakemodel.Tool{c.Shell("git add -A && git commit -m mine")}},
		{Tools: []fakemodel.Tool{call(c.Ralph+"ralph_mark_task_complete",
			map[string]any{"task_id": id, "verification_notes": "the file is there"})}},
		{Tools: []fakemodel.Tool{call(c.Ralph+"ralph_submit_handoff", handoffOf(id))}},
		{Text: "Done."}})
	p.must(t, "add", "task "+id+" for "+c.name)
	r := p.run(t, c.environment(p, model), "start", "-v")
	if r.code != 0 || !strings.Contains(r.out, "denied") || p.Read(id+".txt") != c.name+"\n" {
		t.Fatalf("%s %s: exit %d\n%s%s", c.name, id, r.code, r.out, r.err)
	}
	for _, turn := range model.Turns() {
		if strings.Contains(string(turn.Body), "test-key") {
			t.Errorf("%s: the model saw the key", c.name)
		}
	}
}
