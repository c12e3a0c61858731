package loop

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/text"
	"git-ralph/notes"
	"git-ralph/plan"
)

// A task of type bug is done when a test shows the bug: it fails on the old code
// and passes with the change. The test is part of the change, or it existed and
// was red. Its files are remembered, so that later iterations cannot make it pass
// by editing it.

// reproduction begins a reject, and the reason of a run in which such a test
// does not hold any more.
const reproduction = "reproduction: "

// TestRun is what one test command came to.
type TestRun struct {
	Name   string
	Passed bool
	// Broken reports whether the tests did not build or could not find what they
	// call.
	Broken bool
}

// reproduced reports whether a test shows the bug: red on the code before, green
// with the change in the same environment. unclear names a command that is red
// on both sides and so proves nothing. Both lists have the same order.
func reproduced(before, after []TestRun) (ok bool, unclear string) {
	for i := range min(len(before), len(after)) {
		switch {
		case before[i].Passed:
		case after[i].Passed:
			return true, ""
		case unclear == "":
			unclear = before[i].Name
		}
	}
	return false, unclear
}

// reproduce looks for the test of a bug in an otherwise accepted attempt and
// adds the result to its proof.
func (l *Loop) reproduce(ctx context.Context, it *attempt, p proof) (proof, error) {
	facts := it.facts
	facts.Checks = p.checks
	if !it.task.Bug() || !facts.Said.Done || Judge(facts).Verdict != state.Keep || len(it.after.Changes) == 0 {
		return p, nil
	}
	if it.tip.IsZero() {
		p.note("reproduction: there is no commit yet on which a test could fail")
		return p, nil
	}
	base, err := l.beforeTask(ctx, it)
	if err != nil {
		return p, err
	}
	changes, err := l.changesSince(base, it.after.Keep)
	if err != nil {
		return p, err
	}
	files, err := l.changedFiles(changes)
	if err != nil {
		return p, err
	}
	before, err := l.Repo.TreeOf(base)
	if err != nil {
		return p, err
	}
	req := WeakenRequest{Files: files, Lookup: func(path string) ([]byte, bool) { return l.fileOf(before, path) }}
	if req.Paths, err = l.pathsOf(before); err != nil {
		return p, err
	}
	tests, data := l.Prover.TestFiles(req)
	env := l.proofRequest(it.Ready, nil).Env
	onBase := func(over []ChangedFile) ([]TestRun, error) {
		return l.Prover.RunTests(ctx, it.task, func(run func(ProofRequest) error) error {
			return l.orSetup(ctx, l.inFresh(ctx, fresh{commit: base, over: over, env: env}, run))
		})
	}
	red := func(r TestRun) bool { return !r.Passed }
	was, err := onBase(tests)
	if err == nil && len(was) > 0 && !slices.ContainsFunc(was, red) && len(data) > 0 {
		tests = slices.Concat(tests, data)
		was, err = onBase(tests)
	}
	if err == nil && ctx.Err() != nil {
		p.interrupted = true
		return p, nil
	}
	if err != nil {
		return p, fmt.Errorf("run the tests of the change on the code before it: %w", err)
	}
	if len(was) == 0 {
		p.note("reproduction: no test check or verify command that could show the bug was run")
		return p, nil
	}
	var now []TestRun
	if slices.ContainsFunc(was, red) {
		if now, err = l.Prover.RunTests(ctx, it.task, func(run func(ProofRequest) error) error {
			return l.inCheckout(ctx, it,
				nil, run)
		}); err != nil {
			return p, fmt.Errorf("run the tests of the change beside those on the code before it: %w", err)
		}
	}
	ok, unclear := reproduced(was, now)
	switch {
	case ok:
		p.reproduced = nil
		for _, f := range tests {
			i := slices.IndexFunc(changes, func(c worktree.Change) bool { return c.Path == f.Path })
			if i >= 0 && !changes[i].New.ID.IsZero() {
				p.reproduced = append(p.reproduced, state.TestBlob{Path: f.Path, Blob: changes[i].New.ID.String()})
			}
		}
	case slices.ContainsFunc(was, red):
		p.note("reproduction: %s fails in a fresh checkout with the change as well, so that it shows nothing",
			cmp.Or(unclear, "a test"))
	default:
		p.checks.Unreproduced = "no test fails on the code before the change"
		p.advice = "\n" + unreproducedText(was, tests)
	}
	return p, nil
}

// unreproducedText tells the next agent what was run and what is wanted.
func unreproducedText(was []TestRun, tests []ChangedFile) string {
	var names, paths []string
	for _, r := range was {
		names = append(names, r.Name)
	}
	for _, f := range tests {
		paths = append(paths, f.Path)
	}
	wanted := "This is a bug: the change needs a test that fails on the code as it was before the task and passes with " +
		"the change.\n"
	if len(paths) == 0 {
		return wanted + "No new or changed test file was found in the change."
	}
	return wanted + fmt.Sprintf("Run on that code with %s of the change, these passed: %s.", text.List(paths),
		text.List(names))
}

// changesSince is the difference between a commit and a tree.
func (l *Loop) changesSince(base, tree object.ID) ([]worktree.Change, error) {
	was, err := l.Repo.TreeOf(base)
	if err != nil {
		return nil, err
	}
	return worktree.DiffTrees(l.Repo.Store, was, tree)
}

