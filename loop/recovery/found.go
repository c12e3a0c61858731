package recovery

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/text"
)

// Contents that a restore removes and that the attempt's tree does not hold are
// stored in the evidence under found/, as they were on disk. This file lists
// them.
const foundFile = "found.json"

// maxNamed is how many paths one notice names; found.json has all.
const maxNamed = 100

// Found is one such path.
type Found struct {
	Path string `json:"path"` // in the worktree
	At   string `json:"at"`   // in the evidence's tree
	Perm string `json:"perm,omitempty"`
	Was  string `json:"was,omitempty"` // the bytes that were put back in its place, "" = it was removed
}

// keeper says how to save contents that a restore is about to remove. stored
// makes the contents of r.found reachable before anything is touched.
func (r *Record) keeper(after *worktree.Capture, stored func() error) worktree.Keeper {
	return worktree.Keeper{Known: after, Event: r.Event, Save: func(list []worktree.Saved) error {
		r.found = append(r.found, list...)
		return stored()
	}}
}

// untilEvidence is the keeper of a restore during an iteration. The evidence is
// not written yet, so the checkpoint's ref holds what was found.
func (r *Record) untilEvidence(after *worktree.Capture) worktree.Keeper {
	had := len(r.found)
	return r.keeper(after, func() error {
		if len(r.found) == had {
			return nil
		}
		return r.anchorFound()
	})
}

// anchorFound makes a new commit of the checkpoint that holds what was found.
func (r *Record) anchorFound() error {
	tree, err := r.Repo.TreeOf(r.Anchor)
	if err != nil {
		return err
	}
	edits, err := r.foundEdits()
	if err != nil {
		return err
	}
	maps.Copy(edits, r.tryEdits())
	if tree, err = r.Repo.EditTree(tree, edits); err != nil {
		return err
	}
	old, err := r.Repo.Store.ReadCommit(r.Anchor)
	if err != nil {
		return err
	}
	sig := object.Ours(r.Now())
	commit, err := r.Repo.Store.WriteCommit(object.CommitData{Tree: tree, Parents: old.Parents, Author: sig,
		Committer: sig, Message: old.Message})
	if err == nil {
		err = r.Repo.Store.Sync()
	}
	if err == nil {
		err = r.Repo.UpdateRefs("", gitstate.RefUpdate{Name: r.localRef(), Old: r.Anchor, New: commit})
	}
	if err != nil {
		return fmt.Errorf("keep what was found in the worktree: %w", err)
	}
	r.Anchor = commit
	return nil
}

// foundEdits are the entries of a tree for what was found. A path that was
// found twice, or that is another one's folder, gets a number.
func (r *Record) foundEdits() (map[string]*object.TreeEntry, error) {
	edits := map[string]*object.TreeEntry{}
	folders := map[string]bool{}
	var list []Found
	for _, s := range r.found {
		if s.ID.IsZero() {
			continue
		}
		at := "found/" + s.Path
		for i := 2; clashes(edits, folders, at, s.ID); i++ {
			at = "found/" + s.Path + "~" + strconv.Itoa(i)
		}
		if edits[at] != nil {
			continue // the same bytes again
		}
		edits[at] = &object.TreeEntry{Mode: s.Mode, ID: s.ID}
		for dir := text.Parent(at); dir != ""; dir = text.Parent(dir) {
			folders[dir] = true
		}
		f := Found{Path: s.Path, At: at, Was: object.Hex(s.Was)}
		if s.Perm != 0 {
			f.Perm = strconv.FormatUint(uint64(s.Perm), 8)
		}
		list = append(list, f)
	}
	if len(list) == 0 {
		return edits, nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	id, err := r.Repo.Store.Write(object.Blob, append(text, '\n'))
	if err != nil {
		return nil, err
	}
	edits[foundFile] = &object.TreeEntry{Mode: object.ModeRegular, ID: id}
	return edits, nil
}

func clashes(edits map[string]*object.TreeEntry, folders map[string]bool, at string, id object.ID) bool {
	if e := edits[at]; e != nil && e.ID != id || folders[at] {
		return true
	}
	for dir := text.Parent(at); dir != ""; dir = text.Parent(dir) {
		if edits[dir] != nil {
			return true
		}
	}
	return false
}

// ReadFound lists what lies under found/ of a tree of evidence or of a
// checkpoint, without paths that git would not check out.
func ReadFound(repo *gitstate.Repo, tree object.ID) ([]worktree.Saved, error) {
	e, ok, err := repo.Lookup(tree, foundFile)
	if err != nil || !ok {
		return nil, err
	}
	data, err := repo.Store.ReadType(e.ID, object.Blob)
	if err != nil {
		return nil, err
	}
	var list []Found
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("read %s: %w", foundFile, err)
	}
	var out []worktree.Saved
	for _, f := range list {
		e, ok, err := repo.Lookup(tree, f.At)
		if err != nil {
			return nil, err
		}
		// The list may have come from a remote: a path like .git/hooks/x stays out.
		if !ok || !filepath.IsLocal(filepath.FromSlash(f.Path)) || object.CheckPath(f.Path, e.Mode) != nil {
			continue
		}
		s := worktree.Saved{Path: f.Path, Mode: e.Mode, ID: e.ID}
		if n, err := strconv.ParseUint(f.Perm, 8, 32); err == nil {
			s.Perm = uint32(n) & 0o7777
		}
		if id, err := object.ParseID(f.Was); err == nil {
			s.Was = id
		}
		out = append(out, s)
	}
	return out, nil
}

