package guard

import (
	"iter"
	"maps"
	"path"
	"slices"
	"strings"
)

// scope is what the shell knows at one point of the line. Branches are
// evaluated in clones and joined, so that a variable may have several values
// and the shell several current folders; a denial of one is a denial.
type scope struct {
	vars    map[string]*variable
	funcs   map[string]*function
	aliases map[string]string
	files   map[string]file // clean absolute path: what this line made of it
	params  []string        // $1 …; nil = unknown
	cwds    []string        // current folder, at least one; may hold holes
	dotglob bool            // * matches names with a leading dot
}

// variable is never changed in place, so that clones may share it.
type variable struct {
	vals  []value // the possible values; none = unset
	assoc bool
	keys  map[string]string
	exp   bool // exported
}

// file is what the line did to a path before it is used.
type file struct {
	program string // it is a copy of, or a link to, this command
	text    string // what was written to it
	written bool   // text is valid
	decoded bool   // text is unknown and came out of a decoder or the network
}

const (
	maxValues = 16       // possible values of a variable
	maxValue  = 16 << 10 // bytes of one; more is no longer followed, so that texts cannot double without end
)

func newScope(p *Policy, cwd string) *scope {
	if cwd == "" {
		cwd = p.Worktree
	}
	if cwd == "" {
		cwd = "/" + string(holeName)
	}
	return &scope{cwds: []string{path.Clean(cwd)}}
}

func (sc *scope) clone() *scope {
	c := *sc
	c.vars, c.funcs, c.aliases = maps.Clone(sc.vars), maps.Clone(sc.funcs), maps.Clone(sc.aliases)
	c.files = maps.Clone(sc.files)
	return &c
}

// join adds the states of a branch that may or may not have run.
func (sc *scope) join(b *scope) {
	for name, v := range b.vars {
		old, ok := sc.vars[name]
		if !ok || old == v {
			sc.put(name, v)
			continue
		}
		u := *old
		u.vals = slices.Clone(old.vals)
		for _, val := range v.vals {
			if !slices.ContainsFunc(u.vals, func(o value) bool { return sameValue(o, val) }) {
				u.vals = append(u.vals, val)
			}
		}
		if len(u.vals) > maxValues {
			u.vals = []value{{s: string(holeForeign)}}
		}
		sc.put(name, &u)
	}
	for name, f := range b.funcs {
		if sc.funcs[name] != f {
			sc.define(name, f)
		}
	}
	for name, a := range b.aliases {
		sc.alias(name, a)
	}
	for name, f := range b.files {
		sc.note(name, f)
	}
	for _, d := range b.cwds {
		if !slices.Contains(sc.cwds, d) {
			sc.cwds = append(slices.Clone(sc.cwds), d)
		}
	}
	if len(sc.cwds) > 8 {
		sc.cwds = []string{string(holeForeign)}
	}
	sc.dotglob = sc.dotglob || b.dotglob
}

// sorted walks over a map in the order of its keys, so that a line that is denied for
// several reasons is denied for the same one each time.
func sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

func sameValue(a, b value) bool {
	return a.array == b.array && a.s == b.s && slices.Equal(a.list, b.list)
}

func (sc *scope) put(name string, v *variable) {
	if sc.vars == nil {
		sc.vars = make(map[string]*variable)
	}
	sc.vars[name] = v
}

func (sc *scope) set(name string, v value) {
	if name == "PPID" || name == "" {
		return
	}
	if len(v.s) > maxValue {
		v.s = string(holeForeign)
	}
	old := sc.vars[name]
	sc.put(name, &variable{vals: []value{v}, exp: old != nil && old.exp})
}

// get returns the first value of a variable set in the line.
func (sc *scope) get(name, otherwise string) string {
	if v, ok := sc.vars[name]; ok && len(v.vals) > 0 {
		return v.vals[0].scalar()
	}
	return otherwise
}

func (sc *scope) define(name string, f *function) {
	if sc.funcs == nil {
		sc.funcs = make(map[string]*function)
	}
	sc.funcs[name] = f
}

func (sc *scope) alias(name, text string) {
	if sc.aliases == nil {
		sc.aliases = make(map[string]string)
	}
	sc.aliases[name] = text
}

func (sc *scope) note(name string, f file) {
	if sc.files == nil {
		sc.files = make(map[string]file)
	}
	sc.files[name] = f
}

func (sc *scope) ifs() string {
	if len(sc.vars) == 0 {
		return " \t\n"
	}
	s := sc.get("IFS", " \t\n")
	if !known(s) {
		return " \t\n"
	}
	return s
}

func (sc *scope) cwd() string { return sc.cwds[0] }

// resolve makes a path absolute and clean, once for each possible folder.
func (sc *scope) resolve(s string) []string {
	s = slash(s)
	if isAbs(s) {
		return []string{path.Clean(s)}
	}
	out := make([]string, 0, len(sc.cwds))
	for _, d := range sc.cwds {
		out = append(out, path.Join(d, s))
	}
	return out
}

// made returns what the line made of a path before.
func (sc *scope) made(s string) (file, bool) {
	if len(sc.files) == 0 {
		return file{}, false
	}
	for _, p := range sc.resolve(s) {
		if f, ok := sc.files[p]; ok {
			return f, true
		}
	}
	return file{}, false
}

// chdir moves to dir; an unknown one is kept as a hole.
func (sc *scope) chdir(dir string) {
	old := sc.cwd()
	next := sc.resolve(dir)
	sc.cwds = slices.Compact(next)
	sc.set("OLDPWD", value{s: old})
}

// multi lists the variables that have several values here.
func (sc *scope) multi() []string {
	var out []string
	for name, v := range sc.vars {
		if len(v.vals) > 1 {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// quoteWord quotes s as one shell word.
func quoteWord(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func quoteWords(args []string) string {
	q := make([]string, len(args))
	for i, a := range args {
		q[i] = quoteWord(a)
	}
	return strings.Join(q, " ")
}
