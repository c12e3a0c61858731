package proc

import (
	"os"
	"strings"
	"sync"
)

// pidSpace names the pid namespace, "" when it is not known.
var pidSpace = sync.OnceValue(func() string {
	name, _ := os.Readlink("/proc/self/ns/pid")
	return strings.TrimSuffix(strings.TrimPrefix(name, "pid:["), "]")
})
