package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPowerful(t *testing.T) {
	for _, row := range []struct {
		why, text string
		want      []string
	}{
		{"nothing is nothing", "", nil},
		{"what neither runs nor opens anything is left out", "[loop]\nmax_iterations = 3\n[limits]\ntotal_usd = 1.0\n", nil},
		{"commands of every kind",
			"[project]\ngoal = \"x\"\nsetup = [\"a\", \"b\"]\n[[steps]]\nname = \"s\"\nrun = \"c\"\n[notify]\nhalt = [\"d\"]\n" +
				"[mcp.m]\ncommand = [\"e\"]\n[toolchain]\ntest = \"f\"\n[agent]\nmodel = \"m\"\ncommand = [\"g\"]\n",
			[]string{`agent.command = ["g"]`, `mcp.m.command = ["e"]`, `notify.halt = ["d"]`,
				`project.setup = ["a", "b"]`, `steps.s.run = "c"`, `toolchain.test = "f"`}},
		{"tables without a name are numbered", "[[checks]]\nrun = \"a\"\n[[checks]]\nrun = \"b\"\nallow_failure = true\n",
			[]string{`checks.1.run = "a"`, `checks.2.allow_failure = true`, `checks.2.run = "b"`}},
		{"the boundary", "[guard]\nsandbox = \"off\"\nwritable = [\"/\"]\n",
			[]string{`guard.sandbox = "off"`, `guard.writable = ["/"]`}},
		{"a value is one line, whatever it holds", "[project]\nsetup = [\"a\\nb\\u001b\"]\n",
			[]string{`project.setup = ["a\nb\x1b"]`}},
	} {
		t.Run(row.why, func(t *testing.T) {
			got, err := Powerful([]byte(row.text))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(row.want, got); d != "" {
				t.Error(d)
			}
		})
	}
	if _, err := Powerful([]byte("= 3")); err == nil || !strings.Contains(err.Error(), "read settings") {
		t.Errorf("no TOML: %v", err)
	}
}
