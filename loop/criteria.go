package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/guard"
	"git-ralph/loop/session"
	"git-ralph/notes"
)

// A judge only claims that a criterion is met. The harness believes what it can
// check: a command that it runs again, or a text that it finds in a file of the
// commit. The judge's explanation is kept for people and does not count.

// How far a criterion was shown.
const (
	markProved   = "proved"   // by a command that the harness ran
	markJudged   = "judged"   // by a model, with a place that the harness opened
	markUnjudged = "unjudged" // by nothing that could be checked
)

const notReported = "not reported"

// judgeCriterion is the verdict on one criterion: reported as passed, with
// evidence that look found to be true. Fail wins over pass.
func judgeCriterion(spec, text string, reports []session.CriterionReport,
	look func(session.CriterionReport) (mark, finding string)) state.ReportCriterion {
	c := state.ReportCriterion{Text: text, Verdict: "fail", Mark: markUnjudged, Evidence: notReported}
	for _, r := range reports {
		if r.Spec != spec || r.Criterion != text {
			continue
		}
		if r.Verdict != "pass" {
			why := cmp.Or(strings.TrimSpace(r.Evidence), "reported as "+r.Verdict+" without evidence")
			return state.ReportCriterion{Text: text, Verdict: "fail", Mark: markJudged, Evidence: why}
		}
		mark, finding := look(r)
		c = state.ReportCriterion{Text: text, Verdict: "pass", Mark: mark, Evidence: notes.CutBytes(finding, 4000),
			Command: r.Command, File: r.File, Quote: r.Quote}
		if words := strings.TrimSpace(r.Evidence); words != "" {
			c.Said = notes.CutBytes(words, 4000)
		}
		if mark == markUnjudged {
			c.Verdict = "fail"
		}
	}
	return c
}

// evidenceTimeout bounds one run of a judge's command.
const evidenceTimeout = 5 * time.Minute

// witness checks the evidence of a validation against one commit.
type witness struct {
	l      *Loop
	state  state.State
	commit object.ID
	tree   object.ID // of the commit
	policy *guard.Policy
	specs  []Spec
	// ran gets every command with its whole output.
	ran  func(state.CheckRun, []byte)
	done map[[2]string]finding // by command and expected output
	err  error                 // what kept the harness from looking at all
}

type finding struct{ mark, text string }

// look opens the evidence of one report.
func (w *witness) look(ctx context.Context, r session.CriterionReport) (mark, text string) {
	if !r.Checkable() {
		return markUnjudged, "the judge gave words alone, nothing that can be checked"
	}
	if w.tree.IsZero() {
		return markUnjudged, "nothing is committed, so the evidence cannot be checked"
	}
	var said []string
	if r.File != "" {
		where, problem := w.open(r.File, r.Quote)
		if problem != "" {
			return markUnjudged, problem
		}
		if repeats(r.Quote, r.Criterion) {
			return markUnjudged, "the quotation repeats the criterion, which anybody can write down"
		}
		mark, said = markJudged, append(said, where)
	}
	if r.Command != "" {
		key := [2]string{r.Command, r.Expect}
		f, known := w.done[key]
		if !known && w.err == nil {
			if f, w.err = w.run(ctx, r.Command, r.Expect); w.err == nil {
				if w.done == nil {
					w.done = map[[2]string]finding{}
				}
				w.done[key] = f
			}
		}
		if mark = f.mark; mark != markProved {
			return markUnjudged, f.text
		}
		said = append(said, f.text)
	}
	return mark, strings.Join(said, "; ")
}

// open finds a text in a file of the commit. It returns the place, or why the
// quotation counts for nothing.
func (w *witness) open(file, quote string) (where, problem string) {
	name := w.inTree(file)
	shown := notes.OneLine(name, 200)
	if slices.ContainsFunc(w.specs, func(sp Spec) bool { return sp.Path == name }) {
		return "", shown + " says what is wanted, not what is there"
	}
	e, ok, err := w.l.Repo.Lookup(w.tree, name)
	if err != nil || !ok {
		return "", shown + " is not in the commit"
	}
	data, err := w.l.blob(e.Mode, e.ID)
	switch {
	case err != nil:
		return "", shown + " cannot be read"
	case data == nil:
		return "", shown + " is no file, or too large to look into"
	}
	line, ok := findQuote(string(data), quote)
	switch {
	case !ok:
		return "", fmt.Sprintf("%s does not say %q", shown, notes.OneLine(quote, 300))
	case line == 0:
		return "", fmt.Sprintf("%q is too little to quote from %s", notes.OneLine(quote, 300), shown)
	}
	return fmt.Sprintf("%s:%d says %q", shown, line, notes.OneLine(quote, 300)), ""
}

// inTree is a path as the commit has it. Judges write absolute paths and add
// lines: /home/me/project/a.go:12.
func (w *witness) inTree(file string) string {
	name := strings.TrimSpace(file)
	for range 2 { // a line, and a column
		if head, tail, ok := cutLast(name, ":"); ok {
			if _, err := strconv.Atoi(tail); err == nil {
				name = head
			}
		}
	}
	if filepath.IsAbs(name) {
		if rel, err := filepath.Rel(w.l.Repo.Root, name); err == nil {
			name = rel
		}
	}
	return path.Clean(filepath.ToSlash(name))
}

func cutLast(s, sep string) (head, tail string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// leastQuote is the number of characters, blanks not counted, from which a
// quotation may be a part of a line.
const leastQuote = 4

// says reports whether a text has a letter or digit: a lone bracket proves nothing.
func says(text string) bool {
	return strings.ContainsFunc(text, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) })
}

