package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// loginSpec is a spec with two criteria, as a discovery agent would write it.
const loginSpec = `# Login

## Problem Statement
People cannot log in.

## Success Criteria
- A login takes less than 2 seconds.

## Constraints
- No new dependencies.

## Non-Goals
- Registration.

## Acceptance Criteria
- [ ] login.txt says hello
- [ ] logout.txt says bye
`

// lifecycle is a script that plays all phases well.
const lifecycle = `
[[play]]
phase = "discovery"
steps = [
  { text = "I ask, and then I write the spec." },
  { tool = "ralph_ask_user", args = { question = "Which greeting?", options = ["hello", "hi"] } },
  { write = "specs/login.md", content = """SPEC""" },
  { usage = { input = 100, output = 10, cost_usd = 0.01 } },
]

[[play]]
phase = "planning"
steps = [
  { tool = "ralph_add_task", args = { title = "say hello", description = "write login.txt", criteria = ["login.txt says hello"], verify = ["grep -q hello login.txt"], spec = "specs/login.md" } },
  { tool = "ralph_add_task", args = { title = "say bye", description = "write logout.txt", criteria = ["logout.txt says bye"], depends_on = ["T-001"], spec = "specs/login.md" } },
]

[[play]]
task = "T-001"
steps = [ { write = "login.txt", content = "hello\n" }, { handoff = { summary = "hello", freeform = "login.txt says hello now, as the task asked; nothing else was touched." } } ]

[[play]]
task = "T-002"
steps = [ { write = "logout.txt", content = "WRONG\n" }, { handoff = { summary = "bye", freeform = "logout.txt says bye now, as the task asked; nothing else was touched." } } ]

[[play]]
phase = "building"
steps = [ { write = "logout.txt", content = "bye\n" }, { handoff = { summary = "bye", freeform = "logout.txt says bye now, as the validation asked; nothing else was touched." } } ]

[[play]]
phase = "validation"
iteration = 6
steps = [
  { run = "echo spoiled > login.txt" },
  { run = "echo extra > extra.txt" },
  { tool = "ralph_report_criterion", args = { spec = "specs/login.md", criterion = "login.txt says hello", verdict = "pass", evidence = { file = "login.txt", quote = "hello" } } },
  { tool = "ralph_report_criterion", args = { spec = "specs/login.md", criterion = "logout.txt says bye", verdict = "fail", evidence = "cat logout.txt printed WRONG" } },
]

[[play]]
phase = "validation"
steps = [
  { tool = "ralph_report_criterion", args = { spec = "specs/login.md", criterion = "login.txt says hello", verdict = "pass", evidence = { file = "login.txt", quote = "hello" } } },
  { tool = "ralph_report_criterion", args = { spec = "specs/login.md", criterion = "logout.txt says bye", verdict = "pass", evidence = { command = "grep bye logout.txt" } } },
]
`

// scripted is a project whose agent plays a script. The script lies outside of
// the worktree.
func scripted(t *testing.T, script, settings string, files map[string]string) *project {
	t.Helper()
	p := newProject(t, "exit 1\n", settings, files)
	file := filepath.Join(filepath.Dir(p.Dir), "script.toml")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	p.Env = append(p.Env, "RALPH_AGENT_DRIVER=scripted", "RALPH_AGENT_SCRIPT="+file)
	return p
}

func play(phase string, steps ...string) string {
	return "\n[[play]]\nphase = \"" + phase + "\"\nsteps = [\n  " + strings.Join(steps, ",\n  ") + ",\n]\n"
}

// wants runs a command and checks how it ends and what it says.
func (p *project) wants(t *testing.T, code int, says []string, args ...string) result {
	t.Helper()
	r := p.run(t, nil, args...)
	if r.code != code {
		t.Fatalf("git ralph %s: exit %d, not %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.err)
	}
	for _, s := range says {
		if !strings.Contains(r.out+r.err, s) {
			t.Errorf("git ralph %s does not say %q:\n%s%s", strings.Join(args, " "), s, r.out, r.err)
		}
	}
	return r
}

// field is one field of `status --json`.
func (p *project) field(t *testing.T, name string) any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(p.must(t, "status", "--json")), &doc); err != nil {
		t.Fatal(err)
	}
	return doc[name]
}

