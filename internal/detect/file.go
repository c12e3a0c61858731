package detect

import (
	"fmt"
	"slices"
	"strings"

	"git-ralph/internal/config"
)

// MaxLines is how long the ralph.toml of init may become.
const MaxLines = 25

// File is the ralph.toml that init writes: what the project needs, without
// what the defaults say anyway. What does not fit into MaxLines is named in
// the returned notes.
func File(d Found) (data []byte, notes []string) {
	header := []string{
		"# Settings of git ralph in this project; others are at their defaults.",
		"# All of them, with what they do: git ralph config --default",
	}
	if len(d.Checks) == 0 {
		header = append(header, "# A check decides what is kept. Take the # away and name yours:", "#[[checks]]",
			`#name = "test"`, `#run = "make test"`)
	}
	var rest []string
	if len(d.Setup) > 0 {
		rest = append(rest, "", "[project] # setup prepares every fresh checkout", "setup = "+config.Text(d.Setup))
	}
	if lines := toolchain(d); len(lines) > 0 {
		rest = append(append(rest, "", "[toolchain]"), lines...)
	}
	checks := slices.Clone(d.Checks)
	for {
		body := append(slices.Concat(header, rest), checkLines(checks)...)
		if len(body) <= MaxLines || len(checks) == 1 {
			if len(body) < MaxLines {
				body = slices.Insert(body, 0, "#:schema "+config.SchemaFile) // for editors that complete it
			}
			return []byte(strings.Join(body, "\n") + "\n"), notes
		}
		// The tests matter most, and of those the first.
		at := len(checks) - 1
		for i, c := range slices.Backward(checks) {
			if c.Kind != "test" {
				at = i
				break
			}
		}
		notes = append(notes, fmt.Sprintf("the check %s is left out, add it if you want it: %s", checks[at].Name,
			checks[at].Run))
		checks = slices.Delete(checks, at, at+1)
	}
}

// Checks are the tables of the checks alone, to be added to a file.
func Checks(checks []config.Check) []byte {
	return []byte(strings.Join(checkLines(checks), "\n") + "\n")
}

func checkLines(checks []config.Check) (lines []string) {
	for _, c := range checks {
		lines = append(lines, "", "[[checks]]", "name = "+config.Text(c.Name), "run = "+config.Text(c.Run))
		if c.Kind != config.GuessKind(c.Run) {
			lines = append(lines, "kind = "+config.Text(c.Kind))
		}
		if len(c.Paths) > 0 {
			lines = append(lines, "paths = "+config.Text(c.Paths))
		}
	}
	return lines
}

func toolchain(d Found) (lines []string) {
	for _, row := range [][2]string{{"preset", d.Preset}, {"test", d.Toolchain.Test}, {"lint", d.Toolchain.Lint},
		{"typecheck", d.Toolchain.Typecheck}, {"add", d.Toolchain.Add}, {"sync", d.Toolchain.Sync}} {
		if row[1] != "" {
			lines = append(lines, row[0]+" = "+config.Text(row[1]))
		}
	}
	return lines
}
