package guard

import (
	"path"
	"strconv"
	"strings"
)

// builtin evaluates the commands of the shell itself and the few programs
// whose output matters to what comes after.
func (j *judge) builtin(sc *scope, base string, args []arg, in stream) (out string, ok bool) {
	rest := args[1:]
	switch base {
	case "echo":
		return echo(rest), true
	case "printf":
		return j.printf(sc, rest), true
	case "cat":
		return j.cat(sc, rest, in), true
	case "pwd":
		return sc.cwd(), true
	case "eval":
		words := make([]string, len(rest))
		for i, a := range rest {
			words[i] = a.s
			if a.glob {
				words[i] = globText(a.s)
			}
		}
		return j.script(sc, strings.Join(words, " "), in, "eval"), true
	case "source", ".":
		return j.source(sc, rest, in), true
	case "type", "which":
		return j.whereIs(rest), true
	case "command":
		for len(rest) > 0 && strings.HasPrefix(rest[0].s, "-") {
			if strings.ContainsAny(rest[0].s, "vV") {
				return j.whereIs(rest[1:]), true
			}
			rest = rest[1:]
		}
		return j.runCommand(sc, rest, in), true
	case "builtin":
		return j.runCommand(sc, rest, in), true
	case "exec":
		for len(rest) > 0 && strings.HasPrefix(rest[0].s, "-") {
			if rest[0].s == "-a" && len(rest) > 1 {
				rest = rest[1:]
			}
			rest = rest[1:]
		}
		return j.runCommand(sc, rest, in), true
	case "mktemp":
		return j.mktemp(sc, rest), true
	default:
		return "", j.shellState(sc, base, rest, in)
	}
}

// shellState evaluates the builtins that print nothing of interest, and reports
// whether base is one of them.
func (j *judge) shellState(sc *scope, base string, rest []arg, in stream) bool {
	switch base {
	case "cd", "chdir", "pushd":
		j.cd(sc, rest)
	case "popd":
		sc.cwds = append([]string{sc.get("OLDPWD", string(holeForeign))}, sc.cwds...)
	case "read":
		j.read(sc, rest, in)
	case "mapfile", "readarray":
		j.mapfile(sc, rest, in)
	case "trap":
		j.trap(sc, rest)
	case "set":
		sc.setParams(rest)
	case "shift":
		n := 1
		if len(rest) > 0 {
			n, _ = strconv.Atoi(rest[0].s)
		}
		if sc.params != nil {
			sc.params = sc.params[min(max(n, 0), len(sc.params)):]
		}
	case "unset", "unalias", "alias", "export", "declare", "typeset", "local", "readonly", "hash":
		j.names(sc, base, rest)
	case "shopt":
		for _, a := range rest {
			sc.dotglob = sc.dotglob || a.s == "dotglob"
		}
	case "let":
		for _, a := range rest {
			j.arithText(sc, a.s)
		}
	case "test", "[":
		for i, a := range rest {
			if i > 0 && (rest[i-1].s == "-v" || rest[i-1].s == "-eq" || rest[i-1].s == "-ne" || rest[i-1].s == "-gt" ||
				rest[i-1].s == "-lt") {
				j.arithText(sc, a.s)
			}
		}
	case "getopts":
		if len(rest) > 1 {
			sc.set(rest[1].s, value{s: string(holeNum)})
		}
	case "enable":
		for _, a := range rest {
			if a.s == "-f" {
				j.undecidable("what a loaded builtin does")
			}
		}
	case "complete", "compgen", "bind", "fc":
		j.completes(sc, base, rest)
	case "ulimit", "umask", "wait", "jobs", "bg", "fg", "return", "exit", "break", "continue", "times", "true", "false",
		":", "dirs", "history", "disown", "suspend", "logout", "caller":
	case "kill", "pkill", "killall", "skill", "tkill":
		j.kill(base, rest)
	default:
		return false
	}
	return true
}

