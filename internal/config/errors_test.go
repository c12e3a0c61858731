package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/internal/proc"
)

// problems are the lines of Load's error for the sources.
func problems(t *testing.T, src Sources) []string {
	t.Helper()
	r, err := Load(src)
	if err == nil {
		return nil
	}
	if r != nil {
		t.Error("Load gave settings and an error")
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("Load gave %T, want *Error", err)
	}
	if e.Hint() == "" {
		t.Errorf("no hint for: %v", err)
	}
	return strings.Split(err.Error(), "\n")
}

func TestFileProblems(t *testing.T) {
	tests := []struct {
		why, text string
		want      []string
	}{
		{"a misspelt key", "[loop]\n\nmax_iteration = 3\n",
			[]string{"ralph.toml:3:1: unknown key loop.max_iteration; did you mean loop.max_iterations?"}},
		{"a key in the wrong table", "[agent]\nmax_iterations = 3\n",
			[]string{"ralph.toml:2:1: unknown key agent.max_iterations; did you mean loop.max_iterations?"}},
		{"a misspelt table is reported once", "[lop]\nmode = \"x\"\nnonsense = 1\n",
			[]string{"ralph.toml:1:2: unknown key lop; did you mean loop?"}},
		{"a key at the top", "max_iterations = 3\n",
			[]string{"ralph.toml:1:1: unknown key max_iterations; did you mean loop.max_iterations?"}},
		{"nothing is near, and the nearest is named all the same", "[loop]\nzzzzzzzzzzzzzzzzzzzz = 3\n",
			[]string{"ralph.toml:2:1: unknown key loop.zzzzzzzzzzzzzzzzzzzz; the nearest known one is loop.mode"}},
		{"a key of a named table keeps the name", "[agent.roles.planning]\nmodle = \"x\"\n",
			[]string{"ralph.toml:2:1: unknown key agent.roles.planning.modle; did you mean agent.roles.planning.model?"}},
		{"a key of a list's table", "[[checks]]\nname = \"test\"\nrun = \"x\"\ntimout = \"1s\"\n",
			[]string{"ralph.toml:4:1: unknown key checks.test.timout; did you mean checks.test.timeout?"}},
		{"a key below a step", "[[steps]]\nname = \"a\"\nrun = \"x\"\nenabled = true\nbreaker = {treshold = 1}\n",
			[]string{"ralph.toml:5:12: unknown key steps.a.breaker.treshold; did you mean steps.a.breaker.threshold?"}},
		{"a dotted key", "loop.max_iteration = 1\n",
			[]string{"ralph.toml:1:6: unknown key loop.max_iteration; did you mean loop.max_iterations?"}},
		{"all problems at once, in the order of the file",
			"[loop]\nmode = \"fast\"\nmax_iterations = \"20\"\n[agent]\ntimeout = 20\nask = \"yes\"\n[loop.x]\n",
			[]string{
				`ralph.toml:2:8: loop.mode must be one of handoff-only, handoff-plus-index, agent-orchestrated, not "fast"`,
				`ralph.toml:3:18: loop.max_iterations must be a whole number, not the string "20"`,
				`ralph.toml:5:11: agent.timeout must be a duration such as "20m" or "1h30m", not the number 20`,
				`ralph.toml:6:7: agent.ask must be true or false, not the string "yes"`,
				`ralph.toml:7:7: unknown key loop.x; did you mean loop?`,
			}},
		{"a misspelt value", "[loop]\nmode = \"handof-only\"\n",
			[]string{`ralph.toml:2:8: loop.mode must be one of handoff-only, handoff-plus-index, agent-orchestrated, not ` +
				`"handof-only"; did you mean handoff-only?`}},
		{"an empty value where one is needed", "[agent]\ndriver = \"\"\n",
			[]string{`ralph.toml:2:10: agent.driver must be one of claude, codex, opencode, gemini, acp, command, ` +
				`scripted, not ""`}},
		{"a duration without a unit", "[agent]\ntimeout = \"20\"\n",
			[]string{`ralph.toml:2:11: agent.timeout must be a duration such as "20m" or "1h30m", not "20"`}},
		{"a negative duration", "[agent]\ntimeout = \"-1m\"\n",
			[]string{`ralph.toml:2:11: agent.timeout must not be negative, not "-1m"`}},
		{"a lease of no time", "[share]\nlease = \"0s\"\n",
			[]string{`ralph.toml:2:9: share.lease must be more than no time`}},
		{"a shared folder anywhere", "[worktree]\nshare = [\"/opt/deps\", \"../deps\", \"~/deps\", \"a/../../b\"]\n",
			[]string{
				`ralph.toml:2:1: worktree.share: "/opt/deps" is no name inside the worktree; write it from the worktree's top`,
				`ralph.toml:2:1: worktree.share: "../deps" leads out of the worktree; name folders in it`,
				`ralph.toml:2:1: worktree.share: "~/deps" is no name inside the worktree; write it from the worktree's top`,
				`ralph.toml:2:1: worktree.share: "a/../../b" leads out of the worktree; name folders in it`,
			}},
		{"a shared folder of git's", "[worktree]\nshare = [\".git\", \"sub/.GIT/hooks\", \"git~1\"]\n",
			[]string{
				`ralph.toml:2:1: worktree.share: ".git" is in a git directory, which cannot be shared; remove it`,
				`ralph.toml:2:1: worktree.share: "sub/.GIT/hooks" is in a git directory, which cannot be shared; remove it`,
				`ralph.toml:2:1: worktree.share: "git~1" is in a git directory, which cannot be shared; remove it`,
			}},
		{"shared folders that are no names", "[worktree]\nshare = [\".\", \"*/deps\", \"100%\", \"deps\", \"deps/a\"]\n",
			[]string{
				`ralph.toml:2:1: worktree.share: "." is the whole worktree; name folders in it`,
				`ralph.toml:2:1: worktree.share: "*/deps" is a pattern; name each folder`,
				`ralph.toml:2:1: worktree.share: "deps/a" lies in "deps", or the other way round; name one of them`,
			}},
		{"a size of no unit that we know", "[worktree]\nmax_file = \"50 blocks\"\n",
			[]string{`ralph.toml:2:12: worktree.max_file must be a size such as "50MB" or "1MiB", not "50 blocks"`}},
		{"a negative size", "[worktree]\nmax_file = -1\n",
			[]string{`ralph.toml:2:12: worktree.max_file must not be negative, not "-1"`}},
		{"a percentage above all", "[context]\nhandoff_percent = 160\nhard_percent = 0\n",
			[]string{
				"ralph.toml:2:19: context.handoff_percent must be a percentage from 1 to 100, not 160",
				"ralph.toml:3:16: context.hard_percent must be a percentage from 1 to 100, not 0",
			}},
		{"the soft limit above the hard one", "[context]\nhandoff_percent = 90\n",
			[]string{"ralph.toml:2:1: context.handoff_percent must not be above context.hard_percent, which is 80"}},
		{"a negative number", "[loop]\nmax_attempts = -1\n",
			[]string{"ralph.toml:2:16: loop.max_attempts must not be negative, not -1"}},
		{"a negative amount", "[limits]\ntotal_usd = -0.5\n",
			[]string{`ralph.toml:2:13: limits.total_usd must not be negative, not "-0.5"`}},
		{"an amount that is no number", "[limits]\ntotal_usd = inf\nsession_usd = \"5\"\n",
			[]string{
				"ralph.toml:2:13: limits.total_usd must be an amount in dollars such as 2.50, not the number inf",
				`ralph.toml:3:15: limits.session_usd must be an amount in dollars such as 2.50, not the string "5"`,
			}},
		{"an overlap above one", "[index]\nnovelty = 25\n",
			[]string{"ralph.toml:2:11: index.novelty must be at most 1, not 25"}},
		{"a part of a turn", "[agent]\nmax_turns = 1.5\n",
			[]string{"ralph.toml:2:13: agent.max_turns must be a whole number, not the number 1.5"}},
		{"more than a number can hold", "[agent]\nmax_turns = 9223372036854775807\n[limits]\ntotal_tokens = 1\n", nil},
		{"a window of nothing", "[context]\nwindow_tokens = 0\n",
			[]string{"ralph.toml:2:17: context.window_tokens must be at least 1, not 0"}},
		{"one string where a list is needed", "[project]\nsetup = \"npm ci\"\n",
			[]string{`ralph.toml:2:9: project.setup must be a list, ["npm ci"], not a string`}},
		{"a list with something else in it", "[project]\nsetup = [\"a\", 3]\n",
			[]string{"ralph.toml:2:1: project.setup must be a list of strings, not one with the number 3"}},
		{"an empty item", "[guard]\nprotected = [\"\"]\n",
			[]string{"ralph.toml:2:1: guard.protected must not have an empty item"}},
		{"a command without a program", "[agent]\ncommand = [\"\", \"x\"]\n",
			[]string{"ralph.toml:2:1: agent.command must begin with the name of a program"}},
		{"a pattern that nothing can match", "[guard]\nprotected = [\"a[\"]\n",
			[]string{`ralph.toml:2:1: guard.protected has a broken pattern: "a["`}},
		{"a goal of two lines", "[project]\ngoal = \"a\\nb\"\n",
			[]string{`ralph.toml:2:8: project.goal must be one line of text without control characters, not "a\nb"`}},
		{"a table where a value is needed", "[loop.mode]\n",
			[]string{"ralph.toml:1:7: loop.mode must be a string, not a table"}},
		{"a value where a table is needed", "loop = 3\n",
			[]string{"ralph.toml:1:1: loop must be a table, [loop], not the number 3"}},
		{"a date", "[project]\ngoal = 2026-01-01\n",
			[]string{"ralph.toml:2:8: project.goal must be a string, not a date or time"}},
		{"checks as one table", "[checks]\nname = \"a\"\n",
			[]string{"ralph.toml:1:2: checks must be tables, [[checks]], not a table"}},
		{"checks as strings", "checks = [\"go test\"]\n",
			[]string{`ralph.toml:1:11: checks must be tables, [[checks]], not the string "go test"`}},
		{"two checks of one name", "[[checks]]\nname = \"a\"\nrun = \"x\"\n[[checks]]\nname = \"a\"\nrun = \"y\"\n",
			[]string{`ralph.toml:5:8: checks.name "a" is used twice, first in line 2`}},
		{"a check without a name", "[[checks]]\nrun = \"x\"\n",
			[]string{"ralph.toml:1:3: [[checks]] has no name"}},
		{"names that cannot be shown", "[[checks]]\nname = \" \"\n[[steps]]\nname = 3\n[mcp.\"\"]\n",
			[]string{
				`ralph.toml:2:8: checks.name " " is empty`,
				"ralph.toml:4:8: steps.name must be a string, not the number 3",
				`ralph.toml:5:6: the name "" in mcp is empty`,
			}},
		{"a check without a command", "[[checks]]\nname = \"a b\"\n",
			[]string{`ralph.toml:1:3: checks."a b".run is missing`}},
		{"a trigger of no kind", "[[passes]]\nname = \"review\"\nenabled = true\ntrigger = \"periodic:0\"\n",
			[]string{`ralph.toml:4:1: passes.review.trigger must be always, on_success, on_failure or periodic:N, not ` +
				`"periodic:0"`}},
		{"a pass that would hide a role", "[[passes]]\nname = \"coding\"\nenabled = true\n",
			[]string{"ralph.toml:2:1: passes.coding.name is the name of a role; a pass needs one of its own"}},
		{"a role that nothing has", "[agent.roles.plannning]\nmodel = \"x\"\n",
			[]string{"ralph.toml:1:14: agent.roles.plannning is neither a role nor a pass; did you mean planning?"}},
		{"roles as a value", "[agent]\nroles = \"planning\"\n",
			[]string{`ralph.toml:2:1: agent.roles must be tables, [agent.roles.NAME], not the string "planning"`}},
		{"a role as a value", "[agent.roles]\nplanning = \"opus\"\n",
			[]string{`ralph.toml:2:1: agent.roles.planning must be a table, [agent.roles.planning], not the string "opus"`}},
		{"a server that is not there", "[mcp.context7]\nurl = \"x\"\n[agent.roles.coding]\nmcp = [\"context8\"]\n",
			[]string{`ralph.toml:4:1: agent.roles.coding.mcp names the server "context8", and there is no [mcp.context8]; did ` +
				`you mean context7?`}},
		{"a server that cannot be reached", "[mcp.a]\n[agent.roles.coding]\nmcp = [\"a\"]\n",
			[]string{`ralph.toml:3:1: agent.roles.coding.mcp names the server "a", which has neither command nor url`}},
		{"a server reached in two ways", "[mcp.a]\nurl = \"x\"\ncommand = [\"y\"]\n",
			[]string{"ralph.toml:2:1: mcp.a.url cannot be set together with command"}},
		{"an environment of numbers", "[mcp.a]\nenv = {A = 3}\n",
			[]string{`ralph.toml:2:7: mcp.a.env must be a table of strings; "A" is the number 3`}},
		{"a variable that is not set", "[agent]\n\nmodel = \"${RALPH_NO}\"\n",
			[]string{"ralph.toml:3:1: agent.model uses ${RALPH_NO}, which is not set in the environment"}},
		{"a variable with a default, as only shells have them", "[agent]\nmodel = \"${A:-b}\"\n",
			[]string{"ralph.toml:2:1: agent.model has ${A:-b}, which is not the name of a variable"}},
		{"a variable without an end", "[agent]\nmodel = \"${A\"\n",
			[]string{"ralph.toml:2:1: agent.model has a ${ that is not closed"}},
		{"a syntax error shows its line", "[loop]\nmode = \"a\"\nmax_iterations = = 3\n",
			[]string{`ralph.toml:3:18: `}},
		{"a string without its end", "[agent]\nmodel = \"abc\ntimeout = \"1s\"\n", []string{`ralph.toml:2:13: `}},
		{"a key given twice", "[loop]\nmode = \"handoff-only\"\nmode = \"handoff-only\"\n", []string{`ralph.toml:3:1: `}},
		{"a conflict left by a merge", "[loop]\n<<<<<<< HEAD\n", []string{`ralph.toml:2:1: `}},
		{"a binary file", "\x7fELF\x00\x01", []string{"ralph.toml:1:5: is a binary file, not text"}},
		{"latin-1", "[project]\ngoal = \"caf\xe9\"\n", []string{"ralph.toml:2:12: is not UTF-8 (byte 0xe9)"}},
		{"UTF-16, as some editors write it", "\xff\xfe[\x00", []string{"ralph.toml:1:1: is UTF-16, not UTF-8"}},
		{"a file that is no settings file", strings.Repeat("#", MaxFile+1),
			[]string{"ralph.toml: is 1048577B large; settings have at most 1MiB"}},
		{"a byte order mark is harmless", "\ufeff[loop]\r\nmode = \"handoff-only\"\r\n", nil},
		{"an empty file", "", nil},
	}
	for _, tt := range tests {
		got := problems(t, Sources{Files: file(tt.text)})
		// The message about syntax comes from the TOML library. The place and the
		// line come from us.
		if len(tt.want) == 1 && strings.HasSuffix(tt.want[0], ": ") {
			if len(got) != 1 || !strings.HasPrefix(got[0], tt.want[0]) || !strings.HasSuffix(got[0], `"`) {
				t.Errorf("%s: got %q, want the place %q and the line", tt.why, got, tt.want[0])
			}
			continue
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.why, diff)
		}
	}
}

