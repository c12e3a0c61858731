package notes

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
)

func entry(id, text string, supersedes ...string) Knowledge {
	_, rest, _ := strings.Cut(id, "-")
	t, _, _ := strings.Cut(rest, "-")
	return Knowledge{ID: id, Type: KnowledgeType(t), Status: Active, Source: []int{1}, Text: text, Supersedes: supersedes}
}

func TestHard(t *testing.T) {
	rows := []struct {
		typ  KnowledgeType
		text string
		want bool
		why  string
	}{
		{KConstraint, "The id must be unique", true, "must"},
		{KConstraint, "You MUST NOT log passwords", true, "in any case"},
		{KConstraint, "Never force push", true, "at the start"},
		{KConstraint, "force push: never", true, "at the end"},
		{KConstraint, "The mustard is yellow", false, "not a whole word"},
		{KConstraint, "Nevertheless it works", false, "not a whole word"},
		{KConstraint, "prefer tabs", false, "a soft constraint"},
		{KDecision, "must use tabs", false, "hard constraints are constraints"},
		{KConstraint, "first line\nit must hold", true, "on a later line"},
	}
	for _, row := range rows {
		if got := (Knowledge{Type: row.typ, Text: row.text}).Hard(); got != row.want {
			t.Errorf("%q (%s): %v, want %v: %s", row.text, row.typ, got, row.want, row.why)
		}
	}
}

func TestSlug(t *testing.T) {
	rows := []struct{ text, want, why string }{
		{"Never force-push to main!", "never-force-push-to-main", "words joined by hyphens"},
		{"  ", "entry", "nothing left"},
		{"日本語", "entry", "ids are ASCII"},
		{"Don't use `eval`", "dont-use-eval", "an apostrophe joins"},
		{"a/b\\c..d", "a-b-c-d", "no path separators"},
		{strings.Repeat("long ", 30), "long-long-long-long-long-long-long", "cut at a word"},
		{strings.Repeat("x", 100), strings.Repeat("x", 40), "one long word"},
		{"--x--", "x", "no hyphens at the ends"},
	}
	for _, row := range rows {
		if got := Slug(row.text); got != row.want {
			t.Errorf("Slug(%q) = %q, want %q: %s", row.text, got, row.want, row.why)
		}
	}
}