func (p *project) subjects(t *testing.T) []string {
	t.Helper()
	return strings.Split(p.Git("log", "--format=%s"), "\n")
}

// TestFromASentenceToValidatedWork goes through all phases. The run pauses for
// an answer, wants the specs approved and returns from validation to building
// once.
func TestFromASentenceToValidatedWork(t *testing.T) {
	t.Parallel()
	p := scripted(t, strings.ReplaceAll(lifecycle, "SPEC", loginSpec), check, nil)
	p.wants(t, 6, []string{"Q1", "Which greeting?", "- hello", "git ralph answer Q1"}, "run", "Build a login")
	if got := p.field(t, "status"); got != "paused" {
		t.Errorf("the status is %v", got)
	}
	if got := p.field(t, "phase"); got != "discovery" {
		t.Errorf("the phase is %v", got)
	}
	p.wants(t, 6, []string{"Q1", "waits for answers"}, "run")
	p.wants(t, 1, []string{"there is no question Q7", "open: Q1"}, "answer", "Q7", "x")
	p.wants(t, 0, []string{"Q1: hello"}, "answer", "Q1", "1")

	p.wants(t, 6, []string{"specs/login.md", "2 acceptance criteria", "git ralph approve"}, "run")
	if got := p.subjects(t)[0]; !strings.HasSuffix(got, "]: discovery Login") {
		t.Errorf("the newest commit is %q", got)
	}
	if got := p.Git("log", "-1", "--format=%(trailers:key=Ralph-Phase,valueonly)"); strings.TrimSpace(got) != "discovery" {
		t.Errorf("the phase in the commit is %q", got)
	}
	p.wants(t, 6, []string{"waits for a person"}, "run")
	p.wants(t, 0, []string{"approved: the specs"}, "approve", "fine")
	p.wants(t, 0, []string{"the discovery was approved already"}, "approve")

	r := p.wants(t, 0, []string{"discovery → planning", "planning → building: 2 tasks", "building → validation",
		"validation → building",
		"1 of 2 criteria met", "# Validation passed", "complete"}, "run")
	if got := p.Read("login.txt") + p.Read("logout.txt") + p.Read("extra.txt"); got != "hello\nbye\n" {
		t.Errorf("the files say %q: what the validation changed must be gone\n%s", got, r.out)
	}
	var tasks []map[string]any
	if err := json.Unmarshal([]byte(p.must(t, "tasks", "--json")), &tasks); err != nil {
		t.Fatal(err)
	}
	if len(tasks) != 3 || tasks[2]["title"] != "logout.txt says bye" || tasks[2]["spec"] != "specs/login.md" ||
		tasks[2]["status"] != "done" {
		t.Errorf("the tasks are %v", tasks)
	}
	var report struct {
		Passed bool
		Specs  []struct {
			File     string
			Criteria []struct{ Text, Verdict, Evidence string }
		}
	}
	if err := json.Unmarshal([]byte(p.must(t, "validate", "--report", "--json")), &report); err != nil {
		t.Fatal(err)
	}
	if !report.Passed || len(report.Specs) != 1 || len(report.Specs[0].Criteria) != 2 ||
		report.Specs[0].Criteria[1].Evidence != "`grep bye logout.txt` exited with 0" {
		t.Errorf("the report is %+v", report)
	}
	if got := p.field(t, "status"); got != "complete" {
		t.Errorf("the status is %v", got)
	}
	p.wants(t, 0, []string{"complete"}, "run")
	p.wants(t, 0, []string{"complete"}, "start")
	log := p.Git("log", "--format=%s", "ralph/heads/main")
	for _, line := range []string{"phase: discovery to planning", "phase: planning to building",
		"phase: building to validation", "phase: validation to building", "report: validation failed",
		"report: validation passed", "question Q1", "operator: approve"} {
		if !strings.Contains(log, line) {
			t.Errorf("the journal does not say %q:\n%s", line, log)
		}
	}
	p.sound(t)
}

