package weaken

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMeasureTogether measures both halves of the guard on repositories whose tests run
// here: `just measure-together REPO...`. The old tests judge the weakenings that a
// comparison misses: code is broken at random places until a weakened test fails in its old
// form, and the run of the old tests must reject that. A weakening whose test never fails
// is counted apart, because nothing can be said about it.
//
// It runs code of the repositories, with the rights of the present user.
func TestMeasureTogether(t *testing.T) {
	if flag.NArg() == 0 {
		t.Skip("runs the tests of repositories given as arguments: just measure-together REPO...")
	}
	var all together
	for _, dir := range flag.Args() {
		r, err := openHistory(dir)
		if err != nil {
			t.Fatal(err)
		}
		all.add(measureTogether(t, r))
		if err := r.close(); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
	t.Logf("all: %s", all)
}

// together counts weakenings: found by comparison, only by the old tests, by neither, and
// the undecided ones.
type together struct{ static, old, missed, open int }

func (a *together) add(b together) {
	a.static += b.static
	a.old += b.old
	a.missed += b.missed
	a.open += b.open
}

func (a together) String() string {
	n := a.static + a.old + a.missed
	return fmt.Sprintf("%d by comparing and %d by the old tests of %d, %.1f %%; %d not decided", a.static, a.old, n,
		100*float64(a.static+a.old)/float64(max(1, n)), a.open)
}

// brokenVersions is how many broken versions of the code are tried.
var brokenVersions = flag.Int("broken", 40, "how many broken versions of the code are tried")

func measureTogether(t *testing.T, r *history) (sum together) {
	t.Helper()
	tree := t.TempDir()
	tar := exec.Command("tar", "-x", "-C", tree)
	var err error
	archive := exec.Command("git", "-C", r.dir, "archive", "HEAD")
	if tar.Stdin, err = archive.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := archive.Start(); err != nil {
		t.Fatal(err)
	}
	if err := tar.Run(); err != nil {
		t.Fatal(err)
	}
	if err := archive.Wait(); err != nil {
		t.Fatal(err)
	}
	lang, runner := testCommand(t, tree)
	var tests []File
	var code []string
	for _, p := range strings.Split(string(r.git(t, "ls-tree", "-r", "-z", "--name-only", "HEAD")), "\x00") {
		switch l := languageOf(p); {
		case l == nil || l.name != lang || strings.HasPrefix(p, "example"):
		case IsTest(p):
			tests = append(tests, File{Path: p, Before: r.blob("HEAD", p)})
		case !isSupport(p) && !strings.HasPrefix(p, "docs/"):
			code = append(code, p)
		}
	}
	var rest []Report
	command := runner
	for _, w := range weakenings {
		if w.lang != lang {
			continue
		}
		var made []File
		for _, f := range tests {
			for _, text := range w.sites(string(f.Before)) {
				made = append(made, File{f.Path, f.Before, []byte(text)})
			}
		}
		r.random.Shuffle(len(made), func(i, k int) { made[i], made[k] = made[k], made[i] })
		for _, f := range made[:min(len(made), sampledSites)] {
			if rep := Judge(Input{Files: []File{f}, Commands: []string{strings.Join(runner, " ")}}); len(rep.Findings) > 0 {
				sum.static++
			} else {
				rest = append(rest, rep)
				if arg := argument(lang, f.Path); !slices.Contains(command, arg) {
					command = append(command, arg)
				}
			}
		}
	}
	if len(rest) == 0 {
		t.Logf("%s: %s", r.name, sum)
		return sum
	}
	if base := runHere(t, tree, command); base.Exit != 0 || !base.Known {
		t.Logf("%s: not measured, %q is not green here (exit %d)", r.name, command, base.Exit)
		return together{}
	}
	caught := make([]bool, len(rest))
	decided := make([]bool, len(rest))
	for range *brokenVersions {
		if !slices.Contains(caught, false) {
			break
		}
		red, ok := breakCode(t, r, tree, code, command)
		if !ok {
			continue
		}
		for i, rep := range rest {
			for _, o := range rep.Old { // does the old form of a weakened test fail?
				for _, f := range red.Failures() {
					decided[i] = decided[i] || o.Fate != Kept && sameUnit(f.Unit, o.Path) && sameTest(f.Name, o)
				}
			}
			caught[i] = caught[i] || len(JudgeOldTests(rep, red, nil)) > 0
		}
	}
	for i := range rest {
		switch {
		case caught[i]:
			sum.old++
		case decided[i]:
			sum.missed++
		default:
			sum.open++
		}
	}
	t.Logf("%s: %s", r.name, sum)
	return sum
}

// argument makes a runner run the tests of one file.
func argument(lang, file string) string {
	switch lang {
	case "go":
		return "./" + path.Dir(file)
	case "rust":
		return "--test=" + strings.TrimSuffix(path.Base(file), ".rs")
	case "python":
		return strings.ReplaceAll(strings.TrimSuffix(file, ".py"), "/", ".")
	}
	return file
}

// testCommand is how the tests of a tree are run. Only the packages that a package.json asks for are
// installed; Cargo and Go fetch what they need by themselves.
func testCommand(t *testing.T, tree string) (lang string, command []string) {
	has := func(name string) bool {
		_, err := os.Stat(filepath.Join(tree, name))
		return err == nil
	}
	switch {
	case has("go.mod"):
		return "go", []string{"go", "test"}
	case has("Cargo.toml"):
		return "rust", []string{"cargo", "test", "--no-fail-fast"}
	case has("package.json"):
		install := exec.Command("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund")
		install.Dir = tree
		if out, err := install.CombinedOutput(); err != nil {
			t.Logf("npm install: %v: %s", err, out) // the tests may run without
		}
		return "js", []string{"node", "--test"}
	}
	return "python", []string{"python3", "-m", "unittest", "-v"}
}

func runHere(t *testing.T, tree string, command []string) RunReport {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "PYTHONPATH=src:.", "PYTHONDONTWRITEBYTECODE=1", "GOFLAGS=-vet=off")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return ParseRun(out, cmd.ProcessState.ExitCode())
}

