// Package detect looks at the files of a project and says which commands
// prepare and test it. It runs nothing.
package detect

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"git-ralph/internal/config"
)

// Found is what is known about a project, the sum over its parts.
type Found struct {
	Kind   string         // of the first part; "none" when nothing is known
	Checks []config.Check // in the order in which they run; timeouts are zero
	Preset string         // toolchain.preset; empty = none fits
	// Toolchain holds commands where no preset fits.
	Toolchain config.Toolchain
	Setup     []string // project.setup
	// Notes are sentences for the user: what was found and not used, and why.
	Notes []string
}

// The kinds that are told apart. More than one may be in one project.
const (
	Go       = "go"
	Rust     = "rust"
	PythonUV = "python-uv"
	Python   = "python"
	Node     = "node"
	Maven    = "maven"
	Gradle   = "gradle"
	Ruby     = "ruby"
	PHP      = "php"
	DotNet   = "dotnet"
	Elixir   = "elixir"
	CMake    = "cmake"
	Meson    = "meson"
	None     = "none"
)

// ecosystem is one way to build and test.
type ecosystem struct {
	kind string
	// is says that the folder is a project of this kind.
	is func(*folder) bool
	// look fills in what the project needs.
	look func(*folder)
	// whole says that the project tests the folders below it, too.
	whole func(*folder) bool
}

func always(*folder) bool { return true }