func TestSyntaxErrorShowsTheLine(t *testing.T) {
	got := problems(t, Sources{Files: file("[loop]\nmax_iterations = = 3\n")})
	if len(got) != 1 || !strings.HasSuffix(got[0], `: "max_iterations = = 3"`) {
		t.Errorf("got %q", got)
	}
}

func TestEveryFileIsReported(t *testing.T) {
	got := problems(t, Sources{
		Files: []File{{FileName, []byte("= 1")}, {"ci.toml", []byte("[lop]\n")}},
		Git:   proc.Config{{Key: "ralph.agent.maxturns", Value: "x"}},
		Env:   map[string]string{"RALPH_MODE": "fast"},
		Flags: map[string]string{"loop.dirty": "maybe"},
	})
	want := []string{"ralph.toml:1:1: ", "ci.toml:1:2: unknown key lop",
		"git config ralph.agent.maxturns: agent.max_turns must be a whole number",
		"RALPH_MODE: loop.mode must be one of", `--dirty: loop.dirty must be one of refuse, commit, not "maybe"`}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("problem %d = %q, want it to begin with %q", i, got[i], want[i])
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	var text strings.Builder
	for i := range 4_900 {
		fmt.Fprintf(&text, "key%d = 1\n", i)
	}
	r, err := Load(Sources{Files: file(text.String())})
	var e *Error
	if !errors.As(err, &e) || r != nil {
		t.Fatalf("Load = %v, %v", r, err)
	}
	if len(e.Problems) != maxProblems || e.More != 4_900-maxProblems {
		t.Errorf("%d problems and %d more", len(e.Problems), e.More)
	}
}

