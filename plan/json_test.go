package plan

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTaskJSON(t *testing.T) {
	t.Run("lists are never null, nothing is left out that scripts read", func(t *testing.T) {
		got, err := json.Marshal(Task{ID: "T-001", Title: "x", Status: Pending, Priority: 1, Failure: "not for scripts"})
		if err != nil {
			t.Fatal(err)
		}
		want := `{"id":"T-001","title":"x","description":"","priority":1,"status":"pending","depends_on":[],"criteria":[],` +
			`"verify":[],"skills":[],"libraries":[],"needs_docs":false,"spec":"","max_turns":0,"max_attempts":null,` +
			`"attempts":0,` +
			`"estimated_tokens":0,"actual_tokens":0,"cost_usd":0,"blocked_by":[],"notes":"","completed_at":null,` +
			`"allow_test_changes":false,"no_change_expected":false}`
		if d := cmp.Diff(want, string(got)); d != "" {
			t.Error(d)
		}
	})
	t.Run("round trip of everything but the failure", func(t *testing.T) {
		in := fullTask()
		data, err := json.Marshal([]Task{in})
		if err != nil {
			t.Fatal(err)
		}
		var out []Task
		if err := json.Unmarshal(data, &out); err != nil {
			t.Fatal(err)
		}
		in.Failure = ""
		if d := cmp.Diff([]Task{in}, out, sameTask); d != "" {
			t.Error(d)
		}
	})
	t.Run("a short task gets the values of a new one", func(t *testing.T) {
		var got Task
		if err := json.Unmarshal([]byte(`{"id":"a","cost_usd":null,"future":1}`), &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(Task{ID: "a", Status: Pending, Priority: 1}, got, sameTask); d != "" {
			t.Error(d)
		}
	})
}

func TestDollars(t *testing.T) {
	for _, c := range []struct {
		why   string
		micro int64
		text  string
	}{
		{"nothing", 0, "0"},
		{"no trailing zeros", 421100, "0.4211"},
		{"whole dollars", 50_000_000, "50"},
		{"the smallest", 1, "0.000001"},
		{"a tenth, which floats cannot say", 100_000, "0.1"},
		{"the largest", 1<<63 - 1, "9223372036854.775807"},
		{"the lowest", -1 << 63, "-9223372036854.775808"},
		{"ten stays ten", 10_000_000, "10"},
	} {
		if got := Dollars(c.micro); got != c.text {
			t.Errorf("%s: %q, want %q", c.why, got, c.text)
		}
		if got, err := ParseDollars(c.text); err != nil || got != c.micro {
			t.Errorf("%s: %d %v", c.why, got, err)
		}
	}
	for text, want := range map[string]int64{"0.0000005": 1, "0.0000004": 0, "-0.0000005": -1, "1e-3": 1000,
		"2.5E1": 25_000_000} {
		if got, err := ParseDollars(text); err != nil || got != want {
			t.Errorf("%s: %d %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"1e999999999", "x", "1/3", "0x10", "9999999999999999999"} {
		if got, err := ParseDollars(text); err == nil {
			t.Errorf("%s: %d", text, got)
		}
	}
}