// fileOf reads a file of a tree.
func (l *Loop) fileOf(tree object.ID, path string) ([]byte, bool) {
	e, ok, err := l.Repo.Lookup(tree, path)
	if err != nil || !ok {
		return nil, false
	}
	data, err := l.blob(e.Mode, e.ID)
	return data, err == nil && data != nil
}

// beforeTask is the commit on which the work on a task began: where green steps
// of it were kept before, that of the first of them.
func (l *Loop) beforeTask(ctx context.Context, it *attempt) (object.ID, error) {
	base, left := it.tip, it.task.Partial
	if left == 0 {
		return base, nil
	}
	err := l.Journal.Walk(ctx, func(e journal.Entry) (bool, error) {
		r := e.Event.Result
		if e.Event.Type != state.EvIteration || e.Event.Task != it.task.ID || r == nil || r.Verdict != state.Keep ||
			r.Commit == "" {
			return true, nil
		}
		if !r.Partial {
			return false, nil
		}
		if id, err := object.ParseID(r.Parent); err == nil && l.Repo.Store.Has(id) {
			base = id
		}
		left--
		return left > 0, nil
	})
	if err != nil {
		return base, fmt.Errorf("find where the work on %s began: %w", it.task.ID, err)
	}
	return base, nil
}

// lostReproductions names the bug tests that pass at the tip only because
// iterations changed them: in their kept version they fail there.
func (l *Loop) lostReproductions(ctx context.Context, tip object.ID, s state.State) ([]string, error) {
	kept, err := l.reproductions(ctx, s)
	if err != nil || len(kept) == 0 {
		return nil, err
	}
	tree, err := l.Repo.TreeOf(tip)
	if err != nil {
		return nil, err
	}
	// What no longer builds says nothing about the bug.
	fails := func(r TestRun) bool { return !r.Passed && !r.Broken }
	var out []string
	for _, k := range kept {
		files, err := l.alteredSince(ctx, k, tip, tree, s)
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			continue
		}
		over, data := l.Prover.TestFiles(WeakenRequest{Files: files})
		over = append(over, data...)
		if len(over) == 0 {
			continue
		}
		task := s.Plan.Tasks[s.Plan.Find(k.task)]
		run := func(over []ChangedFile) ([]TestRun, error) {
			return l.Prover.RunTests(ctx, task, func(run func(ProofRequest) error) error {
				return l.orSetup(ctx, l.inFresh(ctx, fresh{commit: tip, over: over}, run))
			})
		}
		was, err := run(over)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(was, fails) {
			continue
		}
		now, err := run(nil)
		if err != nil {
			return nil, err
		}
		for i := range min(len(was), len(now)) {
			if fails(was[i]) && now[i].Passed {
				out = append(out, string(k.task)+" "+files[0].Path+" changed")
				break
			}
		}
	}
	for _, o := range out {
		l.emit("check", s, "", nil, "the test of a bug, %s: it fails as it was when it was kept", notes.OneLine(o, 200))
	}
	return out, nil
}

// keptTest is the test of a bug as an iteration left it.
type keptTest struct {
	task   plan.TaskID
	commit object.ID
	files  []state.TestBlob
}

// reproductions are the tests of the bugs that are done, of each task the newest.
func (l *Loop) reproductions(ctx context.Context, s state.State) ([]keptTest, error) {
	want := map[plan.TaskID]bool{}
	for _, t := range s.Plan.Tasks {
		if t.Bug() && t.Status == plan.Done && t.CompletedAt != nil {
			want[t.ID] = true
		}
	}
	var out []keptTest
	if len(want) == 0 {
		return nil, nil
	}
	err := l.Journal.Walk(ctx, func(e journal.Entry) (bool, error) {
		r := e.Event.Result
		if e.Event.Type != state.EvIteration || r == nil || r.Verdict != state.Keep || r.Partial || !want[e.Event.Task] {
			return true, nil
		}
		delete(want, e.Event.Task)
		if commit, err := object.ParseID(r.Commit); err == nil && len(r.Reproduction) > 0 {
			out = append(out, keptTest{task: e.Event.Task, commit: commit, files: r.Reproduction})
		}
		return len(want) > 0, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the tests of the bugs: %w", err)
	}
	return out, nil
}

// alteredSince are the files of a test that differ at the tip, if an iteration
// changed them without permission. After is the kept version, Before the present
// one.
func (l *Loop) alteredSince(ctx context.Context, k keptTest, tip, tree object.ID, s state.State) ([]ChangedFile,
	error) {
	var history map[string][]branchCommit
	var out []ChangedFile
	for _, f := range k.files {
		e, ok, err := l.Repo.Lookup(tree, f.Path)
		if err != nil {
			return nil, err
		}
		if ok && e.ID.String() == f.Blob {
			continue
		}
		if history == nil {
			// After a rebase nobody can say who changed it.
			if known, err := l.Repo.IsAncestor(ctx, k.commit, tip); err == nil && known {
				if history, err = l.touched(ctx, k.commit, tip, s); err != nil {
					return nil, err
				}
			}
		}
		if steps := history[f.Path]; len(steps) > 0 && !slices.ContainsFunc(steps,
			func(c branchCommit) bool { return !c.trusted }) {
			continue
		}
		id, err := object.ParseID(f.Blob)
		if err != nil || !l.Repo.Store.Has(id) {
			continue
		}
		kept, err := l.blob(object.ModeRegular, id)
		if err != nil {
			return nil, err
		}
		now, _ := l.fileOf(tree, f.Path)
		out = append(out, ChangedFile{Path: f.Path, Before: now, After: kept})
	}
	return out, nil
}
