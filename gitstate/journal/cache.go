package journal

import (
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
)

// The cache holds the contents of the state's many small files (tasks,
// knowledge, …) in one file, <common dir>/ralph/cache/blobs, so that reading a
// state does not take a request to git for each of them. It is never truth: a
// record is found by its blob id, the id comes from the entry's tree, and the
// contents are hashed before they are used. A record that is missing, torn or
// wrong costs a read from the repository. Only writers write it.
//
// A record is its mark, the blob's id, the length (big endian) and the bytes.
const (
	cacheMark = 'B'
	cacheHead = 1 + sha1.Size + 4
	// cacheFiles is the least number of files for which a cache pays.
	cacheFiles = 64
	// maxCache is the size in bytes at which it is written anew with what the
	// newest state needs.
	maxCache = 8 << 20
)

func (j *Journal) cachePath() string { return filepath.Join(j.Repo.Dir(), "cache", "blobs") }

// cache is a parsed file.
type cache struct {
	blobs map[object.ID][]byte
	whole bool // every byte belongs to a record
}

func (j *Journal) readCache() cache {
	st, err := os.Stat(j.cachePath())
	if err != nil || st.Size() > 4*maxCache {
		return cache{}
	}
	data, err := os.ReadFile(j.cachePath())
	if err != nil {
		return cache{}
	}
	return parseCache(data)
}

func parseCache(data []byte) cache {
	c := cache{blobs: make(map[object.ID][]byte, len(data)/600), whole: true}
	for len(data) > 0 {
		if len(data) < cacheHead || data[0] != cacheMark {
			c.whole = false
			break
		}
		n := int(binary.BigEndian.Uint32(data[1+sha1.Size:]))
		if n < 0 || n > len(data)-cacheHead {
			c.whole = false
			break
		}
		c.blobs[object.ID(data[1:1+sha1.Size])] = data[cacheHead : cacheHead+n : cacheHead+n]
		data = data[cacheHead+n:]
	}
	return c
}

// get returns a blob whose contents are what its id says.
func (c cache) get(id object.ID) ([]byte, bool) {
	data, ok := c.blobs[id]
	if !ok || blobID(data) != id {
		return nil, false
	}
	return data, true
}

func blobID(data []byte) object.ID {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return object.ID(h.Sum(nil))
}

// cacheState adds what a new entry changed, or writes all of the state when
// there is no cache worth having. A failure only makes the next reader slower.
func (j *Journal) cacheState(old, next state.State) {
	if len(next.Plan.Tasks)+len(next.Knowledge) < cacheFiles {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	path := j.cachePath()
	st, err := os.Stat(path)
	fresh := err != nil || st.Size() > maxCache || j.tornCache || j.uncached >= cacheFiles
	files := state.Changes(old, next)
	flags := os.O_WRONLY | os.O_APPEND
	if fresh {
		if os.MkdirAll(filepath.Dir(path), 0o700) != nil {
			return
		}
		files = state.Changes(state.State{}, next)
		flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	}
	var buf []byte
	for name, data := range files {
		if data == nil || !strings.Contains(name, "/") {
			continue // gone, or one of the few that every entry changes
		}
		id := blobID(data)
		buf = append(append(buf, cacheMark), id[:]...)
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(data)))
		buf = append(buf, data...)
	}
	if len(buf) == 0 {
		return
	}
	target := path
	if fresh {
		target = fmt.Sprintf("%s.%d", path, os.Getpid())
	}
	f, err := os.OpenFile(target, flags, 0o600)
	if err != nil {
		return
	}
	// One write a change: writers of one branch wait for each other, and those
	// of two branches append whole records.
	_, err = f.Write(buf)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if fresh {
		if err == nil {
			err = os.Rename(target, path)
		}
		if err != nil {
			os.Remove(target)
			return
		}
		j.tornCache, j.uncached = false, 0
	}
}
