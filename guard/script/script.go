// Package script reads shell scripts without running them: which commands stand
// in them and what becomes of their exit status and output, which functions and
// variables they define. It judges nothing; the guard of commands has an evaluator
// of its own, which follows values.
package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Use is what the script makes of a command.
type Use uint8

// The uses. Output is a command whose output is captured or piped on, in a shell of
// its own. Redirected goes into a file. InCondition follows if, while, until or a
// negation. Plain commands end a script that stops at the first failure.
const (
	Plain Use = iota
	InCondition
	Redirected
	Output
)

// Command is one simple command. Words are without quotes; what only a shell
// knows (variables, substitutions) stands in them as it is written.
type Command struct {
	Words []string
	Env   []string // assignments in front of it, NAME=value
	Use   Use
	Func  string // the function that it stands in; "" = none
	Pipe  string // the program that reads its output, when there is one
	Into  string // the file that its output is redirected into
	Once  bool   // it stands behind a test of $0: it does not run where the script is sourced
}

// Assignment gives a variable a value. Those in front of a command are its Env;
// local ones of functions are left out.
type Assignment struct {
	Name, Value string
	Func        string
}

// Script is what a text holds. Functions are the text of each body.
type Script struct {
	Commands  []Command
	Assigned  []Assignment
	Functions map[string]string
	Inputs    []string // files that input is redirected from
	// Loops are the words that the variable of each for takes, as they are written.
	Loops map[string][]string
	// Compared are the variables that stand in tests, cases and what is printed;
	// Used those that stand anywhere else.
	Compared, Used map[string]bool
}

// Top are the commands and assignments outside of functions, as text.
func (s Script) Top() []string {
	var out []string
	for _, c := range s.Commands {
		if c.Func == "" {
			out = append(out, strings.Join(c.Words, " "))
		}
	}
	for _, a := range s.Assigned {
		if a.Func == "" {
			out = append(out, a.Name+"="+a.Value)
		}
	}
	return out
}

// maxText is the longest text that is read, in bytes.
const maxText = 256 << 10

// Read takes a script apart. It returns an error for what no shell could run.
func Read(text string) (s Script, err error) {
	s = Script{Functions: map[string]string{}, Loops: map[string][]string{}, Compared: map[string]bool{},
		Used: map[string]bool{}}
	if len(text) > maxText || TooNested(text) {
		return s, errors.New("the script is too large, or nested too deeply")
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parse the script: %v", p)
		}
	}()
	f, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		return s, fmt.Errorf("parse the script: %w", err)
	}
	r := reader{script: &s, src: text}
	r.stmts(f.Stmts, place{})
	return s, nil
}

// TooNested bounds the recursion of the parser, which is by descent: a stack
// that outgrows Go's limit ends the process and cannot be recovered from. It
// counts brackets without regard to quoting, so quoted data nested more than
// 150 deep is refused as well.
func TooNested(text string) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '(', '{', '[':
			if depth++; depth > 150 {
				return true
			}
		case ')', '}', ']':
			depth = max(0, depth-1)
		}
	}
	return false
}

// place is where a statement stands.
type place struct {
	fn   string
	use  Use
	pipe string
	into string
	once bool
}

type reader struct {
	script *Script
	src    string
}

func (r reader) stmts(list []*syntax.Stmt, p place) {
	for _, st := range list {
		r.stmt(st, p)
	}
}

func (r reader) stmt(st *syntax.Stmt, p place) {
	if st == nil {
		return
	}
	if st.Negated && p.use == Plain {
		p.use = InCondition
	}
	p = r.redirected(st.Redirs, p)
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		r.call(c, p)
	case *syntax.BinaryCmd:
		r.binary(c, p)
	case *syntax.Subshell:
		r.stmts(c.Stmts, p)
	case *syntax.Block:
		r.stmts(c.Stmts, p)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			inner, cond := p, p
			if cond.use == Plain {
				cond.use = InCondition
			}
			inner.once = inner.once || slices.ContainsFunc(c.Cond, r.asksForName)
			r.stmts(c.Cond, cond)
			r.stmts(c.Then, inner)
		}
	case *syntax.WhileClause:
		cond := p
		if cond.use == Plain {
			cond.use = InCondition
		}
		r.stmts(c.Cond, cond)
		r.stmts(c.Do, p)
	case *syntax.ForClause:
		if it, ok := c.Loop.(*syntax.WordIter); ok {
			for _, w := range it.Items {
				r.inside(w, p, notCompared)
				if it.Name != nil {
					r.script.Loops[it.Name.Value] = append(r.script.Loops[it.Name.Value], r.word(w))
				}
			}
		}
		r.stmts(c.Do, p)
	case *syntax.CaseClause:
		r.inside(c.Word, p, compared)
		for _, it := range c.Items {
			r.stmts(it.Stmts, p)
		}
	case *syntax.FuncDecl:
		if c.Name == nil {
			return
		}
		var b strings.Builder
		if syntax.NewPrinter(syntax.Minify(true)).Print(&b, c.Body) == nil {
			r.script.Functions[c.Name.Value] += b.String()
		}
		r.stmt(c.Body, place{fn: c.Name.Value})
	case *syntax.DeclClause:
		for _, a := range c.Args {
			if a.Name != nil && (c.Variant.Value == "export" || c.Variant.Value == "readonly" || p.fn == "") {
				r.assign(a, p)
			}
			r.inside(a.Value, p, notCompared)
		}
		r.add([]string{c.Variant.Value}, p)
	case *syntax.TestClause:
		r.inside(c, p, compared)
		r.add([]string{"[[", r.text(c.X)}, p)
	case *syntax.ArithmCmd, *syntax.LetClause:
		r.inside(c, p, notCompared)
	case *syntax.TimeClause:
		r.stmt(c.Stmt, p)
	case *syntax.CoprocClause:
		r.stmt(c.Stmt, p)
	}
}

