package exchange

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestImportDialects imports real files of other loops and tools. Each row has one
// line per task: id, status, priority, title, dependencies, criteria and commands.
func TestImportDialects(t *testing.T) {
	for _, row := range []struct {
		why, text string
		want      []string
		lost      []string
	}{
		{"steps of a feature are its criteria",
			`[{"category": "ui", "description": "a button", "steps": ["click it", "see it"], "passes": false}]`,
			[]string{"T-001 pending p1 a button | - | click it; see it | "}, []string{"category"}},
		{"features are tasks", `{"project_name": "x", "features": [{"id": "F1", "name": "login", "acceptance": "it works", ` +
			`"passes": true}, {"id": "F2", "name": "logout", "dependencies": ["F1"]}]}`,
			[]string{"F1 done p1 login | - | it works | ", "F2 pending p1 logout | F1 |  | "}, nil},
		{"tasks of phases; a phase waits on another", `{"feature": "f", "phases": [
			{"phase": 1, "name": "base", "depends_on": [], "subtasks": [{"id": "s-1-1", "description": "one", "status": "completed", "verification": {"type": "command", "command": "make a", "expected": "ok"}}, {"id": "s-1-2", "description": "two", "depends_on": ["s-1-1"]}]},
			{"phase": 2, "name": "top", "depends_on": [1], "subtasks": [{"id": "s-2-1", "description": "three"}]}]}`,
			[]string{"s-1-1 done p1 one | - | ok | make a", "s-1-2 pending p1 two | s-1-1 |  | ",
				"s-2-1 pending p1 three | s-1-2 |  | "}, []string{"phases: a plan has no sections"}},
		{"the same ids in two phases",
			`{"phases": [{"id": "P1", "tasks": [{"id": 1, "title": "a"}, {"id": 2, "title": "b", "dependencies": [1]}]}, ` +
				`{"id": "P2", "tasks": [{"id": 1, "title": "c"}]}]}`,
			[]string{"P1.1 pending p1 a | - |  | ", "P1.2 pending p1 b | P1.1 |  | ", "P2.1 pending p1 c | - |  | "},
			[]string{"phases: a plan has no sections"}},
		{"a task among phases", `{"phases": [{"name": "P1", "tasks": [{"id": "a", "title": "x"}]}, {"name": "P2", "tasks": ` +
			`[{"id": "b", "title": "y"}]}, {"id": "c", "title": "z", "steps": ["look"]}]}`,
			[]string{"a pending p1 x | - |  | ", "b pending p1 y | - |  | ", "c pending p1 z | - | look | "}, nil},
		{"a phase that is still empty is no task", `{"phases": [{"name": "P1", "tasks": [{"id": "a", "title": "x"}]}, ` +
			`{"name": "P2", "tasks": [{"id": "b", "title": "y"}]}, {"name": "later", "tasks": []}]}`,
			[]string{"a pending p1 x | - |  | ", "b pending p1 y | - |  | "}, nil},
		{"texts in one of three phases", `{"phases": [{"name": "P1", "tasks": [{"id": "a", "title": "x"}]}, {"name": "P2", ` +
			`"tasks": ["y", "z"]}, {"name": "P3", "tasks": [{"id": "b", "title": "w"}]}]}`,
			[]string{"a pending p1 x | - |  | ", "T-001 pending p1 y | - |  | ", "T-002 pending p1 z | - |  | ",
				"b pending p1 w | - |  | "}, nil},
		{"a second list in a phase", `{"phases": [{"name": "P1", "tasks": [{"id": "a", "title": "x"}], ` +
			`"features": [{"id": "f", "title": "y"}]}]}`,
			[]string{"a pending p1 x | - |  | "}, []string{"phases.features: one list of a group is read"}},
		{"rows with bars in them, and with fewer or more cells than the head", "| Task | Status | Note |\n|---|---|---|\n" +
			"| a | todo | |\n| allow `x \\| y` | todo | |\n| b | todo |\n| allow `x|y` | done | |\n| c | todo | n | more |\n" +
			"| d | todo\n\nthe end\n",
			[]string{"T-001 pending p1 a | - |  | ", "T-002 pending p1 allow `x | y` | - |  | ",
				"T-003 pending p1 b | - |  | ", "T-004 done p1 allow `x|y` | - |  | ", "T-005 pending p1 c | - |  | ",
				"T-006 pending p1 d | - |  | "}, []string{"text outside the list"}},
		{"code on one line hides no tasks", "- [ ] a\n  ```npm test```\n- [ ] b\n- [ ] c\n",
			[]string{"T-001 pending p1 a | - |  | ", "T-002 pending p1 b | - |  | ", "T-003 pending p1 c | - |  | "}, nil},
		{"neither does code that a task has left open", "- [ ] a\n  ```sh\n  make\n\n- [ ] b\n",
			[]string{"T-001 pending p1 a | - |  | ", "T-002 pending p1 b | - |  | "}, nil},
		{"code in code is an example", "- [ ] a\n\n````md\n```\n- [ ] b\n```\n````\n\n- [ ] c\n",
			[]string{"T-001 pending p1 a | - |  | ", "T-002 pending p1 c | - |  | "}, nil},
		{"so is what stands in a comment", "<!-- copy this:\n- [ ] b\n-->\n\n- [ ] a\n  <!--\n  - [ ] c\n  -->\n" +
			"- [ ] allow\n<!-- without an end\n- [ ] d\n",
			[]string{"T-001 pending p1 a | - |  | ", "T-002 pending p1 allow | - |  | ", "T-003 pending p1 d | - |  | "},
			[]string{"boxes in comments"}},
		{"and in an issue", `[{"number": 4, "title": "a", "body": "<!--\n- [ ] I have searched\n-->\n- [ ] it works", ` +
			`"labels": []}]`, []string{"4 pending p1 a | - | it works | "}, []string{"boxes in comments (4)"}},
		{"a state that is taken back", "| Task | Status |\n|---|---|\n| a | Done (except docs) |\n" +
			"| b | done, but untested |\n| c | complete the form |\n| d | done when CI is green |\n" +
			"| e | complete on 2026-01-31 |\n| f | Done in PR 12 |\n" +
			"| g | Completed by Anna |\n| h | complete ✅ |\n| i | Complete (2026-01-31) |\n",
			[]string{"T-001 pending p1 a | - |  | ", "T-002 pending p1 b | - |  | ", "T-003 pending p1 c | - |  | ",
				"T-004 pending p1 d | - |  | ", "T-005 done p1 e | - |  | ", "T-006 done p1 f | - |  | ",
				"T-007 done p1 g | - |  | ", "T-008 done p1 h | - |  | ", "T-009 done p1 i | - |  | "}, nil},
		{"subtasks alone", `{"subtasks": [{"id": "a", "title": "one"}]}`, []string{"a pending p1 one | - |  | "}, nil},
		{"subtasks of subtasks", `{"tasks": [{"id": 1, "title": "a", "subtasks": [{"id": 1, "title": "b", "subtasks": ` +
			`[{"id": 1, "title": "c"}]}, {"id": 2, "title": "d", "dependencies": [1]}]}]}`,
			[]string{"1 pending p1 a | 1.1,1.2 |  | ", "1.1 pending p1 b | 1.1.1 |  | ", "1.1.1 pending p1 c | - |  | ",
				"1.2 pending p1 d | 1.1 |  | "}, nil},
		{"a criterion with its command",
			`{"userStories": [{"id": "US-1", "title": "a", "acceptanceCriteria": [{"text": "it adds", "testCommand": "go test ` +
				`./add", "passes": true}]}]}`,
			[]string{"US-1 pending p1 a | - | it adds | go test ./add"}, []string{"acceptanceCriteria.passes (US-1)"}},
		{"issues as a host's interface gives them",
			`[{"id": 571026117, "number": 45, "html_url": "https://example.com/45", "title": "a", "labels": [{"name": "P2"}], ` +
				`"state": "open", "body": "x"}]`,
			[]string{"45 pending p2 a | - |  | "}, []string{"html_url (45)"}},
		{"lines of JSON, with dependencies as objects",
			"{\"id\": \"bd-1\", \"title\": \"a\", \"status\": \"closed\", \"priority\": 0}\n" +
				"{\"id\": \"bd-2\", \"title\": \"b\", \"status\": \"open\", \"dependencies\": [{\"issue_id\": \"bd-2\", " +
				"\"depends_on_id\": \"bd-1\", \"type\": \"blocks\"}, {\"issue_id\": \"bd-2\", \"depends_on_id\": \"bd-1\", " +
				"\"type\": \"related\"}]}\n",
			[]string{"bd-1 done p0 a | - |  | ", "bd-2 pending p1 b | bd-1 |  | "},
			[]string{"dependencies: only those that block are dependencies (bd-2)"}},
		{"the title is called story", `{"tasks": [{"id": "a", "story": "as a user"}]}`,
			[]string{"a pending p1 as a user | - |  | "}, nil},
		{"dependencies that name a task",
			`{"tasks": [{"id": "a", "title": "x"}, {"id": "b", "title": "y", "dependencies": [{"taskId": "a"}]}]}`,
			[]string{"a pending p1 x | - |  | ", "b pending p1 y | a |  | "}, nil},
		{"priorities with a fraction keep their order",
			`{"tasks": [{"id": "a", "title": "x", "priority": 2.5}, {"id": "b", "title": "y", "priority": 2}, {"id": "c", ` +
				`"title": "z", "priority": 3}]}`,
			[]string{"a pending p2 x | - |  | ", "b pending p1 y | - |  | ", "c pending p3 z | - |  | "}, nil},
		{"tasks by id", `{"tasks": {"A": {"title": "x"}, "B": {"title": "y", "depends_on": ["A"]}}}`,
			[]string{"A pending p1 x | - |  | ", "B pending p1 y | A |  | "}, nil},
		{"dependencies, states and priorities by other names",
			`[{"id": "a", "title": "x", "status": "finished", "priority": "must"}, {"id": "b", "title": "y", ` +
				`"status": "wontfix", "deps": ["a"]}, {"id": "c", "title": "z", "status": "new", "needs": ["a"], ` +
				`"definition_of_done": ["merged"], "priority": "could"}]`,
			[]string{"a done p1 x | - |  | ", "b skipped p1 y | a |  | ", "c pending p3 z | a | merged | "}, nil},
		{"issues of a host with its own ids",
			`[{"id": 5710261, "number": 45, "title": "x", "body": "- [ ] a", "state": "open", "milestone": null}]`,
			[]string{"45 pending p1 x | - | a | "}, nil},
		{"headings with ids and states", "# Plan\n\n### TASK-001 Lexer [DONE]\nText.\n\n### TASK-002 Parser [TODO]\n" +
			"Depends on: TASK-001\n\nAcceptance criteria:\n- numbers\n",
			[]string{"TASK-001 done p1 Lexer | - |  | ", "TASK-002 pending p1 Parser | TASK-001 | numbers | "}, nil},
		{"a verification text", `{"tasks": [{"id": "a", "title": "x", "verification": "- one\n- two"}]}`,
			[]string{"a pending p1 x | - | one; two | "}, nil},
		{"sections with fields", "# goal\n\n## Task 1: first thing\n**Status**: ✅ Complete\n**Priority:** high\n\ndo it\n" +
			"\n## Task 2: second\n- **Status:** Not started\n- **Depends on:** Task 1\n- **Verify**: `make x`, `make y`\n\n" +
			"**Acceptance Criteria**:\n- it is fast\n- [ ] it is small\n\n## Notes\nnothing\n",
			[]string{"1 done p1 first thing | - |  | ", "2 pending p1 second | 1 | it is fast; it is small | make x; make y"},
			nil},
		{"boxes below another section than those with fields", "## Task 1: one\n**Status**: done\n\n## Later\n- [ ] two\n",
			[]string{"1 done p1 one | - |  | "},
			[]string{"boxes outside of the tasks: the sections with fields are the tasks here"}},
		{"a table with a column of states",
			"| ID | Task | Status | Depends |\n|---|---|---|---|\n| A-1 | one | ✅ Done | x |\n| A-2 | two | In progress | y |\n",
			[]string{"A-1 done p1 one | - |  | ", "A-2 pending p1 two | - |  | "}, nil},
		{"a table in which one state is a word of the writer's own",
			"| Task | Status |\n|---|---|\n| one | done |\n| two | in the oven |\n| three | todo |\n",
			[]string{"T-001 done p1 one | - |  | ", "T-002 pending p1 two | - |  | ", "T-003 pending p1 three | - |  | "}, nil},
		{"bullets that are ticked off", "# list\n- ~~first~~ ✅\n- second\n  with text\n",
			[]string{"T-001 done p1 first | - |  | ", "T-002 pending p1 second | - |  | "}, nil},
		{"a bold id before a dash, dependencies on a line of their own",
			"- [ ] **A-1** — one\n- [ ] **A-2** — two\n  Deps: A-1\n",
			[]string{"A-1 pending p1 one | - |  | ", "A-2 pending p1 two | A-1 |  | "}, nil},
		{"boxes of what is begun, and optional ones", "- [~] one\n- [-] two\n- [ ]* three\n- [✓] four\n",
			[]string{"T-001 pending p1 one | - |  | ", "T-002 pending p1 two | - |  | ", "T-003 pending p1 three | - |  | ",
				"T-004 done p1 four | - |  | "}, nil},
	} {
		t.Run(row.why, func(t *testing.T) {
			got, err := Import("-", []byte(row.text), Options{})
			if err != nil {
				t.Fatal(err)
			}
			lines := taskLines(got)
			if d := cmp.Diff(row.want, lines); d != "" {
				t.Error(d)
			}
			for _, want := range row.lost {
				if !slices.ContainsFunc(got.Lost, func(l Lost) bool { return l.String() == want }) {
					t.Errorf("%q is not named among %v", want, got.Lost)
				}
			}
		})
	}
}

