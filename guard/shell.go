package guard

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"git-ralph/guard/script"
)

const (
	maxDepth = 12 // shells in shells, functions in functions
	maxNest  = 100
	maxSteps = 4000 // statements evaluated for one line
)

// judge is one judgement: the first denial stands and ends it.
type judge struct {
	p      *Policy
	v      Verdict
	done   bool
	steps  int
	depth  int
	nest   int // commands within commands
	procs  int
	active map[string]int // functions and aliases being run
	parser *syntax.Parser
	table  []command
	tools  []command
}

func newJudge(p *Policy) *judge { return &judge{p: p, table: table, tools: tools} }

// function is a function of the line.
type function struct{ body *syntax.Stmt }

// stream is what a command reads.
type stream struct {
	set  bool
	text string // may hold holes
	file bool   // it is a file that the line did not write: treated like running that file
}

// Judge decides about a shell line that starts in the worktree's root.
func (p *Policy) Judge(command string) Verdict { return p.JudgeIn(command, "") }

// JudgeIn decides about a shell line that starts in the folder cwd (absolute;
// empty = the worktree's root). Whatever goes wrong inside is a denial.
func (p *Policy) JudgeIn(command, cwd string) (v Verdict) {
	defer func() {
		if r := recover(); r != nil {
			v = denied(ClassUndecidable, "the guard could not follow this line", "split it into plain commands")
		}
	}()
	j := newJudge(p)
	sc := newScope(p, slash(cwd))
	j.program(sc, command, stream{})
	if j.done {
		return j.v
	}
	return allowed()
}

func (j *judge) deny(class, reason, instead string) {
	if !j.done {
		j.v, j.done = denied(class, reason, instead), true
	}
}

// undecidable denies with the usual way out.
func (j *judge) undecidable(what string) {
	j.deny(ClassUndecidable, "it cannot be known beforehand "+what,
		"write the command out, without variables or generated text")
}

// program parses and evaluates the text of a shell program, and returns what
// it prints as far as that is known.
func (j *judge) program(sc *scope, text string, in stream) string {
	if len(text) > maxText {
		j.deny(ClassUnparsable, "the line is longer than 256 KiB", "put it into a file and run that")
		return ""
	}
	if j.depth == 0 && strings.ContainsAny(text, "\x00"+holes) {
		j.deny(ClassUnparsable, "the line holds control characters", "write them as escapes")
		return ""
	}
	if script.TooNested(text) {
		j.deny(ClassUnparsable, "brackets are nested too deeply", "write it plainly, or put it into a script")
		return ""
	}
	if j.depth++; j.depth > maxDepth {
		j.deny(ClassUndecidable, "shells are nested too deeply to be followed", "write the command itself")
		return ""
	}
	defer func() { j.depth-- }()
	if j.parser == nil {
		j.parser = syntax.NewParser()
	}
	f, err := j.parser.Parse(strings.NewReader(text), "")
	if err != nil {
		j.deny(ClassUnparsable, "this is not a complete shell line: "+parseError(err), "check quotes and here-documents")
		return ""
	}
	return j.stmts(sc, f.Stmts, in)
}

func parseError(err error) string {
	s := strings.TrimPrefix(err.Error(), ":")
	if len(s) > 120 {
		s = s[:120]
	}
	return strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s), "?")
}

// script evaluates text that came out of an expansion: what a nested shell runs.
func (j *judge) script(sc *scope, text string, in stream, what string) string {
	if strings.Trim(text, string(holeSetup)+" \t\n") == "" {
		return ""
	}
	if foreign(text) {
		j.undecidable("what " + what + " would run")
		return ""
	}
	return j.program(sc, text, in)
}

func (j *judge) stmts(sc *scope, list []*syntax.Stmt, in stream) string {
	if len(list) == 1 {
		return j.stmt(sc, list[0], in)
	}
	var b strings.Builder
	for _, st := range list {
		if j.done {
			break
		}
		b.WriteString(j.stmt(sc, st, in))
	}
	return b.String()
}

