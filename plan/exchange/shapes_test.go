package exchange

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"git-ralph/plan"
)

// TestImportShapes: real files are imported as a person would read them, and losses
// are named. testdata/shapes.txtar has the results.
func TestImportShapes(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/shapes.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if len(archive.Files) < 80 {
		t.Errorf("%d files are too few", len(archive.Files)/2)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		file, want := archive.Files[i], archive.Files[i+1]
		t.Run(file.Name, func(t *testing.T) {
			name := file.Name
			if name == "standard-input" {
				name = "-"
			}
			got, err := Import(name, file.Data, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var rows []string
			for line := range strings.Lines(string(want.Data)) {
				line = strings.TrimSpace(line)
				if lost, ok := strings.CutPrefix(line, "lost: "); !ok {
					rows = append(rows, line)
				} else if !slices.ContainsFunc(got.Lost, func(l Lost) bool { return l.String() == lost }) {
					t.Errorf("%q is not named among %v", lost, got.Lost)
				}
			}
			lines := taskLines(got)
			for i := range lines {
				lines[i] = strings.TrimSpace(lines[i])
			}
			if d := cmp.Diff(rows, lines); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestImportEncodings: the same list in the encodings of other systems.
func TestImportEncodings(t *testing.T) {
	words := "# Ziel\n\n- [ ] Größe prüfen 🎉\n- [x] b\n"
	units := utf16.Encode([]rune(words))
	little, big := []byte{0xff, 0xfe}, []byte{0xfe, 0xff}
	for _, u := range units {
		little, big = append(little, byte(u), byte(u>>8)), append(big, byte(u>>8), byte(u))
	}
	for name, data := range map[string][]byte{"little": little, "big": big, "mark": []byte("\ufeff" + words),
		"returns": []byte(strings.ReplaceAll(words, "\n", "\r\n"))} {
		got, err := Import("plan.md", data, Options{})
		if err != nil || got.Plan.Goal != "Ziel" || len(got.Plan.Tasks) != 2 || got.Plan.Tasks[0].Title != "Größe prüfen 🎉" ||
			got.Plan.Tasks[1].Status != plan.Done {
			t.Errorf("%s: %v %v", name, got.Plan, err)
		}
	}
}

// TestImportManyTasks: thousands of tasks can be imported in every syntax.
func TestImportManyTasks(t *testing.T) {
	const n = 5000
	var md, yaml, csv strings.Builder
	yaml.WriteString("tasks:\n")
	csv.WriteString("Title,Status\n")
	for i := range n {
		fmt.Fprintf(&md, "- [ ] task %d\n  - [ ] part\n", i)
		fmt.Fprintf(&yaml, "  - title: task %d\n    criteria: [part]\n", i)
		fmt.Fprintf(&csv, "task %d,todo\n", i)
	}
	for name, text := range map[string]string{"a.md": md.String(), "a.yaml": yaml.String(), "a.csv": csv.String()} {
		if got, err := Import(name, []byte(text), Options{}); err != nil || len(got.Plan.Tasks) != n {
			t.Errorf("%s: %d tasks, %v", name, len(got.Plan.Tasks), err)
		}
	}
}