// taskLines is one line a task, as the rows of the tests write them.
func taskLines(in Imported) []string {
	var lines []string
	for _, k := range in.Plan.Tasks {
		deps := "-"
		if len(k.DependsOn) > 0 {
			var ids []string
			for _, d := range k.DependsOn {
				ids = append(ids, string(d))
			}
			deps = strings.Join(ids, ",")
		}
		lines = append(lines, fmt.Sprintf("%s %s p%d %s | %s | %s | %s", k.ID, k.Status, k.Priority, k.Title, deps,
			strings.Join(k.Criteria, "; "), strings.Join(k.Verify, "; ")))
	}
	return lines
}

// TestImportLeavesProse: text that only looks like a task list is refused.
func TestImportLeavesProse(t *testing.T) {
	for _, row := range []struct{ why, text string }{
		{"a guide with numbered steps", "# how to\n\n## Step 1: install\nrun it\n\n## Step 2: use\nenjoy\n"},
		{"what to do and what not", "# rules\n- ✅ write tests\n- ❌ skip tests\n"},
		{"a list of features", "# product\n- ✅ fast\n- ✅ small\n"},
		{"the report of a test", "| Feature | Status |\n|---|---|\n| login | ✅ PASS |\n| logout | FAIL |\n"},
		{"all is done", "| Task | Status |\n|---|---|\n| login | done |\n"},
		{"an empty list", `{"tasks": {}}`},
	} {
		t.Run(row.why, func(t *testing.T) {
			got, err := Import("plan.md", []byte(row.text), Options{})
			if strings.HasPrefix(row.text, "{") {
				got, err = Import("plan.json", []byte(row.text), Options{})
			}
			if err == nil {
				t.Errorf("it was taken as %s: %v", got.Format, got.Plan.Tasks)
			} else if !IsUnknownFormat(err) {
				t.Errorf("%v", err)
			}
		})
	}
}
