package exchange

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/plan"
)

var update = flag.Bool("update", false, "write the golden files of imports anew")

// golden is what the user sees of an import: the plan as TOML, after comments with
// the findings and losses.
func golden(got Imported) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# format: %s\n", got.Format)
	for _, w := range got.Warnings {
		fmt.Fprintf(&b, "# warning: %s\n", w)
	}
	for _, l := range got.Lost {
		fmt.Fprintf(&b, "# lost: %s\n", l)
	}
	b.WriteByte('\n')
	b.Write(plan.EncodePlan(got.Plan))
	return b.String()
}

func TestImportGolden(t *testing.T) {
	for _, c := range []struct {
		file   string
		format Format
		why    string
	}{
		{"plan.toml", FormatTOML, "our own file: nothing is added to verify, what was in work is pending"},
		{"tasks_array.json", FormatJSON, "what `tasks --json` prints"},
		{"plan.json", FormatPlan, "order sorts, max_retries is max_attempts, `cmd` passes is run"},
		{"implementation_plan.json", FormatImplementation, "a command without back-ticks is prose"},
		{"prd_tasks.json", FormatPRD, "numbers are ids, a missing id is numbered"},
		{"prd_stories.json", FormatStories, "passes decides"},
		{"taskmaster_flat.json", FormatTaskMaster, "subtasks become tasks with dotted ids"},
		{"taskmaster_tagged.json", FormatTaskMaster, "master is read, other tags are named"},
		{"checklist.md", FormatMarkdown, "nesting is description and criteria"},
		{"issues.json", FormatIssues, "an issue's checklist is its criteria"},
	} {
		t.Run(c.file, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", c.file))
			if err != nil {
				t.Fatal(err)
			}
			// The content alone must be enough: no file extension to go by.
			got, err := Import("-", data, Options{CheckNames: []string{"unit"}})
			if err != nil {
				t.Fatal(err)
			}
			if got.Format != c.format {
				t.Errorf("format %s, want %s (%s)", got.Format, c.format, c.why)
			}
			path := filepath.Join("testdata", c.file+".golden")
			if *update {
				if err := os.WriteFile(path, []byte(golden(got)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), golden(got)); d != "" {
				t.Errorf("%s:\n%s", c.why, d)
			}
			// An imported plan can be written and read again unchanged.
			again, _, err := plan.DecodePlan("again.toml", plan.EncodePlan(got.Plan))
			if err != nil {
				t.Fatal(err)
			}
			if d := plan.Difference(got.Plan, again); !d.Empty() {
				t.Errorf("after a round trip: %s", d.Describe(got.Plan, again))
			}
		})
	}
}

