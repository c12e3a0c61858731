package weaken

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// makefile compares the recipes that a target needs.
func (c *configJudge) makefile(cmd simpleCommand, depth int) {
	dir := cmd.dir
	if d := cmd.option("-C", "--directory"); d != "" {
		dir = join(dir, d)
	}
	names := []string{"GNUmakefile", "makefile", "Makefile"}
	if f := cmd.option("-f", "--file", "--makefile"); f != "" {
		names = []string{f}
	}
	var targets []string
	for i := 1; i < len(cmd.words); i++ {
		w := cmd.words[i]
		switch {
		case w == "-C" || w == "-f" || w == "--file" || w == "--directory" || w == "-j" && i+1 < len(cmd.words) &&
			isDigits(cmd.words[i+1]):
			i++
		case strings.HasPrefix(w, "-") || strings.Contains(w, "="):
		default:
			targets = append(targets, w)
		}
	}
	found := false
	for _, n := range names {
		p := join(dir, n)
		before := c.content(p)
		f, changed := c.files[p]
		if changed && f.added() && !found {
			// Make reads the first that exists; this one would come before another.
			for _, other := range names[slices.Index(names, n)+1:] {
				if c.content(join(dir, other)) != nil {
					c.find(Config, p, "", "%s takes the place of %s", p, other)
				}
			}
		}
		if before == nil || found {
			continue
		}
		found = true
		old, now := parseMake(before), parseMake(c.side(p, true))
		blame := c.included(&old, &now, dir, changed)
		if old.slice(targets) != now.slice(targets) && !now.onlyAdds(old, targets) &&
			!c.recipesAsWide(old, now, targets, dir) {
			c.changed(cmp.Or(blame, p))
		}
		c.upToDate(old, targets, dir)
		for _, l := range old.recipes(targets) {
			c.line(old.expand(strings.TrimLeft(l, "@-+ \t")), dir, depth+1)
		}
	}
}

// side is a file of the checkpoint, or what the change made of it.
func (c *configJudge) side(p string, after bool) []byte {
	if f, ok := c.files[p]; ok && after {
		return f.After
	}
	return c.content(p)
}

// included joins the files that a Makefile includes, also those that need not
// exist, to its rules. It names the one to blame for a difference: "" when the
// Makefile itself was changed.
func (c *configJudge) included(old, now *makeRules, dir string, changed bool) (blame string) {
	for i, m := range []*makeRules{old, now} {
		for k := 0; k < min(len(m.globals), 100); k++ { // included files include others
			word, names, _ := strings.Cut(m.globals[k], " ")
			if word != "include" && word != "-include" && word != "sinclude" {
				continue
			}
			for _, n := range strings.Fields(m.expand(names)) {
				p := join(dir, n)
				m.add(parseMake(c.side(p, i == 1)))
				if _, ok := c.files[p]; ok && !changed {
					blame = p
				}
			}
		}
	}
	return blame
}

// add joins what another file says.
func (m *makeRules) add(o makeRules) {
	for name, value := range o.vars {
		m.vars[name] += value
	}
	for t, lines := range o.rules {
		m.rules[t] = append(m.rules[t], lines...)
	}
	for t, needs := range o.needs {
		m.needs[t] = append(m.needs[t], needs...)
	}
	m.first = cmp.Or(m.first, o.first)
	m.globals = append(m.globals, o.globals...)
}

// upToDate finds a new file or folder with the name of a target that is not
// phony: make takes it for the result and runs nothing.
func (c *configJudge) upToDate(m makeRules, targets []string, dir string) {
	for _, t := range m.reach(targets) {
		if slices.Contains(m.needs[".PHONY"], t) || strings.ContainsAny(t, "%$") || len(m.needs[t]) > 0 &&
			!m.allExist(c, t, dir) {
			continue
		}
		p := join(dir, t)
		for _, q := range c.paths() {
			if f := c.files[q]; f.added() && (q == p || strings.HasPrefix(q, p+"/") && !c.existed(p+"/")) {
				c.find(Config, q, "", "make takes %s for the result of its target %s and runs nothing", p, t)
				break
			}
		}
	}
}

