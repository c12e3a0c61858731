package checks

import (
	"regexp"
	"strconv"
	"sync"
)

// report is a machine-readable format of test results in the output: XML, JSON, TAP.
// ran finds the tests that ran, left the skipped ones among them, failed those that
// failed. A match counts as one test, or as the number in its group.
type report struct {
	form              string
	ran, left, failed string
}

// Runners that print a summary as well are counted by that.
var reportForms = []report{
	{"JUnit: pytest, node, Vitest, Mocha, Deno, RSpec, PHPUnit, Playwright", `<testcase[\s>]`, `<skipped[\s/>]`,
		`<(?:failure|error)[\s/>]`},
	{"JSON of Jest and Vitest", `"numPassedTests": ?(\d+)`, "", `"numFailedTests": ?([1-9]\d*)`},
	{"JSON of Mocha", `"passes": ?(\d+),\s*"pending": ?\d+`, "", `"pending": ?\d+,\s*"failures": ?([1-9]\d*)`},
	{"JSON of RSpec", `"example_count": ?(\d+)`, `"pending_count": ?(\d+)`, `"failure_count": ?([1-9]\d*)`},
	{"JSON of Playwright", `"expected": ?(\d+),\s*"skipped": ?\d+`, "", `"unexpected": ?([1-9]\d*)`},
	{"JSON of libtest", `"type": ?"suite"[^\n]*"passed": ?(\d+)`, "", `"type": ?"suite"[^\n]*"failed": ?([1-9]\d*)`},
	{"TeamCity", `(?m)^ *##teamcity\[testFinished `, "", `(?m)^ *##teamcity\[testFailed `},
	{"TAP", `(?m)^1\.\.(\d+)\b`, `(?mi)^ok \d+\b[^\n]*# (?:skip|todo)\b`, `(?m)^not ok \d+\b[^#\n]*$`},
}

var compiledReports = sync.OnceValue(func() [][3]*regexp.Regexp {
	var out [][3]*regexp.Regexp
	for _, f := range reportForms {
		var c [3]*regexp.Regexp
		for i, pattern := range []string{f.ran, f.left, f.failed} {
			if pattern != "" {
				c[i] = regexp.MustCompile(pattern)
			}
		}
		out = append(out, c)
	}
	return out
})

// reported is how many tests ran and failed by reports in the output; known is false
// when there is none.
func reported(output string) (n, failed int, known bool) {
	sum := func(re *regexp.Regexp) (total int, found bool) {
		if re == nil {
			return 0, false
		}
		for _, m := range re.FindAllStringSubmatch(output, -1) {
			v := 1
			if len(m) > 1 {
				v, _ = strconv.Atoi(m[1])
			}
			total, found = total+v, true
		}
		return total, found
	}
	for _, f := range compiledReports() {
		ran, found := sum(f[0])
		if !found {
			continue
		}
		left, _ := sum(f[1])
		bad, _ := sum(f[2])
		n, failed, known = n+max(0, ran-left), failed+bad, true
	}
	return n, failed, known
}
