package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

func addTask(fields string) string {
	return "{ tool = \"ralph_add_task\", args = { description = \"d\", criteria = [\"c\"], " + fields + " } }"
}

// reportOf is a report of a criterion. Evidence is words, or a TOML table.
func reportOf(spec, criterion, verdict, evidence string) string {
	if !strings.HasPrefix(evidence, "{") {
		evidence = `"` + evidence + `"`
	}
	return `{ tool = "ralph_report_criterion", args = { spec = "` + spec + `", criterion = "` + criterion +
		`", verdict = "` + verdict + `", evidence = ` + evidence + ` } }`
}

// titles are the plan as "id status title".
func (p *project) titles(t *testing.T) string {
	t.Helper()
	var tasks []struct{ ID, Status, Title string }
	if err := json.Unmarshal([]byte(p.must(t, "tasks", "--json")), &tasks); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, x := range tasks {
		out = append(out, x.ID+" "+x.Status+" "+x.Title)
	}
	return strings.Join(out, "\n")
}

var specs = map[string]string{"specs/login.md": loginSpec}

func TestPlanning(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies the plans")
	t.Run("a plan is shown as a tree, and again as a difference; what is done stays", func(t *testing.T) {
		p := scripted(t, play("building", `{ write = "${RALPH_TASK_ID}.txt", content = "x\n" }`,
			`{ handoff = { summary = "s", freeform = "It was written as the task asked, nothing else was touched at all." } }`)+
			"[[play]]\nphase = \"planning\"\niteration = 1\nsteps = ["+addTask(`title = "one"`)+","+
			addTask(`title = "two", depends_on = ["T-001"]`)+"]\n"+
			play("planning", addTask(`title = "three"`)), check, specs)
		p.wants(t, 0, []string{"T-001  one\n└─ T-002  two"}, "plan")
		p.wants(t, 4, nil, "start", "--once")
		p.wants(t, 0, []string{"difference: 1 added, 1 changed", "plan: T-002 is set aside until a person agrees: two",
			"+ T-003 three"}, "plan")
		if got := p.titles(t); got != "T-001 done one\nT-002 skipped two\nT-003 pending three" {
			t.Errorf("the plan is\n%s", got)
		}
		p.wants(t, 0, []string{"archived T-001 one"}, "archive")
		p.wants(t, 0, []string{"no task is done"}, "archive")
		if got := p.titles(t); got != "T-002 skipped two\nT-003 pending three" {
			t.Errorf("the plan is\n%s", got)
		}
		if got := p.Git("log", "--format=%s", "ralph/heads/main", "--", "tasks/T-001.toml"); !strings.Contains(got,
			"iteration 2: keep T-001 one") {
			t.Errorf("its life is gone: %s", got)
		}
		p.wants(t, 0, []string{"T-004  three", "plan: T-003 is set aside"}, "regenerate")
		p.wants(t, 0, []string{"left out: T-002 two", "left out: T-003 three"}, "approve")
		p.sound(t)
	})
	t.Run("the worktree cannot be written", func(t *testing.T) {
		p := newProject(t,
			"echo x > new.txt; echo y >> README; git ralph tool ralph_add_task "+
				"'{\"title\":\"one\",\"criteria\":[\"c\"],\"description\":\"d\"}'\n", check,
			map[string]string{"specs/login.md": loginSpec, "README": "hello\n"})
		p.wants(t, 0, []string{"T-001  one"}, "plan")
		if got := p.Read("new.txt") + p.Read("README"); got != "hello\n" {
			t.Errorf("the files say %q", got)
		}
		p.sound(t)
	})
	t.Run("a plan with a cycle is refused when it is made", func(t *testing.T) {
		p := scripted(t, play("planning", addTask(`id = "A", title = "a"`),
			addTask(`id = "B", title = "b", depends_on = ["A"]`),
			addTask(`id = "A", title = "a", depends_on = ["B"], replace = true`),
			addTask(`id = "C", title = "c", depends_on = ["C"]`)), check, specs)
		p.wants(t, 0, nil, "plan")
		if got := p.titles(t); got != "A pending a\nB pending b" {
			t.Errorf("the plan is\n%s", got)
		}
		if got := p.Git("cat-file", "blob", p.evidence(t, 1)+":transcript.jsonl"); !strings.Contains(got,
			"depends on itself") {
			t.Errorf("the agent was not told:\n%s", got)
		}
	})
	t.Run("no task is no plan; the agent is asked once", func(t *testing.T) {
		p := scripted(t, play("planning", `{ text = "There is nothing to do." }`), check, specs)
		p.must(t, "add", "an old task")
		p.wants(t, 5, []string{"plan: no task was added"}, "plan")
		if got := p.titles(t); got != "T-001 pending an old task" {
			t.Errorf("the plan is\n%s", got)
		}
		p = scripted(t, "[[play]]\nphase = \"planning\"\nsteps = [{ text = \"hm\" }]\nagain = ["+
			addTask(`title = "one"`)+"]\n", check, specs)
		p.wants(t, 0, []string{"T-001  one"}, "plan")
	})
	t.Run("a plan that wants to be approved", func(t *testing.T) {
		p := scripted(t, play("planning", addTask(`title = "one"`)), "[planning]\nconfirm = true\n"+check, specs)
		p.wants(t, 6, []string{"T-001  one", "git ralph approve"}, "plan")
		p.wants(t, 6, []string{"waits for a person"}, "start")
		p.must(t, "reject", "smaller steps")
		p.wants(t, 0, nil, "plan", "--yes")
		if got := p.Git("cat-file", "blob", p.evidence(t, 2)+":prompt.md"); !strings.Contains(got, "smaller steps") {
			t.Errorf("the agent was not told:\n%s", got)
		}
	})
	t.Run("add --plan adds and replaces nothing", func(t *testing.T) {
		p := scripted(t, play("planning", addTask(`title = "new"`)), check, nil)
		p.must(t, "add", "old")
		p.wants(t, 0, []string{"+ T-002 new"}, "add", "--plan", "make something new")
		p.Write("more.md", "and more")
		p.wants(t, 0, []string{"+ T-003 new"}, "add", "--plan", "@more.md")
		if got := p.Git("cat-file", "blob", p.evidence(t, 2)+":prompt.md"); !strings.Contains(got, "and more") {
			t.Errorf("the agent was not told:\n%s", got)
		}
		r := p.run(t, nil, "add", "--plan", "more.md", "--json")
		var added []map[string]any
		if err := json.Unmarshal([]byte(r.out), &added); err != nil || len(added) != 1 || added[0]["id"] != "T-004" {
			t.Errorf("%v: %s%s", err, r.out, r.err)
		}
		if got := p.field(t, "phase"); got != "building" {
			t.Errorf("the phase is %v", got)
		}
	})
}