func (j *judge) stmt(sc *scope, st *syntax.Stmt, in stream) string {
	if j.done || st == nil {
		return ""
	}
	if j.steps++; j.steps > maxSteps {
		j.deny(ClassUndecidable, "the line has too many steps to be followed", "put it into a script")
		return ""
	}
	_, call := st.Cmd.(*syntax.CallExpr)
	if (call || len(st.Redirs) > 0) && len(sc.vars) > 0 {
		if alts := j.narrow(sc, st, call); len(alts) > 0 {
			// Once for each value of the variables that this command uses.
			outs := ""
			for i, alt := range alts {
				if call {
					outs = j.simple(alt, st, in)
				} else {
					j.redirects(alt, st, in)
				}
				if i == 0 && call {
					*sc = *alt
				} else if call {
					sc.join(alt)
				}
			}
			if call {
				return dissolveOutput(outs)
			}
		}
	}
	if st.Background || st.Coprocess {
		c := sc.clone()
		out := j.simple(c, st, in)
		sc.join(c) // functions run in the background see what the line set; so do later reads of files
		return out
	}
	return j.simple(sc, st, in)
}

// narrow returns scopes in which the variables that st uses have one value
// each; none when there is nothing to choose.
func (j *judge) narrow(sc *scope, st *syntax.Stmt, call bool) []*scope {
	names := sc.multi()
	if len(names) == 0 {
		return nil
	}
	used := map[string]bool{}
	mark := func(n syntax.Node) bool {
		if pe, ok := n.(*syntax.ParamExp); ok && pe.Param != nil {
			used[pe.Param.Value] = true
			if pe.Excl {
				for _, n := range names {
					used[n] = true
				}
			}
		}
		return true
	}
	if call {
		syntax.Walk(st, mark)
	} else {
		for _, r := range st.Redirs {
			syntax.Walk(r, mark)
		}
	}
	alts := []*scope{sc.clone()}
	for _, name := range names {
		// A function or eval may use any of them.
		if !used[name] && (len(sc.funcs) == 0 || !call) {
			continue
		}
		v := sc.vars[name]
		var next []*scope
		for _, a := range alts {
			for _, val := range v.vals {
				c := a.clone()
				one := *v
				one.vals = []value{val}
				c.put(name, &one)
				next = append(next, c)
			}
		}
		if len(next) > 64 {
			j.undecidable("which of many values this command would use")
			return nil
		}
		alts = next
	}
	if len(alts) == 1 {
		return nil
	}
	return alts
}

// simple evaluates a statement whose variables have been chosen.
func (j *judge) simple(sc *scope, st *syntax.Stmt, in stream) string {
	in, sink := j.redirects(sc, st, in)
	if j.done {
		return ""
	}
	out := j.command(sc, st.Cmd, in)
	if len(sink) == 0 {
		return out
	}
	for _, name := range sink {
		for _, p := range sc.resolve(name) {
			sc.note(p, file{text: out, written: true, decoded: foreign(out) && j.decoder(st)})
		}
	}
	return ""
}

// decoder reports whether a statement makes text out of something encoded or
// remote: running that is running a command nobody has seen.
func (j *judge) decoder(st *syntax.Stmt) (found bool) {
	syntax.Walk(st, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			switch baseName(c.Args[0].Lit()) {
			case "base64", "base32", "xxd", "rev", "tr", "openssl", "curl", "wget", "gpg", "gunzip", "zcat", "printf",
				"awk", "python3", "python", "perl":
				found = true
			}
		}
		return !found
	})
	return found
}

// redirects follows the redirections of a statement: what it reads, which
// files it writes its output to, and whether it may.
func (j *judge) redirects(sc *scope, st *syntax.Stmt, in stream) (stream, []string) {
	var sink []string
	for _, r := range st.Redirs {
		text, here := "", true
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			text = j.heredoc(sc, r)
		case syntax.WordHdoc:
			text = j.text(sc, r.Word) + "\n"
		default:
			here = false
		}
		if here {
			if r.N != nil && r.N.Value != "0" {
				sc.note("/dev/fd/"+r.N.Value, file{text: text, written: true})
			} else {
				in = stream{set: true, text: text}
			}
			continue
		}
		ws := j.word(sc, r.Word)
		if len(ws) != 1 {
			ws = []arg{{s: string(holeForeign)}}
		}
		w := ws[0]
		switch r.Op {
		case syntax.RdrIn:
			if f, ok := sc.made(w.s); ok && f.written {
				in = stream{set: true, text: f.text}
			} else {
				in = stream{set: true, text: string(holeForeign), file: true}
			}
		case syntax.DplIn:
			in = stream{set: true, text: string(holeForeign)}
		case syntax.DplOut:
			if w.s == "-" || w.known() && strings.Trim(w.s, "0123456789-") == "" || w.s == string(holeNum) {
				continue
			}
			j.write(sc, w, "write to")
			sink = append(sink, w.s)
		default:
			j.write(sc, w, "write to")
			if (r.N == nil || r.N.Value == "1") && w.known() {
				sink = append(sink, w.s)
			}
		}
	}
	return in, sink
}

