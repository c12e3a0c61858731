package gitstate

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"sort"
	"strings"

	"git-ralph/gitstate/object"
)

// Names of our refs.
const (
	headsPrefix    = "refs/ralph/heads/"
	OwnPrefix      = "refs/ralph/"
	NotesRef       = "refs/notes/ralph"
	LocalPrefix    = "refs/ralph/local/"
	EvidencePrefix = "refs/ralph/evidence/"
	ArchivePrefix  = "refs/ralph/archive/"
	RemotePrefix   = "refs/ralph/remotes/"
)

// JournalRef is the journal of a branch.
func JournalRef(branch string) string { return headsPrefix + branch }

// BranchRef is the branch itself.
func BranchRef(branch string) string { return "refs/heads/" + branch }

// EvidenceRef holds the evidence of one iteration.
func EvidenceRef(journal, event string) string { return EvidencePrefix + journal + "/" + event }

// LocalRef anchors the checkpoint of a running iteration.
func LocalRef(journal, event string) string { return LocalPrefix + journal + "/" + event }

// ArchiveRef holds a journal whose branch is gone.
func ArchiveRef(journal string) string { return ArchivePrefix + journal }

// longestName is how long a file name of ours may be, without what is put before and
// behind it: file systems take 255 bytes, and three for each of a letter of most scripts.
const longestName = 180

// FileName makes the name of a branch, a ref or a worktree into one file name. Of a long one
// the end is a checksum.
func FileName(name string) string {
	file := url.PathEscape(name)
	if len(file) <= longestName {
		return file
	}
	sum := sha256.Sum256([]byte(name))
	return fmt.Sprintf("%s~%x", file[:longestName-33], sum[:16])
}

// Draft is an entry before it is written. Files are changes against the tree
// of its first parent, by slash-separated path, nil = removed; the folder
// event/ is replaced as a whole.
type Draft struct {
	Files             map[string][]byte
	Message           string
	Author, Committer object.Signature
}

// WriteEntry writes the objects of an entry on top of parents (none for the
// first) and returns its commit and tree. Nothing is synced or visible yet.
func (r *Repo) WriteEntry(parents []object.ID, d Draft) (commit, tree object.ID, err error) {
	base := object.EmptyTree
	if len(parents) > 0 {
		newest, err := r.Store.Records().ReadCommit(parents[0])
		if err != nil {
			return commit, tree, fmt.Errorf("read the newest entry: %w", err)
		}
		base = newest.Tree
	}
	edits := map[string]*object.TreeEntry{"event": nil}
	for path, data := range d.Files {
		if data == nil {
			edits[path] = nil
			continue
		}
		id, err := r.Store.Write(object.Blob, data)
		if err != nil {
			return commit, tree, err
		}
		edits[path] = &object.TreeEntry{Mode: object.ModeRegular, ID: id}
	}
	if tree, err = r.EditRecord(base, edits); err != nil {
		return commit, tree, err
	}
	commit, err = r.Store.WriteCommit(object.CommitData{Tree: tree, Parents: parents,
		Author: d.Author, Committer: d.Committer, Message: d.Message})
	return commit, tree, err
}

// EditTree writes a tree of the user's that differs from base in the given
// paths; nil removes a path, file or folder. A removed folder may be filled
// again by longer paths of the same call. Folders that become empty vanish.
func (r *Repo) EditTree(base object.ID, edits map[string]*object.TreeEntry) (object.ID, error) {
	return editTree(r.Store, base, edits)
}

// EditRecord is EditTree for the trees that git ralph makes for itself.
func (r *Repo) EditRecord(base object.ID, edits map[string]*object.TreeEntry) (object.ID, error) {
	return editTree(r.Store.Records(), base, edits)
}

// trees are an object.Store or its Records.
type trees interface {
	ReadTree(object.ID) ([]object.TreeEntry, error)
	WriteTree([]object.TreeEntry) (object.ID, error)
}

