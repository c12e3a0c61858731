package agentctx

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"

	"git-ralph/internal/text"
	"git-ralph/internal/text/lazyregexp"
)

//go:embed templates/*.md
var templateFiles embed.FS

// Role says what a template is for. Its file is <role>.md.
type Role string

// The roles of templates.
const (
	Building       Role = "building"
	Planning       Role = "planning"
	Discovery      Role = "discovery"
	Validation     Role = "validation"
	ContextPrep    Role = "context-prep"
	ContextPost    Role = "context-post"
	Indexer        Role = "indexer"
	Reviewer       Role = "reviewer"
	FirstIteration Role = "first-iteration"
	HandoffRepair  Role = "handoff-repair"
	WindowHandoff  Role = "window-handoff"
)

// Roles returns every role, in the order of the documentation.
func Roles() []Role {
	return []Role{Building, Planning, Discovery, Validation, ContextPrep, ContextPost,
		Indexer, Reviewer, FirstIteration, HandoffRepair, WindowHandoff}
}

// Templates are the texts from which prompts are made: the embedded ones,
// those of a project in their place, and its variants by task type.
type Templates struct {
	byRole map[Role]*template
	byType map[string]*template // "building.docs": task type docs
	extra  map[string]*template // a pass's own file
}

// template is a parsed text.
type template struct {
	file  string
	text  string
	parts []part
}

// part is a literal text, a field, or a block that is kept when its field is
// not empty (or empty, when negated).
type part struct {
	text    string
	field   string
	block   []part
	negated bool
	isBlock bool
}

var embedded = sync.OnceValue(func() *Templates {
	sub, err := fs.Sub(templateFiles, "templates")
	if err != nil {
		panic("embedded templates: " + err.Error())
	}
	t := &Templates{byRole: map[Role]*template{}, byType: map[string]*template{}, extra: map[string]*template{}}
	if err := t.load(sub); err != nil {
		panic("embedded templates: " + err.Error())
	}
	for _, r := range Roles() {
		if t.byRole[r] == nil {
			panic("embedded templates: " + string(r) + ".md is missing")
		}
	}
	return t
})

// LoadTemplates returns the embedded templates with those of folder in their
// place: <role>.md for a role, <role>.<type>.md for tasks of one type, and any
// other name for a pass that asks for it. A nil folder gives the embedded
// ones. Every file is checked; the error joins what is wrong with all of them,
// each with file, line and, for a misspelt field, the nearest one.
func LoadTemplates(folder fs.FS) (*Templates, error) {
	base := embedded()
	if folder == nil {
		return base, nil
	}
	t := &Templates{byRole: map[Role]*template{}, byType: map[string]*template{}, extra: map[string]*template{}}
	for r, tpl := range base.byRole {
		t.byRole[r] = tpl
	}
	if err := t.load(folder); err != nil {
		return nil, err
	}
	return t, nil
}

// maxTemplate bounds a template's file, in bytes.
const maxTemplate = 64 << 10

func (t *Templates) load(folder fs.FS) error {
	files, err := fs.ReadDir(folder, ".")
	if err != nil {
		return fmt.Errorf("read the templates: %w", err)
	}
	var errs []error
	for _, f := range files {
		name := f.Name()
		if f.IsDir() || path.Ext(name) != ".md" || strings.EqualFold(name, "README.md") {
			continue
		}
		data, err := fs.ReadFile(folder, name)
		if err != nil {
			errs = append(errs, fmt.Errorf("read template %q: %w", name, err))
			continue
		}
		if len(data) > maxTemplate {
			errs = append(errs, fmt.Errorf("template %s has %d bytes, at most %d are allowed", name, len(data), maxTemplate))
			continue
		}
		stem := strings.TrimSuffix(name, ".md")
		head, kind, typed := strings.Cut(stem, ".")
		role := Role(head)
		known := slices.Contains(Roles(), role)
		fieldsOf := role
		if !known {
			fieldsOf = Reviewer // the template of a pass
		}
		tpl, err := parseTemplate(name, string(data), fieldsOf)
		switch {
		case err != nil:
			errs = append(errs, err)
		case known && typed:
			t.byType[string(role)+"."+strings.ToLower(kind)] = tpl
		case known:
			t.byRole[role] = tpl
		default:
			t.extra[stem] = tpl
		}
	}
	return errors.Join(errs...)
}

// Source returns the text of a role's template as it is in force, and the name
// of its file.
func (t *Templates) Source(role Role) (file, text string) {
	if tpl := t.byRole[role]; tpl != nil {
		return tpl.file, tpl.text
	}
	return "", ""
}