// ecosystems in the order in which their checks run and the first of which
// gives the preset.
func ecosystems() []ecosystem {
	return []ecosystem{
		{Go, func(f *folder) bool { return f.has("go.mod", "go.work") }, golang,
			func(f *folder) bool { return f.has("go.work") }},
		{Rust, func(f *folder) bool { return f.has("Cargo.toml") }, rust,
			func(f *folder) bool { return dig(decodeTOML(f.read("Cargo.toml")), "workspace") != nil }},
		{PythonUV, usesUV, pythonUV, always},
		{Python, isPython, python, always},
		{Node, func(f *folder) bool { return f.has("package.json") }, node, isNodeWorkspace},
		{Maven, func(f *folder) bool { return f.has("pom.xml") }, maven, always},
		{Gradle, func(f *folder) bool {
			return f.has("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
		}, gradle, always},
		{Ruby, func(f *folder) bool { return f.has("Gemfile", "Rakefile", ".rspec") }, ruby, always},
		{PHP, func(f *folder) bool { return f.has("composer.json", "phpunit.xml", "phpunit.xml.dist") }, php, always},
		{DotNet, func(f *folder) bool { return f.any("*.sln", "*.slnx", "*.csproj", "*.fsproj", "*.vbproj") }, dotNet,
			always},
		{Elixir, func(f *folder) bool { return f.has("mix.exs") }, elixir, always},
		{CMake, func(f *folder) bool { return f.has("CMakeLists.txt") }, cmake, always},
		{Meson, func(f *folder) bool { return f.has("meson.build") }, meson, always},
	}
}

// maxParts is how many folders below the root count as projects of their own.
const maxParts = 4

// In looks at a repository's root and, where the root does not test the
// folders below it, at the projects there.
func In(fsys fs.FS) Found {
	root := &folder{fsys: fsys, dir: "."}
	whole := root.look()
	parts := []*folder{root}
	left := 0
	for _, dir := range below(fsys) {
		f := &folder{fsys: fsys, dir: dir}
		if !f.lookBeside(whole) {
			continue
		}
		if len(parts) > maxParts {
			left++
			continue
		}
		parts = append(parts, f)
	}
	if len(parts) == 1 && len(root.out.Checks) == 0 && left == 0 {
		scripts(root)
	}
	out := merge(parts)
	if left > 0 {
		out.Notes = append(out.Notes,
			fmt.Sprintf("%s not looked at: add checks for them as you need them",
				plural(left, "further project is", "further projects are")))
	}
	if len(out.Checks) == 0 {
		out.Notes = append(out.Notes, "no check was found; without one start refuses, since nothing could be verified")
	}
	return out
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// look fills in what the folder's kinds need, and says which kinds test the
// folders below it, too.
func (f *folder) look() (whole map[string]bool) {
	whole = map[string]bool{}
	f.out.Kind = None
	for _, e := range ecosystems() {
		if !e.is(f) {
			continue
		}
		if f.out.Kind == None {
			f.out.Kind = e.kind
			e.look(f)
		} else if other := (&folder{fsys: f.fsys, dir: f.dir}); true {
			e.look(other)
			f.addSecond(e.kind, other.out)
		}
		if e.whole(f) {
			whole[e.kind] = true
		}
	}
	return whole
}

// addSecond adds what a second kind of the same folder needs: its tests, under
// names that say the kind.
func (f *folder) addSecond(kind string, second Found) {
	tests := onlyTests(second.Checks)
	if len(tests) == 0 {
		f.note("it is " + kind + ", too; add checks for that as you need them")
		return
	}
	for _, c := range tests {
		if len(f.out.Checks) > 0 {
			c.Name = kind + "-" + c.Name
		}
		f.out.Checks = append(f.out.Checks, c)
	}
	f.out.Setup = append(f.out.Setup, second.Setup...)
	f.out.Notes = append(f.out.Notes, second.Notes...)
}

func onlyTests(checks []config.Check) (tests []config.Check) {
	for _, c := range checks {
		if c.Kind == "test" {
			tests = append(tests, c)
		}
	}
	return tests
}

// lookBeside looks at a folder below the root for what the root does not test.
// Of such a project the tests count alone. It says whether there are any.
func (f *folder) lookBeside(whole map[string]bool) bool {
	f.out.Kind = None
	for _, e := range ecosystems() {
		if whole[e.kind] || e.kind == Python && whole[PythonUV] || e.kind == PythonUV && whole[Python] || !e.is(f) {
			continue
		}
		e.look(f)
		f.out.Kind = e.kind
		break
	}
	f.out.Checks = onlyTests(f.out.Checks)
	return len(f.out.Checks) > 0
}

// skipped are folders that hold no project of this repository.
var skipped = []string{"node_modules", "vendor", "third_party", "external", "deps", "testdata", "fixtures", "examples",
	"example",
	"samples", "docs", "doc", "dist", "build", "target", "venv", "env", "out", "bin", "obj", "test", "tests", "spec",
	"_build"}

// below are the folders in which a project may be, two levels deep, in order.
func below(fsys fs.FS) (dirs []string) {
	children := func(dir string) (names []string) {
		entries, err := fs.ReadDir(fsys, dir)
		if err != nil {
			return nil
		}
		for _, e := range entries {
			if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !slices.Contains(skipped, e.Name()) && plainPath(e.Name()) {
				names = append(names, path.Join(dir, e.Name()))
			}
		}
		return names
	}
	for _, dir := range children(".") {
		dirs = append(dirs, dir)
		dirs = append(dirs, children(dir)...)
	}
	return dirs
}

// merge adds the parts up. A part below the root runs in its folder, and only
// when something there changed.
func merge(parts []*folder) Found {
	out := parts[0].out
	done := []string{}
	for _, p := range parts[1:] {
		if slices.ContainsFunc(done, func(d string) bool { return strings.HasPrefix(p.dir, d+"/") }) {
			continue
		}
		done = append(done, p.dir)
		if out.Kind == None {
			out.Kind = p.out.Kind
		}
		in := "cd " + p.dir + " && "
		for _, c := range p.out.Checks {
			c.Name, c.Run, c.Paths = strings.ReplaceAll(p.dir, "/", "-")+"-"+c.Name, in+c.Run, []string{p.dir + "/**"}
			out.Checks = append(out.Checks, c)
		}
		for _, s := range p.out.Setup {
			out.Setup = append(out.Setup, in+s)
		}
		for _, n := range p.out.Notes {
			out.Notes = append(out.Notes, p.dir+": "+n)
		}
	}
	return out
}
