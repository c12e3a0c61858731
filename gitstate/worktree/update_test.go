//go:build linux

package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/gitstate/object"
)

// keepAttempt plays one kept iteration as far as the engine is concerned: the
// agent's edit, the commit, and the index that UpdateIndex writes.
func keepAttempt(t *testing.T, p *place, e *Engine, edit string) (from, to object.ID) {
	t.Helper()
	ctx := context.Background()
	cp, err := e.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p.script(edit)
	caught, err := e.Capture(ctx, cp)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.PutBack(ctx, cp, caught.PutBack); err != nil {
		t.Fatal(err)
	}
	if err := p.repo.Store.Sync(); err != nil {
		t.Fatal(err)
	}
	args := []string{"commit-tree", "-m", "kept", caught.Keep.String()}
	if !cp.Tip.IsZero() {
		args = append(args, "-p", cp.Tip.String())
	}
	out, err := p.gitOut("", args...)
	if err != nil {
		t.Fatal(err)
	}
	to, err = object.ParseID(strings.TrimSpace(out))
	if err != nil {
		t.Fatal(err)
	}
	return cp.Tip, to
}

func (p *place) lock() *os.File {
	p.t.Helper()
	f, err := os.OpenFile(p.repo.IndexPath()+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		p.t.Fatal(err)
	}
	return f
}

func (p *place) land(lock *os.File, to object.ID) {
	p.t.Helper()
	err := errors.Join(lock.Close(), os.Rename(p.repo.IndexPath()+".lock", p.repo.IndexPath()))
	if err == nil {
		_, err = p.gitOut("", "update-ref", "HEAD", to.String())
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) want(why string, got, want string) {
	p.t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		p.t.Errorf("%s:\n%s", why, d)
	}
}

func (p *place) ask(args ...string) string {
	p.t.Helper()
	out, err := p.gitOut("", args...)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// TestUpdateIndex: after a keep git status is as clean as it was, flags survive,
// and git trusts the stat data.
func TestUpdateIndex(t *testing.T) {
	for _, c := range []struct{ name, why, setup, edit, status, flags string }{
		{"plain", "the usual edits", "", usualEdits, "", ""},
		{"mine-untracked", "the person's own file stays untracked", "new mine", "new mine 2; new n", "?? mine\n", ""},
		{"bits", "flags of other entries survive",
			"new i; git add -N i; git update-index --skip-worktree d/x.txt; git update-index --assume-unchanged run.sh",
			"new a.txt 2; new n", " A i\n", "S d/x.txt h run.sh"},
		{"bits-own", "flags of the changed entry survive", "git update-index --assume-unchanged a.txt", "new a.txt 2",
			"", "h a.txt"},
		{"intent", "an intent to add that is kept", "new i; git add -N i", "new i 2", "", ""},
		{"file-to-dir", "a file becomes a folder", "", "rm a.txt; new a.txt/x; rm -r d; new d file", "", ""},
		{"modes", "only the mode", "", "chmod 755 a.txt; chmod 644 run.sh", "", ""},
		{"v4", "version 4", "git update-index --index-version 4", usualEdits, "", ""},
		{"untracked-cache", "the untracked cache", "git update-index --untracked-cache; git status >/dev/null; new u",
			usualEdits + "git status > /dev/null", "?? u\n", ""},
		{"split", "a split index", "git update-index --split-index", usualEdits, "", ""},
		{"sparse", "a sparse index", "new k1/f; new k2/f; commit; git sparse-checkout set --sparse-index k1",
			"new k1/f 2; new k1/g", "", ""},
		{"eol", "conversions",
			"printf '*.txt text eol=crlf\n' > .gitattributes; commit; rm a.txt; git checkout -q a.txt",
			"printf 'x\\r\\n' > a.txt; printf 'y\\r\\n' > n.txt", "", ""},
		{"unborn", "the first commit", "rm -rf .git; git init -q -b main .", "new n; mkdir q; new q/r",
			"?? a.txt\n?? d/\n?? del.txt\n?? run.sh\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.script(baseRepo + c.setup)
			p.open("", "")
			e := p.engine(Options{})
			from, to := keepAttempt(t, p, e, c.edit)
			lock := p.lock()
			if err := e.UpdateIndex(context.Background(), lock, from, to); err != nil {
				t.Fatal(err)
			}
			p.land(lock, to)
			p.want("status ("+c.why+")", p.ask("status", "--porcelain"), c.status)
			p.want("staged", p.ask("diff", "--cached", "--name-status", "--ita-invisible-in-index"), "")
			p.ask("fsck", "--strict")
			for _, f := range strings.Fields(c.flags) {
				if len(f) > 1 && !strings.Contains(p.ask("ls-files", "-v", "-t", f), f) {
					t.Errorf("%s is gone", f)
				}
			}
			if got := p.ask("ls-files", "-v"); c.flags != "" {
				f := strings.Fields(c.flags)
				for i := 0; i < len(f); i += 2 {
					if !strings.Contains(got, f[i]+" "+f[i+1]+"\n") {
						t.Errorf("the flag %s of %s is gone:\n%s", f[i], f[i+1], got)
					}
				}
			}
			// And a second one, on the first one's index.
			from, to = keepAttempt(t, p, e, "new second/file")
			lock = p.lock()
			if err := e.UpdateIndex(context.Background(), lock, from, to); err != nil {
				t.Fatal(err)
			}
			p.land(lock, to)
			p.want("status after a second keep", p.ask("status", "--porcelain"), c.status)
			p.want("tree of the index", p.ask("write-tree"), p.ask("rev-parse", "HEAD^{tree}"))
		})
	}
}

