package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// byRole is an agent with a script for each role. Roles without one, such as
// coding, do the task.
func byRole(parts map[string]string) string {
	var b strings.Builder
	b.WriteString("case $RALPH_ROLE in\n")
	for role, part := range parts {
		fmt.Fprintf(&b, "%s)\n%s\nexit 0\n;;\n", role, part)
	}
	b.WriteString("esac\n" + doTask)
	return b.String()
}

// answer is a command that leaves a document for the harness.
func answer(doc string) string {
	return "cat > \"$RALPH_HANDOFF_FILE\" <<'END'\n" + doc + "\nEND"
}

// shownIteration is the part of `show N --json` that matters here.
type shownIteration struct {
	Verdict  string   `json:"verdict"`
	Reason   string   `json:"reason"`
	Commit   *string  `json:"commit"`
	Evidence *string  `json:"evidence"`
	Notices  []string `json:"notices"`
	Files    []struct {
		Path string `json:"path"`
	} `json:"files"`
	Agents []struct {
		Role    string       `json:"role"`
		Outcome string       `json:"outcome"`
		Reason  string       `json:"reason"`
		Cost    *json.Number `json:"cost_usd"`
	} `json:"agents"`
	Cost   *json.Number `json:"cost_usd"`
	Passes []struct {
		Name     string `json:"name"`
		Failed   bool   `json:"failed"`
		Findings string `json:"findings"`
	} `json:"passes"`
	Tokens map[string]int64 `json:"tokens"`
}

