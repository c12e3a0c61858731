package plan

import (
	"strings"
	"testing"
)

func TestCritic(t *testing.T) {
	programs := strings.Fields("go sh make npm test find grep python3 install true pytest")
	checks := strings.Fields("unit test tests")
	has := func(list []string) func(string) bool {
		return func(s string) bool {
			for _, x := range list {
				if x == s {
					return true
				}
			}
			return false
		}
	}
	closed := func(path string) bool { return path == "./closed.sh" || path == "tools/closed" }
	c := Critic{Check: has(checks), Program: has(programs), Closed: closed}
	const mayNot = "names a file that may not be executed: chmod +x "
	const placeholder, prose, unknown, noCheck, missing, vacuous = "is a placeholder", "is a sentence",
		"names no check of the project and no program",
		"names a check that the project does not have", "not on PATH: install", "passes whatever was done"
	for _, row := range []struct{ verify, want, why string }{
		{"unit", "", "the name of a check"},
		{"tests", "", "a kind of which there is a check"},
		{"lint", noCheck, "a kind without a check"},
		{"all", noCheck, "neither is this one"},
		{"linter", unknown, "the name of nothing"},
		{"pytest", "", "a program alone"},
		{"TODO", placeholder, ""}, {"todo: write it", placeholder, ""}, {"...", placeholder, ""}, {"…", placeholder, ""},
		{"npm run …", placeholder, ""},
		{"<command>", placeholder, ""}, {"TBD", placeholder, ""}, {"n/a", placeholder, ""}, {"-", placeholder, ""},
		{"your command here", placeholder, ""},
		{"run the tests", prose, "its first word is no program"},
		{"test that the page works", prose, "its first word is a program"},
		{"make sure it works", prose, ""}, {"find the bug", prose, ""}, {"install the program and try it.", prose, ""},
		{"Tests pass", prose, ""},
		{"All tests pass.", prose, ""}, {"User can log in", prose, ""}, {"check manually", prose, ""},
		{"Open browser quickly", prose, "a sentence begins with a capital"},
		{"npm test", "", ""}, {"make all", "", "words of sentences are targets, too"}, {"make test check", "", ""},
		{"go test all", "", ""}, {"npm run it", "", "names of scripts"}, {"make it", "", ""}, {"npm test works", "", ""},
		{"npm test is green", prose, ""}, {"pytest tests pass properly", prose, ""}, {"test it manually", prose, ""},
		{"go test ./...", "", "dots are no placeholder here"}, {"go vet ./... && make", "", ""},
		{"sh accept.sh", "", "a script that the task will write"}, {"./test.sh", "", ""}, {"scripts/x", "", ""},
		{"./closed.sh -v", mayNot + "./closed.sh", ""}, {"CI=1 tools/closed; true x", mayNot + "tools/closed", ""},
		{"sh ./closed.sh", "", "a shell reads it"}, {"'./closed.sh'", "", "a quotation is not looked into"},
		{"cd web && npm test", "", ""},
		{"test -f page.html", "", ""}, {"! grep -q x y", "", ""}, {"CI=1 npm test", "", ""},
		{"grep -q 'it works' out.txt", "", ""}, {`python3 -c "import this"`, "", ""},
		{"cargo test", missing, "a warning: another machine may have it"}, {"CI=1 cargo test", missing, ""},
		{"cargo clippy -- -D warnings", missing, ""},
		{"true", vacuous, ""}, {"exit 0", vacuous, ""}, {"echo ok", vacuous, ""}, {"echo ok | grep -q no", "", ""},
		{"go test ./... || true", vacuous, ""}, {"npm test; true", vacuous, ""},
		{"make test || echo 'it failed'", vacuous, ""},
		{"make check || exit 0", vacuous, ""}, {"test 1 = 1", vacuous, ""}, {"[ 1 -eq 1 ]", vacuous, ""},
		{"[ 1 = 2 ]", "", ""}, {"make test || exit 1", "", ""}, {"sh -c 'rm -f x || true; test -e y'", "", ""},
		{"test -f x; test -e y", "", ""}, {"grep -q x y || { echo no; exit 1; }", "", ""},
	} {
		text, warning := c.command(row.verify)
		if row.want == "" && text != "" || !strings.Contains(text, row.want) {
			t.Errorf("%q (%s): %q, want %q", row.verify, row.why, text, row.want)
		}
		if warning != (row.want == missing || row.want == vacuous || strings.HasPrefix(row.want, mayNot)) {
			t.Errorf("%q: warning %v", row.verify, warning)
		}
	}
	// Without known checks and programs only the words count.
	for _, v := range []string{"lint", "linter", "cargo test", "make"} {
		if text, _ := (Critic{}).command(v); text != "" {
			t.Errorf("%q: %s", v, text)
		}
	}
}

func TestCriticOfTasks(t *testing.T) {
	p := tasks("a done", "b", "c", "d pending 1 e", "e skipped")
	p.Tasks[2].Title = "  TASK B "
	p.Tasks[3].Title = "Build the entire authentication system, all endpoints and the frontend"
	known := func(string) bool { return false }
	got := func(c Critic) string {
		var out []string
		for _, x := range Review(p, c) {
			kind := "error "
			if x.Warning {
				kind = "warning "
			}
			out = append(out, kind+x.Text)
		}
		return strings.Join(out, "\n")
	}
	text := got(Critic{TaskTokens: 30000, Check: known})
	for _, want := range []string{"warning nothing can prove b: give it a command", "warning c has the title of b",
		"warning d waits on e, which is left out",
		"warning d reads like several tasks (entire, authentication, system, all, endpoints, frontend) and has no " +
			"estimated_tokens"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if text := got(Critic{TaskTokens: 30000, Check: known, Checked: true}); strings.Contains(text, "prove") {
		t.Errorf("the checks of the project judge every task:\n%s", text)
	}
	text = got(Critic{TaskTokens: 30000, Check: known, Checked: true, Agent: true})
	for _, want := range []string{"error b has no criteria", "error d reads like several tasks", "error d waits on e"} {
		if !strings.Contains(text, want) {
			t.Errorf("an agent is not refused: %q is not in\n%s", want, text)
		}
	}
	p.Tasks[3].EstimatedTokens = 20000
	if text := got(Critic{TaskTokens: 30000, Agent: true}); strings.Contains(text, "several") {
		t.Errorf("an estimate speaks for itself:\n%s", text)
	}
	after := p.clone()
	after.Tasks[1].Verify = []string{"TODO"}
	if found := (Critic{}).New(p, after); len(found) != 1 || found[0].Task != "b" {
		t.Errorf("new problems alone: %v", found)
	}
}
