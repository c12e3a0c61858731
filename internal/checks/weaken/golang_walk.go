package weaken

import (
	"go/ast"
	"go/constant"
	gotoken "go/token"
	"slices"
	"strings"
)

// goWalker counts what one function asserts. times is how often the code runs
// for the rows of a table; code that cannot be reached is not walked.
type goWalker struct {
	tally
	r        *goReader
	receiver string
	handles  map[string]bool
	tables   map[string]int // rows of the function's own tables
	focused  []string
}

func (w *goWalker) block(list []ast.Stmt, times int) {
	for i, s := range list {
		if i > 0 && w.guardsSetup(list[i-1], s) {
			w.stmt(s, 0)
			continue
		}
		w.stmt(s, times)
		if ends(s) {
			return // what follows is never reached
		}
	}
}

// ends reports whether control never goes past a statement.
func ends(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ReturnStmt:
		return true
	case *ast.BranchStmt:
		return s.Tok == gotoken.GOTO || s.Tok == gotoken.BREAK || s.Tok == gotoken.CONTINUE
	case *ast.BlockStmt:
		return slices.ContainsFunc(s.List, ends)
	case *ast.IfStmt:
		switch truth(s.Cond) {
		case yes:
			return ends(s.Body)
		case no:
			return ends(s.Else)
		}
		return ends(s.Body) && ends(s.Else)
	case *ast.LabeledStmt:
		return ends(s.Stmt)
	case *ast.ForStmt:
		return (s.Cond == nil || truth(s.Cond) == yes) && slices.ContainsFunc(s.Body.List, leaves)
	case *ast.RangeStmt:
		c, ok := composite(s.X)
		return (ok && len(c.Elts) > 0 || fixed(s.X)) && slices.ContainsFunc(s.Body.List, leaves)
	case *ast.SwitchStmt:
		return endsClauses(s.Body)
	case *ast.TypeSwitchStmt:
		return endsClauses(s.Body)
	case *ast.SelectStmt:
		return endsClauses(s.Body)
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		pkg, _ := sel.X.(*ast.Ident)
		return pkg != nil && (pkg.Name == "os" && sel.Sel.Name == "Exit" || pkg.Name == "runtime" && sel.Sel.Name == "Goexit")
	}
	return false
}

// leaves is ends for what stands in a loop or a switch, which a break ends.
func leaves(s ast.Stmt) bool {
	b, ok := s.(*ast.BranchStmt)
	return ends(s) && !(ok && b.Tok != gotoken.GOTO)
}

// endsClauses reports whether every clause ends, and one of them is always taken.
func endsClauses(body *ast.BlockStmt) bool {
	always := false
	for _, c := range body.List {
		list := []ast.Stmt{}
		switch c := c.(type) {
		case *ast.CaseClause:
			always, list = always || c.List == nil, c.Body
		case *ast.CommClause:
			always, list = true, c.Body
		}
		if !slices.ContainsFunc(list, leaves) {
			return false
		}
	}
	return always
}

// walk counts what a statement or an expression holds.
func (w *goWalker) walk(n ast.Node, times int) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			w.block(n.List, times)
		case *ast.CaseClause:
			for _, e := range n.List {
				w.walk(e, times)
			}
			w.block(n.Body, times)
		case *ast.CommClause:
			w.stmt(n.Comm, times)
			w.block(n.Body, times)
		case *ast.IfStmt:
			w.stmt(n.Init, times)
			w.walk(n.Cond, times)
			if n.Init != nil && n.Else == nil && w.guardsSetup(n.Init, &ast.IfStmt{Cond: n.Cond, Body: n.Body}) {
				times = 0
			}
			w.branches(n, truth(n.Cond), times)
		case *ast.ForStmt:
			w.stmt(n.Init, times)
			if n.Cond != nil && truth(n.Cond) == no {
				return false
			}
			if n.Cond != nil {
				w.walk(n.Cond, times)
			}
			w.block(n.Body.List, times)
		case *ast.RangeStmt:
			rows, known := w.rowsOf(n.X)
			if !known {
				w.walk(n.X, times)
				w.block(n.Body.List, times)
				return false
			}
			before := w.sum
			w.block(n.Body.List, times*rows)
			if w.sum > before || rows == 0 || hasCallTo(n.Body, "Run") {
				w.u.rows += rows
			}
		case *ast.AssignStmt:
			w.tableOf(n)
			for i, e := range n.Rhs {
				if _, fn := ast.Unparen(e).(*ast.FuncLit); fn && len(n.Lhs) == len(n.Rhs) && blank(n.Lhs[i]) {
					continue // _ = func() { … } never runs
				}
				w.walk(e, times)
			}
			for _, e := range n.Lhs {
				w.walk(e, times)
			}
		case *ast.FuncLit:
			for _, h := range testHandles(n.Type.Params) {
				w.handles[h] = true
			}
			w.block(n.Body.List, times)
		case *ast.ValueSpec:
			for i, e := range n.Values {
				if c, ok := composite(e); ok && len(n.Names) == len(n.Values) {
					w.tables[n.Names[i].Name] = elements(c)
				}
			}
			return true
		case *ast.CallExpr:
			w.call(n, times)
			return true
		case *ast.SelectorExpr:
			if w.handle(n.X) && (n.Sel.Name == "Skip" || n.Sel.Name == "Skipf" || n.Sel.Name == "SkipNow") {
				w.u.skips = append(w.u.skips, "t.Skip") // also as a value: f := t.Skip
			}
			return true
		default:
			return true
		}
		return false
	})
}

