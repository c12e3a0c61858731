//go:build linux

package worktree

import (
	"bytes"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
)

// TestMain also plays the small programs that the scripts of the cases need.
func TestMain(m *testing.M) {
	if what := os.Getenv("WORKTREE_TEST_TOOL"); what != "" {
		if err := tool(what, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func tool(what string, args []string) error {
	switch what {
	case "socket":
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: args[0], Net: "unix"})
		if err != nil {
			return err
		}
		l.SetUnlinkOnClose(false)
		return l.Close()
	case "killed":
		return killedBracket(args)
	case "checkpoint":
		return checkpointTool(args[0], 1)
	case "bracket":
		return checkpointTool(args[0], 3)
	case "nullhash":
		b, err := os.ReadFile(args[0])
		if err != nil {
			return err
		}
		copy(b[len(b)-20:], make([]byte, 20))
		return os.WriteFile(args[0], b, 0o644)
	}
	return fmt.Errorf("no tool %q", what)
}

const toolScript = `
mksocket() { WORKTREE_TEST_TOOL=socket "$TEST_BINARY" "$1"; }
nullhash() { WORKTREE_TEST_TOOL=nullhash "$TEST_BINARY" "$1"; }
`

// place is one repository of a test.
type place struct {
	t    testing.TB
	dir  string // main/ and home/ are in it
	root string
	env  []string
	git  *proc.Git
	repo Repo

	distrust bool // the oracle reads every file, whatever its times say
}

func newPlace(t testing.TB) *place {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unlockAll(dir) })
	p := &place{t: t, dir: dir, root: filepath.Join(dir, "main")}
	home := filepath.Join(dir, "home")
	for _, d := range []string{p.root, home} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "TEST_BINARY=" + bin,
		"GIT_AUTHOR_NAME=A U Thor", "GIT_AUTHOR_EMAIL=author@example.com", "GIT_COMMITTER_NAME=C O Mitter", "GIT_COMMITTER_EMAIL=c@example.com",
		"GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000", "TMPDIR=" + os.TempDir()}
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[init]\n\tdefaultBranch = main\n[advice]\n\taddEmbeddedRepo = false\n[maintenance]\n\tauto = false\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

// unlockAll makes a tree removable again.
func unlockAll(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o755)
		}
		return nil
	})
}

// script runs a script in the worktree.
func (p *place) script(s string) {
	p.t.Helper()
	if out, err := p.try(s); err != nil {
		p.t.Fatalf("script failed: %v\n%s\n%s", err, s, out)
	}
}

func (p *place) try(s string) (string, error) {
	c := exec.Command("sh", "-c", "umask 022\n"+scriptHead+toolScript+s)
	c.Dir, c.Env = p.root, p.env
	out, err := c.CombinedOutput()
	return string(out), err
}

// open finds the repository of the worktree at root.
func (p *place) open(root, gitDir string) {
	p.t.Helper()
	p.root = filepath.Join(p.root, root)
	find := &proc.Git{Dir: p.root, Env: proc.GitEnv(p.env)}
	var err error
	if find.Path, err = proc.FindGit(p.env); err != nil {
		p.t.Fatal(err)
	}
	if gitDir != "" {
		find.GitDir = filepath.Join(p.root, gitDir)
		find.WorkTree = p.root
	}
	line := func(args ...string) string {
		out, err := find.Line(context.Background(), args...)
		if err != nil {
			p.t.Fatal(err)
		}
		return out
	}
	g := *find
	g.GitDir, g.WorkTree = line("rev-parse", "--absolute-git-dir"), p.root
	common := line("rev-parse", "--path-format=absolute", "--git-common-dir")
	p.git = &g
	p.repo = Repo{Root: p.root, GitDir: g.GitDir, CommonDir: common, Git: p.git, Store: object.Open(p.git, common, "")}
	p.t.Cleanup(func() { p.repo.Store.Close() })
}

func (p *place) engine(o Options) *Engine {
	p.t.Helper()
	e, err := New(p.repo, o)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { e.Close() })
	return e
}

