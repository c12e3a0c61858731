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
// define the same names. Rust's test modules are put back inside the new source
// file, when both sides have them in the same number.
func Overlay(files []File) []File {
	var out []File
	restored := false
	for _, f := range files {
		if !f.changed() {
			continue
		}
		switch {
		case IsTest(f.Path) || isSupport(f.Path):
			if f.added() {
				if IsTest(f.Path) {
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

// spliceRust puts the old test modules of a source file into the new one; nil
// when it cannot tell where.
func spliceRust(f File) []byte {
	lang := languageOf(f.Path)
	_, old := rustSource(f.Path, lex(f.Before, lang))
	_, now := rustSource(f.Path, lex(f.After, lang))
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
// when there is one, is a run of the same tests on the old code: what was red
// there is not held against the change.
//
// A test that ran and failed rejects if the change altered or removed it, or a
// helper that it calls. One that fails and is otherwise unchanged is the ordinary
// checks' affair. Tests that could not be built, or that failed because a name
// of the tested code is gone, count only together: when there are fewer tests
// than before, the change is rejected.
func JudgeOldTests(rep Report, old RunReport, base *RunReport) []Finding {
	var out []Finding
	red := map[string]bool{}
	if base != nil {
		for _, t := range base.Tests {
			if t.Outcome == Failed || t.Outcome == Unresolved {
				red[t.Unit+"\x00"+t.Name] = true
			}
		}
	}
	missing := len(old.NotBuilt) > 0 || !old.Known && old.Exit != 0
	for _, t := range old.Tests {
		if red[t.Unit+"\x00"+t.Name] {
			continue
		}
		switch t.Outcome {
		case Unresolved:
			missing = true
		case Failed:
			for _, o := range rep.Old {
				if o.Fate == Kept || !sameUnit(t.Unit, o.Path) || !sameTest(t.Name, o) {
					continue
				}
				word := "changed"
				if o.Fate == Gone {
					word = "removed"
				}
				out = append(out, Finding{Rule: OldTests, Path: o.Path, Test: o.Name,
					Detail: fmt.Sprintf("%s test %s fails as it was before", word, o.Name)})
				break
			}
		}
	}
	if missing && rep.After < rep.Before {
		where := strings.Join(slices.DeleteFunc(slices.Clone(old.NotBuilt), func(s string) bool { return s == "" }), ", ")
		if where == "" {
			where = "the old tests"
		}
		out = append(out, Finding{Rule: OldTests, Detail: fmt.Sprintf("%s no longer build, and there are fewer tests: %d to %d", where, rep.Before, rep.After)})
	}
	return dedupe(out)
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
