package weaken

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"git-ralph/internal/stable"
)

// File is one path of a change. Before or After is nil when the path does not
// exist on that side; an empty file is empty and not nil.
type File struct {
	Path          string // with slashes, relative to the worktree's root
	Before, After []byte
}

func (f File) added() bool   { return f.Before == nil }
func (f File) removed() bool { return f.After == nil }
func (f File) changed() bool {
	return (f.Before == nil) != (f.After == nil) || !bytes.Equal(f.Before, f.After)
}

// Input is a change and what it is judged by.
type Input struct {
	Files []File
	// Commands are the shell lines of the checks and criteria.
	Commands []string
	// Lookup reads a file of the checkpoint that may not be part of the change,
	// to follow scripts that call others; nil = only what Files hold. It must
	// give the same answer each time.
	Lookup func(path string) ([]byte, bool)
	// Paths are all paths of the checkpoint, if known. They tell whether a new
	// go.mod cuts off existing tests, and which files name a helper.
	Paths []string
}

// Rule names a kind of weakening.
type Rule string

// The rules; the package documentation says what each finds.
const (
	Removed    Rule = "removed"
	Skipped    Rule = "skipped"
	Assertions Rule = "assertions"
	Cases      Rule = "cases"
	Escape     Rule = "escape"
	Config     Rule = "config"
	OldTests   Rule = "old_tests"
)

// Finding is one way in which the tests became weaker.
type Finding struct {
	Rule   Rule   `json:"rule"`
	Path   string `json:"path"`
	Test   string `json:"test,omitempty"`
	Detail string `json:"detail"`
}

// String is one line for people: "removed test TestAdd (calc_test.go)".
func (f Finding) String() string {
	s := f.Detail
	if f.Path != "" && !strings.Contains(s, f.Path) {
		s += " (" + f.Path + ")"
	}
	return s
}

// Fate is what became of a test of the checkpoint.
type Fate string

// The fates. A kept test and its helpers have the same bodies, under any name
// and in any file. Helpers outside the change are the same anyway.
const (
	Kept    Fate = "kept"
	Altered Fate = "altered"
	Gone    Fate = "gone"
)

// OldTest is a test of the checkpoint in a file of the change.
type OldTest struct {
	Path, Name string
	Lang       string
	Fate       Fate
	// NewPath and NewName say where it is now; empty when Gone.
	NewPath, NewName string
	// Excused: the change removed what it exercised, so it cannot pass.
	Excused bool
}

// Report is everything that Judge found out.
type Report struct {
	Findings []Finding
	// Open are losses of assertions or rows in a change that altered code, too:
	// they reject unless the old tests, run on the new code, pass.
	Open []Finding
	// Notes are findings for a person to look at. They do not reject.
	Notes []Finding
	Old   []OldTest
	// Before and After count the tests in the files of the change, the rows of
	// tables as tests; those that were removed with what they exercise are left out.
	Before, After int
	// Excused counts those that are left out.
	Excused int
}

// Judge compares the two sides of a change. The findings are ordered by path.
func Judge(in Input) Report {
	j := &judge{in: in, excused: map[*unit]bool{}}
	for _, f := range in.Files {
		if !f.changed() {
			continue
		}
		if s := read(f.Path, f.Before); s != nil {
			j.before = append(j.before, s)
		}
		if s := read(f.Path, f.After); s != nil {
			j.after = append(j.after, s)
		}
	}
	wereTests := map[string]bool{}
	for _, s := range j.before {
		for _, u := range tests(s) {
			wereTests[u.file+"\x00"+u.name] = true
		}
	}
	for _, s := range j.after { // a test that is still one was not demoted: the other of its name is an overload
		for _, u := range tests(s) {
			delete(wereTests, u.file+"\x00"+u.name)
		}
	}
	j.oldHelp, j.newHelp = newHelpers(j.before, nil), newHelpers(j.after, wereTests)
	j.pairUp()
	j.compareTests()
	j.compareHelpers()
	j.compareAround()
	j.compareFiles()
	j.snapshots()
	j.fewer()
	j.configuration()

	rep := Report{Findings: inOrder(j.out), Open: inOrder(j.open), Notes: inOrder(j.notes), Old: j.fates(),
		Before: count(j.before, j.excused), After: count(j.after, nil)}
	rep.Excused = count(j.before, nil) - rep.Before
	return rep
}

