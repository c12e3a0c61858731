//go:build linux

package worktree

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"git-ralph/fixtures/long"
	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
)

// The killed process runs a whole bracket. It anchors its checkpoint under this
// ref, as the loop does.
const killedRef = "refs/ralph/local/test/killed"

const killedSetup = `
printf '*.bat eol=crlf\n' > .gitattributes; printf '*.log\n.env\ndist/\n' > .gitignore
for i in 1 2 3; do new many/f$i $i; done; printf 'a\r\n' > r.bat; ln -s a.txt l; commit
new u; new .env SECRET; chmod 600 d/x.txt .env; mkdir -p e1/e2; chmod 700 e1; chmod 555 many; new dist/out; new mine/own; mkfifo pipe
`

const killedEdit = usualEdits + `
chmod 755 many e1; rm -r e1 u many mine; new many file; new l2; chmod 644 d/x.txt; chmod 700 d; new z/1; new z/2/3; chmod 600 a.txt
rm l; new l; printf 'b\r\n' > r.bat; new .env OTHER; git init -q nested; new nested/n; ln -s /etc out
`

// killedBracket is that process. Args: root, how it ends (restore or keep), and the
// step and its number at which it dies. Without a step it prints every step that it
// reaches.
func killedBracket(args []string) error {
	root, end := args[0], args[1]
	step, left := "", 0
	if len(args) > 2 {
		step = args[2]
		var err error
		if left, err = strconv.Atoi(args[3]); err != nil {
			return err
		}
	}
	at := func(s string) {
		if step == "" {
			fmt.Println(s)
		}
		if s == step {
			if left--; left == 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
	}
	// One worker: the steps come in the same order every time.
	e, err := toolEngine(root, Options{Fail: at, Workers: 1, Aside: filepath.Join(filepath.Dir(root), "aside")})
	if err != nil {
		return err
	}
	git := func(args ...string) (string, error) {
		c := exec.Command(e.repo.Git.Path, args...)
		c.Dir, c.Env, c.Stderr = root, os.Environ(), os.Stderr
		out, err := c.Output()
		return strings.TrimSpace(string(out)), err
	}
	ctx := context.Background()
	cp, err := e.Checkpoint(ctx)
	if err != nil {
		return err
	}
	id, err := cp.Store(ctx)
	if err != nil {
		return err
	}
	at("test sync")
	if err := e.repo.Store.Sync(); err != nil {
		return err
	}
	commit, err := git("commit-tree", "-m", "checkpoint", id.String())
	if err != nil {
		return err
	}
	at("test anchor")
	if _, err := git("update-ref", killedRef, commit); err != nil {
		return err
	}
	at("test edit")
	c := exec.Command("sh", "-c", "umask 022\n"+scriptHead+killedEdit)
	c.Dir, c.Stderr = root, os.Stderr
	if err := c.Run(); err != nil {
		return err
	}
	at("test capture")
	got, err := e.Capture(ctx, cp)
	if err == nil {
		err = e.repo.Store.Sync()
	}
	if err != nil {
		return err
	}
	if end == "restore" {
		_, err := e.Restore(ctx, cp)
		return err
	}
	if _, err := e.PutBack(ctx, cp, slices.Concat(got.PutBack, got.IgnoredChanged)); err != nil {
		return err
	}
	kept, err := git("commit-tree", "-m", "kept", "-p", cp.Tip.String(), got.Keep.String())
	if err != nil {
		return err
	}
	to, err := object.ParseID(kept)
	if err != nil {
		return err
	}
	path := e.repo.IndexPath()
	lock, err := os.OpenFile(path+".lock", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	if err := errors.Join(e.UpdateIndex(ctx, lock, cp.Tip, to), lock.Close()); err != nil {
		return err
	}
	at("test branch")
	if _, err := git("update-ref", "HEAD", kept, cp.Tip.String()); err != nil {
		return err
	}
	at("test rename")
	return os.Rename(path+".lock", path)
}

// toolEngine opens the repository at root in a process of its own.
func toolEngine(root string, o Options) (*Engine, error) {
	g := &proc.Git{GitDir: filepath.Join(root, ".git"), WorkTree: root, Env: proc.GitEnv(os.Environ())}
	var err error
	if g.Path, err = proc.FindGit(g.Env); err != nil {
		return nil, err
	}
	return New(Repo{Root: root, GitDir: g.GitDir, CommonDir: g.GitDir, Git: g, Store: object.Open(g, g.GitDir, "")}, o)
}

// bracket runs killedBracket and reports whether it was killed.
func (p *place) bracket(args ...string) (out string, killed bool) {
	p.t.Helper()
	bin, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	c := exec.Command(bin, append([]string{p.root}, args...)...)
	c.Env = append(append([]string{}, p.env...), "WORKTREE_TEST_TOOL=killed")
	var stderr strings.Builder
	c.Stderr = &stderr
	b, err := c.Output()
	var ee *exec.ExitError
	if errors.As(err, &ee) && ee.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return string(b), true
	}
	if err != nil {
		p.t.Fatalf("bracket %v: %v %s", args, err, stderr.String())
	}
	return string(b), false
}

// TestKilledAnywhere ends a bracket with SIGKILL each time it reaches a step; the short form takes a sample. Then git
// fsck is clean, and the index is the old or the new one. Every file is as it was, as the agent made it or as the
// restore made it. Another process restores the checkpoint exactly from its ref.
func TestKilledAnywhere(t *testing.T) {
	made := newPlace(t)
	made.script(baseRepo + killedSetup)
	reached := map[string]bool{}
	for _, end := range []string{"restore", "keep"} {
		list := copyOfPlace(t, made)
		before := state(t, list.root, "")
		out, _ := list.bracket(end)
		after := state(t, list.root, "")
		// The agent's changes exist only in the middle of a bracket.
		edited := copyOfPlace(t, made)
		if _, killed := edited.bracket(end, "test capture", "1"); !killed {
			t.Fatal("it came to its end")
		}
		index := func(p *place) string {
			p.open("", "")
			return p.ask("ls-files", "-s", "-z")
		}
		w := killedWorld{made: made, before: before, edited: state(t, edited.root, ""), after: after,
			oldIndex: index(edited), newIndex: index(list), end: end}
		if end == "restore" && different(before, after) != "" {
			t.Fatalf("the bracket is not exact even when it is not killed:\n%s", different(before, after))
		}
		count := map[string]int{}
		type moment struct {
			step string
			nth  int
		}
		var moments []moment
		for s := bufio.NewScanner(strings.NewReader(out)); s.Scan(); {
			step := s.Text()
			count[step]++
			reached[step] = true
			moments = append(moments, moment{step, count[step]})
		}
		t.Logf("%s: %d steps to be killed at: %v", end, len(moments), count)
		for _, m := range long.Sample(t, moments, 9) {
			t.Run(fmt.Sprintf("%s/%s %d", end, m.step, m.nth), func(t *testing.T) {
				t.Parallel()
				w.kill(t, m.step, m.nth)
			})
		}
	}
	want := map[string]bool{}
	for _, f := range Failpoints() {
		want[f] = true
	}
	for s := range reached {
		if !want[s] && !strings.HasPrefix(s, "test ") {
			t.Errorf("the step %q is not among the failpoints", s)
		}
		delete(want, s)
	}
	if len(want) > 0 {
		t.Errorf("no bracket came to %v", slices.Collect(maps.Keys(want)))
	}
}

// copyOfPlace is a fresh copy of a repository.
func copyOfPlace(t *testing.T, from *place) *place {
	t.Helper()
	p := newPlace(t)
	if out, err := exec.Command("cp", "-a", from.root+"/.", p.root).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	p.script("git update-index -q --refresh || true")
	return p
}

type killedWorld struct {
	made                  *place
	before, edited, after map[string]string
	oldIndex, newIndex    string
	end                   string
}

func (w killedWorld) kill(t *testing.T, step string, nth int) {
	p := copyOfPlace(t, w.made)
	if _, killed := p.bracket(w.end, step, strconv.Itoa(nth)); !killed {
		t.Fatal("it came to its end")
	}
	p.open("", "")
	ctx := context.Background()
	if out, err := p.gitOut("", "fsck", "--strict", "--no-dangling"); err != nil || strings.Contains(out, "missing") {
		t.Errorf("git fsck: %v %s", err, out)
	}
	w.nothingLost(t, state(t, p.root, ""))
	if got := p.ask("ls-files", "-s", "-z"); got != w.oldIndex && got != w.newIndex {
		t.Errorf("the index is neither the old nor the new one:\n%s", different(parseEntries(w.oldIndex), parseEntries(got)))
	}
	// The owner of index.lock is known and dead, so it is removed.
	_ = os.Remove(p.repo.IndexPath() + ".lock")

	e := p.engine(Options{Aside: filepath.Join(p.dir, "aside")})
	commit, err := p.gitOut("", "rev-parse", "-q", "--verify", killedRef+"^{tree}")
	if err != nil {
		// Nothing was anchored, so the agent never ran.
		if d := different(w.before, state(t, p.root, "")); d != "" {
			t.Errorf("there is no checkpoint and the worktree has changed:\n%s", d)
		}
		if _, err := e.Checkpoint(ctx); err != nil {
			t.Error(err)
		}
		w.clean(t, p)
		return
	}
	cp, err := e.Load(ctx, mustID(t, commit))
	if err != nil {
		t.Fatal(err)
	}
	head := mustID(t, p.ask("rev-parse", "HEAD"))
	if head != cp.Tip {
		// The branch has moved: the keep is finished, not undone.
		w.finishKeep(t, p, e, cp, head)
	}
	if _, err := e.Restore(ctx, cp); err != nil {
		t.Error(err)
	}
	if d := different(w.before, state(t, p.root, "")); d != "" {
		t.Errorf("the restore by another process is not exact:\n%s", d)
	}
	w.clean(t, p)
}

// finishKeep is what recovery does when the branch has moved and the index may
// not have.
func (w killedWorld) finishKeep(t *testing.T, p *place, e *Engine, cp *Checkpoint, head object.ID) {
	t.Helper()
	if err := e.MendIndex(context.Background(), cp.Tip, head, 0); err != nil {
		t.Error(err)
	}
	if got := p.ask("ls-files", "-s", "-z"); got != w.newIndex {
		t.Errorf("the finished index:\n%s", different(parseEntries(w.newIndex), parseEntries(got)))
	}
	if d := different(w.after, state(t, p.root, "")); d != "" {
		t.Errorf("the files of a finished keep:\n%s", d)
	}
	if out := p.ask("status", "--porcelain", "--untracked-files=no"); out != "" {
		t.Errorf("git status after a finished keep:\n%s", out)
	}
}

// nothingLost: every path is as before, as the agent left it, or as the bracket
// leaves it. A folder may have another mode while its files are changed.
func (w killedWorld) nothingLost(t *testing.T, now map[string]string) {
	t.Helper()
	known := map[string]bool{}
	for _, m := range []map[string]string{w.before, w.edited, w.after} {
		for path := range m {
			known[path] = true
		}
	}
	for path, is := range now {
		if _, name := split(path); !known[path] &&
			!(strings.HasPrefix(name, ".git-ralph-") && strings.HasSuffix(name, ".tmp")) {
			t.Errorf("%q is nobody's: %s", path, is)
		}
	}
	for path := range known {
		is := now[path]
		if strings.HasPrefix(is, "folder") &&
			(strings.HasPrefix(w.before[path], "folder") || strings.HasPrefix(w.edited[path], "folder")) {
			continue
		}
		_, reallyMade := w.after[path]
		gone := is == "" && (!reallyMade || w.before[path] == "" || w.edited[path] == "" ||
			kindOf(w.before[path]) != kindOf(w.edited[path]))
		if is != w.before[path] && is != w.edited[path] && is != w.after[path] && !gone {
			t.Errorf("%q is %q, was %q, the agent made it %q", path, is, w.before[path], w.edited[path])
		}
	}
}

func kindOf(state string) string { k, _, _ := strings.Cut(state, " "); return k }

// clean: no lock or temporary file is left in the worktree or the git directory.
// git prune removes unfinished objects.
func (w killedWorld) clean(t *testing.T, p *place) {
	t.Helper()
	p.ask("prune", "--expire=now")
	err := filepath.WalkDir(p.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); strings.HasSuffix(name, ".lock") || strings.HasSuffix(name, ".tmp") ||
			strings.HasPrefix(name, "tmp_") {
			t.Errorf("left behind: %s", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