func TestApplyKnowledge(t *testing.T) {
	hard := entry("K-constraint-no-force", "Must never force push")
	soft := entry("K-pattern-tables", "use table tests")
	base := []Knowledge{hard, soft}
	rows := []struct {
		name string
		add  []Knowledge
		want []string // parts of the refusal; none = accepted
		live []string // live ids afterwards, when accepted
	}{
		{"a new entry joins", []Knowledge{entry("K-gotcha-x", "x")}, nil,
			[]string{"K-constraint-no-force", "K-pattern-tables", "K-gotcha-x"}},
		{"a hard constraint is superseded by id", []Knowledge{entry("K-constraint-no-force-2",
			"must not force push, except to own branches", "K-constraint-no-force")}, nil,
			[]string{"K-pattern-tables", "K-constraint-no-force-2"}},
		{"rewording in place is refused", []Knowledge{entry("K-constraint-no-force", "please do not force push")},
			[]string{"K-constraint-no-force exists with another text"}, nil},
		{"the same again changes nothing", []Knowledge{hard}, nil, []string{"K-constraint-no-force", "K-pattern-tables"}},
		{"the same again may not supersede more", []Knowledge{entry("K-constraint-no-force", hard.Text, "K-pattern-tables")},
			[]string{"cannot supersede more"}, nil},
		{"ids are unique without regard to case", []Knowledge{entry("K-pattern-TABLES", "use table tests")},
			[]string{"differs from K-pattern-tables only in case"}, nil},
		{"one id twice in a batch", []Knowledge{entry("K-gotcha-x", "x"), entry("K-gotcha-x", "y")},
			[]string{"K-gotcha-x exists with another text"}, nil},
		{"a superseded id must exist", []Knowledge{entry("K-gotcha-x", "x", "K-gotcha-none")},
			[]string{"K-gotcha-x supersedes K-gotcha-none, which does not exist"}, nil},
		{"entries of one batch may supersede each other in line", []Knowledge{entry("K-gotcha-x", "x"),
			entry("K-gotcha-y", "y", "K-gotcha-x")}, nil,
			[]string{"K-constraint-no-force", "K-pattern-tables", "K-gotcha-y"}},
		{"nothing supersedes itself", []Knowledge{entry("K-gotcha-x", "x", "K-gotcha-x")},
			[]string{"supersedes itself"}, nil},
		{"no circle: the constraint would be gone with both", []Knowledge{
			entry("K-constraint-a", "must a", "K-constraint-no-force", "K-constraint-b"),
			entry("K-constraint-b", "must b", "K-constraint-a")},
			[]string{"supersede each other"}, nil},
		{"type and id agree", []Knowledge{{ID: "K-gotcha-x", Type: KPattern, Text: "x"}},
			[]string{`K-gotcha-x has the type "pattern"`}, nil},
		{"an unknown type", []Knowledge{{ID: "K-rumour-x", Type: "rumour", Text: "x"}},
			[]string{`"K-rumour-x" is not an id`}, nil},
		{"a path in an id", []Knowledge{{ID: "K-gotcha-../x", Type: KGotcha, Text: "x"}}, []string{"is not an id"}, nil},
		{"no text", []Knowledge{{ID: "K-gotcha-x", Type: KGotcha, Text: " \n"}}, []string{"has no text"}, nil},
		{"too much text", []Knowledge{entry("K-gotcha-x", strings.Repeat("x", MaxKnowledgeText+1))},
			[]string{"4001 bytes of text"}, nil},
		{"control characters", []Knowledge{entry("K-gotcha-x", "a\x1b[31m")}, []string{"control characters"}, nil},
		{"invalid UTF-8", []Knowledge{entry("K-gotcha-x", "a\xff")}, []string{"invalid UTF-8"}, nil},
		{"born superseded", []Knowledge{{ID: "K-gotcha-x", Type: KGotcha, Status: Superseded, Text: "x"}},
			[]string{"a new entry is active"}, nil},
		{"a negative iteration", []Knowledge{{ID: "K-gotcha-x", Type: KGotcha, Source: []int{-1}, Text: "x"}},
			[]string{"iteration -1"}, nil},
		{"a line feed in a tag", []Knowledge{{ID: "K-gotcha-x", Type: KGotcha, Tags: []string{"a\nb"}, Text: "x"}},
			[]string{"not a name"}, nil},
		{"refused whole, with every reason", []Knowledge{entry("K-gotcha-good", "good"),
			entry("K-pattern-tables", "other"), entry("K-gotcha-x", "x", "K-gotcha-none")},
			[]string{"K-pattern-tables exists with another text", "K-gotcha-none, which does not exist"}, nil},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			before := slices.Clone(base)
			got, err := ApplyKnowledge(base, row.add)
			if diff := cmp.Diff(before, base); diff != "" {
				t.Fatalf("the argument was changed:\n%s", diff)
			}
			if (err != nil) != (row.want != nil) {
				t.Fatalf("error %v, want %q", err, row.want)
			}
			for _, part := range row.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not say %q", err, part)
				}
			}
			if err != nil {
				if diff := cmp.Diff(base, got); diff != "" {
					t.Errorf("a refused change left traces:\n%s", diff)
				}
				return
			}
			var live []string
			for _, k := range got {
				if k.Live() {
					live = append(live, k.ID)
				}
			}
			if diff := cmp.Diff(row.live, live); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// succeeds states the promise of ApplyKnowledge in another way. Every old entry is
