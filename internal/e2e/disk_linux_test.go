package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// mounted runs a script in a mount namespace of its own, where it may mount
// what it likes. It skips where the kernel refuses such a namespace.
func mounted(t *testing.T, dir string, env []string, script string) (string, int) {
	t.Helper()
	own := []string{"--mount", "--map-root-user"}
	if os.Geteuid() == 0 && exec.Command("unshare", "--mount", "true").Run() == nil {
		own = own[:1] // a sandbox can be made below
	}
	if out, err := exec.Command("unshare", append(own, "true")...).CombinedOutput(); err != nil {
		t.Skipf("a mount namespace is refused here: %v %s", err, out)
	}
	c := exec.Command("unshare", append(own, "sh", "-ec", script)...)
	c.Dir, c.Env = dir, env
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// TestReadOnlyGitDirectory: nothing can be recorded, so commands that write
// refuse to start. Commands that read work.
func TestReadOnlyGitDirectory(t *testing.T) {
	t.Parallel()
	p := newProject(t, doTask, check+"[guard]\nsandbox = \"off\"\n", nil)
	p.must(t, "add", "the first thing")
	before := possessions(p.Repo)
	env := append(append([]string{}, p.Env...), "PATH="+p.bin+":"+os.Getenv("PATH"))
	ro := "mount --bind .git .git; mount -o remount,bind,ro .git\n"
	for _, cmd := range []string{"git-ralph start", "git-ralph add more", "git-ralph pause", "git-ralph rewind 0"} {
		out, code := mounted(t, p.Dir, env, ro+cmd)
		if code == 0 || strings.Contains(out, "panic") || !strings.Contains(out, "error: ") ||
			!strings.Contains(out, "read-only file system") || !strings.Contains(out, "hint: ") {
			t.Errorf("%s: exit %d\n%s", cmd, code, out)
		}
	}
	for _, cmd := range []string{"git-ralph status", "git-ralph tasks", "git-ralph log", "git-ralph prompt"} {
		if out, code := mounted(t, p.Dir, env, ro+cmd); code != 0 {
			t.Errorf("%s: exit %d\n%s", cmd, code, out)
		}
	}
	if after := possessions(p.Repo); after != before {
		t.Errorf("something was changed:\nbefore\n%s\nafter\n%s", before, after)
	}
	p.must(t, "start")
	p.sound(t)
}

// TestAsideOnAnotherDisk: the git directory is on another file system than the
// worktree, so a file that is moved aside is copied. One that would fill that
// disk stays where it is, whole, and the run goes on once there is room.
func TestAsideOnAnotherDisk(t *testing.T) {
	t.Parallel()
	p := newProject(t, "echo spoiled > value.txt; mkdir d; head -c $(cat .git/size)M /dev/zero > d/fill\n", check+
		"[loop]\nmax_attempts = 1\n[worktree]\nmax_file = \"10MB\"\n[guard]\nsandbox = \"off\"\n[validation]\n"+
		"baseline = \"off\"\n", map[string]string{"value.txt": "good\n"})
	p.must(t, "add", "a thing")
	away := filepath.Dir(p.Dir)
	out, code := mounted(t, p.Dir, append(append([]string{}, p.Env...), "PATH="+p.bin+":"+os.Getenv("PATH")),
		fmt.Sprintf(`set +e; mkdir %[1]s/small; mount -t tmpfs -o size=64m tmpfs %[1]s/small
cp -a .git %[1]s/small; mount --bind %[1]s/small/.git .git
restored() {
	test "$(cat value.txt)" = good && test ! -e d && test -z "$(git status --porcelain)" || exit 40
	test "$(find .git/ralph/aside -type f -size +$(cat .git/size)000000c | wc -l)" = $1 || { find .git/ralph/aside; exit 41; }
	git-ralph fsck || exit 42
	rm -r .git/ralph/aside; git-ralph retry T-001
}
echo 12 > .git/size; git-ralph start; restored 1
echo 60 > .git/size; git-ralph start 2> ../said && exit 43
test "$(grep -c 'would take more than half' ../said)" -le 2 && grep '^hint: make room on the disk' ../said ||
	{ cat ../said; exit 47; }
test "$(stat -c %%s d/fill)" = 62914560 || exit 44
test -z "$(find .git/ralph -name '*.tmp')" || exit 45
test "$(df -k --output=avail .git | tail -1)" -gt 40000 || { df -k .git; exit 46; }
mount -o remount,size=256m .git
git-ralph start; restored 2
exit 0
`, away))
	if code != 0 {
		t.Errorf("exit %d\n%s", code, out)
	}
}

// TestFullDisk: the disk fills up during a run, at many different points.
// Nothing acknowledged is lost, and with free space the run continues.
func TestFullDisk(t *testing.T) {
	long.Only(t, "a disk that fills up takes long")
	t.Parallel()
	p := newProject(t, doTask,
		check+"[guard]\nsandbox = \"off\"\n[validation]\nbaseline = \"off\"\nfresh = \"never\"\n", nil)
	p.must(t, "add", "the first thing")
	env := append(append([]string{}, p.Env...), "PATH="+p.bin+":"+os.Getenv("PATH"))
	away := filepath.Dir(p.Dir)
	for _, room := range []int{0, 8, 24, 48, 80, 120, 180} { // KiB left
		script := fmt.Sprintf(`mkdir -p %[1]s/small; mount -t tmpfs -o size=8m tmpfs %[1]s/small
cp -a %[2]s %[1]s/small/work; cd %[1]s/small/work; rm -f .git/index; git read-tree HEAD; git update-index -q --refresh
free=$(df -k --output=avail . | tail -1)
head -c $(( (free - %[3]d) * 1024 )) /dev/zero > ../filler
git-ralph start; first=$?
test $first != 0 || exit 40
rm ../filler
git fsck --strict --no-dangling || exit 42
git-ralph start || exit 43
test "$(cat out-T-001.txt)" = T-001 || exit 44
test -z "$(git status --porcelain)" || { git status --porcelain; exit 45; }
git-ralph fsck || exit 46
exit $first
`, away, p.Dir, room)
		out, code := mounted(t, away, env, "set +e\n"+script)
		switch {
		case code == 40:
			continue // there was room enough
		case code == 0, code >= 42 && code <= 46, strings.Contains(out, "panic"), !strings.Contains(out, "no space left"):
			t.Errorf("with %d KiB left: exit %d\n%s", room, code, out)
		}
	}
}
