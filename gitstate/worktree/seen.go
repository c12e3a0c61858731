package worktree

import (
	"os"
	"time"
)

// Seen is how a file or folder was when it was looked at.
type Seen struct{ key indexKey }

// See records a file or folder. Call it before you read: the next See notices
// changes in between.
func See(path string) (Seen, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return Seen{}, err
	}
	st := infoStat(fi)
	return Seen{indexKey{st.size, st.mtime, st.ctime, st.ino, late(st, time.Now().UnixNano())}}, nil
}

// Proves reports whether nothing has changed since, by the change time, which nobody
// can set. Where there is none it never does.
func (s Seen) Proves(now Seen) bool {
	now.key.racy = false
	return s.key.ctime != 0 && s.key == now.key
}
