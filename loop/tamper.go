package loop

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/text"
	"git-ralph/loop/recovery"
	"git-ralph/loop/refusal"
	"git-ralph/notes"
)

// writeProtected reports whether the kernel keeps the agent from writing to
// git, so that changes there are somebody else's.
func (l *Loop) writeProtected() bool { return l.isolated() || l.Sandbox.Mechanism() == "landlock" }

// isolated reports whether nothing of git, not even its modes or the worktree's .git file, is
// within the agent's reach.
func (l *Loop) isolated() bool { return l.Sandbox.Mechanism() == "namespaces" }

// exposed are the differences that the agent may have made although the kernel
// keeps it from writing to git: Landlock ignores modes, and the .git file of a
// linked worktree is where the agent may write.
func (l *Loop) exposed(it *Ready, diff []gitstate.Difference, now *gitstate.Snapshot) (theirs,
	others []gitstate.Difference) {
	for _, d := range diff {
		if !l.isolated() && (d.Name == filepath.Join(l.Repo.Root, ".git") || it.git.OnlyMode(d, now)) {
			theirs = append(theirs, d)
		} else {
			others = append(others, d)
		}
	}
	return theirs, others
}

// checkTamper compares git's own state with its snapshot. Under a sandbox a
// difference is not the agent's: it is recorded and never undone. Without one,
// changes that can make git run something are undone and reject the iteration.
// Index entries are restored. Moved refs end the run. No git command runs
// before redirections are undone.
func (l *Loop) checkTamper(it *Ready) (findings, error) {
	f := l.putBackModes(it)
	replaced, err := it.git.Places()
	if err != nil {
		return f, err
	}
	index := sync.OnceValues(func() (worktree.IndexState, error) { return l.Engine.IndexState(l.background()) })
	if l.isolated() { // then it is read beside the rest: nothing has to be undone first
		go index()
		defer index()
	}
	now, err := l.Repo.TakeSnapshot(l.background(), it.git)
	if err != nil {
		return f, fmt.Errorf("look at git's own state: %w", err)
	}
	defer now.Close()
	diff := it.git.Compare(now)
	if replaced {
		f.tampered = appendNew(f.tampered, []string{"git directory"})
	}
	if l.writeProtected() {
		g, err := l.checkProtected(it, diff, now, index)
		f.add(g)
		return f, err
	}
	var undo, moved []gitstate.Difference
	for _, d := range diff {
		switch {
		case d.Kind == "HEAD" || d.Kind == "refs":
			moved = append(moved, d)
		case it.git.OthersWorktree(d, now):
			f.note("changed by somebody else meanwhile: %s", d)
		default:
			undo = append(undo, d)
		}
	}
	shallow := slices.DeleteFunc(slices.Clone(undo), func(d gitstate.Difference) bool { return !l.Repo.IsShallow(d) })
	f.add(l.undo(it, slices.DeleteFunc(undo, l.Repo.IsShallow), now))
	for _, d := range shallow { // and now git can be asked
		if l.Repo.Fetched(l.background(), it.git, now, d) {
			f.note("changed by a fetch meanwhile: %s", d)
		} else {
			f.add(l.undo(it, []gitstate.Difference{d}, now))
		}
	}
	lost, joined, err := l.putBackOurs(it)
	f.add(joined)
	if err != nil {
		return f, err
	}
	moved = append(moved, lost...)
	moved = slices.DeleteFunc(moved, func(d gitstate.Difference) bool {
		if l.Repo.CameWithFetch(l.background(), d) || l.Repo.OfOtherLoop(d) {
			f.note("changed by somebody else meanwhile: %s", d)
			return true
		}
		return false
	})
	gone, left := it.git.RemoveStaleLocks(now)
	for _, lock := range gone {
		f.note("a lock that no process held was removed: %s", lock)
	}
	for _, lock := range left {
		f.note("a lock was left: %s: %s", lock.Path, lock.Why)
	}
	if len(moved) == 0 {
		index, err := l.restoreIndex(it)
		f.add(index)
		return f, err
	}
	// The index belongs to where HEAD is now: its old entries would undo a
	// person's commit with the next one.
	staged, err := l.noteIndex(it, index)
	f.add(staged)
	if err != nil {
		f.note("the index could not be compared: %s", notes.OneLine(err.Error(), 200))
	}
	f.moved = moved
	return f, nil
}

// readIndex reads the user's index once.
type readIndex func() (worktree.IndexState, error)