func (p *project) shown(t *testing.T, n int) shownIteration {
	t.Helper()
	var s shownIteration
	if err := json.Unmarshal([]byte(p.must(t, "show", fmt.Sprint(n), "--json")), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// evidenceFile is a file of an iteration's evidence, "" when it has none.
func (p *project) evidenceFile(t *testing.T, n int, file string) string {
	t.Helper()
	s := p.shown(t, n)
	if s.Evidence == nil {
		t.Fatalf("iteration %d has no evidence", n)
	}
	out, err := p.Try("show", *s.Evidence+":"+file)
	if err != nil {
		return ""
	}
	return out
}

// roles are the agents of an iteration in their order.
func (s shownIteration) roles() string {
	var out []string
	for _, a := range s.Agents {
		out = append(out, a.Role)
	}
	return strings.Join(out, " ")
}

// events are the kinds and actions of the context events, oldest first.
func (p *project) contextEvents(t *testing.T) []string {
	t.Helper()
	var out []string
	for id := range strings.FieldsSeq(p.Git("rev-list", "--reverse", "refs/ralph/heads/main")) {
		var e struct {
			Context *struct {
				Kind, Action, Reason string
				Failed               bool
			}
		}
		if err := json.Unmarshal([]byte(p.Git("show", id+":event/event.json")), &e); err != nil {
			t.Fatal(err)
		}
		if c := e.Context; c != nil && c.Kind != "memory" {
			word := strings.TrimSpace(c.Kind + " " + c.Action)
			if c.Failed {
				word += " failed"
			}
			out = append(out, word)
		}
	}
	return out
}

const usageLine = `echo '{"type":"usage","input_tokens":1000,"output_tokens":10,"cost_usd":0.25}'` + "\n"

const orchestrated = "[loop]\nmode = \"agent-orchestrated\"\n"

func TestOrchestratedIteration(t *testing.T) {
	t.Parallel()
	p := newProject(t, byRole(map[string]string{
		"context-prep": usageLine + "cp -r \"$RALPH_CONTEXT_DIR\"/findings.md /dev/stdout 2>/dev/null\n" +
			answer(`{"action":"proceed","reason":"ready","prompt":"## Previous Handoff\n\nThe parser is in parse.go. Write `+
				`the file that the task names, nothing else."}`),
		"context-post": usageLine + answer(
			`{"action":"increase_retries","reason":"close to `+
				`done","knowledge":[{"type":"pattern","slug":"one-file","text":"Each task writes one file."}]}`),
		"review": usageLine +
			"echo spoiled > out-T-001.txt\necho junk > review.tmp\necho 'out.txt:1: the newline is missing'",
		"broken": "exit 4",
	}), orchestrated+"[[passes]]\nname = \"review\"\nenabled = true\ntrigger = \"on_success\"\n"+
		"[[passes]]\nname = \"broken\"\nenabled = true\ntrigger = \"periodic:2\"\n"+
		"[[passes]]\nname = \"never\"\nenabled = true\ntrigger = \"on_failure\"\n"+check, nil)
	p.importTasks(t, `[{"id":"T-001","title":"first"},{"id":"T-002","title":"second"}]`)
	r := p.run(t, nil, "start")
	if r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	first, second := p.shown(t, 1), p.shown(t, 2)
	if got := first.roles(); got != "context-prep coding context-post review" {
		t.Errorf("the agents of iteration 1: %s", got)
	}
	if got := second.roles(); got != "context-prep coding context-post review broken" {
		t.Errorf("the agents of iteration 2: %s", got)
	}
	if got := first.Tokens["input"]; got != 3000 {
		t.Errorf("%d tokens of three runs that reported 1000 each", got)
	}
	prompt := p.evidenceFile(t, 1, "prompt.md")
	for _, want := range []string{"## Prepared Context", "The parser is in parse.go.", "## Current Task",
		"## Output Instructions"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the prompt lacks %q:\n%s", want, prompt)
		}
	}
	if got := p.Read("out-T-001.txt"); got != "T-001\n" || p.Read("review.tmp") != "" {
		t.Errorf("what a read-only pass changed was not put back: %q", got)
	}
	if len(first.Passes) != 1 || !strings.Contains(first.Passes[0].Findings, "the newline is missing") {
		t.Errorf("the findings in show: %+v", first.Passes)
	}
	if n := len(second.Passes); n != 2 || !second.Passes[1].Failed || second.Verdict != "keep" {
		t.Errorf("a pass that failed: %s, %+v", second.Verdict, second.Passes)
	}
	prep := p.evidenceFile(t, 2, "agents/context-prep/prompt.md")
	if !strings.Contains(prep, "findings.md") || !strings.Contains(prep, "increase_retries: close to done") {
		t.Errorf("the next preparation was not told of findings and advice:\n%s", prep)
	}
	if got := p.evidenceFile(t, 2, "agents/context-prep/transcript.jsonl"); !strings.Contains(got,
		"the newline is missing") {
		t.Errorf("what the next preparation read:\n%s", got)
	}
	if got := p.must(t, "knowledge", "list"); !strings.Contains(got, "K-pattern-one-file") {
		t.Errorf("the entry of the context agent:\n%s", got)
	}
	if got := strings.Join(p.contextEvents(t),
		", "); got != "prep proceed, post increase_retries, prep proceed, post increase_retries" {
		t.Errorf("context events: %s", got)
	}
	p.sound(t)
}

// The harness acts on the answer of the context agent before the coding agent.
// If it is unusable, the prompt of the index mode is used.
func TestPreparation(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies what a context agent answers")
	rows := []struct {
		why, part string
		code      int
		events    string
		status    string // of the task
		out       string // in the output, or in the prompt that was used
	}{
		{"skip", answer(`{"action":"skip","reason":"done in another way"}`), 6, "prep skip", "skipped", "prep: skip"},
		{"a person is wanted", answer(`{"action":"request_human_review","reason":"which licence?"}`), 6,
			"prep request_human_review", "pending", "which licence?"},
		{"research is answered twice at most",
			answer(`{"action":"research","reason":"the format","topics":["wire format"],"prompt":"Known so far about the ` +
				`format: it begins with a length of four bytes."}`), 0,
			"prep research, prep research, prep proceed", "done", "prep: research"},
		{"too short a text", answer(`{"action":"proceed","prompt":"go"}`), 0, "prep fallback failed", "done", ""},
		{"nothing at all", "true", 0, "prep fallback failed", "done", ""},
		{"a crash", "kill -9 $$", 0, "prep fallback failed", "done", ""},
		{"a word that is no action", answer(`{"action":"think","reason":"hard"}`), 0, "prep fallback failed", "done", ""},
		{"a pipe instead of a document", "mkfifo \"$RALPH_HANDOFF_FILE\"", 0, "prep fallback failed", "done", ""},
	}
	for _, r := range rows {
		t.Run(r.why, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, byRole(map[string]string{"context-prep": r.part, "context-post": "exit 9"}),
				orchestrated+check, nil)
			p.importTasks(t, `[{"id":"T-001","title":"first"}]`)
			res := p.run(t, nil, "start")
			if res.code != r.code || !strings.Contains(res.out, r.out) {
				t.Fatalf("exit %d, want %d and %q\n%s%s", res.code, r.code, r.out, res.out, res.err)
			}
			got := strings.Join(p.contextEvents(t), ", ")
			if r.status == "done" {
				r.events += ", post failed"
			}
			if got != r.events {
				t.Errorf("context events %s, want %s", got, r.events)
			}
			var tasks []struct {
				Status   string `json:"status"`
				Attempts int    `json:"attempts"`
			}
			if err := json.Unmarshal([]byte(p.must(t, "tasks", "--json")), &tasks); err != nil {
				t.Fatal(err)
			}
			if tasks[0].Status != r.status || tasks[0].Attempts != 0 {
				t.Errorf("the task is %+v, want %s without an attempt", tasks[0], r.status)
			}
			p.sound(t)
		})
	}
}

