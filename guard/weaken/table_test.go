package weaken

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// row is a change of one or several files, and the rules that Judge must find in
// it, without repetitions, or none.
type row struct {
	why           string
	path          string
	before, after string // absent when it is "-"
	more          []File
	commands      []string
	lookup        map[string]string
	paths         []string
	want          []Rule
}

// edit is a row that replaces every occurrence of one text in a file by another.
func edit(why, path, before, old, new string, want ...Rule) row {
	return row{why: why, path: path, before: before, after: replace(before, old, new), want: want}
}

func file(path, before, after string) File {
	f := File{Path: path, Before: []byte(before), After: []byte(after)}
	if before == "-" {
		f.Before = nil
	}
	if after == "-" {
		f.After = nil
	}
	return f
}

func (r row) input() Input {
	in := Input{Commands: r.commands, Paths: r.paths, Files: append([]File{}, r.more...)}
	if r.path != "" {
		in.Files = append(in.Files, file(r.path, r.before, r.after))
	}
	if r.lookup != nil {
		in.Lookup = func(p string) ([]byte, bool) {
			s, ok := r.lookup[p]
			return []byte(s), ok
		}
	}
	return in
}

func rulesOf(findings []Finding) []Rule {
	var rules []Rule
	for _, f := range findings {
		rules = append(rules, f.Rule)
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

func check(t *testing.T, rows []row) {
	t.Helper()
	seen := map[string]bool{}
	for _, r := range rows {
		if seen[r.why] {
			t.Errorf("two rows say %q", r.why)
		}
		seen[r.why] = true
		t.Run(r.why, func(t *testing.T) {
			rep := Judge(r.input())
			want := slices.Sorted(slices.Values(r.want))
			if diff := cmp.Diff(want, rulesOf(rep.Findings)); diff != "" {
				t.Errorf("rules (-want +got):\n%s\nfindings: %v", diff, rep.Findings)
			}
		})
	}
}

// is is the rules of a row.
func is(rules ...Rule) []Rule { return rules }

// replace must change something, or the row would test nothing.
func replace(s, old, new string) string {
	if !strings.Contains(s, old) {
		panic("not in the source: " + old)
	}
	return strings.Replace(s, old, new, -1)
}

// cut replaces everything from a text on.
func cut(s, from, by string) string { return s[:mustIndex(s, from)] + by }

// after is everything from a text on.
func after(s, from string) string { return s[mustIndex(s, from):] }

func mustIndex(s, sub string) int {
	i := strings.Index(s, sub)
	if i < 0 {
		panic("not in the source: " + sub)
	}
	return i
}