// checkProtected is checkTamper where the sandbox keeps the agent from writing to the git directory:
// only what the sandbox leaves open can be the agent's.
func (l *Loop) checkProtected(it *Ready, diff []gitstate.Difference, now *gitstate.Snapshot, read readIndex) (
	f findings, err error) {
	theirs, others := l.exposed(it, diff, now)
	for _, d := range others {
		f.note("changed by somebody else meanwhile: %s", d)
	}
	f.add(l.undo(it, theirs, now))
	index, err := l.noteIndex(it, read)
	f.add(index)
	if err == nil && (now.Head != it.git.Head || now.Begun != "" && now.Begun != it.git.Begun) {
		f.moved = diff
	}
	return f, err
}

// ours lists our refs that nobody else moves while the agent runs. An agent
// without a sandbox may delete them.
func (l *Loop) ours() (map[string]object.ID, error) {
	if l.writeProtected() {
		return nil, nil
	}
	refs, err := l.Repo.ListRefs(l.background(), gitstate.OwnPrefix)
	if err != nil {
		return nil, fmt.Errorf("note our own refs: %w", err)
	}
	if l.Worker != nil { // checkpoints of other workers come and go
		maps.DeleteFunc(refs, func(name string, _ object.ID) bool { return strings.HasPrefix(name, gitstate.LocalPrefix) })
	}
	note, err := l.Repo.ReadRef(l.background(), gitstate.NotesRef)
	if err == nil && !note.IsZero() {
		refs[gitstate.NotesRef] = note
	}
	return refs, err
}

// putBackOurs restores our refs that are gone. The journal's ref is also restored
// when it was moved, to the newest entry that this process knows. The run ends
// then.
func (l *Loop) putBackOurs(it *Ready) (lost []gitstate.Difference, f findings, err error) {
	if len(it.ours) == 0 {
		return nil, f, nil
	}
	now, err := l.Repo.ListRefs(l.background(), gitstate.OwnPrefix)
	if err != nil {
		return nil, f, fmt.Errorf("compare our own refs: %w", err)
	}
	if note, err := l.Repo.ReadRef(l.background(), gitstate.NotesRef); err != nil {
		return nil, f, err
	} else if !note.IsZero() {
		now[gitstate.NotesRef] = note
	}
	for _, name := range slices.Sorted(maps.Keys(it.ours)) {
		was := it.ours[name]
		if name == l.Journal.Ref() {
			if known := l.Journal.Newest(); !known.IsZero() {
				was = known
			}
		}
		is, there := now[name]
		if there && name != l.Journal.Ref() || is == was {
			continue
		}
		if there {
			var wrong bool
			if is, wrong = l.misled(was); !wrong {
				continue
			}
		}
		if err := l.Repo.RestoreRef(l.background(), name, is, was); err != nil {
			return nil, f, refusal.New(refusal.RefLost, "%s was deleted while the agent ran and could not be made again: %w",
				name, err).About(name, was.String())
		}
		d := gitstate.Difference{Kind: "refs", Name: name, Old: was.String(), New: putBackAgain}
		if there {
			d.New = is.String() + putBackMoved
			f.add(l.joinFound(is))
		}
		lost = append(lost, d)
	}
	return lost, f, nil
}

// joinFound merges what somebody recorded at the place to which the journal had been moved.
func (l *Loop) joinFound(found object.ID) (f findings) {
	// Another journal, or no journal, has nothing to merge.
	if how, _, err := l.Journal.Join(l.background(), found); err == nil && how == journal.Merged {
		f.note("what was recorded there meanwhile is joined with the journal: %s", found.String()[:12])
	}
	return f
}

// putBackAgain stands for a ref that was deleted and made again, putBackMoved for
// one that was moved and moved back.
const (
	putBackAgain = "deleted, and made again"
	putBackMoved = ", and moved back"
)

// misled reports whether the journal's ref has left the history of an entry that
// this process knows, and where it leads. Others may append at any moment, and
// objects that a prune removed come back when their ref has moved. So the fault has
// to last for a while.
func (l *Loop) misled(known object.ID) (is object.ID, misled bool) {
	for range 30 {
		var err error
		if is, err = l.Repo.ReadRef(l.background(), l.Journal.Ref()); err == nil && !is.IsZero() {
			if in, err := l.Repo.IsAncestor(l.background(), known, is); err == nil && in {
				return is, false
			}
		}
		l.Sleep(l.background(), 100*time.Millisecond)
	}
	return is, true
}

