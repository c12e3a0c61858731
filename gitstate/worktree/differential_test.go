//go:build linux

package worktree

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/fixtures/long"
)

func TestDifferential(t *testing.T) {
	asUser := os.Getenv("WORKTREE_TEST_USER") != ""
	var exact, refused, left atomic.Int64
	variants := []string{"warm", "reload", "portable"}
	each := long.Number(t, 1, len(variants)) // the short form runs one for each case, by turns
	cases := slices.DeleteFunc(slices.Concat(differential, settingsCases, kindsCases), func(c diffCase) bool {
		return c.user && os.Getuid() == 0 || asUser && !c.user
	})
	if !asUser {
		cases = long.Sample(t, cases, 6)
	}
	t.Run("cases", func(t *testing.T) {
		for i, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				for n := range each {
					runCase(t, c, variants[(i+n)%len(variants)])
				}
				switch {
				case c.fails != "":
					refused.Add(1)
					t.Logf("%-32s refused by name (%s): nothing changed", c.name, c.why)
				case c.left != "":
					left.Add(1)
					t.Logf("%-32s exact but for %s, which is named (%s)", c.name, c.left, c.why)
				default:
					exact.Add(1)
					t.Logf("%-32s tree as git's, keep as git's, restore exact (%s)", c.name, c.why)
				}
			})
		}
	})
	t.Logf("%d cases exact, %d exact but for what is named and left alone, %d refused by name", exact.Load(), left.Load(),
		refused.Load())
}

// TestDifferentialAsUser runs the cases about permissions, which root does not have.
func TestDifferentialAsUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("already an ordinary user: TestDifferential runs these cases")
	}
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "worktree-user-*")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := errors.Join(os.Chmod(dir, 0o777), os.WriteFile(filepath.Join(dir, "test"), data, 0o755)); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(filepath.Join(dir, "test"), "-test.run=^TestDifferential$", "-test.v", "-test.count=1")
	c.Dir = dir
	c.Env = append(append(os.Environ(), long.Env()...), "WORKTREE_TEST_USER=1", "TMPDIR="+dir, "HOME="+dir)
	c.SysProcAttr = ordinaryUser()
	out, err := c.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out, []byte("restore exact")) {
		t.Fatal("no case ran")
	}
}

func ordinaryUser() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
}