// evidence is the evidence commit of an iteration.
func (p *project) evidence(t *testing.T, n int) string {
	t.Helper()
	var doc struct{ Evidence string }
	if err := json.Unmarshal([]byte(p.must(t, "show", strconv.Itoa(n), "--json")), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Evidence
}

func TestValidation(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies what a validation finds")
	const spec, hello, bye = "specs/login.md", "login.txt says hello", "logout.txt says bye"
	files := map[string]string{"specs/login.md": loginSpec, "login.txt": "hello\n", "logout.txt": "bye\n"}
	const seenHello, seenBye = `{ file = "login.txt", quote = "hello" }`, `{ command = "cat logout.txt", expect = "bye" }`
	judged := func(evidence string) []string {
		return []string{reportOf(spec, hello, "pass", evidence), reportOf(spec, bye, "pass", seenBye)}
	}
	rows := map[string]struct {
		steps    []string
		code     int
		says     []string
		settings string
	}{
		"every criterion with evidence": {judged(seenHello), 0, []string{"# Validation passed",
			"2 of 2 criteria met (1 proved, 1 judged, 0 unjudged)",
			"pass: login.txt:1 says \"hello\" (judged)",
			"pass: `cat logout.txt` exited with 0 and printed \"bye\" (proved)"}, ""},
		"fields beside each other": {[]string{`{ tool = "ralph_report_criterion", args = { spec = "` + spec +
			`", criterion = "` + hello +
			`", verdict = "pass", command = "grep -qx hello login.txt", evidence = "I saw it" } }`,
			reportOf(spec, bye, "pass", seenBye)}, 0,
			[]string{"(2 proved, 0 judged, 0 unjudged)", "the judge's words: I saw it"}, ""},
		"without a fresh checkout": {judged(`{ command = "grep -qx hello login.txt" }`), 0,
			[]string{"(2 proved, 0 judged"}, "[validation]\nfresh = \"never\"\n"},
		"after the setup": {judged(`{ command = "grep -q hello built" }`), 0,
			[]string{"(2 proved, 0 judged"}, "[project]\nsetup = [\"cp login.txt built\"]\n"},
		"not reported is failed": {[]string{reportOf(spec, hello, "pass", seenHello)}, 1,
			[]string{"- [ ] logout.txt says bye\n  - fail: not reported (unjudged)"}, ""},
		"nothing said is nothing shown": {[]string{`{ text = "Everything passes." }`}, 1,
			[]string{"0 of 2 criteria met"}, ""},
		"fail wins over pass": {[]string{reportOf(spec, hello, "fail", "no"), reportOf(spec, hello, "pass", seenHello),
			reportOf(spec, bye, "pass", seenBye)}, 1,
			[]string{"- [ ] login.txt says hello\n  - fail: no", "(1 proved, 0 judged, 0 unjudged, 1 failed)"}, ""},
		"a person wants to see it": {judged(seenHello), 6,
			[]string{"# Validation passed", "git ralph approve"}, "[validation]\nhuman_approval = true\n"},
		"no returns to building": {[]string{`{ text = "no" }`}, 6, []string{"the validation failed after 0 returns"},
			"[validation]\nrounds = 0\n"},
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		c := rows[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := scripted(t, play("validation", c.steps...), c.settings+check, files)
			p.wants(t, c.code, c.says, "validate")
			p.wants(t, 0, nil, "validate", "--report")
			p.sound(t)
		})
	}
	t.Run("what counts for nothing", func(t *testing.T) {
		t.Parallel()
		const unreported, alone = "not reported (unjudged)", "nothing but the specs is"
		const ran = "exited with 1 when the harness ran it"
		rows := []struct{ criterion, evidence, says string }{
			{"words alone", "cat login.txt: hello, login.txt:1", "the judge gave words alone"},
			{"nothing at all is refused", " ", unreported},
			{"a file without a quotation", `{ file = "login.txt" }`, unreported},
			{"a file that is not there", `{ file = "src/login.go", quote = "hello" }`, "src/login.go is not in the commit"},
			{"a text that is not there", `{ file = "login.txt", quote = "goodbye" }`, "login.txt does not say"},
			{"the requirement itself", `{ file = "specs/login.md", quote = "the requirement itself" }`, "says what is wanted"},
			{"a letter", `{ file = "login.txt", quote = "e" }`, "too little to quote"},
			{"a file that repeats the criterion", `{ file = "notes.md", quote = "A file that repeats the criterion" }`,
				"repeats the criterion"},
			{"a line with a bracket alone", `{ file = "notes.md", quote = "}" }`, "too little to quote"},
			{"a path that leads out", `{ file = "../../../etc/passwd", quote = "root:" }`, "is not in the commit"},
			{"a file of the judge", `{ file = "shown.txt", quote = "hello" }`, "shown.txt is not in the commit"},
			{"a command that fails", `{ command = "grep -q goodbye login.txt" }`, "`grep -q goodbye login.txt` " + ran},
			{"a command that prints otherwise", `{ command = "cat login.txt", expect = "goodbye" }`, `did not print "goodbye"`},
			{"a command of a file that the judge made", `{ command = "test -e shown.txt" }`, ran},
			{"true", `{ command = "true" }`, alone},
			{"echo", `{ command = "echo hello", expect = "hello" }`, alone},
			{"a command that cannot fail", `{ command = "grep -q hello login.txt || true" }`, alone},
			{"a command that makes what it finds", `{ command = "echo hello > x; cat x", expect = "hello" }`, alone},
			{"a command that reads the requirement", `{ command = "grep letter specs/login.md", expect = "letter" }`, alone},
			{"a command that asks git where it is", `{ command = "git rev-parse HEAD && ls -a | grep -q .git" }`, alone},
			{"a command that the guard denies", `{ command = "git push origin main" }`, "`git push origin main` was not run"},
		}
		text, _, _ := strings.Cut(loginSpec, "- [ ] "+hello)
		text += "- [ ] " + hello + "\n"
		steps := []string{`{ write = "shown.txt", content = "hello\n" }`, reportOf(spec, hello, "pass", seenHello)}
		for _, row := range rows {
			text += "- [ ] " + row.criterion + "\n"
			steps = append(steps, reportOf(spec, row.criterion, "pass", row.evidence))
		}
		p := scripted(t, play("validation", steps...), check, map[string]string{spec: text, "login.txt": "hello\n",
			"notes.md": "A file that repeats the criterion.\n}\n"})
		r := p.wants(t, 1, []string{fmt.Sprintf("(0 proved, 1 judged, %d unjudged)", len(rows))}, "validate")
		for _, row := range rows {
			_, after, _ := strings.Cut(r.out, "- [ ] "+row.criterion+"\n  - fail: ")
			if line, _, _ := strings.Cut(after, "\n"); !strings.Contains(line, row.says) {
				t.Errorf("%s: the report says %q, not %q", row.criterion, line, row.says)
			}
		}
		if t.Failed() {
			t.Log(r.out, r.err)
		}
		p.sound(t)
	})
	t.Run("the checks are run in a fresh checkout first", func(t *testing.T) {
		p := scripted(t, play("validation", judged(seenHello)...),
			"[[checks]]\nname = \"test\"\nrun = \"test -e ignored\"\n",
			map[string]string{"specs/login.md": loginSpec, "login.txt": "hello\n", "logout.txt": "bye\n",
				".gitignore": "ignored\n"})
		p.Write("ignored", "x")
		p.wants(t, 1, []string{"- [ ] test"}, "validate")
		if got := p.titles(t); got != "T-001 pending make the checks pass in a fresh checkout: test" {
			t.Errorf("the plan is\n%s", got)
		}
	})
	t.Run("approve and reject", func(t *testing.T) {
		p := scripted(t, play("validation", judged(seenHello)...),
			"[validation]\nhuman_approval = true\n"+check, files)
		p.wants(t, 6, nil, "validate", "--yes")
		p.wants(t, 6, []string{"waits for a person"}, "run", "--yes")
		p.wants(t, 0, []string{"+ T-001 the colour is wrong"}, "reject", "the colour is wrong")
		if got := p.field(t, "phase"); got != "building" {
			t.Errorf("the phase is %v", got)
		}
		p.must(t, "skip", "T-001")
		p.wants(t, 6, nil, "validate")
		p.Git("commit", "-q", "--allow-empty", "-m", "nobody has looked at this")
		p.wants(t, 1, []string{"the branch has moved since it was validated", "git ralph validate"}, "approve")
		p.wants(t, 6, nil, "validate")
		p.wants(t, 0, []string{"complete"}, "approve")
		if got := p.field(t, "status"); got != "complete" {
			t.Errorf("the status is %v", got)
		}
	})
	t.Run("without specs the checks and the tasks decide", func(t *testing.T) {
		p := newProject(t, "echo x > broken\n"+doTask, "[loop]\nmax_attempts = 1\n"+check, nil)
		p.must(t, "add", "cannot be done")
		p.wants(t, 3, []string{"blocked", "T-001"}, "run")
		p.wants(t, 0, []string{"# Validation failed", "T-001: failed"}, "validate", "--report")
		p.wants(t, 3, []string{"blocked"}, "run")
	})
}

