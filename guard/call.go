package guard

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call evaluates a simple command: its words, its assignments, then what runs.
func (j *judge) call(sc *scope, c *syntax.CallExpr, in stream) string {
	args := j.words(sc, c.Args)
	if len(c.Assigns) == 0 {
		if len(args) == 0 || j.done {
			return ""
		}
		return j.run(sc, args, in)
	}
	if len(args) == 0 {
		for _, a := range c.Assigns {
			j.assign(sc, a, unexported)
		}
		return ""
	}
	// Assignments before a command hold for that command alone.
	b := sc.clone()
	before := map[string]*variable{}
	for _, a := range c.Assigns {
		if a.Name != nil {
			before[a.Name.Value] = sc.vars[a.Name.Value]
		}
		j.assign(b, a, exported)
	}
	if j.done {
		return ""
	}
	out := j.run(b, args, in)
	*sc = *b
	for name, v := range before {
		if v == nil {
			delete(sc.vars, name)
		} else {
			sc.put(name, v)
		}
	}
	return out
}

// declare records a function. One that starts itself in the background, or on
// both sides of a pipe, is a fork bomb.
func (j *judge) declare(sc *scope, name string, body *syntax.Stmt) {
	self := func(st *syntax.Stmt) (found bool) {
		syntax.Walk(st, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 && c.Args[0].Lit() == name {
				found = true
			}
			return !found
		})
		return found
	}
	syntax.Walk(body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			if n.Background && self(n) {
				j.deny(ClassDestructive, "the function starts itself again and again in the background",
					"do not start processes without end")
			}
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe && self(n.X) && self(n.Y) {
				j.deny(ClassDestructive, "the function starts two of itself without end", "do not start processes without end")
			}
		}
		return true
	})
	sc.define(name, &function{body})
}

// run judges one command with its words expanded as far as possible, and
// returns its output.
func (j *judge) run(sc *scope, args []arg, in stream) string {
	for len(args) > 0 && args[0].s == "" && args[0].known() {
		return "" // an empty name is not found
	}
	if len(args) == 0 || j.done {
		return ""
	}
	if j.steps++; j.steps > maxSteps {
		j.undecidable("what so many steps would run")
		return ""
	}
	name := args[0].s
	if text, ok := sc.aliases[name]; ok && j.enter("alias "+name) {
		defer j.leave("alias " + name)
		if !known(text) {
			j.undecidable("what the alias " + clip(name) + " runs")
			return ""
		}
		return j.program(sc, text+" "+j.hold(sc, args[1:]), in)
	}
	if f, ok := sc.funcs[name]; ok {
		return j.invoke(sc, name, f, args[1:], in)
	}
	return j.runCommand(sc, args, in)
}

// hold escapes words with unknown parts, so that they can be parsed again.
func (j *judge) hold(_ *scope, args []arg) string {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		if a.glob {
			b.WriteString(strings.NewReplacer(" ", `\ `, ";", `\;`, "&", `\&`, "|", `\|`, "(", `\(`, ")", `\)`, "<",
				`\<`, ">", `\>`, "$", `\$`, "`", "\\`", "'", `\'`, `"`, `\"`).Replace(a.s))
			continue
		}
		b.WriteString(quoteWord(a.s))
	}
	return b.String()
}

func (j *judge) enter(name string) bool {
	if j.active[name] >= 2 {
		return false
	}
	if j.active == nil {
		j.active = map[string]int{}
	}
	j.active[name]++
	return true
}

func (j *judge) leave(name string) { j.active[name]-- }

func (j *judge) invoke(sc *scope, name string, f *function, args []arg, in stream) string {
	if !j.enter(name) { // recursion: two rounds have shown what it does
		return string(holeForeign)
	}
	defer j.leave(name)
	if j.depth++; j.depth > maxDepth {
		j.undecidable("what functions nested this deeply do")
		return ""
	}
	defer func() { j.depth-- }()
	saved := sc.params
	sc.params = make([]string, len(args))
	for i, a := range args {
		sc.params[i] = a.s
		if a.glob {
			sc.params[i] = globName(a.s)
		}
	}
	out := j.stmt(sc, f.body, in)
	sc.params = saved
	return out
}

// runCommand judges a command that is neither alias nor function.
func (j *judge) runCommand(sc *scope, args []arg, in stream) string {
	if len(args) == 0 || j.done {
		return ""
	}
	// Go cannot recover from a stack that has grown too far, so every way of
	// one command into another is counted.
	if j.nest++; j.nest > maxNest {
		j.undecidable("what commands nested this deeply would run")
		return ""
	}
	defer func() { j.nest-- }()
	a := args[0]
	base := baseName(a.s)
	if a.glob {
		j.globCommand(base)
		return string(holeForeign)
	}
	if !known(base) {
		j.undecidable("which command this is")
		return ""
	}
	if base == "" || base == "." && len(a.s) > 1 {
		return "" // a folder cannot be run
	}
	if f, ok := j.madeCommand(sc, a.s); ok {
		switch {
		case f.program != "" && f.program != a.s:
			return j.runCommand(sc, append([]arg{{s: f.program}}, args[1:]...), in)
		case f.decoded:
			j.undecidable("what the program made in this line does")
			return ""
		case f.written:
			return j.runFile(sc, f.text, args, in)
		}
	}
	if v, ok := j.listed(args); ok {
		if !v.Allowed() {
			j.deny(v.Class, v.Reason, v.Instead)
		}
		return string(holeForeign)
	}
	out, ok := j.dispatch(sc, base, args, in)
	if !j.done && len(args) > 1 && base != "echo" && base != "printf" {
		j.execOptions(sc, base, args[1:])
		j.madeSources(sc, base, args[1:])
	}
	if !ok {
		if f, ok := sc.funcs["command_not_found_handle"]; ok {
			j.invoke(sc, "command_not_found_handle", f, args, in)
		}
		j.generic(sc, args)
		out = j.prints(sc, base, args, in)
	}
	return out
}

