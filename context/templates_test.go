package agentctx

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"git-ralph/plan"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func TestTemplatesAreChecked(t *testing.T) {
	rows := []struct {
		name, file, text string
		want             []string
	}{
		{"a misspelt field names file, line and the nearest one", "building.md", "one\ntwo {{iteraton}}",
			[]string{"template building.md, line 2: unknown field {{iteraton}}, did you mean {{iteration}}?"}},
		{"nothing is near", "building.md", "{{zzzzzzzzzz}}", []string{"unknown field {{zzzzzzzzzz}}; known are", "task_id"}},
		{"a field of another role", "planning.md", "{{problems}}", []string{"line 1: unknown field {{problems}}"}},
		{"an empty name", "building.md", "{{ }}", []string{"unknown field {{}}"}},
		{"an open brace", "building.md", "a\nb {{task\nc", []string{"line 2: {{ without }}"}},
		{"a stray closing brace", "building.md", "a }} b", []string{"line 1: }} without {{"}},
		{"a block that does not end", "building.md", "{{#checks}}\nx",
			[]string{"line 1: the block of checks is not closed with {{/checks}}"}},
		{"blocks that cross", "building.md", "{{#checks}}{{#verify}}{{/checks}}{{/verify}}",
			[]string{"{{/checks}} closes nothing"}},
		{"a block that was never opened", "building.md", "x {{/checks}}", []string{"{{/checks}} closes nothing"}},
		{"a misspelt block", "building.md", "{{#cheks}}x{{/cheks}}", []string{"did you mean {{checks}}?"}},
		{"an empty file", "indexer.md", " \n", []string{"template indexer.md, line 1: the template is empty"}},
		{"every mistake at once", "building.md", "{{a1}}\n{{b2}}", []string{"line 1: unknown field {{a1}}",
			"line 2: unknown field {{b2}}"}},
		{"a variant for a task type", "building.docs.md", "{{tusk}}", []string{"template building.docs.md, line 1",
			"{{task}}"}},
		{"a pass's own file", "security.md", "{{verdikt}}", []string{"did you mean {{verdict}}?"}},
		{"too large", "building.md", strings.Repeat("x", maxTemplate+1), []string{"has 65537 bytes"}},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := LoadTemplates(fstest.MapFS{row.file: file(row.text)})
			if err == nil {
				t.Fatal("accepted")
			}
			for _, part := range row.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}

func TestTemplatesOfAProject(t *testing.T) {
	tpl, err := LoadTemplates(fstest.MapFS{
		"building.md":      file("\ufeffBUILD {{task_id}}\r\n{{#failure}}\r\nFAILED {{failure}}\r\n{{/failure}}\r\nend"),
		"building.Docs.md": file("WRITE {{task_id}}"),
		"security.md":      file("LOOK {{pass}} {{manifest}}"),
		"README.md":        file("not a template: {{anything}}"),
		"notes.txt":        file("{{anything}}"),
		"old":              &fstest.MapFile{Mode: os.ModeDir},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := project()
	o := options(HandoffOnly)
	o.Templates = tpl
	if got := Assemble(s, "T-003", o).Text; !strings.Contains(got, "BUILD T-003\nFAILED The attempt") ||
		!strings.HasSuffix(got, "\nend\n") {
		t.Errorf("the project's template is not used:\n%s", got)
	}
	s.Plan.Tasks[2].Type = "docs"
	if got := Assemble(s, "T-003", o).Text; !strings.Contains(got, "WRITE T-003") || strings.Contains(got, "BUILD") {
		t.Errorf("the variant of the task's type is not used:\n%s", got)
	}
	job := Helper(Reviewer, s, "T-003", HelperOptions{Options: o, Pass: "review", Template: "security.md"})
	if !strings.HasPrefix(job.Prompt.Text, "LOOK review - `task.md`") {
		t.Errorf("the pass's template is not used: %s", job.Prompt.Text)
	}
	// The others stay the embedded ones.
	if file, text := tpl.Source(Planning); file != "planning.md" || !strings.Contains(text, "ralph_add_task") {
		t.Errorf("Source: %q", file)
	}
	if same, err := LoadTemplates(nil); err != nil || same != embedded() {
		t.Errorf("without a folder: %v", err)
	}
	if _, err := LoadTemplates(os.DirFS(filepath.Join(t.TempDir(), "missing"))); err == nil ||
		!strings.Contains(err.Error(), "read the templates") {
		t.Errorf("a missing folder: %v", err)
	}
}

// TestTemplateValuesAreText: a value is inserted as text and not parsed.
func TestTemplateValuesAreText(t *testing.T) {
	tpl, err := parseTemplate("x", "{{task_id}}|{{#goal}}G{{/goal}}{{^goal}}none{{/goal}}|{{phase}}", Building)
	if err != nil {
		t.Fatal(err)
	}
	got := tpl.render(map[string]string{"task_id": "{{goal}} {{#x}}", "goal": "  ", "phase": "p\n\n"})
	if got != "{{goal}} {{#x}}|none|p" {
		t.Errorf("%q", got)
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("{{task}} {{#checks}}a{{/checks}}")
	f.Add("{{#checks}}\n{{^verify}}\nx\n{{/verify}}\n{{/checks}}\n}}")
	f.Fuzz(func(t *testing.T, text string) {
		tpl, err := parseTemplate("x.md", text, Building)
		if err != nil {
			return
		}
		values := map[string]string{}
		for _, name := range fieldNames(Building) {
			values[name] = "V"
		}
		if out := tpl.render(values); strings.Contains(out, "{{") {
			t.Fatalf("%q left %q", text, out)
		}
	})
}

// TestEmbeddedTemplates: every template is short, shows the checks that the
// agent is judged by, and asks for a field only where it is filled in.
func TestEmbeddedTemplates(t *testing.T) {
	for _, role := range Roles() {
		file, text := embedded().Source(role)
		if file != string(role)+".md" || len(text) > 4000 {
			t.Errorf("%s: file %q, %d bytes", role, file, len(text))
		}
		judged := strings.Contains(text, "{{checks}}")
		// These two are shown beside a prompt that lists the checks.
		if role == FirstIteration || role == HandoffRepair {
			judged = true
		}
		if !judged {
			t.Errorf("%s does not show the checks", role)
		}
	}
	// A prompt without checks, criteria and guidance has no empty lists and no
	// placeholders.
	s := project()
	s.Plan.Tasks[2] = plan.Task{ID: "T-003", Title: "x", Status: plan.Pending}
	for _, mode := range []Mode{HandoffOnly, HandoffIndex} {
		p := Assemble(s, "T-003", Options{Mode: mode})
		for _, bad := range []string{"{{", "}}", "\n\n\n", ":\n\n\n", "No check is configured: show"} {
			if got := strings.Contains(p.Text, bad); got != strings.HasPrefix(bad, "No check") {
				t.Errorf("%s: %q in\n%s", mode, bad, p.Text)
			}
		}
	}
}

// TestTemplatesAreDocumented compares doc/templates.md with the fields.
func TestTemplatesAreDocumented(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "doc", "templates.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc := strings.ReplaceAll(string(data), "\r\n", "\n")
	rows := map[string]string{}
	for _, m := range regexp.MustCompile(
		"(?m)^\\| `\\{\\{([a-z_]+)\\}\\}` \\| (.*) \\| (.*) \\|$").FindAllStringSubmatch(doc, -1) {
		rows[m[1]] = m[2] + " | " + m[3]
	}
	for _, f := range Fields() {
		want := f.Help + " | " + rolesText(f.Roles)
		if rows[f.Name] != want {
			t.Errorf("doc/templates.md should have the line\n| `{{%s}}` | %s |", f.Name, want)
		}
		delete(rows, f.Name)
	}
	for name := range rows {
		t.Errorf("doc/templates.md describes {{%s}}, which does not exist", name)
	}
	for _, role := range Roles() {
		if !strings.Contains(doc, "`"+string(role)+".md`") {
			t.Errorf("doc/templates.md does not name %s.md", role)
		}
	}
}

func rolesText(roles []Role) string {
	if len(roles) == len(Roles())-1 && !slices.Contains(roles, HandoffRepair) {
		return "all but handoff-repair"
	}
	var names []string
	for _, r := range Roles() {
		if slices.Contains(roles, r) {
			names = append(names, string(r))
		}
	}
	return strings.Join(names, ", ")
}