// allExist reports whether the prerequisites of a target are files and not
// targets that are made each time.
func (m makeRules) allExist(c *configJudge, target, dir string) bool {
	return !slices.ContainsFunc(m.needs[target], func(n string) bool { return c.content(join(dir, n)) == nil })
}

// existed reports whether the checkpoint had a path below a folder.
func (c *configJudge) existed(folder string) bool {
	return slices.ContainsFunc(c.in.Paths, func(p string) bool { return strings.HasPrefix(p, folder) })
}

// makeRules is a Makefile as far as checks need it.
type makeRules struct {
	vars    map[string]string
	rules   map[string][]string // target → recipe lines
	needs   map[string][]string // target → prerequisites
	first   string
	globals []string // include, .SHELLFLAGS, .IGNORE …
}

func parseMake(content []byte) makeRules {
	m := makeRules{vars: map[string]string{}, rules: map[string][]string{}, needs: map[string][]string{}}
	var current []string
	text := strings.ReplaceAll(strings.ReplaceAll(string(content), "\r\n", "\n"), "\\\n", " ")
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\n")
		if strings.HasPrefix(l, "\t") {
			line := strings.Join(strings.Fields(l), " ")
			if line != "" && line[0] != '#' {
				for _, t := range current {
					m.rules[t] = append(m.rules[t], line)
				}
			}
			continue
		}
		if i := strings.IndexByte(l, '#'); i >= 0 {
			l = l[:i]
		}
		l = strings.TrimSpace(l)
		if l == "" {
			continue
		}
		if name, value, ok := makeAssignment(l); ok {
			if name == ".SHELLFLAGS" || name == "SHELL" || name == "MAKEFLAGS" || name == ".DEFAULT_GOAL" ||
				strings.HasPrefix(name, "export ") {
				m.globals = append(m.globals, l)
			}
			m.vars[name] += "\n" + value
			continue
		}
		if head, tail, ok := strings.Cut(l, ":"); ok && !strings.HasPrefix(l, "include") {
			current = strings.Fields(head)
			needs, inline, hasInline := strings.Cut(strings.TrimPrefix(tail, ":"), ";")
			for _, t := range current {
				if m.first == "" && t[0] != '.' {
					m.first = t
				}
				m.needs[t] = append(m.needs[t], strings.Fields(needs)...)
				if hasInline {
					m.rules[t] = append(m.rules[t], strings.TrimSpace(inline))
				}
				if t == ".IGNORE" || t == ".ONESHELL" || t == ".POSIX" {
					m.globals = append(m.globals, l)
				}
			}
			continue
		}
		current = nil
		m.globals = append(m.globals, l)
	}
	return m
}

func makeAssignment(l string) (name, value string, ok bool) {
	i := strings.IndexByte(l, '=')
	if i <= 0 {
		return "", "", false
	}
	name = strings.TrimSpace(strings.TrimRight(l[:i], ":?+! "))
	if c := strings.IndexByte(l, ':'); c >= 0 && c < i-1 && strings.TrimSpace(l[c:i]) != ":" &&
		strings.TrimSpace(l[c:i]) != "::" {
		return "", "", false // target: VAR = value
	}
	return name, strings.TrimSpace(l[i+1:]), name != "" && !strings.Contains(strings.TrimPrefix(name, "export "), " ")
}

// reach are the targets that the given ones need, themselves included.
func (m makeRules) reach(targets []string) []string {
	if len(targets) == 0 {
		targets = []string{m.first}
	}
	var out []string
	var visit func(string)
	visit = func(t string) {
		if slices.Contains(out, t) || m.rules[t] == nil && m.needs[t] == nil {
			return
		}
		out = append(out, t)
		for _, n := range m.needs[t] {
			visit(n)
		}
	}
	for _, t := range targets {
		visit(t)
	}
	return out
}

func (m makeRules) recipes(targets []string) []string {
	var out []string
	for _, t := range m.reach(targets) {
		out = append(out, m.rules[t]...)
	}
	return out
}