// undo puts back what the agent did to git's own files, and rejects. What it finds is
// kept: it may be a person's.
func (l *Loop) undo(it *Ready, diff []gitstate.Difference, now *gitstate.Snapshot) (f findings) {
	for _, d := range diff {
		kind := d.Kind
		if d.Name == filepath.Join(l.Repo.Root, ".git") {
			kind = ".git file"
		}
		f.tampered = appendNew(f.tampered, []string{kind})
		f.note("put back: %s", d)
	}
	aside := recovery.AsideOf(l.Repo, it.id) + "-git"
	kept, err := it.git.PutBack(diff, now, aside)
	if kept {
		f.note("what was found in their place is in %s", aside)
	}
	if err != nil {
		l.Log("git's own files could not all be put back: %v", err)
		f.note("not all could be put back: %s", notes.OneLine(err.Error(), 300))
	}
	f.add(l.putBackModes(it)) // of folders that were made again
	return f
}

// putBackModes gives git's own files and folders their modes and owners back where they
// are within the agent's reach, and rejects.
func (l *Loop) putBackModes(it *Ready) (f findings) {
	if l.isolated() {
		return f
	}
	changed, err := it.git.PutBackModes()
	if err != nil {
		f.note("not all modes could be put back: %s", notes.OneLine(err.Error(), 300))
	}
	if len(changed) > 0 {
		f.tampered = []string{"modes"}
		f.note("modes or owners put back: %s", text.List(changed))
	}
	return f
}

// noteIndex records which index entries are not those of the checkpoint. When
// one of them is a path that the attempt changed, the keep stops at it.
func (l *Loop) noteIndex(it *Ready, index readIndex) (f findings, err error) {
	found, err := index()
	if err != nil {
		return f, fmt.Errorf("compare the index: %w", err)
	}
	if found.Equal(it.Before.Index) {
		return f, nil
	}
	paths, tree, err := l.indexChanges(it, found)
	if err != nil {
		return f, err
	}
	it.FoundIndex = tree
	f.note("staged by somebody else meanwhile: %s", text.List(paths))
	return f, nil
}

// restoreIndex puts the entries and bits of the index back that an agent
// without a sandbox, or a person, has changed. The found entries go into the
// evidence as a tree, so that nothing is lost. Stat data and bytes do not count.
func (l *Loop) restoreIndex(it *Ready) (f findings, err error) {
	file := filepath.Join(l.Repo.GitDir, "index")
	if st, err := os.Lstat(file); err == nil && !st.Mode().IsRegular() {
		if err := os.RemoveAll(file); err != nil {
			return f, fmt.Errorf("remove what lies in the index's place: %w", err)
		}
		f.note("the index was not a regular file and was built again")
	}
	found, err := l.Engine.IndexState(l.background())
	if err != nil {
		// Nothing can be read from it: the checkpoint knows what it held.
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return f, fmt.Errorf("remove the damaged index: %w", err)
		}
		f.note("the index was damaged and was built again: %s", notes.OneLine(err.Error(), 200))
		if found, err = l.Engine.IndexState(l.background()); err != nil {
			return f, fmt.Errorf("compare the index: %w", err)
		}
	}
	if found.Equal(it.Before.Index) {
		return f, nil
	}
	paths, tree, err := l.indexChanges(it, found)
	if err != nil {
		return f, err
	}
	lock, err := l.Repo.LockIndex(10 * time.Second)
	var held *gitstate.IndexLockedError
	if errors.As(err, &held) {
		f.note("the index could not be put back: %s", held)
		return f, nil // and so nothing can land
	}
	if err != nil {
		return f, err
	}
	defer lock.Release()
	if err := l.Engine.RestoreIndex(l.background(), lock.File(), it.Before.Index); err != nil {
		return f, err
	}
	if err := lock.Commit(); err != nil {
		return f, err
	}
	it.FoundIndex = tree
	f.note("index entries put back: %s (as they were found: folder index of the evidence)", text.List(paths))
	return f, nil
}

