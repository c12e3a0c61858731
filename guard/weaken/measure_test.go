package weaken

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMeasure measures the guard on the history of real repositories, whose git
// folders are the arguments: `just measure-guard REPO...`. It reports how many it
// rejects of a random sample of commits that touch tests and code, and how many
// scripted weakenings of the newest test files it finds. It never fails, because a
// rate means something only to a person who has read the flagged commits.
func TestMeasure(t *testing.T) {
	if flag.NArg() == 0 {
		t.Skip("measures repositories given as arguments: just measure-guard REPO...")
	}
	honest, caught := map[string]*rate{}, map[string]*rate{}
	for _, dir := range flag.Args() {
		r, err := openHistory(dir)
		if err != nil {
			t.Fatal(err)
		}
		measureHonest(t, r, honest)
		if !*honestOnly {
			measureWeakened(t, r, caught)
		}
		if err := r.close(); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
	for _, m := range []struct {
		title string
		rates map[string]*rate
	}{{"honest commits rejected", honest}, {"weakenings caught", caught}} {
		for _, k := range slices.Sorted(maps.Keys(m.rates)) {
			t.Logf("%-26s %-34s %s", m.title, k, m.rates[k])
		}
	}
}

// rate counts hits among tries; noted are those that were only noted.
type rate struct{ hits, noted, tries int }

func (r rate) String() string {
	return fmt.Sprintf("%4d of %4d  %5.1f %%, %d more noted", r.hits, r.tries,
		100*float64(r.hits)/float64(max(1, r.tries)), r.noted)
}

// honestOnly leaves out the scripted weakenings.
var honestOnly = flag.Bool("honest", false, "measure honest commits alone")

func score(rates map[string]*rate, rep Report, keys ...string) {
	for _, k := range keys {
		if rates[k] == nil {
			rates[k] = &rate{}
		}
		rates[k].tries++
		switch {
		case len(rep.Findings) > 0:
			rates[k].hits++
		case len(rep.Notes)+len(rep.Open) > 0:
			rates[k].noted++
		}
	}
}

// These limit the commits, and the sites of each kind of weakening, that are
// sampled from one repository.
const sampledSites = 12

var sampledCommits = flag.Int("commits", 60, "how many commits of a repository are judged")

func measureHonest(t *testing.T, r *history, rates map[string]*rate) {
	t.Helper()
	commits := strings.Fields(string(r.git(t, "rev-list", "--no-merges", "--min-parents=1", "HEAD")))
	slices.Sort(commits)
	r.random.Shuffle(len(commits), func(i, k int) { commits[i], commits[k] = commits[k], commits[i] })
	taken := 0
	for _, commit := range commits {
		if taken == *sampledCommits {
			break
		}
		paths := strings.Split(strings.TrimSuffix(string(r.git(t, "diff-tree", "-r", "-z", "--name-only", "--no-renames",
			"--no-commit-id", commit)), "\x00"), "\x00")
		lang := ""
		code := false
		for _, p := range paths {
			if l := languageOf(p); l != nil && IsTest(p) {
				lang = l.name
			} else if l != nil {
				code = true
			}
		}
		rust := slices.ContainsFunc(paths, func(p string) bool { return strings.HasSuffix(p, ".rs") })
		if lang == "" && rust {
			lang = "rust" // unit tests stand in the source
		}
		if lang == "" || !code || len(paths) > 200 {
			continue
		}
		var files []File
		tests := false
		for _, p := range paths {
			f := File{Path: p, Before: r.blob(commit+"^", p), After: r.blob(commit, p)}
			files = append(files, f)
			for _, side := range [][]byte{f.Before, f.After} {
				if s := read(p, side); s != nil {
					tests = tests || slices.ContainsFunc(s.units, func(u unit) bool { return u.test })
				}
			}
		}
		if !tests {
			continue
		}
		taken++
		rep := Judge(Input{Files: files, Commands: r.commands(commit + "^"),
			Paths: strings.Split(string(r.git(t, "ls-tree", "-r", "-z", "--name-only", commit+"^")), "\x00"),
			Lookup: func(p string) ([]byte, bool) {
				b := r.blob(commit+"^", p)
				return b, b != nil
			}})
		score(rates, rep, "all", "language "+lang, "repository "+r.name)
		for _, f := range rep.Findings {
			t.Logf("FLAG %s %s %s: %s", r.name, commit[:10], f.Rule, asOneLine(f.String()))
		}
		for _, f := range rep.Open {
			t.Logf("OPEN %s %s %s: %s", r.name, commit[:10], f.Rule, asOneLine(f.String()))
		}
		for _, f := range rep.Notes {
			t.Logf("NOTE %s %s %s: %s", r.name, commit[:10], f.Rule, asOneLine(f.String()))
		}
	}
}

func measureWeakened(t *testing.T, r *history, rates map[string]*rate) {
	t.Helper()
	var files []File
	for _, p := range strings.Split(string(r.git(t, "ls-tree", "-r", "-z", "--name-only", "HEAD")), "\x00") {
		lang := languageOf(p)
		if lang == nil || !IsTest(p) && lang.name != "rust" {
			continue
		}
		if b := r.blob("HEAD", p); len(b) < 200_000 {
			if s := read(p, b); s != nil && slices.ContainsFunc(s.units, func(u unit) bool { return u.test }) {
				files = append(files, File{Path: p, Before: b})
			}
		}
	}
	for _, w := range weakenings {
		type site struct {
			file File
			made []byte
		}
		var sites []site
		for _, f := range files {
			if lang := languageOf(f.Path).name; lang != w.lang {
				continue
			}
			for _, made := range w.sites(string(f.Before)) {
				sites = append(sites, site{f, []byte(made)})
			}
		}
		r.random.Shuffle(len(sites), func(i, k int) { sites[i], sites[k] = sites[k], sites[i] })
		for _, s := range sites[:min(len(sites), sampledSites)] {
			s.file.After = s.made
			rep := Judge(Input{Files: []File{s.file}, Commands: r.commands("HEAD")})
			score(rates, rep, "all", "kind "+w.kind, w.lang+" "+w.kind)
			if len(rep.Findings) == 0 {
				t.Logf("MISS %s %s %s %s: %s", r.name, s.file.Path, w.lang, w.kind, firstDifference(s.file))
			}
		}
	}
}

func firstDifference(f File) string {
	old, now := strings.Split(string(f.Before), "\n"), strings.Split(string(f.After), "\n")
	for i := range old {
		if i >= len(now) || old[i] != now[i] {
			return fmt.Sprintf("line %d: %q", i+1, strings.TrimSpace(old[i]))
		}
	}
	return "at the end"
}

// history reads one repository through a single `git cat-file --batch`.
type history struct {
	dir, name string
	random    *rand.Rand
	cmd       *exec.Cmd
	in        io.WriteCloser
	out       *bufio.Reader
}

func openHistory(dir string) (*history, error) {
	r := &history{dir: dir, name: filepath.Base(strings.TrimSuffix(strings.TrimSuffix(filepath.Clean(dir), "/repo"),
		"/.git"))}
	seed := fnv.New64a()
	seed.Write([]byte(r.name)) // the same sample each time
	r.random = rand.New(rand.NewSource(int64(seed.Sum64())))
	r.cmd = exec.Command("git", "-C", dir, "cat-file", "--batch")
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = bufio.NewReader(out)
	return r, r.cmd.Start()
}

func (r *history) close() error {
	r.in.Close()
	return r.cmd.Wait()
}

func (r *history) git(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", r.dir}, args...)...).Output()
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// blob is a file of a commit; nil = there is none.
func (r *history) blob(commit, path string) []byte {
	if strings.ContainsAny(path, "\n") {
		return nil
	}
	fmt.Fprintf(r.in, "%s:%s\n", commit, path)
	head, err := r.out.ReadString('\n')
	f := strings.Fields(head)
	if err != nil || len(f) != 3 || strings.HasSuffix(head, " missing\n") {
		return nil
	}
	var size int
	fmt.Sscan(f[2], &size)
	data := make([]byte, size+1)
	if _, err := io.ReadFull(r.out, data); err != nil || f[1] != "blob" {
		return nil
	}
	return data[:size]
}

// commands are the usual checks of a project of this kind.
func (r *history) commands(commit string) []string {
	var out []string
	for _, c := range [][2]string{{"go.mod", "go test ./..."}, {"Cargo.toml", "cargo test"}, {"package.json", "npm test"},
		{"pom.xml", "mvn test"}, {"setup.py", "pytest"}, {"pyproject.toml", "pytest"}, {"tox.ini", "tox"},
		{"Makefile", "make test"}, {"composer.json", "composer test && vendor/bin/phpunit"}, {"mix.exs", "mix test"},
		{"meson.build", "meson test -C build"}, {"Package.swift", "swift test"}, {"build.sbt", "sbt test"},
		{"pnpm-workspace.yaml", "pnpm -r test"}, {"deno.json", "deno test"}, {"build.gradle", "gradle test"},
		{"CMakeLists.txt", "ctest"}, {"Directory.Build.props", "dotnet test"}, {"turbo.json", "turbo run test"},
		{"MODULE.bazel", "bazel test //..."}} {
		if r.blob(commit, c[0]) != nil {
			out = append(out, c[1])
		}
	}
	return out
}

// editLines returns each text that f makes at one line. f returns false if it does
// not apply.
func editLines(src string, f func(lines []string, i int) ([]string, bool)) []string {
	var out []string
	lines := strings.Split(src, "\n")
	for i := range lines {
		if made, ok := f(lines, i); ok && !bytes.Equal([]byte(strings.Join(made, "\n")), []byte(src)) {
			out = append(out, strings.Join(made, "\n"))
		}
	}
	return out
}

func asOneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
