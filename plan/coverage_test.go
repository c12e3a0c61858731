package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUncovered(t *testing.T) {
	p := tasks("a done", "b", "c skipped", "d failed")
	p.Tasks[0].Criteria = []string{"A wrong password is refused."}
	p.Tasks[1].Title, p.Tasks[1].Description = "limit the rate", "Requests of one address are limited to ten a minute."
	p.Tasks[2].Criteria = []string{"Sessions end after an hour"}
	p.Tasks[3].Verify = []string{"test -f export.csv"}
	for _, c := range []struct {
		name, criterion string
		covered         bool
	}{
		{"word for word, but for case and stops", "a wrong PASSWORD is refused", true},
		{"in other words of the same stems", "More than ten requests a minute from one address are limited", true},
		{"of a task that was left out", "Sessions end after an hour", false},
		{"of a failed task, which is wanted all the same", "`export.csv` is there", true},
		{"of nothing", "The audit log names who deleted a user", false},
		{"one word in common is no cover", "A password can be reset by mail", false},
		{"without any word that says something", "it is so", false},
		{"in another script", "パスワード が 必要", false},
	} {
		want := []string{c.criterion}
		if c.covered {
			want = []string{}
		}
		if d := cmp.Diff(want, Uncovered(p, []string{c.criterion})); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}