// still there with the same words. A hard constraint that no longer holds ends in
// an active successor.
func succeeds(old, now []Knowledge) error {
	byID := map[string]Knowledge{}
	for _, k := range now {
		if _, twice := byID[strings.ToLower(k.ID)]; twice {
			return fmt.Errorf("%s is there twice", k.ID)
		}
		byID[strings.ToLower(k.ID)] = k
	}
	heirs := map[string][]string{}
	for _, k := range now {
		for _, id := range k.Supersedes {
			heirs[strings.ToLower(id)] = append(heirs[strings.ToLower(id)], strings.ToLower(k.ID))
		}
	}
	var holds func(id string, depth int) bool
	holds = func(id string, depth int) bool {
		if depth > len(now) {
			return false
		}
		if byID[id].Status == Active {
			return true
		}
		return slices.ContainsFunc(heirs[id], func(h string) bool { return holds(h, depth+1) })
	}
	for _, k := range old {
		n, ok := byID[strings.ToLower(k.ID)]
		if !ok {
			return fmt.Errorf("%s is gone", k.ID)
		}
		n.Status = k.Status
		if diff := cmp.Diff(k, n); diff != "" {
			return fmt.Errorf("%s was changed:\n%s", k.ID, diff)
		}
		if k.Hard() && !holds(strings.ToLower(k.ID), 0) {
			return fmt.Errorf("hard constraint %s was dropped", k.ID)
		}
	}
	return nil
}

func TestKnowledgeNeverLosesAnything(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	accepted := 0
	for range 300 {
		var all []Knowledge
		for step := range 30 {
			var add []Knowledge
			for range 1 + rnd.IntN(4) {
				types := KnowledgeTypes()
				typ := types[rnd.IntN(len(types))]
				k := Knowledge{ID: KnowledgeID(typ, fmt.Sprint("s", rnd.IntN(25))), Type: typ, Source: []int{step},
					Text: []string{"must hold", "may hold", "never do it", "fine"}[rnd.IntN(4)]}
				for range rnd.IntN(3) {
					k.Supersedes = append(k.Supersedes, KnowledgeID(types[rnd.IntN(len(types))], fmt.Sprint("s", rnd.IntN(25))))
				}
				add = append(add, k)
			}
			next, err := ApplyKnowledge(all, add)
			if err == nil {
				accepted++
			}
			if bad := succeeds(all, next); bad != nil {
				t.Fatalf("after adding %+v (%v): %v", add, err, bad)
			}
			all = next
		}
	}
	if accepted < 300 {
		t.Fatalf("only %d changes were accepted: the test shows too little", accepted)
	}
}

func TestKnowledgeFile(t *testing.T) {
	k := Knowledge{ID: "K-constraint-no-force", Type: KConstraint, Status: Active, Source: []int{3, 7}, Task: "T-003",
		Tags: []string{"git", `a "quoted\ tag`}, Supersedes: []string{"K-constraint-old"},
		Text: "Must never force push.\n\nNot even +++ once."}
	want := `+++
id = "K-constraint-no-force"
type = "constraint"
status = "active"
source = [3, 7]
task = "T-003"
tags = ["git", "a \"quoted\\ tag"]
supersedes = ["K-constraint-old"]
+++

Must never force push.

Not even +++ once.
`
	data := EncodeKnowledge(k)
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Error(diff)
	}
	got, err := DecodeKnowledge(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(k, got); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeKnowledgeRefuses(t *testing.T) {
	rows := []struct{ text, want string }{
		{"", "line 1: +++ expected"},
		{"id = \"x\"\n", "line 1: +++ expected"},
		{"+++\nid = \"x\"\n", "does not end with +++"},
		{"+++\nid = \"x\"\n+++\n", "type is missing"},
		{"+++\nid = 'x'\n+++\n", "line 2: id: a string in double quotes expected"},
		{"+++\nid = \"x\" y\n+++\n", `line 2: id: unexpected "y"`},
		{"+++\nid = \"x\n+++\n", "line 2: id: the string does not end"},
		{"+++\nid = \"\\q\"\n+++\n", `unknown escape \q`},
		{"+++\nid = \"\\uD800\"\n+++\n", "unknown escape"},
		{"+++\nid = \"x\"\nid = \"y\"\n+++\n", "line 3: id stands twice"},
		{"+++\nwords\n+++\n", "line 2: key = value expected"},
		{"+++\ncolour = \"red\"\n+++\n", `unknown key "colour"`},
		{"+++\nsource = [1, x]\n+++\n", `source: "x" is not a number`},
		{"+++\nsource = 1\n+++\n", "a list in brackets expected"},
		{"+++\ntags = [\"a\"\n+++\n", "the list does not end on its line"},
		{"+++\n\xff\n+++\n", "not valid UTF-8"},
	}
	for _, row := range rows {
		if _, err := DecodeKnowledge([]byte(row.text)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%q: %v, want %q", row.text, err, row.want)
		}
	}
}

// FuzzKnowledgeFile: whatever is read is the same after writing and reading, and a
// TOML library reads the same front matter.
func FuzzKnowledgeFile(f *testing.F) {
	f.Add([]byte("+++\nid = \"K-gotcha-x\"\ntype = \"gotcha\"\nstatus = \"active\"\nsource = [1]\n+++\n\ntext\n"))
	f.Add([]byte("+++\r\n# c\r\nid = \"a\\u0007b\" # d\r\ntype = \"\"\r\nstatus = \"\"\r\ntags = [ \"x\" , ]\r\n+++\r\nt"))
	f.Add([]byte("+++\nid = \"\"\ntype = \"\"\nstatus = \"\"\nsource = [-1, 0]\n+++"))
	f.Fuzz(func(t *testing.T, data []byte) {
		k, err := DecodeKnowledge(data)
		if err != nil {
			return
		}
		again, err := DecodeKnowledge(EncodeKnowledge(k))
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v\n%q", err, EncodeKnowledge(k))
		}
		normal := func(k Knowledge) Knowledge {
			if len(k.Tags) == 0 {
				k.Tags = nil
			}
			if len(k.Supersedes) == 0 {
				k.Supersedes = nil
			}
			if len(k.Source) == 0 {
				k.Source = nil
			}
			return k
		}
		if diff := cmp.Diff(normal(k), normal(again)); diff != "" {
			t.Fatal(diff)
		}
		_, front, _ := strings.Cut(string(EncodeKnowledge(k)), fence)
		front, _, _ = strings.Cut(front, fence)
		var lib Knowledge
		if err := toml.Unmarshal([]byte(front), &lib); err != nil {
			t.Fatalf("a TOML library refuses what we write: %v\n%s", err, front)
		}
		lib.Text = again.Text
		if diff := cmp.Diff(normal(again), normal(lib)); diff != "" {
			t.Fatalf("a TOML library reads it in another way:\n%s", diff)
		}
	})
}

