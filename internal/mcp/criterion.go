package mcp

import (
	"fmt"
	"path"
	"slices"
	"strings"

	agentctx "git-ralph/context"
	"git-ralph/loop/session"
	"git-ralph/notes"
)

const (
	verdictPass = "pass"
	verdictFail = "fail"
)

func reportCriterion() tool {
	return tool{
		name: "ralph_report_criterion",
		help: "Report whether one acceptance criterion of a spec is met. A pass counts only with evidence that the harness " +
			"can check for itself: " +
			"a command that it runs again in a fresh checkout, or a file and a text that it finds there. Words alone are " +
			"unjudged, and unjudged is not passed. " +
			"A criterion that is not reported counts as failed, and fail wins over pass.",
		where: "the validation phase",
		args: object{
			{name: "spec", help: "the spec's file, for example specs/login.md", required: true, max: 1000},
			{name: "criterion", help: "the text of the criterion, word for word", required: true, max: 10000},
			{name: "verdict", help: "whether it is met", required: true, enum: []string{verdictPass, verdictFail}},
			{name: "evidence", help: "what you saw, in your words; or an object of the four below", max: maxNotes,
				parts: []string{"command", "expect", "file", "quote"}},
			{name: "command",
				help: "a shell command that exits with 0 when the criterion is met, run in a checkout of the commit after the " +
					"setup. It has to fail where " +
					"there is nothing but the specs: for what must be absent, `test -d src && ! grep -rq TODO src`",
				max: maxNotes, aliases: []string{"cmd", "run"}},
			{name: "expect", help: "a text that the command prints", max: maxNotes,
				aliases: []string{"expected", "expected_output", "output"}},
			{name: "file", help: "a committed file that shows it, from the root of the worktree; no spec", max: 1000,
				aliases: []string{"path"}},
			{name: "quote", help: "the text of that file which shows it, word for word", max: maxNotes,
				aliases: []string{"text"}}},
		offered: validating,
		run:     report,
	}
}

type reported struct {
	Spec      string `json:"spec"`
	Criterion string `json:"criterion"`
	// Verdict is the one that counts.
	Verdict   string `json:"verdict"`
	Note      string `json:"note,omitempty"`
	Reported  int    `json:"reported"`
	Remaining int    `json:"remaining"`
}

func report(b *Box, v values) (any, error) {
	spec, err := b.spec(v.text("spec"))
	if err != nil {
		return nil, err
	}
	criterion, err := criterionOf(spec, v.text("criterion"))
	if err != nil {
		return nil, err
	}
	r := session.CriterionReport{Spec: spec.Path, Criterion: criterion, Verdict: v.text("verdict"),
		Evidence: text(v.text("evidence")),
		Command:  v.text("command"), Expect: v.text("expect"), File: text(v.text("file")), Quote: v.text("quote")}
	answer := reported{Spec: r.Spec, Criterion: r.Criterion, Verdict: r.Verdict}
	if r.Verdict == verdictPass {
		const hint = "give command (and expect), or file and quote"
		switch {
		case notes.Clean(r.Command) != r.Command || notes.Redact(r.Command) != r.Command:
			// It is run as it is written, so it is not repaired silently.
			return nil, refuse("write it in plain characters", "command holds characters that are not shown, or a secret")
		case r.Command == "" && r.Expect != "":
			return nil, refuse(hint, "expect needs the command that prints it")
		case (r.File == "") != (r.Quote == ""):
			return nil, refuse(hint, "file and quote belong together")
		case !r.Checkable() && r.Evidence == "":
			return nil, refuse(hint, "pass needs evidence")
		case !r.Checkable():
			answer.Note = "words alone count as unjudged, which is not passed: report it again and " + hint
		}
	}
	r.Expect, r.Quote = text(r.Expect), text(r.Quote)
	i := slices.IndexFunc(b.got.Criteria, func(o session.CriterionReport) bool {
		return o.Spec == r.Spec && o.Criterion == r.Criterion
	})
	switch {
	case i < 0:
		b.got.Criteria = append(b.got.Criteria, r)
	case b.got.Criteria[i].Verdict == verdictFail && r.Verdict == verdictPass:
		answer.Verdict, answer.Note = verdictFail, "it was reported as failed before, and fail wins over pass"
	default:
		b.got.Criteria[i] = r
	}
	answer.Reported = len(b.got.Criteria)
	for _, s := range b.scope.Specs {
		answer.Remaining += len(distinct(s.Criteria))
	}
	answer.Remaining = max(0, answer.Remaining-answer.Reported)
	return answer, nil
}

// distinct are the texts of criteria, trimmed, each once.
func distinct(criteria []string) []string {
	var out []string
	for _, c := range criteria {
		if c = strings.TrimSpace(c); c != "" && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// spec finds a spec by its path, or by its file name when that is clear.
func (b *Box) spec(given string) (agentctx.SpecFile, error) {
	want := path.Clean(strings.ReplaceAll(given, `\`, "/"))
	var byName []agentctx.SpecFile
	var names []string
	for _, s := range b.scope.Specs {
		if s.Path == want {
			return s, nil
		}
		if path.Base(s.Path) == want {
			byName = append(byName, s)
		}
		names = append(names, brief(s.Path, 200))
	}
	if len(byName) == 1 {
		return byName[0], nil
	}
	if len(names) == 0 {
		return agentctx.SpecFile{}, refuse("judge the checks and leave a handoff", "there are no specs to judge")
	}
	return agentctx.SpecFile{}, refuse("the specs are: "+strings.Join(names[:min(len(names), maxListed)], ", "),
		"there is no spec %s", quoted(given))
}

// criterionOf finds a criterion by its text. The mark of the checklist may stand
// in front of it.
func criterionOf(spec agentctx.SpecFile, given string) (string, error) {
	known := distinct(spec.Criteria)
	candidates := []string{given}
	for _, mark := range []string{"- [ ]", "- [x]", "- [X]"} {
		if rest, ok := strings.CutPrefix(given, mark); ok {
			candidates = append(candidates, strings.TrimSpace(rest))
		}
	}
	for _, c := range candidates {
		if slices.Contains(known, c) {
			return c, nil
		}
	}
	r := refuse("use the text of one of the criteria, word for word", "%s has no criterion %q", spec.Path,
		brief(given, 200))
	if len(known) == 0 {
		r.Hint = "this spec has no criteria"
	}
	r.Criteria = known[:min(len(known), maxListed)]
	if n := len(known) - len(r.Criteria); n > 0 {
		r.Hint += fmt.Sprintf("; %d more are not listed", n)
	}
	return "", r
}