// stmt walks a statement that need not be there.
func (w *goWalker) stmt(s ast.Stmt, times int) {
	if s != nil {
		w.walk(s, times)
	}
}

// branches walks an if whose condition is known or not. Where there is an else, and each
// branch asserts something, something is always asserted.
func (w *goWalker) branches(s *ast.IfStmt, verdict certainty, times int) {
	from, was := len(w.log), w.under
	under := 0
	if verdict == maybe && here("", printed(s.Cond)) == "" {
		under = 1
	}
	w.conds += under
	if verdict != no {
		w.block(s.Body.List, times)
	}
	is := w.under
	if verdict != yes {
		w.stmt(s.Else, times)
	}
	w.conds -= under
	if s.Else != nil && is > was && w.under > is {
		w.back(from)
	}
}

func blank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// tableOf notes tables and assertion objects that are assigned to a name.
func (w *goWalker) tableOf(s *ast.AssignStmt) {
	if len(s.Lhs) != len(s.Rhs) {
		return
	}
	for i, l := range s.Lhs {
		id, ok := l.(*ast.Ident)
		if !ok {
			continue
		}
		if c, ok := composite(s.Rhs[i]); ok {
			w.tables[id.Name] = elements(c)
		}
		if call, ok := s.Rhs[i].(*ast.CallExpr); ok {
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if ok && (sel.Sel.Name == "New" && packageOf(sel, "assert", "require", "is", "quicktest", "qt", "check", "td",
				"must") ||
				sel.Sel.Name == "Require" || sel.Sel.Name == "Assert" || strings.HasPrefix(sel.Sel.Name, "NewWithT") ||
				sel.Sel.Name == "NewGomega") {
				w.r.asserters[id.Name] = true
			}
		}
	}
}

func packageOf(sel *ast.SelectorExpr, names ...string) bool {
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return false
	}
	for _, n := range names {
		if id.Name == n {
			return true
		}
	}
	return false
}

// rowsOf is the length of the table that a loop goes over.
func (w *goWalker) rowsOf(e ast.Expr) (int, bool) {
	if c, ok := composite(e); ok {
		return elements(c), true
	}
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		if n, ok := w.tables[id.Name]; ok {
			return n, true
		}
		n, ok := w.r.tables[id.Name]
		return n, ok
	}
	return 0, false
}

func (w *goWalker) handle(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && (w.handles[id.Name] || id.Name == "t" || id.Name == "tb")
}

func (w *goWalker) call(c *ast.CallExpr, times int) {
	switch f := ast.Unparen(c.Fun).(type) {
	case *ast.Ident:
		switch {
		case f.Name == "panic":
			w.asserts(times, 1)
		case ginkgoNode(f.Name):
			switch f.Name[0] {
			case 'P', 'X':
				w.u.skips = append(w.u.skips, f.Name)
			case 'F':
				w.focused = append(w.focused, f.Name)
			}
		case f.Name == "Expect" || f.Name == "Eventually" || f.Name == "Consistently" || f.Name == "Ω":
			// counted where its matcher is
		case f.Name == "Skip" && len(w.handles) == 0:
			w.u.skips = append(w.u.skips, "Skip")
		default:
			w.called(f.Name, c, times)
		}
	case *ast.IndexExpr:
		w.called(callee(c), c, times)
	case *ast.SelectorExpr:
		w.method(f, c, times)
	}
}