// names runs the builtins that define or remove variables, functions and aliases.
func (j *judge) names(sc *scope, base string, rest []arg) {
	switch base {
	case "unset":
		for _, a := range rest {
			if hidesCommand(a.s) {
				j.arithText(sc, a.s)
			}
			if a.known() {
				delete(sc.vars, a.s)
				sc.put(a.s, &variable{})
				delete(sc.funcs, a.s)
			}
		}
	case "unalias":
		for _, a := range rest {
			delete(sc.aliases, a.s)
		}
	case "alias":
		for _, a := range rest {
			if name, v, ok := strings.Cut(a.s, "="); ok {
				sc.alias(name, v)
			}
		}
	case "export", "declare", "typeset", "local", "readonly":
		// Only reached behind "command" or "builtin": else the parser knows them.
		for _, a := range rest {
			if name, v, ok := strings.Cut(a.s, "="); ok {
				sc.set(name, value{s: v})
			}
		}
	case "hash":
		for i, a := range rest {
			if a.s == "-p" && i+2 < len(rest) {
				sc.alias(rest[i+2].s, quoteWord(rest[i+1].s))
			}
		}
	}
}

// setParams gives $1 and the rest the words behind the options of set.
func (sc *scope) setParams(rest []arg) {
	for i, a := range rest {
		if a.s == "--" || a.s == "-" {
			rest = rest[i+1:]
			sc.params = texts(rest)
			return
		}
		if !strings.HasPrefix(a.s, "-") && !strings.HasPrefix(a.s, "+") &&
			(i == 0 || rest[i-1].s != "-o" && rest[i-1].s != "+o") {
			sc.params = texts(rest[i:])
			return
		}
	}
}

func (j *judge) trap(sc *scope, rest []arg) {
	if len(rest) > 1 && rest[0].s != "-" && rest[0].s != "-l" && rest[0].s != "-p" {
		a := rest[0].s
		if a == "--" && len(rest) > 2 {
			a = rest[1].s
		}
		j.script(sc.clone(), a, stream{}, "the trap")
	}
}

// completes judges the commands that keys and completions run.
func (j *judge) completes(sc *scope, base string, rest []arg) {
	for i, a := range rest {
		if i > 0 && (rest[i-1].s == "-C" || rest[i-1].s == "-x" || rest[i-1].s == "-F") {
			_, cmd, found := strings.Cut(a.s, ":")
			if rest[i-1].s != "-x" || !found {
				cmd = a.s
			}
			j.script(sc.clone(), strings.Trim(cmd, `"' `), stream{}, base)
		}
	}
	if base == "fc" {
		j.undecidable("which earlier command this runs again")
	}
}

func texts(args []arg) []string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a.s
	}
	return out
}

// globText is a pattern as part of a shell line.
func globText(s string) string { return strings.ReplaceAll(s, " ", `\ `) }

func echo(args []arg) string {
	escapes := false
	nl := "\n"
	for len(args) > 0 {
		o := args[0].s
		if len(o) < 2 || o[0] != '-' || strings.Trim(o[1:], "neE") != "" {
			break
		}
		if strings.Contains(o, "e") {
			escapes = true
		}
		if strings.Contains(o, "n") {
			nl = ""
		}
		args = args[1:]
	}
	words := texts(args)
	for i, a := range args {
		if a.glob {
			words[i] = globName(a.s)
			if !strings.ContainsAny(a.s, "*[") { // "?" in prose: nothing matches, the text stays
				words[i] = a.s
			}
		}
	}
	s := strings.Join(words, " ")
	if escapes {
		s = ansiC(s)
	}
	return s + nl
}

