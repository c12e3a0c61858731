package mcp

import (
	"fmt"
	"path"
	"slices"
	"strings"

	agentctx "git-ralph/context"
	"git-ralph/loop"
)

const (
	verdictPass = "pass"
	verdictFail = "fail"
)

func reportCriterion() tool {
	return tool{
		name: "ralph_report_criterion",
		help: "Report whether one acceptance criterion of a spec is met, with what you saw. A criterion that is not reported counts as failed, " +
			"and fail wins over pass.",
		where: "the validation phase",
		args: object{
			{name: "spec", help: "the spec's file, for example specs/login.md", required: true, max: 1000},
			{name: "criterion", help: "the text of the criterion, word for word", required: true, max: 10000},
			{name: "verdict", help: "whether it is met", required: true, enum: []string{verdictPass, verdictFail}},
			{name: "evidence", help: "a command and what it printed, a file and its line; needed for pass", max: maxNotes}},
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
	r := loop.CriterionReport{Spec: spec.Path, Criterion: criterion, Verdict: v.text("verdict"), Evidence: text(v.text("evidence"))}
	if r.Verdict == verdictPass && r.Evidence == "" {
		return nil, refuse("say what you saw: a command and what it printed, a file and its line", "pass needs evidence")
	}
	i := slices.IndexFunc(b.got.Criteria, func(o loop.CriterionReport) bool { return o.Spec == r.Spec && o.Criterion == r.Criterion })
	answer := reported{Spec: r.Spec, Criterion: r.Criterion, Verdict: r.Verdict}
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
	return agentctx.SpecFile{}, refuse("the specs are: "+strings.Join(names[:min(len(names), maxListed)], ", "), "there is no spec %s", quoted(given))
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
	r := refuse("use the text of one of the criteria, word for word", "%s has no criterion %q", spec.Path, brief(given, 200))
	if len(known) == 0 {
		r.Hint = "this spec has no criteria"
	}
	r.Criteria = known[:min(len(known), maxListed)]
	if n := len(known) - len(r.Criteria); n > 0 {
		r.Hint += fmt.Sprintf("; %d more are not listed", n)
	}
	return "", r
}
