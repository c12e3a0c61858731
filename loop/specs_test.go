package loop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// example is the spec that the first design of this program shows.
const example = `# Authentication System Specification

## Problem Statement
Users need secure access to their accounts with support for
email/password and OAuth providers.

## Success Criteria
- Users can register with email/password
- Sessions persist for 7 days

## Constraints
- Must use existing PostgreSQL database

## Acceptance Criteria
- [ ] Registration creates user in database
- [ ] Login returns JWT token
`

func TestParseSpec(t *testing.T) {
	whole := func(acceptance string) string {
		return "# Login\n## Problem Statement\np\n## Success Criteria\nunder 2 s\n## Constraints and Non-Goals\nc\n## " +
			"Acceptance Criteria\n" + acceptance
	}
	none := "no checklist under \"Acceptance Criteria\": at least one line `- [ ] …`"
	for name, c := range map[string]struct {
		text     string
		title    string
		criteria []string
		problems []string
		warnings []string
	}{
		"the example of the first design passes, and its missing non-goals are told": {text: example,
			title:    "Authentication System Specification",
			criteria: []string{"Registration creates user in database", "Login returns JWT token"},
			warnings: []string{`no heading "Non-Goals"`}},
		"one heading for constraints and non-goals is enough": {text: whole("- [ ] a\n"), title: "Login",
			criteria: []string{"a"}},
		"headings count in any case, at any level, underlined, numbered and with a colon": {
			text: "LOGIN\n=====\n#### 1. PROBLEM statement:\np\n# success CRITERIA\n5\n### **Constraints**\nc\n## non " +
				"goals\nn\nAcceptance Criteria\n---\n* [x] done before\n1. [ ] numbered\n",
			title: "LOGIN", criteria: []string{"done before", "numbered"}},
		"everything that is wrong is named at once": {text: "nothing here\n", title: "login",
			problems: []string{`no heading "Problem Statement"`,
				`no heading "Success Criteria"`, `no heading "Constraints"`, `no heading "Acceptance Criteria"`},
			warnings: []string{`no heading "Non-Goals"`}},
		"an empty section says nothing": {text: strings.Replace(whole("- [ ] a\n"), "p\n", "", 1), title: "Login",
			criteria: []string{"a"},
			problems: []string{`nothing under "Problem Statement"`}},
		"a list without boxes is no checklist": {text: whole("- a\n- b\n"), title: "Login",
			problems: []string{none}},
		"a box elsewhere is no acceptance criterion": {text: strings.Replace(whole(""), "c\n", "- [ ] not here\n", 1),
			title: "Login", problems: []string{none}},
		"a box in a code fence or a comment is an example": {text: whole("```\n- [ ] fenced\n```\n<!-- - [ ] hidden\n- [ " +
			"] too -->\n"), title: "Login", problems: []string{none}},
		"a criterion may take two lines, and sub-headings and other text do not end the list": {
			text: whole("Intro\n- [ ] the answer is\n  401 for a wrong password\n### Later\n- [ ] second\n- [ ] " +
				"second\nend\n## Appendix\n- [ ] not one\n"), title: "Login",
			criteria: []string{"the answer is 401 for a wrong password", "second"}},
		"what cannot be measured is told, never refused": {text: strings.Replace(whole("- [ ] a\n"), "under 2 s",
			"it is nice", 1), title: "Login",
			criteria: []string{"a"}, warnings: []string{"the success criteria name nothing that can be measured"}},
		"front matter is no heading": {text: "---\ntitle: x\n---\n" + whole("- [ ] a\n"), title: "Login",
			criteria: []string{"a"}},
		"line ends of Windows are line ends": {text: strings.ReplaceAll(whole("- [ ] a\n"), "\n", "\r\n"), title: "Login",
			criteria: []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := ParseSpec("specs/login.md", []byte(c.text))
			want := Spec{Path: "specs/login.md", Title: c.title, Criteria: c.criteria, Problems: c.problems,
				Warnings: c.warnings}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestReadSpecs(t *testing.T) {
	dir := t.TempDir()
	if got, err := ReadSpecs(dir); err != nil || got != nil {
		t.Errorf("without a folder: %v, %v", got, err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "specs", "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"b.md": example, "README.md": "about", "deep/c.md": example,
		"notes.txt": "x"} {
		if err := os.WriteFile(filepath.Join(dir, "specs", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "specs", "a.md")); err != nil {
		t.Fatal(err)
	}
	got, err := ReadSpecs(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || got[0].Path != "specs/a.md" || got[0].Problems == nil || got[1].Path != "specs/b.md" ||
		got[1].Problems != nil {
		t.Errorf("read %+v", got)
	}
	if files := specFiles(got); len(files) != 1 || len(files[0].Criteria) != 2 {
		t.Errorf("of use: %+v", files)
	}
}

func FuzzParseSpec(f *testing.F) {
	f.Add(example)
	f.Add("# a\n## Acceptance Criteria\n- [ ] x\n\ty\n<!--\n```\n~~~~\n---\n===")
	f.Fuzz(func(t *testing.T, text string) {
		sp := ParseSpec("specs/x.md", []byte(text))
		if sp.Title == "" {
			t.Error("no title")
		}
		for _, c := range sp.Criteria {
			if strings.TrimSpace(c) != c || c == "" || strings.ContainsAny(c, "\n\r") {
				t.Errorf("criterion %q", c)
			}
		}
		if len(sp.Criteria) == 0 && sp.Problems == nil {
			t.Error("a spec without criteria passes")
		}
	})
}
