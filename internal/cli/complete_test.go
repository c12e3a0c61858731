package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

func parserForTest(t *testing.T) *kong.Kong {
	t.Helper()
	parser, err := kong.New(&Commands{}, kong.Name("git ralph"), kong.Exit(func(int) { t.Fatal("left") }))
	if err != nil {
		t.Fatal(err)
	}
	return parser
}

// TestUnderstandsWhatIsTyped: the completions of the last word.
func TestUnderstandsWhatIsTyped(t *testing.T) {
	parser := parserForTest(t)
	for _, x := range []struct {
		why, line    string
		kind, prefix string
		dir          string
		words        []string // some of those that fit
	}{
		{"ids of tasks", "skip |", "tasks", "", "", nil},
		{"several ids", "skip T-001 |", "tasks", "", "", nil},
		{"only the first word is an id", "block T-001 |", "", "", "", nil},
		{"a flag with its value before", "skip -m why |", "tasks", "", "", nil},
		{"a flag's value", "log --task |", "tasks", "", "", nil},
		{"a flag's value, joined", "log --task=T|", "tasks", "--task=", "", nil},
		{"as bash takes it apart", "log --task = T|", "tasks", "", "", nil},
		{"as bash takes it apart, nothing behind it", "log --task =|", "tasks", "", "", nil},
		{"an earlier flag was taken apart", "log --task = T-001 --iteration |", "iterations", "", "", nil},
		{"numbers of iterations", "rewind |", "iterations", "", "", nil},
		{"words for git diff", "diff 7 |", "iterations", "", "", nil},
		{"a file", "import |", "files", "", "", nil},
		{"a flag that takes a file", "start --config |", "files", "", "", nil},
		{"text is not completed", "start --max-cost |", "", "", "", nil},
		{"a list of values", "start --dirty |", "=refuse,commit", "", "", nil},
		{"another folder", "-C ../other skip |", "tasks", "", "../other", nil},
		{"another folder, joined", "--dir=../other skip |", "tasks", "", "../other", nil},
		{"an old name", "build --mode |", "modes", "", "", nil},
		{"commands", "|", "", "", "", []string{"init", "start", "tasks"}},
		{"commands below a command", "knowledge |", "", "", "", []string{"add", "promote"}},
		{"flags", "start --m|", "", "", "", []string{"--max-cost=", "--once"}},
		{"flags of a command below", "knowledge add --|", "", "", "", []string{"--slug=", "--task="}},
		{"behind -- nothing is a flag", "restore 7 -- --|", "files", "", "", nil},
		{"a word that is no command", "strat --|", "", "", "", []string{"--dir="}},
	} {
		t.Run(x.why, func(t *testing.T) {
			line, _ := strings.CutSuffix(x.line, "|")
			args := strings.Split(line, " ")
			got := understand(parser.Model, args)
			want := typed{kind: x.kind, prefix: x.prefix, dir: x.dir}
			have := typed{kind: got.kind, prefix: got.prefix, dir: got.dir}
			if diff := cmp.Diff(want, have, cmp.AllowUnexported(typed{})); diff != "" {
				t.Error(diff)
			}
			for _, w := range x.words {
				if !slices.ContainsFunc(got.words, func(c candidate) bool { return c.Word == w }) {
					t.Errorf("%s is missing in %v", w, got.words)
				}
			}
		})
	}
}

// TestEveryKindHasWords: candidates knows every kind that a flag or an argument
// names.
func TestEveryKindHasWords(t *testing.T) {
	known := []string{"", "files", "tasks", "iterations", "iterations or tasks", "questions", "knowledge", "specs"}
	var walk func(n *kong.Node)
	check := func(where string, tag *kong.Tag) {
		kind := kindOf(tag, "")
		if !slices.Contains(known, kind) && len((&App{}).candidates(kind)) == 0 {
			t.Errorf("%s: nothing completes %q", where, kind)
		}
	}
	walk = func(n *kong.Node) {
		for _, f := range n.Flags {
			check(nodeName(n)+" --"+f.Name, f.Tag)
		}
		for _, p := range n.Positional {
			check(nodeName(n)+" "+p.Name, p.Tag)
		}
		for _, c := range n.Children {
			walk(c)
		}
	}
	walk(parserForTest(t).Model.Node)
}

// TestEveryCommandHasExamples: every command has at least one example. Each example
// names an existing command and can be parsed.
func TestEveryCommandHasExamples(t *testing.T) {
	all, parser := examples(), parserForTest(t)
	var names []string
	for _, c := range commandsOf(parser.Model.Node) {
		names = append(names, c.Name)
		if len(all[c.Name]) == 0 {
			t.Errorf("git ralph %s has no example in examples.txt", c.Name)
		}
	}
	for name, list := range all {
		if !slices.Contains(names, name) {
			t.Errorf("there is no command %s", name)
		}
		for _, e := range list {
			if e.Why == "" || len(e.Line) > 80 {
				t.Errorf("%q says nothing of itself, or is too long", e.Line)
			}
			// Every command in a line must be valid, and one of them is the example.
			shown := false
			for _, part := range strings.FieldsFunc(e.Line, func(r rune) bool { return strings.ContainsRune("&|()>", r) }) {
				line, ours := strings.CutPrefix(strings.TrimSpace(part), "git ralph ")
				if !ours {
					continue
				}
				ctx, err := parse(parser, wordsOf(line))
				if err != nil {
					t.Errorf("%q: %v", e.Line, err)
					continue
				}
				shown = shown || strings.HasPrefix(nodeName(ctx.Selected()), name)
			}
			if !shown {
				t.Errorf("%q is no example of %s", e.Line, name)
			}
		}
	}
}

// wordsOf splits a line as a shell would, single quotes included.
func wordsOf(line string) (out []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}
