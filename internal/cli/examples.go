package cli

import (
	_ "embed"
	"strings"

	"github.com/alecthomas/kong"
)

// exampleText has the examples that -h and the man pages show: the name of a
// command, and indented the lines to type, each with what it does behind a #
// or in the line above.
//
//go:embed examples.txt
var exampleText string

// example is a line to type and what it does.
type example struct{ Line, Why string }

// examples are those of each command, by its name.
func examples() map[string][]example {
	out := map[string][]example{}
	name, why := "", ""
	for line := range strings.Lines(exampleText) {
		text, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		comment, alone := strings.CutPrefix(text, "# ")
		switch {
		case !indented:
			name = text
		case alone:
			why = comment
		default:
			if before, after, ok := strings.Cut(text, "  # "); ok {
				text, why = strings.TrimSpace(before), strings.TrimSpace(after)
			} else if before, after, ok := strings.Cut(text, " # "); ok {
				text, why = before, after
			}
			out[name] = append(out[name], example{text, why})
			why = ""
		}
	}
	return out
}

// teach puts the examples behind what each command says of itself.
func teach(n *kong.Node) {
	texts := map[string]string{}
	name := ""
	for line := range strings.Lines(exampleText) {
		if !strings.HasPrefix(line, " ") {
			name = strings.TrimSpace(line)
			continue
		}
		texts[name] += line
	}
	teachWith(n, texts)
}

func teachWith(n *kong.Node, texts map[string]string) {
	for _, child := range n.Children {
		if text := texts[nodeName(child)]; text != "" && !child.Hidden {
			child.Detail = strings.TrimPrefix(child.Detail+"\n\nExamples:\n\n"+text, "\n\n")
		}
		teachWith(child, texts)
	}
}