func TestAnswersFile(t *testing.T) {
	t.Parallel()
	rows := map[string]string{"lines": "hello\n", "named lines": "Q1: hello\n", "a list": `["hello"]`,
		"by id": `{"q1": "hello"}`, "by question": `{"Which greeting?": "hello"}`, "the number of an option": "1\n"}
	for _, name := range long.Names(t, rows, 3) {
		text := rows[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := scripted(t, strings.ReplaceAll(lifecycle, "SPEC", loginSpec), check, nil)
			p.Git("config", "core.excludesFile", "/dev/null")
			file := filepath.Join(filepath.Dir(p.Dir), "answers")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			p.wants(t, 0, []string{"specs/login.md"}, "discover", "--yes", "--answers", file, "Build", "a", "login")
			if got := p.Git("cat-file", "blob", "ralph/heads/main:questions/Q1.toml"); !strings.Contains(got,
				"hello") || !strings.Contains(got, "answered = true") {
				t.Errorf("the question says %s", got)
			}
			if got := p.field(t, "phase"); got != "planning" {
				t.Errorf("the phase is %v", got)
			}
		})
	}
	p := scripted(t, lifecycle, check, nil)
	p.Write("answers.json", "{")
	p.wants(t, 2, []string{"answers.json"}, "run", "--answers", "answers.json", "Build")
}

// TestDiscovery: the harness checks what a discovery run leaves.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	write := func(text string) string { return `{ write = "specs/a.md", content = """` + text + `""" }` }
	bad := strings.Replace(strings.Replace(loginSpec, "## Success Criteria", "## Success", 1), "- [ ]", "-", -1)
	t.Run("a bad spec is named whole, fixed once, and kept", func(t *testing.T) {
		p := scripted(t, "[[play]]\nphase = \"discovery\"\nsteps = ["+write(bad)+"]\nagain = ["+write(loginSpec)+"]\n",
			check, nil)
		p.wants(t, 6, []string{"keep"}, "discover", "Build a login")
		if got := p.field(t, "iteration"); got != 1.0 {
			t.Errorf("it took %v runs", got)
		}
	})
	t.Run("a spec that stays bad is rejected, and its problems are all told", func(t *testing.T) {
		long.Only(t, "a sample of discoveries is tried")
		p := scripted(t, play("discovery", write(bad)), check, nil)
		p.wants(t, 5, []string{"reject", `specs/a.md: no heading "Success Criteria"`,
			"no checklist under \"Acceptance Criteria\""}, "discover", "Build a login")
		if p.Read("specs/a.md") != "" || len(p.subjects(t)) != 1 {
			t.Error("the bad spec stayed")
		}
		p.sound(t)
	})
	t.Run("a driver that takes one prompt is run once more with the problems", func(t *testing.T) {
		long.Only(t, "a sample of discoveries is tried")
		agent :=
			"mkdir -p specs\nif grep -q 'no heading' \"$RALPH_PROMPT_FILE\"; then cat good >specs/a.md; else cat bad " +
				">specs/a.md; fi\n"
		p := newProject(t, agent, check, map[string]string{"good": loginSpec, "bad": bad})
		p.wants(t, 6, []string{"reject", "keep"}, "discover", "Build a login")
		if got := p.field(t, "iteration"); got != 2.0 {
			t.Errorf("it took %v runs", got)
		}
		p.sound(t)
	})
	t.Run("nothing written is nothing discovered", func(t *testing.T) {
		long.Only(t, "a sample of discoveries is tried")
		p := scripted(t, play("discovery", `{ text = "All is clear." }`), check, nil)
		p.wants(t, 5, []string{"specs: none was written"}, "discover", "Build a login")
	})
	t.Run("a change elsewhere rejects", func(t *testing.T) {
		long.Only(t, "a sample of discoveries is tried")
		p := newProject(t, "mkdir -p specs; cat good >specs/a.md; echo x >code.go\n", check,
			map[string]string{"good": loginSpec})
		p.wants(t, 5, []string{"out_of_phase: code.go"}, "discover", "Build a login")
		if p.Read("code.go") != "" || p.Read("specs/a.md") != "" {
			t.Error("it was not taken back")
		}
	})
	t.Run("a rejection reaches the next run", func(t *testing.T) {
		agent :=
			"mkdir -p specs\ncat good >specs/a.md\nif grep -q 'mention the logout' \"$RALPH_PROMPT_FILE\"; then echo " +
				">>specs/a.md; fi\n"
		p := newProject(t, agent, check, map[string]string{"good": loginSpec})
		p.wants(t, 6, nil, "discover", "Build a login")
		p.wants(t, 2, []string{"expected \"<why> ...\""}, "reject")
		p.wants(t, 0, []string{"rejected: the specs"}, "reject", "mention the logout")
		p.wants(t, 6, nil, "run")
		if got := p.Read("specs/a.md"); got != loginSpec+"\n" {
			t.Errorf("the spec says %q", got)
		}
		p.wants(t, 0, []string{"approved: the specs"}, "approve")
	})
	t.Run("nothing to go on with is a mistake of the command line", func(t *testing.T) {
		p := scripted(t, lifecycle, check, nil)
		p.wants(t, 2, []string{"say what you want"}, "run")
		p.wants(t, 2, []string{"say what you want"}, "discover")
		p.wants(t, 8, []string{"no specs"}, "plan")
	})
}

