package config

import (
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ProjectKind is what a project is built with.
type ProjectKind string

// The kinds that Detect tells apart.
const (
	KindGo       ProjectKind = "go"
	KindNode     ProjectKind = "node"
	KindPythonUV ProjectKind = "python-uv"
	KindRust     ProjectKind = "rust"
	KindNone     ProjectKind = "none"
)

// Detected is what init knows about a project after looking at its root.
type Detected struct {
	Kind   ProjectKind
	Checks []Check // in the order in which they run; timeouts are zero
	Preset string  // toolchain.preset; empty = none fits
	// Toolchain holds commands where no preset fits.
	Toolchain Toolchain
	Setup     []string // project.setup
	// Notes are sentences for the user: what was found and not used, and why.
	Notes []string
}

// Detect looks at the files of a project's root: it runs nothing and follows
// what the project says about itself. Where several kinds are present the
// first of go, rust, python-uv, node is taken and the others are noted.
func Detect(fsys fs.FS) Detected {
	p := project{fsys: fsys}
	type candidate struct {
		file  string
		apply func(*project)
	}
	var found []candidate
	add := func(present bool, file string, apply func(*project)) {
		if present {
			found = append(found, candidate{file, apply})
		}
	}
	add(p.has("go.mod"), "go.mod", (*project).golang)
	add(!p.has("go.mod") && p.has("go.work"), "go.work", (*project).golang)
	add(p.has("Cargo.toml"), "Cargo.toml", (*project).rust)
	add(p.usesUV(), "pyproject.toml", (*project).python)
	add(p.has("package.json"), "package.json", (*project).node)
	p.out.Kind = KindNone
	if len(found) == 0 {
		p.plain()
		return p.out
	}
	found[0].apply(&p)
	for _, other := range found[1:] {
		p.note("there is a " + other.file + " too; add checks for it as you need them")
	}
	return p.out
}

type project struct {
	fsys fs.FS
	out  Detected
}

func (p *project) note(text string) { p.out.Notes = append(p.out.Notes, text) }

func (p *project) check(name, run, kind string) {
	p.out.Checks = append(p.out.Checks, Check{Name: name, Run: run, Kind: kind})
}

// has says whether one of the files is there and regular.
func (p *project) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		info, err := fs.Stat(p.fsys, name)
		return err == nil && info.Mode().IsRegular()
	})
}

// read is the text of a file, empty when it cannot be read or is larger than
// any file of its sort.
func (p *project) read(name string) string {
	if !p.has(name) {
		return ""
	}
	f, err := p.fsys.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil || len(data) > MaxFile {
		return ""
	}
	return string(data)
}

func (p *project) golang() {
	p.out.Kind, p.out.Preset = KindGo, "go"
	pattern := "./..."
	if !p.has("go.mod") {
		// The root of a workspace is no module of its own: ./... finds nothing.
		var modules []string
		for _, dir := range workspaceDirs(p.read("go.work")) {
			modules = append(modules, "./"+path.Join(dir, "..."))
		}
		if len(modules) == 0 {
			p.note("go.work names no module, so there is nothing to test yet")
			return
		}
		pattern = strings.Join(modules, " ")
		p.out.Toolchain.Test = "go test " + pattern
		p.out.Toolchain.Lint = "go vet " + pattern
		p.out.Toolchain.Typecheck = "go vet " + pattern
	}
	p.check("vet", "go vet "+pattern, "typecheck")
	if p.has(".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json") {
		p.check("lint", "golangci-lint run", "lint")
	}
	p.check("test", "go test "+pattern, "test")
}

// workspaceDirs are the directories of the use directives of a go.work file.
func workspaceDirs(text string) []string {
	var dirs []string
	block := false
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case block && words[0] == ")":
			block = false
		case block:
			dirs = append(dirs, words[0])
		case words[0] == "use" && len(words) > 1 && words[1] == "(":
			block = true
		case words[0] == "use" && len(words) > 1:
			dirs = append(dirs, words[1])
		}
	}
	// Quoted names and those outside the repository are left to the user.
	return slices.DeleteFunc(dirs, func(d string) bool {
		return strings.ContainsAny(d, "\"`'$;&|<>(){}*?~ ") || strings.HasPrefix(path.Clean(d), "..") || path.IsAbs(d)
	})
}

func (p *project) rust() {
	p.out.Kind, p.out.Preset = KindRust, "rust"
	if p.has("rustfmt.toml", ".rustfmt.toml") {
		p.check("format", "cargo fmt --check", "format")
	}
	manifest := decodeTOML(p.read("Cargo.toml"))
	if p.has("clippy.toml", ".clippy.toml") || dig(manifest, "lints", "clippy") != nil ||
		dig(manifest, "workspace", "lints", "clippy") != nil {
		p.check("clippy", "cargo clippy --all-targets", "lint")
	}
	p.check("test", "cargo test", "test")
}

// The targets that are offered where a project has none of the known kinds.
var (
	makeTarget = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(
			`(?m)^(test|check|lint)[ \t]*:($|[^=])`)
	})
	justRecipe = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(
			`(?m)^@?(test|check|lint)[ \t]*:($|[^=])`)
	})
)

// plain looks for the usual entry points of a project of no known kind.
func (p *project) plain() {
	if p.has("pyproject.toml", "setup.py", "requirements.txt") {
		p.note("this looks like Python without uv; after `uv init` or `uv lock`, run git ralph init again or add checks below")
	}
	for _, tool := range []struct {
		command string
		files   []string
		targets *regexp.Regexp
	}{
		{"make", []string{"GNUmakefile", "makefile", "Makefile"}, makeTarget()},
		{"just", []string{"justfile", "Justfile", ".justfile"}, justRecipe()},
	} {
		for _, file := range tool.files {
			targets := map[string]bool{}
			for _, m := range tool.targets.FindAllStringSubmatch(p.read(file), -1) {
				targets[m[1]] = true
			}
			if targets["lint"] {
				p.check("lint", tool.command+" lint", "lint")
			}
			for _, name := range []string{"test", "check"} {
				if targets[name] {
					p.check("test", tool.command+" "+name, "test")
					break
				}
			}
			if len(p.out.Checks) > 0 {
				return
			}
		}
	}
	p.note("no check was found; without one start refuses, since nothing could be verified")
}
