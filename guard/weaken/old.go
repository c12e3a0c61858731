package weaken

import (
	"bytes"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Overlay says how to bring the checkpoint's tests over the new tree, so that
// they can be run against the new code. In each file that it returns, After is
// what to write and nil means to delete; Before is what the new tree holds. It is
// nil when no test, and nothing that tests lean on, was changed or removed: then the
// ordinary run has run the checkpoint's tests already.
//
// Changed and removed test files and what lies beside them (test data, helpers,
// snapshots) get their old contents. New test files go, because they may
// define the same names, and new files that a runner loads by itself. Rust's test
// modules are put back inside the new source file, when both sides have them in
// the same number.
// Helpers and fixtures that lie outside of test folders are put back too, when no
// file but tests names them.
func (in Input) Overlay() []File {
	var out []File
	restored := false
	for _, f := range in.Files {
		if !f.changed() {
			continue
		}
		switch {
		case IsTest(f.Path) || isSupport(f.Path) || in.servesTests(f):
			if f.added() {
				if IsTest(f.Path) || loadedBeforeTests(f.Path) {
					restored = restored || loadedBeforeTests(f.Path)
					out = append(out, File{Path: f.Path, Before: f.After})
				}
				continue
			}
			restored = true
			out = append(out, File{Path: f.Path, Before: f.After, After: f.Before})
		case path.Ext(f.Path) == ".rs" && !f.added() && !f.removed():
			if spliced := spliceRust(f); spliced != nil && !bytes.Equal(spliced, f.After) {
				restored = true
				out = append(out, File{Path: f.Path, Before: f.After, After: spliced})
			}
		}
	}
	if !restored {
		return nil
	}
	return out
}

// loadedBeforeTests are files that runners load without being told to.
func loadedBeforeTests(file string) bool {
	switch path.Base(file) {
	case "conftest.py":
		return true
	case "__init__.py":
		return inFolder(file, "test", "tests")
	}
	return false
}

// servesTests reports whether a changed file outside of test folders is named
// like a helper or a fixture and mentioned by tests alone. A file that no test
// mentions, or that other code mentions too, is the project's own.
func (in Input) servesTests(f File) bool {
	base := path.Base(f.Path)
	stem := strings.TrimSuffix(base, path.Ext(base))
	if f.added() || in.Lookup == nil || len(stem) < 3 || !supportName(strings.ToLower(stem)) && !fixtureName(f.Path) {
		return false
	}
	word := base
	lang := languageOf(f.Path)
	if lang != nil {
		word = stem
	}
	changed := map[string][]byte{}
	for _, c := range in.Files {
		changed[c.Path] = c.Before
	}
	// The limits keep a huge project from being read whole. Files beyond them
	// count as unknown, and the file stays as it is.
	const maxFiles, maxBytes = 3000, 32 << 20
	named, files, size := false, 0, 0
	for _, p := range in.Paths {
		if l := languageOf(p); p == f.Path || l == nil || lang != nil && l.name != lang.name {
			continue // code is named by code of its own language, data by any
		}
		content, ok := changed[p]
		if !ok {
			content, _ = in.Lookup(p)
		}
		if files, size = files+1, size+len(content); files > maxFiles || size > maxBytes {
			return false
		}
		if !bytes.Contains(content, []byte(word)) {
			continue
		}
		if !IsTest(p) && !isSupport(p) && !checkNamed(p) {
			return false
		}
		named = true
	}
	return named
}

// fixtureName are files of data that tests compare with.
func fixtureName(file string) bool {
	lower := strings.ToLower(path.Base(file))
	for _, w := range splitWords(lower) {
		switch w {
		case "golden", "expected", "fixture", "fixtures", "snapshot", "sample", "samples", "want", "wanted", "expect",
			"expects", "approved", "baseline", "reference", "oracle", "answer", "answers", "truth", "cases", "vectors":
			return true
		}
	}
	return inFolder(file, "fixture", "fixtures", "goldens", "samples")
}

// spliceRust puts the old test modules of a source file into the new one; nil
// when it cannot tell where.
func spliceRust(f File) []byte {
	lang := languageOf(f.Path)
	old := rustSpans(f.Path, lex(f.Before, lang))
	now := rustSpans(f.Path, lex(f.After, lang))
	if len(old.modules) == 0 {
		return nil
	}
	if len(now.modules) == 0 && old.outermost {
		out := bytes.TrimRight(bytes.Clone(f.After), "\n")
		out = append(out, '\n')
		for _, m := range old.modules {
			out = append(append(append(out, '\n'), f.Before[m[0]:m[1]]...), '\n')
		}
		return out
	}
	if len(now.modules) != len(old.modules) {
		return nil
	}
	var out []byte
	pos := 0
	for i, m := range now.modules {
		out = append(out, f.After[pos:m[0]]...)
		out = append(out, f.Before[old.modules[i][0]:old.modules[i][1]]...)
		pos = m[1]
	}
	return append(out, f.After[pos:]...)
}

// JudgeOldTests weighs a run of the checkpoint's tests on the new code. rep is
// Judge's report of the same change; old is the run with Overlay applied; base,
// when there is one, is a run to compare with, of the same commands in the same
// surroundings: the change with its own tests. What is red there is not held
// against the change.
//
// A test that ran and failed rejects if the change altered or removed it, or a
// helper that it calls. With base, any other test that failed rejects too: it
// passes only with what the change did around it (set-up functions, fixtures,
// mocks, hooks); without base one that is unchanged is the ordinary checks'
// affair. Tests that could not be built, or that failed because a name of the
// tested code is gone, count only together: when there are fewer tests than
// before, the change is rejected.
func JudgeOldTests(rep Report, old RunReport, base *RunReport) []Finding {
	var out []Finding
	red := map[string]bool{}
	missing := len(old.NotBuilt) > 0 || !old.Known && old.Exit != 0
	if base != nil {
		for _, t := range base.Tests {
			if t.Outcome == Failed || t.Outcome == Unresolved {
				red[t.Unit+"\x00"+t.Name] = true
			}
		}
		missing = missing && len(base.NotBuilt) == 0 && (base.Known || base.Exit == 0)
	}
	for _, t := range old.Tests {
		if red[t.Unit+"\x00"+t.Name] {
			continue
		}
		switch t.Outcome {
		case Unresolved:
			missing = true
		case Failed:
			if f, ok := rep.judgeFailed(t, base != nil); ok {
				out = append(out, f)
			}
		}
	}
	if missing && rep.After < rep.Before {
		where := strings.Join(slices.DeleteFunc(slices.Clone(old.NotBuilt), func(s string) bool { return s == "" }), ", ")
		if where == "" {
			where = "the old tests"
		}
		out = append(out, Finding{Rule: OldTests,
			Detail: fmt.Sprintf("%s no longer build, and there are fewer tests: %d to %d", where, rep.Before, rep.After)})
	}
	return dedupe(out)
}

// Held reports whether the old tests were run on the new code, by a runner that
// is known, and passed where a finding says that something was lost: nothing was
// hidden by it.
func Held(f Finding, old []RunReport) bool {
	ran := false
	for _, r := range old {
		if !r.Known || len(r.NotBuilt) > 0 {
			if r.Exit != 0 {
				return false
			}
			continue
		}
		for _, t := range r.Tests {
			if (t.Outcome == Failed || t.Outcome == Unresolved) && sameUnit(t.Unit, f.Path) {
				return false
			}
		}
		ran = true
	}
	return ran
}

// HasTest reports whether a file holds a test of a name; without a name, any test.
func HasTest(path string, content []byte, name string) bool {
	s := read(path, content)
	return s != nil && slices.ContainsFunc(tests(s), func(u *unit) bool { return name == "" || u.name == name })
}

// judgeFailed finds the old test that a failure means. around says that the
// change around the test caused the failure.
func (r Report) judgeFailed(t TestResult, around bool) (Finding, bool) {
	for _, o := range r.Old {
		if !sameUnit(t.Unit, o.Path) || !sameTest(t.Name, o) || o.Fate == Kept && !around {
			continue
		}
		if o.Excused {
			return Finding{}, false
		}
		word := "fails as it was before"
		switch o.Fate {
		case Kept:
			detail := fmt.Sprintf("test %s fails with the test files as they were before", o.Name)
			return Finding{OldTests, o.Path, o.Name, detail}, true
		case Gone:
			return Finding{OldTests, o.Path, o.Name, fmt.Sprintf("removed test %s %s", o.Name, word)}, true
		}
		return Finding{OldTests, o.Path, o.Name, fmt.Sprintf("changed test %s %s", o.Name, word)}, true
	}
	if !around {
		return Finding{}, false
	}
	file := ""
	if languageOf(t.Unit) != nil {
		file = t.Unit
	}
	who := "test " + t.Name
	if t.Name == "(file)" {
		who = "the test script"
	}
	return Finding{OldTests, file, t.Name, who + " passes only with what the change did to test files"}, true
}

func dedupe(all []Finding) []Finding {
	var out []Finding
	for _, f := range all {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// placeholder are the parts of a test's title that a runner fills in.
const placeholder = `%[a-zA-Z#$%]|\$\{[^}]*\}|\$\w+`

// sameTest reports whether a name that a runner printed means a test of the
// checkpoint: the same name, with module paths in front or subtests behind, and
// with the placeholders of a title filled in.
func sameTest(printed string, o OldTest) bool {
	name := o.Name
	if name == "(file)" {
		return true
	}
	switch o.Lang {
	case "go":
		top, _, _ := strings.Cut(printed, "/")
		if top == name || printed == name {
			return true
		}
		// A method of a suite is a subtest of the function that runs it.
		_, method, ok := strings.Cut(name, ".")
		return ok && (strings.HasSuffix(printed, "/"+method) || strings.Contains(printed, "/"+method+"/"))
	case "rust":
		printed, _, _ = strings.Cut(printed, "::case_") // rstest
		return printed == name || strings.HasSuffix(printed, "::"+name) || strings.HasSuffix(name, "::"+printed)
	case "js":
		if printed == name {
			return true
		}
		holes := regexp.MustCompile(placeholder)
		if !holes.MatchString(name) {
			return false
		}
		var b strings.Builder
		b.WriteByte('^')
		rest := name
		for {
			at := holes.FindStringIndex(rest)
			if at == nil {
				break
			}
			b.WriteString(regexp.QuoteMeta(rest[:at[0]]) + ".*")
			rest = rest[at[1]:]
		}
		b.WriteString(regexp.QuoteMeta(rest) + "$")
		re, err := regexp.Compile(b.String())
		return err == nil && re.MatchString(printed)
	}
	return printed == name || strings.HasSuffix(printed, "."+name) || strings.HasSuffix(name, "."+printed)
}
