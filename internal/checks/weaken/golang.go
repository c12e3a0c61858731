package weaken

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	gotoken "go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// readGo uses the real parser; a file that it cannot parse has no tests (the
// checks of a tree that does not compile are red anyway).
func readGo(file string, content []byte) *source {
	s := &source{}
	fset := gotoken.NewFileSet()
	f, err := parser.ParseFile(fset, file, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return s
	}
	collected := IsTest(file)
	r := &goReader{content: content, file: f, fset: fset, tables: map[string]int{}, asserters: map[string]bool{},
		imports: importsOf(f)}
	var limits []string
	if collected {
		limits = goConstraints(f, file)
	}
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			r.packageTables(g)
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			r.function(s, d, collected, limits)
		case *ast.GenDecl:
			if collected {
				r.suites(s, d, limits)
			}
		}
	}
	lang := languageOf(file)
	for i := range s.units {
		u := &s.units[i]
		u.setBody(lex(content[u.start:u.end], lang))
	}
	return s
}

type goReader struct {
	content []byte
	file    *ast.File
	fset    *gotoken.FileSet
	tables  map[string]int // rows of tables at package level
	// asserters are local names that hold assertions: a := assert.New(t).
	asserters map[string]bool
	imports   map[string]string // name in the file → path
}

func importsOf(f *ast.File) map[string]string {
	out := map[string]string{}
	for _, i := range f.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			continue
		}
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		out[name] = p
	}
	return out
}

func (r *goReader) offset(p gotoken.Pos) int { return r.fset.Position(p).Offset }

// goConstraints are what keeps a test file out of the build.
func goConstraints(f *ast.File, file string) []string {
	var out []string
	for _, g := range f.Comments {
		if g.Pos() >= f.Package {
			break
		}
		for _, c := range g.List {
			if constraint.IsGoBuild(c.Text) {
				line := strings.TrimSpace(c.Text)
				if holdsHere(line) {
					line += elsewhere
				}
				out = append(out, line)
			}
		}
	}
	parts := strings.Split(strings.TrimSuffix(path.Base(file), "_test.go"), "_")
	for _, p := range parts[1:] {
		if goTargets.has(p) {
			out = append(out, "file name _"+p)
		}
	}
	return out
}

// goTargets are the words that limit a file to a system when they end its name.
var goTargets = set("windows linux darwin freebsd netbsd openbsd dragonfly plan9 solaris illumos aix js wasip1 " +
	"ios android amd64 arm64 386 arm wasm riscv64 s390x ppc64 ppc64le mips mipsle mips64 " +
	"mips64le loong64")

func goTestName(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return false
	}
	c, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || !unicode.IsLower(c)
}

func (r *goReader) function(s *source, d *ast.FuncDecl, collected bool, limits []string) {
	u := unit{name: d.Name.Name, line: r.fset.Position(d.Pos()).Line,
		start: r.offset(d.Type.Params.Pos()), end: r.offset(d.End())}
	if d.Body == nil {
		return
	}
	receiver := ""
	if d.Recv != nil && len(d.Recv.List) == 1 {
		if len(d.Recv.List[0].Names) == 1 {
			receiver = d.Recv.List[0].Names[0].Name
		}
		u.name = typeName(d.Recv.List[0].Type) + "." + u.name
	}
	params := d.Type.Params.NumFields()
	handles := testHandles(d.Type.Params)
	switch {
	case !collected:
	case d.Recv == nil && d.Name.Name == "TestMain" && params == 1:
		s.escapes = append(s.escapes, mainEscapes(d.Body)...)
		return
	case d.Recv == nil && d.Name.Name == "init":
		if hasCallTo(d.Body, "Exit", "Goexit") {
			s.escapes = append(s.escapes, "init ends the process")
		}
		return
	case d.Recv == nil:
		u.test = params == 1 && (goTestName(d.Name.Name, "Test") || goTestName(d.Name.Name, "Fuzz"))
		if goTestName(d.Name.Name, "Example") && params == 0 {
			out := r.exampleOutput(d)
			u.test, u.plain = out, 1
			if !out {
				return
			}
		}
	default: // suites of testify and gocheck
		u.test = goTestName(d.Name.Name, "Test") && params <= 1 && !takesT(d.Type.Params)
	}
	if !collected && len(handles) == 0 {
		return // production code: nothing that a test could count on
	}
	if u.test {
		u.skips = append(append(u.skips, limits...), r.earlyReturns(d.Body, handles)...)
	}
	u.fails = len(handles) > 0
	w := &goWalker{tally: newTally(&u), r: r, receiver: receiver, handles: map[string]bool{}, tables: map[string]int{}}
	for _, h := range handles {
		w.handles[h] = true
	}
	w.block(d.Body.List, 1)
	u.listed = listed(d.Body)
	s.units = append(s.units, u)
}

