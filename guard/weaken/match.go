package weaken

import (
	"path"
	"slices"
	"strings"
)

// deficit is what an old test lacks in its new form.
type deficit struct {
	old, now *unit
	need     int             // assertions, or rows
	lost     map[string]bool // words of the old body that the new one lacks
}

// compareTests looks at every test of the checkpoint.
func (j *judge) compareTests() {
	var short []deficit
	for _, s := range j.before {
		for _, o := range tests(s) {
			n := j.pairs[o]
			before := j.oldHelp.weight(o)
			if n != nil && leavesSurefire(o.file, n.file) && !j.gradle() {
				j.find(Removed, n.file, n.name, "%s is not collected under its new name: removed test %s", n.file, o.name)
				continue
			}
			if n == nil {
				if !j.nothingToLose(o) {
					short = append(short, deficit{old: o, need: max(1, before), lost: o.words})
				}
				continue
			}
			more := j.movedBase(added(j.oldHelp.skips(o), j.newHelp.skips(n)), n)
			if n.body != o.body {
				more = append(more, j.foreignHelper(o, n)...)
			}
			for i := range more {
				if j.gatedWithCode(more[i]) {
					more[i] += elsewhere
				}
			}
			if len(more) > 0 {
				find := j.find
				if !slices.ContainsFunc(more, func(s string) bool { return !strings.HasSuffix(s, elsewhere) }) {
					find = j.leaveOpen
				}
				find(Skipped, n.file, n.name, "%s in test %s", strings.Join(slices.Compact(more), ", "), n.name)
			}
			need := before - j.newHelp.weight(n)
			if before == 0 && (runs(o) && !runs(n) || n.dead && !o.dead) {
				need = 1 // it asserted nothing but that its calls return
			}
			if n.strong < o.strong && need == 0 {
				j.note(Assertions, n.file, n.name, "weaker assertions in test %s: %d compare with a value, %d did", n.name,
					n.strong, o.strong)
			}
			// A smaller table is a loss even when each row is asserted more about.
			// Writing a table out as statements is not.
			if rows := o.rows - n.rows; n.rows > 0 && rows > 0 && need <= 0 {
				need = rows
			}
			if need == 0 && n.listed > 0 && n.listed < o.listed {
				need = o.listed - n.listed
				o.rows, n.rows = o.listed, n.listed
			}
			if bare := before - j.oldHelp.weightUnder(o); need <= 0 && n.body != o.body {
				if left := j.newHelp.weight(n) - j.newHelp.weightUnder(n); left < bare {
					find := j.find
					if j.touched(o.lang) {
						find = j.leaveOpen
					}
					find(Assertions, n.file, n.name, "assertions of test %s under a condition: %d stand without one, %d did",
						n.name, left, bare)
				}
			}
			if need > 0 {
				lost := map[string]bool{}
				for w := range o.words {
					if !n.words[w] {
						lost[w] = true
					}
				}
				short = append(short, deficit{o, n, need, lost})
			}
		}
	}
	j.offset(short)
}

// offset takes deficits from what is new: tests that appeared, and tests that
// grew. A deficit is offset only by tests which hold at least half of the words
// that went missing, so that unrelated new tests cannot pay for a removed one.
func (j *judge) offset(short []deficit) {
	surplus := map[*unit]int{}
	var creditors []*unit
	for _, n := range j.fresh {
		if len(j.newHelp.skips(n)) == 0 {
			surplus[n] = j.newHelp.weight(n)
			creditors = append(creditors, n)
		}
	}
	for _, s := range j.before {
		for _, o := range tests(s) {
			if n := j.pairs[o]; n != nil {
				if more := j.newHelp.weight(n) - j.oldHelp.weight(o); more > 0 && len(j.newHelp.skips(n)) == 0 {
					surplus[n] = more
					creditors = append(creditors, n)
				}
			}
		}
	}
	for _, d := range short {
		need := d.need
		words := map[string]bool{}
		var used []*unit
		for _, p := range creditors {
			if p.lang != d.old.lang || surplus[p] == 0 || p == d.now {
				continue
			}
			found := 0
			for w := range d.lost {
				if p.words[w] {
					found++
				}
			}
			if found == 0 && len(d.lost) > 0 {
				continue
			}
			if float64(found) < 0.2*float64(len(d.lost)) {
				continue
			}
			for w := range d.lost {
				if p.words[w] {
					words[w] = true
				}
			}
			used = append(used, p)
		}
		have := 0
		for _, p := range used {
			have += surplus[p]
		}
		if len(used) > 0 && have >= need && 2*len(words) >= len(d.lost) {
			for _, p := range used {
				pay := min(need, surplus[p])
				surplus[p] -= pay
				need -= pay
			}
			continue
		}
		j.report(d)
	}
}

