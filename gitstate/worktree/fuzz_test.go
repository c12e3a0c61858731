//go:build linux

package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"git-ralph/fixtures/long"
	"git-ralph/gitstate/object"
)

// FuzzBracket lets the input write a program: a tree with ignore files, a commit,
// more files, and then an agent's changes. The checkpoint's tree and the kept tree
// are always git's, and the restore is exact.
func FuzzBracket(f *testing.F) {
	for _, s := range []string{"", "abcdefghijklmnopqrstuvwxyz",
		"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f",
		strings.Repeat("\x13\x37\xca\xfe", 30), strings.Repeat("\x05\x91\x22\x7e\xf0", 40)} {
		f.Add([]byte(s))
	}
	for seed := range long.Number[uint64](f, 2, 8) {
		f.Add(randomProgram(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 600 {
			t.Skip("long programs say nothing that short ones do not")
		}
		playProgram(t, data)
	})
}

// playProgram runs one program and checks every promise against git.
func playProgram(t *testing.T, data []byte) {
	p := newPlace(t)
	prog := &program{data: data}
	defer func() {
		if t.Failed() {
			t.Logf("program:\n%s", prog.log.String())
		}
	}()
	if out, err := p.try("git init -q -b main ."); err != nil {
		t.Fatal(err, out)
	}
	for range prog.next(24) {
		prog.step(p.root)
	}
	prog.log.WriteString("commit\n")
	prog.atCommit(p.root)
	if out, err := p.try("git add -A; git commit -q --allow-empty -m base"); err != nil {
		t.Skip("git cannot commit this: ", out)
	}
	prog.committedAll(p.root)
	prog.configure(p)
	for range prog.next(12) {
		prog.step(p.root)
	}
	prog.log.WriteString("checkpoint\n")
	p.open("", "")
	ctx := context.Background()
	e := p.engine(Options{portable: prog.next(4) == 0, Aside: filepath.Join(p.dir, "aside")})
	before := state(t, p.root, "")
	cp, err := e.Checkpoint(ctx)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) && os.Getuid() != 0 || prog.converts && prog.start(p) == nil {
			t.Skip("a tracked file may not be read, or not be converted: ", err)
		}
		t.Fatal(err)
	}
	if err := p.repo.Store.Sync(); err != nil {
		t.Fatal(err)
	}
	start := prog.start(p)
	if start != nil {
		if d := cmp.Diff(start, p.treeEntries(cp.Tree)); d != "" {
			t.Errorf("the checkpoint's tree is not git's:\n%s", d)
		}
	}
	if prog.next(3) == 0 {
		first := cp.Tree
		if cp, err = e.Checkpoint(ctx); err != nil {
			t.Fatal(err)
		}
		if err := p.repo.Store.Sync(); err != nil {
			t.Fatal(err)
		}
		if cp.Tree != first {
			t.Fatalf("a second checkpoint differs:\n%s", cmp.Diff(p.treeEntries(first), p.treeEntries(cp.Tree)))
		}
	}
	if d := different(before, state(t, p.root, "")); d != "" {
		t.Errorf("the checkpoint changed the worktree:\n%s", d)
	}
	keep := newKeepOracle(p, cp, start)
	exempt := append(ignoredFolders(p), leftAlone(before)...)
	if prog.next(3) == 0 {
		id, err := cp.Store(ctx)
		if err == nil {
			err = p.repo.Store.Sync()
		}
		if err == nil {
			e = p.engine(Options{Aside: filepath.Join(p.dir, "aside")})
			cp, err = e.Load(ctx, id)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 1 + prog.next(24) {
		prog.step(p.root)
	}
	if what := prog.next(6); what < 3 {
		prog.log.WriteString("capture\n")
		p.distrust = prog.sly
		got, err := e.Capture(ctx, cp)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.repo.Store.Sync(); err != nil {
			t.Fatal(err)
		}
		// Where git add itself fails there is nothing to compare with.
		if want, ok := keep.want(func(string, ...any) {}, diffCase{}); ok && prog.comparable() && !prog.hidden {
			if d := cmp.Diff(want, p.treeEntries(got.Keep)); d != "" {
				t.Errorf("what is kept is not what git would commit:\n%s", d)
			}
		}
		switch what {
		case 1:
			playChecks(t, p, prog, e, cp, got)
		case 2:
			playKeep(t, p, prog, e, cp, got)
		}
	}
	prog.log.WriteString("restore\n")
	report, err := e.Restore(ctx, cp)
	if err != nil {
		t.Errorf("%v", err)
	}
	checkExact(t, p, keep.rules, before, state(t, p.root, ""), exempt, report)
	if again, err := p.engine(Options{}).Load(ctx, mustStore(t, cp)); err != nil || again.Tree != cp.Tree {
		t.Errorf("stored after the restore it is %v, was %s (%v)", again, cp.Tree, err)
	}
	again, err := e.Checkpoint(ctx)
	if err != nil && prog.converts {
		if _, _, refused := p.oracle(p.repo.IndexPath()); refused != nil {
			return
		}
	}
	if err != nil || again.Tree != cp.Tree && !prog.edited {
		t.Errorf("the tree after the restore is %v, was %s (%v)", again, cp.Tree, err)
	}
}

func mustStore(t *testing.T, cp *Checkpoint) object.ID {
	t.Helper()
	id, err := cp.Store(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// playChecks: checks change captured files. RestoreTo puts them back, so that a
// second capture is the same.
func playChecks(t *testing.T, p *place, prog *program, e *Engine, cp *Checkpoint, got *Capture) {
	ctx := context.Background()
	prog.log.WriteString("checks\n")
	for range 1 + prog.next(6) {
		prog.step(p.root)
	}
	prog.log.WriteString("restore to\n")
	report, err := e.RestoreTo(ctx, got)
	if err != nil {
		t.Errorf("%v", err)
	}
	again, err := e.Capture(ctx, cp)
	if err != nil {
		t.Fatal(err)
	}
	if prog.edited {
		return // changed rules that no restore brings back affect the capture
	}
	if again.Keep != got.Keep && len(got.Unreadable)+len(report.Left)+len(report.Aside)+len(report.Kept)+len(got.Nested)+
		len(got.Special)+len(again.Excluded) == 0 {
		_ = p.repo.Store.Sync()
		t.Errorf("after the checks another tree would be kept:\n%s\n%+v",
			cmp.Diff(p.treeEntries(got.Keep), p.treeEntries(again.Keep)), report)
	}
}

// playKeep: the index after a keep is the old one with exactly the changes, and its
// stat data hides no edit.
func playKeep(t *testing.T, p *place, prog *program, e *Engine, cp *Checkpoint, got *Capture) {
	prog.log.WriteString("keep\n")
	old, err := p.gitOut("", "ls-files", "-s", "-z")
	if err != nil {
		t.Fatal(err)
	}
	want, head := parseEntries(old), p.treeEntries(mustTree(p, cp.Tip))
	kept := p.treeEntries(got.Keep)
	lock, err := os.Create(filepath.Join(p.dir, "kept-index"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	err = e.UpdateIndex(context.Background(), lock, cp.Tip, got.Keep)
	var conflict *IndexConflict
	if errors.As(err, &conflict) {
		if have := want[conflict.Path]; have == head[conflict.Path] || have == kept[conflict.Path] {
			t.Errorf("no conflict: %v", err)
		}
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	for path := range head {
		if kept[path] == "" {
			delete(want, path)
		}
	}
	for path, x := range kept {
		if head[path] != x {
			want[path] = x
		}
	}
	now, err := p.gitOut(lock.Name(), "ls-files", "-s", "-z")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, parseEntries(now)); d != "" && !prog.hidden {
		t.Errorf("the index after the keep:\n%s", d)
	}
	if prog.hidden || prog.converts {
		return
	}
	// An index without stat data makes git read every file.
	bare := filepath.Join(p.dir, "bare-index")
	tree, err := p.gitOut(lock.Name(), "write-tree")
	if err == nil {
		_, err = p.gitOut(bare, "read-tree", strings.TrimSpace(tree))
	}
	if err != nil {
		t.Error(err)
		return
	}
	differ := func(index string) string {
		_, _ = p.gitOut(index, "update-index", "-q", "--really-refresh")
		out, err := p.gitOut(index, "diff-files", "-z", "--name-status")
		if err != nil {
			t.Error(err)
		}
		return out
	}
	if d := cmp.Diff(differ(bare), differ(lock.Name())); d != "" {
		t.Errorf("git looks at the files with our index and sees something else:\n%s", d)
	}
}

// leftAlone are the folders that a checkpoint names and does not look into:
// other repositories, and names that git refuses.
func leftAlone(before map[string]string) []string {
	var out []string
	for path := range before {
		if _, ok := before[path+"/HEAD"]; ok && (strings.HasSuffix(path, "/.git")) {
			out = append(out, strings.TrimSuffix(path, ".git"))
		}
		for dir := path; dir != ""; dir, _ = split(dir) {
			if _, name := split(dir); slices.Contains(refusedNames, name) {
				out = append(out, dir+"/")
			}
		}
	}
	return out
}

// ignoredFolders are folders that git ignores as a whole. The agent may change
// them.
func ignoredFolders(p *place) []string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, p.git.Path, "ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory")
	c.Dir, c.Env = p.root, p.env
	out, _ := c.Output()
	var dirs, files, parents []string
	for _, d := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if strings.HasSuffix(d, "/") {
			dirs = append(dirs, d)
			continue
		}
		files = append(files, d)
		for dir, _ := split(d); dir != ""; dir, _ = split(dir) {
			parents = append(parents, dir)
		}
	}
	// git lists the single files of an ignored folder with tracked files.
	shut := ignoredAmong(p, p.root, parents)
	for _, f := range files {
		for dir, _ := split(f); dir != ""; dir, _ = split(dir) {
			if shut[dir] {
				dirs = append(dirs, f+"/")
				break
			}
		}
	}
	return dirs
}

// ignoredAmong are those of the paths that the rules at root ignore.
func ignoredAmong(p *place, root string, paths []string) map[string]bool {
	g := exec.Command(p.git.Path, "check-ignore", "--no-index", "-z", "--stdin")
	g.Dir, g.Env = root, p.env
	g.Stdin = strings.NewReader(plainPaths(paths))
	out, _ := g.Output()
	found := map[string]bool{}
	for _, path := range strings.Split(string(out), "\x00") {
		found[strings.TrimPrefix(path, "./")] = true
	}
	return found
}

// plainPaths is the input of check-ignore. The prefix ./ keeps it from reading
// `:(top)x` as a pattern.
func plainPaths(paths []string) string {
	var b strings.Builder
	for _, path := range paths {
		if path != "" {
			b.WriteString("./" + path + "\x00")
		}
	}
	return b.String()
}

// checkExact allows one kind of difference: files that are new and ignored by
// the rules of the checkpoint, the folders they are in, and what happened in
// ignored folders.
func checkExact(t *testing.T, p *place, copyOfStart string, before, now map[string]string, ignoredDirs []string,
	report Report) {
	t.Helper()
	in := func(path string) bool {
		for _, d := range ignoredDirs {
			if strings.HasPrefix(path+"/", d) {
				return true
			}
		}
		return false
	}
	var extra []string
	for path := range now {
		if _, ok := before[path]; !ok {
			extra = append(extra, path)
		}
	}
	for _, path := range extra {
		// git applies a rule for folders only to an existing folder.
		if strings.HasPrefix(now[path], "folder") {
			_ = os.MkdirAll(filepath.Join(copyOfStart, path), 0o755)
		}
	}
	for path, was := range before {
		if strings.HasPrefix(was, "fifo") {
			extra = append(extra, path)
		}
	}
	allowed := map[string]bool{}
	for path := range ignoredAmong(p, copyOfStart, extra) {
		for ; path != "" && path != "."; path = filepath.Dir(path) {
			allowed[path] = true
		}
	}
	var wrong []string
	for path, was := range before {
		if strings.HasPrefix(was, "fifo") &&
			(slices.Contains(report.Left, path) || allowed[path] || strings.HasPrefix(now[path], "fifo")) {
			continue // a FIFO cannot be restored, and is named unless ignored; its mode is left alone
		}
		if now[path] != was && !in(path) {
			wrong = append(wrong, fmt.Sprintf("%q was %q, is %q", path, was, now[path]))
		}
	}
	for _, path := range extra {
		if _, ok := before[path]; ok {
			continue
		}
		if !allowed[path] && !in(path) {
			wrong = append(wrong, fmt.Sprintf("%q is new: %q", path, now[path]))
		}
	}
	sort.Strings(wrong)
	if len(wrong) > 0 {
		t.Errorf("the restore is not exact:\n%s\n%+v", strings.Join(wrong, "\n"), report)
	}
}

// TestRandomBrackets plays programs from a fixed series of random numbers. With
// WORKTREE_SOAK=10m it goes on for that long, from numbers never used before,
// and names the ones that fail: `WORKTREE_SEED=N` plays one again.
func TestRandomBrackets(t *testing.T) {
	if s := os.Getenv("WORKTREE_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		playProgram(t, randomProgram(seed))
		return
	}
	first, n := uint64(1), long.Number[uint64](t, 6, 40)
	soak, _ := time.ParseDuration(os.Getenv("WORKTREE_SOAK"))
	for end := time.Now().Add(soak); ; first += n {
		if soak > 0 {
			first = uint64(time.Now().UnixNano())
		}
		t.Run("batch", func(t *testing.T) {
			for seed := first; seed < first+n; seed++ {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					t.Parallel()
					playProgram(t, randomProgram(seed))
				})
			}
		})
		if !time.Now().Before(end) || t.Failed() && soak == 0 {
			return
		}
	}
}

func randomProgram(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 7))
	data := make([]byte, 60+r.IntN(400))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}
