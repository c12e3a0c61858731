package checks

import (
	"context"
	_ "embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ralph/internal/proc"
	"git-ralph/internal/text/lazyregexp"
)

// A command may print nothing about its tests: `go test -run X >/dev/null`, a script that swallows its
// runner's output, a reporter without numbers. When it succeeds silently and leads to a test runner,
// it is run once more and its tests are counted. A wrapper in front of each runner on PATH copies what
// the runner prints. The environment asks pytest, unittest, Jest, Vitest, Mocha, node --test, go test,
// cargo test, PHPUnit and RSpec to write down which tests ran, wherever they are started from. That
// run can only make a command red: when it shows that no test ran, or fewer than before.

// recountScript makes the wrappers in its own folder, runs its arguments, and at the end prints
// what the runners printed. The shell runs it in the command's environment, so it needs nothing
// that the sandbox does not let in.
//
//go:embed recount.sh
var recountScript string

// The counters are loaded into every process of node, of Python and of PHP.
var (
	//go:embed recount.cjs
	countNode string
	//go:embed recount.py
	countPython string
	//go:embed recount.php
	countPHP string
)

// recountShell is where scripts of POSIX run; Windows has none.
const recountShell = "/bin/sh"

// recount runs a silent command again, and notes in res what its runners ran.
// What cannot be told is left as it was.
func (r *Runner) recount(ctx context.Context, c Check, res *Result, limit time.Duration) error {
	if _, err := os.Stat(recountShell); err != nil || !leadsTo(r.Dir, c.Run, namesRunner) {
		return nil
	}
	line := nullOutput().ReplaceAllString(c.Run, "")
	argv := append([]string{recountShell, "-c", recountScript, "recount", countNode, countPython, countPHP},
		shellCommand(r.Shell, line).Argv...)
	// Compilers have filled their caches now: it does not take much longer than it did.
	took := time.Duration(res.DurationMs) * time.Millisecond
	again, err := r.execute(ctx, c, proc.Command{Argv: argv}, min(limit, 2*took+30*time.Second))
	if err != nil || !again.Passed || again.OutputBytes > int64(len(again.Output)) {
		return err
	}
	_, said, _ := strings.Cut(outputText(again.Output), printedMark)
	// What was written down was mostly printed as well.
	all, rest, _ := strings.Cut(said, runnersMark)
	runners, written, _ := strings.Cut(rest, countedMark)
	for _, text := range []string{written, runners, all} {
		if n, known := Ran(text); known {
			res.ran(n)
		}
		if res.Tested {
			break
		}
	}
	if res.proves() && RanNothing(Criterion, c.Run, said) {
		res.Passed, res.NoTests = false, true
	}
	return nil
}

// The marks stand in front of what the command printed, what of it its runners did, and what
// they wrote down.
const (
	printedMark = "\n-- what was printed --\n"
	runnersMark = "\n-- what the runners of tests printed --\n"
	countedMark = "\n-- what they wrote down --\n"
)

// nullOutput is a redirection that throws output away.
var nullOutput = lazyregexp.New(`[0-9&]?>{1,2}\|?[ \t]*["']?/dev/null["']?`)

// severalUses are programs of the table of runners that do other things as well.
var severalUses = strings.Fields("node ruby npm pnpm yarn make just rake sbt mvn mvnw gradle gradlew php")

// recipes are the files in which programs find what they are to do.
var recipes = map[string][]string{
	"make": {"Makefile", "makefile", "GNUmakefile"}, "gmake": {"Makefile", "makefile", "GNUmakefile"},
	"just": {"justfile", "Justfile"}, "rake": {"Rakefile"}, "npm": {"package.json"}, "pnpm": {"package.json"},
	"yarn": {"package.json"}, "bun": {"package.json"}, "tox": {"tox.ini"},
}

// leadsTo reports whether a command of a line, or of a file that it names, and so on, is one
// that is meant. It looks at words alone: a run too many costs time and decides nothing.
func leadsTo(dir, line string, meant func(words []string) bool) bool {
	seen := map[string]bool{}
	texts := []string{line}
	for len(texts) > 0 && len(seen) < 16 {
		text := texts[0]
		texts = texts[1:]
		for _, part := range separators().Split(text, -1) {
			words := strings.Fields(notWords.Replace(part))
			if meant(words) {
				return true
			}
			for _, w := range words {
				for _, name := range append(slices.Clone(recipes[filepath.Base(w)]), w) {
					name = filepath.Join(dir, name)
					if b := smallFile(dir, name); b != nil && !seen[name] {
						seen[name] = true
						texts = append(texts, string(b))
					}
				}
			}
		}
	}
	return false
}

// notWords are the characters around words, in shells and in lists of programs.
var notWords = strings.NewReplacer(`"`, " ", "'", " ", "`", " ", "[", " ", "]", " ", ",", " ", "{", " ", "}", " ",
	"@", " ")

func namesRunner(words []string) bool {
	for _, f := range filterTable {
		rest, ok := after(words, f.words)
		tests := func(w string) bool {
			return strings.Contains(w, "test") || strings.Contains(w, "spec") || strings.Contains(w, "check")
		}
		if ok && (!slices.Contains(severalUses, f.words[0]) || f.chosen(rest) || slices.ContainsFunc(rest, tests)) {
			return true
		}
	}
	return false
}

// startsJava and asksMaven report whether a command is Maven or Gradle, and whether Maven is
// asked for certain tests.
func startsJava(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return slices.Contains([]string{"mvn", "mvnw", "gradle", "gradlew"}, filepath.Base(w))
	})
}

func asksMaven(words []string) bool {
	return startsJava(words) && slices.ContainsFunc(filterTable, func(f filters) bool {
		rest, ok := after(words, f.words)
		return ok && (f.words[0] == "mvn" || f.words[0] == "mvnw") && f.chosen(rest)
	})
}

// reportsSince counts the tests in the reports that Surefire and Failsafe wrote below dir since a
// moment, and in those of Gradle, which writes none when nothing changed.
func reportsSince(dir string, since time.Time) (n int, found bool) {
	const mostFiles, mostBytes = 20000, 64 << 20
	files, size := 0, int64(0)
	since = since.Add(-20 * time.Millisecond) // the clock of files is coarser
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if files++; err != nil || files > mostFiles || size > mostBytes {
			return errors.New("this is no project whose reports can be read")
		}
		if e.IsDir() && slices.Contains([]string{".git", "node_modules", ".gradle", "src"}, e.Name()) {
			return fs.SkipDir
		}
		if !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), "TEST-") || filepath.Ext(p) != ".xml" {
			return nil
		}
		info, err := e.Info()
		gradle := strings.Contains(filepath.ToSlash(p), "/build/test-results/")
		if err != nil || info.ModTime().Before(since) && !gradle {
			return nil
		}
		size += info.Size()
		if b, err := os.ReadFile(p); err == nil && size <= mostBytes {
			ran, _, known := reported(string(b))
			n, found = n+ran, found || known
		}
		return nil
	})
	return n, found && err == nil
}

// smallFile is the text of a script or a recipe in dir; nil = it is none.
func smallFile(dir, name string) []byte {
	const most = 64 << 10
	if !strings.HasPrefix(name, dir+string(filepath.Separator)) {
		return nil
	}
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > most {
		return nil
	}
	b, err := os.ReadFile(name)
	if err != nil || slices.Contains(b, 0) {
		return nil
	}
	return b
}
