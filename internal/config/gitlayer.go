package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"git-ralph/internal/text"
)

// gitOthers are our keys in git config that are not settings.
func gitOthers() []string { return []string{TrustKey} }

// git applies ralph.* of git config. The last value of a key wins, as for git;
// a list takes all of them, an empty one forgets those before it.
func (l *loader) git() {
	type found struct {
		path   []string
		spec   *spec
		key    string
		values []string
	}
	var order []string
	all := map[string]*found{}
	for _, g := range l.src.Git {
		rest, ok := text.CutPrefixFold(g.Key, "ralph.")
		if !ok || slices.Contains(gitOthers(), strings.ToLower(g.Key)) {
			continue
		}
		where := "git config " + cut(g.Key)
		path, s := l.gitPath(rest)
		if s == nil {
			l.gitUnknown(rest, where)
			continue
		}
		value := g.Value
		if g.Bare {
			if s.kind != kindBool {
				l.problem(Problem{Where: where, Key: joinKey(path), Msg: joinKey(path) + " has no value",
					Hint: "give it one, or remove it with: git config --unset " + printable(g.Key)})
				continue
			}
			value = "true"
		}
		key := joinKey(path)
		f := all[key]
		if f == nil {
			f = &found{path: path, spec: s, key: where}
			all[key] = f
			order = append(order, key)
		}
		if many := s.kind == kindStrings || s.kind == kindEnv; !many || value == "" {
			f.values = nil
		}
		if value != "" || s.kind == kindString {
			f.values = append(f.values, value)
		}
	}
	for _, key := range order {
		f := all[key]
		from := Origin{Layer: LayerGit, Where: f.key}
		switch {
		case len(f.values) == 0 && f.spec.kind != kindStrings && f.spec.kind != kindEnv:
			l.problem(Problem{Where: f.key, Key: key, Msg: key + " is empty"})
		case len(f.values) < 2:
			l.text(f.path, f.spec, strings.Join(f.values, ""), f.key, from)
		case f.spec.kind == kindStrings:
			val, err := stringList(f.values), error(nil)
			if !f.spec.command {
				val, err = l.expandGit(val, &from)
			}
			if err == nil {
				err = l.set(f.path, val)
			}
			if err != nil {
				l.problem(Problem{Where: f.key, Key: key, Msg: key + " " + err.Error()})
				continue
			}
			l.origin(f.path, from)
		default:
			l.text(f.path, f.spec, strings.Join(f.values, "\n"), f.key, from)
		}
	}
}

// gitPath finds the setting of a key without its "ralph.". Git keeps the case
// of the middle part alone, so names of roles, servers and models are taken
// from there as they stand, except that known ones match in any case.
func (l *loader) gitPath(key string) ([]string, *spec) {
	if s := byNorm()[norm(key)]; s != nil {
		return strings.Split(s.key, "."), s
	}
	i := strings.LastIndexByte(key, '.')
	if i < 0 {
		return nil, nil
	}
	middle, variable := key[:i], key[i+1:]
	for _, m := range namedTables() {
		name, ok := text.CutPrefixFold(middle, m.key+".")
		if !ok || badName(name) != "" {
			continue
		}
		for _, f := range m.fields {
			if f.leaf() && norm(f.name) == norm(variable) {
				return append(strings.Split(m.key, "."), l.knownName(m, name), f.name), f
			}
		}
	}
	return nil, nil
}

func (l *loader) gitUnknown(key, where string) {
	first, _, _ := strings.Cut(key, ".")
	if s := schema().child(strings.ToLower(first)); s != nil && s.kind == kindList {
		l.problem(Problem{Where: where, Key: s.key,
			Msg: fmt.Sprintf("%s is a list of tables, which git config cannot hold", s.key), Hint: "put it into " + FileName})
		return
	}
	var known []string
	if !l.full() {
		for _, k := range knownKeys() {
			known = append(known, "ralph."+camel(k))
		}
	}
	l.problem(Problem{Where: where, Msg: "unknown key ralph." + cut(key) + suggest("ralph."+key, known)})
}

// camel is a key as people write it in git config: loop.maxIterations.
func camel(key string) string {
	var out strings.Builder
	for i := 0; i < len(key); i++ {
		if key[i] == '_' && i+1 < len(key) {
			i++
			out.WriteString(strings.ToUpper(key[i : i+1]))
			continue
		}
		out.WriteByte(key[i])
	}
	return out.String()
}

// namedTables are the maps: agent.roles, mcp, pricing.
func namedTables() []*spec {
	var out []*spec
	var walk func(*spec)
	walk = func(s *spec) {
		for _, c := range s.fields {
			switch c.kind {
			case kindMap:
				out = append(out, c)
			case kindTable:
				walk(c)
			}
		}
	}
	walk(schema())
	return out
}

