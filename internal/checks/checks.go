// Package checks owns the commands that decide about an agent's work: the
// project's checks, the criteria of a task, the steps around an iteration and
// the setup of a fresh checkout. It runs them under the guard of the caller,
// keeps a bounded part of their output, and weighs their results against a
// strategy and a baseline. It stores nothing itself: the baseline and the
// breakers of the steps are values that the caller persists.
//
// # The rules
//
//   - An exit code of zero is green, everything else is red; a check that is
//     still running at its timeout is red as well and carries Timeout.
//   - Exit codes 126 and 127, and what make makes of them, name a program in
//     Missing: whose fault that is, the caller knows.
//   - A red check is run again up to Runner.FlakyReruns times, each time from a
//     clean start. Green in one of these runs is Passed with Flaky set. A
//     timeout, a missing program and a check that could not be started are not
//     run again: the first costs its time twice, the others say the same twice.
//   - Strategy strict wants all green, lenient lets lint and format fail,
//     tests_only runs and weighs only kind test. Criteria must be green
//     whatever the strategy and the baseline say.
//   - Baseline record and fix-first: red in the baseline and still red does
//     not reject (AlreadyRed); green once is green for ever. A check whose
//     command was changed in the settings has no baseline and must be green.
//     Baseline require and off: everything must be green.
//   - A check with AllowFailure is run and told, and rejects nothing. As a
//     criterion it must be green like any other, when the task names it.
//
// # Limits
//
// Two checks of one call with the same command line are run once: a criterion
// that names a check takes that check's result, and is red where that says that
// no test ran. A command that changes its mind between the two runs is therefore not noticed here.
package checks

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kind says what a check proves, and so which strategies insist on it.
type Kind string

// The kinds. A criterion is a command (or a named check) of one task.
const (
	Test      Kind = "test"
	Lint      Kind = "lint"
	Typecheck Kind = "typecheck"
	Format    Kind = "format"
	Criterion Kind = "criterion"
)

// Check is one command that is green when it exits with zero.
type Check struct {
	Name string // for criteria the command or the name as the task gives it
	Run  string // a line for the shell
	Kind Kind   // empty = GuessKind(Run)
	// Timeout is the wall clock of one run; 0 = the runner's.
	Timeout time.Duration
	// AllowFailure excuses a red check: it rejects nothing and holds nothing up.
	AllowFailure bool
	// AtEnd checks run before complete, verify and a landing, not after each iteration.
	AtEnd bool
	// Hidden checks are kept from the agent: it learns that it failed and nothing else of it.
	Hidden bool
	// Paths are globs; the check is run after an iteration that changed one of
	// them. None = after every one.
	Paths []string
}

// Binds reports whether c can reject under a strategy: it is run, and red
// counts. Only such a check proves anything.
func (c Check) Binds(s Strategy) bool {
	return !c.AllowFailure && (s != TestsOnly || c.kind() == Test) && !tolerates(s, c.kind())
}

// Result is what one check said. Its JSON is the object that `show --json`
// lists in checks[].
type Result struct {
	Name    string
	Kind    Kind
	Command string
	// ExitCode is 128+n for a command that was ended by signal n, and -1 for
	// one that could not be started.
	ExitCode int
	Passed   bool
	TimedOut bool
	Flaky    bool // red first, green when it was run again
	// Tests is how many tests ran and passed, nil when the output does not say.
	Tests *int
	// Tested: tests ran, even if the output does not say how many.
	Tested bool
	// Spoke: the output speaks of tests, even of failed ones.
	Spoke bool
	// Quiet: the output is complete and speaks neither of tests nor of nothing to do.
	Quiet bool
	// SaysFailed: the runner's last words are that tests failed, but the exit code
	// was 0.
	SaysFailed bool
	// NoTests: it succeeded without any of the tests that it asks for, or
	// without any where there were some. That is red.
	NoTests    bool
	AlreadyRed bool // set by Weigh: red before this iteration too
	// AllowFailure is the check's; Tolerated is set by Weigh: red, and allowed to
	// be, by the check or by the strategy.
	AllowFailure, Tolerated bool
	Hidden                  bool // the check's
	DurationMs              int64
	// Output is standard output and standard error as they came, head and tail
	// of at most Runner.MaxOutput bytes with a marker between them.
	Output []byte
	// OutputBytes counts everything that was printed.
	OutputBytes int64
	Attempts    int // runs of the command, the flaky re-runs included
	// Problem is why the command could not be run at all; Passed is false then.
	Problem string
	// Limit names what it took too much of: memory, disk or processes.
	Limit string
	// Missing is the program that the command did not find or could not run.
	Missing string
}

type resultJSON struct {
	Name       string `json:"name"`
	Kind       Kind   `json:"kind"`
	Command    string `json:"command"`
	ExitCode   int    `json:"exit_code"`
	Passed     bool   `json:"passed"`
	DurationMs int64  `json:"duration_ms"`
	Output     string `json:"output"`
	Timeout    bool   `json:"timeout,omitempty"`
	Flaky      bool   `json:"flaky,omitempty"`
	AlreadyRed bool   `json:"already_red,omitempty"`
	Tolerated  bool   `json:"tolerated,omitempty"`
	Attempts   int    `json:"attempts,omitempty"`
	Bytes      int64  `json:"output_bytes,omitempty"`
	Problem    string `json:"problem,omitempty"`
	Tests      *int   `json:"tests,omitempty"`
	NoTests    bool   `json:"no_tests,omitempty"`
	Missing    string `json:"missing,omitempty"`
	Limit      string `json:"limit,omitempty"`
}

