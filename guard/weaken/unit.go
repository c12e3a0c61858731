package weaken

import (
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"git-ralph/internal/text/lazyregexp"
)

// unit is a test, or a function that tests lean on.
type unit struct {
	name string // qualified by what encloses it: TestUser/rejects, TestCalc.test_add
	file string
	lang string
	line int
	test bool
	// plain is the number of assertions in the body that cannot be calls of a
	// helper, each counted as often as the table rows that it runs for.
	plain int
	// calls are the simple names of called functions with how often; the count
	// of rows multiplies here too. Asserting names that nothing resolves are one
	// assertion each.
	calls map[string]int
	// under and callsUnder are those of plain and calls that stand under a condition.
	under      int
	callsUnder map[string]int
	// inside counts the assertions in functions that are handed to a call, by its name.
	inside map[string]int
	// rows are the declared cases of a table; 0 = the unit has none.
	rows int
	// listed counts the rows of all its tables, nested ones too; Go alone has it.
	listed int
	// skips are the constructs that keep the unit, or what encloses it, from
	// running or from counting.
	skips []string
	// body is the text of the unit without name, comments and layout.
	body  string
	words map[string]bool // distinct names and literals of the body
	// strong counts what the body compares with a value.
	strong int
	// around: the framework runs it with each test, by a mark (@BeforeEach, autouse).
	around bool
	// dead: some of its statements stand behind one that always ends it.
	dead bool
	// needs are functions that it uses without a call: fixtures. wraps are its decorators.
	needs, wraps []string
	// params are the names of its parameters, if the reader notes them. drops says that it ignores
	// one of them, or calls it only where failures have no effect.
	params []string
	drops  bool
	// fails marks a helper that is given the means to fail a test (*testing.T).
	fails bool
}

// source is what a reader found in one file.
type source struct {
	path  string
	lang  string
	units []unit
	// exclusive are constructs that keep other tests from running (.only).
	exclusive []string
	// escapes are constructs that end or bend the whole run: os.Exit in TestMain,
	// collection hooks, redefined assertions.
	escapes []string
	// bases are the names of the classes that each class is made from.
	bases map[string][]string
}

// maxSource is the largest file that is taken apart, in bytes. A larger one has no
// tests, which is a loss when it had some before it grew.
const maxSource = 4 << 20

// read takes a file apart; nil when it is absent or in no language that can
// hold tests.
func read(file string, content []byte) *source {
	lang := languageOf(file)
	if lang == nil || content == nil {
		return nil
	}
	if len(content) > maxSource {
		return &source{path: file, lang: lang.name}
	}
	return newReader(file, lang, lex(content, lang)).read(content)
}

// read collects what the file holds.
func (r *reader) read(content []byte) *source {
	file, lang := r.file, r.l
	switch lang.name {
	case "go":
		r.golang(content)
	case "python":
		r.python()
	case "js":
		r.javascript()
	case "rust":
		r.rust()
	case "java":
		r.java()
		if ext := path.Ext(file); oneOf(".scala .groovy .kt", ext) && len(tests(r.s)) == 0 {
			r.s = readOther(file, r.toks) // styles of tests that are no annotated methods
		}
	default:
		r.s = readOther(file, r.toks)
	}
	s := r.s
	s.path, s.lang = file, lang.name
	s.escapes = append(s.escapes, signsIn(file, lang.name, r.toks)...)
	for i := range s.units {
		s.units[i].file, s.units[i].lang = file, lang.name
		sort.Strings(s.units[i].skips)
	}
	return s
}

// setBody records the text of a unit from its tokens.
func (u *unit) setBody(toks []token) {
	var b strings.Builder
	u.words = map[string]bool{}
	for _, t := range toks {
		if t.pos == t.end && t.pos > 0 {
			continue // stands for layout
		}
		b.WriteString(t.text)
		b.WriteByte(0)
		if t.kind != punct && !commonWords.has(t.text) {
			u.words[t.text] = true
		}
	}
	u.body, u.strong = b.String(), strength(toks)
}

// commonWords say nothing about which test this is.
var commonWords = set("if else for in of return func fn def function let const var mut new t self err nil null " +
	"None true false True False range assert expect async await void public final static T " +
	"testing Errorf Fatalf Error Fatal assert_eq assertEquals assertEqual toBe toEqual 0 1 2 it " +
	"test i x and or not is")

var assertingName = lazyregexp.New(`^_?(assert|require|expect|check|verify|should|ensure|fail|` +
	`Assert|Require|Expect|Check|Verify|Should|Ensure|Fail|XCTAssert|EXPECT|ASSERT|REQUIRE|CHECK|` +
	`BOOST_CHECK|BOOST_REQUIRE)([A-Z_0-9]\w*|s|)$`)

// asserting reports whether a function of this name is taken for an assertion
// when its body is not known.
func asserting(name string) bool { return assertingName().MatchString(name) }

// skipping does the same for functions that skip.
var skippingName = lazyregexp.New(`^_?(skip|Skip|xfail|SKIP)([A-Z_]\w*|)$`)

func skipping(name string) bool { return skippingName().MatchString(name) }