// knownName is the spelling of a name elsewhere: that of a built-in role or
// of a table in a lower layer; else the given name.
func (l *loader) knownName(m *spec, name string) string {
	for _, known := range l.names(m) {
		if norm(known) == norm(name) {
			return known
		}
	}
	return name
}

// names are the names in a table so far. Roles always include the built-in
// ones and those of passes.
func (l *loader) names(m *spec) []string {
	v := l.root
	s := schema()
	for part := range strings.SplitSeq(m.key, ".") {
		s = s.child(part)
		v = v.Field(s.index)
	}
	var names []string
	if m.key == rolesKey {
		names = roleNames(&l.res.Settings)
	}
	for _, k := range v.MapKeys() {
		names = append(names, k.String())
	}
	slices.Sort(names)
	return slices.Compact(names)
}

const rolesKey = "agent.roles"

// builtinRoles are the roles that every project has.
func builtinRoles() []string {
	return []string{"coding", "discovery", "planning", "validation", "context-prep", "context-post", "indexer"}
}

func roleNames(s *Settings) []string {
	names := builtinRoles()
	for _, p := range s.Passes {
		names = append(names, p.Name)
	}
	return names
}

// flags applies values of flags.
func (l *loader) flags() {
	for _, key := range sorted(l.src.Flags) {
		s := byNorm()[norm(key)]
		if s == nil {
			l.problem(Problem{Where: "flag", Key: key, Msg: "unknown key " + cut(key) + suggest(key, knownKeys())})
			continue
		}
		where := "flag for " + s.key
		if s.flag != "" {
			where = "--" + s.flag
		}
		l.text(strings.Split(s.key, "."), s, l.src.Flags[key], where, Origin{Layer: LayerFlag, Where: where})
	}
}

// run applies the overrides of the journal. A journal may come from another
// version of this program, and nobody can repair it in an editor: what does not
// fit is left out with a warning.
func (l *loader) run() {
	for _, key := range sorted(l.src.Run) {
		canonical, value, err := ParseSet(key, l.src.Run[key])
		if err != nil {
			l.warn("override of %s is left out: %v", cut(key), err)
			continue
		}
		s := byNorm()[norm(canonical)]
		l.text(strings.Split(canonical, "."), s, value, "git ralph set", Origin{Layer: LayerRun, Where: "git ralph set"})
	}
}

// Settable are the keys that `git ralph set` and the page may override for a
// run, in file order.
func Settable() []string {
	var keys []string
	schema().leaves(func(s *spec) {
		if s.set {
			keys = append(keys, s.key)
		}
	})
	return keys
}

// LongKey is the key that a short form of `git ralph set` stands for, or the key itself.
func LongKey(key string) string {
	short := map[string]string{"mode": "loop.mode", "strategy": "validation.strategy", "model": "agent.model"}
	if long, ok := short[norm(key)]; ok {
		return long
	}
	return key
}

// ParseSet checks KEY and VALUE of `git ralph set`, which takes the short
// forms of LongKey and any spelling that git config takes. It answers
// the key and value to store in Sources.Run. The error is an *Error.
func ParseSet(key, value string) (canonical, text string, err error) {
	fail := func(key, msg, hint string) (string, string, error) {
		return "", "", &Error{Problems: []Problem{{Key: key, Msg: msg, Hint: hint}}}
	}
	name := norm(LongKey(key))
	s := byNorm()[name]
	if s == nil {
		return fail(key, "unknown key "+cut(key)+suggest(key, Settable()), "git ralph config lists every key")
	}
	if !s.set {
		return fail(s.key, s.key+" cannot be changed during a run",
			"change it in "+FileName+"; these can be set: "+strings.Join(Settable(), " "))
	}
	var scratch Settings
	val, perr := fromText(s, value)
	if perr == nil {
		perr = descend(schema(), reflect.ValueOf(&scratch).Elem(), strings.Split(s.key, "."),
			func(s *spec, dst reflect.Value) error {
				if err := assign(s, val, dst); err != nil {
					return err
				}
				text = textOf(s, dst)
				return nil
			})
	}
	if perr != nil {
		return fail(s.key, s.key+" "+perr.Error(), s.help)
	}
	return s.key, text, nil
}

// textOf is a plain value in the text form that fromText reads back.
func textOf(s *spec, v reflect.Value) string {
	switch p := plain(s, v).(type) {
	case []string:
		return strings.Join(p, "\n")
	case map[string]string:
		var rows []string
		for _, k := range slices.Sorted(maps.Keys(p)) {
			rows = append(rows, k+"="+p[k])
		}
		return strings.Join(rows, "\n")
	case float64:
		return number(p)
	default:
		return fmt.Sprint(p)
	}
}