func editTree(store trees, base object.ID, edits map[string]*object.TreeEntry) (object.ID, error) {
	entries, err := store.ReadTree(base)
	if err != nil {
		return object.Zero, err
	}
	byName := make(map[string]object.TreeEntry, len(entries)+len(edits))
	for _, e := range entries {
		byName[e.Name] = e
	}
	deeper := map[string]map[string]*object.TreeEntry{}
	for path, e := range edits {
		name, rest, nested := strings.Cut(path, "/")
		if nested {
			if deeper[name] == nil {
				deeper[name] = map[string]*object.TreeEntry{}
			}
			deeper[name][rest] = e
			continue
		}
		if e == nil {
			delete(byName, name)
		} else {
			byName[name] = object.TreeEntry{Name: name, Mode: e.Mode, ID: e.ID}
		}
	}
	for name, sub := range deeper {
		from := object.EmptyTree
		if e, ok := byName[name]; ok && e.Mode == object.ModeDir {
			from = e.ID
		}
		id, err := editTree(store, from, sub)
		if err != nil {
			return object.Zero, err
		}
		if id == object.EmptyTree {
			delete(byName, name)
			continue
		}
		byName[name] = object.TreeEntry{Name: name, Mode: object.ModeDir, ID: id}
	}
	if len(byName) == 0 {
		return object.EmptyTree, nil
	}
	out := make([]object.TreeEntry, 0, len(byName))
	for _, e := range byName {
		out = append(out, e)
	}
	return store.WriteTree(out)
}

// TreeFiles lists the files of a tree with their blobs, sorted by path.
func (r *Repo) TreeFiles(tree object.ID, prefix string) ([]object.TreeEntry, error) {
	return treeFiles(r.Store, tree, prefix, nil, nil)
}

// MostRecords is how many files and folders a tree of ours may have, and deepestRecord how
// deep it may be. Somebody else may have pushed it: ten trees of a few lines each, one in the
// other, can claim to hold more files than there is memory.
const (
	MostRecords   = 1 << 18
	deepestRecord = 32
)

// RecordFiles is TreeFiles for the trees that git ralph makes for itself.
func (r *Repo) RecordFiles(tree object.ID, prefix string) ([]object.TreeEntry, error) {
	left := MostRecords
	return treeFiles(r.Store.Records(), tree, prefix, nil, &left)
}

// treeFiles lists a tree that lies in the trees above. A damaged one may claim to
// hold one of those. left is how many files and folders it may have; nil = any number.
func treeFiles(store trees, tree object.ID, prefix string, above []object.ID, left *int) ([]object.TreeEntry, error) {
	if slices.Contains(above, tree) {
		return nil, fmt.Errorf("read tree %s: it holds itself", tree)
	}
	if left != nil && len(above) > deepestRecord {
		return nil, fmt.Errorf("read tree %s: it lies too deep", tree)
	}
	above = append(above, tree)
	entries, err := store.ReadTree(tree)
	if err != nil {
		return nil, err
	}
	if left != nil {
		if *left -= len(entries); *left < 0 {
			return nil, fmt.Errorf("read tree %s: it has more than %d files and folders", above[0], MostRecords)
		}
	}
	var out []object.TreeEntry
	for _, e := range entries {
		if e.Mode == object.ModeDir {
			sub, err := treeFiles(store, e.ID, prefix+e.Name+"/", above, left)
			if err != nil {
				return nil, err
			}
			out = append(out, sub...)
			continue
		}
		e.Name = prefix + e.Name
		out = append(out, e)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out, nil
}

// Lookup finds one path in a tree; ok is false when it is not there.
func (r *Repo) Lookup(tree object.ID, path string) (e object.TreeEntry, ok bool, err error) {
	for {
		name, rest, nested := strings.Cut(path, "/")
		entries, err := r.Store.ReadTree(tree)
		if err != nil {
			return e, false, err
		}
		i := sort.Search(len(entries), func(i int) bool { return entries[i].Name >= name })
		if i == len(entries) || entries[i].Name != name {
			// Folders sort as if they ended in a slash, so a search by name can miss.
			i = -1
			for k := range entries {
				if entries[k].Name == name {
					i = k
				}
			}
			if i < 0 {
				return e, false, nil
			}
		}
		e = entries[i]
		if !nested {
			return e, true, nil
		}
		if e.Mode != object.ModeDir {
			return e, false, nil
		}
		tree, path = e.ID, rest
	}
}
