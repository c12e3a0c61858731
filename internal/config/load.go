package config

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"git-ralph/internal/proc"
	"git-ralph/internal/stable"
)

// FileName is the settings file at the root of the worktree.
const FileName = "ralph.toml"

// Layer is a place where a setting can come from. A higher one wins.
type Layer int

// The layers, lowest first.
const (
	LayerDefault Layer = iota
	LayerIntent        // agent.intent
	LayerFile
	LayerGit
	LayerRun
	LayerEnv
	LayerFlag
)

// Origin says where a value came from. Where is what people read: "default",
// "ralph.toml:3", "git config ralph.loop.maxiterations", "git ralph set",
// "RALPH_LOOP_MAX_ITERATIONS", "--max-iterations".
type Origin struct {
	Layer Layer
	Where string

	file      string
	line, col int
	raw       any // the value before ${NAME} was substituted, when it was
}

// String is Where; the zero Origin is the default.
func (o Origin) String() string {
	if o.Where == "" {
		return "default"
	}
	return o.Where
}

// Sources is everything that settings are made of. All of it may be empty.
type Sources struct {
	// Files is ralph.toml, when there is one, then each --config FILE.
	Files []File
	// Git is git's configuration; keys outside ralph.* are passed over.
	Git proc.Config
	// Run are the overrides that `git ralph set` stored in the journal.
	Run map[string]string
	// Env is the environment.
	Env map[string]string
	// Flags are values of flags by the key that they set.
	Flags map[string]string
	// IgnoreEnv names further RALPH_* variables that are no settings.
	IgnoreEnv []string
}

// Resolved is the outcome of Load.
type Resolved struct {
	Settings
	// Origin holds the keys that some source has set. A name below a map or a
	// list of tables is a part of the key: checks.test.run.
	Origin map[string]Origin
	// Warnings are sentences for standard error; none of them stops anything.
	Warnings []string
	// Hash is the sha256, in hex, of the effective settings: the same for the
	// same values, wherever they came from. Values of [mcp.<name>] env count
	// as they are written, so that a renewed secret changes nothing.
	Hash string
	// Files are the files that were read.
	Files []File
}

// Load merges the sources. Whatever is wrong in any of them is reported at
// once, as an *Error; then the result is nil. Warnings never fail.
//
// A list of strings is replaced as a whole by a later source. Tables with a
// name ([[checks]], [[passes]], [[steps]], roles, servers, prices) are merged
// by that name: a later file changes the keys it gives and adds new names.
func Load(src Sources) (*Resolved, error) {
	l := &loader{src: src, res: &Resolved{Settings: Default(), Origin: map[string]Origin{}, Files: src.Files}}
	l.root = reflect.ValueOf(&l.res.Settings).Elem()
	for _, f := range src.Files {
		l.file(f)
	}
	l.git()
	l.run()
	l.env()
	l.flags()
	if len(l.err.Problems) == 0 {
		l.intent()
	}
	if len(l.err.Problems) == 0 {
		// The rules between settings would only repeat in other words what
		// is wrong with a single one.
		l.validate()
	}
	if len(l.err.Problems) > 0 {
		return nil, &l.err
	}
	l.res.Hash = l.res.hash()
	return l.res, nil
}

type loader struct {
	src  Sources
	res  *Resolved
	root reflect.Value // res.Settings
	err  Error
}

func (l *loader) problem(p Problem) {
	if len(l.err.Problems) >= maxProblems {
		l.err.More++
		return
	}
	l.err.Problems = append(l.err.Problems, p)
}

func (l *loader) warn(format string, args ...any) {
	l.res.Warnings = append(l.res.Warnings, printable(fmt.Sprintf(format, args...)))
}

// full says that further problems are only counted: searching the nearest
// name for each of a hundred thousand would take too long.
func (l *loader) full() bool { return len(l.err.Problems) >= maxProblems }

