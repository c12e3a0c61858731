//go:build linux

package worktree

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReferenceIsCovered: each of the 130 cases from the engine's design is in our
// tables.
func TestReferenceIsCovered(t *testing.T) {
	in, err := os.Open("testdata/reference-cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	all := slices.Concat(differential, settingsCases, kindsCases)
	ours := map[string]bool{"TestSafeDirectory": true}
	for _, c := range all {
		if ours[c.name] {
			t.Errorf("two cases are called %s", c.name)
		}
		ours[c.name] = true
	}
	n := 0
	for s := bufio.NewScanner(in); s.Scan(); {
		if strings.HasPrefix(s.Text(), "#") {
			continue
		}
		n++
		if _, by, ok := strings.Cut(s.Text(), " "); !ok || !ours[by] {
			t.Errorf("%q is covered by no case", s.Text())
		}
	}
	if n != 130 {
		t.Errorf("there are %d cases in the list", n)
	}
	t.Logf("%d cases of the reference, %d of ours", n, len(all))
}

// TestSafeDirectory: git refuses to work in another user's repository. So does the
// engine, with git's words and before anything is changed.
func TestSafeDirectory(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give files away")
	}
	p := newPlace(t)
	p.script(baseRepo)
	p.open("", "")
	if out, err := exec.Command("chown", "-R", "65534:65534", p.root).CombinedOutput(); err != nil {
		t.Skipf("files cannot be given away here: %v %s", err, out)
	}
	before := state(t, p.root, "")
	// git trusts a caller that names everything explicitly. It gives its own answer
	// here, and both have to agree.
	_, refused := p.gitOut("", "rev-parse", "--git-dir")
	e, err := New(p.repo, Options{})
	if err == nil {
		defer e.Close()
		_, err = e.Checkpoint(context.Background())
	}
	if (refused != nil) != (err != nil) {
		t.Errorf("git says %v, the engine says %v", refused, err)
	}
	if d := different(before, state(t, p.root, "")); d != "" {
		t.Error(d)
	}
}

// TestRootIsSymlink: the path to the worktree may contain a link. Nothing in it is
// reached through one.
func TestRootIsSymlink(t *testing.T) {
	p := newPlace(t)
	p.script(baseRepo + "new u; mkdir e1")
	p.open("", "")
	real := p.root
	link := filepath.Join(p.dir, "link")
	if err := os.Symlink("main", link); err != nil {
		t.Fatal(err)
	}
	p.repo.Root = link
	e, ctx := p.engine(Options{}), context.Background()
	before := state(t, real, "")
	cp, err := e.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p.script(usualEdits + "rm -r u e1")
	if _, err := e.Restore(ctx, cp); err != nil {
		t.Error(err)
	}
	p.want("the restored worktree", different(before, state(t, real, "")), "")
}

// TestExtendedAttributes: neither git nor a checkpoint knows extended attributes. A
// file that is not rewritten keeps them, also when its mode is restored. A file
// whose contents are restored is a new one.
func TestExtendedAttributes(t *testing.T) {
	p, e, cp := started(t, "new x1; new x2; new x3; commit", Options{})
	const name = "user.test"
	for _, f := range []string{"x1", "x2", "x3"} {
		if err := unix.Setxattr(filepath.Join(p.root, f), name, []byte("v"), 0); err != nil {
			t.Skip("no extended attributes here: ", err)
		}
	}
	p.script("chmod 600 x2; echo other > x3; new n")
	if _, err := e.Restore(context.Background(), cp); err != nil {
		t.Fatal(err)
	}
	for f, want := range map[string]bool{"x1": true, "x2": true, "x3": false} {
		_, err := unix.Getxattr(filepath.Join(p.root, f), name, make([]byte, 9))
		if (err == nil) != want {
			t.Errorf("%s has its attribute: %v, want %v", f, err == nil, want)
		}
	}
}

// TestOtherFileSystemInside: a folder of the worktree may be another file
// system, read-only or not.
func TestOtherFileSystemInside(t *testing.T) {
	p := newPlace(t)
	m := filepath.Join(p.root, "m")
	if err := os.Mkdir(m, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", m, "tmpfs", 0, "size=1m,mode=755"); err != nil {
		t.Skip("no file system can be mounted here: ", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(m, unix.MNT_DETACH) })
	p.script(baseRepo + "new m/t; new m/s/t; commit; new m/u; chmod 700 m/s")
	p.open("", "")
	e, ctx := p.engine(Options{}), context.Background()
	before := state(t, p.root, "")
	cp, err := e.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	const edit = "new m/t 2; rm -r m/s; rm m/u; new m/n/x; new a.txt 2"
	p.script(edit)
	if _, err := e.Restore(ctx, cp); err != nil {
		t.Error(err)
	}
	p.want("the restored worktree", different(before, state(t, p.root, "")), "")
	// The folder turns read-only. All else comes back; what does not is named.
	p.script(edit)
	if err := unix.Mount("", m, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	report, err := e.Restore(ctx, cp)
	if err == nil {
		t.Error("a restore onto a read-only file system said that all is well")
	}
	for _, f := range report.Failures {
		if f.Path != "m" && !strings.HasPrefix(f.Path, "m/") {
			t.Errorf("%s: %v", f.Path, f.Err)
		}
	}
	for _, f := range []string{"m/t", "m/u", "m/n/x"} {
		if !strings.Contains(err.Error()+failedPaths(report), f) {
			t.Errorf("%s is not named in %v", f, err)
		}
	}
	if err := unix.Mount("", m, "", unix.MS_REMOUNT, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Restore(ctx, cp); err != nil {
		t.Error(err)
	}
	p.want("writable again", different(before, state(t, p.root, "")), "")
}

func failedPaths(r Report) string {
	var b strings.Builder
	for _, f := range r.Failures {
		b.WriteString(f.Path + "\n")
	}
	return b.String()
}

// TestTrapsInRepositories: an agent may put FIFOs and huge files in the place of
// git's files. They neither block us nor fill the memory.
func TestTrapsInRepositories(t *testing.T) {
	p, e, cp := started(t, "", Options{})
	p.script(`for d in head common file; do mkdir -p $d; done
		mkdir -p common/.git/refs common/.git/objects; echo 'ref: refs/heads/main' > common/.git/HEAD; mkfifo common/.git/commondir
		mkdir -p head/.git/refs head/.git/objects; truncate -s 1T head/.git/HEAD; mkfifo file/.git; rm -f .git/info/exclude .git/info/attributes; mkdir -p .git/info; mkfifo .git/info/exclude .git/info/attributes`)
	if _, err := e.Capture(context.Background(), cp); err != nil {
		t.Error(err)
	}
	if _, err := e.Restore(context.Background(), cp); err != nil {
		t.Error(err)
	}
}
