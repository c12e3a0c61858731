package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Document is ralph.toml with every setting commented out: a # directly before
// a key or table, and a # with a blank before what is meant for people. Taking
// away every # of the first sort gives a valid file that says the defaults,
// with one example of each table that has a name.
func Document() []byte {
	doc := &document{}
	doc.comment("ralph.toml: the settings of git ralph in this project.")
	doc.comment("What can be set stands here with its default; take away the # before one to change it.")
	doc.comment("Above it count: git config ralph.*, RALPH_* in the environment, flags. What holds, and")
	doc.comment("where it came from: git ralph config")
	for _, s := range schema().fields {
		if !s.leaf() && !slices.ContainsFunc(s.fields, func(f *spec) bool { return !f.later }) {
			continue
		}
		doc.WriteByte('\n')
		doc.section(s)
	}
	return []byte(doc.String())
}

const (
	keyWidth  = 32  // where explanations start
	lineWidth = 110 // a longer line has its explanation above it
)

type document struct{ strings.Builder }

func (doc *document) comment(text string) { doc.WriteString("# " + text + "\n") }

func (doc *document) section(s *spec) {
	switch {
	case s.kind == kindTable:
		doc.comment(s.help)
		doc.WriteString("[" + s.key + "]\n")
		for _, f := range s.fields {
			if f.kind == kindMap {
				doc.example(f)
				continue
			}
			doc.setting(f)
		}
	default:
		doc.example(s)
	}
}

// example writes one commented table of a kind that has names.
func (doc *document) example(s *spec) {
	if s.kind == kindList {
		doc.comment(s.help)
		doc.WriteString("#[[" + s.key + "]]\n")
	} else {
		doc.line("#["+s.key+"."+joinKey([]string{s.example})+"]", s.help)
	}
	for _, f := range s.fields {
		doc.setting(f)
	}
}

// setting writes one key, commented.
func (doc *document) setting(s *spec) {
	if s.later {
		return
	}
	help := s.help
	if s.enum != nil {
		help = strings.TrimPrefix(strings.Join(s.enum, " | "), " | ") + "; " + help
	}
	doc.line("#"+s.name+" = "+doc.preset(s), help)
}

func (doc *document) line(text, help string) {
	if row := fmt.Sprintf("%-*s # %s", keyWidth-1, text, help); len(row) <= lineWidth {
		doc.WriteString(row + "\n")
		return
	}
	doc.comment(help)
	doc.WriteString(text + "\n")
}

// preset is the default or the example in TOML.
func (doc *document) preset(s *spec) string {
	if s.kind == kindTable {
		parts := make([]string, len(s.fields))
		for i, f := range s.fields {
			parts[i] = f.name + " = " + doc.preset(f)
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	shown := *s
	shown.pointer = false
	if s.preset == "" {
		shown.preset, shown.example = s.example, ""
	}
	if shown.preset == "" && s.kind == kindEnv {
		return "{}"
	}
	if shown.preset == "" && s.kind == kindStrings {
		return "[]"
	}
	if shown.preset == "" {
		return tomlText(plain(&shown, reflect.New(typeOf(s.kind)).Elem()))
	}
	return tomlText(presetOf(&shown))
}
