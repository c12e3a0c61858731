package gitstate

import (
	"os"
	"strconv"
	"strings"
)

// whereIs says where an opened folder lies now, also when it was renamed; ""
// when it was removed.
func whereIs(f *os.File) string {
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(f.Fd())))
	if err != nil || strings.HasSuffix(path, " (deleted)") {
		return ""
	}
	return path
}