// suites reads `var _ = Describe("…", func() {…})`.
func (r *goReader) suites(s *source, d *ast.GenDecl, limits []string) {
	for _, sp := range d.Specs {
		v, ok := sp.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			continue
		}
		call, ok := v.Values[0].(*ast.CallExpr)
		if !ok || len(call.Args) < 2 || !ginkgoNode(callee(call)) {
			continue
		}
		u := unit{name: literal(call.Args[0]), line: r.fset.Position(d.Pos()).Line, test: true,
			start: r.offset(call.Lparen), end: r.offset(call.End()), skips: slices.Clone(limits)}
		w := &goWalker{tally: newTally(&u), r: r, handles: map[string]bool{}, tables: map[string]int{}}
		w.walk(call, 1)
		s.units = append(s.units, u)
		s.exclusive = append(s.exclusive, w.focused...)
	}
}

func ginkgoNode(name string) bool {
	name = strings.TrimLeft(name, "FPX")
	return name == "Describe" || name == "Context" || name == "When" || name == "It" || name == "Specify" ||
		name == "DescribeTable" || name == "Entry"
}

// testHandles are the parameters that can fail a test.
func testHandles(params *ast.FieldList) []string {
	var names []string
	for _, p := range params.List {
		if sel, ok := ast.Unparen(deref(p.Type)).(*ast.SelectorExpr); ok {
			pkg, _ := sel.X.(*ast.Ident)
			if pkg == nil || pkg.Name != "testing" && sel.Sel.Name != "C" && sel.Sel.Name != "TestingT" && sel.Sel.Name != "T" {
				continue
			}
			for _, n := range p.Names {
				names = append(names, n.Name)
			}
		}
	}
	return names
}

// takesT reports whether a method takes a *testing.T: no runner of suites calls it.
func takesT(params *ast.FieldList) bool {
	for _, p := range params.List {
		if sel, ok := deref(p.Type).(*ast.SelectorExpr); ok && sel.Sel.Name == "T" {
			pkg, _ := sel.X.(*ast.Ident)
			return pkg != nil && pkg.Name == "testing"
		}
	}
	return false
}

func deref(e ast.Expr) ast.Expr {
	if s, ok := e.(*ast.StarExpr); ok {
		return s.X
	}
	return e
}

func typeName(e ast.Expr) string {
	switch t := deref(e).(type) {
	case *ast.Ident:
		return t.Name
	case *ast.IndexExpr:
		return typeName(t.X)
	}
	return "?"
}

func (r *goReader) exampleOutput(d *ast.FuncDecl) bool {
	for _, g := range r.file.Comments {
		if g.Pos() > d.Body.Lbrace && g.End() < d.Body.Rbrace {
			low := strings.ToLower(strings.TrimSpace(g.Text()))
			if strings.HasPrefix(low, "output:") || strings.HasPrefix(low, "unordered output:") {
				return true
			}
		}
	}
	return false
}

// mainEscapes are ways in which TestMain can report success whatever the tests
// say: it does not run them, or exits with a number of its own.
func mainEscapes(body *ast.BlockStmt) []string {
	runs := false
	var out []string
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		sel, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if sel.Sel.Name == "Run" && len(call.Args) == 0 {
			runs = true
		}
		if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "os" && sel.Sel.Name == "Exit" && len(call.Args) == 1 {
			if lit, ok := call.Args[0].(*ast.BasicLit); ok && lit.Value == "0" {
				out = append(out, "TestMain exits with 0")
			}
		}
		return true
	})
	if !runs && !hasCallTo(body, "TestMain", "VerifyTestMain", "Main", "MainTest", "RunMain") {
		out = append(out, "TestMain does not run the tests")
	}
	return out
}

// hasCallTo sees the wrappers of libraries that run the tests themselves.
func hasCallTo(n ast.Node, names ...string) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok && slices.Contains(names, callee(c)) {
			found = true
		}
		return true
	})
	return found
}

func callee(c *ast.CallExpr) string {
	switch f := ast.Unparen(c.Fun).(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.IndexExpr: // f[T](…)
		return callee(&ast.CallExpr{Fun: f.X})
	}
	return ""
}

