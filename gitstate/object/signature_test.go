package object

import (
	"fmt"
	"strings"
	"testing"
)

// TestAuthorsAsGitReadsThem: histories contain commits of other tools, some with an
// invalid author. git log is the oracle.
func TestAuthorsAsGitReadsThem(t *testing.T) {
	s, git := newStore(t, "")
	tree := git("", "hash-object", "-t", "tree", "-w", "--stdin")
	for _, author := range []string{
		"A U Thor <a@example.com> 1700000000 +0100",
		"A U Thor <a@example.com> 1700000000 -0030",
		"no mail 1700000000 +0100",
		"one bracket <a@example.com 1700000000 +0100",
		"the other bracket a@example.com> 1700000000 +0100",
		"",
		"<a@example.com> 1700000000 +0000",
		"two <a> <b@example.com> 1700000000 +0130",
		"blanks < a@example.com > 1700000000 +0000",
		"no time <a@example.com>",
		"no zone <a@example.com> 1700000000",
		"no number <a@example.com> x +0000",
		"text before the time <a@example.com>x 1700000000 +0100",
		"before 1970 <a@example.com> -5 +0000",
		"a short zone <a@example.com> 1700000000 +9",
		"latin-1 \xe9 <a@example.com> 1700000000 +0000",
	} {
		data := fmt.Sprintf("tree %s\nauthor %s\ncommitter C <c@example.com> 1 +0000\n\nmessage\n", tree, author)
		id, err := ParseID(git(data, "hash-object", "-t", "commit", "-w", "--stdin", "--literally"))
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.ReadCommit(id)
		if err != nil {
			t.Errorf("%q: %v", author, err)
			continue
		}
		got := c.Author.Name + "|" + c.Author.Email + "|"
		if !c.Author.When.IsZero() {
			got += fmt.Sprint(c.Author.When.Unix(), "|", c.Author.When.Format("-0700"))
		} else {
			got += "|"
		}
		want := git("", "-c", "i18n.logOutputEncoding=none", "log", "-1", "--format=%an|%ae|%at|%ai", id.String())
		f := strings.Split(want, "|") // of the date only the zone counts: git and Go agree on the seconds
		if date := strings.Fields(f[3]); len(date) > 0 {
			f[3] = date[len(date)-1]
		}
		if want = strings.Join(f, "|"); got != want {
			t.Errorf("%q: %q, git says %q", author, got, want)
		}
		if c.Tree.String() != tree || c.Message != "message\n" {
			t.Errorf("%q: the rest of the commit is wrong: %+v", author, c)
		}
	}
}
