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
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// FuzzBracket lets the input write a program: a tree with ignore files, a
// commit, more files, and then what an agent does. Whatever it is, the
// checkpoint's tree and the kept tree are git's, and the restore is exact.
func FuzzBracket(f *testing.F) {
	for _, s := range []string{"", "abcdefghijklmnopqrstuvwxyz", "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f",
		strings.Repeat("\x13\x37\xca\xfe", 30), strings.Repeat("\x05\x91\x22\x7e\xf0", 40)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 600 {
			t.Skip("long programs say nothing that short ones do not")
		}
		playProgram(t, data)
	})
}

// program reads decisions from bytes; behind the end all are zero.
type program struct {
	data []byte
	log  strings.Builder
}

func (p *program) next(n int) int {
	if len(p.data) == 0 {
		return 0
	}
	b := p.data[0]
	p.data = p.data[1:]
	return int(b) % n
}

func pick[T any](p *program, list []T) T { return list[p.next(len(list))] }

func (p *program) path() string {
	names := []string{"a", "b", "c", "d", "A", "a-b", "a.b", "a b", "x.log", "keep.log", "\xff", "é", "[z]", "*", "#h", "!n", "back\\s", "dot.", "n\nl"}
	path := pick(p, names)
	for range p.next(4) {
		path = pick(p, names[:8]) + "/" + path
	}
	return path
}

func (p *program) pattern() string {
	parts := []string{"a", "b", "*", "?", "**", "/", "*.log", "[a-c]", "[!a]", "\\", "!", "d/", "x", "/", ".b", "[[:alpha:]]", " ", "#", "\\ ", "\t"}
	s := ""
	for range 1 + p.next(5) {
		s += pick(p, parts)
	}
	return s
}

// step does one thing to the tree. Errors are part of the game: a file may be
// in the way of a folder.
func (p *program) step(root string) {
	path := filepath.Join(root, p.path())
	act := p.next(14)
	fmt.Fprintf(&p.log, "%d %q\n", act, strings.TrimPrefix(path, root))
	switch act {
	case 0, 1, 2:
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = writeNew(path, pick(p, []string{"one\n", "two\n", "", "crlf\r\nx\r\n", "three and more\n"}))
	case 3:
		_ = os.Remove(path)
	case 4:
		// RemoveAll opens the parent and would wait for a FIFO there.
		if _, err := os.Lstat(path); err == nil {
			_ = os.RemoveAll(path)
		}
	case 5:
		_ = os.MkdirAll(path, 0o755)
	case 6:
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = os.Symlink(pick(p, []string{"a", "/etc", "../main", "nowhere", "b/c"}), path)
	case 7:
		if fi, err := os.Lstat(path); err == nil && fi.Mode()&fs.ModeSymlink == 0 {
			_ = os.Chmod(path, pick(p, []os.FileMode{0o755, 0o644, 0o600, 0o700, 0o711 | fs.ModeSticky}))
		}
	case 8:
		_ = os.Rename(path, filepath.Join(root, p.path()))
	case 9:
		// The same size and the same times, other bytes.
		if fi, err := os.Lstat(path); err == nil && fi.Mode().IsRegular() {
			if b, err := os.ReadFile(path); err == nil && len(b) > 0 {
				b[0] ^= 1
				_ = os.WriteFile(path, b, 0o644)
				_ = os.Chtimes(path, fi.ModTime(), fi.ModTime())
			}
		}
	case 10, 11:
		dir := filepath.Dir(path)
		_ = os.MkdirAll(dir, 0o755)
		text := ""
		for range 1 + p.next(3) {
			text += p.pattern() + pick(p, []string{"\n", "\r\n", "\n\n"})
		}
		fmt.Fprintf(&p.log, "  %q\n", text)
		_ = writeNew(filepath.Join(dir, ".gitignore"), text)
	case 12:
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		_ = syscall.Mkfifo(path, 0o644)
	case 13:
		// A folder and a file change places.
		tmp := filepath.Join(root, "swap-tmp")
		other := filepath.Join(root, p.path())
		if os.Rename(path, tmp) == nil {
			_ = os.Rename(other, path)
			_ = os.Rename(tmp, other)
			_ = os.RemoveAll(tmp)
		}
	}
}