func literal(e ast.Expr) string {
	if l, ok := e.(*ast.BasicLit); ok && l.Kind == gotoken.STRING {
		if s, err := strconv.Unquote(l.Value); err == nil {
			return s
		}
	}
	return "?"
}

// packageTables notes the length of composite literals at package level.
func (r *goReader) packageTables(g *ast.GenDecl) {
	for _, sp := range g.Specs {
		if v, ok := sp.(*ast.ValueSpec); ok && len(v.Names) == len(v.Values) {
			for i, n := range v.Names {
				if c, ok := composite(v.Values[i]); ok {
					r.tables[n.Name] = elements(c)
				}
			}
		}
	}
}

// elements counts the different rows of a table.
func elements(c *ast.CompositeLit) int {
	seen := map[string]bool{}
	for _, e := range c.Elts {
		seen[printed(e)] = true
	}
	return len(seen)
}

// printed is an expression as text: its nodes with all that they say, without spaces, comments
// and positions.
func printed(e ast.Expr) string {
	var b strings.Builder
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case nil:
			b.WriteByte(')')
			return true
		case *ast.Comment, *ast.CommentGroup:
			return false
		case *ast.Ident:
			b.WriteString("(" + n.Name)
		case *ast.BasicLit:
			b.WriteString("(" + n.Value)
		case *ast.UnaryExpr:
			b.WriteString("(" + n.Op.String())
		case *ast.BinaryExpr:
			b.WriteString("(" + n.Op.String())
		case *ast.AssignStmt:
			b.WriteString("(" + n.Tok.String() + strconv.Itoa(len(n.Lhs)))
		case *ast.IncDecStmt:
			b.WriteString("(" + n.Tok.String())
		case *ast.BranchStmt:
			b.WriteString("(" + n.Tok.String())
		case *ast.RangeStmt:
			b.WriteString("(range" + n.Tok.String())
		case *ast.GenDecl:
			b.WriteString("(" + n.Tok.String())
		case *ast.CallExpr:
			b.WriteString("(call" + strconv.FormatBool(n.Ellipsis.IsValid()))
		case *ast.SliceExpr: // which of the three are there
			fmt.Fprintf(&b, "(slice%t%t%t", n.Low != nil, n.High != nil, n.Max != nil)
		case *ast.ChanType:
			fmt.Fprintf(&b, "(chan%d", n.Dir)
		case *ast.ForStmt:
			fmt.Fprintf(&b, "(for%t%t%t", n.Init != nil, n.Cond != nil, n.Post != nil)
		case *ast.IfStmt:
			fmt.Fprintf(&b, "(if%t", n.Init != nil)
		case *ast.SwitchStmt:
			fmt.Fprintf(&b, "(switch%t", n.Init != nil)
		case *ast.Field:
			fmt.Fprintf(&b, "(field%d", len(n.Names))
		case *ast.FuncType:
			fmt.Fprintf(&b, "(func%t%t", n.TypeParams != nil, n.Results != nil)
		case *ast.CaseClause:
			fmt.Fprintf(&b, "(case%d", len(n.List))
		case *ast.ValueSpec:
			fmt.Fprintf(&b, "(value%d%t", len(n.Names), n.Type != nil)
		default:
			fmt.Fprintf(&b, "(%T", n)
		}
		return true
	})
	return b.String()
}

// sameSource reports whether two expressions say the same.
func sameSource(a, b ast.Expr) bool { return printed(a) == printed(b) }

// listed counts the rows of all tables of structs in a function, those inside
// other tables and those that are used by their index included.
func listed(body ast.Node) int {
	n := 0
	ast.Inspect(body, func(x ast.Node) bool {
		if c, ok := x.(*ast.CompositeLit); ok && len(c.Elts) > 0 {
			_, array := c.Type.(*ast.ArrayType)
			_, named := c.Type.(*ast.Ident)
			if row, ok := c.Elts[0].(*ast.CompositeLit); ok && (array || named && row.Type == nil) {
				n += elements(c)
			}
		}
		return true
	})
	return n
}

// composite is a literal of a slice, an array or a map.
func composite(e ast.Expr) (*ast.CompositeLit, bool) {
	c, ok := ast.Unparen(e).(*ast.CompositeLit)
	if !ok {
		return nil, false
	}
	switch c.Type.(type) {
	case *ast.ArrayType, *ast.MapType, *ast.Ident, *ast.SelectorExpr:
		return c, true
	}
	return nil, false
}
