package checks

import (
	"slices"
	"strings"
)

// Strategy says which kinds of checks can reject.
type Strategy string

// The strategies of validation.strategy.
const (
	Strict    Strategy = "strict"
	Lenient   Strategy = "lenient"
	TestsOnly Strategy = "tests_only"
)

// Mode says what a check that was red before the first iteration means.
type Mode string

// The modes of validation.baseline.
const (
	Record   Mode = "record"
	FixFirst Mode = "fix-first"
	Require  Mode = "require"
	Off      Mode = "off"
)

// Select are the checks that a strategy runs at all: tests_only leaves out
// every kind but test. Kinds that are empty are guessed in the copies.
func Select(configured []Check, s Strategy) []Check {
	var out []Check
	for _, c := range configured {
		c.Kind = c.kind()
		if s != TestsOnly || c.Kind == Test {
			out = append(out, c)
		}
	}
	return out
}

// Baseline is what the checks said before the first iteration, and the best
// that each has been since. It is a value: Update returns a new one.
type Baseline struct {
	Checks []BaselineCheck `toml:"checks" json:"checks"`
}

// BaselineCheck is the memory of one check. The command belongs to its
// identity: a check that the user rewrote starts anew.
type BaselineCheck struct {
	Name    string `toml:"name" json:"name"`
	Command string `toml:"command" json:"command"`
	// Green is true once the check has passed; it never becomes false again.
	Green bool `toml:"green" json:"green"`
	// Tests is how many tests ran when it was green the last time; 0 = unknown.
	Tests int `toml:"tests,omitempty" json:"tests,omitempty"`
	// Tested is true once tests ran, counted or not.
	Tested bool `toml:"tested,omitempty" json:"tested,omitempty"`
	// Spoke is true once its output spoke of tests, green or red.
	Spoke bool `toml:"spoke,omitempty" json:"spoke,omitempty"`
	// Lenient is true when it exited with 0 before any work and its runner said that
	// tests failed: the user's command forgives them.
	Lenient bool `toml:"lenient,omitempty" json:"lenient,omitempty"`
	// Criterion is a verify command of a task; it is remembered when tests ran.
	Criterion bool `toml:"criterion,omitempty" json:"criterion,omitempty"`
}

// Red reports whether the check of this name and command was run and has never
// been green.
func (b Baseline) Red(name, command string) bool {
	i := b.find(name, command)
	return i >= 0 && !b.Checks[i].Green
}

// emptied reports whether a result says that no test ran where some did before, or
// no longer speaks of tests at all. A suite that is gone is not a suite that
// passes, and a runner that was ended by code it loaded did not finish.
func (b Baseline) emptied(r Result) bool {
	if !r.Passed {
		return false
	}
	i := b.find(r.Name, r.Command)
	if i >= 0 && r.Tests != nil && *r.Tests == 0 && (b.Checks[i].Tested || b.Checks[i].Tests > 0) {
		return true
	}
	// The same command may be a check and what proves a task.
	spoke := func(c BaselineCheck) bool { return c.Spoke && c.Command == r.Command }
	return r.Quiet && slices.ContainsFunc(b.Checks, spoke)
}

// belied reports whether a runner said that tests failed while its exit code says
// success. That means that code loaded by the tests set the exit code, unless the
// command did so before or says that it forgives failures.
func (b Baseline) belied(r Result) bool {
	lenient := func(c BaselineCheck) bool { return c.Lenient && c.Command == r.Command }
	return r.Passed && r.SaysFailed && !strings.Contains(r.Command, "||") && !slices.ContainsFunc(b.Checks, lenient)
}

func (b Baseline) find(name, command string) int {
	return slices.IndexFunc(b.Checks, func(c BaselineCheck) bool { return c.Name == name && c.Command == command })
}

