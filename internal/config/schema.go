package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"
)

// kind is the shape of a setting.
type kind int

const (
	kindTable kind = iota // a struct
	kindMap               // a map of structs: one table a name
	kindList              // a slice of structs: an array of tables, each with a name
	kindString
	kindInt
	kindFloat
	kindBool
	kindDuration
	kindSize
	kindUSD
	kindStrings
	kindEnv // a table of strings
)

// spec is what the tags of one field say. The tree of specs is made once from
// the type Settings and never changed.
type spec struct {
	name   string // last part of the key
	key    string // dotted; below maps and lists with <name> in place of the name
	kind   kind
	index  int // of the field in its struct
	fields []*spec

	preset  string // the default in text form
	value   any    // the same as Entry.Default shows it
	help    string
	example string
	flag    string
	enum    []string
	min     float64
	max     float64 // 0 = none
	percent bool
	command bool
	argv    bool
	glob    bool
	set     bool
	pointer bool
	later   bool // accepted, and read by nothing yet: it is not offered
}

func (s *spec) leaf() bool { return s.kind >= kindString }

// child finds a field by its exact name.
func (s *spec) child(name string) *spec {
	for _, f := range s.fields {
		if f.name == name {
			return f
		}
	}
	return nil
}

// schema is the root of the specs.
var schema = sync.OnceValue(func() *spec {
	root := &spec{kind: kindTable}
	addFields(root, reflect.TypeFor[Settings]())
	return root
})

func addFields(parent *spec, t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get
		s := &spec{
			name: tag("toml"), index: i, preset: tag("default"), help: tag("help"), example: tag("example"),
			flag: tag("flag"), percent: tag("unit") == "percent", command: tag("command") != "", later: tag("later") != "",
			argv: tag("argv") != "", glob: tag("glob") != "", set: tag("set") != "",
		}
		s.min, _ = strconv.ParseFloat(tag("min"), 64)
		s.max, _ = strconv.ParseFloat(tag("max"), 64)
		if enum := tag("enum"); enum != "" {
			s.enum = strings.Split(enum, "|")
		}
		s.key = s.name
		if parent.key != "" {
			s.key = parent.key + "." + s.name
		}
		ft := f.Type
		if ft.Kind() == reflect.Pointer {
			s.pointer, ft = true, ft.Elem()
		}
		s.kind = kindOf(ft)
		switch s.kind {
		case kindTable:
			addFields(s, ft)
		case kindMap, kindList:
			elem := &spec{key: s.key + ".<name>"}
			addFields(elem, ft.Elem())
			s.fields = elem.fields
		}
		if s.leaf() {
			s.value = presetOf(s)
		}
		parent.fields = append(parent.fields, s)
	}
}

func kindOf(t reflect.Type) kind {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return kindDuration
	case reflect.TypeFor[Size]():
		return kindSize
	case reflect.TypeFor[USD]():
		return kindUSD
	case reflect.TypeFor[[]string]():
		return kindStrings
	case reflect.TypeFor[map[string]string]():
		return kindEnv
	}
	switch t.Kind() {
	case reflect.Struct:
		return kindTable
	case reflect.Map:
		return kindMap
	case reflect.Slice:
		return kindList
	case reflect.String:
		return kindString
	case reflect.Int, reflect.Int64:
		return kindInt
	case reflect.Float64:
		return kindFloat
	case reflect.Bool:
		return kindBool
	}
	// A field of another type is a mistake in Settings; every test meets it.
	panic(fmt.Sprintf("config: no kind for %s", t))
}

// leaves calls f for every setting that is not below a map or a list.
func (s *spec) leaves(f func(*spec)) {
	for _, c := range s.fields {
		switch {
		case c.leaf():
			f(c)
		case c.kind == kindTable:
			c.leaves(f)
		}
	}
}

// knownKeys are the keys of all settings and tables, with <name> for a name.
var knownKeys = sync.OnceValue(func() []string {
	var keys []string
	var walk func(*spec)
	walk = func(s *spec) {
		for _, c := range s.fields {
			keys = append(keys, c.key)
			walk(c)
		}
	}
	walk(schema())
	return keys
})

// byNorm finds plain settings by their key without regard to case, underscores
// and hyphens, as git config and older spellings need it.
var byNorm = sync.OnceValue(func() map[string]*spec {
	m := map[string]*spec{}
	schema().leaves(func(s *spec) { m[norm(s.key)] = s })
	return m
})

func norm(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// Default is the settings without any source.
func Default() Settings {
	var s Settings
	setDefaults(schema(), reflect.ValueOf(&s).Elem())
	return s
}

// setDefaults fills the fields of one struct from their tags. Maps and lists
// of tables stay nil.
func setDefaults(s *spec, dst reflect.Value) {
	for _, f := range s.fields {
		v := dst.Field(f.index)
		switch {
		case f.kind == kindTable:
			setDefaults(f, v)
		case f.leaf() && f.preset != "" && !f.pointer:
			// Problems with a default are mistakes in Settings, found by TestDefaults.
			if n, err := fromPreset(f); err == nil {
				_ = assign(f, n, v)
			}
		}
	}
}

// fromPreset reads the default tag; a list's items are separated by blanks,
// because quotes within tags are hard to read.
func fromPreset(f *spec) (node, error) {
	if f.kind == kindStrings {
		return stringList(strings.Fields(f.preset)), nil
	}
	return fromText(f, f.preset)
}
