package weaken

import (
	"slices"
	"strings"

	"git-ralph/internal/text/lazyregexp"
)

// jsMarks are the signs that reporters put in front of a test.
var jsTimed = lazyregexp.New(`\s+\(?\d+(\.\d+)?\s?m?s\)?$`)

func jsTitle(s string) string { return jsTimed().ReplaceAllString(strings.TrimSpace(s), "") }

// suiteFile is the file behind PASS or FAIL of Jest, or "".
func suiteFile(line string) string {
	f := strings.Fields(line)
	if len(f) < 2 || f[0] != "FAIL" && f[0] != "PASS" {
		return ""
	}
	name := f[1]
	if !strings.Contains(name, ".") || strings.HasPrefix(line, "FAIL\t") || strings.Contains(line, " > ") {
		return ""
	}
	if languageOf(name) == nil || languageOf(name).name != "js" {
		return ""
	}
	return strings.TrimPrefix(name, "./")
}

// jest reads the sections that begin with ● and the marks of --verbose.
func (p *runParser) jest(lines []string) {
	file, failed := "", ""
	var suites []string // open suites of --verbose, one an indentation
	isJest := false
	for _, l := range lines {
		isJest = isJest || strings.HasPrefix(l, "Test Suites: ")
	}
	if !isJest {
		return
	}
	p.report.Known = true
	for _, l := range lines {
		t := strings.TrimSpace(l)
		if f := suiteFile(strings.TrimLeft(l, " ")); f != "" {
			file, failed, suites = f, "", nil
			continue
		}
		if rest, ok := strings.CutPrefix(t, "● "); ok {
			failed = ""
			if rest == "Test suite failed to run" {
				p.broken(file)
				continue
			}
			if strings.HasPrefix(rest, "Console") || strings.HasPrefix(rest, "Validation") {
				continue
			}
			failed = strings.ReplaceAll(rest, " › ", "/")
			p.add(file, failed, Failed)
			continue
		}
		if failed != "" && unresolved().MatchString(t) {
			p.unresolve(file, failed)
		}
		if failed == "" && file != "" {
			indent := (len(l) - len(strings.TrimLeft(l, " "))) / 2
			switch {
			case strings.HasPrefix(t, "✓ "), strings.HasPrefix(t, "√ "):
				p.add(file, inSuites(suites, indent, jsTitle(t[strings.IndexByte(t, ' '):])), Passed)
			case strings.HasPrefix(t, "○ skipped "):
				p.add(file, inSuites(suites, indent, jsTitle(strings.TrimPrefix(t, "○ skipped "))), NotRun)
			case strings.HasPrefix(t, "✕ "), strings.HasPrefix(t, "× "):
				// told again, with its message, behind ●
			case t != "" && indent >= 1:
				suites = append(suites[:min(len(suites), indent-1)], t)
			}
		}
	}
}

// inSuites is a title behind the suites that are open at its indentation.
func inSuites(suites []string, indent int, title string) string {
	open := suites[:min(len(suites), max(0, indent-1))]
	return strings.Join(append(append([]string{}, open...), title), "/")
}

// vitest reads the FAIL lines and the marks of the verbose reporter.
func (p *runParser) vitest(lines []string) {
	file, failed := "", ""
	for _, l := range lines {
		t := strings.TrimSpace(l)
		if rest, ok := strings.CutPrefix(t, "FAIL "); ok && strings.HasPrefix(l, " FAIL ") {
			rest = strings.TrimSpace(rest)
			if f, name, ok := strings.Cut(rest, " > "); ok {
				file, failed = f, strings.ReplaceAll(name, " > ", "/")
				p.add(file, failed, Failed)
			} else if f, _, ok := strings.Cut(rest, " [ "); ok {
				file, failed = f, ""
				p.broken(strings.TrimSpace(f))
			}
			continue
		}
		if failed != "" && unresolved().MatchString(t) {
			p.unresolve(file, failed)
		}
		if strings.HasPrefix(t, "⎯") {
			failed = ""
		}
		for mark, o := range map[string]Outcome{"✓ ": Passed, "↓ ": NotRun} {
			if rest, ok := strings.CutPrefix(t, mark); ok {
				if f, name, ok := strings.Cut(rest, " > "); ok && languageOf(f) != nil {
					p.add(f, strings.ReplaceAll(jsTitle(name), " > ", "/"), o)
				}
			}
		}
	}
}

// mochaNumber is the line `  1) suite` of the list of failures.
var mochaNumber = lazyregexp.New(`^  \d+\) (.+)$`)

