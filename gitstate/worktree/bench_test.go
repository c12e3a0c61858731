//go:build linux

package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"git-ralph/fixtures/figures"
)

// BenchmarkBracket measures the cost of an iteration's brackets: a checkpoint, and
// after a change of 20 files (10 modified, 5 new, 5 deleted) the restore, or the
// capture and the commit's trees. The same rounds measure git with a private index,
// and the floor: one lstat per tracked file and one open, getdents and close per
// folder, on as many threads. node_modules holds as many ignored files. Figures are
// medians of interleaved rounds; ratios are of the medians.
//
//	WORKTREE_BENCH_FILES=1000,10000,50000,200000   sizes (default 1000,10000)
//	WORKTREE_BENCH_REPO=/path                      a real repository, copied first
//	WORKTREE_BENCH_DIR=/path                       where to build (default: temporary)
//
// go-git's own Status and Reset of the same change are measured once, at the end,
// below 5,000 files.
func BenchmarkBracket(b *testing.B) {
	sizes := "1000,10000"
	if s := os.Getenv("WORKTREE_BENCH_FILES"); s != "" {
		sizes = s
	}
	for _, s := range strings.Split(sizes, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil {
			b.Fatal(err)
		}
		b.Run("files="+s, func(b *testing.B) { bracket(b, func(p *place) { generate(b, p, n) }) })
	}
	if repo := os.Getenv("WORKTREE_BENCH_REPO"); repo != "" {
		b.Run("repo="+filepath.Base(repo), func(b *testing.B) {
			bracket(b, func(p *place) {
				p.script(fmt.Sprintf("git clone -q %q .; new .zz; git add .zz; git commit -qm x", repo))
			})
		})
	}
}

