package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rank orders the packages: an import may only go to a lower number. The
// nouns are as the README lists them; what a folder below one does counts with it.
var rank = []struct {
	prefix string
	rank   int
}{
	{"internal/text", -1},
	{"internal/stable", -1},
	{"internal/uniseg", -1},
	{"plan/located", -1},
	{"plan/exchange", 1},
	{"plan", 0},
	{"internal/proc", 0},
	{"guard/sandbox", 1},
	{"gitstate/object", 2},
	{"gitstate/ignore", 2},
	{"gitstate/worktree/index", 3},
	{"gitstate/worktree", 4},
	{"gitstate/state", 7},
	{"gitstate/journal", 8},
	{"gitstate/share", 9},
	{"gitstate", 5},
	{"notes", 6},
	{"guard/script", 7},
	{"guard/hook", 9},
	{"guard", 8},
	{"context", 9},
	{"loop/refusal", 0},
	{"loop/session", 10},
	{"loop/recovery", 11},
	{"loop", 12},
	{"internal/config", 13},
	{"internal/detect", 14},
	{"internal/checks", 13},
	{"internal/agent", 13},
	{"internal/view", 14},
	{"internal/mcp", 15},
	{"internal/dashboard", 15},
	{"internal/livefeed", 13},
	{"internal/ui", 13},
	{"internal/cli", 16},
	{"internal/e2e", 17},
	{"", 17}, // main
}

func rankOf(path string) int {
	for _, r := range rank {
		if path == r.prefix || strings.HasPrefix(path, r.prefix+"/") && r.prefix != "" {
			return r.rank
		}
	}
	return -2
}

// homes are the only places of libraries that would otherwise be everywhere.
var homes = map[string][]string{
	"charm.land/":                {"internal/ui"},
	"github.com/charmbracelet/":  {"internal/ui"},
	"github.com/go-git/":         {"gitstate"},
	"github.com/alecthomas/kong": {"internal/cli"},
	"github.com/pelletier/go-toml/": {"plan", "internal/config", "internal/detect", "gitstate/state", "guard/weaken",
		"internal/agent/scripted"},
	"mvdan.cc/sh/": {"guard"},
	"os/exec":      {"internal/proc"},
	// The first process of each sandboxed command waits for whatever package text imports.
	"github.com/sergi/": {"internal/text/diff"},
}

// testsMay are libraries that tests use everywhere: they start git and go-git to compare
// with it, and read TOML to compare with what was written.
var testsMay = map[string]bool{"os/exec": true, "github.com/pelletier/go-toml/": true, "github.com/go-git/": true}

// TestImportsPointDown keeps the house as the package comments describe it.
func TestImportsPointDown(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(".", func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); dir != "." &&
			(strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules" || name == "fixtures") {
			return filepath.SkipDir
		}
		imports, err := importsOf(dir)
		if err != nil {
			t.Error(err)
		}
		if len(imports) == 0 {
			return nil
		}
		seen++
		dir = filepath.ToSlash(dir)
		if dir == "." {
			dir = ""
		}
		mine := rankOf(dir)
		if mine < -1 {
			t.Errorf("%s has no rank: say here what it may import", dir)
		}
		for imp, test := range imports {
			if local, ok := strings.CutPrefix(imp, "git-ralph/"); ok {
				if strings.HasPrefix(local, "fixtures/") && !test {
					t.Errorf("%s imports %s, which is for tests", dir, imp)
				}
				same := strings.HasPrefix(local, dir+"/") || strings.HasPrefix(dir, local+"/") || family(local) == family(dir)
				if r := rankOf(local); !strings.HasPrefix(local, "fixtures/") && (r > mine || r == mine && !same) {
					t.Errorf("%s (%d) imports %s (%d): imports point down", dir, mine, local, r)
				}
			}
			for lib, where := range homes {
				if !strings.HasPrefix(imp, lib) || test && testsMay[lib] {
					continue
				}
				if !slices.ContainsFunc(where, func(h string) bool { return dir == h || strings.HasPrefix(dir, h+"/") }) {
					t.Errorf("%s imports %s, which belongs to %s", dir, imp, strings.Join(where, ", "))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 15 {
		t.Errorf("only %d packages were looked at", seen)
	}
}

// importsOf are the imports of every Go file of a folder, whatever platform it
// is for; true for those of tests alone. Tests may start programs themselves.
func importsOf(dir string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	imports := make(map[string]bool)
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		for _, spec := range f.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, err
			}
			only, seen := imports[path]
			imports[path] = strings.HasSuffix(name, "_test.go") && (only || !seen)
		}
	}
	return imports, nil
}

// family is the folder whose parts may import each other: the drivers of
// internal/agent, the parts of internal/checks.
func family(path string) string {
	for _, f := range []string{"internal/agent", "internal/checks"} {
		if path == f || strings.HasPrefix(path, f+"/") {
			return f
		}
	}
	return path
}
