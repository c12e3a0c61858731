package guard

import (
	"slices"
	"strings"
)

// language is how an interpreter is given code: letters of options whose value is
// code, and of those that have another value.
type language struct{ names, code, other, name string }

// languages by the names of their interpreters. The others read -e, -E and -c.
var languages = []language{
	{"node nodejs bun deno qjs tsx ts-node iojs", "ep", "rC", "node"},
	{"perl*", "eE", "IMmx", "perl"},
	{"ruby* jruby", "e", "IrC", "ruby"},
	{"php*", "rBRE", "dcz", "php"},
	{"lua* texlua", "e", "l", "lua"},
	{"expect tclsh* wish", "c", "", "tcl"},
}

func languageOf(base string) language {
	if isPython(base) {
		return language{base, "c", "WXQ", "python"}
	}
	for _, l := range languages {
		if named(l.names, base) {
			return l
		}
	}
	return language{base, "eEc", "", base}
}

// interpreter judges inline programs of other languages.
func (j *judge) interpreter(c *call) bool {
	sc, base, rest, in := c.sc, c.base, c.rest, c.in
	l := languageOf(base)
	evalOpts, argOpts, lang := l.code, l.other, l.name
	inline := func(a arg) bool { return contains("-e --eval -p --print", a.s) }
	switch {
	case lang == "python" && j.pythonModule(sc, c.args, in):
		return true
	case strings.HasPrefix(base, "py") && lang != "python", base == "bun" && !slices.ContainsFunc(rest, inline):
		return false
	case base == "deno" && len(rest) > 1 && rest[0].s == "eval":
		for _, a := range rest[1:] {
			j.code(sc, lang, a.s)
		}
		return true
	}
	if lang == "perl" || lang == "ruby" {
		j.perlInPlace(sc, rest)
	}
	for i := 0; i < len(rest); i++ {
		s := rest[i].s
		if s == "-" || s == "/dev/stdin" {
			j.codeInput(sc, lang, in)
			return true
		}
		if s == "--" {
			rest = rest[i:]
			break
		}
		if len(s) < 2 || s[0] != '-' {
			if f, ok := sc.made(s); ok && f.written {
				j.code(sc, lang, f.text)
			} else if ok && f.decoded {
				j.undecidable("what the program made in this line does")
			}
			return true
		}
		if strings.HasPrefix(s, "--") || lang == "tcl" && len(s) > 2 {
			name, v, has := strings.Cut(s, "=")
			switch name {
			case "--eval", "--print", "--execute", "--code", "--run", "--command":
				if !has && i+1 < len(rest) {
					i++
					v = rest[i].s
				}
				j.code(sc, lang, v)
				return true
			}
			continue
		}
		for k := 1; k < len(s); k++ {
			if strings.IndexByte(evalOpts, s[k]) >= 0 {
				v := s[k+1:]
				if v == "" || lang == "perl" && strings.Trim(v, "nplaei") == "" {
					if i+1 < len(rest) {
						i++
						v = rest[i].s
					}
				}
				j.code(sc, lang, v)
				if lang != "perl" && lang != "ruby" {
					return true
				}
				break
			}
			if strings.IndexByte(argOpts, s[k]) >= 0 {
				if k == len(s)-1 {
					i++
				}
				break
			}
		}
	}
	if len(rest) == 0 || strings.HasPrefix(rest[len(rest)-1].s, "-") && len(rest) == 1 && rest[0].s != "-v" &&
		rest[0].s != "--version" && rest[0].s != "-V" {
		j.codeInput(sc, lang, in)
	}
	return true
}

func (j *judge) codeInput(sc *scope, lang string, in stream) {
	if !in.set || in.file {
		return
	}
	if strings.Trim(in.text, "\n\t ") == string(holeForeign) {
		j.undecidable("what the program from the pipe does")
		return
	}
	j.code(sc, lang, in.text)
}

// perlInPlace judges the files that perl -i or ruby -i rewrites.
func (j *judge) perlInPlace(sc *scope, rest []arg) {
	inPlace := false
	for _, a := range rest {
		letters, ok := strings.CutPrefix(a.s, "-")
		if k := strings.IndexAny(letters, "eEIMm"); k >= 0 {
			letters = letters[:k]
		}
		inPlace = inPlace || ok && strings.Contains(letters, "i")
	}
	if !inPlace {
		return
	}
	for _, a := range rest {
		if !strings.HasPrefix(a.s, "-") && !strings.ContainsAny(a.s, " $;()") {
			j.write(sc, a, "edit")
		}
	}
}