// Research results reach the next preparation and, if that fails, the coding
// agent itself.
func TestResearchReachesTheNextPreparation(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies the helper agents")
	p := newProject(t, byRole(map[string]string{
		"context-prep": `if [ "$RALPH_ITERATION" = 1 ]; then
` + answer(`{"action":"research","reason":"the format","topics":["wire format"],"prompt":"Known so far about the format: it begins with a length of four bytes."}`) + `
else exit 1; fi`, "context-post": "exit 0",
	}), orchestrated+check, nil)
	p.importTasks(t, `[{"id":"T-001","title":"first"}]`)
	if r := p.run(t, nil, "start"); r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if got := p.evidenceFile(t, 2, "agents/context-prep/prompt.md"); !strings.Contains(got, "wire format") ||
		!strings.Contains(got, "research/") {
		t.Errorf("the second preparation was not told:\n%s", got)
	}
	if got := p.evidenceFile(t, 2, "prompt.md"); !strings.Contains(got, "a length of four bytes") {
		t.Errorf("the coding agent was not told:\n%s", got)
	}
}

// A pass that may write adds its changes only if the checks accept them.
func TestPassThatWrites(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies what a pass does")
	for _, r := range []struct{ why, part, file, notice string }{
		{"accepted", "echo tidy > tidy.txt", "tidy\n", "the checks accept it"},
		{"breaks the check", "echo tidy > tidy.txt; echo x > broken", "", "did not accept it"},
		{"touches a protected path", "echo tidy > tidy.txt; echo '# mine' >> ralph.toml", "", "did not accept it"},
	} {
		t.Run(r.why, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, byRole(map[string]string{"context-prep": "exit 1", "context-post": "exit 0", "tidy": r.part}),
				orchestrated+"[[passes]]\nname = \"tidy\"\nenabled = true\nread_only = false\ntrigger = \"always\"\n"+check, nil)
			p.importTasks(t, `[{"id":"T-001","title":"first"}]`)
			if res := p.run(t, nil, "start"); res.code != 0 {
				t.Fatalf("exit %d\n%s%s", res.code, res.out, res.err)
			}
			if got := p.Read("tidy.txt"); got != r.file {
				t.Errorf("tidy.txt is %q", got)
			}
			s := p.shown(t, 1)
			if s.Verdict != "keep" || !strings.Contains(strings.Join(s.Notices, "\n"), r.notice) {
				t.Errorf("%s, %q", s.Verdict, s.Notices)
			}
			p.sound(t)
		})
	}
}