func runCase(t *testing.T, c diffCase, variant string) {
	t.Helper()
	p := newPlace(t)
	if !c.bare {
		p.script(baseRepo)
	}
	p.script(c.setup)
	p.open(c.root, c.gitDir)
	opts := Options{MaxFile: c.maxFile, portable: variant == "portable", Aside: filepath.Join(p.dir, "aside")}
	if c.capture != "" {
		opts.CaptureIgnored = strings.Fields(c.capture)
	}
	errf := func(format string, args ...any) {
		t.Helper()
		t.Errorf(variant+": "+format, args...)
	}
	ctx := context.Background()
	before, beside := state(t, p.root, p.repo.GitDir), p.outside()
	inspect(t, ctx, p, c, opts)
	e := p.engine(opts)
	cp, err := e.Checkpoint(ctx)
	if c.fails != "" {
		if err == nil || !strings.Contains(err.Error(), c.fails) {
			errf("checkpoint: %v, want an error about %q", err, c.fails)
		}
		if d := different(before, state(t, p.root, p.repo.GitDir)); d != "" {
			errf("a refused checkpoint changed the worktree:\n%s", d)
		}
		if d := different(beside, p.outside()); d != "" {
			errf("a refused checkpoint changed the repository:\n%s", d)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", variant, err)
	}
	if variant == "warm" {
		first := cp.Tree
		if cp, err = e.Checkpoint(ctx); err != nil || cp.Tree != first {
			t.Fatalf("second checkpoint: %v %v, first was %s", cp, err, first)
		}
	}
	stored, err := cp.Store(ctx)
	if err == nil {
		err = p.repo.Store.Sync()
	}
	if err != nil {
		t.Fatal(err)
	}
	var atStart map[string]string
	if tree, entries, err := p.oracle(p.repo.IndexPath()); err == nil {
		atStart = entries
		if c.noOracle == "" && tree != cp.Tree.String() {
			errf("the checkpoint's tree is not git's:\n%s", cmp.Diff(entries, p.treeEntries(cp.Tree)))
		}
	} else if c.noOracle == "" {
		errf("oracle: %v", err)
	}
	if out, err := p.gitOut("", "fsck", "--strict", "--no-dangling", cp.Tree.String(), stored.String()); err != nil &&
		variant == "warm" && c.noOracle == "" {
		errf("fsck: %v %s", err, out)
	}
	if d := different(before, state(t, p.root, p.repo.GitDir)); d != "" {
		errf("the checkpoint changed the worktree:\n%s", d)
	}
	if d := different(beside, p.outside()); d != "" {
		errf("the checkpoint changed the repository:\n%s", d)
	}
	keep := newKeepOracle(p, cp, atStart)

	edit := c.edit
	if edit == "" {
		edit = usualEdits
	}
	p.script(edit)
	after, beside := state(t, p.root, p.repo.GitDir), p.outside()
	if variant == "reload" {
		e = p.engine(opts)
		if cp, err = e.Load(ctx, stored); err != nil {
			t.Fatal(err)
		}
	}
	caught, err := e.Capture(ctx, cp)
	if err != nil {
		t.Fatalf("%s: %v", variant, err)
	}
	if err := p.repo.Store.Sync(); err != nil {
		t.Fatal(err)
	}
	if d := different(after, state(t, p.root, p.repo.GitDir)); d != "" {
		errf("the capture changed the worktree:\n%s", d)
	}
	if want, ok := keep.want(errf, c); ok {
		if d := cmp.Diff(want, p.treeEntries(caught.Keep)); d != "" {
			errf("what is kept is not what git would commit:\n%s", d)
		}
	}
	if variant != "reload" {
		checkRestoreTo(t, ctx, e, p, cp, caught, before, after)
	}
	report, err := e.Restore(ctx, cp)
	if err != nil {
		errf("%v", err)
	}
	now := state(t, p.root, p.repo.GitDir)
	quiet := c.quiet
	if quiet == "*" {
		for k := range now {
			if _, ok := before[k]; !ok {
				quiet += " " + k
			}
		}
	}
	if d := different(before, now, c.left, quiet); d != "" {
		errf("the restored worktree differs:\n%s\n%+v", d, report)
	}
	for _, l := range strings.Fields(c.left) {
		if before[l] == now[l] && !strings.HasSuffix(l, ".git") {
			errf("%q is said to stay different and does not", l)
		}
	}
	if d := different(beside, p.outside()); d != "" {
		errf("the restore changed the repository:\n%s", d)
	}
	again, err := e.Checkpoint(ctx)
	if err != nil {
		errf("checkpoint after the restore: %v", err)
	} else if again.Tree != cp.Tree && c.left == "" && !strings.Contains(c.name, "agent-") {
		errf("the tree after the restore is another one:\n%s", cmp.Diff(p.treeEntries(cp.Tree), p.treeEntries(again.Tree)))
	}
}

func inspect(t *testing.T, ctx context.Context, p *place, c diffCase, opts Options) {
	t.Helper()
	found, err := Inspect(ctx, p.repo, opts)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, x := range found.Refused() {
		names = append(names, x.Name)
		if x.Hint == "" || x.Reason == "" {
			t.Errorf("%s is refused without a reason and a hint: %+v", x.Name, x)
		}
	}
	switch {
	case c.refuse == "-":
	case c.refuse == "" && len(names) > 0:
		t.Errorf("refused: %+v", found.Refused())
	case c.refuse != "" && !slices.Contains(names, c.refuse):
		t.Errorf("refused are %v, want %s", names, c.refuse)
	}
}

// checkRestoreTo plays checks that change captured files and make new ones.
func checkRestoreTo(t *testing.T, ctx context.Context, e *Engine, p *place, cp *Checkpoint, caught *Capture, before,
	after map[string]string) {
	t.Helper()
	p.script(`if [ -f a.txt ] && [ ! -L a.txt ] && [ -w a.txt ]; then { cat a.txt; echo check; } > t.tmp; mv t.tmp ` +
		`a.txt; fi; new zz-check/made; rm -f new.txt || true`)
	if _, err := e.RestoreTo(ctx, caught); err != nil {
		t.Errorf("%v", err)
	}
	p.script("rm -rf zz-check t.tmp") // if ignored, they stay
	want := map[string]string{}
	for k, v := range after {
		want[k] = v
	}
	now := state(t, p.root, p.repo.GitDir)
	drop := []string{}
	for _, path := range append(caught.PutBack, caught.Unreadable...) {
		drop = append(drop, path)
		for k := range after {
			if strings.HasPrefix(k, path+"/") {
				drop = append(drop, k) // it was in the place of the user's own file
			}
		}
		for k := range before {
			if path == k || strings.HasPrefix(k, path+"/") || strings.HasPrefix(path, k+"/") {
				drop = append(drop, k)
			}
		}
		locked := slices.ContainsFunc(caught.Unreadable,
			func(u string) bool { return path == u || strings.HasPrefix(path, u+"/") })
		if now[path] != before[path] && !locked {
			t.Errorf("%q is %q after RestoreTo, was %q at the checkpoint", path, now[path], before[path])
		}
	}
	for _, path := range slices.Concat(drop, caught.TooLarge, caught.Special) {
		delete(want, path)
		delete(now, path)
	}
	if d := different(want, now); d != "" {
		t.Errorf("the worktree after RestoreTo is not what was captured:\n%s", d)
	}
}