// generate makes n tracked files, eight a folder, and n ignored ones.
func generate(tb testing.TB, p *place, n int) {
	p.script("git init -q -b main .; printf 'node_modules/\n*.log\n' > .gitignore")
	write := func(path, text string) {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	for i := range n {
		d := i / 8
		path := fmt.Sprintf("pkg%02d/module%03d/part%d/file_%06d.go", d%37, d/37%211, d/7807, i)
		write(filepath.Join(p.root, path), fmt.Sprintf("package p%d\n\nfunc F%d() int { return %d }\n", d, i, i))
		write(filepath.Join(p.root, fmt.Sprintf("node_modules/m%d/f%d.js", d, i)), "x\n")
	}
	p.script("git add -A; git commit -qm base")
}

// series are the durations of each step over the rounds.
type series map[string][]time.Duration

func (s series) time(name string, f func()) {
	start := time.Now()
	f()
	s[name] = append(s[name], time.Since(start))
}

func (s series) median(name string) float64 {
	v := slices.Sorted(slices.Values(s[name]))
	if len(v) == 0 {
		return 0
	}
	return float64(v[len(v)/2].Microseconds()) / 1000
}

func benchPlace(b *testing.B) *place {
	if dir := os.Getenv("WORKTREE_BENCH_DIR"); dir != "" {
		b.Setenv("TMPDIR", dir)
	}
	return newPlace(b)
}

func bracket(b *testing.B, build func(*place)) {
	p := benchPlace(b)
	build(p)
	p.open("", "")
	// The files must be older than the tick of the file system's clock, as in every
	// repository that was not just made.
	time.Sleep(50 * time.Millisecond)
	p.script("git update-index --refresh -q; git status >/dev/null")
	tracked := trackedByDir(b, p)
	s := series{}
	ctx := context.Background()
	check := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	edit := func(r int) { editTwenty(b, p, tracked, r) }
	warm := p.engine(Options{})
	_, err := warm.Checkpoint(ctx)
	check(err)
	ours := func(kind string, e *Engine, r int) {
		var cp *Checkpoint
		var err error
		s.time(kind+" checkpoint", func() { cp, err = e.Checkpoint(ctx) })
		check(err)
		edit(r)
		s.time(kind+" capture", func() {
			_, err = e.Capture(ctx, cp)
		})
		check(err)
		s.time(kind+" sync", func() { err = p.repo.Store.Sync() })
		check(err)
		s.time(kind+" restore", func() { _, err = e.Restore(ctx, cp) })
		check(err)
	}
	rounds := 0
	for b.Loop() {
		for range 11 {
			rounds++
			r := rounds * 4
			// Files that the last round restored have new times. git reads them
			// once more, as the user's next git status would.
			time.Sleep(50 * time.Millisecond)
			p.script("git update-index --refresh -q")
			s.time("floor", func() { floor(p.root, tracked) })
			gitBracket(b, s, p, edit, r)
			s.time("cold open", func() {
				e, err := New(p.repo, Options{})
				check(err)
				e.Close()
			})
			ours("cold", p.engine(Options{}), r+1)
			_, err := warm.Checkpoint(ctx) // the rounds in between changed files
			check(err)
			ours("warm", warm, r+2)
			s.time("git status", func() { _, err = p.gitOut("", "status", "--porcelain") })
			check(err)
		}
	}
	if len(tracked) < 5000 { // beyond, it takes minutes
		goGit(b, s, p, edit)
	}
	names := []string{"floor", "git status", "git checkpoint", "git rollback", "git commit", "cold open",
		"cold checkpoint", "cold capture",
		"cold restore", "cold sync", "warm checkpoint", "warm capture", "warm restore", "warm sync", "go-git status",
		"go-git reset"}
	for _, n := range names {
		if len(s[n]) > 0 {
			b.ReportMetric(s.median(n), strings.ReplaceAll(n, " ", "_")+"_ms")
		}
	}
	ratio := func(name string, a, b0 float64) { b.ReportMetric(a/b0, name) }
	_, size, _ := strings.Cut(b.Name(), "/")
	put := func(what string, v float64, against string, base, most float64) {
		figures.Put(b, figures.Figure{What: what + ", " + size, Value: v, Unit: "ms", Base: base, Against: against,
			Most: most})
	}
	gitReject := s.median("git checkpoint") + s.median("git rollback")
	gitKeep := s.median("git checkpoint") + s.median("git commit")
	for _, k := range []string{"cold", "warm"} {
		name, git, lstat := "first", 0.7, 1.5
		if k == "warm" {
			name, git, lstat = "later", 0.33, 1
		}
		put("checkpoint and restore, "+name, s.median(k+" checkpoint")+s.median(k+" restore"), "git doing the same",
			gitReject, git)
		put("checkpoint and capture, "+name, s.median(k+" checkpoint")+s.median(k+" capture"), "git doing the same",
			gitKeep, git)
		put("checkpoint, "+name, s.median(k+" checkpoint"), "one lstat a file, one listing a folder", s.median("floor"),
			lstat)
		ratio(k+"_reject/git", s.median(k+" checkpoint")+s.median(k+" restore"), gitReject)
		ratio(k+"_keep/git", s.median(k+" checkpoint")+s.median(k+" capture"), gitKeep)
		ratio(k+"_checkpoint/floor", s.median(k+" checkpoint"), s.median("floor"))
		ratio(k+"_restore/floor", s.median(k+" restore"), s.median("floor"))
		if len(s["go-git reset"]) == 0 {
			continue
		}
		ratio("go-git/"+k+"_reject", s.median("go-git status")+s.median("go-git reset"),
			s.median(k+" checkpoint")+s.median(k+" restore"))
	}
	b.ReportMetric(0, "ns/op")
}

// gitBracket is the same work by git's own commands on a private index.
func gitBracket(b *testing.B, s series, p *place, edit func(int), r int) {
	check := func(_ string, err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	private := filepath.Join(p.dir, "bench-index")
	var tree string
	s.time("git checkpoint", func() {
		data, err := os.ReadFile(p.repo.IndexPath())
		check("", err)
		check("", os.WriteFile(private, data, 0o644))
		check(p.gitOut(private, "add", "-A"))
		tree, err = p.gitOut(private, "write-tree")
		check("", err)
	})
	edit(r)
	s.time("git commit", func() {
		check(p.gitOut(private, "add", "-A"))
		t, err := p.gitOut(private, "write-tree")
		check("", err)
		check(p.gitOut(private, "commit-tree", "-m", "x", strings.TrimSpace(t)))
	})
	// The private index is back at the checkpoint, as it would be without a commit.
	data, _ := os.ReadFile(p.repo.IndexPath())
	check("", os.WriteFile(private, data, 0o644))
	check(p.gitOut(private, "add", "-A", "--refresh"))
	s.time("git rollback", func() {
		check(p.gitOut(private, "read-tree", "-u", "--reset", strings.TrimSpace(tree)))
		check(p.gitOut(private, "clean", "-fdq"))
	})
}

// trackedByDir are the tracked names by folder.
func trackedByDir(tb testing.TB, p *place) map[string][]string {
	out, err := p.gitOut("", "ls-files", "-z")
	if err != nil {
		tb.Fatal(err)
	}
	m := map[string][]string{}
	for _, f := range strings.Split(strings.TrimSuffix(out, "\x00"), "\x00") {
		dir, name := split(f)
		m[dir] = append(m[dir], name)
		for dir != "" {
			dir, _ = split(dir)
			if _, ok := m[dir]; !ok {
				m[dir] = nil
			}
		}
	}
	return m
}

// floor is the lower bound of any scan that lists every folder.
func floor(root string, tracked map[string][]string) {
	fd, err := unix.Open(root, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		panic(err)
	}
	defer unix.Close(fd)
	work := make(chan string, len(tracked))
	for d := range tracked {
		work <- d
	}
	close(work)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			buf := make([]byte, 32<<10)
			var st unix.Stat_t
			for dir := range work {
				if dir == "" {
					dir = "."
				}
				d, err := unix.Openat(fd, dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
				if err != nil {
					panic(err)
				}
				for {
					if n, err := unix.Getdents(d, buf); n <= 0 || err != nil {
						break
					}
				}
				for _, f := range tracked[strings.TrimPrefix(dir, ".")] {
					_ = unix.Fstatat(d, f, &st, unix.AT_SYMLINK_NOFOLLOW)
				}
				unix.Close(d)
			}
		})
	}
	wg.Wait()
}

