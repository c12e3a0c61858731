package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"git-ralph/internal/agent"
	"git-ralph/internal/agent/fakemodel"
)

// clientVariables name the programs of the real clients, by driver.
var clientVariables = map[string]string{"claude": "RALPH_TEST_CLAUDE", "codex": "RALPH_TEST_CODEX",
	"gemini": "RALPH_TEST_GEMINI", "opencode": "RALPH_TEST_OPENCODE"}

// planClient is one of them in a whole run.
type planClient struct{ agent.Dialect }

// The same plan of three tasks is finished by each of the real clients, one
// after the other, in one journal: each writes, is denied a commit, completes
// its tasks and hands over by our tools.
func TestEachClientFinishesAPlan(t *testing.T) {
	t.Parallel()
	p := newProject(t, "exit 1\n", check, nil)
	var used []string
	for _, driver := range slices.Sorted(maps.Keys(clientVariables)) {
		binary := os.Getenv(clientVariables[driver])
		if binary == "" {
			t.Logf("without %s: npm ci --prefix fixtures/clients --ignore-scripts, then %s=…", driver, clientVariables[driver])
			continue
		}
		d, _ := agent.DialectOf(driver)
		c := planClient{d}
		c.finishes(t, p, binary, 3*len(used))
		used = append(used, driver)
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
	if err := os.Symlink(binary, filepath.Join(p.bin, c.Driver)); err != nil {
		t.Fatal(err)
	}
	p.Write("ralph.toml", "[agent]\ndriver = \""+c.Driver+"\"\nmodel = \""+c.Model+"\"\n"+check)
	p.Git("commit", "-qam", "the agent is "+c.Driver)
	p.must(t, "trust")
	for i := range 3 {
		c.finishesTask(t, p, fmt.Sprintf("T-%03d", before+i+1))
	}
}

func (c planClient) finishesTask(t *testing.T, p *project, id string) {
	model := fakemodel.Start(t, fakemodel.Script{
		{Text: "I write the file.", Tools: []fakemodel.Tool{c.Shell("echo " + c.Driver + " >" + id + ".txt")}},
		{Tools: []fakemodel.Tool{c.Shell("git add -A && git commit -m mine")}},
		{Tools: []fakemodel.Tool{call(c.Ralph+"ralph_mark_task_complete",
			map[string]any{"task_id": id, "verification_notes": "the file is there"})}},
		{Tools: []fakemodel.Tool{call(c.Ralph+"ralph_submit_handoff", handoffOf(id))}},
		{Text: "Done."}})
	p.must(t, "add", "task "+id+" for "+c.Driver)
	var env []string
	for name, value := range c.Env(model.URL) {
		env = append(env, name+"="+value)
	}
	for _, kv := range p.Env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			env = append(env, "PATH="+p.bin+":"+path)
		}
	}
	r := p.run(t, env, "start", "-v")
	if r.code != 0 || !strings.Contains(r.out, "denied") || p.Read(id+".txt") != c.Driver+"\n" {
		t.Fatalf("%s %s: exit %d\n%s%s", c.Driver, id, r.code, r.out, r.err)
	}
	for _, turn := range model.Turns() {
		if strings.Contains(string(turn.Body), "test-key") {
			t.Errorf("%s: the model saw the key", c.Driver)
		}
	}
}