// writeNew writes a file, never through a link or into a FIFO.
func writeNew(path, text string) error {
	if fi, err := os.Lstat(path); err == nil && !fi.Mode().IsRegular() {
		return errors.New("it is no file")
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

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
	if out, err := p.try("git add -A; git commit -q --allow-empty -m base"); err != nil {
		t.Skip("git cannot commit this: ", out)
	}
	for range prog.next(12) {
		prog.step(p.root)
	}
	if prog.next(8) == 0 {
		_, _ = p.try("git update-index --index-version 4")
	}
	prog.log.WriteString("checkpoint\n")
	p.open("", "")
	ctx := context.Background()
	e := p.engine(Options{portable: prog.next(4) == 0})
	before := state(t, p.root, "")
	cp, err := e.Checkpoint(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tree, start, err := p.oracle(p.repo.IndexPath())
	if err != nil {
		// A FIFO where git reads a file; nothing else makes git add fail here.
		start = nil
	} else if tree != cp.Tree.String() {
		if err := p.repo.Store.Sync(); err != nil {
			t.Fatal(err)
		}
		t.Errorf("the checkpoint's tree is not git's:\n%s", cmp.Diff(start, p.treeEntries(cp.Tree)))
	}
	if prog.next(3) == 0 {
		if cp, err = e.Checkpoint(ctx); err != nil || start != nil && cp.Tree.String() != tree {
			t.Fatalf("a second checkpoint differs: %v %v", cp, err)
		}
	}
	if d := different(before, state(t, p.root, "")); d != "" {
		t.Errorf("the checkpoint changed the worktree:\n%s", d)
	}
	keep := newKeepOracle(p, cp, start)
	ignoredDirs := ignoredFolders(p)
	reload := prog.next(3) == 0
	if reload {
		id, err := cp.Store(ctx)
		if err == nil {
			err = p.repo.Store.Sync()
		}
		if err == nil {
			e = p.engine(Options{})
			cp, err = e.Load(ctx, id)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 1 + prog.next(24) {
		prog.step(p.root)
	}
	if prog.next(3) == 0 {
		prog.log.WriteString("capture\n")
		got, err := e.Capture(ctx, cp)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.repo.Store.Sync(); err != nil {
			t.Fatal(err)
		}
		// Where git add itself fails there is nothing to compare with.
		if want, ok := keep.want(func(string, ...any) {}, diffCase{}); ok {
			if d := cmp.Diff(want, p.treeEntries(got.Keep)); d != "" {
				t.Errorf("what is kept is not what git would commit:\n%s", d)
			}
		}
	}
	report, err := e.Restore(ctx, cp)
	if err != nil {
		t.Errorf("%v", err)
	}
	checkExact(t, p, keep.rules, before, state(t, p.root, ""), ignoredDirs, report)
	again, err := e.Checkpoint(ctx)
	if err != nil || again.Tree != cp.Tree {
		t.Errorf("the tree after the restore is %v, was %s (%v)", again, cp.Tree, err)
	}
}

// ignoredFolders are the folders that git ignores as a whole: the agent's to spoil.
func ignoredFolders(p *place) []string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, p.git.Path, "ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory")
	c.Dir, c.Env = p.root, p.env
	out, _ := c.Output()
	var dirs []string
	for _, d := range strings.Split(string(out), "\x00") {
		if strings.HasSuffix(d, "/") {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// checkExact allows one kind of difference: files that are new and ignored by
// the rules of the checkpoint, the folders they are in, and what happened in
// ignored folders.
func checkExact(t *testing.T, p *place, copyOfStart string, before, now map[string]string, ignoredDirs []string, report Report) {
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
	g := exec.Command(p.git.Path, "check-ignore", "--no-index", "-z", "--stdin")
	g.Dir, g.Env = copyOfStart, p.env
	for _, path := range extra {
		// git judges a folder as one only where it is one.
		if strings.HasPrefix(now[path], "folder") {
			_ = os.MkdirAll(filepath.Join(copyOfStart, path), 0o755)
		}
	}
	for path, was := range before {
		if strings.HasPrefix(was, "fifo") {
			extra = append(extra, path)
		}
	}
	g.Stdin = strings.NewReader(strings.Join(extra, "\x00"))
	out, _ := g.Output()
	allowed := map[string]bool{}
	for _, path := range strings.Split(string(out), "\x00") {
		for ; path != "" && path != "."; path = filepath.Dir(path) {
			allowed[path] = true
		}
	}
	var wrong []string
	for path, was := range before {
		if strings.HasPrefix(was, "fifo") && (slices.Contains(report.Left, path) || allowed[path] || strings.HasPrefix(now[path], "fifo")) {
			continue // it cannot be made again, and is named unless ignored; its mode is left alone
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
	first, n := uint64(1), uint64(40)
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