// gitOut runs git as the oracle: with the user's index, or a private one.
func (p *place) gitOut(index string, args ...string) (string, error) {
	// git hangs on a FIFO in the place of its own files.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, p.git.Path, append([]string{"-c", "core.fsmonitor=false", "-c", "core.safecrlf=false", "--git-dir=" + p.repo.GitDir, "--work-tree=" + p.root}, args...)...)
	c.Dir = p.root
	c.Env = append(append([]string{}, p.env...), "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1")
	if index != "" {
		c.Env = append(c.Env, "GIT_INDEX_FILE="+index)
	}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		return string(out), fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out), nil
}

// oracle is the tree that `git add -A && git write-tree` makes on a private
// copy of the index, and the entries of that index.
func (p *place) oracle(from string) (tree string, entries map[string]string, err error) {
	private := filepath.Join(p.dir, fmt.Sprintf("private-%d", unique.Add(1)))
	if b, err := os.ReadFile(from); err == nil {
		if err := os.WriteFile(private, b, 0o644); err != nil {
			return "", nil, err
		}
		if fi, err := os.Stat(from); err == nil {
			_ = os.Chtimes(private, fi.ModTime(), fi.ModTime())
		}
		if p.distrust {
			// Every file is younger than this index: its times prove nothing to git.
			_ = os.Chtimes(private, time.Unix(1, 0), time.Unix(1, 0))
		}
	}
	if _, err := p.gitOut(private, "add", "-A", "."); err != nil {
		return "", nil, err
	}
	tree, err = p.gitOut(private, "write-tree")
	if err != nil {
		return "", nil, err
	}
	list, err := p.gitOut(private, "ls-files", "-s", "-z")
	return strings.TrimSpace(tree), parseEntries(list), err
}

var unique atomic.Int64

// parseEntries reads `ls-files -s -z` and `ls-tree -r -z`.
func parseEntries(list string) map[string]string {
	out := map[string]string{}
	for _, line := range strings.Split(list, "\x00") {
		meta, path, ok := strings.Cut(line, "\t")
		if !ok {
			continue
		}
		f := strings.Fields(meta)
		if f[1] == "blob" || f[1] == "commit" {
			f[1] = f[2]
		}
		out[path] = f[0] + " " + f[1]
	}
	return out
}

func (p *place) treeEntries(id object.ID) map[string]string {
	p.t.Helper()
	out, err := p.gitOut("", "ls-tree", "-r", "-z", id.String())
	if err != nil {
		p.t.Fatal(err)
	}
	return parseEntries(out)
}

