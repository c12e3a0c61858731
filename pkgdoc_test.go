package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// goFiles calls f with every Go file of the project.
func goFiles(t *testing.T, f func(path string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules"):
			return filepath.SkipDir
		case !d.IsDir() && strings.HasSuffix(name, ".go"):
			f(filepath.ToSlash(path))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPackageComments: the head of a package says in a sentence or more what it
// owns, in exactly one file.
func TestPackageComments(t *testing.T) {
	heads := map[string][]string{} // by folder
	goFiles(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Error(err)
			return
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		if f.Doc == nil {
			heads[dir] = append(heads[dir], "")
			return
		}
		text := f.Doc.Text()
		heads[dir] = append(heads[dir], text)
		if begin := "Package " + f.Name.Name + " "; f.Name.Name != "main" && !strings.HasPrefix(text, begin) {
			t.Errorf("%s: the package comment does not begin with %q", path, begin)
		}
	})
	for dir, texts := range heads {
		n, words := 0, 0
		for _, text := range texts {
			if text != "" {
				n, words = n+1, len(strings.Fields(text))
			}
		}
		if n != 1 || words < 8 {
			t.Errorf("%s: %d files have a package comment (of %d words): one says what the package owns", dir, n, words)
		}
	}
	if len(heads) < 30 {
		t.Errorf("only %d packages were looked at", len(heads))
	}
}

// TestLines keeps files to what is read at a time, and lines to what stands
// beside each other in a review. Tags of struct fields and the inside of raw
// strings cannot be broken.
func TestLines(t *testing.T) {
	goFiles(t, func(path string) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(data), "\n"); n > 550 {
			t.Errorf("%s has %d lines, some 500 are read at a time: part it by subject", path, n)
		}
		var raw map[int]bool // lines that a raw string covers, read when one is wanted
		for i, line := range strings.Split(string(data), "\n") {
			n := utf8.RuneCountInString(line)
			if n <= 120 {
				continue
			}
			if raw == nil {
				raw = rawLines(t, path, data)
			}
			if !raw[i+1] {
				t.Errorf("%s:%d has %d characters, at most 120 fit", path, i+1, n)
			}
		}
	})
}

// rawLines are the lines of raw strings that span several, and of struct tags.
func rawLines(t *testing.T, path string, data []byte) map[int]bool {
	t.Helper()
	lines := map[int]bool{}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, data, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		var lit *ast.BasicLit
		switch n := n.(type) {
		case *ast.Field:
			lit = n.Tag
		case *ast.BasicLit:
			if n.Kind == token.STRING && fset.Position(n.Pos()).Line < fset.Position(n.End()).Line {
				lit = n
			}
		}
		if lit != nil {
			for at := fset.Position(lit.Pos()).Line; at <= fset.Position(lit.End()).Line; at++ {
				lines[at] = true
			}
		}
		return true
	})
	return lines
}
