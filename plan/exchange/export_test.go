package exchange

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"git-ralph/plan"
)

// everything is a plan in which every field and every status is used, with
// ordinary words: what an export loses of it, it loses of any plan.
func everything() plan.Plan {
	p := plan.Plan{Goal: "A service that greets", Created: time.Date(2026, 1, 30, 12, 0, 0, 0, time.UTC)}
	for i, s := range []plan.Status{plan.Done, plan.Pending, plan.InProgress, plan.Failed, plan.Blocked, plan.Skipped} {
		t := fullTask()
		t.ID, t.Status, t.Priority, t.DependsOn = plan.NumberedID(i+1), s, i, nil
		if i > 0 {
			t.DependsOn = []plan.TaskID{"T-001"}
		}
		t.Title, t.Description = fmt.Sprintf("Part %d", i), "A paragraph.\n\n    code\n\nAnother."
		t.Criteria = []string{"it greets", "the check is quick"}
		t.Verify = []string{"lint", "go test ./... -run 'Greet'"}
		t.MaxAttempts = ptr(3)
		p.Tasks = append(p.Tasks, t)
	}
	return p
}

// TestExportLossesAreDocumented compares the table in doc/import-export.md with the
// losses that Export reports.
func TestExportLossesAreDocumented(t *testing.T) {
	fields := []string{"goal", "created"}
	for _, f := range plan.TaskFields {
		fields = append(fields, f.Name)
	}
	rows := []string{"| field |", "|---|"}
	for _, f := range Formats() {
		rows[0] += " " + string(f) + " |"
		rows[1] += "---|"
	}
	cells := make(map[string][]string)
	for _, format := range Formats() {
		_, lost, err := Export(format, everything())
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range fields {
			cell := "yes"
			if i := slices.IndexFunc(lost, func(l Lost) bool { return l.Field == field }); i >= 0 {
				if cell = lost[i].Why; cell == "no place for it" {
					cell = "–"
				}
			}
			cells[field] = append(cells[field], cell)
		}
	}
	for _, field := range fields {
		rows = append(rows, "| "+field+" | "+strings.Join(cells[field], " | ")+" |")
	}
	table := strings.Join(rows, "\n")

	data, err := os.ReadFile(filepath.Join("..", "..", "doc", "import-export.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc := strings.ReplaceAll(string(data), "\r\n", "\n")
	_, rest, ok := strings.Cut(doc, "<!-- exports -->\n")
	shown, _, ok2 := strings.Cut(rest, "\n<!-- /exports -->")
	if !ok || !ok2 {
		t.Fatal("doc/import-export.md has lost the marks around its table")
	}
	if *update {
		doc = strings.Replace(doc, "<!-- exports -->\n"+shown, "<!-- exports -->\n"+table, 1)
		if err := os.WriteFile(filepath.Join("..", "..", "doc", "import-export.md"), []byte(doc), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(shown, table); d != "" {
		t.Errorf("doc/import-export.md says something else than Export (go test ./plan/exchange -update):\n%s", d)
	}
}

// TestImportLossesAreDocumented: the document lists every key of the examples that
// an import leaves out.
func TestImportLossesAreDocumented(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "doc", "import-export.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(data), "## What an import leaves out")
	if !ok {
		t.Fatal("the section is gone")
	}
	golden, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(golden) == 0 {
		t.Fatal(err, golden)
	}
	for _, name := range golden {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			field, ok := strings.CutPrefix(strings.TrimSpace(line), "# lost: ")
			if !ok {
				continue
			}
			field, _, _ = strings.Cut(field, ":")
			field, _, _ = strings.Cut(field, " (")
			if strings.HasPrefix(field, "tag ") {
				field = "other tags"
			}
			if !strings.Contains(section, field) {
				t.Errorf("%s loses %q, which the document does not say", name, field)
			}
		}
	}
}

func TestExportGolden(t *testing.T) {
	p := tasks("T-001 done", "T-002 pending 2 T-001")
	p.Goal = "Greet <people> & others"
	p.Tasks[1].Description = "Two\nlines."
	p.Tasks[1].Criteria = []string{"it greets"}
	p.Tasks[1].Verify = []string{"test", "go test ./..."}
	for _, format := range Formats() {
		data, lost, err := Export(format, p)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		b.Write(data)
		b.WriteString("---\n")
		for _, l := range lost {
			b.WriteString("lost " + l.String() + "\n")
		}
		path := filepath.Join("testdata", "export", string(format)+".golden")
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), b.String()); d != "" {
			t.Errorf("%s:\n%s", format, d)
		}
		// The format is recognised without a file name.
		got, err := Import("-", data, Options{})
		if err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		if got.Format != format {
			t.Errorf("%s was taken for %s", format, got.Format)
		}
		if got.Plan.Tasks[0].Status != plan.Done || got.Plan.Tasks[1].Status != plan.Pending {
			t.Errorf("%s: done is %s, pending is %s", format, got.Plan.Tasks[0].Status, got.Plan.Tasks[1].Status)
		}
	}
}

// TestExportHostile: text with a meaning in the format must not create other tasks,
// and losses must be reported.
func TestExportHostile(t *testing.T) {
	p := tasks("A-1", "A-2")
	p.Tasks[0].Description = "- [ ] not a task\n```\nopen fence\n- verify: `rm`\n# head"
	p.Tasks[0].Title = "**B-1** - [x] `code` [ ]"
	p.Tasks[0].Criteria = []string{"two\nlines", "- [ ] box", "`a` `b` passes"}
	p.Tasks[0].Verify = []string{"a\nb", "echo `date`  two", "'''\"\"\"\\"}
	for _, format := range Formats() {
		data, lost, err := Export(format, p)
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		if format == FormatTOML || format == FormatJSON {
			if len(lost) > 0 {
				t.Errorf("%s lost %v", format, lost)
			}
		}
		got, err := Import("-", data, Options{Format: format})
		if err != nil {
			t.Errorf("%s: %v\n%s", format, err, data)
			continue
		}
		if len(got.Plan.Tasks) != 2 || slices.Contains(got.Plan.Tasks[0].Verify, "rm") && format != FormatMarkdown {
			t.Errorf("%s:\n%s", format, plan.EncodePlan(got.Plan))
		}
		for _, v := range got.Plan.Tasks[0].Verify {
			if !slices.Contains(p.Tasks[0].Verify, v) && !slices.Contains([]string{"rm"}, v) {
				t.Errorf("%s made the command %q", format, v)
			}
		}
	}
}

// TestExportNamesCommandsItMakes: a criterion in words that a reader of the format
// takes for a command is named, because nobody asked for it to be run.
func TestExportNamesCommandsItMakes(t *testing.T) {
	p := tasks("A-1")
	p.Tasks[0].Criteria = []string{"`sh t.sh` passes"}
	p.Tasks[0].Verify = []string{"test -f a"}
	for _, format := range Formats() {
		data, lost, err := Export(format, p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Import("-", data, Options{Format: format})
		if err != nil {
			t.Fatal(err)
		}
		made := slices.Contains(got.Plan.Tasks[0].Verify, "sh t.sh")
		named := slices.ContainsFunc(lost, func(l Lost) bool { return l.Field == "verify" })
		if made != named {
			t.Errorf("%s: made a command: %v, named: %v", format, made, lost)
		}
	}
}

func TestParseFormat(t *testing.T) {
	for name, want := range map[string]Format{
		"toml": FormatTOML, "plan.json": FormatPlan, "out/PRD.json": FormatPRD, `a\tasks.json`: FormatTaskMaster,
		"user-stories": FormatStories, "todo.md": FormatMarkdown, "gh": FormatIssues, "x.toml": FormatTOML,
		"y.json": FormatJSON,
	} {
		if got, err := ParseFormat(name); err != nil || got != want {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
	if _, err := ParseFormat("yaml"); err == nil ||
		!strings.Contains(err.Error(), `format "yaml" is not known; known are toml, json`) {
		t.Error(err)
	}
	if _, _, err := Export("yaml", plan.Plan{}); err == nil {
		t.Error("no error")
	}
}