// mocha reads the numbered failures behind the counts, and the marks before them.
func (p *runParser) mocha(lines []string) {
	counts := -1
	for i, l := range lines {
		t := strings.TrimSpace(l)
		if strings.HasSuffix(strings.Split(t, " (")[0], " passing") && counts < 0 {
			counts = i
		}
	}
	if counts < 0 {
		return
	}
	p.report.Known = true
	var suites []string
	for _, l := range lines[:counts] {
		t := strings.TrimSpace(l)
		indent := (len(l) - len(strings.TrimLeft(l, " "))) / 2
		switch {
		case t == "":
		case strings.HasPrefix(t, "✔ "), strings.HasPrefix(t, "✓ "):
			p.add("", inSuites(suites, indent, jsTitle(t[strings.IndexByte(t, ' '):])), Passed)
		case strings.HasPrefix(t, "- ") && indent >= 1:
			p.add("", inSuites(suites, indent, jsTitle(t[2:])), NotRun)
		case indent >= 1 && !mochaRunning(t):
			suites = append(suites[:min(len(suites), indent-1)], t)
		}
	}
	var title []string
	for _, l := range lines[counts:] {
		t := strings.TrimSpace(l)
		if m := mochaNumber().FindStringSubmatch(l); m != nil {
			title = []string{strings.TrimSuffix(m[1], ":")}
			if strings.HasSuffix(m[1], ":") {
				p.add("", title[0], Failed)
			}
			continue
		}
		if len(title) > 0 && strings.HasPrefix(l, "      ") && !strings.HasSuffix(title[len(title)-1], "\x00") && t != "" {
			title = append(title, strings.TrimSuffix(t, ":"))
			if strings.HasSuffix(t, ":") {
				p.add("", strings.Join(title, "/"), Failed)
				title = append(title, "\x00")
			}
			continue
		}
		if n := len(title); n > 0 && title[n-1] == "\x00" && unresolved().MatchString(t) {
			p.unresolve("", strings.Join(title[:n-1], "/"))
		}
	}
}

// mochaRunning is the place of a failure among the marks: `1) adds`.
func mochaRunning(t string) bool {
	n, _, ok := strings.Cut(t, ") ")
	return ok && isDigits(n)
}

// nodeSpec reads the tree that node --test prints on a terminal.
func (p *runParser) nodeSpec(lines []string) {
	isNode := false
	for _, l := range lines {
		isNode = isNode || strings.HasPrefix(l, "ℹ tests ")
	}
	if !isNode {
		return
	}
	p.report.Known = true
	var suites []string
	failed := ""
	for i, l := range lines {
		t := strings.TrimSpace(l)
		indent := (len(l) - len(strings.TrimLeft(l, " "))) / 2
		if strings.HasPrefix(t, "✖ failing tests") {
			return // the same again
		}
		mark, rest, _ := strings.Cut(t, " ")
		rest, _, _ = strings.Cut(rest, " # ")
		rest = jsTitle(rest)
		name := strings.Join(append(append([]string{}, suites[:min(len(suites), indent)]...), rest), "/")
		switch mark {
		case "▶":
			suites = append(suites[:min(len(suites), indent)], rest)
			failed = ""
		case "✔":
			p.add("", name, Passed)
			failed = ""
		case "﹣":
			p.add("", name, NotRun)
		case "✖":
			failed = ""
			if languageOf(rest) != nil && strings.Contains(rest, "/") {
				p.brokenFile(rest, lines[:i])
				continue
			}
			if len(suites) > indent && suites[indent] == rest {
				continue // the end of a suite, not a test
			}
			p.add("", name, Failed)
			failed = name
		default:
			if failed != "" && unresolved().MatchString(t) {
				p.unresolve("", failed)
			}
		}
	}
}

// brokenFile records a file that failed as a whole: not built when a name was
// missing, failed when it ran and said so.
func (p *runParser) brokenFile(file string, before []string) {
	for _, l := range before[max(0, len(before)-30):] {
		if unresolved().MatchString(l) || strings.Contains(l, "MODULE_NOT_FOUND") || strings.Contains(l, "SyntaxError") {
			p.broken(file)
			return
		}
	}
	p.add(file, "(file)", Failed)
}

// tapLine is `not ok 2 - adds negative # SKIP`.
var tapLine = lazyregexp.New(`^( *)(not )?ok \d+( - (.*?))?( # (SKIP|TODO|skip|todo).*)?$`)

// tapPlan is how many tests are planned: `1..3`.
var tapPlan = lazyregexp.New(`^1\.\.\d+( |$)`)

// tap reads the Test Anything Protocol with node's subtests. A parent comes
// behind its children.
func (p *runParser) tap(lines []string) {
	start := slices.IndexFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "TAP version ") || tapPlan().MatchString(l)
	})
	if start < 0 {
		return
	}
	p.report.Known = true
	lines = lines[start:] // npm and make print the command first
	var suites []string
	failed := ""
	parent := map[string]bool{}
	for i, l := range lines {
		indent := (len(l) - len(strings.TrimLeft(l, " "))) / 4
		if rest, ok := strings.CutPrefix(strings.TrimSpace(l), "# Subtest: "); ok {
			suites = append(suites[:min(len(suites), indent)], rest)
			for k := 1; k < len(suites); k++ {
				parent[strings.Join(suites[:k], "/")] = true
			}
			continue
		}
		m := tapLine().FindStringSubmatch(l)
		if m == nil {
			if failed != "" && (unresolved().MatchString(l) || strings.Contains(l, "is not a function")) {
				p.unresolve("", failed)
			}
			continue
		}
		failed = ""
		title := m[4]
		name := strings.Join(append(append([]string{}, suites[:min(len(suites), indent)]...), title), "/")
		switch {
		case languageOf(title) != nil && strings.Contains(title, "/") && m[2] != "":
			p.brokenFile(title, lines[:i])
		case parent[name]:
		case m[5] != "":
			p.add("", name, NotRun)
		case m[2] != "":
			p.add("", name, Failed)
			failed = name
		default:
			p.add("", name, Passed)
		}
	}
}