func TestReset(t *testing.T) {
	t.Parallel()
	p := scripted(t, lifecycle, check, map[string]string{"specs/login.md": loginSpec, "staged.txt": "old\n"})
	p.must(t, "add", "one")
	p.wants(t, 2, []string{"give up a plan of 1 task and remove specs/login.md", "git ralph reset --yes"}, "reset")
	p.Write("staged.txt", "new\n")
	p.Git("add", "staged.txt")
	p.wants(t, 0, []string{"removed by a commit: specs/login.md"}, "reset", "--yes")
	if got := p.Git("show", "--format=", "--name-status", "HEAD"); got != "D\tspecs/login.md" {
		t.Errorf("the commit is %q", got)
	}
	if got := p.Git("status", "--porcelain"); got != "M  staged.txt" {
		t.Errorf("what was staged is %q", got)
	}
	if got := p.titles(t); got != "" {
		t.Errorf("the plan is %s", got)
	}
	if got := p.Git("log", "--format=%s", "ralph/heads/main"); !strings.Contains(got, "operator: reset") ||
		!strings.Contains(got, "plan: add T-001") {
		t.Errorf("the history is %s", got)
	}
	p = scripted(t, lifecycle, check, specs)
	p.must(t, "add", "one")
	p.must(t, "reset", "--yes", "--keep-specs")
	if p.Read("specs/login.md") != loginSpec {
		t.Error("the specs are gone")
	}
}