// runs reports whether a test calls anything that is reached.
func runs(u *unit) bool {
	for name, n := range u.calls {
		switch name {
		case "if", "while", "for", "switch", "catch", "return", "await", "not", "and", "or": // written like calls
		case "log", "warn", "debug", "info", "print", "println", "stringify": // told to nobody
		default:
			if n > 0 {
				return true
			}
		}
	}
	return false
}

// nothingToLose reports whether a test could not fail by anything but a crash
// of the runner: it asserts nothing, or constants, and calls nothing.
func (j *judge) nothingToLose(o *unit) bool {
	const few = 3 // a type or an import that is there can be a test
	return j.oldHelp.weight(o) == 0 && len(o.calls) == 0 && !o.fails && len(o.words) <= few
}

func (j *judge) report(d deficit) {
	o, n := d.old, d.now
	find, why := j.find, ""
	if names := j.excuse(d); names != "" {
		j.excused[o] = n == nil
		find, why = j.note, ": the change also removed "+names
	} else if n != nil && j.touched(o.lang) || n == nil && (j.related(o) || j.touched(o.lang) && j.rewritten(o)) {
		find = j.leaveOpen
	}
	switch {
	case n == nil && o.name == "(file)":
		find(Removed, o.file, "", "removed tests of %s%s", o.file, why)
	case n == nil:
		find(Removed, o.file, o.name, "removed test %s%s", o.name, why)
	case o.rows > 0 && n.rows < o.rows && o.name == "(file)":
		find(Removed, n.file, "", "removed tests: %d to %d%s", o.rows, n.rows, why)
	case o.rows > 0 && n.rows < o.rows:
		find(Cases, n.file, n.name, "removed cases of test %s: %d to %d%s", n.name, o.rows, n.rows, why)
	case j.oldHelp.weight(o) == j.newHelp.weight(n):
		find(Assertions, n.file, n.name, "test %s ends before it does what it did%s", n.name, why)
	default:
		find(Assertions, n.file, n.name, "removed assertions of test %s: %d to %d%s", n.name, j.oldHelp.weight(o),
			j.newHelp.weight(n), why)
	}
}

// compareHelpers looks at functions that tests lean on: their callers may be in
// files that did not change. A helper that lost its name is judged by its callers.
func (j *judge) compareHelpers() {
	for _, s := range j.before {
		for i := range s.units {
			o := &s.units[i]
			if o.test {
				continue
			}
			n := j.successor(o)
			if n == nil || n.file != o.file && path.Base(n.file) != path.Base(o.file) && similarity(o, n) < 0.5 {
				continue
			}
			if more := added(j.oldHelp.skips(o), j.newHelp.skips(n)); len(more) > 0 {
				j.find(Skipped, n.file, n.name, "%s in helper %s", strings.Join(slices.Compact(more), ", "), n.name)
			}
			// Functions that only happen to hold an assertion are judged by the tests
			// that call them.
			if !o.fails && !asserting(simple(o.name)) {
				continue
			}
			before, after := j.oldHelp.weight(o), j.newHelp.weight(n)
			if after < before && !j.callersHold(o, n) {
				find := j.find
				if j.touched(o.lang) {
					find = j.leaveOpen
				}
				find(Assertions, n.file, n.name, "removed assertions of helper %s: %d to %d", n.name, before, after)
			}
		}
	}
}

// successor is the helper of the same name, of overloads the most similar one.
func (j *judge) successor(o *unit) *unit {
	var best *unit
	score := -1.0
	for _, n := range j.newHelp.all(o, simple(o.name)) {
		s := similarity(o, n)
		if n.name == o.name {
			s++
		}
		if n.body == o.body {
			s++
		}
		if s > score {
			best, score = n, s
		}
	}
	return best
}

