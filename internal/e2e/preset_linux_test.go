package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/internal/agent/fakemodel"
)

// A client without its own driver finishes a task by its preset: Qwen Code writes a
// file, is denied a commit and reports the task complete. Without a login, here its
// settings file, the run ends and says so.
func TestPresetWithItsRealClient(t *testing.T) {
	t.Parallel()
	binary := os.Getenv("RALPH_TEST_QWEN")
	if binary == "" {
		t.Skip("without qwen: npm ci --prefix fixtures/clients/qwen --ignore-scripts, then RALPH_TEST_QWEN=…/cli.js")
	}
	p := newProject(t, "exit 1\n", check, nil)
	if err := os.Symlink(binary, filepath.Join(p.bin, "qwen")); err != nil {
		t.Fatal(err)
	}
	p.Write("ralph.toml", "[agent]\ndriver = \"command\"\npreset = \"qwen\"\nmodel = \"fake\"\n"+
		"env_allow = [\"OPENAI_API_KEY\", \"OPENAI_BASE_URL\"]\n"+check)
	p.Git("commit", "-qam", "the agent is qwen")
	p.must(t, "trust")
	shell := func(command string) fakemodel.Tool {
		return call("run_shell_command", map[string]any{"command": command, "description": "x", "is_background": false})
	}
	model := fakemodel.Start(t, fakemodel.Script{
		{Text: "I write the file.", Tools: []fakemodel.Tool{shell("echo qwen >hello.txt")}},
		{Tools: []fakemodel.Tool{shell("git add -A && git commit -m mine")}},
		{Tools: []fakemodel.Tool{shell("git ralph tool ralph_mark_task_complete " +
			`'{"task_id": "T-001", "verification_notes": "the file is there"}'`)}},
		{Text: "Done."}})
	p.must(t, "add", "write hello.txt", "--verify", "test -f hello.txt")
	env := []string{"OPENAI_API_KEY=test-key", "OPENAI_BASE_URL=" + model.URL + "/v1"}
	home := ""
	for _, kv := range p.Env {
		if path, ok := strings.CutPrefix(kv, "PATH="); ok {
			env = append(env, "PATH="+p.bin+":"+path)
		}
		if dir, ok := strings.CutPrefix(kv, "HOME="); ok {
			home = dir
		}
	}
	r := p.run(t, env, "start")
	if r.code != 5 || !strings.Contains(r.out+r.err, "No auth type is selected") {
		t.Errorf("without a login: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if err := os.MkdirAll(filepath.Join(home, ".qwen"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".qwen", "settings.json"),
		[]byte(`{"security":{"auth":{"selectedType":"openai"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	r = p.run(t, env, "start", "-v")
	if r.code != 0 || p.Read("hello.txt") != "qwen\n" || !strings.Contains(r.out, "I write the file.") {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if n := strings.Count(p.Git("log", "--format=%s"), "mine"); n != 0 {
		t.Error("qwen made a commit")
	}
	turns := model.Turns()
	if len(turns) < 3 {
		t.Fatalf("%d turns", len(turns))
	}
	if told := string(turns[2].Body); !strings.Contains(told, "read-only") && !strings.Contains(told, "denied") {
		t.Error("qwen was not told that the commit was refused")
	}
}
