package guard

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"git-ralph/internal/text/lazyregexp"
)

// plainName matches the name of a program that is looked up on PATH.
var plainName = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*$`)

// Programs are the programs that a shell line needs on PATH to succeed, in
// their order: names that are written out and that the line runs whatever comes
// before them. What stands behind a condition, what the line defines itself and
// all that follows a change of PATH is left out. Shell builtins are among them;
// nothing comes back for a line that cannot be parsed.
func Programs(line string) []string {
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		return nil
	}
	p := programs{own: map[string]bool{}}
	syntax.Walk(file, func(n syntax.Node) bool {
		if f, ok := n.(*syntax.FuncDecl); ok {
			p.own[f.Name.Value] = true
		}
		return true
	})
	p.list(file.Stmts)
	return p.found
}

type programs struct {
	own   map[string]bool // functions of the line
	found []string
	moved bool // PATH may be another one from here on
}

func (p *programs) list(stmts []*syntax.Stmt) {
	for _, s := range stmts {
		p.stmt(s)
	}
}

func (p *programs) stmt(s *syntax.Stmt) {
	if p.moved || s == nil {
		return
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		p.call(c)
	case *syntax.BinaryCmd:
		switch c.Op {
		case syntax.AndStmt, syntax.Pipe, syntax.PipeAll:
			// `command -v x && x` asks before it runs.
			if first, ok := c.X.Cmd.(*syntax.CallExpr); ok && c.Op == syntax.AndStmt && asks(first) {
				return
			}
			p.stmt(c.X)
			p.stmt(c.Y)
		}
	case *syntax.Block:
		p.list(c.Stmts)
	case *syntax.Subshell:
		moved := p.moved
		p.list(c.Stmts)
		p.moved = moved
	case *syntax.TimeClause:
		p.stmt(c.Stmt)
	case *syntax.DeclClause: // export PATH=…
		p.moved = p.moved || slices.ContainsFunc(c.Args, setsPath)
	}
}

func setsPath(a *syntax.Assign) bool { return a.Name != nil && a.Name.Value == "PATH" }

func (p *programs) call(c *syntax.CallExpr) {
	if slices.ContainsFunc(c.Assigns, setsPath) {
		p.moved = p.moved || len(c.Args) == 0
		return
	}
	if len(c.Args) == 0 {
		return
	}
	switch name := c.Args[0].Lit(); {
	case name == "." || name == "source" || name == "eval" || name == "alias" || name == "hash":
		p.moved = true
	case plainName().MatchString(name) && !p.own[name] && !slices.Contains(p.found, name):
		p.found = append(p.found, name)
	}
}

// asks says that a command only looks whether a program is there.
func asks(c *syntax.CallExpr) bool {
	return len(c.Args) > 0 && slices.Contains([]string{"command", "which", "type", "hash", "test", "["}, c.Args[0].Lit())
}