// callersHold reports whether a helper moved its assertions to its callers:
// there is a caller in the change, and each asserts as much as before.
func (j *judge) callersHold(o, n *unit) bool {
	name := simple(o.name)
	callers := 0
	for _, s := range j.before {
		for _, t := range tests(s) {
			if t.calls[name] == 0 {
				continue
			}
			callers++
			now := j.pairs[t]
			if now == nil || j.newHelp.weight(now) < j.oldHelp.weight(t) {
				return false
			}
		}
	}
	return callers > 0 && o.file == n.file
}

// compareFiles looks at what a file does to tests outside of it.
func (j *judge) compareFiles() {
	old := map[string]*source{}
	for _, s := range j.before {
		old[s.path] = s
	}
	for _, s := range j.after {
		var wasExclusive, wasEscapes []string
		o := old[s.path]
		if o == nil {
			o = j.origin(s)
		}
		if o != nil {
			wasExclusive, wasEscapes = o.exclusive, o.escapes
		}
		if lib := j.shadowsLibrary(s.path); lib != "" && old[s.path] == nil && s.lang == "java" {
			j.find(Escape, s.path, "", "%s takes the place of a class of %s", s.path, lib)
		}
		if more := added(wasExclusive, s.exclusive); len(more) > 0 && !j.besideTests(s.path) {
			j.find(Skipped, s.path, "", "%s keeps other tests from running", strings.Join(slices.Compact(more), ", "))
		}
		for _, e := range added(wasEscapes, s.escapes) {
			if strings.HasPrefix(e, "collect_ignore") && j.ignoresKnown(s.path, e) {
				continue
			}
			if strings.HasPrefix(e, "redefines ") && (o == nil || len(tests(o)) == 0) {
				continue // a name of its own file, in which no test was
			}
			j.find(Escape, s.path, "", "%s", firstWords(e))
		}
	}
}

// besideTests reports whether a file of JavaScript lies beside a test file and is not named as a test. A
// runner that goes by names does not collect it: it only holds what that test reads.
func (j *judge) besideTests(file string) bool {
	named := func(p string) bool {
		lang := languageOf(p)
		return lang == javascript && slices.ContainsFunc(strings.Split(path.Base(p), ".")[1:], func(part string) bool {
			return part == "test" || part == "spec"
		})
	}
	known := slices.Clone(j.in.Paths)
	for _, f := range j.in.Files {
		known = append(known, f.Path)
	}
	return languageOf(file) == javascript && !named(file) && slices.ContainsFunc(known, func(p string) bool {
		return path.Dir(p) == path.Dir(file) && named(p)
	})
}

// fewer checks files that are left with fewer tests without another finding. Joining or moving
// tests is not a loss, but worth a look. Another test must then call what a removed test called,
// with the same arguments. More assertions elsewhere do not make up for it.
func (j *judge) fewer() {
	said := map[string]bool{}
	for _, f := range slices.Concat(j.out, j.open, j.notes) {
		said[f.Path] = true
	}
	for _, o := range j.before {
		i := slices.IndexFunc(j.after, func(s *source) bool { return s.path == o.path })
		if i < 0 || said[o.path] {
			continue
		}
		was, cases, left := 0, 0, 0
		var gone []*unit
		for _, u := range tests(o) {
			if n := j.pairs[u]; j.oldHelp.weight(u) > 0 && (n == nil || n.file == o.path) {
				was++
				cases += max(1, u.rows)
				if n == nil && !j.excused[u] {
					gone = append(gone, u)
				}
			}
		}
		for _, u := range tests(j.after[i]) {
			left += max(1, u.rows)
		}
		is := len(tests(j.after[i]))
		if is >= was {
			continue
		}
		lost := slices.DeleteFunc(gone, func(u *unit) bool { return left >= cases || j.carried(u) })
		for _, u := range lost {
			j.report(deficit{old: u})
		}
		if len(lost) == 0 {
			j.note(Removed, o.path, "", "fewer tests in %s: %d to %d", o.path, was, is)
		}
	}
}

// carried reports whether half of a removed test's calls are in other tests. A test that calls
// nothing with arguments proves nothing here.
func (j *judge) carried(u *unit) bool {
	calls := exercised(u)
	found := 0
	for c := range calls {
		if slices.ContainsFunc(j.after, func(s *source) bool {
			return slices.ContainsFunc(s.units, func(n unit) bool {
				return strings.Contains("\x00"+n.body, "\x00"+c)
			})
		}) {
			found++
		}
	}
	return 2*found >= len(calls)
}

