package weaken

import (
	"regexp"
	"slices"
	"strings"
)

// weakening makes a test weaker by editing text, without the parsers that it
// measures.
type weakening struct {
	lang, kind string
	sites      func(src string) []string
}

var weakenings = []weakening{
	{"go", "assertion deleted", dropLine(`^\s+(assert|require)\.\w+\(.*\)$`)},
	{"go", "assertion deleted", dropBlock(`^\s+if .*\{$`, `^\s+\w+\.(Error|Fatal)f?\(`)},
	{"go", "skipped", insertAfter(goTestHead, "\tt.Skip(\"later\")")},
	{"go", "constant return", insertAfter(goTestHead, "\tif true {\n\t\treturn\n\t}")},
	{"go", "constant return", insertAfter(goTestHead, "\tif 1 < 2 {\n\t\treturn\n\t}")},
	{"go", "test removed", dropFrom(goTestHead, `^\}`)},
	{"go", "row removed", dropLine(`^\t\t+\{.+\},$`)},
	{"go", "row doubled", doubleLine(`^\t\t+\{.+\},$`)},
	{"go", "weaker", replaceIn(`^(\s+(?:assert|require))\.Equal\(t, (.+), ([^,]+)\)$`, `$1.NotNil(t, $3)`)},
	{"python", "assertion deleted", replaceIn(`^(\s+)(assert [^\\(\[{]+|self\.assert\w+\(.*\))$`, `${1}pass`)},
	{"python", "skipped", insertBefore(pyTestHead, "@pytest.mark.skip")},
	{"python", "skipped", insertAfter(pyTestHead+`:$`, "    pytest.skip('later')")},
	{"python", "constant return", insertAfter(pyTestHead+`:$`, "    if True:\n        return")},
	{"python", "constant return", insertAfter(pyTestHead+`:$`, "    if not 0: return")},
	{"python", "test removed", dropIndented(pyTestHead)},
	{"python", "row removed", dropLine(`^        \(.+\),$`)},
	{"python", "row doubled", doubleLine(`^        \(.+\),$`)},
	{"python", "weaker", replaceIn(`^(\s+assert [^=<>!]+) == [^\\(\[{]+$`, `$1`)},
	{"python", "weaker", replaceIn(`^(\s+with pytest\.raises\()[A-Z][\w.]+\b(.*)$`, `${1}Exception$2`)},
	{"python", "weaker", replaceIn(`^(\s+)self\.assertEqual\((.+), ([^,]+)\)$`, `${1}self.assertIsNotNone($2)`)},
	{"js", "assertion deleted", dropLine(`^\s+(expect|assert|t)[.(].*\);?$`)},
	{"js", "skipped", replaceIn(`^(\s*)(it|test)\((['"].*=> \{|['"].*function ?\(.*\{)$`, `$1$2.skip($3`)},
	{"js", "constant return", insertAfter(jsTestHead, "if (true) return;")},
	{"js", "constant return", insertAfter(jsTestHead, "if (1) {\n  return;\n}")},
	{"js", "test removed", dropFrom(jsTestHead, `^\}\);?`)},
	{"js", "row doubled", doubleLine(`^\s+\[.+\],$`)},
	{"js", "weaker", replaceIn(`^(\s+expect\(.*\))\.(toBe|toEqual)\(.+\);?$`, `$1.toBeDefined();`)},
	{"js", "weaker", replaceIn(`^(\s+)assert\.(?:strictEqual|equal)\((.*), [^,]+\);?$`, `${1}assert.ok($2);`)},
	{"js", "snapshot emptied", replaceIn(`\.toMatchInlineSnapshot\(.+\);?$`, `.toMatchInlineSnapshot();`)},
	{"rust", "assertion deleted", dropLine(`^\s+assert(_eq|_ne)?!\(.*\);$`)},
	{"rust", "skipped", insertAfter(`^\s*#\[test\]$`, "#[ignore]")},
	{"rust", "constant return", insertAfterNext(`^\s*#\[test\]$`, `^\s*fn .*\{$`, "if true { return; }")},
	{"rust", "constant return", insertAfterNext(`^\s*#\[test\]$`, `^\s*fn .*\{$`, "if 1 == 1 {\n    return;\n}")},
	{"rust", "test removed", dropLine(`^\s*#\[test\]$`)},
	{"rust", "test removed", dropFrom(`^\w*test\w*!\(\w+, .*\{$`, `^\}\);`)},
	{"rust", "weaker", replaceIn(`^(\s+)assert_eq!\((.+), ([^,]+)\);$`, `${1}assert!(!format!("{:?}", $2).is_empty());`)},
	{"java", "assertion deleted", dropLine(`^\s+assert\w*\(.*\);$`)},
	{"java", "skipped", insertBefore(`^\s*@Test$`, "    @Disabled")},
	{"java", "constant return", insertAfterNext(`^\s*@Test$`, `^\s+.*void .*\{$`, "if (true) return;")},
	{"java", "constant return", insertAfterNext(`^\s*@Test$`, `^\s+.*void .*\{$`, "if (1 == 1) {\n    return;\n}")},
	{"java", "test removed", dropLine(`^\s*@Test$`)},
	{"java", "test removed", dropFrom(`^    @Test\b.*$`, `^\}`)},
	{"java", "weaker", replaceIn(`^(\s+)assertEquals\((.+), ([^,]+)\);$`, `${1}assertNotNull($3);`)},
}