// file applies one settings file.
func (l *loader) file(f File) {
	root, p := parseTOML(f.Name, f.Data)
	if p != nil {
		l.problem(*p)
		return
	}
	mark := len(l.err.Problems)
	w := fileWalk{loader: l, name: f.Name}
	w.table(schema(), root, nil)
	stable.Sort(l.err.Problems[mark:], func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
}

type fileWalk struct {
	*loader
	name string
}

func (w *fileWalk) fail(key string, line, col int, format string, args ...any) {
	w.problem(Problem{Where: w.name, Line: line, Col: col, Key: key, Msg: fmt.Sprintf(format, args...)})
}

// table applies the entries of one table; path holds the parts of its key.
func (w *fileWalk) table(s *spec, t *table, path []string) {
	for _, e := range t.entries {
		here := append(slices.Clone(path), e.key)
		key := joinKey(here)
		c := s.child(e.key)
		if c == nil {
			w.unknown(s, e, key)
			continue
		}
		switch c.kind {
		case kindTable:
			if sub, ok := e.val.val.(*table); ok {
				w.table(c, sub, here)
				continue
			}
			w.fail(key, e.line, e.col, "%s must be a table, [%s], not %s", key, key, describe(e.val))
		case kindMap:
			w.named(c, e, here)
		case kindList:
			w.list(c, e, here)
		default:
			w.leaf(c, e, here)
		}
	}
}

func (w *fileWalk) unknown(s *spec, e entry, key string) {
	if w.full() {
		w.err.More++
		return
	}
	known := knownKeys()
	if strings.Contains(s.fields[0].key, "<name>") {
		// Within a table with a name: its own keys, with that name filled in.
		known = nil
		for _, f := range s.fields {
			known = append(known, strings.TrimSuffix(key, joinKey([]string{e.key}))+f.name)
		}
	}
	w.fail(key, e.line, e.col, "unknown key %s%s", cut(key), suggest(key, known))
}

// named applies [map.<name>] tables.
func (w *fileWalk) named(c *spec, e entry, path []string) {
	key := joinKey(path)
	t, ok := e.val.val.(*table)
	if !ok {
		w.fail(key, e.line, e.col, "%s must be tables, [%s.NAME], not %s", key, key, describe(e.val))
		return
	}
	for _, item := range t.entries {
		here := append(slices.Clone(path), item.key)
		sub, ok := item.val.val.(*table)
		if !ok {
			name := joinKey(here)
			w.fail(name, item.line, item.col, "%s must be a table, [%s], not %s", name, name, describe(item.val))
			continue
		}
		if msg := badName(item.key); msg != "" {
			w.fail(key, item.line, item.col, "the name %s in %s %s", quote(item.key), key, msg)
			continue
		}
		w.ensure(here)
		w.origin(here, Origin{Layer: LayerFile, file: w.name, line: item.line, col: item.col})
		w.table(c, sub, here)
	}
}

// list applies [[list]] tables, each found by its name.
func (w *fileWalk) list(c *spec, e entry, path []string) {
	key := joinKey(path)
	items, ok := e.val.val.(list)
	if !ok {
		w.fail(key, e.line, e.col, "%s must be tables, [[%s]], not %s", key, key, describe(e.val))
		return
	}
	seen := map[string]int{}
	for _, item := range items {
		t, ok := item.val.(*table)
		if !ok {
			w.fail(key, item.line, item.col, "%s must be tables, [[%s]], not %s", key, key, describe(item))
			continue
		}
		n, has := t.get("name")
		name, isText := n.val.(string)
		msg := ""
		switch {
		case !has:
			w.fail(key, item.line, item.col, "[[%s]] has no name", key)
			continue
		case !isText:
			msg = "must be a string, not " + describe(n)
		case badName(name) != "":
			msg = quote(name) + " " + badName(name)
		case seen[name] > 0:
			msg = fmt.Sprintf("%s is used twice, first in line %d", quote(name), seen[name])
		}
		if msg != "" {
			w.fail(key+".name", n.line, n.col, "%s.name %s", key, msg)
			continue
		}
		seen[name] = n.line
		here := append(slices.Clone(path), name)
		w.ensure(here)
		w.origin(here, Origin{Layer: LayerFile, file: w.name, line: item.line, col: item.col})
		w.table(c, t, here)
	}
}

func (w *fileWalk) leaf(c *spec, e entry, path []string) {
	key := joinKey(path)
	from := Origin{Layer: LayerFile, file: w.name, line: e.line, col: e.col}
	val := e.val
	if !c.command {
		replaced, changed, err := substitute(val, w.src.Env)
		if err != nil {
			w.problem(Problem{Where: w.name, Line: e.line, Col: e.col, Key: key, Msg: key + " " + err.Error(),
				Hint: substituteHint})
			return
		}
		if changed {
			from.raw = rawValue(val)
		}
		val = replaced
	}
	if err := w.set(path, val); err != nil {
		w.fail(key, val.line, val.col, "%s %s", key, err)
		return
	}
	w.origin(path, from)
}

// origin records where the setting at path came from.
func (l *loader) origin(path []string, o Origin) {
	if o.Where == "" {
		o.Where = o.file + ":" + strconv.Itoa(o.line)
	}
	l.res.Origin[joinKey(path)] = o
}

// text applies a value in text form from a source other than a file.
func (l *loader) text(path []string, s *spec, text, where string, from Origin) {
	key := joinKey(path)
	val, err := fromText(s, text)
	if err == nil && !s.command && from.Layer == LayerGit {
		val, err = l.expandGit(val, &from)
	}
	if err == nil {
		err = l.set(path, val)
	}
	if err != nil {
		l.problem(Problem{Where: where, Key: key, Msg: key + " " + err.Error()})
		return
	}
	l.origin(path, from)
}

// expandGit substitutes in a value of git config and remembers what was written.
func (l *loader) expandGit(val node, from *Origin) (node, error) {
	out, changed, err := substitute(val, l.src.Env)
	if changed {
		from.raw = rawValue(val)
	}
	return out, err
}

// set stores a value at path, making the named tables on the way.
func (l *loader) set(path []string, n node) error {
	return descend(schema(), l.root, path, func(s *spec, dst reflect.Value) error { return assign(s, n, dst) })
}

// ensure makes the named table at path, with defaults, when it is not there.
func (l *loader) ensure(path []string) {
	_ = descend(schema(), l.root, path, func(*spec, reflect.Value) error { return nil })
}

// descend calls f with the field at path. Maps hold structs by value, so an
// element is copied, changed and stored back.
func descend(s *spec, v reflect.Value, path []string, f func(*spec, reflect.Value) error) error {
	if len(path) == 0 {
		return f(s, v)
	}
	c := s.child(path[0])
	if c == nil {
		return fmt.Errorf("is not a setting%s", suggest(path[0], knownKeys()))
	}
	v, path = v.Field(c.index), path[1:]
	if len(path) == 0 || c.kind == kindTable {
		return descend(c, v, path, f)
	}
	name := path[0]
	switch c.kind {
	case kindMap:
		elem := reflect.New(v.Type().Elem()).Elem()
		if old := v.MapIndex(reflect.ValueOf(name)); old.IsValid() {
			elem.Set(old)
		} else {
			setDefaults(c, elem)
		}
		if err := descend(c, elem, path[1:], f); err != nil {
			return err
		}
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		v.SetMapIndex(reflect.ValueOf(name), elem)
		return nil
	case kindList:
		for i := range v.Len() {
			if elementName(v.Index(i)) == name {
				return descend(c, v.Index(i), path[1:], f)
			}
		}
		elem := reflect.New(v.Type().Elem()).Elem()
		setDefaults(c, elem)
		elem.FieldByName("Name").SetString(name)
		if err := descend(c, elem, path[1:], f); err != nil {
			return err
		}
		v.Set(reflect.Append(v, elem))
		return nil
	}
	return fmt.Errorf("has no part %s", quote(name))
}

func elementName(v reflect.Value) string { return v.FieldByName("Name").String() }

// badName says what is wrong with the name of a table; names stand in reports,
// environment variables and keys.
func badName(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "is empty"
	case len(name) > 64:
		return "is longer than 64 bytes"
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "has characters that are no text"
	case strings.Contains(name, "${"):
		return "has ${, and names are taken as they stand"
	}
	return ""
}

// joinKey is the dotted key of a path; parts that TOML would quote are quoted.
func joinKey(path []string) string {
	parts := make([]string, len(path))
	for i, p := range path {
		parts[i] = p
		if p == "" || strings.ContainsFunc(p, func(r rune) bool { return !isBare(r) }) {
			parts[i] = strconv.Quote(p)
		}
	}
	return strings.Join(parts, ".")
}

func isBare(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

// cut shortens a key for a message.
func cut(key string) string {
	const most = 80
	if len(key) > most {
		return strings.ToValidUTF8(key[:most], "") + "…"
	}
	return key
}

// sorted are the keys of a map in order, so that the same sources give the
// same messages.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