func TestImportProblems(t *testing.T) {
	for _, c := range []struct {
		why, name, data string
		opts            Options
		want            []string // lines of the error, in order
		hint            string   // part of the hint
	}{
		{
			why:  "everything wrong with a plan at once, each with its line",
			name: "plan.toml",
			data: `goal = "x"

[[tasks]]
id = "T-001"
title = "one"
depends_on = ["T-002"]

[[tasks]]
id = "T-002"
title = "two"
depends_on = ["T-001", "T-009"]

[[tasks]]
id = "t-001"
title = ""
priority = -1

[[tasks]]
id = "-bad"
title = "four"
depends_on = ["-bad"]
verify = [" "]
`,
			want: []string{
				"the plan has 8 problems",
				"plan.toml:6: T-001 depends on itself: T-001 → T-002 → T-001",
				"plan.toml:11: T-002 depends on T-009, which is not in the plan",
				"plan.toml:14: the id t-001 is taken by T-001 (line 4); ids differ by more than case",
				"plan.toml:15: t-001 has no title",
				"plan.toml:16: t-001: priority is -1; it must not be negative",
				`plan.toml:19: task 4: id "-bad" begins with "-"; ids begin with a letter or digit`,
				"plan.toml:21: task 4 depends on itself",
				"plan.toml:22: task 4: entry 1 of verify is empty",
			},
			hint: "fix these places",
		},
		{
			why: "an unknown key names the nearest known one", name: "plan.toml",
			data: "[[tasks]]\nid = \"a\"\ntitle = \"x\"\nprioritty = 2\ndependencies = []\n[[task]]\n",
			want: []string{"the plan has 3 problems",
				`plan.toml:4: a: unknown key "prioritty"; did you mean "priority"?`,
				`plan.toml:5: a: unknown key "dependencies"; did you mean "depends_on"?`,
				`plan.toml:6: unknown key "task"; did you mean "tasks"?`},
		},
		{
			why: "wrong kinds are all named", name: "plan.toml",
			data: "[[tasks]]\nid = 1\ntitle = [\"x\"]\npriority = \"high\"\ncriteria = \"one\"\nneeds_docs = 1\ncompleted_at " +
				"= \"today\"\nmax_turns = 1.5\n",
			want: []string{"the plan has 7 problems",
				"plan.toml:2: task 1: id is a number; it must be a text",
				"plan.toml:3: task 1: title is a list; it must be a text",
				"plan.toml:4: task 1: priority is a text; it must be a whole number",
				"plan.toml:5: task 1: criteria is a text; it must be a list of texts",
				"plan.toml:6: task 1: needs_docs is a number; it must be true or false",
				"plan.toml:7: task 1: completed_at is a text; it must be a time such as 2026-01-31T15:04:05Z",
				"plan.toml:8: task 1: max_turns is 1.5; it must be a whole number"},
		},
		{
			why: "a syntax error has its line", name: "plan.toml", data: "goal = \"x\"\n[[tasks]\nid = 1\n",
			want: []string{"plan.toml:2: "}, hint: "not valid TOML",
		},
		{
			why: "JSON too", name: "plan.json", data: "{\n \"tasks\": [\n  {\"id\": \"a\",}\n ]\n}",
			want: []string{"plan.json:3: the file is not valid JSON: "},
		},
		{
			why: "JSON that ends early", name: "plan.json", data: "{\n \"tasks\": [\n",
			want: []string{"plan.json:2: the file is not valid JSON: the JSON ends too early"},
		},
		{
			why: "problems in JSON have lines", name: "plan.json",
			data: "{\"tasks\": [\n {\"id\": \"a\", \"title\": \"x\", \"acceptance_criteria\": [],\n  \"depends_on\": " +
				"[\"b\"],\n  \"status\": \"pending\"},\n {\"id\": \"c\", \"title\": \"y\", \"priority\": -1}\n]}",
			want: []string{"the plan has 2 problems", "plan.json:3: a depends on b, which is not in the plan",
				"plan.json:5: c: priority is -1"},
		},
		{
			why: "so have dependencies in JSON", name: "plan.json",
			data: "{\"tasks\": [\n {\"id\": \"a\", \"title\": \"x\", \"acceptance_criteria\": [],\n  \"depends_on\": " +
				"[\"b\"],\n  \"status\": \"pending\"}\n]}",
			want: []string{"plan.json:3: a depends on b, which is not in the plan"},
		},
		{
			why: "and in Markdown", name: "todo.md", data: "- [ ] T-001 one\n  - depends on: T-002\n",
			want: []string{"todo.md:2: T-001 depends on T-002, which is not in the plan"},
		},
		{
			why: "a file that is none names what would be one", name: "notes.txt", data: "buy milk\n",
			want: []string{"notes.txt: the file is not a work list in a known format"}, hint: "import reads",
		},
		{why: "JSON without tasks", name: "package.json", data: `{"name": "x"}`,
			want: []string{"package.json: the JSON contains no list of tasks"}},
		{why: "nothing", name: "plan.toml", data: "\n", want: []string{"plan.toml: the file is empty"}},
		{why: "a plan without tasks", name: "plan.toml", data: "goal = \"x\"\n",
			want: []string{"plan.toml: the file contains no task"}},
		{why: "a tag that the file has not", name: "tasks.json", data: `{"a": {"tasks": [{"id": 1, "title": "x"}]}}`,
			opts: Options{Tag: "b"}, want: []string{`tasks.json: the file has no tag "b"; it has a`}},
		{why: "a dotted key as deep as a well", name: "plan.toml", data: "a" + strings.Repeat(".a", 5000) + " = 1\n",
			want: []string{"plan.toml:1: values nest deeper than 100"}},
		{why: "brackets as deep", name: "plan.json", data: strings.Repeat("[", 5000),
			opts: Options{Format: FormatJSON},
			want: []string{"plan.json:1: the file is not valid JSON: values nest deeper than 100"}},
	} {
		t.Run(c.why, func(t *testing.T) {
			_, err := Import(c.name, []byte(c.data), c.opts)
			if err == nil {
				t.Fatal("no error")
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(c.want) {
				t.Fatalf("got\n%v\nwant\n%s", err, strings.Join(c.want, "\n"))
			}
			for i, want := range c.want {
				if got := strings.TrimSpace(lines[i]); !strings.HasPrefix(got, want) {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			}
			var ps plan.Problems
			if !errors.As(err, &ps) || !strings.Contains(ps.Hint(), c.hint) {
				t.Errorf("hint %q holds no %q", ps.Hint(), c.hint)
			}
		})
	}
}

func TestImportDetails(t *testing.T) {
	load := func(t *testing.T, name, data string, opts Options) Imported {
		t.Helper()
		got, err := Import(name, []byte(data), opts)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	t.Run("tasks may depend on those of the plan they go into, in any case", func(t *testing.T) {
		got := load(t, "p.toml", "[[tasks]]\nid=\"b\"\ntitle=\"x\"\ndepends_on=[\"t-001\"]\n",
			Options{Known: []plan.TaskID{"T-001"}})
		if got.Plan.Tasks[0].DependsOn[0] != "T-001" {
			t.Error(got.Plan.Tasks[0].DependsOn)
		}
	})
	t.Run("new numbers keep clear of that plan too", func(t *testing.T) {
		got := load(t, "p.md", "- [ ] x\n", Options{Known: []plan.TaskID{"t-001"}})
		if got.Plan.Tasks[0].ID != "T-002" {
			t.Error(got.Plan.Tasks[0].ID)
		}
	})
	t.Run("names of checks go to verify, sentences do not", func(t *testing.T) {
		got := load(t, "plan.json", `{"tasks":[{"id":"a","title":"x","acceptance_criteria":
			["unit","Unit","all","format_check","`+"`make` passes."+`","make passes","run `+"`make`"+`"]}]}`, Options{CheckNames: []string{"unit"}})
		if d := cmp.Diff([]string{"unit", "all", "format_check", "make"}, got.Plan.Tasks[0].Verify); d != "" {
			t.Error(d)
		}
		if n := len(got.Plan.Tasks[0].Criteria); n != 7 {
			t.Errorf("%d criteria: all of them stay criteria", n)
		}
	})
	t.Run("byte order marks of other systems", func(t *testing.T) {
		utf16 := []byte{0xff, 0xfe}
		for _, r := range `[{"number": 3, "title": "ü"}]` {
			utf16 = append(utf16, byte(r), byte(r>>8))
		}
		got := load(t, "-", string(utf16), Options{})
		if got.Format != FormatIssues || got.Plan.Tasks[0].Title != "ü" {
			t.Errorf("%+v", got)
		}
		load(t, "-", "\xef\xbb\xbf[[tasks]]\ntitle=\"x\"\n", Options{})
	})
	t.Run("invalid UTF-8 is made valid", func(t *testing.T) {
		got := load(t, "x.md", "- [ ] a\xffb\n", Options{})
		if got.Plan.Tasks[0].Title != "a\uFFFDb" {
			t.Errorf("%q", got.Plan.Tasks[0].Title)
		}
	})
	t.Run("one task as the journal stores it", func(t *testing.T) {
		got := load(t, "T-003.toml", string(plan.EncodeTask(plan.Task{ID: "T-003", Title: "x", Status: plan.Done,
			Priority: 4})), Options{})
		if len(got.Plan.Tasks) != 1 || got.Plan.Tasks[0].Priority != 4 {
			t.Errorf("%+v", got.Plan)
		}
	})
	t.Run("a moment without a zone is UTC on every machine", func(t *testing.T) {
		for _, at := range []string{"2026-01-31T15:04:05", "2026-01-31 15:04:05"} {
			task, err := plan.DecodeTask("t.toml", []byte("id=\"a\"\ntitle=\"x\"\ncompleted_at = "+at+"\n"))
			if err != nil || task.CompletedAt.Format("2006-01-02T15:04:05Z07:00") != "2026-01-31T15:04:05Z" {
				t.Error(task.CompletedAt, err)
			}
		}
	})
	t.Run("a title that is a page moves to the description", func(t *testing.T) {
		got := load(t, "x.md", "- [ ] "+strings.Repeat("word ", 200)+"\n", Options{})
		if task := got.Plan.Tasks[0]; len([]rune(task.Title)) > plan.TitleLength || len(task.Description) < 900 ||
			len(got.Warnings) != 1 {
			t.Errorf("%q %d %v", task.Title, len(task.Description), got.Warnings)
		}
	})
}

// TestImportBounded: files made to keep the reader busy end with an error, not
// with a wait. Without the limits each row is quadratic in its megabytes.
func TestImportBounded(t *testing.T) {
	many := func(n int, item func(int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(item(i))
		}
		return b.String()
	}
	for _, c := range []struct{ why, name, data, want string }{
		{"commands that are all different", "plan.json", `{"tasks":[{"id":"a","title":"x","acceptance_criteria":["x"` +
			many(200_000, func(i int) string { return fmt.Sprintf(",\"`c%d` passes\"", i) }) + `]}]}`,
			"plan.json:1: a: acceptance_criteria has more than 1000 entries"},
		{"the same as a checklist", "plan.md",
			"- [ ] T-001 x\n" + many(200_000, func(i int) string { return fmt.Sprintf("  - [ ] `c%d` passes\n", i) }),
			"plan.md:2: T-001: criteria has more than 1000 entries"},
		{"subtasks", "tasks.json", `{"tasks":[{"id":1,"title":"x","subtasks":[{}` + many(200_000,
			func(int) string { return ",{}" }) + `]}]}`,
			"tasks.json:1: 1 has more than 1000 subtasks"},
		{"dependencies", "plan.toml",
			"[[tasks]]\nid=\"a\"\ntitle=\"x\"\ndepends_on=[" + many(200_000,
				func(i int) string { return fmt.Sprintf("\"x%d\",", i) }) + "]\n",
			"plan.toml:4: a: depends_on has more than 1000 entries"},
		{"orders with a million digits", "plan.json", `{"tasks":[` + many(20_000, func(i int) string {
			return fmt.Sprintf(`{"title":"x","order":1e%d},`, 900_000+i)
		}) + `{"title":"x"}]}`, "the plan has 20000 problems"},
		{"quotation marks in a cell of a table", "plan.csv",
			"Title,Status,Priority\n\"x" + strings.Repeat(`""`, 1_000_000) + "\",todo,x y\n,todo,1\n",
			"plan.csv:3: T-002 has no title"},
		{"keys that nobody knows", "plan.toml",
			many(50_000, func(i int) string { return fmt.Sprintf("key_%d=1\n", i) }) + "[[tasks]]\n",
			"plan.toml:1001: a table has more than 1000 keys"},
		{"keys that nobody knows, in every task", "plan.toml",
			many(20_000, func(int) string { return "[[tasks]]\nan_unknown_key_of_some_length=1\n" }),
			"the plan has 20000 problems"},
	} {
		_, err := Import(c.name, []byte(c.data), Options{})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %.200v, want %s", c.why, err, c.want)
		} else if lines := strings.Count(err.Error(), "\n"); lines > 201 {
			t.Errorf("%s: %d lines", c.why, lines)
		}
	}
}

func FuzzImport(f *testing.F) {
	files, err := filepath.Glob("testdata/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		if data, err := os.ReadFile(name); err == nil {
			f.Add(filepath.Base(name), data, "")
		}
	}
	f.Add("-", []byte("[[tasks]]\nid=\"a\"\n[tasks.x]\n"), "toml")
	f.Add("-", []byte(`{"tasks":[{"subtasks":[{"id":1,"dependencies":[1]}]}]}`), "task-master")
	f.Fuzz(func(t *testing.T, name string, data []byte, format string) {
		opts := Options{}
		if parsed, err := ParseFormat(format); err == nil {
			opts.Format = parsed
		}
		got, err := Import(name, data, opts)
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without a word")
			}
			return
		}
		if err := got.Plan.Validate(); err != nil {
			t.Fatalf("imported a plan that is not sound: %v", err)
		}
		again, _, err := plan.DecodePlan("again", plan.EncodePlan(got.Plan))
		if err != nil {
			t.Fatal(err)
		}
		if d := plan.Difference(got.Plan, again); !d.Empty() {
			t.Fatalf("after a round trip: %s", d.Describe(got.Plan, again))
		}
		for _, format := range Formats() {
			if _, _, err := Export(format, got.Plan); err != nil {
				t.Fatal(err)
			}
		}
		plan.Tree(got.Plan)
		plan.Review(got.Plan, plan.Critic{TaskTokens: 30000})
	})
}
