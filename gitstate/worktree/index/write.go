package index

import (
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"strconv"

	"git-ralph/gitstate/object"
)

// Encode returns the bytes of the index. A version 2 index becomes version 3
// when an entry needs it, as git does it.
func (f *File) Encode() []byte {
	version := f.Version
	extended := slices.ContainsFunc(f.Entries, func(e Entry) bool { return e.Flags&^AssumeUnchanged != 0 })
	switch {
	case version == 4:
	case extended:
		version = 3
	default:
		version = 2
	}
	size := 64
	for i := range f.Entries {
		size += len(f.Entries[i].Path) + 72
	}
	out := make([]byte, 0, size+size/8)
	out = append(out, "DIRC"...)
	out = binary.BigEndian.AppendUint32(out, version)
	out = binary.BigEndian.AppendUint32(out, uint32(len(f.Entries)))
	last := ""
	for i := range f.Entries {
		out = f.Entries[i].encode(out, version, last)
		last = f.Entries[i].Path
	}
	if f.Trees != nil {
		out = appendExtension(out, "TREE", f.Trees.encode(nil))
	}
	for _, x := range f.Extensions {
		out = appendExtension(out, x.Name, x.Data)
	}
	if f.NullHash {
		return append(out, make([]byte, 20)...)
	}
	sum := sha1.Sum(out)
	return append(out, sum[:]...)
}

