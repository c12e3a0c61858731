package object

import (
	"fmt"
	"math/rand"
	"os"
	"strings"
	"testing"
)

// TestGitMapsLittle: the git that reads packed objects maps no more of a large pack
// than of a small one, however many objects are read.
func TestGitMapsLittle(t *testing.T) {
	t.Parallel()
	s, git := newStore(t, "")
	random, data := rand.New(rand.NewSource(1)), make([]byte, 1<<20)
	var stream strings.Builder
	var ids []ID
	for range 32 {
		random.Read(data)
		fmt.Fprintf(&stream, "blob\ndata %d\n%s\n", len(data), data)
		ids = append(ids, Sum(Blob, data))
	}
	git(stream.String(), "-c", "pack.compression=0", "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet")
	if _, err := s.ReadMany(ids); err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cat.child.Pid))
	if err != nil {
		t.Skip(err)
	}
	mapped := 0
	if _, after, ok := strings.Cut(string(status), "RssFile:"); !ok {
		t.Skip("the kernel does not say what is mapped")
	} else if _, err := fmt.Sscan(after, &mapped); err != nil {
		t.Fatal(err)
	}
	if mapped > 24<<10 {
		t.Errorf("git holds %d KB of files mapped after %d MB of packed objects", mapped, len(ids))
	}
}
