package weaken

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	gotoken "go/token"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// golang reads a file of Go. The parser of the standard library says what is declared in it, and which braces
// are those of values; what functions do is read like any other language. A file that does not parse
// has no tests (the checks of a tree that does not compile are red anyway).
func (r *reader) golang(content []byte) {
	fset := gotoken.NewFileSet()
	f, err := parser.ParseFile(fset, r.file, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return
	}
	g := &goFile{reader: r, file: f, fset: fset}
	r.goScope.imports = importsOf(f)
	g.code = goStatements(r.toks, g.values())
	var limits []string
	if r.test {
		limits = goConstraints(f, r.file)
	}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.GenDecl); ok {
			list := g.nodes(d.Pos(), d.End())
			for i := range list {
				if name, value := r.assigned(list, i); name != "" {
					if n, ok := literalRows(value); ok {
						r.tables[name] = n
					}
				}
			}
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			g.function(d, limits)
		case *ast.GenDecl:
			if r.test {
				g.suites(d, limits)
			}
		}
	}
}

// goFile is a file of Go that is read.
type goFile struct {
	*reader
	file *ast.File
	fset *gotoken.FileSet
	code []token // with semicolons
}

// goScope is what is known about the names in a function of Go.
type goScope struct {
	imports   map[string]string // name in the file → path
	handles   map[string]bool   // what can fail the test
	asserters map[string]bool   // names that hold assertions: a := assert.New(t)
	receiver  string
}

func (g *goFile) offset(p gotoken.Pos) int { return g.fset.Position(p).Offset }

// values are the offsets of the braces that hold values and types, and no statements.
func (g *goFile) values() map[int]bool {
	out := map[int]bool{}
	mark := func(open, close gotoken.Pos) { out[g.offset(open)], out[g.offset(close)] = true, true }
	ast.Inspect(g.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CompositeLit:
			mark(n.Lbrace, n.Rbrace)
		case *ast.StructType:
			mark(n.Fields.Opening, n.Fields.Closing)
		case *ast.InterfaceType:
			mark(n.Methods.Opening, n.Methods.Closing)
		}
		return true
	})
	return out
}

// between are the tokens of a list from one place to another.
func (g *goFile) between(toks []token, from, to gotoken.Pos) []token {
	a, b := g.offset(from), g.offset(to)
	first := sort.Search(len(toks), func(i int) bool { return toks[i].pos >= a })
	last := sort.Search(len(toks), func(i int) bool { return toks[i].pos >= b })
	return toks[first:last]
}

func (g *goFile) nodes(from, to gotoken.Pos) []node {
	return goShape(tree(g.between(g.code, from, to)))
}

// goStatements puts semicolons where Go has them by its rule, and marks the braces of values.
func goStatements(toks []token, values map[int]bool) []token {
	out := make([]token, 0, len(toks)+len(toks)/4)
	for i, t := range toks {
		ends := t.kind != punct || t.is(")") || t.is("]") || t.is("}") ||
			(t.is("+") || t.is("-")) && i > 0 && toks[i-1].is(t.text)
		if values[t.pos] && t.kind == punct {
			t.text = map[string]string{"{": openLiteral, "}": closeLiteral}[t.text]
		}
		out = append(out, t)
		if ends && i+1 < len(toks) && toks[i+1].first {
			out = append(out, token{kind: punct, text: ";", pos: t.end, end: t.end, line: t.line})
		}
	}
	return out
}