// indexChanges names the paths whose entries differ from the checkpoint's, and
// makes a tree of the found ones. An entry whose object does not exist is left
// out: the evidence has to be whole.
func (l *Loop) indexChanges(it *Ready, found worktree.IndexState) (paths []string, tree object.ID, err error) {
	was := it.Before.Index
	changes, err := worktree.DiffTrees(l.Repo.Store, was.Tree, found.Tree)
	if err != nil {
		return nil, tree, fmt.Errorf("compare the index: %w", err)
	}
	add := func(path string) {
		if !slices.Contains(paths, path) && len(paths) < 1000 {
			paths = append(paths, path)
		}
	}
	whole := changes[:0:0]
	for _, c := range changes {
		add(c.Path)
		if c.New.ID.IsZero() || c.New.Mode == object.ModeGitlink || l.Repo.Store.Has(c.New.ID) {
			whole = append(whole, c)
		}
	}
	for _, b := range was.Bits {
		if !slices.Contains(found.Bits, b) {
			add(b.Path)
		}
	}
	for _, b := range found.Bits {
		if !slices.Contains(was.Bits, b) {
			add(b.Path)
		}
	}
	for _, e := range found.Unmerged {
		if !slices.Contains(was.Unmerged, e) {
			add(e.Path)
		}
	}
	tree, err = worktree.ApplyChanges(l.Repo.Store, was.Tree, whole)
	if err != nil {
		return nil, tree, fmt.Errorf("store the index as it was found: %w", err)
	}
	return paths, tree, nil
}

// endMoved ends the run without touching the worktree beyond storing it: a
// person has to say which way to go.
func (l *Loop) endMoved(it *attempt) (Ending, error) {
	capture, err := l.Engine.Capture(l.background(), it.Before)
	var f findings
	if err == nil {
		it = it.with(f)
		it.after = capture
		it.facts.Said, it.left, f = l.readClaims(it.Ready, it.Ran)
	}
	var what, back []string
	for i, d := range it.moved {
		if d.Kind != "HEAD" && d.Kind != "refs" {
			continue
		}
		line := fmt.Sprintf("%s: %s → %s", d.Name, cmp.Or(d.Old, "absent"), cmp.Or(d.New, "absent"))
		f.note("%s", line)
		if i >= 20 {
			continue
		}
		what = append(what, line)
		if cmd := backCommand(l.Repo.GitDir, d); cmd != "" {
			back = append(back, cmd)
		}
	}
	f.tampered = []string{"refs"}
	it = it.with(f)
	v := rejectAttempt("tampered: " + strings.Join(it.facts.Tampered, ", "))
	if err := l.endUntouched(it, v); err != nil {
		return Ending{}, err
	}
	further := "to go on from here: git ralph adopt, then git ralph start"
	if slices.ContainsFunc(it.moved, gitstate.Difference.Unreadable) {
		further = "git takes this folder for no repository until HEAD is back"
	}
	l.Log("refs moved while the agent ran, by the agent or perhaps by you:\n  %s\n%s",
		strings.Join(what, "\n  "), further)
	if len(back) > 0 {
		l.Log("to move them back instead (what they lead to now gets a name first):\n  %s", strings.Join(back, "\n  "))
	}
	l.Log("the worktree and the index were left as they are: git ralph diff %d shows what is there, git ralph restore "+
		"%d --before takes it back, and git ralph restore %d brings it again",
		it.number, it.number, it.number)
	return it.ending(v, &Action{Kind: Halt, Status: state.HaltedStatus, Reason: state.RefsMoved}), nil
}

// backCommand is the command by which a user moves a ref back, "" where that could
// lose their work. A commit that only the ref leads to gets a branch first. A
// stash and new refs are left to the user.
func backCommand(gitDir string, d gitstate.Difference) string {
	if d.Name == "refs/stash" || d.Old == "" || d.New == putBackAgain || strings.HasSuffix(d.New, putBackMoved) {
		return ""
	}
	if d.Unreadable() {
		quote := func(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
		head := quote(filepath.Join(gitDir, "HEAD"))
		return fmt.Sprintf("mv %s %s.found; echo %s > %s", head, head, quote(d.Old), head)
	}
	name := ""
	if len(d.New) == 40 {
		name = fmt.Sprintf("git branch found-%s %s && ", d.New[:10], d.New)
	}
	switch ref, symbolic := strings.CutPrefix(d.Old, "ref: "); {
	case d.Kind == "HEAD" && symbolic:
		return name + "git symbolic-ref HEAD " + ref
	case d.Kind == "HEAD":
		return name + "git update-ref --no-deref HEAD " + d.Old
	case d.New == "":
		return fmt.Sprintf("git update-ref %s %s ''", d.Name, d.Old)
	}
	return fmt.Sprintf("%sgit update-ref %s %s %s", name, d.Name, d.Old, d.New)
}
