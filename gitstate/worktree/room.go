package worktree

import (
	"sync/atomic"

	"git-ralph/internal/proc"
)

// room is how much of the disk a capture or a restore may use: half of the free
// space. Otherwise an agent that nearly filled it could prevent all writes, even
// to the journal. A file without room counts as too large: a capture names it,
// and a restore moves it aside by a rename.
type room struct{ bytes, files atomic.Int64 }

// roomFor measures the disk of a folder; nil = it cannot be measured.
func roomFor(folder string) *room {
	bytes, files, total, err := proc.FreeSpace(folder)
	if err != nil {
		return nil
	}
	r := &room{}
	r.bytes.Store(bytes / 2)
	if r.files.Store(files / 2); total == 0 {
		r.files.Store(1 << 62) // without a bound of files
	}
	return r
}

// take reports whether a file of this size has room, and reserves it.
func (r *room) take(size int64) bool {
	if r == nil {
		return true
	}
	if r.bytes.Add(-size) < 0 {
		r.bytes.Add(size) // a smaller one may have room
		return false
	}
	return r.files.Add(-1) >= 0
}