// foreignSkip reports whether a method whose name begins with skip is called on
// something that has nothing to do with tests: reader.skipValue(), rows.skip(1).
func foreignSkip(name, receiver string) bool {
	if !skipping(name) {
		return false
	}
	switch receiver {
	case "self", "this", "super", "cls", "t", "tb", "test", "it", "describe", "suite", "pytest", "unittest", "helpers",
		"testutil", "testutils", "utils", "support":
		return false
	}
	return true
}

// helpers finds functions by name for one side of a change.
type helpers struct {
	byName map[string][]*unit
	memo   map[*unit]int
	open   map[*unit]bool
}

// newHelpers collects the helpers of some files. A test that lost its mark is
// not one: a call of its name means something else.
func newHelpers(sources []*source, demoted map[string]bool) *helpers {
	h := &helpers{byName: map[string][]*unit{}, memo: map[*unit]int{}, open: map[*unit]bool{}}
	for _, s := range sources {
		for i := range s.units {
			u := &s.units[i]
			if !u.test && !demoted[u.file+"\x00"+u.name] {
				key := u.lang + " " + simple(u.name)
				h.byName[key] = append(h.byName[key], u)
			}
		}
	}
	return h
}

// simple is the last part of a qualified name.
func simple(name string) string { return name[strings.LastIndexAny(name, ".:/ ")+1:] }

// all are the functions of a name that are nearest to the caller: those of the
// same file, else of the same folder, else anywhere. They are several where the
// language knows overloads, or methods of several types.
func (h *helpers) all(from *unit, name string) []*unit {
	var out []*unit
	best := -1
	name, foreign := strings.CutPrefix(name, ".")
	for _, u := range h.byName[from.lang+" "+name] {
		if foreign && u.file == from.file {
			continue
		}
		r := 0
		if path.Dir(u.file) == path.Dir(from.file) {
			r = 1
		}
		if u.file == from.file {
			r = 2
		}
		if r > best {
			out, best = nil, r
		}
		if r == best {
			out = append(out, u)
		}
	}
	return out
}

// weight is the number of assertions of a unit and of the helpers it calls. A
// chain of helpers ends where it leads back to itself.
func (h *helpers) weight(u *unit) int {
	if w, ok := h.memo[u]; ok {
		return w
	}
	if h.open[u] {
		return 0
	}
	h.open[u] = true
	w := u.plain
	// In order, because where a circle of helpers is cut decides about the sum.
	for _, name := range slices.Sorted(maps.Keys(u.calls)) {
		n := u.calls[name]
		if targets := h.all(u, name); len(targets) > 0 {
			best := 0 // of overloads, the one that asserts most
			for _, t := range targets {
				if t != u {
					best = max(best, h.weight(t))
				}
			}
			w += n * best
			if slices.ContainsFunc(targets, func(t *unit) bool { return t.drops }) {
				w -= u.inside[name]
			}
		} else if asserting(name) {
			w += n
		}
	}
	h.open[u] = false
	h.memo[u] = w
	return w
}

// weightUnder is the part of a unit's weight that stands under conditions.
func (h *helpers) weightUnder(u *unit) int {
	w := u.under
	for name, n := range u.callsUnder {
		best := 0
		targets := h.all(u, name)
		for _, t := range targets {
			if t != u {
				best = max(best, h.weight(t))
			}
		}
		if len(targets) == 0 && asserting(name) {
			best = 1
		}
		w += n * best
	}
	return w
}

// closure is the text of the helpers that a unit calls, through others too, in
// an order that does not depend on where they stand.
func (h *helpers) closure(u *unit) string {
	seen := map[*unit]bool{u: true}
	var bodies []string
	var walk func(*unit)
	walk = func(v *unit) {
		for name := range v.calls {
			for _, target := range h.all(v, name) {
				if !seen[target] {
					seen[target] = true
					bodies = append(bodies, target.body)
					walk(target)
				}
			}
		}
	}
	walk(u)
	slices.Sort(bodies)
	return strings.Join(bodies, "\x01")
}

// skips are those of the unit and of the helpers it calls directly or through
// others, by name where the body is not known.
func (h *helpers) skips(u *unit) []string {
	out := slices.Clone(u.skips)
	seen := map[*unit]bool{u: true}
	var walk func(*unit)
	walk = func(v *unit) {
		for _, name := range append(slices.Collect(maps.Keys(v.calls)), v.needs...) {
			targets := h.all(v, name)
			for _, target := range targets {
				if !seen[target] {
					seen[target] = true
					for _, s := range target.skips {
						out = append(out, name+": "+s)
					}
					walk(target)
				}
			}
			if len(targets) == 0 && skipping(name) && !slices.Contains(v.wraps, name) {
				out = append(out, name)
			}
		}
	}
	walk(u)
	for _, name := range u.wraps {
		if slices.ContainsFunc(h.all(u, name), func(t *unit) bool { return t.drops }) {
			out = append(out, "@"+name+" swallows what fails")
		}
	}
	sort.Strings(out)
	return out
}

// added are the elements of after that before does not have as often.
func added(before, after []string) []string {
	have := map[string]int{}
	for _, s := range before {
		have[s]++
	}
	var out []string
	for _, s := range after {
		if have[s] > 0 {
			have[s]--
			continue
		}
		out = append(out, s)
	}
	return out
}