// slice is everything that decides what the targets do.
func (m makeRules) slice(targets []string) string {
	var b strings.Builder
	for _, t := range m.reach(targets) {
		b.WriteString(t + ": " + strings.Join(m.needs[t], " ") + "\n")
		for _, l := range m.rules[t] {
			b.WriteString("\t" + l + "\n")
		}
	}
	b.WriteString(m.usedVars(targets))
	b.WriteString(strings.Join(m.globals, "\n"))
	return b.String()
}

// expand puts the values of plain variables into a recipe line, as far as they are
// known.
func (m makeRules) expand(line string) string {
	if !strings.Contains(line, "$") {
		return line
	}
	for range 4 { // variables that name others
		before := line
		for _, name := range slices.Sorted(maps.Keys(m.vars)) {
			value := m.vars[name]
			value = value[strings.LastIndexByte(value, '\n')+1:]
			if len(value) < 200 {
				line = strings.ReplaceAll(strings.ReplaceAll(line, "$("+name+")", value), "${"+name+"}", value)
			}
		}
		if line == before || len(line) > 4000 {
			break
		}
	}
	return strings.ReplaceAll(line, "$$", "$")
}

// usedVars are the variables that the recipes name, and those that these name.
func (m makeRules) usedVars(targets []string) string {
	var names []string
	todo := m.recipes(targets)
	for _, t := range m.reach(targets) {
		todo = append(todo, m.needs[t]...)
	}
	for len(todo) > 0 {
		l := todo[0]
		todo = todo[1:]
		for name, value := range m.vars {
			if !slices.Contains(names, name) && (strings.Contains(l, "$("+name+")") || strings.Contains(l, "${"+name+"}") ||
				strings.Contains(l, "$("+name+":")) {
				names = append(names, name)
				todo = append(todo, value)
			}
		}
	}
	slices.Sort(names)
	var b strings.Builder
	for _, n := range names {
		b.WriteString(n + " =" + strings.ReplaceAll(m.vars[n], "\n", " ") + "\n")
	}
	return b.String()
}

// onlyAdds reports whether targets only gained prerequisites and recipe lines
// that are plain checks; make stops at the first that fails.
func (m makeRules) onlyAdds(old makeRules, targets []string) bool {
	if strings.Join(m.globals, "\n") != strings.Join(old.globals, "\n") || len(targets) == 0 && m.first != old.first {
		return false
	}
	for _, t := range old.reach(targets) {
		for _, n := range old.needs[t] {
			if !slices.Contains(m.needs[t], n) {
				return false
			}
		}
		i := 0
		for _, l := range m.rules[t] {
			if i < len(old.rules[t]) && (l == old.rules[t][i] || compilesMore(old.rules[t][i], l)) {
				i++
			} else if l[0] == '-' || !plainCheck(strings.TrimLeft(l, "@")) {
				return false
			}
		}
		if i != len(old.rules[t]) {
			return false
		}
	}
	is := map[string]string{}
	for l := range strings.Lines(m.usedVars(targets)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(l, "\n"), " =")
		is[name] = value
	}
	for l := range strings.Lines(old.usedVars(targets)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(l, "\n"), " =")
		if is[name] != value && !(old.isList(name) && namesMore(value, is[name])) {
			return false
		}
	}
	return true
}

// isList reports whether no command begins with the variable.
func (m makeRules) isList(name string) bool {
	for _, lines := range m.rules {
		for _, l := range lines {
			l = strings.TrimLeft(l, "@-+ ")
			if strings.HasPrefix(l, "$("+name) || strings.HasPrefix(l, "${"+name) {
				return false
			}
		}
	}
	return true
}

// namesMore reports whether a list only gained names of files.
func namesMore(old, now string) bool {
	more := added(strings.Fields(old), strings.Fields(now))
	return len(added(strings.Fields(now), strings.Fields(old))) == 0 && !slices.ContainsFunc(more, func(w string) bool {
		return w[0] == '-' || !strings.ContainsAny(w, "./") || strings.ContainsAny(w, "$`;|&<>(){}=!*?'\"\\")
	})
}

