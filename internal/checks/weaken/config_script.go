package weaken

import (
	"path"
	"slices"
	"strings"
)

// script compares a script that a check runs, and follows what it calls. A
// script that is itself a test file of a language with a reader is judged as tests.
func (c *configJudge) script(name string, cmd simpleCommand, depth int, strict bool) {
	if name == "" || strings.ContainsAny(name, "$*`") {
		return
	}
	p := join(cmd.dir, name)
	f, ok := c.files[p]
	if !ok {
		for _, ext := range []string{".js", ".ts", ".mjs", "/index.js", ".sh"} {
			if g, found := c.files[p+ext]; found {
				f, ok, p = g, true, p+ext
				break
			}
		}
	}
	before := c.content(p)
	if ok && !f.added() {
		lang := languageOf(p)
		asTests := IsTest(p) && lang != nil && (lang.name == "python" || lang.name == "js" || lang.name == "java" || lang.name == "rust")
		switch {
		case asTests && !f.removed():
		case f.removed():
			c.changed(p)
		case significant(p, f.Before) == significant(p, f.After) && string(shebang(f.Before)) == string(shebang(f.After)):
		case isShell(p, f.Before) && appendsChecks(f.Before, f.After, strict):
		default:
			c.changed(p)
		}
	}
	if before != nil && isShell(p, before) {
		dir := cmd.dir
		c.line(string(before), dir, depth+1)
	}
}

func shebang(b []byte) []byte {
	if len(b) < 2 || b[0] != '#' || b[1] != '!' {
		return nil
	}
	if i := slices.Index(b, '\n'); i >= 0 {
		return b[:i]
	}
	return b
}

func isShell(p string, content []byte) bool {
	switch path.Ext(p) {
	case ".sh", ".bash", ".zsh", ".ksh":
		return true
	case "":
		return strings.HasSuffix(strings.TrimSpace(string(shebang(content))), "sh") || strings.Contains(string(shebang(content)), "sh -")
	}
	return false
}

// appendsChecks reports whether a shell script only gained further simple
// commands: every old line is still there in order, each new line is one plain
// command that cannot hide the failure of another, and the script stops at
// the first failure (set -e), so that what is added can only make it stricter.
func appendsChecks(before, after []byte, strict bool) bool {
	old, now := iniLines(before), iniLines(after)
	if !strict && !stopsAtFailure(old, shebang(before)) {
		return false
	}
	if string(shebang(before)) != string(shebang(after)) {
		return false
	}
	i := 0
	for _, l := range now {
		if i < len(old) && l == old[i] {
			i++
			continue
		}
		if !plainCheck(l) {
			return false
		}
	}
	// An added line inside a heredoc or a continued line would change its meaning.
	for _, l := range old {
		if strings.Contains(l, "<<") || strings.HasSuffix(l, "\\") {
			return false
		}
	}
	return i == len(old)
}

// stopsAtFailure looks for set -e before anything else of weight.
func stopsAtFailure(lines []string, bang []byte) bool {
	if strings.HasSuffix(strings.TrimSpace(string(bang)), " -e") || strings.Contains(string(bang), " -eu") {
		return true
	}
	for i, l := range lines {
		f := strings.Fields(l)
		if len(f) >= 2 && f[0] == "set" && (strings.HasPrefix(f[1], "-") && strings.Contains(f[1], "e") && f[1] != "-o" || len(f) >= 3 && f[1] == "-o" && f[2] == "errexit") {
			return true
		}
		if i >= 3 || !strings.HasPrefix(l, "cd ") && !strings.HasPrefix(l, "set ") {
			return false
		}
	}
	return false
}

