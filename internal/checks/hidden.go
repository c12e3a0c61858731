package checks

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"git-ralph/internal/proc"
)

// A command that proves a task may hide what its runner says: `go test -run X
// >/dev/null`, a script that swallows it. When it succeeds in silence and leads to a
// runner of tests, it is run once more with a wrapper in front of each runner that PATH
// finds, which copies what the runner prints. That run can only make it red: when all
// that the runners say is that no test ran.

// recountScript makes the wrappers in a folder of its own and runs its arguments. At the
// end it prints what the runners printed. It is run by the shell in the same surroundings as the
// command, so that it needs nothing that the sandbox does not let in.
//
//go:embed recount.sh
var recountScript string

// recountShell is where scripts of POSIX run; Windows has none.
const recountShell = "/bin/sh"

// recount runs a silent command again and reports whether its runners ran no test.
// What cannot be told is no.
func (r *Runner) recount(ctx context.Context, c Check, took, limit time.Duration) (nothing bool, err error) {
	if _, err := os.Stat(recountShell); err != nil || !leadsToRunner(r.Dir, c.Run) {
		return false, nil
	}
	line := nullOutput().ReplaceAllString(c.Run, "")
	argv := append([]string{recountShell, "-c", recountScript, "recount"}, shellCommand(r.Shell, line).Argv...)
	// Compilers have filled their caches now: it does not take much longer than it did.
	res, err := r.execute(ctx, c, proc.Command{Argv: argv}, min(limit, 2*took+30*time.Second))
	if err != nil || !res.Passed || res.OutputBytes > int64(len(res.Output)) {
		return false, err
	}
	_, said, _ := strings.Cut(outputText(res.Output), recountMark)
	return RanNothing(Criterion, c.Run, said), nil
}

// recountMark stands in front of what the runners printed.
const recountMark = "\n-- what the runners of tests printed --\n"

// nullOutput is a redirection that throws output away.
var nullOutput = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[0-9&]?>{1,2}\|?[ \t]*["']?/dev/null["']?`)
})

// severalUses are programs of the table of runners that do other things as well.
var severalUses = strings.Fields("node ruby npm pnpm yarn make just rake sbt mvn mvnw gradle gradlew php")

// recipes are the files in which programs find what they are to do.
var recipes = map[string][]string{
	"make": {"Makefile", "makefile", "GNUmakefile"}, "gmake": {"Makefile", "makefile", "GNUmakefile"},
	"just": {"justfile", "Justfile"}, "rake": {"Rakefile"}, "npm": {"package.json"}, "pnpm": {"package.json"},
	"yarn": {"package.json"}, "bun": {"package.json"}, "tox": {"tox.ini"},
}

// leadsToRunner reports whether a line, or a file that it names, and so on, names a
// runner of tests. It looks at words alone: a run too many costs time and decides nothing.
func leadsToRunner(dir, line string) bool {
	seen := map[string]bool{}
	texts := []string{line}
	for len(texts) > 0 && len(seen) < 16 {
		text := texts[0]
		texts = texts[1:]
		for _, part := range separators.Split(text, -1) {
			words := strings.Fields(notWords.Replace(part))
			if namesRunner(words) {
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
