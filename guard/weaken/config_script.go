package weaken

import (
	"path"
	"slices"
	"strings"

	"git-ralph/guard/script"
)

// script compares a program that a command starts, and follows what it calls.
// A test file of a language with a reader is judged as tests. Code that the
// check exercises may change.
func (c *configJudge) script(name string, cmd simpleCommand, depth int, strict bool) {
	if name == "" {
		return
	}
	p, known := c.resolve(name, cmd)
	if !known {
		c.unresolved(name, cmd)
		return
	}
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
	lang := languageOf(p)
	asTests := IsTest(p) && lang != nil && (lang.name == "python" || lang.name == "js" || lang.name == "java" ||
		lang.name == "rust" || !isShell(p, before) && countsTests(p, before))
	if before == nil || !asTests && !c.ofCheck(p, before, cmd) {
		if ok && !f.added() && emptied(p, f) {
			c.changed(p)
		}
		return
	}
	if ok && !f.added() {
		switch {
		case asTests && !f.removed():
		case cmd.oneOf && IsTest(p) && isShell(p, f.Before) && !f.removed() && !emptied(p, f):
			// One of many tests. The old tests check what it asserts now.
		case f.removed():
			c.changed(p)
		case significant(p, f.Before) == significant(p, f.After) && string(shebang(f.Before)) == string(shebang(f.After)):
		case isShell(p, f.Before) && appendsChecks(f.Before, f.After, strict):
		case isShell(p, f.Before) && buildNamed(p) && buildsAsMuch(f.Before, f.After):
		default:
			c.changed(p)
		}
	}
	cmd.by = p
	if isShell(p, before) {
		c.text(string(before), cmd, depth+1)
	} else if lang != nil && !asTests {
		c.loaded(p, before, cmd.dir, depth)
	}
}

// countsTests reports whether a file of a language without its own reader has tests that
// can be counted. A file that asserts without a framework is a program.
func countsTests(p string, content []byte) bool {
	s := read(p, content)
	return s != nil && slices.ContainsFunc(s.units, func(u unit) bool { return u.test && u.rows > 0 })
}

// sourced compares a script that another one reads into its own shell.
func (c *configJudge) sourced(name string, cmd simpleCommand, depth int) {
	if name == "" || depth > 8 {
		return
	}
	p, known := c.resolve(name, cmd)
	if !known {
		c.unresolved(name, cmd)
		return
	}
	before := c.content(p)
	f, ok := c.files[p]
	all := testNamed(p)
	if ok && !(f.removed() && !all) {
		if f.removed() {
			c.changed(p)
		} else if why := c.bends(f.Before, f.After, cmd.from, all); why != "" {
			c.find(Config, p, "", "changed check configuration %s: %s", p, why)
		}
	}
	// What it sources runs in the same shell. What else it runs is its own affair.
	for _, side := range [][]byte{before, f.After} {
		s, err := script.Read(string(side))
		if err != nil {
			continue
		}
		for _, inner := range s.Commands {
			if (inner.Words[0] == "." || inner.Words[0] == "source") && len(inner.Words) > 1 {
				key := p + "\x00" + inner.Words[1]
				if !c.seen[key] {
					c.seen[key] = true
					c.sourced(inner.Words[1], simpleCommand{words: inner.Words, dir: cmd.dir, by: p, from: cmd.from}, depth+1)
				}
			}
		}
	}
	if all && before != nil {
		cmd.by = p
		c.text(string(before), cmd, depth+1)
	}
}

// emptied reports whether a program no longer does anything.
func emptied(p string, f File) bool {
	if f.removed() {
		return false
	}
	if !isShell(p, f.Before) {
		return significant(p, f.After) == "" && significant(p, f.Before) != ""
	}
	idle := func(content []byte) bool {
		s, err := script.Read(string(content))
		return err == nil && !slices.ContainsFunc(s.Commands, func(cmd script.Command) bool {
			switch cmd.Words[0] {
			case "true", ":", "exit", "set", "cd":
				return false
			}
			return true
		})
	}
	return !idle(f.Before) && idle(f.After)
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
		return strings.HasSuffix(strings.TrimSpace(string(shebang(content))), "sh") ||
			strings.Contains(string(shebang(content)), "sh -")
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
		if len(f) >= 2 && f[0] == "set" && (strings.HasPrefix(f[1], "-") && strings.Contains(f[1], "e") && f[1] != "-o" ||
			len(f) >= 3 && f[1] == "-o" && f[2] == "errexit") {
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
	if strings.Contains(strings.ReplaceAll(line, "|| exit 1", ""), "||") ||
		strings.ContainsAny(strings.ReplaceAll(strings.ReplaceAll(line, "&&", ""), "||", ""), ";&`(){}") &&
			!strings.HasPrefix(line, "[") && !strings.Contains(line, "$(") {
		return false
	}
	if strings.Contains(line, "<<") || strings.HasSuffix(line, "\\") || strings.HasPrefix(line, "}") ||
		strings.HasPrefix(line, "{") {
		return false
	}
	word, _, _ := strings.Cut(line, " ")
	switch word {
	case "exit", "exec", "trap", "set", "alias", "unalias", "unset", "export", "eval", ".", "source", "return", ":",
		"true", "cd", "function",
		"if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "shift", "break",
		"continue", "!", "local",
		"declare", "typeset", "readonly", "kill", "wait", "command", "builtin", "enable", "hash", "rm", "mv", "cp", "sed",
		"ln", "chmod", "tee", "touch", "git":
		return false
	}
	if name, _, ok := strings.Cut(word, "="); ok && isName(name) {
		return false
	}
	return !strings.Contains(word, "()")
}
