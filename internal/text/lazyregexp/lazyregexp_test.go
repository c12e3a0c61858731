package lazyregexp

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// An expression with a mistake in it would be found by the first person who needs it, so
// all of the program that are written as one text are compiled here.
func TestAllExpressionsCompile(t *testing.T) {
	files, compiled := token.NewFileSet(), 0
	root := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "fixtures" || entry.Name() == ".git") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 || types.ExprString(call.Fun) != "lazyregexp.New" {
				return true
			}
			value, err := types.Eval(files, nil, token.NoPos, types.ExprString(call.Args[0]))
			if err != nil || value.Value == nil {
				return true // made of the texts of others
			}
			if _, err := regexp.Compile(constant.StringVal(value.Value)); err != nil {
				t.Errorf("%s: %v", files.Position(call.Pos()), err)
			}
			compiled++
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if compiled < 50 {
		t.Errorf("only %d expressions were found, of about 80", compiled)
	}
}
