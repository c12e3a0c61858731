package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/notes"
	"git-ralph/plan"
)

// verify runs what a commit demands by its own ralph.toml and by the plan at
// the time it was kept. The journal's record of the checks is only compared
// with that, never believed: whoever can write a journal can write `true` into
// it.

// settingsFile is where a project keeps its settings.
const settingsFile = "ralph.toml"

// demand is what one commit has to show.
type demand struct {
	run []state.CheckRun
	// wasRed are the checks that were red when the commit was kept, by name.
	wasRed map[string]bool
	// baseline is what was known about the checks when the commit was kept.
	baseline []state.CheckState
	// differs says where the record contradicts the settings or the plan; then
	// nothing is proved. notes are harmless differences.
	differs, notes []string
}

// demandOf puts together what a commit demands by its settings and by the tasks
// of its iterations.
func (l *Loop) demandOf(c rangeCommit, entries []journal.Entry) (demand, error) {
	d := demand{wasRed: map[string]bool{}}
	var verify []string
	recorded := map[string]state.CheckRun{} // the newest of each, by key
	waited := map[string]bool{}             // left out then: for the end, or for other paths
	for _, e := range entries {
		for _, r := range e.Event.Result.Checks {
			switch {
			case r.Kind == "step" || r.Command == "":
			case r.Skipped != "":
				waited[checkKey(r)] = true
			default:
				recorded[checkKey(r)] = r
			}
		}
		if e.Event.Task == "" {
			continue
		}
		snap, err := l.Journal.At(e.ID)
		if err != nil {
			return d, err
		}
		d.baseline = snap.State.Baseline
		if i := snap.State.Plan.Find(e.Event.Task); i >= 0 {
			verify = append(verify, snap.State.Plan.Tasks[i].Verify...)
		}
	}
	own, err := l.demandsAt(c.id, verify)
	if err != nil {
		d.differs = append(d.differs, err.Error())
		return d, nil
	}
	// The iteration ran with the settings of the commit before it; its task may
	// have been to change them.
	before := map[string]string{}
	if len(c.parents) > 0 {
		if older, err := l.demandsAt(c.parents[0], verify); err == nil {
			for _, o := range older {
				before[checkKey(o)] = o.Command
			}
		}
	}
	present, err := l.Prover.Demands(nil, verify)
	if err != nil {
		return d, err
	}
	agreed := map[string]bool{} // commands that a person here has seen
	for _, r := range recorded {
		agreed[r.Command] = true
	}
	for _, p := range present {
		agreed[p.Command] = true
	}
	d.compare(own, c.head, recorded, waited, before, agreed)
	slices.Sort(d.notes)
	return d, nil
}

// compare compares what a commit demands by its own settings with the record. head
// says that no commit follows that could prove the skipped checks.
func (d *demand) compare(own []state.CheckRun, head bool, recorded map[string]state.CheckRun, waited map[string]bool,
	before map[string]string, agreed map[string]bool) {
	wanted := map[string]bool{}
	for _, o := range own {
		key := checkKey(o)
		wanted[key] = true
		r, was := recorded[key]
		if !was && waited[key] {
			if !head {
				continue // the commits that follow are its proof
			}
			d.run = append(d.run, o)
			continue
		}
		switch {
		case !was && o.Kind == "criterion":
			d.differs = append(d.differs, fmt.Sprintf("the plan demands %s, and the record does not have it", quoted(o.Command)))
		case !was:
			d.notes = append(d.notes, o.Name+" is in its ralph.toml and not in the record")
		case r.Command != o.Command && r.Command != before[key]:
			d.differs = append(d.differs, fmt.Sprintf("%s was recorded as %s, and its ralph.toml says %s", o.Name,
				quoted(r.Command), quoted(o.Command)))
		case !r.Passed:
			d.wasRed[o.Name] = true
		}
		if agreed[o.Command] {
			d.run = append(d.run, o)
		} else {
			d.differs = append(d.differs,
				fmt.Sprintf("%s of its ralph.toml is neither in the record nor in the present settings", quoted(o.Command)))
		}
	}
	for key, r := range recorded {
		if _, was := before[key]; !wanted[key] && !was && !r.Tolerated {
			d.notes = append(d.notes, fmt.Sprintf("%s was recorded, and neither its ralph.toml nor the plan has it",
				quoted(cmp.Or(r.Command, r.Name))))
		}
	}
}

// checkKey names what two runs of one check have in common: a criterion is its
// command, and a hidden check the mark that stands for it.
func checkKey(c state.CheckRun) string {
	if c.Kind == "criterion" || c.Hidden {
		return c.Kind + "\x00" + c.Command
	}
	return "check\x00" + c.Name
}

func quoted(command string) string { return "`" + notes.OneLine(command, 200) + "`" }

// demandsAt is what the settings of a commit demand. A commit without a
// ralph.toml uses the present settings.
func (l *Loop) demandsAt(commit object.ID, verify []string) ([]state.CheckRun, error) {
	tree, err := l.Repo.TreeOf(commit)
	if err != nil {
		return nil, err
	}
	e, ok, err := l.Repo.Lookup(tree, settingsFile)
	if err != nil || !ok {
		return l.Prover.Demands(nil, verify)
	}
	data, err := l.blob(e.Mode, e.ID)
	if err != nil {
		return nil, err
	}
	list, err := l.Prover.Demands(data, verify)
	if err != nil {
		return nil, fmt.Errorf("its ralph.toml cannot be read: %w", err)
	}
	return list, nil
}