// redirected reads the redirections of a command and returns its place with where its output goes.
func (r reader) redirected(list []*syntax.Redirect, p place) place {
	for _, rd := range list {
		out := rd.Op == syntax.RdrOut || rd.Op == syntax.AppOut || rd.Op == syntax.RdrAll || rd.Op == syntax.AppAll ||
			rd.Op == syntax.RdrClob
		if out && rd.Word != nil && !strings.HasPrefix(r.word(rd.Word), "/dev/") && (rd.N == nil || rd.N.Value == "1") &&
			p.use != Output {
			p.use, p.into = Redirected, r.word(rd.Word)
		}
		if rd.Op == syntax.RdrIn && rd.Word != nil {
			r.script.Inputs = append(r.script.Inputs, r.word(rd.Word))
		}
		r.inside(rd.Word, p, notCompared)
		r.inside(rd.Hdoc, p, compared)
	}
	return p
}

func (r reader) binary(c *syntax.BinaryCmd, p place) {
	left := p
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		left.use, left.pipe = Output, r.firstProgram(c.Y)
	case syntax.OrStmt:
		if left.use == Plain && !r.fails(c.Y) {
			left.use = InCondition
		}
	case syntax.AndStmt:
		switch r.firstProgram(c.X) {
		case "[", "[[", "test":
			if left.use == Plain {
				left.use = InCondition
			}
		}
		p.once = p.once || r.asksForName(c.X)
	}
	r.stmt(c.X, left)
	r.stmt(c.Y, p)
}

func (r reader) call(c *syntax.CallExpr, p place) {
	words := make([]string, 0, len(c.Args))
	for _, w := range c.Args {
		words = append(words, r.word(w))
	}
	var env []string
	for _, a := range c.Assigns {
		if len(words) == 0 {
			r.assign(a, p)
		} else if a.Name != nil {
			env = append(env, r.text(a))
		}
		r.inside(a.Value, p, notCompared)
	}
	compares := false
	if len(words) > 0 {
		switch words[0] {
		case "test", "[", "echo", "printf", "grep", "expr":
			compares = true
		}
	}
	for _, w := range c.Args {
		r.inside(w, p, comparison(compares))
	}
	r.add(words, p)
	if len(words) > 0 {
		r.script.Commands[len(r.script.Commands)-1].Env = env
	}
}

func (r reader) add(words []string, p place) {
	if len(words) > 0 {
		r.script.Commands = append(r.script.Commands,
			Command{Words: words, Use: p.use, Func: p.fn, Pipe: p.pipe, Into: p.into, Once: p.once})
	}
}

func (r reader) assign(a *syntax.Assign, p place) {
	if a.Name == nil {
		return
	}
	_, value, _ := strings.Cut(r.text(a), "=")
	r.script.Assigned = append(r.script.Assigned, Assignment{Name: a.Name.Value, Value: value, Func: p.fn})
}

// comparison says whether the value of the word decides what happens.
type comparison bool

const (
	compared    comparison = true
	notCompared comparison = false
)

// inside looks for the commands and variables of a word.
func (r reader) inside(n syntax.Node, p place, compared comparison) {
	if n == nil {
		return
	}
	if w, ok := n.(*syntax.Word); ok && w == nil {
		return
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			inner := p
			inner.use, inner.pipe = Output, ""
			r.stmts(n.Stmts, inner)
			return false
		case *syntax.ProcSubst:
			inner := p
			inner.use, inner.pipe = Output, ""
			r.stmts(n.Stmts, inner)
			return false
		case *syntax.ParamExp:
			if n.Param == nil {
				break
			}
			if compared {
				r.script.Compared[n.Param.Value] = true
			} else {
				r.script.Used[n.Param.Value] = true
			}
		}
		return true
	})
}

// asksForName reports whether a statement tests how the script was started.
func (r reader) asksForName(st *syntax.Stmt) bool {
	s := r.text(st)
	return strings.Contains(s, "$0") || strings.Contains(s, "${0") || strings.Contains(s, "BASH_SOURCE")
}

// firstProgram is the name of the program that a statement starts.
func (r reader) firstProgram(st *syntax.Stmt) string {
	switch c := st.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Args) > 0 {
			return r.word(c.Args[0])
		}
	case *syntax.TestClause:
		return "[["
	case *syntax.BinaryCmd:
		if first := r.firstProgram(c.X); first != "tee" && first != "cat" {
			return first
		}
		return r.firstProgram(c.Y)
	}
	return "a block"
}

// word is a word without its quotes.
func (r reader) word(w *syntax.Word) string {
	var b strings.Builder
	r.parts(&b, w.Parts)
	return b.String()
}

func (r reader) parts(b *strings.Builder, list []syntax.WordPart) {
	for _, p := range list {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(p.Value))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			r.parts(b, p.Parts)
		case *syntax.CmdSubst:
			b.WriteString("$(…)")
		default:
			b.WriteString(r.text(p))
		}
	}
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// text is a node as it is written.
func (r reader) text(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from > to || to > len(r.src) {
		return ""
	}
	return r.src[from:to]
}

// fails reports whether a statement behind || ends the script or says that
// something failed.
func (r reader) fails(st *syntax.Stmt) bool {
	s := r.text(st)
	for _, w := range []string{"exit", "return", "fail", "die", "false"} {
		if strings.HasPrefix(s, w) || strings.HasPrefix(s, "{") && strings.Contains(s, w+" ") {
			return true
		}
	}
	return false
}