// AsideOf is where things that an iteration's restores could not store are.
func AsideOf(repo *gitstate.Repo, event string) string {
	return filepath.Join(repo.Dir(), "aside", event)
}

// tellRestored returns for people what a restore did besides undoing the attempt.
func (r *Record) tellRestored(rep worktree.Report) (notices []string) {
	notice := func(format string, args ...any) { notices = append(notices, fmt.Sprintf(format, args...)) }
	var stored, aside []string
	for _, s := range rep.Saved {
		if s.Aside == "" {
			stored = append(stored, s.Path)
			continue
		}
		aside = append(aside, s.Path)
		notice(movedAside+"%s (git ralph restore %d -- %s brings it back)", s.Path, r.Number, quoteArg(s.Path))
	}
	if len(aside) > 0 && r.Log != nil {
		r.Log("%s: moved to %s", SomeOf(aside, FewNamed), AsideOf(r.Repo, r.Event))
	}
	r.back = append(r.back, stored...)
	r.own = append(r.own, rep.Own...)
	notices = append(notices, r.TellSpoiled(rep.Spoiled)...)
	for _, name := range rep.Aside {
		notice(repositoryAside+"%s", name)
	}
	for _, name := range rep.Back {
		notice(carriedBack+"%s", name)
	}
	for _, name := range rep.Gone {
		notice(goneForGood+"%s", name)
	}
	for _, name := range rep.Left {
		notice(leftInPlace+"%s", name)
	}
	return notices
}

// These begin notices that name one path. told drops the IgnoredChanged notices
// of paths that a restore has changed back.
const (
	movedAside      = "moved aside, as there is no other copy: "
	repositoryAside = "a repository that appeared was moved aside: "
	carriedBack     = "was carried away and moved back: "
	goneForGood     = "gone, and nothing of it was kept: "
	leftInPlace     = "left in place: "
	IgnoredChanged  = "ignored file changed: "
	ignoredKept     = "ignored file changed, and left so: "
	ignoredLarge    = "ignored, large, changed or gone, and left so: "
	ignoredTooLarge = "ignored, too large to be kept, changed or gone, and left so: "
	NotCaptured     = "not a file, not captured: "
	NotCapturedNow  = "ignored before or now, not captured: "
)

// FewNamed is how many paths a line names when a command can list the rest.
const FewNamed = 5

// ofMany are the kinds of notices of which one line is made when there are more
// than three, and how many paths it names.
var ofMany = []struct {
	kind  string
	named int
	more  string // the next move, with the number of the iteration
}{
	{movedAside, FewNamed, " (git ralph restore %[1]d -- PATH brings one back, " +
		"git ralph gc --dry-run says where they are)"},
	{ignoredLarge, FewNamed, " (git ralph restore %[1]d -- PATH brings what one was)"},
	{repositoryAside, FewNamed, " (git ralph gc --dry-run says where they are)"},
	{kind: carriedBack, named: maxNamed}, {kind: goneForGood, named: maxNamed}, {kind: leftInPlace, named: maxNamed},
	{ignoredKept, FewNamed, " (git ralph restore %[1]d -- PATH brings what one was)"},
	{kind: IgnoredChanged, named: maxNamed},
	{kind: ignoredTooLarge, named: maxNamed},
	{kind: NotCaptured, named: maxNamed}, {kind: NotCapturedNow, named: maxNamed},
}

// summed makes one line of more than three notices of a kind, where the first of
// them stood.
func summed(list []string, number int) []string {
	for _, k := range ofMany {
		var paths []string
		at := -1
		rest := slices.Clone(list[:0:0])
		for _, n := range list {
			path, ok := strings.CutPrefix(n, k.kind)
			if !ok {
				rest = append(rest, n)
				continue
			}
			if at < 0 {
				at = len(rest)
			}
			path, _, _ = strings.Cut(path, " (git ralph ")
			paths = append(paths, path)
		}
		if len(paths) <= 3 {
			continue
		}
		line := k.kind + SomeOf(paths, k.named)
		if k.more != "" {
			line += fmt.Sprintf(k.more, number)
		}
		list = slices.Insert(rest, at, line)
	}
	return list
}

// SomeOf names a few of many paths.
func SomeOf(paths []string, named int) string {
	if n := len(paths) - named; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(paths[:named], ", "), n)
	}
	return strings.Join(paths, ", ")
}