// swaps are small faults: an inverted comparison, another number, another truth value.
var swaps = [][2]string{{" == ", " != "}, {" === ", " !== "}, {" != ", " == "}, {" < ", " >= "}, {" > ", " <= "},
	{" + ", " - "},
	{" - ", " + "}, {" && ", " || "}, {" and ", " or "}, {"true", "false"}, {"false", "true"}, {"True", "False"},
	{"False", "True"},
	{" not ", " "}, {" is None", " is not None"}, {"(1", "(2"}, {" 0", " 1"}, {" 1", " 2"}, {"!", ""},
	{"return ", "return !"}}

// breakCode puts one fault into the code, runs the tests and undoes it. ok is false
// when they pass or do not run.
func breakCode(t *testing.T, r *history, tree string, code, command []string) (run RunReport, ok bool) {
	t.Helper()
	for range 200 {
		p := filepath.Join(tree, code[r.random.Intn(len(code))])
		before, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(before), "\n")
		i, swap := r.random.Intn(len(lines)), swaps[r.random.Intn(len(swaps))]
		if trimmed := strings.TrimSpace(lines[i]); !strings.Contains(lines[i], swap[0]) || strings.HasPrefix(trimmed, "//") ||
			strings.HasPrefix(trimmed, "*") || strings.HasPrefix(trimmed, "#") {
			continue
		}
		lines[i] = strings.Replace(lines[i], swap[0], swap[1], 1)
		if err := os.WriteFile(p, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
		run = runHere(t, tree, command)
		if err := os.WriteFile(p, before, 0o644); err != nil {
			t.Fatal(err)
		}
		return run, run.Exit != 0 && run.Known && len(run.NotBuilt) == 0
	}
	return run, false
}
