package weaken

import (
	"go/ast"
	gotoken "go/token"
)

// guardsSetup reports whether check only looks at the error of a call into the
// standard library that stands before it: `f, err := os.Create(…)` and then
// `if err != nil { t.Fatal(err) }`, or `require.NoError(t, err)`. Such a guard
// is plumbing: it goes when the call goes (os.MkdirTemp becomes t.TempDir), and says
// nothing about the tested code.
func (w *goWalker) guardsSetup(before, check ast.Stmt) bool {
	assign, ok := before.(*ast.AssignStmt)
	if !ok || len(assign.Rhs) != 1 || len(assign.Lhs) == 0 {
		return false
	}
	call, ok := assign.Rhs[0].(*ast.CallExpr)
	if !ok {
		return false
	}
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	if sel.Sel.Name == "Stat" || sel.Sel.Name == "Lstat" {
		return false // looks at what the tested code has left
	}
	if !ok || !plumbing.has(w.r.imports[pkg.Name]) {
		return false
	}
	last, ok := assign.Lhs[len(assign.Lhs)-1].(*ast.Ident)
	if !ok {
		return false
	}
	switch c := check.(type) {
	case *ast.IfStmt:
		cond, ok := c.Cond.(*ast.BinaryExpr)
		if !ok || c.Init != nil || c.Else != nil || cond.Op != gotoken.NEQ {
			return false
		}
		x, _ := cond.X.(*ast.Ident)
		y, _ := cond.Y.(*ast.Ident)
		return x != nil && y != nil && x.Name == last.Name && y.Name == "nil"
	case *ast.ExprStmt:
		c2, ok := c.X.(*ast.CallExpr)
		if !ok || callee(c2) != "NoError" || len(c2.Args) == 0 {
			return false
		}
		for _, a := range c2.Args[:min(2, len(c2.Args))] {
			if id, ok := a.(*ast.Ident); ok && id.Name == last.Name {
				return true
			}
		}
	}
	return false
}

// plumbing are the packages of the standard library that tests use to prepare
// something.
var plumbing = set("os io io/ioutil io/fs path/filepath os/exec os/user net net/http net/url net/http/httptest " +
	"bufio bytes strconv time embed crypto/rand crypto/x509 crypto/tls crypto/rsa crypto/ecdsa " +
	"encoding/json encoding/hex encoding/base64 encoding/xml encoding/pem encoding/gob " +
	"database/sql text/template html/template regexp archive/tar archive/zip compress/gzip " +
	"go/parser log syscall strings mime/multipart")
