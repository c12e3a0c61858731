// Package index reads and writes git's index file: versions 2, 3 and 4, all
// flags, sparse folders, unmerged entries, the cache of tree ids. It is our own
// because go-git's decoder drops flags and refuses extensions that every user
// of sparse checkouts or split indexes has. It stores nothing itself.
package index

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"git-ralph/gitstate/object"
)

// Flags are the bits of an entry that a person or git has set.
type Flags uint8

// The flags.
const (
	AssumeUnchanged Flags = 1 << iota
	SkipWorktree
	IntentToAdd
)

// Entry is one line of the index. Times are as git stores them: seconds and
// nanoseconds, cut to 32 bits; so are size, device and inode.
type Entry struct {
	Path                string // a sparse folder ends in a slash
	ID                  object.ID
	Mode                object.Mode
	Stage               uint8
	Flags               Flags
	CtimeSec, CtimeNsec uint32
	MtimeSec, MtimeNsec uint32
	Dev, Ino, UID, GID  uint32
	Size                uint32
}

// SparseDir reports whether the entry stands for a whole folder that is not
// checked out.
func (e *Entry) SparseDir() bool { return e.Mode == object.ModeDir }

// Extension is an extension that is kept as it is.
type Extension struct {
	Name string // four bytes
	Data []byte
}

// File is an index.
type File struct {
	Version    uint32
	Entries    []Entry     // sorted by path, then stage
	Trees      *CacheTree  // nil when there is none
	Extensions []Extension // without TREE, EOIE and IEOT
	NullHash   bool        // index.skipHash: no checksum
}

// ErrSplit says that the index is split: most entries are in another file.
// `git update-index --no-split-index` on a private copy makes it whole.
var ErrSplit = errors.New("the index is split")

// CacheTree is the id of a folder's tree as the index has it.
type CacheTree struct {
	Name    string
	Entries int // entries below this folder; -1 when the id is not valid
	ID      object.ID
	Sub     []*CacheTree
}

// Decode reads an index.
func Decode(data []byte) (*File, error) {
	var entries []Entry
	if len(data) > 12 {
		// All at once: a list that grows takes four times as long as the rest.
		entries = make([]Entry, 0, min(int(binary.BigEndian.Uint32(data[8:])), len(data)/62))
	}
	f, err := Each(data, func(e *Entry) { entries = append(entries, *e) })
	if err != nil {
		return nil, err
	}
	f.Entries = entries
	return f, nil
}