// madeCommand finds a program that this line wrote, copied or linked: by path,
// or by name when the line has changed PATH.
func (j *judge) madeCommand(sc *scope, name string) (file, bool) {
	if len(sc.files) == 0 {
		return file{}, false
	}
	f, ok := sc.made(name)
	if ok && (strings.Contains(name, "/") || f.program != "") {
		return f, true
	}
	if _, set := sc.vars["PATH"]; set && !strings.Contains(name, "/") {
		for p, f := range sorted(sc.files) {
			if p[strings.LastIndexByte(p, '/')+1:] == name && f.program != name {
				return f, true
			}
		}
	}
	return file{}, false
}

// globCommand denies a pattern in command position that may mean a guarded command.
func (j *judge) globCommand(base string) {
	names := []string{"git", "sh", "bash", "env", "sudo", "gh", "jj", "hg", "rm", "python", "python3", "perl", "xargs"}
	for _, b := range j.p.Toolchain.blocks() {
		names = append(names, strings.Fields(string(b.Pattern))[0])
	}
	for _, n := range names {
		if matchGlob(base, n) {
			j.deny(ClassUndecidable, "the command is a pattern that may mean "+n, "write the command's name")
			return
		}
	}
}

// listed applies guard.deny and guard.allow. git itself needs its subcommand
// named for an allow pattern to count, so that "*" opens nothing by accident.
func (j *judge) listed(args []arg) (Verdict, bool) {
	if len(j.p.Deny) == 0 && len(j.p.Allow) == 0 {
		return Verdict{}, false
	}
	argv := make([]string, len(args))
	for i, a := range args {
		argv[i] = a.s
	}
	for _, d := range j.p.Deny {
		if Pattern(d).Match(argv) {
			return denied(ClassDenied, "this project's settings deny "+d,
				"find a way without it, or say in the handoff why it is needed"), true
		}
	}
	for _, al := range j.p.Allow {
		if !Pattern(al).Match(argv) {
			continue
		}
		w := strings.Fields(al)
		if baseName(argv[0]) == "git" && (w[0] != "git" || len(w) < 2 || strings.ContainsAny(w[1], "*?[")) {
			continue
		}
		if strings.ContainsAny(w[0], "*?[") {
			continue
		}
		return allowed(), true
	}
	return Verdict{}, false
}

// generic judges an unknown command. It may be a wrapper, so a git command
// among its words is judged, too.
func (j *judge) generic(sc *scope, args []arg) {
	for i, a := range args[1:] {
		if !a.known() || j.done {
			continue
		}
		switch baseName(a.s) {
		case "git":
			rest := args[i+2:]
			if len(rest) > 0 && gitKind(firstWord(rest)) == gitWrites {
				j.runCommand(sc, args[i+1:], stream{})
			}
		default:
			// Judge an option's value as a shell line, unless the option is made for
			// prose.
			if prev := args[i].s; strings.Contains(a.s, " ") && strings.HasPrefix(prev, "-") &&
				!contains(
					"-m --message -t --title -b --body -d --description -n --name -k --grep --filter --text --comment --notes -p "+
						"--pattern --msg --summary --label", prev) {
				j.maybeShell(sc, a.s)
			}
		}
	}
	j.outputs(sc, args[1:])
}

// firstWord is the first word that is no option, after git's -C and -c.
func firstWord(args []arg) string {
	for i := 0; i < len(args); i++ {
		switch s := args[i].s; {
		case s == "-C" || s == "-c" || s == "--git-dir" || s == "--work-tree":
			i++
		case !strings.HasPrefix(s, "-"):
			return s
		}
	}
	return ""
}

// maybeShell judges a text that an unknown program may pass to a shell. A
// text that is not a shell line is left alone.
func (j *judge) maybeShell(sc *scope, s string) {
	b := &judge{p: j.p, depth: j.depth + 1, steps: j.steps, table: j.table, tools: j.tools}
	b.program(sc.clone(), s, stream{})
	if b.done && b.v.Class != ClassUnparsable && b.v.Class != ClassUndecidable {
		j.v, j.done = b.v, true
	}
}

// runFile judges the running of a file that this line wrote.
func (j *judge) runFile(sc *scope, text string, args []arg, in stream) string {
	line, _, _ := strings.Cut(text, "\n")
	if strings.HasPrefix(line, "#!") {
		f := strings.Fields(line[2:])
		if len(f) > 1 && baseName(f[0]) == "env" {
			f = f[1:]
			if len(f) > 1 && f[0] == "-S" {
				f = f[1:]
			}
		}
		if len(f) > 0 && !isShell(baseName(f[0])) {
			j.code(sc, baseName(f[0]), text)
			return string(holeForeign)
		}
	}
	return j.shellText(sc.clone(), text, args, in)
}

// shellText runs text as a shell script with the words after args[0] as $1 ….
func (j *judge) shellText(sc *scope, text string, args []arg, in stream) string {
	sc.params = []string{}
	for _, a := range args[1:] {
		sc.params = append(sc.params, a.s)
	}
	return j.script(sc, text, in, "the script")
}

func clip(s string) string {
	if len(s) > 40 {
		s = s[:40] + "…"
	}
	return strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s), "?")
}
