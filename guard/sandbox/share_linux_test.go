package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"git-ralph/internal/proc"
)

// sharing gives the box the folders deps and venv of another worktree.
func sharing(t *testing.T) *box {
	t.Helper()
	b := newBox(t, "")
	b.write("main/deps/tool/index.js", "one\n")
	b.write("main/deps/other", "other\n")
	b.write("main/venv/pyvenv.cfg", "home = /usr/bin\n")
	b.write("main/venv/bin/run", "#!"+b.dir+"/main/venv/bin/python\n")
	b.write("main/venv/lib/python3/site-packages/proj.pth", b.dir+"/main/src\n"+b.dir+"/mainly\n")
	b.write("main/venv/lib/python3/site-packages/data.txt", b.dir+"/main\n")
	for name, to := range map[string]string{"deps/linked": b.dir + "/main/packages/a", "deps/near": "../packages/a"} {
		if err := os.Symlink(to, filepath.Join(b.dir, "main", name)); err != nil {
			t.Fatal(err)
		}
	}
	b.spec.ShareFrom, b.spec.ShareLayer = filepath.Join(b.dir, "main"), filepath.Join(b.dir, "state", "layer")
	for _, name := range []string{"deps", "venv"} {
		b.spec.Shares = append(b.spec.Shares, Share{Lower: filepath.Join(b.dir, "main", name),
			Target: filepath.Join(b.work, name)})
	}
	t.Cleanup(func() { RemoveHomeUpper(b.spec.ShareLayer) })
	return b
}

// TestShare: a folder of another worktree is visible, writes to it stay in a layer,
// and the folder itself never changes.
func TestShare(t *testing.T) {
	b := sharing(t)
	before := b.picture(filepath.Join(b.dir, "state"), b.work)
	for _, step := range []struct{ why, script, want string }{
		{"it is there", "cat deps/tool/index.js", "one\n"},
		{"it can be written", "echo two >deps/tool/index.js; rm deps/other; mv deps/tool/index.js deps/new; cat deps/new",
			"two\n"},
		{"what was written stays", "cat deps/new; ls deps deps/tool", "two\ndeps:\nlinked\nnear\nnew\ntool\n\ndeps/tool:\n"},
		{"a folder of it is renamed by copying alone", "mv -n deps/tool deps/moved && ls deps", "linked\nmoved\nnear\nnew\n"},
		{"what leads to the other worktree leads to this one", "readlink deps/linked deps/near; cat venv/bin/run; " +
			"cat venv/lib/python3/site-packages/*",
			b.work + "/packages/a\n../packages/a\n#!" + b.work + "/venv/bin/python\n" + b.dir + "/main\n" +
				b.work + "/src\n" + b.dir + "/mainly\n"},
	} {
		if out, exit := b.inside(step.script); !exit.Success() || out != step.want {
			t.Errorf("%s: %v %q, want %q", step.why, exit, out, step.want)
		}
	}
	if now := b.picture(filepath.Join(b.dir, "state"), b.work); len(now) != len(before) {
		t.Errorf("%d files and folders, had %d", len(now), len(before))
	} else {
		for name, was := range before {
			if now[name] != was {
				t.Errorf("%s: %s, was %s", name, now[name], was)
			}
		}
	}
	if left, err := os.ReadDir(filepath.Join(b.work, "deps")); err != nil || len(left) > 0 {
		t.Errorf("in the worktree itself: %v %v", left, err)
	}
	other := sharing(t)
	other.spec.Shares[0].Lower = b.spec.Shares[0].Lower
	if out, _ := other.inside("cat deps/tool/index.js deps/new"); !strings.HasPrefix(out, "one\n") ||
		!strings.Contains(out, "No such file") {
		t.Errorf("another worktree sees %q", out)
	}
}

// TestShareBesideAnother: while one sandbox holds the layer, another one sees its
// contents and keeps no changes.
func TestShareBesideAnother(t *testing.T) {
	b := sharing(t)
	if out, exit := b.inside("echo two >deps/tool/index.js; rm deps/other"); !exit.Success() {
		t.Fatal(out)
	}
	spec := b.spec
	lock, apart, err := keepLayer(&spec)
	if err != nil || lock == nil || apart != "" {
		t.Fatal(lock, apart, err)
	}
	if out, _ := b.inside("cat deps/tool/index.js; echo three >deps/tool/index.js; cat deps/tool/index.js; " +
		"test -e deps/other || echo gone"); out != "two\nthree\ngone\n" {
		t.Errorf("beside another: %q", out)
	}
	if left, _ := filepath.Glob(filepath.Join(b.spec.ShareLayer, discardPrefix+"*")); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
	lock.Close()
	if out, _ := b.inside("cat deps/tool/index.js"); out != "two\n" {
		t.Errorf("afterwards: %q", out)
	}
}

// TestShareInTheWay: a share is not mounted if its place is a link to elsewhere or is
// taken.
func TestShareInTheWay(t *testing.T) {
	for _, way := range []string{"ln -s $HOME/notes deps", "ln -s .git deps", "echo mine >deps"} {
		b := sharing(t)
		b.outside(way)
		before := b.protected()
		if out, exit := b.inside("cat deps/tool/index.js"); exit.Success() {
			t.Errorf("%s: %q", way, out)
		}
		if out, exit := b.inside("cat venv/pyvenv.cfg"); !exit.Success() {
			t.Errorf("%s: the other one: %s", way, out)
		}
		b.unchanged(before)
	}
}

// TestTryShare: a trial shows whether sharing works.
func TestTryShare(t *testing.T) {
	b := sharing(t)
	r, err := probed()
	if err != nil {
		t.Fatal(err)
	}
	dir, lower := filepath.Join(b.dir, "state", "tries"), b.spec.Shares[0].Lower
	if err := TryShare(t.Context(), r, lower, dir); err != nil {
		t.Error(err)
	}
	for _, bad := range []struct {
		why   string
		r     Report
		lower string
	}{
		{"it is missing", r, lower + "-not"},
		{"it is a file", r, filepath.Join(lower, "other")},
		{"without namespaces", Report{Mechanism: Landlock}, lower},
	} {
		if err := TryShare(t.Context(), bad.r, bad.lower, dir); err == nil {
			t.Errorf("%s: it is shared", bad.why)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// TestForeign: an ordinary user cannot overlay files of another owner.
func TestForeign(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root maps every owner")
	}
	dir := t.TempDir()
	if err := foreign(dir); err != nil {
		t.Error(err)
	}
	if err := foreign("/usr/bin"); err == nil {
		t.Error("files of root are taken for ours")
	}
}

// TestShareAfterKill: a killed command leaves nothing that blocks the next.
func TestShareAfterKill(t *testing.T) {
	b := sharing(t)
	g := b.group()
	p, err := g.Start(t.Context(), proc.Command{Argv: []string{"bash", "-c", "echo two >deps/new; touch up; sleep 60"},
		Dir: b.work, Env: b.env})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it has written", func() bool { _, err := os.Stat(filepath.Join(b.work, "up")); return err == nil })
	syscall.Kill(p.Pid, syscall.SIGKILL)
	p.Wait()
	g.Close()
	if out, exit := b.inside("cat deps/new deps/other"); !exit.Success() || out != "two\nother\n" {
		t.Errorf("%v %q", exit, out)
	}
	if m, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(m), b.dir) {
		t.Errorf("mounted outside: %v", err)
	}
}