// Each reads an index and calls add for every entry, in order. The File that it
// returns has none. add may keep an entry's path but not the entry. When Each
// fails, what was added is invalid.
func Each(data []byte, add func(*Entry)) (*File, error) {
	bad := func(what string) (*File, error) { return nil, fmt.Errorf("damaged index: %s", what) }
	if len(data) < 12+20 || string(data[:4]) != "DIRC" {
		return bad("no header")
	}
	f := &File{Version: binary.BigEndian.Uint32(data[4:])}
	if f.Version < 2 || f.Version > 4 {
		return nil, fmt.Errorf("index version %d is not known", f.Version)
	}
	end := len(data) - 20
	f.NullHash = Checksum(data).IsZero()
	// The checksum takes as long as the entries do, and is made beside them.
	right := make(chan bool, 1)
	go func() { right <- f.NullHash || Intact(data) }()
	err := f.decode(data[:end], add)
	if !<-right {
		return bad("the checksum is wrong")
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Checksum is what an index file says that its SHA-1 is; zero when it says nothing.
func Checksum(data []byte) object.ID {
	if len(data) < 20 {
		return object.Zero
	}
	return object.ID(data[len(data)-20:])
}

// Intact reports whether the checksum of an index file is right.
func Intact(data []byte) bool {
	end := len(data) - 20
	return end >= 0 && sha1.Sum(data[:end]) == [20]byte(data[end:])
}

// decode reads what is between the version and the checksum.
func (f *File) decode(data []byte, add func(*Entry)) error {
	bad := func(what string) error { return fmt.Errorf("damaged index: %s", what) }
	end := len(data)
	n := int(binary.BigEndian.Uint32(data[8:]))
	if n > (end-12)/62+1 {
		return bad("too many entries")
	}
	// A split index has entries without paths; its extension says so below.
	pos, invalid, err := f.entries(data, n, add)
	if err != nil {
		return err
	}
	for pos < end {
		if end-pos < 8 {
			return bad("a cut extension")
		}
		name := string(data[pos : pos+4])
		size := int(binary.BigEndian.Uint32(data[pos+4:]))
		pos += 8
		if size < 0 || size > end-pos {
			return bad("a cut extension")
		}
		ext := data[pos : pos+size]
		pos += size
		switch name {
		case "TREE":
			// A damaged cache is no loss: git ignores it as well.
			f.Trees, _, _ = decodeCache(ext, 0)
		case "EOIE", "IEOT":
			// Offsets into the old file.
		case "link":
			if !bytes.Equal(ext, make([]byte, len(ext))) {
				return ErrSplit
			}
		default:
			if name[0] >= 'a' && name != "sdir" {
				return fmt.Errorf("index extension %q is not known", name)
			}
			f.Extensions = append(f.Extensions, Extension{name, bytes.Clone(ext)})
		}
	}
	return invalid
}

func (f *File) entries(data []byte, n int, add func(*Entry)) (pos int, invalid, err error) {
	// One buffer holds all paths: a quarter of a million small strings would
	// cost more than the index itself.
	var arena strings.Builder
	arena.Grow(max(0, len(data)-62*n))
	var e Entry
	var last []byte
	lastPath, lastStage := "", uint8(0)
	pos = 12
	cut := errors.New("damaged index: a cut entry")
	for i := range n {
		if len(data)-pos < 62 {
			return 0, nil, cut
		}
		b := data[pos:]
		e = Entry{CtimeSec: be(b, 0), CtimeNsec: be(b, 4), MtimeSec: be(b, 8), MtimeNsec: be(b, 12), Dev: be(b, 16),
			Ino:  be(b, 20),
			Mode: object.Mode(be(b, 24)), UID: be(b, 28), GID: be(b, 32), Size: be(b, 36)}
		copy(e.ID[:], b[40:60])
		flags := binary.BigEndian.Uint16(b[60:])
		e.Stage = uint8(flags>>12) & 3
		if flags&0x8000 != 0 {
			e.Flags |= AssumeUnchanged
		}
		start := pos
		pos += 62
		if flags&0x4000 != 0 {
			if f.Version < 3 || len(data)-pos < 2 {
				return 0, nil, cut
			}
			x := binary.BigEndian.Uint16(data[pos:])
			if x&0x4000 != 0 {
				e.Flags |= SkipWorktree
			}
			if x&0x2000 != 0 {
				e.Flags |= IntentToAdd
			}
			pos += 2
		}
		from := arena.Len()
		if f.Version == 4 {
			strip, w := varint(data[pos:])
			if w == 0 || strip > len(last) {
				return 0, nil, cut
			}
			pos += w
			nul := bytes.IndexByte(data[pos:], 0)
			if nul < 0 {
				return 0, nil, cut
			}
			last = append(last[:len(last)-strip], data[pos:pos+nul]...)
			arena.Write(last)
			pos += nul + 1
		} else {
			// The length in the flags is only a hint: it stops at 4095.
			nul := bytes.IndexByte(data[pos:], 0)
			if nul < 0 {
				return 0, nil, cut
			}
			arena.Write(data[pos : pos+nul])
			pos = start + (pos-start+nul+8)&^7
			if pos > len(data) {
				return 0, nil, cut
			}
		}
		e.Path = arena.String()[from:]
		switch {
		case e.Path == "":
			invalid = errors.New("damaged index: an entry without a path")
		case i > 0 && (lastPath > e.Path || lastPath == e.Path && lastStage >= e.Stage):
			invalid = fmt.Errorf("damaged index: %q is not in order", e.Path)
		}
		lastPath, lastStage = e.Path, e.Stage
		if invalid == nil {
			add(&e)
		}
	}
	return pos, invalid, nil
}

func be(b []byte, off int) uint32 { return binary.BigEndian.Uint32(b[off:]) }

// varint is git's offset encoding: each further byte adds one before shifting.
func varint(b []byte) (int, int) {
	if len(b) == 0 {
		return 0, 0
	}
	v := int(b[0] & 0x7f)
	i := 0
	for b[i]&0x80 != 0 {
		i++
		if i >= len(b) || v > 1<<40 {
			return 0, 0
		}
		v = (v+1)<<7 | int(b[i]&0x7f)
	}
	return v, i + 1
}

func appendVarint(dst []byte, v int) []byte {
	var tmp [10]byte
	i := len(tmp) - 1
	tmp[i] = byte(v & 0x7f)
	for v >>= 7; v > 0; v >>= 7 {
		v--
		i--
		tmp[i] = 0x80 | byte(v&0x7f)
	}
	return append(dst, tmp[i:]...)
}

func decodeCache(b []byte, depth int) (*CacheTree, []byte, error) {
	bad := errors.New("damaged cache of trees")
	nul := bytes.IndexByte(b, 0)
	if nul < 0 || depth > 1<<14 {
		return nil, nil, bad
	}
	t := &CacheTree{Name: string(b[:nul])}
	b = b[nul+1:]
	nl := bytes.IndexByte(b, '\n')
	if nl < 0 {
		return nil, nil, bad
	}
	count, folders, _ := strings.Cut(string(b[:nl]), " ")
	entries, err := strconv.Atoi(count)
	subs, serr := strconv.Atoi(folders)
	if err != nil || serr != nil {
		return nil, nil, bad
	}
	t.Entries = entries
	b = b[nl+1:]
	if t.Entries >= 0 {
		if len(b) < 20 {
			return nil, nil, bad
		}
		copy(t.ID[:], b)
		b = b[20:]
	}
	for range subs {
		s, rest, err := decodeCache(b, depth+1)
		if err != nil {
			return nil, nil, err
		}
		t.Sub, b = append(t.Sub, s), rest
	}
	return t, b, nil
}

// Child is the cache of a folder below t; nil when there is none.
func (t *CacheTree) Child(name string) *CacheTree {
	if t == nil {
		return nil
	}
	if i, ok := t.find(name); ok {
		return t.Sub[i]
	}
	return nil
}

// find searches in git's own order: shorter names first.
func (t *CacheTree) find(name string) (int, bool) {
	return slices.BinarySearchFunc(t.Sub, name, func(s *CacheTree, name string) int {
		if d := len(s.Name) - len(name); d != 0 {
			return d
		}
		return strings.Compare(s.Name, name)
	})
}

// Invalidate forgets the ids of all folders above path.
func (t *CacheTree) Invalidate(path string) {
	for t != nil {
		t.Entries = -1
		name, rest, ok := strings.Cut(path, "/")
		if !ok {
			// A file in the place of a folder takes the folder's cache with it.
			if i, ok := t.find(name); ok {
				t.Sub = slices.Delete(t.Sub, i, i+1)
			}
			return
		}
		t, path = t.Child(name), rest
	}
}