func TestSetup(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies the set-up")
	t.Run("once in a worktree, and in every fresh checkout", func(t *testing.T) {
		p := newProject(t, doTask, "[project]\nsetup = [\"echo ran >> $HOME_LOG/log\"]\n"+
			"[guard]\nwritable = [\"LOG\"]\n[[checks]]\nname = \"test\"\nrun = \"test -e tool\"\n", nil)
		dir := filepath.Join(filepath.Dir(p.Dir), "log")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		p.Write(".gitignore", "tool\n")
		p.Write("ralph.toml", strings.NewReplacer("LOG", dir, "$HOME_LOG/log",
			dir+"/log; touch tool").Replace(p.Read("ralph.toml")))
		p.Git("add", "-A")
		p.Git("commit", "-qm", "setup")
		p.must(t, "trust")
		p.must(t, "add", "one")
		p.must(t, "add", "two")
		p.wants(t, 4, nil, "start", "--once")
		log := func() int { b, _ := os.ReadFile(filepath.Join(dir, "log")); return strings.Count(string(b), "ran") }
		if n := log(); n != 1 {
			t.Errorf("the setup ran %d times before the first iteration", n)
		}
		p.wants(t, 0, nil, "start")
		if n := log(); n != 2 {
			t.Errorf("the setup ran %d times, with one fresh checkout", n)
		}
	})
	t.Run("one that fails refuses to start", func(t *testing.T) {
		p := newProject(t, doTask, "[project]\nsetup = [\"echo no tool here; exit 3\"]\n"+check, nil)
		p.must(t, "add", "one")
		p.wants(t, 8, []string{"the setup failed", "no tool here", "hint:"}, "start")
		if got := p.field(t, "iteration"); got != 0.0 {
			t.Errorf("%v iterations", got)
		}
	})
	t.Run("the setup prompt is one iteration before the first task", func(t *testing.T) {
		agent :=
			"if [ -z \"$RALPH_TASK_ID\" ]; then grep -q 'Install the tools' \"$RALPH_PROMPT_FILE\" && echo ready > tools.txt; " +
				"exit; fi\n" + doTask
		p := newProject(t, agent, "[project]\nsetup_prompt = \"SETUP.md\"\n"+check,
			map[string]string{"SETUP.md": "Install the tools.\n"})
		p.must(t, "add", "one")
		p.wants(t, 0, nil, "start")
		if got := strings.Join(p.subjects(t),
			"|"); got != "ralph[2]: T-001 one|ralph[1]: building prepare the project|first" {
			t.Errorf("the log says %s", got)
		}
		p.must(t, "add", "two")
		p.wants(t, 0, nil, "start")
		if got := p.subjects(t)[0]; got != "ralph[3]: T-002 two" {
			t.Errorf("the newest commit is %q", got)
		}
		p.sound(t)
	})
	t.Run("one that breaks the checks ends the run", func(t *testing.T) {
		p := newProject(t, "echo x > broken\n", "[project]\nsetup_prompt = \"SETUP.md\"\n"+check,
			map[string]string{"SETUP.md": "Install the tools.\n"})
		p.must(t, "add", "one")
		p.wants(t, 5, []string{"setup_prompt: checks: test"}, "start")
		p.sound(t)
	})
	t.Run("a file that is not there is told before anything is done", func(t *testing.T) {
		p := newProject(t, doTask, "[project]\nsetup_prompt = \"SETUP.md\"\n"+check, nil)
		p.must(t, "add", "one")
		p.wants(t, 8, []string{"project.setup_prompt", "hint:"}, "start")
	})
}

