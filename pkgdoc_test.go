package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
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
