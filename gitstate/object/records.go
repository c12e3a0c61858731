package object

import (
	"bytes"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gogit "github.com/go-git/go-git/v5/plumbing/object"
)

// Records reads and writes the commits and trees that git ralph makes for itself:
// the journal, the evidence and the notes. go-git's object types encode and
// decode them, so an independent reader of git's formats agrees with every byte.
// Users' commits and trees are read by the Store's own methods, because go-git
// refuses commits that git reads, and rewrites modes.
type Records struct{ *Store }

// Records gives access to what git ralph itself writes.
func (s *Store) Records() Records { return Records{s} }

// ReadCommit reads one of our commits.
func (r Records) ReadCommit(id ID) (CommitData, error) {
	data, err := r.ReadType(id, Commit)
	if err != nil {
		return CommitData{}, err
	}
	c, err := DecodeRecord(data)
	if err != nil {
		return c, fmt.Errorf("commit %s: %w", id, err)
	}
	return c, nil
}

// ReadTree reads one of our trees, not its subtrees.
func (r Records) ReadTree(id ID) ([]TreeEntry, error) {
	if id == EmptyTree || id == Zero {
		return nil, nil
	}
	data, err := r.ReadType(id, Tree)
	if err != nil {
		return nil, err
	}
	entries, err := DecodeRecordTree(data)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", id, err)
	}
	return entries, nil
}

// WriteTree stores one of our trees.
func (r Records) WriteTree(entries []TreeEntry) (ID, error) {
	data, err := EncodeRecordTree(entries)
	if err != nil {
		return Zero, err
	}
	return r.Write(Tree, data)
}

// Encode returns the commit's bytes. We write every commit that is encoded
// here, also those on a branch, so there is no other encoder.
func (c CommitData) Encode() ([]byte, error) {
	e := &encoded{}
	commit := gogit.Commit{Author: c.Author.signature(), Committer: c.Committer.signature(),
		Message: c.Message, TreeHash: c.Tree, ParentHashes: c.Parents}
	if err := commit.Encode(e); err != nil {
		return nil, fmt.Errorf("encode a commit: %w", err)
	}
	return e.data, nil
}

func (s Signature) signature() gogit.Signature {
	return gogit.Signature{Name: s.Name, Email: s.Email, When: s.When}
}

// DecodeRecord reads one of our commits from its bytes.
func DecodeRecord(data []byte) (CommitData, error) {
	var c gogit.Commit
	if err := c.Decode(&encoded{kind: Commit, data: data}); err != nil {
		return CommitData{}, fmt.Errorf("damaged commit: %w", err)
	}
	return CommitData{Tree: c.TreeHash, Parents: c.ParentHashes, Message: c.Message,
		Author:    Signature{c.Author.Name, c.Author.Email, c.Author.When},
		Committer: Signature{c.Committer.Name, c.Committer.Email, c.Committer.When}}, nil
}

// EncodeRecordTree sorts the entries as git does and returns the tree's bytes.
func EncodeRecordTree(entries []TreeEntry) ([]byte, error) {
	tree := gogit.Tree{Entries: make([]gogit.TreeEntry, len(entries))}
	for i, e := range entries {
		tree.Entries[i] = gogit.TreeEntry{Name: e.Name, Mode: filemode.FileMode(e.Mode), Hash: e.ID}
	}
	sort.Sort(gogit.TreeEntrySorter(tree.Entries))
	e := &encoded{}
	if err := tree.Encode(e); err != nil {
		return nil, fmt.Errorf("encode a tree: %w", err)
	}
	return e.data, nil
}

// DecodeRecordTree reads one of our trees from its bytes.
func DecodeRecordTree(data []byte) ([]TreeEntry, error) {
	var tree gogit.Tree
	if err := tree.Decode(&encoded{kind: Tree, data: data}); err != nil {
		return nil, fmt.Errorf("damaged tree: %w", err)
	}
	entries := make([]TreeEntry, len(tree.Entries))
	for i, e := range tree.Entries {
		entries[i] = TreeEntry{Name: e.Name, Mode: Mode(e.Mode), ID: e.Hash}
		if strings.Contains(e.Name, "/") { // joined to a path it would be another entry
			return nil, fmt.Errorf("damaged tree: %w", CheckEntry(entries[i]))
		}
	}
	return entries, nil
}

// encoded is an object's bytes as go-git's codecs want them. go-git's own
// MemoryObject copies them and computes their hash, which nobody here needs.
type encoded struct {
	kind Type
	data []byte
}

func (e *encoded) Hash() plumbing.Hash             { return Zero }
func (e *encoded) Type() plumbing.ObjectType       { return e.kind }
func (e *encoded) SetType(t plumbing.ObjectType)   { e.kind = t }
func (e *encoded) Size() int64                     { return int64(len(e.data)) }
func (e *encoded) SetSize(int64)                   {}
func (e *encoded) Reader() (io.ReadCloser, error)  { return io.NopCloser(bytes.NewReader(e.data)), nil }
func (e *encoded) Writer() (io.WriteCloser, error) { return e, nil }
func (e *encoded) Close() error                    { return nil }

func (e *encoded) Write(p []byte) (int, error) {
	e.data = append(e.data, p...)
	return len(p), nil
}