func TestTooManyKeys(t *testing.T) {
	for why, text := range map[string]string{
		"keys":    strings.Repeat("a=1\n", MaxFile/4),
		"tables":  strings.Repeat("[[b]]\n", MaxFile/6),
		"in line": "a = [" + strings.Repeat("{b=1},", MaxFile/8) + "]",
	} {
		got := problems(t, Sources{Files: file(text)})
		if diff := cmp.Diff([]string{"ralph.toml: has more than 5000 keys"}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", why, diff)
		}
	}
}

// TestDeepNesting: a file within the size limit must not overflow the stack, from
// which Go cannot recover.
func TestDeepNesting(t *testing.T) {
	for why, text := range map[string]string{
		"arrays":        "a = " + strings.Repeat("[", MaxFile/2),
		"inline tables": "a = " + strings.Repeat("{a=", MaxFile/4),
		"a header":      "[" + strings.Repeat("a.", MaxFile/4) + "a]",
		"a dotted key":  strings.Repeat("a.", MaxFile/4) + "a = 1",
		"closed arrays": "[project]\nsetup = " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
	} {
		if got := problems(t, Sources{Files: file(text)}); len(got) != 1 || len(got[0]) > 300 {
			t.Errorf("%s: %d problems, %.300q", why, len(got), got)
		}
	}
}

func TestSuggest(t *testing.T) {
	tests := []struct{ name, want, why string }{
		{"loop.max_iteratoins", "; did you mean loop.max_iterations?", "two letters swapped"},
		{"LOOP.MAX_ITERATIONS", "; did you mean loop.max_iterations?", "case is no difference"},
		{"check", "; did you mean checks?", "one letter missing"},
		{strings.Repeat("x", 5000), "; ", "long names end soon and cut"},
	}
	for _, tt := range tests {
		if got := suggest(tt.name, knownKeys()); !strings.HasPrefix(got, tt.want) {
			t.Errorf("suggest(%.20q) = %q, want %q (%s)", tt.name, got, tt.want, tt.why)
		}
	}
	if got := suggest("x", nil); got != "" {
		t.Errorf("nothing known suggests %q", got)
	}
}