func appendExtension(out []byte, name string, data []byte) []byte {
	out = append(out, name...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
	return append(out, data...)
}

func (e *Entry) encode(out []byte, version uint32, last string) []byte {
	start := len(out)
	for _, v := range []uint32{e.CtimeSec, e.CtimeNsec, e.MtimeSec, e.MtimeNsec, e.Dev, e.Ino,
		uint32(e.Mode), e.UID, e.GID, e.Size} {
		out = binary.BigEndian.AppendUint32(out, v)
	}
	out = append(out, e.ID[:]...)
	flags := uint16(e.Stage)<<12 | uint16(min(len(e.Path), 0xfff))
	if e.Flags&AssumeUnchanged != 0 {
		flags |= 0x8000
	}
	var ext uint16
	if e.Flags&SkipWorktree != 0 {
		ext |= 0x4000
	}
	if e.Flags&IntentToAdd != 0 {
		ext |= 0x2000
	}
	if ext != 0 {
		flags |= 0x4000
	}
	out = binary.BigEndian.AppendUint16(out, flags)
	if ext != 0 {
		out = binary.BigEndian.AppendUint16(out, ext)
	}
	if version == 4 {
		n := 0
		for n < len(last) && n < len(e.Path) && last[n] == e.Path[n] {
			n++
		}
		out = appendVarint(out, len(last)-n)
		out = append(out, e.Path[n:]...)
		return append(out, 0)
	}
	out = append(out, e.Path...)
	pad := 8 - (len(out)-start)%8
	return append(out, make([]byte, pad)...)
}

func (t *CacheTree) encode(out []byte) []byte {
	out = append(out, t.Name...)
	out = append(out, 0)
	out = strconv.AppendInt(out, int64(t.Entries), 10)
	out = append(out, ' ')
	out = strconv.AppendInt(out, int64(len(t.Sub)), 10)
	out = append(out, '\n')
	if t.Entries >= 0 {
		out = append(out, t.ID[:]...)
	}
	for _, s := range t.Sub {
		out = s.encode(out)
	}
	return out
}

// Find is the place of path and stage, and whether an entry is there.
func (f *File) Find(path string, stage uint8) (int, bool) {
	return slices.BinarySearchFunc(f.Entries, 0, func(e Entry, _ int) int {
		switch {
		case e.Path < path:
			return -1
		case e.Path > path:
			return 1
		}
		return int(e.Stage) - int(stage)
	})
}

// Replace puts in the entries of set (stage 0, sorted or not), removes the
// paths of remove in all stages, and forgets what the extensions knew about
// them. It costs one pass over the index, however many paths there are.
func (f *File) Replace(set []Entry, remove []string) {
	sort.Slice(set, func(i, j int) bool { return set[i].Path < set[j].Path })
	gone := make(map[string]bool, len(remove)+len(set))
	for _, p := range remove {
		gone[p] = true
	}
	names := len(remove) > 0
	for i := range set {
		gone[set[i].Path] = true
		if _, ok := f.Find(set[i].Path, 0); !ok {
			names = true
		}
	}
	if len(gone) <= few {
		f.replaceFew(set, remove)
	} else {
		out := make([]Entry, 0, len(f.Entries)+len(set))
		k := 0
		for i := range f.Entries {
			for k < len(set) && set[k].Path < f.Entries[i].Path {
				out = append(out, set[k])
				k++
			}
			if !gone[f.Entries[i].Path] {
				out = append(out, f.Entries[i])
			}
		}
		f.Entries = append(out, set[k:]...)
	}
	for p := range gone {
		f.Trees.Invalidate(p)
	}
	f.Extensions = slices.DeleteFunc(f.Extensions, func(x Extension) bool {
		// FSMN is a bitmap over positions, UNTR lists names that are not in the
		// index. Both are caches that git builds again; neither may lie.
		return x.Name == "FSMN" || names && x.Name == "UNTR"
	})
}

// few paths are looked for one by one.
const few = 16

func (f *File) replaceFew(set []Entry, remove []string) {
	put := func(path string, by ...Entry) {
		from, _ := f.Find(path, 0)
		to := from
		for to < len(f.Entries) && f.Entries[to].Path == path {
			to++
		}
		f.Entries = slices.Replace(f.Entries, from, to, by...)
	}
	for _, p := range remove {
		put(p)
	}
	for _, e := range set {
		put(e.Path, e)
	}
}

// WriteTree makes the tree that `git write-tree` would make of the index and
// returns its id. Unmerged entries are an error, intent-to-add ones are left
// out. Known ids of folders are used without looking.
func (f *File) WriteTree(store *object.Store) (object.ID, error) {
	return f.writeTree(store, f.Entries, "", f.Trees)
}

func (f *File) writeTree(store *object.Store, entries []Entry, dir string, known *CacheTree) (object.ID, error) {
	if known != nil && known.Entries >= 0 && known.Entries == len(entries) && !known.ID.IsZero() {
		return known.ID, nil
	}
	var list []object.TreeEntry
	for i := 0; i < len(entries); {
		e := &entries[i]
		rest := e.Path[len(dir):]
		slash := -1
		for k := range len(rest) {
			if rest[k] == '/' {
				slash = k
				break
			}
		}
		if slash < 0 || e.SparseDir() && slash == len(rest)-1 {
			i++
			if e.Stage != 0 {
				return object.Zero, fmt.Errorf("%q is unmerged", e.Path)
			}
			if e.Flags&IntentToAdd != 0 {
				continue
			}
			name := rest
			if slash >= 0 {
				name = rest[:slash]
			}
			list = append(list, object.TreeEntry{Name: name, Mode: e.Mode, ID: e.ID})
			continue
		}
		prefix := e.Path[:len(dir)+slash+1]
		end := i + sort.Search(len(entries)-i, func(k int) bool {
			p := entries[i+k].Path
			return len(p) < len(prefix) || p[:len(prefix)] != prefix
		})
		id, err := f.writeTree(store, entries[i:end], prefix, known.Child(rest[:slash]))
		if err != nil {
			return object.Zero, err
		}
		if id != object.EmptyTree {
			list = append(list, object.TreeEntry{Name: rest[:slash], Mode: object.ModeDir, ID: id})
		}
		i = end
	}
	if len(list) == 0 {
		return object.EmptyTree, nil
	}
	return store.WriteTree(list)
}
