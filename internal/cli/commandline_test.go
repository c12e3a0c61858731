package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

// TestOneCommand: the model of a single command equals that command in the whole
// model. Global flags are found before and after it.
func TestOneCommand(t *testing.T) {
	t.Parallel()
	whole, err := kong.New(&Commands{}, kong.NoDefaultHelp())
	if err != nil {
		t.Fatal(err)
	}
	shape := func(n *kong.Node) (out []string) {
		kong.Visit(n, func(node kong.Visitable, next kong.Next) error {
			switch v := node.(type) {
			case *kong.Node:
				out = append(out, v.Summary())
			case *kong.Flag:
				out = append(out, v.String())
			}
			return next(nil)
		})
		return out
	}
	for _, want := range whole.Model.Children {
		grammar, flags := oneCommand([]string{want.Name})
		if grammar == nil {
			t.Errorf("%s is read with all others", want.Name)
			continue
		}
		one, err := kong.New(grammar, kong.NoDefaultHelp())
		if err != nil {
			t.Fatal(err)
		}
		if len(one.Model.Children) != 1 {
			t.Fatalf("%s: %d commands", want.Name, len(one.Model.Children))
		}
		if d := cmp.Diff(shape(want), shape(one.Model.Children[0])); d != "" {
			t.Errorf("%s (-with all, +alone):\n%s", want.Name, d)
		}
		// A missing argument is only reported at the end.
		if parse(one, []string{want.Name, "-v", "-C", "there"}); flags.Verbose != 1 || flags.Dir != "there" {
			t.Errorf("%s does without the flags of every command: %+v", want.Name, *flags)
		}
	}
	for _, args := range [][]string{nil, {"-v", "status"}, {"help", "status"}, {"statos"}, {"Globals"}, {completeWord},
		{"status", "-h"}, {"diff", "--help"}} {
		if grammar, _ := oneCommand(args); grammar != nil {
			t.Errorf("%q is read by a part of the grammar", args)
		}
	}
}

// TestHelpOfEveryCommand: -h and --help after a command explain it and run nothing, even
// if the command takes another program's options. After a word of that program, or after
// --, they belong to that program.
func TestHelpOfEveryCommand(t *testing.T) {
	t.Parallel()
	var app App
	var lines [][]string
	for _, node := range app.model().Leaves(false) {
		var path []string
		for n := node; n.Type == kong.CommandNode; n = n.Parent {
			path = slices.Insert(path, 0, n.Name)
		}
		lines = append(lines, append(slices.Clone(path), "-h"), append(path, "--help"))
	}
	lines = append(lines, []string{"test", "-v", "-h"}, []string{"guard", "--json", "-h"})
	for _, args := range lines {
		if out, code := help(t, args); code != 0 || !strings.HasPrefix(out, "Usage: git ralph "+args[0]) {
			t.Errorf("%q: exit %d, %s", args, code, out)
		}
	}
	for _, args := range [][]string{{"guard", "git", "-h"}, {"guard", "--", "git", "--help"}} {
		if out, code := help(t, args); code != 0 || !strings.HasPrefix(out, "allow") {
			t.Errorf("%q: exit %d, %s", args, code, out)
		}
	}
}

// help is what a command line prints.
func help(t *testing.T, args []string) (string, int) {
	t.Helper()
	var out, errs bytes.Buffer
	app := &App{Ctx: t.Context(), In: strings.NewReader(""), Out: &out, Err: &errs}
	code := app.Run(args)
	return out.String() + errs.String(), code
}

// TestFlagInFrontOfTheCommand: a flag before a command does not make the command
// unknown.
func TestFlagInFrontOfTheCommand(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"--json status": `{"code":2,"error":"--json stands in front of the command","hint":"git ralph status --json"}` + "\n",
		"--once start -v": "error: --once stands in front of the command\n" +
			"hint: git ralph start --once -v\n",
		"--json nonsense": `{"code":2,"error":"\"nonsense\" is not a command of git ralph",` +
			`"hint":"git ralph -h lists the commands"}` + "\n",
	} {
		if got, code := help(t, strings.Fields(line)); code != 2 || got != want {
			t.Errorf("git ralph %s: exit %d, %s", line, code, got)
		}
	}
}
