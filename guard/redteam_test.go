package guard

import "testing"

// TestRedTeam holds a list that was written after the guard, against it: first
// contact let 11 of 447 hostile lines through and denied 1 of 142 innocent
// ones. The two other lists were each written after the misses of the one
// before were repaired. The same hand wrote guard and lists, so a stranger's list
// will do worse; that is why the sandbox carries the promise and not this
// package.
func TestRedTeam(t *testing.T) {
	for name, p := range corpusPolicies() {
		t.Run(name, func(t *testing.T) { checkSamples(t, p, "redteam.jsonl") })
	}
}

// checkSamples compares a list with its labels.
func checkSamples(t *testing.T, p *Policy, file string) {
	t.Helper()
	for _, s := range readSamples(t, file) {
		if v := p.Judge(s.Command); v.Verdict != s.Verdict {
			t.Errorf("%s: got %s (%s: %s), want %s: %q", s.Class, v.Verdict, v.Class, v.Reason, s.Verdict, s.Command)
		}
	}
}

// TestRedTeamSecond: first contact 12 of 339 through, 0 of 143 denied.
func TestRedTeamSecond(t *testing.T) {
	for name, p := range corpusPolicies() {
		t.Run(name, func(t *testing.T) { checkSamples(t, p, "redteam2.jsonl") })
	}
}

// TestRedTeamThird: first contact 4 of 152 through, 0 of 100 denied.
func TestRedTeamThird(t *testing.T) {
	for name, p := range corpusPolicies() {
		t.Run(name, func(t *testing.T) { checkSamples(t, p, "redteam3.jsonl") })
	}
}
