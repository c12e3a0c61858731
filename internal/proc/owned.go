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

// TempPrefix begins the names of all folders that TempDir makes.
const TempPrefix = "git-ralph-"

// TempDir makes a temporary folder that RemoveOrphans knows by TempPrefix. The
// word says what it is for.
func TempDir(word string) (string, error) {
	return os.MkdirTemp("", OwnedPrefix(TempPrefix+word+"-"))
}

// RemoveOrphans removes the folders that Orphans names, and says how many.
func RemoveOrphans(dir, prefix string) int {
	n := 0
	for _, path := range Orphans(dir, prefix) {
		if os.RemoveAll(path) == nil {
			n++
		}
	}
	return n
}

// DeadOwner reports whether a dead process made the folder of this name by OwnedPrefix,
// with a prefix that begins like this one.
func DeadOwner(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	f := strings.Split(rest, "-")
	if !ok || len(f) < 4 {
		return false
	}
	if f = f[len(f)-4:]; f[2] != pidSpace() {
		return false
	}
	pid, err1 := strconv.Atoi(f[0])
	start, err2 := strconv.ParseUint(f[1], 10, 64)
	return err1 == nil && err2 == nil && pid > 0 && !Alive(pid, start, "")
}

// Orphans are the folders of dir that dead processes made by OwnedPrefix with
// a prefix that begins like this one. Folders of other users and other
// containers, and those without an owner in their name, are left out.
func Orphans(dir, prefix string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		if !DeadOwner(e.Name(), prefix) || !e.IsDir() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if st, err := os.Lstat(path); err != nil || !mine(st) {
			continue
		}
		out = append(out, path)
	}
	return out
}