// loop.mode may be changed while the loop runs; the next iteration has it.
func TestModeChangesBetweenIterations(t *testing.T) {
	t.Parallel()
	long.Only(t, "it tries every mode")
	agent := byRole(map[string]string{"context-prep": answer(
		`{"action":"proceed","prompt":"This was prepared for the second task, and for no other one."}`),
		"context-post": "exit 0"})
	agent = "if [ $RALPH_ROLE-$RALPH_ITERATION = coding-1 ]; then while [ ! -e go.flag ]; do sleep 0.05; done; fi\n" +
		agent
	p := newProject(t, agent, check, map[string]string{".gitignore": "*.flag\n"})
	p.importTasks(t, `[{"id":"T-001","title":"first"},{"id":"T-002","title":"second"}]`)
	done := make(chan result)
	go func() { done <- p.run(t, nil, "start") }()
	for {
		var s struct {
			Status string `json:"status"`
			Task   string `json:"task"`
		}
		if json.Unmarshal([]byte(p.must(t, "status", "--json")), &s) == nil && s.Task == "T-001" {
			break
		}
	}
	p.must(t, "set", "loop.mode", "agent-orchestrated")
	if err := os.WriteFile(p.Dir+"/go.flag", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if one, two := p.shown(t, 1).roles(), p.shown(t, 2).roles(); one != "coding" && one != "coding context-post" ||
		two != "context-prep coding context-post" {
		t.Errorf("agents: %s; %s", one, two)
	}
	if got := p.evidenceFile(t, 2, "prompt.md"); !strings.Contains(got, "This was prepared for the second task") {
		t.Errorf("the prompt of iteration 2:\n%s", got)
	}
	p.sound(t)
}

// `git ralph prompt` prints what the loop sends, to the byte.
func TestPrintedPromptIsThePromptThatIsSent(t *testing.T) {
	t.Parallel()
	long.Only(t, "it tries every mode")
	for _, mode := range []string{"handoff-only", "handoff-plus-index"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			fail := "if [ $RALPH_TASK_ID-$RALPH_ATTEMPT = T-002-1 ]; then echo x > broken; fi\n"
			p := newProject(t, byRole(map[string]string{"indexer": "exit 0"})+"\n",
				"[project]\ngoal = \"a small project\"\n[loop]\nmode = \""+mode+"\"\n[index]\nnovelty = 0\n"+check,
				map[string]string{
					"AGENTS.md": "# Rules\n\nWrite short sentences.\n", "skills/tone.md": "Be plain.\n",
					".agents/skills/deep/SKILL.md": "---\nname: deep\n---\nThink twice.\n"})
			p.Write("agent.sh", fail+p.Read("agent.sh"))
			p.Git("commit", "-qam", "an agent that fails once")
			p.importTasks(t,
				`[{"id":"T-001","title":"first","skills":["tone","deep","nowhere"]},{"id":"T-002","title":"second",`+
					`"description":"the second thing"}]`)
			p.must(t, "inject", "prefer the standard library")
			for n := 1; n <= 3; n++ {
				printed, system := p.run(t, nil, "prompt"), p.must(t, "prompt", "--system")
				r := p.run(t, nil, "start", "--once")
				if r.code != 4 && r.code != 0 {
					t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
				}
				if sent := p.evidenceFile(t, n, "prompt.md"); strings.TrimSpace(sent) != strings.TrimSpace(printed.out) {
					t.Errorf("iteration %d was sent\n%s\nand printed was\n%s", n, sent, printed.out)
				}
				if sent := p.evidenceFile(t, n, "system.md"); strings.TrimSpace(sent) != strings.TrimSpace(system) ||
					!strings.Contains(system, "Write short sentences.") {
					t.Errorf("the system addition of iteration %d was\n%s\nand printed was\n%s", n, sent, system)
				}
				if n == 1 {
					for _, want := range []string{"Be plain.", "Think twice.", "Skills named but not found: nowhere",
						"prefer the standard library", "Goal: a small project"} {
						if !strings.Contains(printed.out, want) {
							t.Errorf("the prompt lacks %q:\n%s", want, printed.out)
						}
					}
					if c := strings.Count(r.err, `"nowhere"`); c != 1 {
						t.Errorf("the missing skill was named %d times:\n%s", c, r.err)
					}
				}
			}
		})
	}
}

