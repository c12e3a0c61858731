package checks

import "testing"

func TestReports(t *testing.T) {
	const suite = `<testsuite name="s" tests="2" failures="0" skipped="1">`
	for why, c := range map[string]struct {
		output string
		n      int
		known  bool
		failed bool
	}{
		"node's junit": {"<testsuites>\n\t<testcase name=\"one\" time=\"0.1\" classname=\"test\"/>\n\t" + suite +
			"\n\t\t<testcase name=\"two\"/>\n\t\t<testcase name=\"three\">\n\t\t\t<skipped/>\n\t\t</testcase>\n",
			2, true, false},
		"no test of the name": {"<testsuites>\n\t<testcase name=\"one\">\n\t\t<skipped type=\"skipped\" message=\"test " +
			"name does not match pattern\"/>\n\t</testcase>\n", 0, true, false},
		"junit with a failure": {"<testcase name=\"a\"/><testcase name=\"b\"><failure message=\"no\">x</failure></testcase>",
			2, true, true},
		"pytest's junit beside its summary": {"<testsuites><testsuite name=\"pytest\" tests=\"1\"><testcase name=\"a\" />" +
			"</testsuite></testsuites>\n==== 1 passed in 0.01s ====\n", 1, true, false},
		"Jest's JSON": {`{"numFailedTests":0,"numPassedTests":3,"numPendingTests":1,"success":true}`, 3, true, false},
		"Jest's JSON without a test of the name": {
			`{"numFailedTests":0,"numPassedTests":0,"numPendingTests":4,"success":true}`, 0, true, false},
		"Vitest's JSON with a failure": {`{"numTotalTests":2,"numPassedTests":1,"numFailedTests":1}`, 1, true, true},
		"Mocha's JSON": {"{\n  \"stats\": {\n    \"suites\": 1,\n    \"tests\": 2,\n    \"passes\": 2,\n" +
			"    \"pending\": 0,\n    \"failures\": 0,\n", 2, true, false},
		"RSpec's JSON": {`{"summary":{"example_count":3,"failure_count":0,"pending_count":1}}`, 2, true, false},
		"Playwright's JSON": {"\"stats\": {\n \"duration\": 1,\n \"expected\": 4,\n \"skipped\": 0,\n \"unexpected\": 1,", 4,
			true, true},
		"libtest's JSON":       {`{ "type": "suite", "event": "ok", "passed": 0, "failed": 0 }`, 0, true, false},
		"TeamCity":             {"##teamcity[testStarted name='a']\n##teamcity[testFinished name='a']\n", 1, true, false},
		"TAP":                  {"TAP version 13\nok 1 - a\nok 2 - b # SKIP no network\nok 3 - c\n1..3\n", 2, true, false},
		"TAP, nothing":         {"1..0 # SKIP no tests\n", 0, true, false},
		"TAP, a failure":       {"1..2\nok 1 a\nnot ok 2 b\n", 2, true, true},
		"TAP, a known failure": {"1..2\nok 1 a\nnot ok 2 b # TODO later\n", 2, true, false},
		"XML of another kind":  {"<failure/><error>", 0, false, false},
	} {
		t.Run(why, func(t *testing.T) {
			if n, known := Ran(c.output); n != c.n || known != c.known {
				t.Errorf("%d, %v; want %d, %v", n, known, c.n, c.known)
			}
			if got := saysFailed(c.output); got != c.failed {
				t.Errorf("says that tests failed: %v", got)
			}
		})
	}
	if !RanNothing(Criterion, "node --test --test-name-pattern=x",
		"<testsuites>\n\t<testcase name=\"/src/a.test.js\" time=\"0.1\" classname=\"test\"/>\n") {
		t.Error("a file of node that stands for itself is a test")
	}
}