// state is everything about a worktree that a restore brings back: kind, all
// permission bits, contents. The repository's own git directory is left out;
// of other repositories the index is, which git itself rewrites when it looks.
func state(t testing.TB, root string, own string) map[string]string {
	t.Helper()
	out := map[string]string{}
	if _, err := os.Lstat(root); errors.Is(err, fs.ErrNotExist) {
		return out
	}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		if path == own || rel == ".git" {
			if d != nil && d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if err != nil {
			if errors.Is(err, fs.ErrPermission) {
				out[rel] += " unreadable"
				return filepath.SkipDir
			}
			return err
		}
		fi, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(rel, ".git/index") {
			return nil
		}
		desc := fmt.Sprintf("%s %o", modeKind(fi.Mode()), permOf(fi.Mode()))
		switch {
		case fi.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			desc = "symlink " + target
		case fi.Mode().IsRegular():
			h := sha1.New()
			in, err := os.Open(path)
			if errors.Is(err, fs.ErrPermission) {
				// The owner may look: the mode is what is being tested.
				if err := os.Chmod(path, 0o600); err != nil {
					return err
				}
				in, err = os.Open(path)
				defer os.Chmod(path, fi.Mode())
			}
			if err != nil {
				return err
			}
			_, err = io.Copy(h, in)
			in.Close()
			if err != nil {
				return err
			}
			desc += fmt.Sprintf(" %d bytes %x", fi.Size(), h.Sum(nil)[:6])
		}
		out[rel] = desc
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// outside is what a checkpoint or restore may not touch: index, refs, settings,
// hooks, reflogs, and what lies beside the worktree.
func (p *place) outside() map[string]string {
	out := map[string]string{}
	for _, dir := range []string{p.repo.GitDir, p.repo.CommonDir} {
		for _, f := range []string{"index", "index.lock", "HEAD", "config", "config.worktree", "packed-refs", "ORIG_HEAD", "MERGE_HEAD"} {
			b, err := os.ReadFile(filepath.Join(dir, f))
			if err == nil {
				out[dir+"/"+f] = fmt.Sprintf("%x", sha1.Sum(b))
			}
		}
		for _, d := range []string{"refs", "hooks", "logs", "info", "rebase-merge", "rebase-apply"} {
			for k, v := range state(p.t, filepath.Join(dir, d), "") {
				out[dir+"/"+d+"/"+k] = v
			}
		}
	}
	for k, v := range state(p.t, filepath.Join(p.dir, "home"), "") {
		out["home/"+k] = v
	}
	return out
}

// different returns how b differs from a, leaving out the named paths.
func different(a, b map[string]string, names ...string) string {
	drop := map[string]bool{}
	for _, list := range names {
		for _, n := range strings.Fields(list) {
			n = strings.NewReplacer(`\x20`, " ", `\x5c`, `\`, `\x0a`, "\n").Replace(n)
			drop[n] = true
		}
	}
	filter := func(m map[string]string) map[string]string {
		out := map[string]string{}
		for k, v := range m {
			if !drop[k] {
				out[k] = v
			}
		}
		return out
	}
	return cmp.Diff(filter(a), filter(b))
}

func TestDifferential(t *testing.T) {
	asUser := os.Getenv("WORKTREE_TEST_USER") != ""
	var exact, refused, left atomic.Int64
	t.Run("cases", func(t *testing.T) {
		for _, c := range slices.Concat(differential, settingsCases, kindsCases) {
			if c.user && os.Getuid() == 0 || asUser && !c.user {
				continue
			}
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				for _, variant := range []string{"warm", "reload", "portable"} {
					runCase(t, c, variant)
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
	t.Logf("%d cases exact, %d exact but for what is named and left alone, %d refused by name", exact.Load(), left.Load(), refused.Load())
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
	c.Env = append(os.Environ(), "WORKTREE_TEST_USER=1", "TMPDIR="+dir, "HOME="+dir)
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
	if out, err := p.gitOut("", "fsck", "--strict", "--no-dangling", cp.Tree.String(), stored.String()); err != nil && variant == "warm" && c.noOracle == "" {
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
func checkRestoreTo(t *testing.T, ctx context.Context, e *Engine, p *place, cp *Checkpoint, caught *Capture, before, after map[string]string) {
	t.Helper()
	p.script(`if [ -f a.txt ] && [ ! -L a.txt ] && [ -w a.txt ]; then { cat a.txt; echo check; } > t.tmp; mv t.tmp a.txt; fi; new zz-check/made; rm -f new.txt || true`)
	if _, err := e.RestoreTo(ctx, caught); err != nil {
		t.Errorf("%v", err)
	}
	p.script("rm -rf zz-check t.tmp") // where they are ignored they stay
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
				drop = append(drop, k) // it had the place of the person's own file
			}
		}
		for k := range before {
			if path == k || strings.HasPrefix(k, path+"/") || strings.HasPrefix(path, k+"/") {
				drop = append(drop, k)
			}
		}
		locked := slices.ContainsFunc(caught.Unreadable, func(u string) bool { return path == u || strings.HasPrefix(path, u+"/") })
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

// keepOracle says what a commit of the agent's work has to be, by git alone.
type keepOracle struct {
	p       *place
	index   string // copy of the user's index at the checkpoint
	rules   string // copy of the repository at the checkpoint, for its ignore rules
	start   map[string]string
	head    map[string]string
	onDisk  map[string]bool // untracked at the checkpoint
	tracked map[string]bool
	own     []string // the person's own files
}

func newKeepOracle(p *place, cp *Checkpoint, start map[string]string) *keepOracle {
	k := &keepOracle{p: p, index: filepath.Join(p.dir, "index-at-start"), rules: filepath.Join(p.dir, "at-start"),
		start: start, head: map[string]string{}, onDisk: map[string]bool{}, tracked: map[string]bool{}, own: cp.Untracked}
	if b, err := os.ReadFile(p.repo.IndexPath()); err == nil {
		os.WriteFile(k.index, b, 0o644)
		if fi, err := os.Stat(p.repo.IndexPath()); err == nil {
			os.Chtimes(k.index, fi.ModTime(), fi.ModTime())
		}
	}
	out, err := p.gitOut(k.index, "ls-files", "-z")
	if err != nil {
		return k
	}
	for _, f := range strings.Split(out, "\x00") {
		k.tracked[f] = true
	}
	others, _ := p.gitOut(k.index, "ls-files", "-o", "-z")
	for _, f := range strings.Split(others, "\x00") {
		k.onDisk[f] = true
	}
	if !cp.Tip.IsZero() {
		k.head = p.treeEntries(mustTree(p, cp.Tip))
	}
	exec.Command("cp", "-a", p.root, k.rules).Run()
	return k
}

func mustTree(p *place, commit object.ID) object.ID {
	c, err := p.repo.Store.ReadCommit(commit)
	if err != nil {
		p.t.Fatal(err)
	}
	return c.Tree
}

func (k *keepOracle) want(errf func(string, ...any), c diffCase) (map[string]string, bool) {
	if c.noKeep != "" || k.start == nil {
		return nil, false
	}
	_, after, err := k.p.oracle(k.index)
	if err != nil {
		errf("oracle of the keep: %v", err)
		return nil, false
	}
	var fresh []string
	for f := range after {
		if !k.tracked[f] {
			fresh = append(fresh, f)
		}
	}
	// The rules of the checkpoint, info/exclude included.
	gitDir := filepath.Join(k.rules, ".git")
	if fi, err := os.Stat(gitDir); err != nil || !fi.IsDir() {
		gitDir = k.p.repo.GitDir
	}
	g := exec.Command(k.p.git.Path, "--git-dir="+gitDir, "--work-tree="+k.rules, "check-ignore", "--no-index", "-z", "--stdin")
	g.Dir, g.Env = k.rules, k.p.env
	g.Stdin = strings.NewReader(plainPaths(fresh))
	out, _ := g.Output()
	for _, f := range strings.Split(string(out), "\x00") {
		delete(after, strings.TrimPrefix(f, "./"))
	}
	for f, e := range after {
		if k.onDisk[f] || strings.HasPrefix(e, "160000") && !k.tracked[f] {
			delete(after, f)
		}
	}
	// A person's own file comes back; what took its place, or its folder's, goes.
	for f := range after {
		if !k.tracked[f] && slices.ContainsFunc(k.own, func(o string) bool { return strings.HasPrefix(f, o+"/") || strings.HasPrefix(o, f+"/") }) {
			delete(after, f)
		}
	}
	start := map[string]string{}
	for f, e := range k.start {
		if k.tracked[f] {
			start[f] = e
		}
	}
	want := map[string]string{}
	for f, e := range k.head {
		want[f] = e
	}
	for f := range start {
		if after[f] == "" {
			delete(want, f)
		}
	}
	for f, e := range after {
		if start[f] != e {
			want[f] = e
		}
	}
	// A file that takes the place of a folder takes the folder's files with it,
	// and the other way round, also what somebody else had removed before.
	for f, e := range after {
		if start[f] == e {
			continue
		}
		for dir, _ := split(f); dir != ""; dir, _ = split(dir) {
			delete(want, dir)
		}
		for other := range want {
			if strings.HasPrefix(other, f+"/") {
				delete(want, other)
			}
		}
	}
	return want, true
}