func (j *judge) command(sc *scope, cmd syntax.Command, in stream) string {
	switch c := cmd.(type) {
	case nil:
		if in.set { // $(< file)
			return in.text
		}
		return ""
	case *syntax.CallExpr:
		return j.call(sc, c, in)
	case *syntax.BinaryCmd:
		return j.binary(sc, c, in)
	case *syntax.Block:
		return j.stmts(sc, c.Stmts, in)
	case *syntax.Subshell:
		return j.stmts(sc.clone(), c.Stmts, in)
	case *syntax.IfClause:
		return j.ifClause(sc, c, in)
	case *syntax.WhileClause:
		b := sc.clone()
		out := ""
		for range 2 { // twice, because the second round uses what the first left
			j.stmts(b, c.Cond, in)
			out = j.stmts(b, c.Do, in)
			sc.join(b)
		}
		return dissolveOutput(out)
	case *syntax.ForClause:
		return j.forClause(sc, c, in)
	case *syntax.CaseClause:
		j.text(sc, c.Word)
		out := ""
		base := sc.clone()
		for _, it := range c.Items {
			for _, p := range it.Patterns {
				j.text(sc, p)
			}
			b := base.clone()
			out += j.stmts(b, it.Stmts, in)
			sc.join(b)
		}
		return dissolveOutput(out)
	case *syntax.FuncDecl:
		if c.Name != nil {
			j.declare(sc, c.Name.Value, c.Body)
		}
		for _, n := range c.Names {
			j.declare(sc, n.Value, c.Body)
		}
	case *syntax.TimeClause:
		return j.stmt(sc, c.Stmt, in)
	case *syntax.CoprocClause:
		return j.stmt(sc.clone(), c.Stmt, in)
	case *syntax.DeclClause:
		j.decl(sc, c)
	case *syntax.TestClause:
		j.test(sc, c.X)
	case *syntax.ArithmCmd:
		j.arithm(sc, c.X)
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			j.arithm(sc, x)
		}
	default:
		j.undecidable("what this construct would run")
	}
	return ""
}

func (j *judge) test(sc *scope, x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.Word:
		j.text(sc, x)
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr: // arithmetic
			for _, side := range []syntax.TestExpr{x.X, x.Y} {
				if w, ok := side.(*syntax.Word); ok {
					j.arithText(sc, j.text(sc, w))
				}
			}
			return
		}
		j.test(sc, x.X)
		j.test(sc, x.Y)
	case *syntax.UnaryTest:
		if w, ok := x.X.(*syntax.Word); ok && x.Op == syntax.TsVarSet {
			j.arithText(sc, j.text(sc, w))
			return
		}
		j.test(sc, x.X)
	case *syntax.ParenTest:
		j.test(sc, x.X)
	}
}

// substitute evaluates $(…) and returns what it stands for.
func (j *judge) substitute(sc *scope, stmts []*syntax.Stmt) string {
	out := j.stmts(sc.clone(), stmts, stream{})
	return strings.TrimRight(out, "\n")
}

// procSubst evaluates <(…) and >(…) and returns the name that stands for it.
func (j *judge) procSubst(sc *scope, p *syntax.ProcSubst) string {
	c := sc.clone()
	in := stream{}
	if p.Op == syntax.CmdOut {
		in = stream{set: true, text: string(holeForeign)}
	}
	out := j.stmts(c, p.Stmts, in)
	j.procs++
	name := "/dev/fd/p" + string(rune('a'+j.procs%26)) + string(rune('a'+j.procs/26%26))
	sc.note(name, file{text: out, written: true, decoded: foreign(out)})
	return name
}