func inOrder(all []Finding) []Finding {
	stable.Sort(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Test, b.Test), cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Detail, b.Detail))
	})
	return collapse(slices.Compact(all))
}

// count sums tests, the rows of tables as tests, but for those left out.
func count(sources []*source, but map[*unit]bool) int {
	n := 0
	for _, s := range sources {
		for i := range s.units {
			if u := &s.units[i]; u.test && !but[u] {
				n += max(1, u.rows)
			}
		}
	}
	return n
}

// collapse joins findings that say the same about many tests of one file: a
// skipped suite is one finding.
func collapse(all []Finding) []Finding {
	type key struct {
		rule Rule
		path string
		what string
	}
	groups := map[key][]int{}
	for i, f := range all {
		k := key{f.Rule, f.Path, strings.ReplaceAll(f.Detail, f.Test, "\x00")}
		groups[k] = append(groups[k], i)
	}
	var out []Finding
	for i, f := range all {
		k := key{f.Rule, f.Path, strings.ReplaceAll(f.Detail, f.Test, "\x00")}
		g := groups[k]
		if g[0] != i {
			continue
		}
		if f.Test != "" && len(g) > 2 {
			f.Detail += fmt.Sprintf(" and %d more", len(g)-1)
			out = append(out, f)
			continue
		}
		for _, n := range g {
			out = append(out, all[n])
		}
	}
	return out
}

// judge holds one comparison.
type judge struct {
	in               Input
	before, after    []*source
	oldHelp, newHelp *helpers
	pairs            map[*unit]*unit // old test → new test
	fresh            []*unit         // new tests without an old one
	out, notes, open []Finding
	gone             map[string]definition // names that the code of the change has lost; nil = not looked for
	goneFiles        map[string]bool       // names of removed source files, without their endings
	altered          map[string]bool       // languages whose code it altered
	changed          map[string]*changes   // by language, what it altered there
	heavier          int                   // 1 = the tests of the change assert as much as before, -1 = less
	excused          map[*unit]bool        // tests whose loss is only noted
}

func (j *judge) find(rule Rule, path, test, format string, args ...any) {
	j.out = append(j.out, Finding{Rule: rule, Path: path, Test: test, Detail: fmt.Sprintf(format, args...)})
}

// note records something for a person to look at, which does not reject.
func (j *judge) note(rule Rule, path, test, format string, args ...any) {
	j.notes = append(j.notes, Finding{Rule: rule, Path: path, Test: test, Detail: fmt.Sprintf(format, args...)})
}

// leaveOpen records a loss that the old tests are to decide about.
func (j *judge) leaveOpen(rule Rule, path, test, format string, args ...any) {
	j.open = append(j.open, Finding{Rule: rule, Path: path, Test: test, Detail: fmt.Sprintf(format, args...)})
}

func (j *judge) fates() []OldTest {
	var out []OldTest
	for _, s := range j.before {
		for i := range s.units {
			u := &s.units[i]
			if !u.test {
				continue
			}
			o := OldTest{Path: u.file, Name: u.name, Lang: u.lang, Fate: Gone, Excused: j.excused[u]}
			if n := j.pairs[u]; n != nil {
				o.NewPath, o.NewName, o.Fate = n.file, n.name, Altered
				if n.body == u.body && j.oldHelp.closure(u) == j.newHelp.closure(n) {
					o.Fate = Kept
				}
			}
			out = append(out, o)
		}
	}
	return out
}
