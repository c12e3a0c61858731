package weaken

import (
	"path"
	"strings"
)

// languageOf is the language of a file by its name; nil = not source that can
// hold tests.
func languageOf(file string) *language { return languages[strings.ToLower(path.Ext(path.Base(file)))] }

// IsSource reports whether a file of this name is source code.
func IsSource(file string) bool { return languageOf(file) != nil }

// segments of a path without the file name, in lower case.
func folders(file string) []string {
	dir := path.Dir(strings.ToLower(file))
	if dir == "." {
		return nil
	}
	return strings.Split(dir, "/")
}

func inFolder(file string, names ...string) bool {
	for _, f := range folders(file) {
		for _, n := range names {
			if f == n {
				return true
			}
		}
	}
	return false
}

// IsTest reports whether the runners of its language would collect tests from
// a file of this name. Source files with tests inside (Rust) are not meant.
func IsTest(file string) bool {
	lang := languageOf(file)
	if lang == nil {
		return false
	}
	base := path.Base(file)
	lower := strings.ToLower(base)
	stem := strings.TrimSuffix(base, path.Ext(base))
	lowerStem := strings.ToLower(stem)
	switch lang.name {
	case "go":
		if !strings.HasSuffix(base, "_test.go") || base[0] == '_' || base[0] == '.' {
			return false
		}
		for _, f := range strings.Split(path.Dir(file), "/") {
			if f == "testdata" || f == "vendor" || strings.HasPrefix(f, "_") || strings.HasPrefix(f, ".") && f != "." {
				return false // the go tool does not look there
			}
		}
		return true
	case "python":
		return strings.HasPrefix(base, "test_") || strings.HasSuffix(stem, "_test") || lower == "tests.py" ||
			lower == "test.py"
	case "js":
		if inFolder(file, "node_modules") {
			return false
		}
		for _, part := range strings.Split(lowerStem, ".")[1:] {
			if part == "test" || part == "spec" || part == "e2e" || part == "cy" {
				return true
			}
		}
		return lowerStem == "test" || strings.HasPrefix(lowerStem, "test-") || strings.HasPrefix(lowerStem, "test_") ||
			strings.HasSuffix(lowerStem, "-test") || strings.HasSuffix(lowerStem, "_test") ||
			strings.HasSuffix(lowerStem, "-spec") ||
			inFolder(file, "__tests__", "test", "tests", "spec", "specs", "e2e") && !supportName(lowerStem)
	case "rust":
		return inFolder(file, "tests")
	case "java":
		return inFolder(file, "test", "androidtest", "inttest", "integrationtest") ||
			strings.HasSuffix(stem, "Test") || strings.HasSuffix(stem, "Tests") || strings.HasPrefix(stem, "Test") ||
			strings.HasSuffix(stem, "IT") || strings.HasSuffix(stem, "Spec") || strings.HasSuffix(stem, "TestCase")
	}
	if strings.HasSuffix(lower, ".bats") || strings.HasSuffix(lower, ".t") {
		return true
	}
	for _, word := range splitWords(stem) {
		if word == "test" || word == "tests" || word == "spec" || word == "unittest" {
			return true
		}
	}
	return inFolder(file, "test", "tests", "spec", "__tests__") && !supportName(lowerStem)
}

// supportName are files in test folders that help tests and hold none.
func supportName(stem string) bool {
	for _, w := range splitWords(stem) {
		switch w {
		case "helper", "helpers", "util", "utils", "fixture", "fixtures", "mock", "mocks", "setup", "support", "conftest",
			"factories", "factory":
			return true
		}
	}
	return false
}

// isSupport reports whether a file holds what tests lean on: helpers, data,
// recorded output.
func isSupport(file string) bool {
	lower := strings.ToLower(file)
	if path.Base(lower) == "conftest.py" {
		return true
	}
	if inFolder(file, "testdata", "__snapshots__", "snapshots", "__fixtures__", "__mocks__", "test", "tests", "spec",
		"__tests__", "golden", "testutil", "testutils", "testing", "testhelpers", "test_helpers", "test_utils") {
		return true
	}
	stem := strings.TrimSuffix(path.Base(lower), path.Ext(lower))
	words := splitWords(stem)
	for i, w := range words {
		if (w == "test" || w == "testing") && i+1 < len(words) && supportName(words[i+1]) {
			return true
		}
	}
	return supportStems.has(stem)
}

var supportStems = set("testutil testutils testhelper testhelpers testing")

// splitWords cuts a name at separators and at humps, in lower case.
func splitWords(name string) []string {
	var words []string
	start := 0
	cut := func(end int) {
		if end > start {
			words = append(words, strings.ToLower(name[start:end]))
		}
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c == '_' || c == '-' || c == '.' || c == ' ':
			cut(i)
			start = i + 1
		case c >= 'A' && c <= 'Z' && i > start && !(name[i-1] >= 'A' && name[i-1] <= 'Z'):
			cut(i)
			start = i
		}
	}
	cut(len(name))
	return words
}