// plainCheck is one command without control, redefinition or a way to swallow a
// failure.
func plainCheck(line string) bool {
	line = strings.TrimSpace(line)
	if strings.Contains(strings.ReplaceAll(line, "|| exit 1", ""), "||") || strings.ContainsAny(strings.ReplaceAll(strings.ReplaceAll(line, "&&", ""), "||", ""), ";&`(){}") && !strings.HasPrefix(line, "[") && !strings.Contains(line, "$(") {
		return false
	}
	if strings.Contains(line, "<<") || strings.HasSuffix(line, "\\") || strings.HasPrefix(line, "}") || strings.HasPrefix(line, "{") {
		return false
	}
	word, _, _ := strings.Cut(line, " ")
	switch word {
	case "exit", "exec", "trap", "set", "alias", "unalias", "unset", "export", "eval", ".", "source", "return", ":", "true", "cd", "function",
		"if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "shift", "break", "continue", "!", "local",
		"declare", "typeset", "readonly", "kill", "wait", "command", "builtin", "enable", "hash", "rm", "mv", "cp", "sed", "ln", "chmod", "tee", "touch", "git":
		return false
	}
	if name, _, ok := strings.Cut(word, "="); ok && isName(name) {
		return false
	}
	return !strings.Contains(word, "()")
}

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
		case w == "-C" || w == "-f" || w == "--file" || w == "--directory" || w == "-j" && i+1 < len(cmd.words) && isDigits(cmd.words[i+1]):
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
		old := parseMake(before)
		if changed {
			now := parseMake(f.After)
			if old.slice(targets) != now.slice(targets) && !now.onlyAdds(old, targets) {
				c.changed(p)
			}
		}
		c.included(old, dir)
		c.upToDate(old, targets, dir)
		for _, l := range old.recipes(targets) {
			c.line(strings.TrimLeft(l, "@-+ \t"), dir, depth+1)
		}
	}
}

// included compares the files that a Makefile includes, also those that need not
// exist.
func (c *configJudge) included(m makeRules, dir string) {
	for _, g := range m.globals {
		word, names, _ := strings.Cut(g, " ")
		if word != "include" && word != "-include" && word != "sinclude" {
			continue
		}
		for _, n := range strings.Fields(names) {
			p := join(dir, n)
			if f, ok := c.files[p]; ok && f.added() {
				c.find(Config, p, "", "%s is read by the Makefile of a check", p)
			} else {
				c.pick(dir, n)
			}
		}
	}
}

// upToDate finds a new file or folder with the name of a target that is not
// phony: make takes it for the result and runs nothing.
func (c *configJudge) upToDate(m makeRules, targets []string, dir string) {
	for _, t := range m.reach(targets) {
		if slices.Contains(m.needs[".PHONY"], t) || strings.ContainsAny(t, "%$") || len(m.needs[t]) > 0 && !m.allExist(c, t, dir) {
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
			line := strings.TrimSpace(l)
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
			if name == ".SHELLFLAGS" || name == "SHELL" || name == "MAKEFLAGS" || name == ".DEFAULT_GOAL" || strings.HasPrefix(name, "export ") {
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
	if c := strings.IndexByte(l, ':'); c >= 0 && c < i-1 && strings.TrimSpace(l[c:i]) != ":" && strings.TrimSpace(l[c:i]) != "::" {
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
			if !slices.Contains(names, name) && (strings.Contains(l, "$("+name+")") || strings.Contains(l, "${"+name+"}") || strings.Contains(l, "$("+name+":")) {
				names = append(names, name)
				todo = append(todo, value)
			}
		}
	}
	slices.Sort(names)
	var b strings.Builder
	for _, n := range names {
		b.WriteString(n + " =" + m.vars[n] + "\n")
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
			if i < len(old.rules[t]) && l == old.rules[t][i] {
				i++
			} else if l[0] == '-' || !plainCheck(strings.TrimLeft(l, "@")) {
				return false
			}
		}
		if i != len(old.rules[t]) {
			return false
		}
	}
	was, is := old.usedVars(targets), m.usedVars(targets)
	for l := range strings.Lines(was) {
		if !strings.Contains(is, l) {
			return false
		}
	}
	return true
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
			c.line(strings.TrimLeft(l, "@- \t"), cmd.dir, depth+1)
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
		case strings.TrimSpace(l) == "" || strings.HasPrefix(strings.TrimSpace(l), "#") && !strings.HasPrefix(strings.TrimSpace(l), "#!"):
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
