package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// writeFigures puts text between the two marks of a page of doc/, below the
// machine and the versions of the measurement.
func writeFigures(t testing.TB, page, text string) {
	t.Helper()
	path := filepath.Join("..", "..", "doc", page)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- measured -->\n", "<!-- end -->\n"
	head, rest, ok := strings.Cut(string(data), begin)
	_, tail, whole := strings.Cut(rest, end)
	if !ok || !whole {
		t.Fatalf("%s has no marks", path)
	}
	text = head + begin + "\n" + machine() + "\n\n" + strings.TrimSpace(text) + "\n\n" + end + tail
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// machine describes the machine, the versions and the other load of a measurement.
func machine() string {
	said := func(name string, args ...string) string {
		out, err := exec.Command(name, args...).Output()
		if err != nil {
			return name + " unknown"
		}
		return strings.TrimSpace(string(out))
	}
	model := runtime.GOARCH
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			model = strings.TrimSpace(strings.TrimLeft(name, " \t:"))
			break
		}
	}
	load := "unknown"
	if avg, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = strings.Fields(string(avg))[1]
	}
	return fmt.Sprintf("Measured on %s: %d processors (%s), %s, %s, %s;\n%s in the temporary folder; "+
		"other work kept %s processes waiting or running at the end.",
		time.Now().UTC().Format("2 January 2006"), runtime.NumCPU(), model, said("uname", "-sr"), said("git", "--version"),
		runtime.Version(), fileSystem(os.TempDir()), load)
}

// fileSystem is the name of the file system of a folder.
func fileSystem(dir string) string {
	out, err := exec.Command("stat", "-f", "-c", "%T", dir).Output()
	if err != nil {
		return "an unknown file system"
	}
	return strings.TrimSpace(string(out))
}
