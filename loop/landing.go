package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/loop/recovery"
	"git-ralph/loop/refusal"
	"git-ralph/plan"
)

// Lander brings the work of a linked worktree over to the branch that it was
// made for: its commits on top of the branch, proved there once more, and its
// journal. The caller holds the locks of both branches and of both worktrees, and
// has recovered both.
type Lander struct {
	// Loop proves the result. Its repository, journal and engine are those of the
	// worktree where the branch is checked out.
	Loop   *Loop
	Linked *journal.Journal // of the linked branch
	Root   string           // the linked worktree
	// Told is told what will land, before it is proved; false ends it.
	Told func(Landing) bool
}

// LandSteps are the places where a landing can be stopped, besides those of a keep.
var LandSteps = []string{"land:proved", "land:moved"}

// Landing is what a landing does.
type Landing struct {
	From, To object.ID      // of the branch
	Commits  []LandedCommit // oldest first; none = the branch has the work already
	Merge    bool           // by one merge commit: the linked branch has merges of its own
	// Entry is the journal's entry to continue from; Zero = it has all of them.
	Entry object.ID
	// Joined are events that only the branch had, and what became of them.
	Joined []state.Merged
	old    *journal.Snapshot // of the branch's journal
	next   *journal.Snapshot // at Entry
}

// LandedCommit is one commit of the linked branch, and what it is on the branch.
type LandedCommit struct {
	Was, Is object.ID
	Title   string
	event   string
}

// Run lands. ErrDeclined: Told said no.
func (l *Lander) Run(ctx context.Context) (Landing, error) {
	p, err := l.plan(ctx)
	if err != nil {
		return p, err
	}
	if l.Told != nil && !l.Told(p) {
		return p, recovery.ErrDeclined
	}
	if p.From != p.To {
		if err := l.prove(ctx, p); err != nil {
			return p, err
		}
	}
	l.Loop.fail("land:proved")
	if p.From != p.To || !p.Entry.IsZero() {
		if err := l.move(ctx, p); err != nil {
			return p, err
		}
	}
	l.Loop.fail("land:moved")
	return p, nil
}

// plan says what has to be brought over, and makes the commits. Nothing points to
// them yet.
func (l *Lander) plan(ctx context.Context) (Landing, error) {
	repo := l.Loop.Repo
	var p Landing
	err := l.journals(ctx, &p)
	if err != nil {
		return p, err
	}
	of := l.Loop.Journal.Branch
	if p.From, err = repo.ReadRef(ctx, gitstate.BranchRef(of)); err != nil {
		return p, err
	}
	tip, err := repo.ReadRef(ctx, gitstate.BranchRef(l.Linked.Branch))
	if err != nil {
		return p, err
	}
	if p.To = p.From; p.From.IsZero() || tip.IsZero() {
		return p, refusal.New(refusal.LandMoved, "%s or %s is gone", of, l.Linked.Branch)
	}
	if err := l.commits(ctx, &p, tip); err != nil || len(p.Commits) == 0 {
		return p, err
	}
	ahead, err := repo.IsAncestor(ctx, p.From, tip)
	switch {
	case err != nil:
	case ahead:
		for i := range p.Commits {
			p.Commits[i].Is = p.Commits[i].Was
		}
		p.To = tip
	case p.Merge:
		err = l.merge(ctx, &p, tip)
	default:
		err = l.rebase(ctx, &p)
	}
	if err != nil {
		return p, err
	}
	if conflicts, err := l.Loop.Engine.CheckoutConflicts(ctx, p.From, p.To); err != nil {
		return p, err
	} else if len(conflicts) > 0 {
		return p, refusal.New(refusal.FilesInTheWay, "these files have changes of yours, or are in the way: %s",
			text.List(conflicts))
	}
	return p, nil
}

