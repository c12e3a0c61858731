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
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"git-ralph/fixtures/ram"
	fixture "git-ralph/fixtures/repo"
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
	os.Exit(ram.Tests(m).Run())
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
		return checkpointTool(args[0], 1, Options{})
	case "peak":
		return peakTool(args)
	case "checkpoint50":
		return checkpointTool(args[0], 1, Options{MaxFile: 50 << 20})
	case "bracket":
		return checkpointTool(args[0], 3, Options{})
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
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"TEST_BINARY=" + bin, "GIT_TEMPLATE_DIR=" + fixture.Template(t, filepath.Join(dir, "template")),
		"GIT_AUTHOR_NAME=A U Thor", "GIT_AUTHOR_EMAIL=author@example.com", "GIT_COMMITTER_NAME=C O Mitter",
		"GIT_COMMITTER_EMAIL=c@example.com",
		"GIT_AUTHOR_DATE=1700000000 +0000", "GIT_COMMITTER_DATE=1700000000 +0000", "TMPDIR=" + os.TempDir()}
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"),
		[]byte("[init]\n\tdefaultBranch = main\n[advice]\n\taddEmbeddedRepo = false\n[maintenance]\n\tauto = false\n"),
		0o644); err != nil {
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
	c := exec.CommandContext(ctx, p.git.Path, append([]string{"-c", "core.fsmonitor=false", "-c", "core.safecrlf=false",
		"--git-dir=" + p.repo.GitDir, "--work-tree=" + p.root}, args...)...)
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

// state is what a restore brings back in a worktree: kind, all permission bits,
// contents. It leaves out the repository's git directory, and the index of other
// repositories, which git itself rewrites on reading.
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
		if errors.Is(err, fs.ErrPermission) {
			out[rel] += " unreadable" // its folder can be listed and not entered
			return nil
		}
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
				// The owner may read it. Only the mode is under test.
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
		for _, f := range []string{"index", "index.lock", "HEAD", "config", "config.worktree", "packed-refs",
			"ORIG_HEAD", "MERGE_HEAD"} {
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
