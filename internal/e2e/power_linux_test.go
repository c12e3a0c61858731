package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"git-ralph/fixtures/long"
	"git-ralph/fixtures/repo"
)

// rounds is the number of tries of a randomized test: RELIABILITY_ROUNDS if a
// recipe sets it, else few in the long form.
func rounds(t *testing.T, few int) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("RELIABILITY_ROUNDS"))
	if err != nil {
		long.Only(t, "chance needs rounds: set RELIABILITY_ROUNDS")
		return few
	}
	return n
}

// powerDisk is an ext4 file system that can be shut down as by a power cut:
// unflushed data is lost.
type powerDisk struct{ image, dir string }

func newPowerDisk(t *testing.T) *powerDisk {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: a power cut needs root, who may mount a file system of their own")
	}
	dir := t.TempDir()
	d := &powerDisk{filepath.Join(dir, "disk"), filepath.Join(dir, "mnt")}
	must := func(name string, args ...string) {
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: a power cut needs loop devices and ext4: %s: %v %s", name, err, out)
		}
	}
	must("truncate", "-s", "96M", d.image)
	must("mkfs.ext4", "-q", "-F", d.image)
	if err := os.Mkdir(d.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	must("mount", "-o", "loop", d.image, d.dir)
	t.Cleanup(func() { exec.Command("umount", "-l", d.dir).Run() })
	return d
}

// cut ends every write at once, like a power cut.
func (d *powerDisk) cut(t *testing.T) {
	t.Helper()
	f, err := os.Open(d.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const shutdown, noLogFlush = 0x8004587d, 2
	if err := unix.IoctlSetPointerInt(int(f.Fd()), shutdown, noLogFlush); err != nil {
		t.Skipf("SKIPPED: the kernel has no shutdown for ext4: %v", err)
	}
}

// back mounts the disk again, as after the next boot. It mounts a copy of the image: another
// test's sandbox may hold a copy of the old mount, which keeps the dead file system alive.
// Mounting the same image would give the dead one again.
func (d *powerDisk) back(t *testing.T) {
	t.Helper()
	must := func(name string, args ...string) {
		t.Helper()
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v %s", name, args, err, out)
		}
	}
	image := d.image + "-after"
	must("cp", "--sparse=always", d.image, image)
	must("umount", "-l", d.dir)
	must("mount", "-o", "loop", image, d.dir)
}

// TestPowerCut cuts the power at a random moment of a run, beside a person who
// adds notes. What was acknowledged before the cut is in the journal after it,
// nothing is damaged, and the next start finishes the plan.
func TestPowerCut(t *testing.T) {
	n := rounds(t, 3)
	cuts, acked := 0, 0
	for i := range n {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			got := powerCut(t)
			cuts, acked = cuts+1, acked+got
		})
	}
	t.Logf("%d power cuts, %d acknowledged notes before them", cuts, acked)
}

func powerCut(t *testing.T) (acked int) {
	d := newPowerDisk(t)
	r := repo.In(t, d.dir)
	r.Env = append(r.Env, "XDG_CACHE_HOME="+t.TempDir(), "TMPDIR="+t.TempDir())
	agent :=
		"echo more >> tracked.txt; mkdir -p new/$RALPH_TASK_ID; date > new/$RALPH_TASK_ID/made.txt; rm -f " +
			"old-$RALPH_TASK_ID\n" +
			"if [ $RALPH_ATTEMPT = 1 ] && [ $RALPH_TASK_ID = T-003 ]; then echo x > broken; rm -f tracked.txt; fi\n" + doTask
	for path, text := range map[string]string{"agent.sh": agent, "test.sh": "test ! -e broken\n",
		"tracked.txt": "one\n", "old-T-002": "old\n",
		"ralph.toml": "[agent]\ndriver = \"command\"\ncommand = [\"sh\", \"agent.sh\"]\n" + check +
			"[guard]\nsandbox = \"off\"\n[validation]\nbaseline = \"off\"\nfresh = \"never\"\n"} {
		r.Write(path, text)
	}
	r.Git("add", "-A")
	r.Git("commit", "-q", "-m", "first")
	p := asProject(t, r)
	for n := range 8 {
		p.must(t, "add", fmt.Sprintf("thing %d", n))
	}
	if out, err := exec.Command("sync", "-f", d.dir).CombinedOutput(); err != nil {
		t.Fatalf("sync: %v %s", err, out)
	}
	var mu sync.Mutex
	var notes []string
	dark := false
	var wg sync.WaitGroup
	wg.Go(func() { p.run(t, nil, "start") })
	wg.Go(func() {
		for n := range 1000 {
			text := fmt.Sprintf("note-%04d-end", n)
			res := p.run(t, nil, "inject", text)
			mu.Lock()
			over := dark
			if res.code == 0 && !over {
				notes = append(notes, text)
			}
			mu.Unlock()
			if over {
				return
			}
		}
	})
	time.Sleep(100*time.Millisecond + time.Duration(rand.IntN(2500))*time.Millisecond)
	mu.Lock()
	dark = true
	mu.Unlock()
	d.cut(t)
	wg.Wait()
	d.back(t)

	if out, err := p.Try("fsck", "--strict", "--no-dangling"); err != nil {
		t.Errorf("git fsck after the cut: %v\n%s", err, out)
	}
	if res := p.run(t, nil, "start"); res.code != 0 {
		t.Fatalf("the start after the cut: exit %d\n%s%s%s", res.code, res.out, res.err, p.Git("status", "--short"))
	}
	log := p.Git("log", "--format=%B", "refs/ralph/heads/main")
	for _, text := range notes {
		if !strings.Contains(log, text) {
			t.Errorf("the acknowledged %q is lost", text)
		}
	}
	p.sound(t)
	return len(notes)
}