// journals decides from which entry the journal of the branch goes on.
func (l *Lander) journals(ctx context.Context, p *Landing) error {
	var err error
	if p.old, err = l.Loop.Journal.Load(ctx); err != nil {
		return err
	}
	theirs, err := l.Linked.Load(ctx)
	if err != nil {
		return err
	}
	p.next = p.old
	if old, err := l.Loop.Repo.IsAncestor(ctx, theirs.Tip, p.old.Tip); err != nil || old {
		return err
	}
	if new, err := l.Loop.Repo.IsAncestor(ctx, p.old.Tip, theirs.Tip); err != nil {
		return err
	} else if !new {
		if theirs, err = l.joined(ctx, theirs, p); err != nil {
			return err
		}
	}
	p.Entry, p.next = theirs.Tip, theirs
	return nil
}

// joined is the linked branch's journal plus the user's later decisions on the branch. It
// refuses when agents worked on both: then it is unknown which of them did a task.
func (l *Lander) joined(ctx context.Context, theirs *journal.Snapshot, p *Landing) (*journal.Snapshot, error) {
	next, err := l.Loop.Journal.Onto(ctx, theirs, p.old, decided)
	if err != nil {
		return nil, err
	}
	if next == nil {
		return nil, refusal.New(refusal.JournalsApart, "the journals of %s and of %s have diverged", l.Loop.Journal.Branch,
			l.Linked.Branch).
			About(p.old.Tip.String()[:12], theirs.Tip.String()[:12])
	}
	e, err := l.Loop.Journal.Read(next.Tip)
	if err == nil && e.Event.Merge != nil {
		p.Joined = e.Event.Merge.Events
	}
	return next, err
}

// decided says whether an event is a change of the plan or a word to agents, by a person.
func decided(e state.Event) bool {
	switch e.Type {
	case state.EvPlan, state.EvTask, state.EvKnowledge:
		return true
	case state.EvOperator:
		switch e.Operator.Command {
		case "inject", "set", "answer", "pause", "resume":
			return true
		}
	}
	return false
}

// commits lists what the branch does not have, as itself, as the same change, or
// as a commit of the same iteration.
func (l *Lander) commits(ctx context.Context, p *Landing, tip object.ID) error {
	repo := l.Loop.Repo
	in, err := recovery.FindKept(ctx, repo, p.next.State, p.From)
	if err != nil {
		return err
	}
	out, err := repo.Git.Run(ctx, "log", "--reverse", "--topo-order", "-z", "--cherry-pick", "--right-only",
		"--format=%H %P%n%B", p.From.String()+"..."+tip.String())
	if err != nil {
		return fmt.Errorf("compare two branches: %w", err)
	}
	for rec := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		head, body, ok := strings.Cut(rec, "\n")
		if !ok {
			continue
		}
		ids := strings.Fields(head)
		c := LandedCommit{}
		if c.Was, err = object.ParseID(ids[0]); err != nil {
			return err
		}
		c.Title, _, _ = strings.Cut(strings.TrimSpace(body), "\n")
		for line := range strings.Lines(body) {
			if id, ok := strings.CutPrefix(strings.TrimSpace(line), "Ralph-Event-Id: "); ok {
				c.event = id
			}
		}
		if c.event != "" && in.HasEvent(c.event) {
			continue
		}
		p.Merge = p.Merge || len(ids) > 2
		p.Commits = append(p.Commits, c)
	}
	return nil
}

// rebase puts the commits on the branch one by one.
func (l *Lander) rebase(ctx context.Context, p *Landing) error {
	for i := range p.Commits {
		is, conflicts, err := putOn(ctx, l.Loop.Repo, p.Commits[i].Was, p.To, signature(l.Loop.Settings.Sign))
		if err != nil {
			return err
		}
		if len(conflicts) > 0 {
			return l.conflict(fmt.Sprintf("%s (%s)", p.Commits[i].Was.String()[:12], p.Commits[i].Title), conflicts)
		}
		p.Commits[i].Is, p.To = is, is
	}
	return nil
}

// signature says whether a commit is signed.
type signature bool

const (
	signed   signature = true
	unsigned signature = false
)

