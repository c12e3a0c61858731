package checks

import (
	"strings"
	"testing"
)

func TestDue(t *testing.T) {
	unit, slow := Check{Name: "unit"}, Check{Name: "slow", AtEnd: true}
	web, api := Check{Name: "web", Paths: []string{"web/**", "*.html"}}, Check{Name: "api", Paths: []string{"api/**"}}
	lint := Check{Name: "lint", Kind: Lint}
	may := Check{Name: "may", AllowFailure: true}
	for _, tt := range []struct {
		why     string
		checks  []Check
		changed []string
		want    string
	}{
		{"a path that matches", []Check{unit, web, api}, []string{"web/a/b.ts"}, "unit web"},
		{"one of several globs", []Check{unit, web, api}, []string{"x.go", "index.html"}, "unit web"},
		{"no path matches", []Check{unit, web, api}, []string{"README"}, "unit"},
		{"two of them", []Check{unit, web, api}, []string{"api/x", "web/y"}, "unit web api"},
		{"an empty difference leaves nothing out", []Check{unit, web, api}, []string{}, "unit web api"},
		{"nor does one that is not known", []Check{unit, web, api}, nil, "unit web api"},
		{"nothing else would look at the change", []Check{web, api}, []string{"README"}, "web api"},
		{"a check that may fail looks at nothing", []Check{may, web}, []string{"README"}, "may web"},
		{"nor does one that the strategy lets fail", []Check{lint, web}, []string{"README"}, "lint web"},
		{"the slow ones wait for the end, whatever was changed", []Check{unit, slow}, nil, "unit"},
		{"also alone", []Check{slow}, []string{"x"}, ""},
	} {
		due, left := Due(tt.checks, tt.changed, Lenient)
		var names []string
		for _, c := range due {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != tt.want || len(due)+len(left) != len(tt.checks) {
			t.Errorf("%s: due %q, left %v", tt.why, got, left)
		}
	}
}