// TestUpdateIndexConflict: a change that the user has staged meanwhile stops the
// keep, and nothing is written.
func TestUpdateIndexConflict(t *testing.T) {
	p := newPlace(t)
	p.script(baseRepo)
	p.open("", "")
	e := p.engine(Options{})
	from, to := keepAttempt(t, p, e, "new a.txt agent")
	p.script("new a.txt person; git add a.txt")
	lock := p.lock()
	err := e.UpdateIndex(context.Background(), lock, from, to)
	var conflict *IndexConflict
	if !errors.As(err, &conflict) || conflict.Path != "a.txt" || conflict.Have.ID != object.Sum(object.Blob,
		[]byte("person\n")) {
		t.Fatalf("got %v, want a conflict at a.txt", err)
	}
	if st, err := lock.Stat(); err != nil || st.Size() != 0 {
		t.Errorf("something was written: %v %v", st, err)
	}
	set, err := e.RepairIndex(context.Background(), lock, from, to)
	if err != nil || len(set) != 0 {
		t.Errorf("a repair touched %v (%v)", set, err)
	}
}

// TestUpdateIndexNeverHidesAnEdit: the file changed again after the capture, so its
// index entry must not be clean.
func TestUpdateIndexNeverHidesAnEdit(t *testing.T) {
	p := newPlace(t)
	p.script(baseRepo)
	p.open("", "")
	e := p.engine(Options{})
	from, to := keepAttempt(t, p, e, "new a.txt agent")
	p.script("printf 'PERSN\n' > a.txt") // the same size
	lock := p.lock()
	if err := e.UpdateIndex(context.Background(), lock, from, to); err != nil {
		t.Fatal(err)
	}
	p.land(lock, to)
	p.want("status", p.ask("status", "--porcelain"), " M a.txt\n")
}

// TestMendIndex finishes a keep after a crash, and only where nothing else happened.
func TestMendIndex(t *testing.T) {
	p := newPlace(t)
	p.script(baseRepo)
	p.open("", "")
	e := p.engine(Options{})
	from, to := keepAttempt(t, p, e, "new a.txt agent; new n; rm del.txt; new d/x.txt agent")
	p.script("new d/x.txt person") // since the crash
	p.ask("update-ref", "HEAD", to.String())
	if err := p.engine(Options{}).MendIndex(context.Background(), from, to, 0); err != nil {
		t.Fatal(err)
	}
	p.want("status", p.ask("status", "--porcelain"), "MM d/x.txt\n")
	if _, err := os.Lstat(p.repo.IndexPath() + ".lock"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock is left: %v", err)
	}
}