// putOn repeats a commit on top of tip, with the same author and message. conflicts
// are the paths that do not merge. A commit that changes nothing there is left out,
// and tip is returned.
func putOn(ctx context.Context, repo *gitstate.Repo, commit, tip object.ID, sign signature) (is object.ID,
	conflicts []string, err error) {
	c, err := repo.Store.ReadCommit(commit)
	if err != nil {
		return is, nil, err
	}
	base := object.EmptyTree
	if len(c.Parents) > 0 {
		if base, err = repo.TreeOf(c.Parents[0]); err != nil {
			return is, nil, err
		}
	}
	ours, err := repo.TreeOf(tip)
	if err != nil {
		return is, nil, err
	}
	tree, conflicts, err := recovery.MergeTrees(ctx, repo, base, ours, c.Tree)
	if err != nil || len(conflicts) > 0 {
		return is, conflicts, err
	}
	if tree == ours {
		return tip, nil, nil
	}
	is, err = repo.CommitTreeAs(ctx, c.Author, c.Message, tree.String(), "-p", tip.String(), signing(bool(sign)))
	if err != nil {
		return is, nil, fmt.Errorf("make the commit: %w", err)
	}
	return is, nil, nil
}

func signing(sign bool) string {
	if sign {
		return "-S"
	}
	return "--no-gpg-sign"
}

// merge joins the branches by one commit, where the linked one has merges that a
// rebase would take apart.
func (l *Lander) merge(ctx context.Context, p *Landing, tip object.ID) error {
	repo := l.Loop.Repo
	base, err := repo.Git.Line(ctx, "merge-base", p.From.String(), tip.String())
	if err != nil {
		return fmt.Errorf("compare two branches: %w", err)
	}
	var trees [3]object.ID
	for i, name := range []string{base, p.From.String(), tip.String()} {
		id, err := object.ParseID(name)
		if err != nil {
			return err
		}
		if trees[i], err = repo.TreeOf(id); err != nil {
			return err
		}
	}
	tree, conflicts, err := recovery.MergeTrees(ctx, repo, trees[0], trees[1], trees[2])
	if err != nil {
		return err
	}
	if len(conflicts) > 0 {
		return l.conflict(l.Linked.Branch, conflicts)
	}
	for i := range p.Commits {
		p.Commits[i].Is = p.Commits[i].Was
	}
	msg := fmt.Sprintf("Merge branch '%s'\n", l.Linked.Branch)
	if p.To, err = repo.Commit(ctx, msg, gitstate.Signing(l.Loop.Settings.Sign), tree, p.From, tip); err != nil {
		return err
	}
	return repo.Store.Sync()
}

func (l *Lander) conflict(what string, paths []string) error {
	return refusal.New(refusal.LandConflict, "%s and %s changed the same lines: %s", l.Loop.Journal.Branch, what,
		text.List(paths)).
		About(l.Root, l.Loop.Journal.Branch)
}

// prove runs every check on the landed result in a fresh checkout, with the verify
// commands of the tasks that are done.
func (l *Lander) prove(ctx context.Context, p Landing) error {
	s := p.next.State
	req := ProofRequest{Baseline: s.Baseline, Complete: true,
		Result: func(c state.CheckRun) { l.Loop.emit("check", s, "", c, "landed result, %s: %s", c.Name, passed(c)) }}
	for _, t := range s.Plan.Tasks {
		if t.Status == plan.Done && t.CompletedAt != nil {
			req.Done = append(req.Done, t)
		}
	}
	report, err := l.Loop.proveFresh(ctx, p.To, req)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil || report.Pass {
		return err
	}
	l.Loop.Log("%s", report.FailText)
	return refusal.New(refusal.LandRed, "the landed result is not green: %s",
		strings.Join(report.Reasons, "; ")).About(l.Root)
}