// MarshalJSON writes Output as valid UTF-8 text, the way people read it.
func (r Result) MarshalJSON() ([]byte, error) {
	attempts := r.Attempts
	if attempts == 1 {
		attempts = 0
	}
	return json.Marshal(resultJSON{
		Name: r.Name, Kind: r.Kind, Command: r.Command, ExitCode: r.ExitCode, Passed: r.Passed,
		DurationMs: r.DurationMs, Output: strings.ToValidUTF8(string(r.Output), "\uFFFD"),
		Timeout: r.TimedOut, Flaky: r.Flaky, AlreadyRed: r.AlreadyRed, Tolerated: r.Tolerated, Attempts: attempts,
		Bytes: r.OutputBytes, Problem: r.Problem, Missing: r.Missing, Tests: r.Tests, NoTests: r.NoTests, Limit: r.Limit,
	})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (r *Result) UnmarshalJSON(data []byte) error {
	var j resultJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return fmt.Errorf("read check result: %w", err)
	}
	*r = Result{
		Name: j.Name, Kind: j.Kind, Command: j.Command, ExitCode: j.ExitCode, Passed: j.Passed,
		TimedOut: j.Timeout, Flaky: j.Flaky, AlreadyRed: j.AlreadyRed, Tolerated: j.Tolerated, DurationMs: j.DurationMs,
		Output: []byte(j.Output), OutputBytes: j.Bytes, Attempts: max(1, j.Attempts), Problem: j.Problem,
		Missing: j.Missing, Tests: j.Tests, NoTests: j.NoTests, Limit: j.Limit,
	}
	return nil
}

// Short is the result with its output narrowed to chars characters, for the
// event and for a prompt; the whole output belongs into the evidence.
func (r Result) Short(chars int) Result {
	r.Output = []byte(Narrow(r.Output, chars))
	return r
}

// State is a result in a word or two for people.
func (r Result) State() string {
	switch {
	case r.Passed && r.Flaky:
		return "flaky"
	case r.Passed:
		return "passed"
	case r.AlreadyRed:
		return "already red"
	case r.Tolerated:
		return "failed, and may"
	case r.TimedOut:
		return "timeout"
	case r.Limit != "":
		return "limit: " + r.Limit
	case r.NoTests:
		return noTestRan
	default:
		return "failed"
	}
}

// kindWords are looked up in this order; the first match decides. The lint
// words match anywhere in the command (golangci-lint, ./lint.sh), the others
// as words, so that `npm test -- velvet` is no type check.
var kindWords = sync.OnceValue(func() []struct {
	kind Kind
	re   *regexp.Regexp
} {
	return []struct {
		kind Kind
		re   *regexp.Regexp
	}{
		{Lint, regexp.MustCompile(`shellcheck|lint|eslint|flake8|pylint|stylelint`)},
		{Typecheck, regexp.MustCompile(`\b(mypy|tsc|pyright|basedpyright|vet)\b`)},
		{Format, regexp.MustCompile(`fmt\b|\bformat\b|(^|\s)--check\b`)},
	}
})

// GuessKind is the kind of a command that has none in the settings. Whatever
// is not known to be something else is a test, because tests block.
func GuessKind(run string) Kind {
	for _, w := range kindWords() {
		if w.re.MatchString(run) {
			return w.kind
		}
	}
	return Test
}

// kind is c.Kind, guessed when it is empty.
func (c Check) kind() Kind {
	if c.Kind != "" {
		return c.Kind
	}
	return GuessKind(c.Run)
}

// Criteria resolves the verify list of a task to checks of kind criterion. An entry is the name of a configured
// check; a kind (`test` or `tests`, `lint`, `typecheck`, `format_check` or `format`), which stands for every check
// of that kind; `all`; `hidden check`, which stands for every hidden one; or a command for the shell. A kind
// without a configured check is a command, too: it fails and so names itself, where silence would let the
// criterion pass. The order is kept, and each check is listed once.
func Criteria(verify []string, configured []Check) []Check {
	var out []Check
	add := func(name string, c Check) {
		if !slices.ContainsFunc(out, func(o Check) bool { return o.Run == c.Run }) {
			out = append(out, Check{Name: name, Run: c.Run, Kind: Criterion, Timeout: c.Timeout, Hidden: c.Hidden})
		}
	}
	for _, entry := range verify {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		found := false
		for _, c := range configured {
			if c.Name == entry || c.Hidden && entry == HiddenName {
				add(c.Name, c)
				found = true
			}
		}
		if found {
			continue
		}
		means := func(c Check) bool { return entry == "all" || c.kind() == namedKind(entry) }
		// A kind does not mean the checks that may fail or are run at the end,
		// unless it has no others.
		binds := slices.ContainsFunc(configured, func(c Check) bool { return means(c) && !c.AllowFailure && !c.AtEnd })
		for _, c := range configured {
			if means(c) && !(binds && (c.AllowFailure || c.AtEnd)) {
				add(c.Name, c)
				found = true
			}
		}
		if !found {
			add(entry, Check{Run: entry})
		}
	}
	return out
}

func namedKind(entry string) Kind {
	switch entry {
	case "test", "tests":
		return Test
	case "lint":
		return Lint
	case "typecheck":
		return Typecheck
	case "format", "format_check":
		return Format
	}
	return Kind("\x00") // no check has it
}