// TestRestoreIndex puts entries back that an agent without a sandbox changed.
func TestRestoreIndex(t *testing.T) {
	for _, setup := range []string{"", "new i; git add -N i; git update-index --skip-worktree run.sh; new s; git add s",
		conflict + "git merge -q side >/dev/null 2>&1 || true"} {
		p := newPlace(t)
		p.script(baseRepo + setup)
		p.open("", "")
		e := p.engine(Options{})
		ctx := context.Background()
		cp, err := e.Checkpoint(ctx)
		if err != nil {
			t.Fatal(err)
		}
		before := p.ask("ls-files", "-s") + p.ask("ls-files", "-v")
		if same, err := e.SameIndex(ctx, cp); err != nil || !same {
			t.Fatalf("the index differs at once: %v", err)
		}
		p.script(
			"new a.txt 9; git add -A; git rm -q --cached d/x.txt; git update-index --no-skip-worktree run.sh; git " +
				"update-index --assume-unchanged del.txt")
		if same, err := e.SameIndex(ctx, cp); err != nil || same {
			t.Fatalf("a changed index was not seen: %v", err)
		}
		lock := p.lock()
		if err := e.RestoreIndex(ctx, lock, cp.Index); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(lock.Close(), os.Rename(p.repo.IndexPath()+".lock", p.repo.IndexPath())); err != nil {
			t.Fatal(err)
		}
		p.want("entries and flags", p.ask("ls-files", "-s")+p.ask("ls-files", "-v"), before)
	}
}

// TestCheckout moves files between trees and stops at a user's changes.
func TestCheckout(t *testing.T) {
	p := newPlace(t)
	p.script(baseRepo + "git tag one;" + usualEdits + "ln -s a.txt l; new zz/y/x; commit two; git tag two")
	p.open("", "")
	e := p.engine(Options{})
	ctx := context.Background()
	id := func(rev string) object.ID {
		id, err := object.ParseID(strings.TrimSpace(p.ask("rev-parse", rev)))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	one, two := id("one"), id("two")
	at := state(t, p.root, "")
	if _, err := e.Checkout(ctx, two, one); err != nil {
		t.Fatal(err)
	}
	p.script("git read-tree one")
	p.want("worktree against one", p.ask("diff", "--name-status"), "")
	p.want("nothing else", p.ask("ls-files", "-o"), "")
	p.script("git read-tree two")
	if _, err := os.Lstat(filepath.Join(p.root, "zz")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty folder stays: %v", err)
	}
	p.script("new nd/mine")
	if _, err := e.Checkout(ctx, one, two); err != nil {
		t.Fatal(err)
	}
	p.script("rm nd/mine")
	if d := different(at, state(t, p.root, "")); d != "" {
		t.Errorf("there and back is not the same:\n%s", d)
	}
	if _, err := e.Checkout(ctx, two, one, "a.txt", "zz"); err != nil {
		t.Fatal(err)
	}
	p.want("only some paths", p.ask("diff", "--name-status", "two"), "M\ta.txt\nD\tzz/y/x\n")
	p.script("git checkout -q two -- .; new a.txt person; new d/e blocks")
	before := state(t, p.root, "")
	_, err := e.Checkout(ctx, two, one)
	var re *RestoreError
	if !errors.As(err, &re) || len(re.Failures) != 1 || re.Failures[0].Path != "a.txt" &&
		re.Failures[0].Path != "d/e/y.txt" {
		t.Logf("%v", err)
		if !errors.As(err, &re) {
			t.Fatal("a person's edit was not a conflict")
		}
	}
	if d := different(before, state(t, p.root, "")); d != "" {
		t.Errorf("a conflict changed the worktree:\n%s", d)
	}
}

// TestConversionsInANewProcess: recovery opens the worktree without a snapshot. It
// must recognise converted files, and write them converted.
func TestConversionsInANewProcess(t *testing.T) {
	for _, setup := range []string{"echo '*.bat eol=crlf' > .gitattributes", "git config core.autocrlf true",
		"mkdir -p s; echo '*.bat text' > s/.gitattributes; echo '*.bat eol=crlf' > .gitattributes"} {
		p := newPlace(t)
		p.script(
			baseRepo + setup +
				"\nnew s/one.bat; printf 'one\\r\\n' > r.bat; printf 's\\r\\n' > s/t.bat; commit; git update-ref refs/old HEAD; " +
				"printf 'two\\r\\n' > r.bat; printf 'u\\r\\n' > s/t.bat; commit")
		p.open("", "")
		from, to := mustID(t, p.ask("rev-parse", "refs/old")), mustID(t, p.ask("rev-parse", "HEAD"))
		ctx := context.Background()
		if conflicts, err := p.engine(Options{}).CheckoutConflicts(ctx, to, from); err != nil || len(conflicts) > 0 {
			t.Errorf("%s: conflicts %q (%v)", setup, conflicts, err)
		}
		if _, err := p.engine(Options{}).Checkout(ctx, to, from); err != nil {
			t.Errorf("%s: %v", setup, err)
		}
		for path, want := range map[string]string{"r.bat": "one\r\n", "s/t.bat": "s\r\n"} {
			b, err := os.ReadFile(filepath.Join(p.root, path))
			p.want(setup+": "+path, string(b), want)
			if err != nil {
				t.Error(err)
			}
		}
		// The branch moved and the index did not.
		p.ask("update-ref", "HEAD", from.String())
		if err := p.engine(Options{}).MendIndex(ctx, to, from, 0); err != nil {
			t.Error(err)
		}
		p.want(setup+": git status", p.ask("status", "--porcelain", "--untracked-files=no"), "")
	}
}

// TestIndexNamesNoMissingTree: the cached trees in an index that we write exist,
// also when the user has staged something else. Otherwise git gc and git prune
// fail.
func TestIndexNamesNoMissingTree(t *testing.T) {
	p := newPlace(t)
	p.script(baseRepo + "new staged/s; git add staged; git write-tree >/dev/null")
	p.open("", "")
	from, to := keepAttempt(t, p, p.engine(Options{}), "new a.txt 2; new q/n")
	p.ask("update-ref", "HEAD", to.String())
	if err := p.engine(Options{}).MendIndex(context.Background(), from, to, 0); err != nil {
		t.Fatal(err)
	}
	p.ask("prune", "--expire=now")
	p.ask("fsck", "--strict", "--no-dangling")
	p.want("git status", p.ask("status", "--porcelain"), "A  staged/s\n")
}

// TestAttributesThatBreakEverything: with the agent's attributes git can add
// nothing. The capture names the files, and the restore is exact.
func TestAttributesThatBreakEverything(t *testing.T) {
	p, e, cp := started(t, "for i in $(seq 40); do new many/f$i odd; done; commit", Options{})
	before := state(t, p.root, "")
	p.script(
		"echo '* working-tree-encoding=UTF-16LE' > many/.gitattributes; for i in $(seq 30); do new many/f$i four; done; " +
			"new a.txt 2")
	got, err := e.Capture(context.Background(), cp)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Unreadable) < 30 || strings.Contains(strings.Join(got.Unreadable, " "), "a.txt") {
		t.Errorf("named are %q", got.Unreadable)
	}
	if _, err := e.Restore(context.Background(), cp); err != nil {
		t.Error(err)
	}
	p.want("the restored worktree", different(before, state(t, p.root, "")), "")
}

