package e2e

import (
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

func TestIndexerWorksBeforeAnIteration(t *testing.T) {
	t.Parallel()
	long.Only(t, "a whole orchestrated iteration is in the short form")
	p := newProject(t, byRole(map[string]string{
		"indexer": usageLine +
			"ls -l \"$RALPH_CONTEXT_DIR\"\ntouch \"$RALPH_CONTEXT_DIR/mine\" 2>/dev/null && echo writable\necho junk > " +
			"from-the-indexer\n" +
			answer(`{"knowledge":[{"type":"constraint","slug":"tls","text":"Connections must use TLS `+
				`1.3.","source_iterations":[1]}]}`),
	}), "[loop]\nmode = \"handoff-plus-index\"\n[index]\nnovelty = 0\n"+check, nil)
	plan := `[{"id":"T-001","title":"first","libraries":["bcrypt"]},{"id":"T-002","title":"second"}]`
	p.importTasks(t, plan)
	if r := p.run(t, nil, "start"); r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	first := p.shown(t, 1)
	if got := first.roles(); got != "indexer coding" {
		t.Errorf("the agents of iteration 1: %s", got)
	}
	if c := first.Agents[0].Cost; c == nil || c.String() != "0.2500" && c.String() != "0.25" {
		t.Errorf("the indexer's own cost line: %v", c)
	}
	if first.Cost == nil || !strings.HasPrefix(first.Cost.String(), "0.25") {
		t.Errorf("the iteration cost %v, its indexer included", first.Cost)
	}
	if got := p.shown(t, 2).roles(); got != "coding" {
		t.Errorf("no trigger fired for iteration 2, and its agents were: %s", got)
	}
	for n := 1; n <= 2; n++ {
		if prompt := p.evidenceFile(t, n, "prompt.md"); !strings.Contains(prompt,
			"[K-constraint-tls] Connections must use TLS 1.3.") {
			t.Errorf("the prompt of iteration %d does not have the entry:\n%s", n, prompt)
		}
	}
	if got := p.evidenceFile(t, 1, "agents/indexer/prompt.md"); !strings.Contains(got,
		"the task names libraries: bcrypt") {
		t.Errorf("the indexer's prompt:\n%s", got)
	}
	if got := p.evidenceFile(t, 1, "agents/indexer/transcript.jsonl"); strings.Contains(got, "writable") ||
		!strings.Contains(got, "task.md") {
		t.Errorf("the indexer's transcript:\n%s", got)
	}
	if p.Read("from-the-indexer") != "" || len(first.Files) != 1 {
		t.Errorf("the indexer changed the worktree: %+v", first.Files)
	}
	if got := strings.Join(p.contextEvents(t), ", "); got != "index" {
		t.Errorf("context events: %s", got)
	}
	p.sound(t)
}

// If an indexer breaks a rule, none of its output counts. A crash is recorded.
// The iteration continues with the old knowledge.
func TestIndexerThatFails(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies how an indexer fails")
	rows := []struct{ why, part, notice string }{
		{"an entry is reworded in place",
			answer(`{"knowledge":[{"type":"pattern","slug":"new","text":"something ` +
				`new"},{"type":"constraint","slug":"tls","text":"TLS is nice to have"}]}`), "exists with another text"},
		{"what is superseded does not exist",
			answer(`{"knowledge":[{"type":"pattern","slug":"new","text":"something new","supersedes":["K-pattern-none"]}]}`),
			"does not exist"},
		{"the document is none", answer(`{"knowledge": [`), "cannot be read"},
		{"it crashes", "exit 3", "exit 3"},
	}
	for _, r := range rows {
		t.Run(r.why, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, byRole(map[string]string{"indexer": r.part}),
				"[loop]\nmode = \"handoff-plus-index\"\n"+check, nil)
			p.importTasks(t, `[{"id":"T-001","title":"first","needs_docs":true}]`)
			p.must(t, "knowledge", "add", "--slug", "tls", "constraint", "Connections must use TLS 1.3.")
			before := p.must(t, "knowledge", "list", "--json")
			res := p.run(t, nil, "start")
			if res.code != 0 {
				t.Fatalf("exit %d\n%s%s", res.code, res.out, res.err)
			}
			if after := p.must(t, "knowledge", "list", "--json"); after != before {
				t.Errorf("the entries were\n%s\nand are\n%s", before, after)
			}
			s := p.shown(t, 1)
			if s.Verdict != "keep" || !strings.Contains(strings.Join(s.Notices, "\n"), r.notice) {
				t.Errorf("%s, notices %q", s.Verdict, s.Notices)
			}
			if got := strings.Join(p.contextEvents(t), ", "); got != "index failed" {
				t.Errorf("context events: %s", got)
			}
			p.sound(t)
		})
	}
}