func isPython(base string) bool {
	v, ok := strings.CutPrefix(base, "python")
	if !ok {
		v, ok = strings.CutPrefix(base, "pypy")
	}
	return ok && strings.Trim(v, "0123456789.wt") == "" || base == "py" || base == "ipython" || base == "ipython3"
}

// pythonModule judges "python -m X"; false when there is no -m.
func (j *judge) pythonModule(sc *scope, args []arg, in stream) bool {
	mod, rest, ok := moduleOf(args)
	if !ok {
		return false
	}
	if !known(mod) {
		j.undecidable("which Python module this runs")
		return true
	}
	// A module has the name of a command in most cases: pre_commit, bumpversion, timeit …
	name := strings.ReplaceAll(strings.SplitN(mod, ".", 2)[0], "_", "-")
	switch name {
	case "timeit", "trace", "cProfile", "profile", "pdb", "runpy":
		for _, a := range rest {
			if strings.ContainsAny(a.s, "(; ") {
				j.code(sc, "python", a.s)
			}
		}
		if i := len(rest); i > 0 {
			if m, r, ok := moduleOf(append([]arg{{s: "python"}}, rest...)); ok {
				j.runCommand(sc, append([]arg{{s: "python"}, {s: "-m"}, {s: m}}, r...), in)
			}
		}
		return true
	case "zipfile", "tarfile":
		for i, a := range rest {
			if a.s == "-e" && i+2 < len(rest) {
				j.write(sc, rest[i+2], "unpack into")
			}
		}
		return true
	}
	j.known(j.tools, sc, name, append([]arg{{s: name}}, rest...), in)
	return true
}

// moduleOf finds the module of "python [options] -m X …".
func moduleOf(args []arg) (mod string, rest []arg, ok bool) {
	for i := 1; i < len(args); i++ {
		s := args[i].s
		if len(s) < 2 || s[0] != '-' || s == "--" {
			return "", nil, false
		}
		if strings.HasPrefix(s, "--") {
			continue
		}
		for k := 1; k < len(s); k++ {
			switch s[k] {
			case 'm':
				if k+1 < len(s) {
					return s[k+1:], args[i+1:], true
				}
				if i+1 < len(args) {
					return args[i+1].s, args[i+2:], true
				}
				return "", nil, false
			case 'c':
				return "", nil, false
			case 'W', 'X', 'Q':
				if k == len(s)-1 {
					i++
				}
				k = len(s)
			}
		}
	}
	return "", nil, false
}

// database judges what a client of a database is told to run or write.
func (j *judge) database(c *call) bool {
	for _, a := range append(c.rest[:len(c.rest):len(c.rest)], arg{s: c.in.text}) {
		for _, line := range strings.Split(a.s, "\n") {
			line = strings.TrimSpace(line)
			for _, pre := range []string{".shell ", ".system ", `\! `, "system ", `\!`} {
				if cmd, ok := strings.CutPrefix(line, pre); ok {
					j.script(c.sc.clone(), cmd, stream{}, c.base)
				}
			}
			if cmd, ok := strings.CutPrefix(line, ".output "); ok {
				j.write(c.sc, arg{s: cmd}, "write to")
			}
		}
	}
	return true
}

// macros judges the commands in a text for m4.
func (j *judge) macros(c *call) bool {
	for _, part := range strings.Split(c.in.text, "syscmd(")[1:] {
		j.maybeShell(c.sc, strings.Trim(strings.SplitN(part, ")", 2)[0], "`'\" \n"))
	}
	return true
}

// awk judges the program: system(), pipes from and to commands, files written.
func (j *judge) awk(c *call) bool {
	sc, rest, in := c.sc, c.rest, c.in
	prog := ""
	given := false
	for i := 0; i < len(rest); i++ {
		s := rest[i].s
		switch {
		case s == "-f" || s == "--file" || s == "-i" || s == "--include" || s == "-l" || s == "--load" || s == "-E":
			given = given || s[1] != 'i' && s[1] != 'l' || s == "--file"
			if i+1 < len(rest) {
				if f, ok := sc.made(rest[i+1].s); ok && f.written {
					j.code(sc, "awk", f.text)
				}
				if rest[i+1].s == "-" || rest[i+1].s == "/dev/stdin" {
					j.codeInput(sc, "awk", in)
				}
				if rest[i+1].s == "inplace" {
					for _, a := range rest[i+2:] {
						if !strings.ContainsAny(a.s, " {}$") {
							j.write(sc, a, "edit")
						}
					}
				}
			}
			i++
		case s == "-F" || s == "-v" || s == "--assign" || s == "--field-separator":
			i++
			if i < len(rest) && s == "-v" {
				if _, v, ok := strings.Cut(rest[i].s, "="); ok {
					prog += ` "` + v + `" ` // a variable may be given to system()
				}
			}
		case s == "-e" || s == "--source":
			given = true
			i++
			if i < len(rest) {
				prog += "\n" + rest[i].s
			}
		case strings.HasPrefix(s, "-") && len(s) > 1:
		case !given:
			given = true
			prog += "\n" + s
		}
	}
	if prog != "" {
		j.code(sc, "awk", prog)
	}
	return true
}