// The loop is killed while a helper works, before or after the coding agent.
// The next start needs no person and loses nothing.
func TestKilledWhileAHelperWorks(t *testing.T) {
	t.Parallel()
	long.Only(t, "it kills beside each helper agent")
	for _, role := range []string{"indexer", "context-prep", "context-post", "review"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			mode := "agent-orchestrated"
			if role == "indexer" {
				mode = "handoff-plus-index"
			}
			// Without a sandbox the agent's parent is its keeper, whose parent is the loop.
			die := "if [ ! -e ../died ]; then : > ../died; echo junk > junk.txt; " +
				"kill -9 $(awk '/^PPid/ {print $2}' /proc/$PPID/status); sleep 60; fi"
			p := newProject(t, "if [ $RALPH_ROLE = "+role+" ]; then\n"+die+"\nfi\n"+
				byRole(map[string]string{"indexer": "exit 0", "review": "exit 0",
					"context-prep": answer(
						`{"action":"proceed","prompt":"Write the file that the task names; nothing was done before."}`),
					"context-post": "exit 0"}),
				"[loop]\nmode = \""+mode+
					"\"\n[guard]\nsandbox = \"off\"\n[[passes]]\nname = \"review\"\nenabled = true\n"+check, nil)
			p.importTasks(t, `[{"id":"T-001","title":"first","needs_docs":true}]`)
			if r := p.run(t, nil, "start"); r.code != -1 {
				t.Fatalf("it was to be killed: exit %d\n%s%s", r.code, r.out, r.err)
			}
			if r := p.run(t, nil, "start"); r.code != 0 {
				t.Fatalf("the next start: exit %d\n%s%s", r.code, r.out, r.err)
			}
			if p.Read("out-T-001.txt") != "T-001\n" || p.Read("junk.txt") != "" {
				t.Errorf("the work is %q, junk %q", p.Read("out-T-001.txt"), p.Read("junk.txt"))
			}
			p.sound(t)
		})
	}
}

// A helper that touches git is noticed like any agent, even without a sandbox.
func TestHelperThatTouchesGit(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies the helper agents")
	for _, r := range []struct {
		role, part, reason string
		code               int
	}{
		{"context-prep", "git config user.name Mallory", "tampered: config", 4},
		{"context-post", "git config user.name Mallory", "tampered: config", 4},
		{"review", "git commit -q --allow-empty -m mine", "tampered: refs", 5},
	} {
		t.Run(r.role, func(t *testing.T) {
			t.Parallel()
			// The shims need PATH; a script with its own PATH bypasses them.
			part := "PATH=/usr/bin:/bin\n" + r.part
			p := newProject(t, byRole(map[string]string{"context-prep": "exit 0", "context-post": "exit 0",
				"review": "exit 0", r.role: part}),
				orchestrated+"[guard]\nsandbox = \"off\"\n[[passes]]\nname = \"review\"\nenabled = true\n"+check, nil)
			p.importTasks(t, `[{"id":"T-001","title":"first"}]`)
			res := p.run(t, nil, "start", "--once")
			if res.code != r.code {
				t.Fatalf("exit %d\n%s%s", res.code, res.out, res.err)
			}
			if s := p.shown(t, 1); s.Verdict != "reject" || !strings.Contains(s.Reason, r.reason) {
				t.Errorf("%s: %s", s.Verdict, s.Reason)
			}
			if got := p.Git("config", "user.name"); got != "A U Thor" {
				t.Errorf("user.name is %s", got)
			}
		})
	}
}