// printf formats what it can; a directive it does not know makes the text unknown.
func (j *judge) printf(sc *scope, args []arg) string {
	target := ""
	if len(args) > 1 && args[0].s == "-v" {
		target, args = args[1].s, args[2:]
	}
	if len(args) > 0 && args[0].s == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return ""
	}
	format, vals := ansiC(strings.ReplaceAll(args[0].s, `\"`, `"`)), args[1:]
	var b strings.Builder
	for round := 0; round < 64; round++ {
		used := 0
		for i := 0; i < len(format); i++ {
			if format[i] != '%' {
				b.WriteByte(format[i])
				continue
			}
			i++
			for i < len(format) && strings.IndexByte("-+ #0123456789.*", format[i]) >= 0 {
				i++
			}
			if i == len(format) {
				break
			}
			val := ""
			if format[i] != '%' && used < len(vals) {
				val = vals[used].s
				used++
			}
			switch format[i] {
			case '%':
				b.WriteByte('%')
			case 's':
				b.WriteString(val)
			case 'q':
				b.WriteString(quoteWord(val))
			case 'b':
				b.WriteString(ansiC(val))
			case 'd', 'i', 'u', 'f', 'g', 'e', 'x', 'X', 'o':
				j.arithText(sc, val)
				b.WriteByte(holeNum)
			case 'c':
				b.WriteString(val[:min(1, len(val))])
			default:
				b.WriteByte(holeForeign)
			}
		}
		vals = vals[min(used, len(vals)):]
		if len(vals) == 0 || used == 0 {
			break
		}
	}
	if target != "" {
		j.arithText(sc, target) // a subscript is evaluated
		sc.set(target, value{s: b.String()})
		return ""
	}
	return b.String()
}

func (j *judge) cat(sc *scope, args []arg, in stream) string {
	var b strings.Builder
	files := 0
	for _, a := range args {
		if strings.HasPrefix(a.s, "-") && a.s != "-" {
			continue
		}
		files++
		if a.s == "-" || a.s == "/dev/stdin" || a.s == "/dev/fd/0" {
			b.WriteString(in.text)
		} else if f, ok := sc.made(a.s); ok && f.written {
			b.WriteString(f.text)
		} else {
			b.WriteByte(holeForeign)
		}
	}
	if files == 0 {
		return in.text
	}
	return b.String()
}

func (j *judge) cd(sc *scope, args []arg) {
	for len(args) > 0 && len(args[0].s) > 1 && args[0].s[0] == '-' && strings.Trim(args[0].s[1:], "LPe@n") == "" ||
		len(args) > 1 && args[0].s == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		sc.chdir(j.home(sc))
		return
	}
	dir := args[0].s
	if dir == "-" {
		dir = sc.get("OLDPWD", string(holeEnv))
	}
	if args[0].glob {
		dir = globName(dir)
	}
	if dir == "" {
		return
	}
	if dir[0] == holeEnv || dir[0] == holeForeign {
		// An empty variable means HOME, another one any folder.
		sc.set("OLDPWD", value{s: sc.cwd()})
		sc.cwds = []string{"/" + string(holeForeign)}
		return
	}
	sc.chdir(dir)
}

func (j *judge) read(sc *scope, args []arg, in stream) {
	array := ""
	var names []string
	for i := 0; i < len(args); i++ {
		s := args[i].s
		if len(s) > 1 && s[0] == '-' && len(names) == 0 {
			switch s[len(s)-1] {
			case 'a':
				if i+1 < len(args) {
					array = args[i+1].s
				}
				i++
			case 'd', 'i', 'n', 'N', 'p', 't', 'u':
				i++
			}
			continue
		}
		names = append(names, s)
	}
	if array == "" && len(names) == 0 {
		names = []string{"REPLY"}
	}
	text := in.text
	if !in.set {
		text = string(holeForeign)
	}
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > maxValues {
		lines = []string{dissolve(text)}
	}
	ifs := sc.ifs()
	vars := make([]variable, len(names))
	var elems variable
	for _, line := range lines {
		words := strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(ifs, r) })
		if array != "" {
			elems.vals = append(elems.vals, value{array: true, list: words})
			continue
		}
		for i := range names {
			s := ""
			switch {
			case !known(line) && len(names) > 1:
				s = dissolve(line)
			case i == len(names)-1 && i == 0:
				s = strings.Trim(line, " \t")
			case i == len(names)-1 && i < len(words):
				s = strings.Join(words[i:], " ")
			case i < len(words):
				s = words[i]
			}
			vars[i].vals = append(vars[i].vals, value{s: s})
		}
	}
	for i, n := range names {
		j.arithText(sc, n)
		sc.put(n, &vars[i])
	}
	if array != "" {
		sc.put(array, &elems)
	}
}

