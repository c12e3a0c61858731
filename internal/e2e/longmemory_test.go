package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// The harness keeps the memory of a session even if its agents die.
func TestMemoryIsCaptured(t *testing.T) {
	t.Parallel()
	agent := `case $RALPH_TASK_ID in
T-001) git ralph tool ralph_update_memory '{"content":"the port is 8081"}' ;;
T-002) kill -9 $$ ;;
esac
` + doTask
	p := newProject(t, agent, "[loop]\nmax_attempts = 1\n[breaker]\nfailures = 0\n"+check,
		map[string]string{"go.mod": "module x\n"})
	p.importTasks(t, `[{"id":"T-001","title":"first"},{"id":"T-002","title":"second"},{"id":"T-003","title":"third"}]`)
	if r := p.run(t, nil, "start"); r.code != 3 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	var m struct {
		Active string `json:"active"`
		Chars  int    `json:"chars"`
		Texts  []struct{ Name, Text string }
	}
	if err := json.Unmarshal([]byte(p.must(t, "memory", "--json")), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Texts) != 1 || m.Texts[0].Name != "session" {
		t.Fatalf("memory texts: %+v", m.Texts)
	}
	for _, want := range []string{"# Session Memory - Iteration 3",
		"## Completed This Session\n- [x] T-001 first\n- [x] T-003 third",
		"## Files Modified\n- out-T-003.txt\n- out-T-001.txt",
		"## Blockers/Issues\n- T-002 second is failed", "the port is 8081", "Total Progress: 66%", "Ended: blocked"} {
		if !strings.Contains(m.Texts[0].Text, want) {
			t.Errorf("the memory of the session lacks %q:\n%s", want, m.Texts[0].Text)
		}
	}
	if m.Chars > 8000 || !strings.Contains(m.Active, "signal 9") {
		t.Errorf("active memory, %d characters:\n%s", m.Chars, m.Active)
	}
	p.must(t, "retry", "T-002")
	if got := p.must(t, "prompt", "T-002"); !strings.Contains(got, "the port is 8081") {
		t.Errorf("the next agent is not reminded:\n%s", got)
	}
	p.sound(t)
}

// A finished phase is recorded, and the first agent of the next one gets a
// reminder.
func TestPhaseMemory(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies what is remembered")
	p := scripted(t, strings.ReplaceAll(lifecycle, "SPEC", loginSpec), "[discovery]\nconfirm = false\n"+check, nil)
	p.wants(t, 6, nil, "run", "let people log in")
	p.must(t, "answer", "Q1", "hello")
	p.wants(t, 0, nil, "run")
	tree := p.Git("ls-tree", "-r", "--name-only", "refs/ralph/heads/main", "memory/")
	for _, want := range []string{"memory/phase-discovery.md", "memory/phase-planning.md", "memory/phase-building.md",
		"memory/session.md"} {
		if !strings.Contains(tree, want) {
			t.Errorf("%s is missing:\n%s", want, tree)
		}
	}
	if got := p.Git("show", "refs/ralph/heads/main:memory/phase-discovery.md"); !strings.Contains(got,
		"specs/login.md: Login, 2 acceptance criteria") || !strings.Contains(got, "Followed by planning") ||
		!strings.Contains(got, "Iterations: 2") {
		t.Errorf("the memory of discovery:\n%s", got)
	}
	first, second := "", ""
	for n := 1; n <= 6; n++ {
		prompt := p.evidenceFile(t, n, "prompt.md")
		if strings.Contains(prompt, "### T-001:") {
			first = prompt
		} else if strings.Contains(prompt, "### T-002:") {
			second = prompt
		}
	}
	if !strings.Contains(first, "#### Previous phase") || !strings.Contains(first, "T-001 say hello") {
		t.Errorf("the first agent of building is not reminded of planning:\n%s", first)
	}
	if strings.Contains(second, "#### Previous phase") {
		t.Errorf("the second one is:\n%s", second)
	}
	p.sound(t)
}

// importTasks puts a plan of tasks into the journal.
func (p *project) importTasks(t *testing.T, tasks string) {
	t.Helper()
	file := p.Dir + "/../plan.json"
	if err := os.WriteFile(file, []byte(`{"tasks":`+tasks+`}`), 0o644); err != nil {
		t.Fatal(err)
	}
	p.must(t, "import", file)
}

// TestLongProject: a hard constraint of iteration 3 is still in the prompt of
// iteration 200.
func TestLongProject(t *testing.T) {
	t.Parallel()
	long.Only(t, "it makes many iterations")
	const interval = 20
	last := long.Number(t, 30, 200)
	agent := `case $RALPH_ROLE in indexer) cat > "$RALPH_HANDOFF_FILE" <<END
{"knowledge":[{"type":"pattern","slug":"of-$RALPH_ITERATION","text":"What the project had learned by iteration $RALPH_ITERATION about writing files, in a sentence or two that make sense alone."}]}
END
exit 0;; esac
echo "$RALPH_TASK_ID" > "out-$RALPH_TASK_ID.txt"
constraint='"handlers of iteration '$RALPH_ITERATION' are small"'
if [ $RALPH_ITERATION = 3 ]; then constraint='"Tokens must never be logged."'; fi
cat > "$RALPH_HANDOFF_FILE" <<END
{"task_completed":{"task_id":"$RALPH_TASK_ID","summary":"wrote the file","fully_complete":true},
"summary":"wrote the file","freeform":"The file was written as the task asked; nothing else was touched on the way.",
"deviations":[],"bugs_encountered":[],"architectural_notes":["decision of iteration $RALPH_ITERATION"],"unfinished_business":[],"recommendations":[],
"files_touched":[],"plan_amendments":[],"tests_added":[],"constraints_discovered":[{"constraint":$constraint,"impact":"none"}]}
END
`
	p := newProject(t, agent,
		"[loop]\nmode = \"handoff-plus-index\"\nmax_iterations = "+strconv.Itoa(last-1)+
			"\n[index]\nnovelty = 0\ninterval = "+strconv.Itoa(interval)+
			"\n[validation]\nfresh = \"never\"\n[guard]\nsandbox = \"off\"\n"+check, nil)
	var tasks []string
	for i := 1; i <= last; i++ {
		tasks = append(tasks, fmt.Sprintf(`{"id":"T-%03d","title":"task %d","description":"write a file"}`, i, i))
	}
	p.importTasks(t, "["+strings.Join(tasks, ",")+"]")
	if r := p.run(t, nil, "start"); r.code != 4 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	for _, mode := range []string{"handoff-plus-index", "agent-orchestrated"} {
		var d struct {
			Text           string
			Tokens, Budget int
		}
		if err := json.Unmarshal([]byte(p.must(t, "prompt", "--json", "--mode", mode)), &d); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(d.Text, fmt.Sprintf("Iteration %d,", last)) ||
			!strings.Contains(d.Text, "Tokens must never be logged.") {
			t.Errorf("%s: the constraint of iteration 3 is not in the prompt of iteration %d:\n%s", mode, last, d.Text)
		}
		if d.Tokens > d.Budget {
			t.Errorf("%s: %d of %d tokens", mode, d.Tokens, d.Budget)
		}
	}
	if n := strings.Count(strings.Join(p.contextEvents(t), "\n"), "index"); n < last/interval-1 {
		t.Errorf("the indexer ran %d times in %d iterations", n, last-1)
	}
}