// Told is what the stages have to tell people. A file that a restore changed back
// is named only once. after is what the attempt left.
func (r *Record) Told(notices []string, after *worktree.Capture) []string {
	back := slices.Compact(slices.Sorted(slices.Values(r.back)))
	// What was there changed is in back; the rest of these was gone or had another mode.
	own := slices.DeleteFunc(slices.Compact(slices.Sorted(slices.Values(r.own))), func(path string) bool {
		_, named := slices.BinarySearch(back, path)
		return named || after != nil && slices.ContainsFunc(after.Changes, func(c worktree.Change) bool {
			return c.Path == path // the agent's own
		})
	})
	all := slices.DeleteFunc(slices.Clone(notices), func(n string) bool {
		path, ignored := strings.CutPrefix(n, IgnoredChanged)
		return ignored && (slices.Contains(back, path) || slices.Contains(own, path))
	})
	all = summed(all, r.Number)
	if len(own) > 0 {
		all = append(all, "put back, and not in git: "+SomeOf(own, maxNamed))
	}
	if len(back) > 0 {
		all = append(all, fmt.Sprintf(
			"changed back, and kept as it was found: %s (git ralph restore %d -- PATH brings it)", SomeOf(back, maxNamed),
			r.Number))
	}
	return all
}

// TellSpoiled names large ignored files that changed and are left so, and keeps
// with the evidence what they were.
func (r *Record) TellSpoiled(list []worktree.Saved) (notices []string) {
	for _, s := range list {
		if slices.ContainsFunc(r.spoiled, func(o worktree.Saved) bool { return o.Path == s.Path }) {
			continue
		}
		r.spoiled = append(r.spoiled, s)
		if s.ID.IsZero() {
			notices = append(notices, ignoredTooLarge+s.Path)
			continue
		}
		r.found = append(r.found, s)
		notices = append(notices, fmt.Sprintf(ignoredLarge+"%s (git ralph restore %d -- %s brings what it was)",
			s.Path, r.Number, quoteArg(s.Path)))
	}
	return notices
}

// KeepIgnored puts what small ignored files were into the evidence of an attempt that is
// kept: they stay as they are now, and no other copy is left. Their notices say so.
func (r *Record) KeepIgnored(after *worktree.Capture, notices []string) {
	for _, s := range after.IgnoredWere {
		r.found = append(r.found, s)
		if i := slices.Index(notices, IgnoredChanged+s.Path); i >= 0 {
			notices[i] = fmt.Sprintf(ignoredKept+"%s (git ralph restore %d -- %s brings what it was)", s.Path, r.Number,
				quoteArg(s.Path))
		}
	}
}

// quoteArg is a path as it is typed into a shell.
func quoteArg(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-+,@") == "" && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// RestoreBefore puts the worktree back to the checkpoint in the middle of an
// iteration. The evidence will hold what was found.
func (r *Record) RestoreBefore(after *worktree.Capture) (PutBack, error) {
	rep, err := r.Engine.Restore(context.Background(), r.Before, r.untilEvidence(after))
	return PutBack{len(rep.Restored) + len(rep.Removed), r.tellRestored(rep)}, err
}

// RestoreCaptured puts back what was changed since the capture, by checks or by
// helper agents.
func (r *Record) RestoreCaptured(after *worktree.Capture) (PutBack, error) {
	rep, err := r.Engine.RestoreTo(context.Background(), after, r.untilEvidence(after))
	return PutBack{len(rep.Restored) + len(rep.Removed), r.tellRestored(rep)}, err
}

// RestorePaths puts paths back to the checkpoint: those that are not the agent's.
func (r *Record) RestorePaths(paths []string, after *worktree.Capture) (notices []string, err error) {
	if len(paths) == 0 {
		return nil, nil
	}
	rep, err := r.Engine.PutBack(context.Background(), r.Before, paths, r.untilEvidence(after))
	if err != nil {
		err = fmt.Errorf("put back what is not the agent's to change: %w", err)
	}
	return r.tellRestored(rep), err
}

// MakeWay restores paths to the checkpoint after the evidence was written.
// Changes that somebody made since then are moved aside.
func (r *Record) MakeWay(paths []string, after *worktree.Capture) (notices []string, err error) {
	rep, err := r.Engine.PutBack(context.Background(), r.Before, paths, worktree.Keeper{Known: after, Event: r.Event})
	return r.tellRestored(rep), err
}

// PutBack is what a restore in the middle of an iteration did.
type PutBack struct {
	Paths   int
	Notices []string
}

// RestoreChecked puts back what checks changed outside of any iteration.
func (p Place) RestoreChecked(before *worktree.Checkpoint) error {
	r, err := p.Engine.Restore(context.Background(), before, worktree.Keeper{Event: gitstate.NewID(p.Now())})
	var paths []string
	hint := ""
	for _, s := range r.Saved {
		paths = append(paths, s.Path)
		if slices.Contains(r.Removed, s.Path) {
			hint = "\nhint: let .gitignore name what the checks make, or it comes into commits when the agent runs them"
		}
	}
	if len(paths) > 0 {
		p.Log("%s: changed or made while checks ran; moved to %s%s", SomeOf(paths, FewNamed),
			filepath.Dir(r.Saved[0].Aside), hint)
	}
	return err
}
