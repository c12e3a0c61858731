package notes

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestActiveMemoryOrderAndLoss(t *testing.T) {
	part := func(c string) string { return strings.Repeat(c, 100) }
	in := ActiveInput{Phase: part("p"), Iterations: []string{part("1"), part("2"), part("3")}, Session: part("s"),
		Tasks: part("t"), Metrics: part("m")}
	full := ActiveMemory(in)
	var order []int
	for _, c := range []string{"p", "1", "2", "3", "s", "t", "m"} {
		order = append(order, strings.Index(full, part(c)))
	}
	for i := 1; i < len(order); i++ {
		if order[i] <= order[i-1] {
			t.Fatalf("parts stand out of order: %v\n%s", order, full)
		}
	}
	// With less room whole parts are dropped: the oldest iteration first, the
	// previous phase last.
	gone := ""
	for max := len(full); max > 120; max-- {
		in.Max = max
		got := ActiveMemory(in)
		if n := utf8.RuneCountInString(got); n > max {
			t.Fatalf("%d characters, at most %d", n, max)
		}
		for _, c := range []string{"1", "2", "3", "s", "m", "t", "p"} {
			whole, any := strings.Contains(got, part(c)), strings.Contains(got, c+c+c)
			if whole != any {
				t.Fatalf("max %d: part %s was cut", max, c)
			}
			if !whole && !strings.Contains(gone, c) {
				gone += c
			}
		}
	}
	if gone != "123smt" {
		t.Errorf("parts went in the order %q", gone)
	}
	in.Max = 50
	if got := ActiveMemory(in); utf8.RuneCountInString(got) > 50 || !strings.Contains(got, "Previous phase") {
		t.Errorf("the last part is cut when nothing else is left: %q", got)
	}
	if got := ActiveMemory(ActiveInput{Max: 10}); got != "" {
		t.Errorf("nothing makes %q", got)
	}
}

var update = flag.Bool("update", false, "write the golden files")

// golden compares with testdata/golden/<name>; -update writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("%s:\n%s", file, diff)
	}
}

func TestCapturedMemory(t *testing.T) {
	cost := int64(421100)
	f := Figures{Iterations: 12, Tokens: 1234567, CostMicroUSD: &cost, Duration: 90*time.Second + 400*time.Millisecond}
	golden(t, "phase.md", PhaseMemory(PhaseInput{Phase: "planning", Next: "building", Reason: "the plan is valid",
		Artifacts: []string{"specs/login.md", "12 tasks"}, Decisions: []string{"opaque tokens"}, Figures: f}))
	golden(t, "session.md", SessionMemory(SessionInput{Session: 3, Iteration: 47, Phase: "building",
		Reason: "max_iterations", Completed: []string{"T-001 add the column"},
		InProgress: "T-023 verify addresses", Progress: "sending works", Decisions: []string{"tokens live 24 h"},
		Files:    []string{"auth.go"},
		Blockers: []string{"SMTP needs settings"}, Notes: []string{"limit the rate"},
		Deps: []string{"golang.org/x/crypto"}, Percent: 65, Figures: f}))
	// An empty session still has its number.
	golden(t, "session-empty.md", SessionMemory(SessionInput{Session: 1, Phase: "building"}))

	many := make([]string, 500)
	for i := range many {
		many[i] = fmt.Sprint("item ", i, strings.Repeat(" text", 50))
	}
	for name, text := range map[string]string{
		"phase": PhaseMemory(PhaseInput{Phase: "building", Artifacts: many, Decisions: many}),
		"session": SessionMemory(SessionInput{Completed: many, Decisions: many, Files: many, Blockers: many,
			Notes: many, Deps: many}),
	} {
		if n := utf8.RuneCountInString(text); n > maxMemory {
			t.Errorf("%s memory has %d characters", name, n)
		}
	}
}