// editor judges commands that an editor is told to run: !cmd, :!cmd, system().
func (j *judge) editor(c *call) bool {
	sc, base, rest, in := c.sc, c.base, c.rest, c.in
	j.editorFiles(sc, base, rest)
	try := func(s string) {
		s = strings.TrimLeft(s, ": \t")
		for _, pre := range []string{"silent!", "silent", "sil", "exe", "execute", "exec", "r", "read", "w", "%",
			"term", "terminal", "lua", "normal"} {
			if v, ok := strings.CutPrefix(s, pre+" "); ok {
				s = strings.TrimLeft(v, ": \t")
			}
		}
		s = strings.Trim(s, `"'`)
		for _, part := range strings.Split(s, "|") {
			part = strings.TrimLeft(part, ": \t")
			if k := strings.IndexByte(part, '!'); k >= 0 && strings.Trim(part[:k], "%.,$0123456789rw ") == "" {
				j.script(sc.clone(), part[k+1:], stream{}, base)
			}
			for _, verb := range []string{"w ", "write ", "saveas ", "w! ", "wq "} {
				if f, ok := strings.CutPrefix(part, verb); ok && !strings.HasPrefix(f, "!") {
					j.write(sc, arg{s: strings.TrimSpace(f)}, "write to")
				}
			}
			if f, ok := strings.CutPrefix(part, "term "); ok {
				j.script(sc.clone(), f, stream{}, base)
			}
		}
		if strings.ContainsAny(s, "(") {
			j.code(sc, "vim", s)
		}
	}
	for i, a := range rest {
		prev := ""
		if i > 0 {
			prev = rest[i-1].s
		}
		switch {
		case strings.HasPrefix(a.s, "+") && len(a.s) > 1:
			try(a.s[1:])
		case strings.HasPrefix(prev, "-") && !strings.HasPrefix(prev, "--") && strings.HasSuffix(prev, "c") ||
			prev == "--cmd" || prev == "--eval" || prev == "-eval" || prev == "--execute" || prev == "-S":
			if prev == "-S" {
				if f, ok := sc.made(a.s); ok {
					for _, line := range strings.Split(f.text, "\n") {
						try(line)
					}
				}
				continue
			}
			try(a.s)
		case strings.HasPrefix(a.s, "--eval=") || strings.HasPrefix(a.s, "--execute="):
			_, v, _ := strings.Cut(a.s, "=")
			try(v)
		case strings.HasPrefix(a.s, "-c") && len(a.s) > 2:
			try(a.s[2:])
		}
		if j.done {
			return true
		}
	}
	if in.set && !in.file {
		for _, line := range strings.Split(in.text, "\n") {
			try(line)
		}
	}
	return true
}

// editorFiles judges the files that a scripted editor is opened on.
func (j *judge) editorFiles(sc *scope, base string, rest []arg) {
	for i, a := range rest {
		if strings.HasPrefix(a.s, "-") || strings.HasPrefix(a.s, "+") || base == "view" || base == "less" ||
			base == "more" || i > 0 && strings.HasPrefix(rest[i-1].s, "-") && len(rest[i-1].s) == 2 && rest[i-1].s != "-s" {
			continue
		}
		j.gitOnly(sc, a)
	}
}

// gdbCommand judges a command of a debugger: shell CMD, !CMD, python ….
func (j *judge) gdbCommand(sc *scope, s string) {
	s = strings.TrimSpace(s)
	for _, pre := range []string{"shell ", "!", "platform shell ", "make ", "pipe "} {
		if cmd, ok := strings.CutPrefix(s, pre); ok {
			j.script(sc.clone(), cmd, stream{}, "the debugger")
		}
	}
	if strings.HasPrefix(s, "python") || strings.HasPrefix(s, "script") {
		j.code(sc, "python", s)
	}
	if cmd, ok := strings.CutPrefix(s, "run "); ok && strings.Contains(cmd, "-c") {
		j.maybeShell(sc, "sh "+cmd)
	}
}
