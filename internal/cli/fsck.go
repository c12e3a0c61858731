package cli

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/internal/view"
	"git-ralph/loop/recovery"
)

// FsckCmd is `git ralph fsck`.
type FsckCmd struct {
	Repair bool `help:"Move damaged refs aside, go back to the newest readable entry, write notes again; no entry is changed."`
	JSON   bool `name:"json" help:"Print one object."`
}

// Help says more.
func (FsckCmd) Help() string {
	return "Re-applies the journal from its first entry and compares every file of every tree; looks at evidence, " +
		"checkpoints, notes and locks; has git walk all that our refs reach. Exit 1 when something is wrong."
}

// faultDoc is one thing that is wrong.
type faultDoc struct {
	Where    string `json:"where"` // journal, refs, notes, branch, locks, objects
	Entry    string `json:"entry"`
	Problem  string `json:"problem"`
	Hint     string `json:"hint"`
	Repaired bool   `json:"repaired"`
}

// fsckDoc is `fsck --json`.
type fsckDoc struct {
	OK       bool       `json:"ok"`
	Branch   string     `json:"branch"`
	Entries  int        `json:"entries"`
	Evidence int        `json:"evidence"`
	Notes    int        `json:"notes"`
	Faults   []faultDoc `json:"faults"`
}

// checkup collects what fsck finds.
type checkup struct {
	a      *App
	j      *journal.Journal
	repair bool
	doc    fsckDoc
	whole  object.ID            // every object that this entry leads to was read; Zero = none
	torn   bool                 // the newest entry cannot be read
	all    map[string]object.ID // our refs
	ends   map[string]ending    // of the iterations that refs name, by event id
	notes  *noteCheck           // nil when they cannot be read
	found  []faultDoc           // in the notes
	atWork map[string]bool      // event ids of the iterations in work
	anew   string               // event id of the redaction that the journal begins with, "" = none
	alive  bool                 // something worked on the branch when the refs were listed
	forks  map[string]bool      // event ids of journals with the same id
	id     string               // of the journal
}

func (c *checkup) fault(where string, entry object.ID, hint, format string, args ...any) *faultDoc {
	f := faultDoc{Where: where, Hint: hint, Problem: fmt.Sprintf(format, args...)}
	if !entry.IsZero() {
		f.Entry = entry.String()
	}
	c.doc.Faults = append(c.doc.Faults, f)
	return &c.doc.Faults[len(c.doc.Faults)-1]
}

// fsckMemory is the garbage collector's memory limit during a check. A check needs
// some ten megabytes at any length of history, and would otherwise fill what brief
// allows. The limit costs a tenth more processor time.
const fsckMemory = 32 << 20