func (j *judge) mapfile(sc *scope, args []arg, in stream) {
	name := "MAPFILE"
	for i := 0; i < len(args); i++ {
		s := args[i].s
		switch {
		case s == "-C" && i+1 < len(args):
			i++
			j.script(sc.clone(), args[i].s, stream{}, "mapfile")
		case len(s) == 2 && s[0] == '-' && strings.Contains("dnOsuc", s[1:]):
			i++
		case strings.HasPrefix(s, "-"):
		default:
			name = s
		}
	}
	text := in.text
	if !in.set {
		text = string(holeForeign)
	}
	sc.set(name, value{array: true, list: strings.Split(strings.TrimRight(text, "\n"), "\n")})
}

func (j *judge) source(sc *scope, args []arg, in stream) string {
	if len(args) > 0 && args[0].s == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return ""
	}
	name := args[0].s
	if name == "/dev/stdin" || name == "/dev/fd/0" {
		if in.set && !in.file {
			return j.script(sc, in.text, stream{}, "source")
		}
		return string(holeForeign)
	}
	if f, ok := sc.made(name); ok && f.written {
		return j.script(sc, f.text, in, "the sourced text")
	}
	return string(holeForeign)
}

// whereIs answers "command -v", "which" and "type": the name itself.
func (j *judge) whereIs(args []arg) string {
	args = skipOptions(args)
	if len(args) == 1 {
		return args[0].s + "\n"
	}
	return string(holeEnv)
}

// mktemp makes names in a temporary folder, unless it is given another one.
func (j *judge) mktemp(sc *scope, args []arg) string {
	dir, tmpl := "/tmp", ""
	for i := 0; i < len(args); i++ {
		s := args[i].s
		switch {
		case (s == "-p" || s == "--tmpdir") && i+1 < len(args) && s == "-p":
			i++
			dir = args[i].s
		case strings.HasPrefix(s, "--tmpdir="):
			dir = s[len("--tmpdir="):]
		case s == "-t", strings.HasPrefix(s, "-"):
		default:
			tmpl = s
		}
	}
	if strings.Contains(tmpl, "/") {
		dir = path.Dir(tmpl)
		j.write(sc, arg{s: tmpl}, "make files in")
	}
	return path.Join(dir, string(holeName)) + "\n"
}

// kill protects the client and the loop: the only processes that an agent
// can name without having started them.
func (j *judge) kill(base string, args []arg) {
	const instead = "end only processes that you started, by the id in $!"
	for i, a := range args {
		s := a.s
		if strings.IndexByte(s, holePPID) >= 0 {
			j.deny(ClassState, "this would end the client or the loop that runs it", instead)
			return
		}
		if base == "kill" {
			if (s == "-1" || s == "1") && i > 0 || s == "-1" && i == 0 && len(args) == 1 {
				j.deny(ClassDestructive, "this would end every process", instead)
				return
			}
			continue
		}
		switch strings.Trim(strings.ToLower(baseName(s)), ".*^$") {
		case "claude", "codex", "opencode", "gemini", "git-ralph", "ralph", "git ralph":
			j.deny(ClassState, "this would end the client or the loop that runs it", instead)
			return
		case "-u":
			j.deny(ClassDestructive, "this would end all processes of a user", instead)
			return
		}
	}
}