func (w *goWalker) method(f *ast.SelectorExpr, c *ast.CallExpr, times int) {
	name := f.Sel.Name
	if w.handle(f.X) {
		switch name {
		case "Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow", "Add": // f.Add: a seed is a case
			w.asserts(times, 1)
		case "Assert", "Check", "Equals", "Equal", "True", "Nil":
			if !trivialArgs(c.Args) {
				w.asserts(times, 0)
			}
		}
		return
	}
	switch name {
	case "To", "ToNot", "NotTo", "Should", "ShouldNot":
		if inner, ok := f.X.(*ast.CallExpr); ok {
			switch callee(inner) {
			case "Expect", "Eventually", "Consistently", "Ω":
				if !trivialArgs(inner.Args) || len(c.Args) == 0 {
					w.asserts(times, 0)
				}
			}
			return
		}
	}
	if !w.u.test && (packageOf(f, "errors") && name == "New" || packageOf(f, "fmt") && name == "Errorf") {
		w.asserts(times, 1) // a helper that gives its verdict back
		return
	}
	if packageOf(f, "assert", "require", "is", "qt", "td", "check", "autogold", "golden", "cupaloy", "snaps", "log") {
		if packageOf(f, "log") && !strings.HasPrefix(name, "Fatal") && !strings.HasPrefix(name, "Panic") || name == "New" {
			return
		}
		if strings.HasPrefix(name, "Fail") || !trivialArgs(c.Args) {
			w.asserts(times, 0)
		}
		return
	}
	if id, ok := f.X.(*ast.Ident); ok && (w.r.asserters[id.Name] || id.Name == w.receiver && testifyMethod(name)) {
		if !trivialArgs(c.Args) {
			w.asserts(times, 0)
		}
		return
	}
	if inner, ok := f.X.(*ast.CallExpr); ok && (callee(inner) == "Require" || callee(inner) == "Assert") {
		if !trivialArgs(c.Args) {
			w.asserts(times, 0)
		}
		return
	}
	w.called(name, c, times)
}

// called notes a call of a function that may be a helper. One that is named
// after skipping can only skip a test whose handle it gets.
func (w *goWalker) called(name string, c *ast.CallExpr, times int) {
	if skipping(name) {
		given := false
		for _, a := range c.Args {
			given = given || w.handle(a)
		}
		if !given {
			return
		}
	}
	w.calls(name, times)
}

// testifyMethod are the assertions that a suite has as methods of its own.
func testifyMethod(name string) bool {
	name = strings.TrimSuffix(name, "f")
	switch name {
	case "Equal", "NotEqual", "True", "False", "Nil", "NotNil", "NoError", "Error", "ErrorIs", "ErrorAs",
		"ErrorContains", "Contains",
		"NotContains", "Len", "Empty", "NotEmpty", "EqualValues", "Exactly", "ElementsMatch", "Panics", "NotPanics",
		"InDelta",
		"Greater", "Less", "GreaterOrEqual", "LessOrEqual", "JSONEq", "YAMLEq", "Regexp", "Subset", "WithinDuration",
		"Eventually",
		"Zero", "NotZero", "IsType", "Implements", "Same", "NotSame", "EqualError", "FileExists", "Fail", "FailNow",
		"Condition":
		return true
	}
	return false
}

// truth sees conditions that are always or never true: constants, a value
// compared with itself, and what and, or, not make of them.
func truth(e ast.Expr) certainty {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		switch e.Name {
		case "true":
			return yes
		case "false":
			return no
		}
	case *ast.UnaryExpr:
		if e.Op == gotoken.NOT {
			return truth(e.X).not()
		}
	case *ast.BinaryExpr:
		l, r := truth(e.X), truth(e.Y)
		switch e.Op {
		case gotoken.LAND:
			if l == no || r == no {
				return no
			}
			if l == yes && r == yes {
				return yes
			}
		case gotoken.LOR:
			if l == yes || r == yes {
				return yes
			}
			if l == no && r == no {
				return no
			}
		case gotoken.EQL, gotoken.NEQ, gotoken.LSS, gotoken.GTR, gotoken.LEQ, gotoken.GEQ:
			lx, _ := e.X.(*ast.BasicLit)
			ly, _ := e.Y.(*ast.BasicLit)
			if lx != nil && ly != nil {
				a, b := constant.MakeFromLiteral(lx.Value, lx.Kind, 0), constant.MakeFromLiteral(ly.Value, ly.Kind, 0)
				if a.Kind() == constant.Unknown || a.Kind() != b.Kind() {
					return maybe
				}
				return compareConstants(a, e.Op.String(), b)
			}
			if sameSource(e.X, e.Y) {
				return certain(e.Op == gotoken.EQL || e.Op == gotoken.LEQ || e.Op == gotoken.GEQ)
			}
		}
	}
	return maybe
}

// trivialArgs reports whether an assertion with these arguments cannot fail:
// only literals, or the same expression on both sides. The test handle in
// front and a message behind do not count.
func trivialArgs(args []ast.Expr) bool {
	if len(args) > 0 {
		if id, ok := args[0].(*ast.Ident); ok && (id.Name == "t" || id.Name == "tb" || id.Name == "c") {
			args = args[1:]
		}
	}
	if len(args) == 0 {
		return false
	}
	if fixed(args[0]) && (len(args) == 1 || fixed(args[1])) {
		return true
	}
	if !fixed(args[0]) && truth(args[0]) == yes {
		return true
	}
	return len(args) >= 2 && sameSource(args[0], args[1])
}

func fixed(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.BasicLit:
		return true
	case *ast.Ident:
		return e.Name == "true" || e.Name == "false" || e.Name == "nil"
	case *ast.UnaryExpr:
		return fixed(e.X)
	}
	return false
}