// verifyCommit runs what a kept commit demands, in a checkout of only that
// commit. It excuses checks that failed when the commit was kept if later
// commits of the range can have repaired them.
func (l *Loop) verifyCommit(ctx context.Context, c rangeCommit, entries []journal.Entry) (VerifiedCommit, error) {
	last := entries[len(entries)-1].Event
	one := VerifiedCommit{Commit: c.id.String(), Iteration: last.Iteration, Task: last.Task, Phase: last.Phase,
		Title:  last.Result.Title,
		Checks: []state.CheckRun{}, WasRed: []string{}}
	for _, e := range entries {
		one.Events = append(one.Events, e.Event.ID)
		for _, r := range e.Event.Result.Checks {
			if r.Flaky && !slices.Contains(one.WasFlaky, r.Name) {
				one.WasFlaky = append(one.WasFlaky, r.Name)
			}
		}
	}
	d, err := l.demandOf(c, entries)
	if err != nil {
		return one, err
	}
	one.Notes = d.notes
	return one, l.replay(ctx, c, &one, d, "no check that passed was recorded")
}

// verifyPerson runs the present checks on a commit that no iteration made, or
// that one made without running any, and that no commit of the range follows.
func (l *Loop) verifyPerson(ctx context.Context, c rangeCommit) (VerifiedCommit, error) {
	one := VerifiedCommit{Commit: c.id.String(), Title: c.title, Person: true, Events: []string{},
		Checks: []state.CheckRun{}, WasRed: []string{}}
	present, err := l.Prover.Demands(nil, nil)
	if err != nil {
		return one, err
	}
	same := func(a, b state.CheckRun) bool { return a.Name == b.Name && a.Command == b.Command }
	if own, err := l.demandsAt(c.id, nil); err != nil || !slices.EqualFunc(own, present, same) {
		one.Notes = append(one.Notes, "its ralph.toml has other checks than the present settings, which were run")
	}
	snap, err := l.Journal.Load(ctx)
	if err != nil {
		return one, err
	}
	return one, l.replay(ctx, c, &one, demand{run: present, baseline: snap.State.Baseline}, "no check is configured")
}

// replay runs the commands of a demand in a fresh checkout and sets the
// commit's result. none is the reason given when nothing was green.
func (l *Loop) replay(ctx context.Context, c rangeCommit, one *VerifiedCommit, d demand, none string) error {
	one.Result, one.Reason = Unproved, strings.Join(d.differs, "; ")
	also, err := l.stillDemanded(ctx, c, d.run)
	if err != nil {
		return err
	}
	if len(d.run)+len(also) == 0 {
		one.Reason = cmp.Or(one.Reason, none)
		return nil
	}
	green := false
	err = l.inFresh(ctx, fresh{commit: c.id}, func(req ProofRequest) error {
		var err error
		req.Baseline = d.baseline
		one.Checks, err = l.Prover.Replay(ctx, req, slices.Concat(d.run, also))
		for i, r := range one.Checks {
			switch {
			case r.Passed:
				green = green || i < len(d.run)
			case d.wasRed[r.Name] && r.Kind != "criterion" && !c.head:
				one.WasRed = append(one.WasRed, r.Name)
			default:
				one.Result, one.Reason = Failed, joined(one.Reason, r.Name+": "+passed(r))
			}
		}
		return err
	})
	var setup *setupError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &setup):
		one.Result, one.Reason = Failed, joined(one.Reason, setup.Error())
	case err != nil:
		return fmt.Errorf("run the checks of %s: %w", one.Commit[:12], err)
	case one.Result == Failed || len(d.differs) > 0:
	case green:
		one.Result = Proved
	default:
		one.Reason = none
	}
	return nil
}

// stillDemanded are the verify commands of finished tasks, which must pass at the tip
// of the branch as before `complete`. They can only fail the commit. Only its own
// commands can prove it.
func (l *Loop) stillDemanded(ctx context.Context, c rangeCommit, run []state.CheckRun) ([]state.CheckRun, error) {
	if !c.head {
		return nil, nil
	}
	_, tip, err := l.Repo.Head(ctx)
	if err != nil || tip != c.id {
		return nil, err
	}
	snap, err := l.Journal.Load(ctx)
	if err != nil {
		return nil, err
	}
	verify := snap.State.Plan.Carried()
	for _, t := range snap.State.Plan.Tasks {
		if t.Status == plan.Done && t.CompletedAt != nil {
			verify = append(verify, t.Verify...)
		}
	}
	all, err := l.Prover.Demands(nil, verify)
	seen := map[string]bool{}
	for _, r := range run {
		seen[checkKey(r)] = true
	}
	return slices.DeleteFunc(all, func(r state.CheckRun) bool {
		known := seen[checkKey(r)]
		seen[checkKey(r)] = true
		return known || r.Kind != "criterion"
	}), err
}

// unchecked says that iterations ran no checks because their phase has none:
// specs are not built.
func unchecked(entries []journal.Entry) bool {
	return !slices.ContainsFunc(entries, func(e journal.Entry) bool {
		return e.Event.Phase == state.Building ||
			len(e.Event.Result.Checks) > 0
	})
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}