// Run checks everything.
func (c *FsckCmd) Run(a *App) error {
	brief()
	debug.SetMemoryLimit(fsckMemory)
	j, err := a.Journal()
	if err != nil {
		return err
	}
	if c.Repair {
		if h, alive := a.reader().Holder(a.Ctx, j.Branch); alive {
			return gitstate.Hint(7, "git ralph stop, then again",
				"process %d is working on %s; nothing is repaired while it runs", h.Pid, j.Branch)
		}
	}
	k := &checkup{a: a, j: j, repair: c.Repair, ends: map[string]ending{}}
	k.doc.Branch, k.doc.Faults = j.Branch, []faultDoc{}
	if err := a.whole(j); err != nil {
		return err
	}
	if err := k.tip(a.Ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{k.journal, k.branch, k.refs, k.ofNotes, k.locks, k.objects} {
		if err := step(a.Ctx); err != nil {
			return err
		}
	}
	left := 0
	for _, f := range k.doc.Faults {
		if !f.Repaired {
			left++
		}
	}
	k.doc.OK = left == 0
	if c.JSON {
		if err := a.printJSON(k.doc); err != nil {
			return err
		}
	} else {
		k.print(left)
	}
	if left > 0 {
		return &ExitError{Code: 1}
	}
	return nil
}

func (c *checkup) print(left int) {
	a := c.a
	for _, f := range c.doc.Faults {
		word := a.colour(a.Out, "31", "fault:")
		if f.Repaired {
			word = a.colour(a.Out, "32", "repaired:")
		}
		at := ""
		if f.Entry != "" {
			at = " entry " + f.Entry[:12] + ":"
		}
		a.printf("%s %s:%s %s\n", word, f.Where, at, f.Problem)
		if f.Hint != "" && !f.Repaired {
			a.printf("  %s %s\n", a.colour(a.Out, "36", "hint:"), f.Hint)
		}
	}
	a.printf("%s: %s, %d with evidence, %d with a note", c.doc.Branch, plural2(c.doc.Entries, "entry", "entries"),
		c.doc.Evidence, c.doc.Notes)
	if left == 0 {
		a.printf(", %s\n", a.colour(a.Out, "32", "sound"))
	} else {
		a.printf(", %s\n", a.colour(a.Out, "31", view.Plural(left, "fault")))
	}
}

func plural2(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// journal re-applies the history, compares the note of every iteration on the way
// and remembers the ends of those that refs name.
func (c *checkup) journal(ctx context.Context) error {
	err := c.salvage(ctx)
	if err == nil {
		err = c.listRefs(ctx)
	}
	if err == nil {
		err = c.openNotes(ctx)
	}
	if err != nil {
		return err
	}
	shows := terminal(c.a.Err) && !c.a.JSON
	// The ends of iterations are checked while the journal is read.
	ends, done := make(chan journal.Entry, 64), make(chan struct{})
	go func() {
		defer close(done)
		for e := range ends {
			c.end(newEnding(e))
		}
		c.notes.look()
	}()
	var found journal.Checked
	found, err = c.j.Check(ctx, func(n int, e journal.Entry) {
		if shows && n%1000 == 0 {
			fmt.Fprintf(c.a.Err, "%s%d entries", view.Styled(c.a.Err, "\r"), n)
		}
		if i := e.Event.Init; i != nil && i.Redacted != "" {
			c.anew = e.Event.ID
		}
		if e.Event.Result != nil {
			ends <- e
		}
	})
	close(ends)
	<-done
	if err != nil {
		return err
	}
	if c.doc.Entries = found.Entries; found.Whole {
		c.whole = found.Tip
	}
	for _, f := range found.Faults {
		c.fault("journal", f.Entry, "another clone may have it whole", "%s", f.Problem)
	}
	return nil
}

// branch asks whether the journal and its branch belong together.
func (c *checkup) branch(ctx context.Context) error {
	snap, err := c.j.Load(ctx)
	if err != nil {
		return nil // said already
	}
	c.alive = c.alive || recovery.LivingWorkers(snap.State, c.j.Actor)
	err = recovery.CheckJournal(ctx, c.j.Repo, c.j, snap.State)
	if ad, ok := adviceOf(err); ok {
		c.fault("branch", object.Zero, ad.hint, "%v", err)
		return nil
	}
	return err
}

// refs looks at each of our refs.
func (c *checkup) refs(ctx context.Context) error {
	all := c.all
	named := map[string]bool{}
	for _, id := range all {
		named[id.String()] = true
	}
	names := slices.Sorted(maps.Keys(all))
	readable := map[object.ID]bool{} // commits of a chunk with a broken one are read singly
	for some := range slices.Chunk(names, 512) {
		ids := make([]object.ID, len(some))
		for i, name := range some {
			ids[i] = all[name]
		}
		if _, err := c.j.Repo.Store.ReadWhole(object.Commit, ids); err == nil {
			for _, id := range ids {
				readable[id] = true
			}
		}
	}
	for _, name := range names {
		id := all[name]
		if readable[id] {
		} else if _, err := c.j.Repo.Store.Records().ReadCommit(id); err != nil {
			if name == c.j.Ref() && c.torn {
				continue // said already, with a way back
			}
			f := c.fault("refs", object.Zero, "git fsck; git ralph fsck --repair moves it aside",
				"%s names %s, which cannot be read: %v", name, id.String()[:12], err)
			if c.repair {
				kept, err := c.j.Repo.MoveRefAside(ctx, name, object.Zero)
				if err != nil {
					return err
				}
				f.Repaired = true
				f.Problem += "; moved to " + kept
			}
			continue
		}
		if event, ok := strings.CutPrefix(name, gitstate.EvidencePrefix+c.id+"/"); ok && c.id != "" {
			event, more, _ := strings.Cut(event, ".")
			if more == "" {
				c.doc.Evidence++
			}
			end := c.ends[event]
			known := !end.entry.IsZero()
			switch {
			case c.forks[event]:
			case !known && event < c.anew:
				// Its entry was removed with the history by a redaction. Ids begin with their time.
			case !known && !c.atWork[event]:
				// A crash between the evidence and the journal leaves one; what it
				// holds is in no entry, so it is named and never dropped.
				c.fault("refs", object.Zero, "git ls-tree -r "+id.String()[:12]+" shows it; git update-ref -d "+name+
					" drops it", "%s belongs to no entry", name)
			case known && more == "" && end.evidence != "" && !named[end.evidence]:
				if err := c.wrongEvidence(ctx, name, end.evidence); err != nil {
					return err
				}
			}
		}
		if event, ok := strings.CutPrefix(name, gitstate.LocalPrefix+c.id+"/"); ok && c.id != "" && !c.alive &&
			!c.atWork[event] && !c.forks[event] {
			c.dropLocal(name, event, id)
		}
	}
	return nil
}

// locks looks for lock files that a crash left where nobody takes them away.
func (c *checkup) locks(context.Context) error {
	if _, alive := c.a.reader().Holder(c.a.Ctx, c.j.Branch); alive {
		return nil
	}
	removed := map[string]bool{}
	look := c.j.Repo.Locks()
	if c.repair {
		gone, _, err := c.j.Repo.SweepLocks()
		if err != nil {
			return err
		}
		for _, path := range gone {
			removed[path] = true
		}
	}
	for _, l := range look {
		name := strings.TrimSuffix(l.Path, ".lock")
		if l.Busy() { // a gc after a commit takes minutes in a large repository
			c.a.warn("%s is locked while a git process is at work; look again when it has ended", name)
			continue
		}
		if l.Why != "" {
			c.fault("locks", object.Zero, "when no git process runs: rm "+l.Path, "%s is locked: %s", name, l.Why)
			continue
		}
		f := c.fault("locks", object.Zero, "git ralph fsck --repair, or any command that writes, removes it",
			"%s is locked by a process that is dead", name)
		f.Repaired = removed[l.Path]
	}
	cut, err := c.j.Repo.CutShort()
	if cut {
		c.fault("locks", object.Zero, "git ralph start, or any command that writes, finishes it",
			"a keep was cut short by a crash")
	}
	return err
}

// objects has git walk all that our refs reach and branches do not, without the
// journal if that was read whole. It reads each of these objects whole: git's own
// walk only asks whether a blob exists.
func (c *checkup) objects(ctx context.Context) error {
	args := append(slices.Clone(object.LittleMemory), "rev-list", "--objects", "--glob=refs/ralph",
		"--glob=refs/notes/ralph", "--not", "--branches", "--tags", "--remotes")
	if !c.whole.IsZero() {
		args = append(args, c.whole.String())
	}
	n, bad := 0, 0
	const chunk = 512
	var ids []object.ID
	var names []string
	check := func() {
		for i, err := range c.j.Repo.Store.CheckMany(ids) {
			if err == nil || ctx.Err() != nil {
				continue
			}
			if bad++; bad <= 20 {
				c.fault("objects", object.Zero,
					"git fsck names everything that is damaged; another clone may have it whole", "%s: %s", names[i],
					strings.TrimSuffix(err.Error(), ": "+ids[i].String()))
			}
		}
		if n += len(ids); n%(8*chunk) == 0 && terminal(c.a.Err) && !c.a.JSON {
			fmt.Fprintf(c.a.Err, "%s%d objects", view.Styled(c.a.Err, "\r"), n)
		}
		ids, names = ids[:0], names[:0]
	}
	err := c.j.Repo.Git.Lines(ctx, func(line string) (bool, error) {
		hash, _, _ := strings.Cut(line, " ")
		if id, err := object.ParseID(hash); err == nil {
			ids, names = append(ids, id), append(names, line)
		}
		if len(ids) == chunk {
			check()
		}
		return true, ctx.Err()
	}, args...)
	check()
	if err != nil && ctx.Err() == nil {
		c.fault("objects", object.Zero, "git fsck names what is missing or damaged",
			"git cannot walk what our refs reach: %v", err)
	}
	if bad > 20 {
		c.fault("objects", object.Zero, "git fsck", "%d more objects are damaged", bad-20)
	}
	return ctx.Err()
}