// repeats reports whether a quotation holds the whole criterion: such text describes the work
// and does not prove it. Criteria of one or two words are exempt, as code may hold them.
func repeats(quote, criterion string) bool {
	plain := func(s string) string {
		return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(c rune) bool {
			return !unicode.IsLetter(c) && !unicode.IsDigit(c)
		}), " ")
	}
	c := plain(criterion)
	return strings.Count(c, " ") >= 2 && strings.Contains(" "+plain(quote)+" ", " "+c+" ")
}

// findQuote finds a quotation, whatever its blanks and line ends, and returns
// the line on which it begins. Line 0 means that the quotation is there and too
// short to say anything: any file has an "e" or a line with a bracket.
func findQuote(text, quote string) (line int, ok bool) {
	want := strings.Join(strings.Fields(quote), " ")
	if want == "" {
		return 0, false
	}
	var all strings.Builder
	var begins []int // of each line, in all
	for i, l := range strings.Split(text, "\n") {
		if l = strings.Join(strings.Fields(l), " "); l == want && says(want) {
			return i + 1, true
		}
		if begins = append(begins, all.Len()); l != "" {
			all.WriteString(l + " ")
		}
	}
	at := strings.Index(all.String(), want)
	if at < 0 {
		return 0, false
	}
	if !says(want) {
		return 0, true
	}
	if utf8.RuneCountInString(strings.ReplaceAll(want, " ", "")) < leastQuote {
		return 0, true
	}
	return sort.SearchInts(begins, at+1), true
}

// run runs a judge's command in a fresh checkout of the commit and, when it
// succeeds there, in one that holds nothing but the specs. A command that says
// the same of both (true, echo ok, grep in a spec) says nothing about the work.
func (w *witness) run(ctx context.Context, command, expect string) (finding, error) {
	shown := "`" + notes.OneLine(command, 300) + "`"
	if v := w.policy.Judge(command); !v.Allowed() {
		return finding{markUnjudged, shown + " was not run: " + notes.OneLine(v.Reason, 300)}, nil
	}
	works, said, err := w.try(ctx, w.commit, ofTheWork, command, expect)
	if err != nil || !works {
		return finding{markUnjudged, shown + " " + said}, err
	}
	bare, err := w.specsAlone()
	if err != nil {
		return finding{}, err
	}
	same, _, err := w.try(ctx, bare, ofTheSpecs, command, expect)
	if err != nil {
		return finding{}, err
	}
	if same {
		return finding{markUnjudged, shown +
			" says the same where nothing but the specs is, so it shows nothing about the work"}, nil
	}
	return finding{markProved, shown + " " + said}, nil
}

// checkoutOf is what a command is tried in: the work, or nothing but the specs.
type checkoutOf bool

const (
	ofTheWork  checkoutOf = true
	ofTheSpecs checkoutOf = false
)

// try runs a command in a checkout of its own, and says whether it exits with
// zero and prints what is expected.
func (w *witness) try(ctx context.Context, commit object.ID, work checkoutOf, command, expect string) (ok bool,
	said string, err error) {
	once := func(req ProofRequest) error {
		run, output, err := w.l.Prover.Repeat(ctx, req, command, evidenceTimeout)
		if err != nil {
			return err
		}
		have := strings.Join(strings.Fields(string(output)), " ")
		switch {
		case run.TimedOut:
			said = fmt.Sprintf("did not end in %s", evidenceTimeout)
		case !run.Passed:
			said = fmt.Sprintf("exited with %d when the harness ran it", run.ExitCode)
		case !strings.Contains(have, strings.Join(strings.Fields(expect), " ")):
			said, run.Passed = fmt.Sprintf("did not print %q when the harness ran it", notes.OneLine(expect, 200)), false
		case expect != "":
			ok, said = true, fmt.Sprintf("exited with 0 and printed %q", notes.OneLine(expect, 200))
		default:
			ok, said = true, "exited with 0"
		}
		if work {
			w.ran(run, output)
		}
		return nil
	}
	if work == ofTheWork && w.l.Settings.Fresh == "never" {
		err = w.l.inWorktree(warm(w.state.Journal.ID), nil, func(start session.Starter) error {
			return once(ProofRequest{Start: start, Dir: w.l.Repo.Root, Env: w.l.Settings.CheckEnv})
		})
	} else {
		err = w.l.inFresh(ctx, fresh{commit: commit, bare: work == ofTheSpecs}, once)
		var setup *setupError
		if errors.As(err, &setup) {
			return false, "could not be run: the setup failed", nil
		}
	}
	return ok, said, err
}

// specsAlone is a commit that holds the specs and nothing else.
func (w *witness) specsAlone() (object.ID, error) {
	edits := map[string]*object.TreeEntry{}
	if e, ok, err := w.l.Repo.Lookup(w.tree, "specs"); err != nil {
		return object.Zero, err
	} else if ok {
		edits["specs"] = &e
	}
	tree, err := w.l.Repo.EditTree(object.EmptyTree, edits)
	if err != nil {
		return object.Zero, err
	}
	sig := object.Ours(w.l.Now())
	commit, err := w.l.Repo.Store.WriteCommit(object.CommitData{Tree: tree, Author: sig, Committer: sig,
		Message: "the specs alone\n"})
	if err == nil {
		err = w.l.Repo.Store.Sync()
	}
	return commit, err
}