func TestVerify(t *testing.T) {
	t.Parallel()
	long.Only(t, "it varies what verify finds")
	p := newProject(t, doTask, check, nil)
	p.must(t, "add", "the first thing", "--verify", "test -s out-T-001.txt", "--criteria", "it is there")
	p.must(t, "add", "the second thing")
	p.must(t, "start")
	p.wants(t, 0, []string{"proved", "T-001 the first thing", "2 proved, 0 failed",
		"criteria: 1 proved, 0 judged, 1 unjudged", "2 said to be done, 0 of them"}, "verify")
	var doc struct {
		Proved, Failed, Others int
		Commits                []struct {
			Commit, Task, Standing string
			Checks                 []struct{ Name string }
		}
		Rate *float64 `json:"false_completion_rate"`
	}
	if err := json.Unmarshal([]byte(p.must(t, "verify", "HEAD~1..", "--json")), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Proved != 1 || doc.Others != 0 || len(doc.Commits) != 1 || doc.Commits[0].Task != "T-002" ||
		doc.Rate == nil || len(doc.Commits[0].Checks) != 2 || doc.Commits[0].Checks[1].Name != "test -s out-T-001.txt" {
		t.Errorf("%+v", doc) // at the tip, the verify commands of finished tasks run as well
	}
	p.wants(t, 2, []string{"no range of commits", "hint:"}, "verify", "nonsense..")

	// A person adds a commit and then squashes all kept commits.
	p.Write("by-hand.txt", "x")
	p.Git("add", "-A")
	p.Git("commit", "-qm", "by hand")
	p.wants(t, 0, []string{"2 proved", "2 commits not made by an iteration"}, "verify")
	p.wants(t, 0, []string{"# Verified: main", "| proved | test, test -s out-T-001.txt |"}, "verify", "--report")
	first := p.Git("rev-list", "--max-parents=0", "HEAD")
	body := p.Git("log", "--reverse", "--format=%B", first+"..HEAD")
	p.Git("reset", "-q", "--soft", first)
	p.Git("commit", "-qm", "all of it\n\n"+body)
	p.wants(t, 0, []string{"1 proved"}, "verify")

	// The commit differs from what was checked.
	p.Write("broken", "x")
	p.Git("add", "-A")
	p.Git("commit", "-q", "--amend", "--no-edit")
	p.wants(t, 1, []string{"failed", "test: failed"}, "verify")
	p.wants(t, 1, []string{"# Not verified"}, "verify", "--report")
	p.Git("reset", "-q", "--hard", first)
	p.wants(t, 1, []string{"missing", "no longer in the branch"}, "verify")
	if out := p.Git("worktree", "list", "--porcelain"); strings.Count(out, "worktree ") != 1 {
		t.Errorf("checkouts are left: %s", out)
	}
}