// TestIndexStateOfTheSameFile: an index is not read again if its times prove that
// it is the checkpoint's. It is read again if it was written in place with the same
// size and modification time.
func TestIndexStateOfTheSameFile(t *testing.T) {
	p := newPlace(t)
	p.script(baseRepo + "git update-index --assume-unchanged a.txt; git write-tree > /dev/null")
	p.open("", "")
	path := p.repo.IndexPath()
	marked, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p.ask("update-index", "--no-assume-unchanged", "a.txt")
	p.ask("write-tree")
	e := p.engine(Options{})
	ctx := context.Background()
	var cp *Checkpoint
	for e.index == nil || e.index.key.racy { // until the file is older than a tick of the clock
		if cp, err = e.Checkpoint(ctx); err != nil {
			t.Fatal(err)
		}
		if e.index.key.racy {
			e.index = nil
		}
	}
	if !e.index.whole {
		t.Fatal("an ordinary index was not read by itself")
	}
	if same, err := e.SameIndex(ctx, cp); err != nil || !same {
		t.Fatalf("the index differs at once: %v", err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(marked)) != before.Size() {
		t.Fatalf("the bit changes the size of the index: %d and %d bytes", len(marked), before.Size())
	}
	err = os.WriteFile(path, marked, 0o600)
	if err == nil {
		err = os.Chtimes(path, before.ModTime(), before.ModTime())
	}
	if err != nil {
		t.Fatal(err)
	}
	if same, err := e.SameIndex(ctx, cp); err != nil || same {
		t.Fatalf("an index that was changed behind its times was not seen: %v", err)
	}
}

// TestCheckoutIsBlocked: what is in no tree and lies where a new file or its folder has to
// be is a conflict. It stays where it is, and so does everything else.
func TestCheckoutIsBlocked(t *testing.T) {
	for _, row := range []struct{ why, make, blocked string }{
		{"nothing", "true", ""},
		{"a file of a person in the place of a folder", "echo mine > data", "data/x"},
		{"a link in the place of a folder", "ln -s /etc data", "data/x"},
		{"an ignored file in the place of a folder", "echo mine > data; echo data > .git/info/exclude", "data/x"},
		{"a folder in the place of a file", "mkdir -p plain; echo mine > plain/mine", "plain"},
		{"an empty folder in it", "mkdir -p plain/sub", "plain"},
		{"an empty folder", "mkdir plain", ""},
		{"a file beside those that go", "echo mine > swap/mine", "swap"},
		{"an edited file among those that go", "echo mine > swap/s", "swap swap/s"},
	} {
		t.Run(row.why, func(t *testing.T) {
			p := newPlace(t)
			p.script(baseRepo + "new data/x; new plain; new swap; commit one; git tag one; git rm -q -r data plain swap; " +
				"new swap/s; commit two; git tag two;" + row.make)
			p.open("", "")
			ctx := context.Background()
			one, two := mustID(t, p.ask("rev-parse", "one")), mustID(t, p.ask("rev-parse", "two"))
			before := state(t, p.root, "")
			conflicts, err := p.engine(Options{}).CheckoutConflicts(ctx, two, one)
			if err != nil || strings.Join(conflicts, " ") != row.blocked {
				t.Errorf("the conflicts are %q (%v), want %q", conflicts, err, row.blocked)
			}
			report, err := p.engine(Options{Aside: t.TempDir()}).Checkout(ctx, two, one)
			if (err != nil) != (row.blocked != "") || len(report.Saved) > 0 {
				t.Errorf("the checkout says %v and moved %v aside", err, report.Saved)
			}
			if d := different(before, state(t, p.root, "")); row.blocked != "" && d != "" {
				t.Errorf("a conflict changed the worktree:\n%s", d)
			}
			report, err = p.engine(Options{Aside: t.TempDir()}).FinishCheckout(ctx, two, one)
			if err != nil || strings.Join(report.Left, " ") != row.blocked || len(report.Saved) > 0 {
				t.Errorf("to finish it says %v and leaves %q, moved aside %v", err, report.Left, report.Saved)
			}
		})
	}
}

// TestIndexOfTheSameBytes: a new file with the bytes of the checkpoint's index is the same
// index. Its checksum over other bytes does not make it one.
func TestIndexOfTheSameBytes(t *testing.T) {
	t.Parallel()
	const sum = 20 // bytes at the end
	for _, c := range []struct {
		why    string
		change func(data []byte) []byte
		same   bool
		fails  bool
	}{
		{"the same bytes", func(data []byte) []byte { return data }, true, false},
		{"another checksum", func(data []byte) []byte { data[len(data)-1] ^= 1; return data }, false, true},
		{"its checksum and other bytes", func(data []byte) []byte { data[len(data)/2] ^= 1; return data }, false, true},
		{"its checksum alone", func(data []byte) []byte { return data[len(data)-sum:] }, false, true},
		{"nothing", func([]byte) []byte { return nil }, false, true},
	} {
		p := newPlace(t)
		p.script(baseRepo)
		p.open("", "")
		e := p.engine(Options{})
		cp, err := e.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		path := p.repo.IndexPath()
		data, err := os.ReadFile(path)
		if err == nil {
			err = errors.Join(os.Remove(path), os.WriteFile(path, c.change(data), 0o644))
		}
		if err != nil {
			t.Fatal(err)
		}
		now, err := e.IndexState(t.Context())
		if (err != nil) != c.fails || err == nil && now.Equal(cp.Index) != c.same {
			t.Errorf("%s: %+v, %v", c.why, now, err)
		}
	}
}