// goShape gives if, for and switch the form that they have in other languages: what stands in front
// of a condition comes before the statement, and a loop is a while or goes over something.
func goShape(list []node) []node {
	var out []node
	chain := 0 // where the if stands to which an else belongs
	for i := 0; i < len(list); i++ {
		n := list[i]
		n.kids = goShape(n.kids)
		word := at(list, i)
		if group(list, i, '(') && at(n.kids, 0) == "func" && at(list, i-1) == "=" {
			out = append(out, n.kids...) // a function in brackets
			continue
		}
		if !oneOf("if for switch", word) {
			out = append(out, n)
			continue
		}
		if at(list, i-1) != "else" {
			chain = len(out)
		}
		body := i + 1
		for body < len(list) && list[body].open != '{' {
			body++
		}
		head := goShape(list[i+1 : body])
		if slices.ContainsFunc(head, func(n node) bool { return n.open == 0 && n.is(";") }) {
			parts := append(split(head, ";"), nil, nil)
			out = slices.Insert(out, chain, append(slices.Clone(parts[0]), node{token: token{kind: punct, text: ";"}})...)
			head = parts[1]
		}
		if word == "for" {
			over := slices.IndexFunc(head, func(n node) bool { return n.open == 0 && n.is("range") })
			switch {
			case over >= 0:
				head[over].text = "in"
			case len(head) == 0:
				head = []node{{token: token{text: "true"}}}
				fallthrough
			default:
				n.text = "while"
			}
		}
		out = append(append(out, n), head...)
		i = body - 1
	}
	return out
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

func (g *goFile) function(d *ast.FuncDecl, limits []string) {
	s, collected := g.s, g.test
	u := unit{name: d.Name.Name, line: g.fset.Position(d.Pos()).Line}
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
			out := g.exampleOutput(d)
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
		u.skips = append(u.skips, limits...)
	}
	u.fails = len(handles) > 0
	g.unit(u, d.Body.Lbrace+1, d.Body.Rbrace, d.Type.Params.Pos(), d.End(), receiver)
}

// unit adds what stands between two places; its text begins and ends elsewhere.
func (g *goFile) unit(u unit, from, to, textFrom, textTo gotoken.Pos, receiver string) {
	text := g.between(g.toks, textFrom, textTo)
	g.goScope.receiver = receiver
	g.goScope.handles, g.goScope.asserters = goHandles(text), map[string]bool{}
	body := g.nodes(from, to)
	g.reader.unit(u, body, text, 1)
	last := &g.s.units[len(g.s.units)-1]
	last.listed = goListed(body)
	if last.test {
		last.skips = append(last.skips, goSubtests(body)...)
	}
}

// goHandles are the names that can fail a test, by their types.
func goHandles(toks []token) map[string]bool {
	out := map[string]bool{"t": true, "tb": true}
	for i := range toks[:max(0, len(toks)-3)] {
		k := i + 1
		if toks[k].is("*") {
			k++
		}
		if k+2 >= len(toks) || toks[i].kind != ident || toks[k].kind != ident || !toks[k+1].is(".") ||
			toks[k].line != toks[i].line {
			continue
		}
		if of := toks[k+2].text; toks[k].is("testing") && oneOf("T B F TB", of) || oneOf("C TestingT T", of) {
			out[toks[i].text] = true
		}
	}
	return out
}

// goSubtests are the early returns of subtests.
func goSubtests(list []node) (out []string) {
	for i, n := range list {
		if n.open == '{' && group(list, i-1, '(') && at(list, i-2) == "func" &&
			strings.Contains(text(list[i-1].kids), "testing . ") {
			_, early := earlyReturns(n.kids)
			out = append(out, early...)
		}
		out = append(out, goSubtests(n.kids)...)
	}
	return out
}

// goListed counts the rows of all tables of structs, those inside other tables and those that
// are used by their index included.
func goListed(list []node) (n int) {
	for i, g := range list {
		if parts := split(g.kids, ","); g.open == openLiteral[0] && len(parts) > 0 && len(parts[0]) > 0 {
			row, array := parts[0], group(list, i-2, '[') || group(list, i-4, '[')
			if last := row[len(row)-1]; last.open == openLiteral[0] && (len(row) == 1 || array && len(row) <= 4) {
				n += rows(g.kids)
			}
		}
		n += goListed(g.kids)
	}
	return n
}

// suites reads `var _ = Describe("…", func() {…})`.
func (g *goFile) suites(d *ast.GenDecl, limits []string) {
	for _, sp := range d.Specs {
		v, ok := sp.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			continue
		}
		call, ok := v.Values[0].(*ast.CallExpr)
		if !ok || len(call.Args) < 2 || !ginkgoNode(callee(call)) {
			continue
		}
		u := unit{name: literal(call.Args[0]), line: g.fset.Position(d.Pos()).Line, test: true, skips: slices.Clone(limits)}
		g.unit(u, call.Pos(), call.End(), call.Lparen, call.End(), "")
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

func (g *goFile) exampleOutput(d *ast.FuncDecl) bool {
	for _, c := range g.file.Comments {
		if c.Pos() > d.Body.Lbrace && c.End() < d.Body.Rbrace {
			low := strings.ToLower(strings.TrimSpace(c.Text()))
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