func TestHarvest(t *testing.T) {
	h := Handoff{
		ConstraintsDiscovered: []Constraint{
			{Constraint: "The API must never be called without a key", Impact: "401", Workaround: "use the fake"},
			{Constraint: "the API must never be called without a KEY!"}, // the same in other case
			{Constraint: "  "},
		},
		ArchitecturalNotes: []string{"Routes live in routes/", "A before B", "B before A"},
	}
	got := ExtractKnowledge(h, 7, "T-003", nil)
	want := []Knowledge{
		{ID: "K-constraint-the-api-must-never-be-called-without", Type: KConstraint, Status: Active, Source: []int{7},
			Task: "T-003", Tags: []string{"handoff"},
			Text: "The API must never be called without a key\nImpact: 401\nWorkaround: use the fake"},
		{ID: "K-decision-routes-live-in-routes", Type: KDecision, Status: Active, Source: []int{7}, Task: "T-003",
			Tags: []string{"handoff"}, Text: "Routes live in routes/"},
		{ID: "K-decision-a-before-b", Type: KDecision, Status: Active, Source: []int{7}, Task: "T-003",
			Tags: []string{"handoff"}, Text: "A before B"},
		{ID: "K-decision-b-before-a", Type: KDecision, Status: Active, Source: []int{7}, Task: "T-003",
			Tags: []string{"handoff"}, Text: "B before A"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	all, err := ApplyKnowledge(nil, got)
	if err != nil {
		t.Fatal(err)
	}
	if again := ExtractKnowledge(h, 8, "T-003", all); again != nil {
		t.Errorf("the next handoff says the same and adds %v", again)
	}
	// An entry that was superseded on purpose does not return by being repeated.
	all, err = ApplyKnowledge(all, []Knowledge{entry("K-decision-routes", "Routes live in api/",
		"K-decision-routes-live-in-routes")})
	if err != nil {
		t.Fatal(err)
	}
	if again := ExtractKnowledge(h, 9, "T-003", all); again != nil {
		t.Errorf("a superseded entry came back: %v", again)
	}
	// Another fact under the same slug gets a number.
	long := "The API must never be called without a token of the user"
	more := ExtractKnowledge(Handoff{ConstraintsDiscovered: []Constraint{{Constraint: long}}}, 10, "", all)
	if len(more) != 1 || more[0].ID != "K-constraint-the-api-must-never-be-called-without-2" {
		t.Errorf("a second fact with the first words of another: %v", more)
	}
}

// FuzzHarvest: no handoff, however strange, makes entries that the rules refuse.
func FuzzHarvest(f *testing.F) {
	f.Add("must not", "x", "T-1", "note")
	f.Add("\x00\xff never", strings.Repeat("a", 9000), "", "\u202e")
	f.Fuzz(func(t *testing.T, constraint, impact, task, note string) {
		existing := []Knowledge{entry("K-constraint-x", "must x"), entry("K-decision-y", "y")}
		h := Handoff{ConstraintsDiscovered: []Constraint{{constraint, impact, ""}, {impact, constraint, note}},
			ArchitecturalNotes: []string{note, constraint}}
		got := ExtractKnowledge(h, 3, task, existing)
		if err := CheckKnowledge(existing, got); err != nil {
			t.Fatal(err)
		}
		for _, k := range got {
			back, err := DecodeKnowledge(EncodeKnowledge(k))
			if err != nil || back.Text != k.Text {
				t.Fatalf("%q: %v", k.Text, err)
			}
		}
	})
}

func TestLearn(t *testing.T) {
	rows := []struct {
		category string
		want     KnowledgeType
	}{
		{"pattern", KPattern}, {"antipattern", KGotcha}, {"architecture", KDecision}, {"debugging", KGotcha},
		{"build", KPattern},
	}
	for _, row := range rows {
		k, ok, err := Learn(row.category, "use `just test`", 4, "T-1", nil)
		if err != nil || !ok || k.Type != row.want || !slices.Contains(k.Tags, row.category) || !IsLearning(k) {
			t.Errorf("%s: %+v %v %v", row.category, k, ok, err)
		}
		if _, ok, err := Learn(row.category, "Use just test.", 5, "T-2", []Knowledge{k}); ok || err != nil {
			t.Errorf("%s: the same learning was taken twice (%v)", row.category, err)
		}
	}
	if _, _, err := Learn("rumour", "x", 1, "", nil); err == nil || !strings.Contains(err.Error(),
		"pattern, antipattern") {
		t.Errorf("an unknown category: %v", err)
	}
	if _, _, err := Learn("build", " \n", 1, "", nil); err == nil {
		t.Error("a learning without text was taken")
	}
}

func TestEntries(t *testing.T) {
	existing := []Knowledge{entry("K-decision-db", "we use sqlite")}
	got := Entries([]Put{
		{Type: "decision", Slug: "db", Text: "we use postgres", Supersedes: []string{"K-decision-db"}},
		{Type: "Gotcha", Slug: "K-gotcha-ports", Text: "port 80 is taken", Source: []int{2}},
		{Type: "pattern", Text: "Table tests everywhere"},
	}, 9, existing)
	var ids []string
	for _, k := range got {
		ids = append(ids, k.ID)
	}
	if diff := cmp.Diff([]string{"K-decision-db-2", "K-gotcha-ports", "K-pattern-table-tests-everywhere"},
		ids); diff != "" {
		t.Error(diff)
	}
	if err := CheckKnowledge(existing, got); err != nil {
		t.Error(err)
	}
	// Without superseding, the same slug is a rewording, and refused.
	clash := Entries([]Put{{Type: "decision", Slug: "db", Text: "we use postgres"}}, 9, existing)
	if err := CheckKnowledge(existing, clash); err == nil || !strings.Contains(err.Error(), "exists with another text") {
		t.Errorf("rewording: %v", err)
	}
}

func BenchmarkDecode500(b *testing.B) {
	var files [][]byte
	for i := range 500 {
		files = append(files, EncodeKnowledge(entry(fmt.Sprintf("K-decision-%d", i),
			strings.Repeat("a decision of the project ", 6))))
	}
	for b.Loop() {
		for _, f := range files {
			if _, err := DecodeKnowledge(f); err != nil {
				b.Fatal(err)
			}
		}
	}
}