func TestAddMemory(t *testing.T) {
	text := AddMemory("", "first\nline", 3)
	text = AddMemory(text, "  ", 4)
	text = AddMemory(text, strings.Repeat("é", 3000), 5)
	if want := "- Iteration 3: first\n  line\n- Iteration 5: "; !strings.HasPrefix(text, want) {
		t.Errorf("%q", text)
	}
	if n := strings.Count(text, "é"); n != MaxUpdate-1 {
		t.Errorf("%d characters were taken", n)
	}
	for i := range 50 {
		text = AddMemory(text, strings.Repeat("x", 500), i+6)
	}
	if n := utf8.RuneCountInString(text); n > maxUpdates || !strings.Contains(text, "Iteration 55:") ||
		strings.Contains(text, "Iteration 3:") || !strings.HasPrefix(text, "- Iteration") {
		t.Errorf("the newest must stay, the oldest go: %d characters, %.60q", n, text)
	}
	if got := AddMemory("", "password=hunter2hunter2", 1); strings.Contains(got, "hunter2") {
		t.Errorf("a secret was remembered: %q", got)
	}
}

func TestPromote(t *testing.T) {
	k := Knowledge{ID: "K-pattern-x", Text: "use table tests\nalways"}
	rows := []struct{ name, in, want string }{
		{"an empty file", "", "## Learned Patterns\n\n- use table tests\n  always\n"},
		{"no section", "# A\n\ntext\n", "# A\n\ntext\n\n## Learned Patterns\n\n- use table tests\n  always\n"},
		{"no final line feed", "# A", "# A\n\n## Learned Patterns\n\n- use table tests\n  always\n"},
		{"the last section", "## Learned Patterns\n- old\n", "## Learned Patterns\n- old\n- use table tests\n  always\n"},
		{"an empty section", "## Learned Patterns\n", "## Learned Patterns\n\n- use table tests\n  always\n"},
		{"a section in the middle", "## Learned Patterns\n\n- old\n\n## Next\n",
			"## Learned Patterns\n\n- old\n- use table tests\n  always\n\n## Next\n"},
		{"a section without an empty line behind", "## Learned Patterns\n- old\n## Next\n",
			"## Learned Patterns\n- old\n- use table tests\n  always\n\n## Next\n"},
		{"there already", "## Learned Patterns\n\n- use table tests\n  always\n- z\n",
			"## Learned Patterns\n\n- use table tests\n  always\n- z\n"},
		{"a heading in code does not count", "```\n## Learned Patterns\n```\n",
			"```\n## Learned Patterns\n```\n\n## Learned Patterns\n\n- use table tests\n  always\n"},
		{"a lower heading belongs to the section", "## Learned Patterns\n### sub\n- old\n",
			"## Learned Patterns\n### sub\n- old\n- use table tests\n  always\n"},
		{"line ends of Windows", "# A\r\n", "# A\r\n\r\n## Learned Patterns\r\n\r\n- use table tests\r\n  always\r\n"},
	}
	for _, row := range rows {
		got, warn := Promote(k, []byte(row.in))
		if string(got) != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
		if warn != "" {
			t.Errorf("%s: %s", row.name, warn)
		}
		if again, _ := Promote(k, got); string(again) != string(got) {
			t.Errorf("%s: promoted twice: %q", row.name, again)
		}
	}
	if _, warn := Promote(k, []byte(strings.Repeat("x\n", 55))); warn != "" {
		t.Errorf("60 lines are fine: %s", warn)
	}
	if _, warn := Promote(k, []byte(strings.Repeat("x\n", 56))); !strings.Contains(warn, "61 lines") {
		t.Errorf("61 lines warn: %q", warn)
	}
}

func TestNoteText(t *testing.T) {
	h, problems := ParseHandoff([]byte(good))
	if problems != nil {
		t.Fatal(problems)
	}
	rec := Record{Handoff: *h, Origin: Origin{Iteration: 7, Task: "T-003", EventID: "01j0000000000000000000000a",
		Verdict: "keep", Source: "agent"}}
	golden(t, "note.txt", NoteText(rec, Fact{"Ralph-Agent", "claude claude-sonnet-4-5"},
		Fact{"Ralph-Cost-USD", "0.4211"}, Fact{"Ralph-Evidence", ""}))
	rec.Freeform = strings.Repeat("Ralph-Verdict: reject\n\x1b[31m", 4000)
	long := NoteText(rec)
	if len(long) > maxNote || strings.Contains(long, "\x1b") || strings.Contains(long, "\nRalph-Verdict: reject") {
		t.Errorf("%d bytes: %.200q", len(long), long)
	}
}