// editTwenty changes ten files, makes five and removes five, spread over the tree.
func editTwenty(tb testing.TB, p *place, tracked map[string][]string, round int) {
	var all []string
	for d, names := range tracked {
		for _, n := range names {
			if strings.HasPrefix(n, ".git") {
				continue
			}
			all = append(all, join(d, n))
		}
	}
	slices.Sort(all)
	step := len(all) / 17
	for i := range 15 {
		path := filepath.Join(p.root, all[(i*step+round*31)%len(all)])
		if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
			continue
		}
		var err error
		if i < 10 {
			err = os.WriteFile(path, fmt.Appendf(nil, "changed %d %d\n", round, i), 0o644)
		} else {
			err = os.Remove(path)
		}
		if err != nil {
			tb.Fatal(err)
		}
		if i%3 == 0 {
			if err := os.WriteFile(filepath.Join(filepath.Dir(path), fmt.Sprintf("new_%d_%d.txt", round, i)),
				[]byte("new\n"), 0o644); err != nil {
				tb.Fatal(err)
			}
		}
	}
}

// BenchmarkSnapshotOfIndex is the part of a cold checkpoint that reads the index.
func BenchmarkSnapshotOfIndex(b *testing.B) {
	p := benchPlace(b)
	generate(b, p, 10000)
	p.open("", "")
	e := p.engine(Options{})
	for b.Loop() {
		f, key, err := e.readIndex(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if e.nodesOf(f, key.mtime).count != len(f.Entries) {
			b.Fatal("files are missing")
		}
	}
}

// BenchmarkCold is the first checkpoint of a process, without the git around it.
func BenchmarkCold(b *testing.B) { benchCheckpoint(b, false) }

// BenchmarkWarm is every later one.
func BenchmarkWarm(b *testing.B) { benchCheckpoint(b, true) }

func benchCheckpoint(b *testing.B, warm bool) {
	n := 10000
	if s := os.Getenv("WORKTREE_BENCH_FILES"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	p := benchPlace(b)
	generate(b, p, n)
	p.open("", "")
	time.Sleep(50 * time.Millisecond)
	p.script("git update-index --refresh -q")
	tracked := trackedByDir(b, p)
	e := p.engine(Options{})
	s := series{}
	for b.Loop() {
		if !warm {
			e = p.engine(Options{})
		}
		s.time("checkpoint", func() {
			if _, err := e.Checkpoint(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
		s.time("floor", func() { floor(p.root, tracked) })
	}
	b.ReportMetric(s.median("checkpoint")/s.median("floor"), "checkpoint/floor")
}

// BenchmarkIgnored measures what ignored files add to a bracket, with and without
// as many ignored as tracked files by turns. Once they lie in an ignored folder,
// where they may cost nothing. Once one lies beside each tracked file, where the
// small ones are part of the checkpoint.
func BenchmarkIgnored(b *testing.B) {
	n := 10000
	if s := os.Getenv("WORKTREE_BENCH_FILES"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	for _, kind := range []string{"folder", "beside"} {
		b.Run(kind, func(b *testing.B) {
			with, without := benchPlace(b), benchPlace(b)
			for _, p := range []*place{with, without} {
				generate(b, p, n)
				if p == without || kind == "beside" {
					p.script("rm -rf node_modules")
				}
			}
			if kind == "beside" {
				for dir, names := range trackedOnDisk(b, with) {
					for _, name := range names {
						if err := os.WriteFile(filepath.Join(with.root, dir, name+".log"), []byte("x\n"), 0o644); err != nil {
							b.Fatal(err)
						}
					}
				}
			}
			with.open("", "")
			without.open("", "")
			time.Sleep(50 * time.Millisecond)
			s := series{}
			warm := map[*place]*Engine{with: with.engine(Options{}), without: without.engine(Options{})}
			tracked := map[*place]map[string][]string{with: trackedByDir(b, with), without: trackedByDir(b, without)}
			name := map[*place]string{with: "with", without: "without"}
			bracket := func(p *place, e *Engine, kind string, r int) {
				var cp *Checkpoint
				var err error
				s.time(name[p]+kind, func() { cp, err = e.Checkpoint(context.Background()) })
				if err != nil {
					b.Fatal(err)
				}
				editTwenty(b, p, tracked[p], r)
				s.time(name[p]+kind+" restore", func() { _, err = e.Restore(context.Background(), cp) })
				if err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				for r := range 11 {
					for _, p := range []*place{with, without} {
						p.script("git update-index --refresh -q")
						bracket(p, p.engine(Options{}), " cold", 2*r)
						if _, err := warm[p].Checkpoint(context.Background()); err != nil {
							b.Fatal(err)
						}
						bracket(p, warm[p], " warm", 2*r+1)
					}
				}
			}
			for _, k := range []string{" cold", " warm"} {
				b.ReportMetric((s.median("with"+k)+s.median("with"+k+" restore"))/(s.median("without"+k)+s.median("without"+k+
					" restore")), k[1:]+"_with/without")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// trackedOnDisk is trackedByDir before the repository is opened.
func trackedOnDisk(tb testing.TB, p *place) map[string][]string {
	m := map[string][]string{}
	err := filepath.WalkDir(p.root, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if err == nil && strings.HasSuffix(path, ".go") {
			rel, _ := filepath.Rel(p.root, filepath.Dir(path))
			m[rel] = append(m[rel], d.Name())
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}