// recipesAsWide reports whether targets still run every runner that they ran: what they
// need, their settings and everything global is the same, and their recipes run as much.
func (c *configJudge) recipesAsWide(old, now makeRules, targets []string, dir string) bool {
	was, is := old.reach(targets), now.reach(targets)
	if !slices.Equal(was, is) || old.usedVars(targets) != now.usedVars(targets) ||
		strings.Join(old.globals, "\n") != strings.Join(now.globals, "\n") {
		return false
	}
	line := func(m makeRules) string {
		var out []string
		for _, l := range m.recipes(targets) {
			out = append(out, m.expand(strings.TrimLeft(l, "@")))
		}
		return strings.Join(out, " && ")
	}
	return wideness{moved: c.moved(dir)}.runsAsMuch(line(old), line(now), false)
}

// compilesMore reports whether a command that compiles only gained files and
// options that leave no assertion out.
func compilesMore(old, now string) bool {
	was, is := strings.Fields(old), strings.Fields(now)
	if len(was) == 0 || len(is) == 0 || was[0] != is[0] || strings.ContainsAny(now, "`;|&<>") || len(added(is, was)) > 0 {
		return false
	}
	switch strings.TrimLeft(was[0], "@-+") {
	case "cc", "gcc", "clang", "c++", "g++", "clang++", "$(CC)", "$(CXX)", "${CC}", "${CXX}", "rustc", "javac",
		"kotlinc", "ar", "ld":
	default:
		return false
	}
	return !slices.ContainsFunc(added(was, is), func(w string) bool {
		if w[0] != '-' {
			return strings.ContainsAny(w, "$=")
		}
		for _, ok := range []string{"-I", "-L", "-l", "-W", "-O", "-g", "-std=", "-pthread", "-fPIC"} {
			if strings.HasPrefix(w, ok) && !strings.HasPrefix(w, "-Wp,") {
				return false
			}
		}
		return true
	})
}

// justfile compares the recipes that just would run.
func (c *configJudge) justfile(cmd simpleCommand, depth int) {
	var targets []string
	for _, w := range cmd.words[1:] {
		if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
			targets = append(targets, w)
		}
	}
	for _, n := range []string{"justfile", "Justfile", ".justfile"} {
		p := join(cmd.dir, n)
		before := c.content(p)
		if before == nil {
			continue
		}
		old := parseMake(justAsMake(before))
		if f, ok := c.files[p]; ok {
			now := parseMake(justAsMake(f.After))
			if old.slice(targets) != now.slice(targets) && !now.onlyAdds(old, targets) {
				c.changed(p)
			}
		}
		for _, l := range old.recipes(targets) {
			c.line(old.expand(strings.TrimLeft(l, "@- \t")), cmd.dir, depth+1)
		}
		return
	}
}

// justAsMake brings a justfile into the form of a Makefile: recipes are
// indented by anything, names have parameters, {{x}} is $(x).
func justAsMake(content []byte) []byte {
	var b strings.Builder
	for l := range strings.Lines(strings.ReplaceAll(string(content), "\r\n", "\n")) {
		switch {
		case strings.TrimSpace(l) == "" || strings.HasPrefix(strings.TrimSpace(l), "#") &&
			!strings.HasPrefix(strings.TrimSpace(l), "#!"):
			b.WriteString("\n")
		case l[0] == ' ' || l[0] == '\t':
			l = strings.NewReplacer("{{", "$(", "}}", ")").Replace(strings.TrimLeft(l, " \t"))
			b.WriteString("\t" + l)
		default:
			if head, tail, ok := strings.Cut(l, ":"); ok && !strings.HasPrefix(tail, "=") && len(strings.Fields(head)) > 0 {
				name := strings.TrimPrefix(strings.Fields(head)[0], "@")
				b.WriteString(name + ":" + strings.NewReplacer("&&", " ", "(", " ", ")", " ").Replace(tail))
			} else {
				b.WriteString(l)
			}
		}
	}
	return []byte(b.String())
}