// TestLifecycleKilled ends the run with SIGKILL at steps of every phase. `run`
// continues from there, and no phase is lost or kept twice.
func TestLifecycleKilled(t *testing.T) {
	t.Parallel()
	long.Only(t, "it kills at steps of every phase")
	steps := []string{"append:ref", "checkpoint:ref", "iteration:started", "iteration:agent-ended",
		"iteration:captured", "reject:evidence", "checkpoint:dropped"}
	for _, at := range steps {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			script := strings.ReplaceAll(lifecycle, "SPEC", loginSpec)
			script = strings.ReplaceAll(script, "WRONG", "bye")
			script = strings.ReplaceAll(script, "iteration = 6\n", "iteration = 1\n")
			p := scripted(t, script, check, nil)
			file := filepath.Join(filepath.Dir(p.Dir), "answers")
			if err := os.WriteFile(file, []byte("hello\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			// A step that every phase reaches kills each start. So each start gets at
			// most one write further.
			killed := 0
			for n := range 4 {
				args := []string{"run", "--yes", "--answers", file}
				if n == 0 {
					args = append(args, "Build a login")
				}
				r := p.run(t, []string{"RALPH_FAILPOINT=" + at}, args...)
				if r.code == -1 {
					killed++
				}
				if n == 0 && r.code != -1 {
					t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
				}
				if p.run(t, nil, "status").code != 0 {
					t.Fatal("the state cannot be read")
				}
			}
			if killed == 0 {
				t.Error("the step was never reached")
			}
			p.wants(t, 0, []string{"complete"}, "run", "--yes", "--answers", file, "Build a login")
			if got := p.Read("login.txt") + p.Read("logout.txt"); got != "hello\nbye\n" {
				t.Errorf("the files say %q", got)
			}
			if n := strings.Count(p.Git("log", "--format=%s"), ": discovery "); n != 1 {
				t.Errorf("%d discoveries are committed", n)
			}
			p.sound(t)
		})
	}
}