// Update is the baseline after results that were kept (or the baseline run
// itself): what was green once stays green. Results of rejected attempts must not
// be given to it, because their code is gone. Criteria belong to a task. Of them
// it keeps those that ran tests, which must continue to run. A check that is no
// longer configured is dropped with the next result of its name.
func (b Baseline) Update(results []Result) Baseline {
	out := Baseline{Checks: slices.Clone(b.Checks)}
	for _, r := range results {
		i := out.find(r.Name, r.Command)
		if r.Kind == Criterion {
			if !r.Passed || !r.Spoke || i >= 0 && !out.Checks[i].Criterion {
				continue
			}
		} else {
			out.Checks = slices.DeleteFunc(out.Checks, func(c BaselineCheck) bool {
				return c.Name == r.Name && (c.Command != r.Command || c.Criterion)
			})
			i = out.find(r.Name, r.Command)
		}
		if i < 0 {
			i = len(out.Checks)
			out.Checks = append(out.Checks, BaselineCheck{Name: r.Name, Command: r.Command, Criterion: r.Kind == Criterion})
		}
		out.Checks[i].Green = out.Checks[i].Green || r.Passed
		if r.Passed && r.Tests != nil {
			out.Checks[i].Tests = *r.Tests
		}
		out.Checks[i].Spoke = out.Checks[i].Spoke || r.Spoke
		out.Checks[i].Lenient = out.Checks[i].Lenient || r.Passed && r.SaysFailed
		out.Checks[i].Tested = out.Checks[i].Tested || r.Passed && r.Tested
	}
	return out
}

// Verdict is what the results mean together.
type Verdict struct {
	Pass bool
	// Failed and Criteria are the names of what rejects, in the order of the results.
	Failed, Criteria []string
	// AlreadyRed and Tolerated are red and do not reject: by the baseline, by
	// the check's own word or the strategy.
	AlreadyRed, Tolerated []string
	Flaky                 []string
	// Reasons are the words of the reject, `checks: test, lint` and `criteria:
	// sh test.sh`; empty when Pass.
	Reasons []string
	// Results are those that were given, with AlreadyRed and Tolerated set.
	Results []Result
}

// Weigh judges results. Checks that the strategy ignores are neither failed nor
// tolerated. With no results at all it passes: whether anything must be proved
// is Verifies.
func Weigh(results []Result, base Baseline, mode Mode, strategy Strategy) Verdict {
	v := Verdict{Results: slices.Clone(results)}
	var failed, criteria []string
	for i := range v.Results {
		r := &v.Results[i]
		r.AlreadyRed, r.Tolerated = false, false
		if base.emptied(*r) {
			r.Passed, r.NoTests = false, true
		}
		if base.belied(*r) {
			r.Passed, r.Problem = false, "the runner says that tests failed, and exited with 0"
		}
		if r.Passed {
			if r.Flaky {
				v.Flaky = append(v.Flaky, r.Name)
			}
			continue
		}
		shown := r.shown()
		if r.TimedOut {
			shown += " (timeout)"
		} else if r.Limit != "" {
			shown += " (limit: " + r.Limit + ")"
		} else if r.NoTests {
			shown += " (" + noTestRan + ")"
		}
		if r.SaysFailed && r.Problem != "" {
			shown += " (" + r.Problem + ")"
		}
		switch {
		case r.Kind == Criterion:
			v.Criteria = append(v.Criteria, r.Name)
			criteria = append(criteria, shown)
		case strategy == TestsOnly && r.Kind != Test:
		case r.AllowFailure || tolerates(strategy, r.Kind):
			r.Tolerated = true
			v.Tolerated = append(v.Tolerated, r.Name)
		case (mode == Record || mode == FixFirst) && base.Red(r.Name, r.Command):
			r.AlreadyRed = true
			v.AlreadyRed = append(v.AlreadyRed, r.Name)
		default:
			v.Failed = append(v.Failed, r.Name)
			failed = append(failed, shown)
		}
	}
	if len(failed) > 0 {
		v.Reasons = append(v.Reasons, "checks: "+strings.Join(slices.Compact(failed), ", "))
	}
	if len(criteria) > 0 {
		v.Reasons = append(v.Reasons, "criteria: "+strings.Join(slices.Compact(criteria), ", "))
	}
	v.Pass = len(v.Reasons) == 0
	return v
}

// tolerates says that a strategy runs checks of a kind and lets them fail.
func tolerates(s Strategy, k Kind) bool { return s == Lenient && (k == Lint || k == Format) }

// Provable reports whether anything could prove a task with this verify list: a
// criterion of its own, or a check that binds after each iteration and that the
// baseline does not excuse.
func Provable(verify []string, configured []Check, strategy Strategy, mode Mode, base Baseline) bool {
	excused := func(c Check) bool { return (mode == Record || mode == FixFirst) && base.Red(c.Name, c.Run) }
	return len(Criteria(verify, configured)) > 0 ||
		slices.ContainsFunc(configured, func(c Check) bool { return c.Binds(strategy) && !c.AtEnd && !excused(c) })
}