// pick returns the template for a role and a task's type.
func (t *Templates) pick(role Role, taskType string) *template {
	if taskType != "" {
		if tpl := t.byType[string(role)+"."+strings.ToLower(taskType)]; tpl != nil {
			return tpl
		}
	}
	if tpl := t.byRole[role]; tpl != nil {
		return tpl
	}
	return t.pass(string(role)) // a pass has its own name as role
}

// pass returns the template of a pass: its own when there is one.
func (t *Templates) pass(name string) *template {
	if tpl := t.extra[strings.TrimSuffix(path.Base(name), ".md")]; tpl != nil {
		return tpl
	}
	return t.byRole[Reviewer]
}

var templateTag = lazyregexp.New(`\{\{([#^/]?)\s*([^{}]*?)\s*\}\}`)

// parseTemplate checks a template against the fields of its role.
func parseTemplate(file, text string, role Role) (*template, error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.TrimPrefix(text, "\ufeff")
	known := fieldNames(role)
	var errs []error
	bad := func(at int, format string, args ...any) {
		line := 1 + strings.Count(text[:at], "\n")
		errs = append(errs, fmt.Errorf("template %s, line %d: %s", file, line, fmt.Sprintf(format, args...)))
	}
	type open struct {
		part part
		at   int
		up   []part
	}
	var stack []open
	var cur []part
	pos := 0
	stray := func(from, to int) {
		if i := strings.Index(text[from:to], "{{"); i >= 0 {
			bad(from+i, "{{ without }}")
		} else if i := strings.Index(text[from:to], "}}"); i >= 0 {
			bad(from+i, "}} without {{")
		}
	}
	for _, m := range templateTag().FindAllStringSubmatchIndex(text, -1) {
		stray(pos, m[0])
		if m[0] > pos {
			cur = append(cur, part{text: text[pos:m[0]]})
		}
		pos = m[1]
		kind, name := text[m[2]:m[3]], text[m[4]:m[5]]
		if !slices.Contains(known, name) {
			bad(m[0], "unknown field {{%s}}%s", name, hint(name, known))
		}
		switch kind {
		case "":
			cur = append(cur, part{field: name})
		case "/":
			if len(stack) == 0 || stack[len(stack)-1].part.field != name {
				bad(m[0], "{{/%s}} closes nothing", name)
				continue
			}
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			top.part.block = cur
			cur = append(top.up, top.part)
			pos = ownLine(text, m[0], m[1])
		default:
			stack = append(stack, open{part{field: name, isBlock: true, negated: kind == "^"}, m[0], cur})
			cur = nil
			// A block's tag on a line of its own leaves no empty line behind.
			if strings.HasPrefix(text[pos:], "\n") && (m[0] == 0 || text[m[0]-1] == '\n') {
				pos++
			}
		}
	}
	stray(pos, len(text))
	if pos < len(text) {
		cur = append(cur, part{text: text[pos:]})
	}
	for _, o := range stack {
		bad(o.at, "the block of %s is not closed with {{/%s}}", o.part.field, o.part.field)
	}
	if strings.TrimSpace(text) == "" {
		bad(0, "the template is empty")
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &template{file: file, text: text, parts: cur}, nil
}

// ownLine is the position behind a closing tag, and behind its line feed if the
// tag has its own line.
func ownLine(text string, from, to int) int {
	if strings.HasPrefix(text[to:], "\n") && (from == 0 || text[from-1] == '\n') {
		return to + 1
	}
	return to
}

// render fills a template in. Values are put in as they are: a value that
// looks like a field is text.
func (t *template) render(values map[string]string) string {
	var b strings.Builder
	renderParts(&b, t.parts, values)
	return strings.TrimSpace(collapse(b.String()))
}

func renderParts(b *strings.Builder, parts []part, values map[string]string) {
	for _, p := range parts {
		switch {
		case p.isBlock:
			if (strings.TrimSpace(values[p.field]) == "") == p.negated {
				renderParts(b, p.block, values)
			}
		case p.field != "":
			b.WriteString(strings.TrimRight(values[p.field], "\n"))
		default:
			b.WriteString(p.text)
		}
	}
}

// collapse leaves at most one empty line in a row, as a field without a value
// on a line of its own would otherwise leave two.
func collapse(s string) string {
	for strings.Contains(s, "\n\n\n") {
		s = strings.ReplaceAll(s, "\n\n\n", "\n\n")
	}
	return s
}

// hint names the nearest known field.
func hint(name string, known []string) string {
	best, at := "", 4
	for _, k := range known {
		if d := text.Distance(strings.ToLower(name), k); d < at {
			best, at = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf(", did you mean {{%s}}?", best)
	}
	sorted := slices.Clone(known)
	sort.Strings(sorted)
	return "; known are " + strings.Join(sorted, ", ")
}
