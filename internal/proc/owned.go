package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// OwnedPrefix begins the name of a folder that belongs to this process: a later
// one can tell from the name whether its owner lives.
func OwnedPrefix(prefix string) string {
	id := Self()
	return fmt.Sprintf("%s%d-%d-%s-", prefix, id.Pid, id.StartTime, pidSpace())
}

// RemoveOrphans removes the folders of dir that processes now dead made by
// OwnedPrefix, and says how many. Those of other users, of other containers and
// without an owner in their name stay.
func RemoveOrphans(dir, prefix string) int {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	n := 0
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), prefix)
		f := strings.Split(rest, "-")
		if !ok || len(f) != 4 || !e.IsDir() || f[2] != pidSpace() {
			continue
		}
		pid, err1 := strconv.Atoi(f[0])
		start, err2 := strconv.ParseUint(f[1], 10, 64)
		if err1 != nil || err2 != nil || pid <= 0 || Alive(pid, start, "") {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if st, err := os.Lstat(path); err != nil || !mine(st) {
			continue
		}
		if os.RemoveAll(path) == nil {
			n++
		}
	}
	return n
}