// exercised are the calls with arguments of a test, but for those that assert or print.
func exercised(u *unit) map[string]bool {
	out := map[string]bool{}
	toks := strings.Split(u.body, "\x00")
	for i := 1; i < len(toks); i++ {
		name := toks[i-1]
		if toks[i] != "(" || name == "" || asserting(name) || quietCalls.has(name) || !isName(name) {
			continue
		}
		depth, end := 0, i
		for ; end < len(toks); end++ {
			if toks[end] == "(" {
				depth++
			} else if toks[end] == ")" {
				if depth--; depth == 0 {
					break
				}
			}
		}
		if end > i+1 && end < len(toks) {
			out[strings.Join(toks[i-1:end+1], "\x00")] = true
		}
	}
	return out
}

// quietCalls are what surrounds the calls that a test is about.
var quietCalls = set("if while for switch catch return await not and or in print println Println Printf Sprintf log " +
	"Log Logf Error Errorf Fatal Fatalf Run test it describe strictEqual deepEqual deepStrictEqual equal ok " +
	"notEqual toBe toEqual toStrictEqual func fn function def lambda throws panic format str String len require import")

// ignoresKnown reports whether a collect_ignore of conftest.py names nothing but
// files that the change adds, and files that were left out under the same condition
// before: no test that ran is left out.
func (j *judge) ignoresKnown(file, line string) bool {
	known := map[string]bool{}
	for _, s := range j.before {
		for _, e := range s.escapes {
			names, condition := ignored(s.path, e)
			for _, n := range names {
				known[n+condition] = true
			}
		}
	}
	names, condition := ignored(file, line)
	for _, name := range names {
		base := path.Base(name)
		fresh := func(f File) bool { return f.added() && (f.Path == name || path.Base(f.Path) == base) }
		if !known[name+condition] && !slices.ContainsFunc(j.in.Files, fresh) {
			return false
		}
	}
	return !strings.Contains(line, "glob")
}

// ignored are the paths that a collect_ignore of a conftest.py names, and its condition.
func ignored(file, line string) (names []string, condition string) {
	if !strings.HasPrefix(line, "collect_ignore") {
		return nil, ""
	}
	line, condition, _ = strings.Cut(line, " if ")
	for _, part := range strings.Split(line, `"`)[1:] {
		name, _, _ := strings.Cut(part, " ")
		names = append(names, join(path.Dir(file), name))
	}
	return names, condition
}

// firstWords shortens a hook, whose whole text is compared, to its name.
func firstWords(e string) string {
	if rest, ok := strings.CutPrefix(e, "hook "); ok {
		name, _, _ := strings.Cut(rest, " ")
		return "changed hook " + name
	}
	return e
}

// origin is the file that a new file was moved from: the one most of its tests
// came from.
func (j *judge) origin(s *source) *source {
	votes := map[string]int{}
	best := ""
	for o, n := range j.pairs {
		if n.file == s.path && o.file != s.path {
			votes[o.file]++
			if votes[o.file] > votes[best] || votes[o.file] == votes[best] && o.file < best {
				best = o.file
			}
		}
	}
	for _, o := range j.before {
		if o.path == best && best != "" {
			return o
		}
	}
	return nil
}

// snapshots counts the entries of Jest's recorded output. Without an entry the
// runner records any output as correct.
func (j *judge) snapshots() {
	moved := 0
	for _, f := range j.in.Files {
		if strings.HasSuffix(f.Path, ".snap") {
			moved += strings.Count(string(f.After), "\nexports[") - strings.Count(string(f.Before), "\nexports[")
		}
	}
	if moved >= 0 {
		return
	}
	find := j.find
	if j.touched("js") { // the old tests are run with the old snapshots
		find = j.leaveOpen
	}
	for _, f := range j.in.Files {
		if !strings.HasSuffix(f.Path, ".snap") || f.added() {
			continue
		}
		before, after := strings.Count("\n"+string(f.Before), "\nexports["), strings.Count("\n"+string(f.After), "\nexports[")
		if after < before {
			find(Assertions, f.Path, "", "removed snapshots: %d to %d", before, after)
		}
	}
}
