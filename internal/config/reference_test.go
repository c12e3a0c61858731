package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write doc/configuration.md anew")

const referenceHead = `# Settings

<!-- Written by "just doc" from internal/config/settings.go. -->

Settings are in ` + "`ralph.toml`" + ` at the root of the worktree. ` + "`git ralph init`" + ` writes the file, and
` + "`git ralph config --default`" + ` prints one with every setting commented out. A place further right wins:

    default < ralph.toml < each --config FILE < git config < git ralph set < environment < flag

` + "`loop.max_attempts`" + ` is ` + "`git config ralph.loop.maxAttempts 5`" + ` and ` + "`RALPH_LOOP_MAX_ATTEMPTS=5`" + `.
Lists of tables (` + "`[[checks]]`, `[[steps]]`, `[[passes]]`" + `) can only be set in files. ` + "`${NAME}`" + ` in a text is the
variable of that name; in a command it is left to the shell. ` + "`git ralph config`" + ` lists every value with the place that it
came from. Settings marked with * can be changed for a run with ` + "`git ralph set KEY VALUE`" + `, from its next iteration on.

What is marked *not used yet* is accepted, so that a file may already say it, and changes nothing in this version.
` + "`agent.intent` and `agent.ladder`" + ` are explained in [drivers.md](drivers.md).
`

// reference is doc/configuration.md: every setting with its default and its
// meaning, in the order of ralph.toml.
func reference() string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, s := range schema().fields {
		section(&b, s)
	}
	return b.String()
}

func section(b *strings.Builder, s *spec) {
	title := "[" + s.key + "]"
	switch s.kind {
	case kindList:
		title = "[[" + s.key + "]]"
	case kindMap:
		title = "[" + s.key + ".NAME]"
	}
	fmt.Fprintf(b, "\n## %s\n\n%s.\n\n| key | default | meaning |\n|---|---|---|\n", title, upper(s.help))
	var below []*spec
	for _, f := range s.fields {
		if !f.leaf() {
			below = append(below, f)
			continue
		}
		mark := ""
		if f.set {
			mark = " *"
		}
		value := "`" + tomlText(f.value) + "`"
		if f.value == nil {
			value = ""
		}
		fmt.Fprintf(b, "| `%s`%s | %s | %s |\n", f.key, mark, value, meaning(f))
	}
	for _, f := range below {
		section(b, f)
	}
}

// meaning is the help of a setting, with the values that it takes and its flag.
func meaning(f *spec) string {
	text := strings.ReplaceAll(f.help, "|", `\|`)
	var values []string
	for _, v := range f.enum {
		if v != "" {
			values = append(values, "`"+v+"`")
		}
	}
	if len(values) > 0 {
		text += ". One of " + strings.Join(values, ", ")
	}
	if f.flag != "" {
		text += ". Flag: `--" + f.flag + "`"
	}
	if f.later {
		text += ". *Not used yet*"
	}
	return text
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// TestReferenceIsCurrent holds doc/configuration.md to the settings.
func TestReferenceIsCurrent(t *testing.T) {
	const file = "../../doc/configuration.md"
	want := reference()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.ReplaceAll(string(got), "\r\n", "\n") != want {
		t.Errorf("%s is not what the settings say: run just doc", file)
	}
}