// move carries out the landing like a keep: the journal's move is the commit
// point. After a crash recovery finishes the rest.
func (l *Lander) move(ctx context.Context, p Landing) error {
	j := l.Loop.Journal
	e := state.Event{Type: state.EvOperator, Operator: &state.Operator{Command: "land", ID: l.Linked.Branch,
		Branch: j.Branch}}
	j.Stamp(&e)
	kept := &state.Kept{EventID: e.ID, Iteration: p.next.State.Run.Iteration}
	if k := p.next.State.Run.LastKeep; k != nil {
		*kept = *k
	}
	if p.From != p.To {
		kept.Parent, kept.Commit, kept.Brought, kept.Rewind, kept.Reset = p.From.String(), p.To.String(), true, false, false
	} else if in, err := recovery.FindKept(ctx, j.Repo, p.next.State, p.From); err != nil {
		return err
	} else if commit, ok := in.Has(kept.Commit, kept.EventID); ok {
		kept.Commit = commit
	} else {
		kept = p.old.State.Run.LastKeep
	}
	e.Operator.Kept = kept
	if p.From == p.To {
		next, err := j.Draft(ctx, p.next, e)
		if err == nil {
			err = j.Repo.UpdateRefs("", gitstate.RefUpdate{Name: j.Ref(), Old: p.old.Tip, New: next.Tip})
		}
		return movedMeanwhile(err)
	}
	var next *journal.Snapshot
	err := j.Repo.Keep(ctx, gitstate.Keep{
		EventID: kept.EventID, JournalRef: j.Ref(), BranchRef: gitstate.BranchRef(j.Branch), Parent: p.From, Commit: p.To,
		Message: "ralph: land " + l.Linked.Branch, Deadline: l.Loop.patience(), Fail: l.Loop.fail,
		Entry: func() (object.ID, object.ID, error) {
			if tip, err := j.Tip(ctx); err != nil {
				return object.Zero, object.Zero, err
			} else if tip != p.old.Tip {
				return object.Zero, object.Zero, gitstate.ErrBranchMoved
			}
			var err error
			if next, err = j.Draft(ctx, p.next, e); err != nil {
				return object.Zero, object.Zero, err
			}
			return p.old.Tip, next.Tip, nil
		},
		WriteIndex: func(lock *os.File) error { return l.Loop.Engine.UpdateIndex(ctx, lock, p.From, p.To) },
		Note: func() error {
			return errors.Join(recovery.MoveFiles(ctx, l.Loop.Engine, p.From, p.To, l.Loop.Log), l.notes(ctx, p))
		},
	})
	var late *gitstate.NoteError
	if errors.As(err, &late) {
		return fmt.Errorf("the branch was moved, and its files or notes not all: %w", late.Err)
	}
	if err == nil {
		j.Moved(next)
	}
	return movedMeanwhile(err)
}

// movedMeanwhile says that somebody else was faster.
func movedMeanwhile(err error) error {
	if errors.Is(err, gitstate.ErrBranchMoved) || errors.Is(err, gitstate.ErrRefMoved) {
		return refusal.New(refusal.LandMoved, "the branch or its journal moved meanwhile: %w", err)
	}
	return err
}

// notes copies the notes of the commits to their landed versions.
func (l *Lander) notes(ctx context.Context, p Landing) error {
	is := map[string]object.ID{}
	for _, c := range p.Commits {
		if c.event != "" && c.Was != c.Is {
			is[c.event] = c.Is
		}
	}
	texts := map[object.ID]string{}
	if len(is) == 0 {
		return nil
	}
	err := l.Linked.Walk(ctx, func(e journal.Entry) (bool, error) {
		if at, ok := is[e.Event.ID]; ok && e.Event.Result != nil {
			texts[at] = state.Note(e.Event)
			delete(is, e.Event.ID)
		}
		return len(is) > 0, nil
	})
	if err != nil || len(texts) == 0 {
		return err
	}
	return recovery.WriteNotes(l.Loop.Repo, texts)
}

// Follow moves the linked branch, its journal and its files to what has landed.
func (l *Lander) Follow(ctx context.Context, f *recovery.Follower, p Landing) error {
	at, err := f.Repo.ReadRef(ctx, gitstate.BranchRef(f.Journal.Branch))
	if err != nil || at == p.To {
		return errors.Join(err, f.Run(ctx))
	}
	moved, err := f.Forward(ctx, at, p.To)
	if err == nil && !moved {
		f.Log("tracked files in %s have changes, so it stays where it was", f.Repo.Root)
	}
	if err != nil || !moved {
		return err
	}
	return f.Run(ctx)
}
