package guard

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// dissolveOutput is the output of a branch or loop: how often it is printed,
// and whether at all, is not known.
func dissolveOutput(out string) string {
	if out == "" {
		return ""
	}
	if known(out) {
		return string(holeForeign)
	}
	return out
}

func (j *judge) binary(sc *scope, c *syntax.BinaryCmd, in stream) string {
	switch c.Op {
	case syntax.Pipe, syntax.PipeAll:
		x := sc.clone()
		out := j.stmt(x, c.X, in)
		for name, f := range x.files { // files outlive the part that wrote them
			sc.note(name, f)
		}
		b := sc.clone()
		out = j.stmt(b, c.Y, stream{set: true, text: out})
		sc.join(b) // some shells run the last part themselves
		return out
	case syntax.OrStmt:
		x := j.stmt(sc, c.X, in)
		b := sc.clone()
		y := j.stmt(b, c.Y, in)
		sc.join(b)
		if x != "" && y != "" && !printsName(c.X) {
			return x + y
		}
		if x != "" {
			return x
		}
		return y
	}
	// a && b && c: each later part runs in the state the earlier ones left;
	// afterwards any prefix may have been the last.
	var chain []*syntax.Stmt
	for st := (&syntax.Stmt{Cmd: c}); ; {
		b, ok := st.Cmd.(*syntax.BinaryCmd)
		if !ok || b.Op != syntax.AndStmt || len(st.Redirs) > 0 || st.Negated {
			chain = append(chain, st)
			break
		}
		chain = append(chain, b.Y)
		st = b.X
	}
	out := ""
	var states []*scope
	for i := len(chain) - 1; i >= 0 && !j.done; i-- {
		out += j.stmt(sc, chain[i], in)
		if i > 0 && changesState(chain[i-1]) {
			states = append(states, sc.clone())
		}
	}
	for _, s := range states {
		sc.join(s)
	}
	return out
}

// changesState reports whether a later part of a chain can matter to what follows
// it. Calls of anything but the state-changing builtins cannot, and a clone for
// each of them would be most of the cost of a line.
func changesState(st *syntax.Stmt) bool {
	c, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Assigns) > 0 || len(st.Redirs) > 0 || len(c.Args) == 0 {
		return true
	}
	switch c.Args[0].Lit() {
	case "ls", "echo", "go", "npm", "make", "git", "cat", "grep", "pytest", "cargo", "rm", "mkdir", "true", "test", "[":
		return false
	}
	return true
}

// printsName reports whether st asks where a command is: "command -v a || command -v b".
func printsName(st *syntax.Stmt) bool {
	c, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return false
	}
	switch c.Args[0].Lit() {
	case "command", "which", "type":
		return true
	}
	return false
}

func (j *judge) ifClause(sc *scope, c *syntax.IfClause, in stream) string {
	if len(c.Cond) > 0 {
		j.stmts(sc, c.Cond, in)
	}
	b := sc.clone()
	out := j.stmts(b, c.Then, in)
	if c.Else != nil {
		e := sc.clone()
		out += j.ifClause(e, c.Else, in)
		sc.join(e)
	}
	sc.join(b)
	return dissolveOutput(out)
}

func (j *judge) forClause(sc *scope, c *syntax.ForClause, in stream) string {
	b := sc.clone()
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		var items []arg
		if l.InPos.IsValid() {
			items = j.words(sc, l.Items)
		} else if sc.params == nil {
			items = []arg{{s: string(holeForeign)}}
		} else {
			for _, s := range sc.params {
				items = append(items, arg{s: s})
			}
		}
		v := &variable{}
		for _, it := range items {
			s := it.s
			if it.glob {
				s = globName(s)
			}
			v.vals = append(v.vals, value{s: s})
		}
		if len(v.vals) > maxValues {
			// Too many values to follow: one unknown value stands for them.
			v.vals = []value{{s: string(holeForeign)}}
			for _, it := range items {
				if !it.known() && !foreign(it.s) {
					v.vals = []value{{s: string(holeName)}}
				}
			}
		}
		if len(v.vals) > 0 {
			b.put(l.Name.Value, v)
		}
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			j.arithm(sc, x)
		}
		b = sc.clone()
	}
	loopVar := b.clone()
	out := ""
	for range 2 {
		out = j.stmts(b, c.Do, in)
		sc.join(b)
		if w, ok := c.Loop.(*syntax.WordIter); ok {
			if v, ok := loopVar.vars[w.Name.Value]; ok {
				b.put(w.Name.Value, v)
			}
		}
	}
	return dissolveOutput(out)
}

// globName is a name that a pattern stands for: the folder as written, then
// one unknown name. A pattern that can mean .git keeps that.
func globName(s string) string {
	dir, base := "", s
	if i := strings.LastIndexByte(s, '/'); i >= 0 {
		dir, base = s[:i+1], s[i+1:]
	}
	if strings.HasPrefix(base, ".") && matchGlob(base, ".git") {
		return dir + ".git"
	}
	if !strings.ContainsAny(dir, "*?[") {
		return dir + string(holeName)
	}
	if strings.HasPrefix(dir, "/") {
		return "/" + string(holeName)
	}
	return string(holeName)
}