const (
	goTestHead = `^func Test\w*\(t \*testing\.T\) \{$`
	pyTestHead = `^    def test_\w+\(.*\)|^def test_\w+\(.*\)`
	jsTestHead = `^\s*(it|test)\(['"].*(=>|function ?\(.*\)) \{$`
)

func dropLine(pattern string) func(string) []string {
	re := regexp.MustCompile(pattern)
	return func(src string) []string {
		return editLines(src, func(l []string, i int) ([]string, bool) {
			return slices.Delete(slices.Clone(l), i, i+1), re.MatchString(l[i])
		})
	}
}

// dropBlock removes three lines: a condition, a failure and the closing brace.
func dropBlock(first, second string) func(string) []string {
	one, two := regexp.MustCompile(first), regexp.MustCompile(second)
	return func(src string) []string {
		return editLines(src, func(l []string, i int) ([]string, bool) {
			if i+2 >= len(l) || !one.MatchString(l[i]) || !two.MatchString(l[i+1]) || strings.TrimSpace(l[i+2]) != "}" {
				return nil, false
			}
			return slices.Delete(slices.Clone(l), i, i+3), true
		})
	}
}

// doubleLine replaces a row by the one above it.
func doubleLine(pattern string) func(string) []string {
	re := regexp.MustCompile(pattern)
	return func(src string) []string {
		return editLines(src, func(l []string, i int) ([]string, bool) {
			if i == 0 || !re.MatchString(l[i]) || !re.MatchString(l[i-1]) {
				return nil, false
			}
			out := slices.Clone(l)
			out[i] = out[i-1]
			return out, true
		})
	}
}

func insertAfter(pattern, text string) func(string) []string { return insert(pattern, text, 1) }

func insertBefore(pattern, text string) func(string) []string { return insert(pattern, text, 0) }

// insert puts text before or after a line, with the line's indentation.
func insert(pattern, text string, at int) func(string) []string {
	re := regexp.MustCompile(pattern)
	return func(src string) []string {
		return editLines(src, func(l []string, i int) ([]string, bool) {
			if !re.MatchString(l[i]) {
				return nil, false
			}
			indent := l[i][:len(l[i])-len(strings.TrimLeft(l[i], " \t"))]
			return slices.Insert(slices.Clone(l), i+at, indent+strings.ReplaceAll(text, "\n", "\n"+indent)), true
		})
	}
}

// insertAfterNext puts text after two adjacent lines that match the two patterns.
func insertAfterNext(first, second, text string) func(string) []string {
	one, two := regexp.MustCompile(first), regexp.MustCompile(second)
	return func(src string) []string {
		return editLines(src, func(l []string, i int) ([]string, bool) {
			if !one.MatchString(l[i]) || i+1 >= len(l) || !two.MatchString(l[i+1]) {
				return nil, false
			}
			return slices.Insert(slices.Clone(l), i+2, text), true
		})
	}
}

func replaceIn(pattern, with string) func(string) []string {
	re := regexp.MustCompile(pattern)
	return func(src string) []string {
		return editLines(src, func(l []string, i int) ([]string, bool) {
			if !re.MatchString(l[i]) {
				return nil, false
			}
			out := slices.Clone(l)
			out[i] = re.ReplaceAllString(l[i], with)
			return out, true
		})
	}
}

// dropFrom removes from a line to the next one with its indentation and the second
// pattern behind it.
func dropFrom(first, last string) func(string) []string {
	one, two := regexp.MustCompile(first), regexp.MustCompile(last)
	return func(src string) []string {
		return editLines(src, func(l []string, i int) ([]string, bool) {
			if !one.MatchString(l[i]) {
				return nil, false
			}
			indent := l[i][:len(l[i])-len(strings.TrimLeft(l[i], " \t"))]
			for k := i + 1; k < len(l); k++ {
				if rest, ok := strings.CutPrefix(l[k], indent); ok && two.MatchString(rest) {
					return slices.Delete(slices.Clone(l), i, k+1), true
				}
			}
			return nil, false
		})
	}
}

// dropIndented removes a line and the more indented ones below it.
func dropIndented(pattern string) func(string) []string {
	re := regexp.MustCompile(pattern)
	return func(src string) []string {
		return editLines(src, func(l []string, i int) ([]string, bool) {
			if !re.MatchString(l[i]) || !strings.HasSuffix(l[i], ":") {
				return nil, false
			}
			indent := len(l[i]) - len(strings.TrimLeft(l[i], " "))
			k, first := i+1, i
			for first > 0 && (strings.HasPrefix(strings.TrimSpace(l[first-1]), "@") || strings.TrimSpace(l[first-1]) == ")" ||
				strings.HasPrefix(l[first-1], strings.Repeat(" ", indent+4))) {
				first-- // its decorators go with it
				if strings.HasPrefix(strings.TrimSpace(l[first]), "@") && !strings.HasPrefix(strings.TrimSpace(l[first-1]), "@") {
					break
				}
			}
			if !strings.HasPrefix(strings.TrimSpace(l[first]), "@") {
				first = i
			}
			for k < len(l) && (strings.TrimSpace(l[k]) == "" || len(l[k])-len(strings.TrimLeft(l[k], " ")) > indent) {
				k++
			}
			return slices.Delete(slices.Clone(l), first, k), true
		})
	}
}
