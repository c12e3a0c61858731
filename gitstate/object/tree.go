package object

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"strings"
)

// Mode is a git file mode.
type Mode uint32

// The modes git knows.
const (
	ModeDir        Mode = 0o040000
	ModeRegular    Mode = 0o100644
	ModeExecutable Mode = 0o100755
	ModeSymlink    Mode = 0o120000
	ModeGitlink    Mode = 0o160000
)

// TreeEntry is one line of a tree.
type TreeEntry struct {
	Name string
	Mode Mode
	ID   ID
}

// EncodeTree sorts entries as git does (folders as if their names ended in a
// slash) and returns the tree's bytes.
func EncodeTree(entries []TreeEntry) []byte {
	before := func(i, j int) bool { return treeKey(entries[i]) < treeKey(entries[j]) }
	if !sort.SliceIsSorted(entries, before) {
		sort.Slice(entries, before)
	}
	n := 0
	for i := range entries {
		n += len(entries[i].Name) + 28
	}
	b := make([]byte, 0, n)
	for i := range entries {
		b = strconv.AppendUint(b, uint64(entries[i].Mode), 8)
		b = append(b, ' ')
		b = append(b, entries[i].Name...)
		b = append(b, 0)
		b = append(b, entries[i].ID[:]...)
	}
	return b
}

func treeKey(e TreeEntry) string {
	if e.Mode == ModeDir {
		return e.Name + "/"
	}
	return e.Name
}

// DecodeTree reads a tree's bytes.
func DecodeTree(data []byte) ([]TreeEntry, error) {
	var entries []TreeEntry
	for len(data) > 0 {
		sp := bytes.IndexByte(data, ' ')
		if sp < 1 {
			return nil, fmt.Errorf("damaged tree")
		}
		mode, err := strconv.ParseUint(string(data[:sp]), 8, 32)
		if err != nil {
			return nil, fmt.Errorf("damaged tree: mode %q", data[:sp])
		}
		nul := bytes.IndexByte(data, 0)
		if nul < sp || len(data) < nul+21 {
			return nil, fmt.Errorf("damaged tree")
		}
		e := TreeEntry{Name: string(data[sp+1 : nul]), Mode: Mode(mode)}
		copy(e.ID[:], data[nul+1:nul+21])
		if e.Name == "" || strings.Contains(e.Name, "/") { // joined to a path it would be another entry
			return nil, fmt.Errorf("damaged tree: %w", CheckEntry(e))
		}
		entries = append(entries, e)
		data = data[nul+21:]
	}
	return entries, nil
}

// ReadTree reads one tree, not its subtrees.
func (s *Store) ReadTree(id ID) ([]TreeEntry, error) {
	if id == EmptyTree || id == Zero {
		return nil, nil
	}
	data, err := s.ReadType(id, Tree)
	if err != nil {
		return nil, err
	}
	entries, err := DecodeTree(data)
	if err != nil {
		return nil, fmt.Errorf("tree %s: %w", id, err)
	}
	return entries, nil
}

// WriteTree stores one tree.
func (s *Store) WriteTree(entries []TreeEntry) (ID, error) {
	return s.Write(Tree, EncodeTree(entries))
}
