package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"git-ralph/fixtures/long"
	"git-ralph/internal/proc"
)

// box is a throw-away home with a repository in it, and the sandbox around it.
type box struct {
	t     *testing.T
	dir   string // holds everything
	home  string
	work  string // a repository in home
	git   string
	other string // a folder outside of home and worktree
	spec  Spec
	env   []string
}

// newBox makes a box below base. "" is a temporary folder, over which the sandbox
// mounts a private one.
func newBox(t *testing.T, base string) *box {
	t.Helper()
	dir := t.TempDir()
	if base != "" {
		var err error
		if dir, err = os.MkdirTemp(base, "git-ralph-test-"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
	}
	b := &box{t: t, dir: dir, home: filepath.Join(dir, "home"), other: filepath.Join(dir, "other")}
	b.work = filepath.Join(b.home, "src", "proj")
	b.git = filepath.Join(b.work, ".git")
	for _, d := range []string{b.work, b.other, filepath.Join(dir, "state"), filepath.Join(b.home, ".ssh"),
		filepath.Join(b.home, "dotfiles", "aws")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.write("home/.ssh/id_ed25519", "SECRET key")
	b.write("home/.netrc", "SECRET netrc")
	b.write("home/.git-credentials", "https://me:SECRET@example.invalid")
	b.write("home/dotfiles/aws/credentials", "SECRET aws")
	b.write("home/.profile", "# profile")
	b.write("home/notes/todo", "later")
	b.write("other/file", "not yours")
	if err := os.Symlink("dotfiles/aws", filepath.Join(b.home, ".aws")); err != nil {
		t.Fatal(err)
	}
	b.env = append(proc.AgentGitEnv(), "PATH="+os.Getenv("PATH"), "HOME="+b.home, "LC_ALL=C",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.invalid", "GIT_COMMITTER_NAME=A",
		"GIT_COMMITTER_EMAIL=a@example.invalid")
	tmpl, err := template()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(b.work, os.DirFS(tmpl)); err != nil {
		t.Fatal(err)
	}
	b.outside(`git status --short`) // the index learns the times of the copies

	b.spec = Spec{Worktree: b.work, GitDirs: []string{b.git}, Home: b.home,
		HomeUpper: filepath.Join(dir, "state", "upper"), Network: NetworkOpen}
	r, err := probed()
	if err != nil {
		t.Fatal(err)
	}
	if r.Mechanism != Namespaces {
		t.Skip("this machine refuses namespaces:", r.Detail)
	}
	b.spec = r.Apply(b.spec)
	t.Cleanup(func() {
		if err := RemoveHomeUpper(b.spec.HomeUpper); err != nil {
			t.Error(err)
		}
	})
	return b
}

// template is a repository that every box gets a copy of.
var template = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "git-ralph-template-")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("bash", "-ec",
		`git init -q -b main && echo hello >a.txt && mkdir sub && echo sub >sub/b.txt && printf '*.log\n' >.gitignore &&
		git add . && git commit -q -m one && echo more >>a.txt && git commit -q -am two && git branch topic && git tag v1 &&
		echo dirty >>a.txt && echo new >untracked.txt`)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.invalid", "GIT_COMMITTER_NAME=A",
		"GIT_COMMITTER_EMAIL=a@example.invalid"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return dir, nil
})

// cleanUp removes the template.
func cleanUp() {
	if dir, err := template(); err == nil {
		os.RemoveAll(dir)
	}
}

// probed is what this machine supports, probed once for all boxes.
var probed = sync.OnceValues(func() (Report, error) {
	dir, err := os.MkdirTemp("", "git-ralph-probe-test-")
	if err != nil {
		return Report{}, err
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o755); err != nil {
		return Report{}, err
	}
	r, err := Probe(context.Background(), Spec{Home: home, HomeUpper: filepath.Join(dir, "upper")})
	return r, errors.Join(err, RemoveHomeUpper(dir))
})

func (b *box) write(rel, text string) {
	b.t.Helper()
	p := filepath.Join(b.dir, rel)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *box) read(rel string) string {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, rel))
	if err != nil {
		b.t.Error(err)
	}
	return string(data)
}

// outside runs a script in the worktree without any sandbox.
func (b *box) outside(script string) string {
	b.t.Helper()
	cmd := exec.Command("bash", "-ec", script)
	cmd.Dir = b.work
	cmd.Env = b.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// eventID marks the processes of one group. It is unique, because a group ends all
// processes with its mark, even those of another test run.
func eventID() string {
	return fmt.Sprintf("box-%d-%d", os.Getpid(), time.Now().UnixNano())
}

// group is a group whose processes run in the sandbox.
func (b *box) group() *proc.Group {
	b.t.Helper()
	w, err := Wrapper(b.spec)
	if err != nil {
		b.t.Fatal(err)
	}
	g, err := proc.NewGroup(proc.GroupOptions{EventID: eventID(), Wrap: w, Grace: 100 * time.Millisecond})
	if err != nil {
		b.t.Fatal(err)
	}
	return g
}

// inside runs a script in the sandbox and ends everything that it left.
func (b *box) inside(script string) (string, proc.Exit) {
	b.t.Helper()
	g := b.group()
	var out safeBuffer
	exit, err := g.Run(b.t.Context(), proc.Command{
		Argv: []string{"bash", "-c", script}, Dir: b.work, Env: b.env, Stdout: &out, Stderr: &out,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		b.t.Fatal(err)
	}
	return out.String(), exit
}

// safeBuffer is a bytes.Buffer for several goroutines.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// picture describes everything in the box except skip: type, mode, owner, times,
// contents.
func (b *box) picture(skip ...string) map[string]string {
	b.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(b.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		for _, s := range skip {
			if path == s {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
		}
		st, err := os.Lstat(path)
		if err != nil {
			return err
		}
		sys := st.Sys().(*syscall.Stat_t)
		line := fmt.Sprintf("%s %d:%d links %d %d", st.Mode(), sys.Uid, sys.Gid, sys.Nlink, st.ModTime().UnixNano())
		switch {
		case st.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			line += " " + to
		case st.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			line += fmt.Sprintf(" %x", sha256.Sum256(data))
		}
		out[path] = line
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// protected is the picture of everything that a command must not change: git
// directory, home and other folders, without the worktree's files.
func (b *box) protected() map[string]string {
	b.t.Helper()
	all := b.picture(filepath.Join(b.dir, "state"))
	for path := range all {
		if within(path, b.work) && !within(path, b.git) {
			delete(all, path)
		}
	}
	return all
}

func (b *box) unchanged(before map[string]string) {
	b.t.Helper()
	if diff := cmp.Diff(before, b.protected()); diff != "" {
		b.t.Errorf("changed (-before +after)\n%s", diff)
	}
}

// eventually waits for a state that comes by itself, until the test is over.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for !ok() {
		if t.Context().Err() != nil {
			t.Fatal("never:", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestAsOrdinaryUser runs the tests of this package once more as a user
// without any right, which takes other paths through the kernel.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the tests run as an ordinary user anyway")
	}
	const uid = 54321
	dir := t.TempDir()
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	bin := filepath.Join(dir, "sandbox.test")
	data, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bin, data, 0o755); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(dir, "home")
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, uid, uid); err != nil {
		t.Fatal(err)
	}
	corpus, err := os.ReadFile(corpusPath())
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "dev.jsonl")
	if err := os.WriteFile(copied, corpus, 0o644); err != nil {
		t.Fatal(err)
	}
	public, err := os.MkdirTemp("/var/cache", "git-ralph-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(public) })
	if err := os.Chown(public, uid, uid); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "-test.timeout=0", "-test.v")
	if !long.Full() {
		t.Log("the battery, what is in the sandbox and what is shared, without the rest: run with -long")
		cmd.Args = append(cmd.Args, "-test.run=^(TestBattery|TestContents|TestShare|TestForeign)$")
	}
	cmd.Dir = home
	cmd.Env = append(long.Env(), "PATH="+reachablePath(), "HOME="+home, "GIT_RALPH_CORPUS="+copied,
		"GIT_RALPH_TEST_DIR="+public)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "--- SKIP") || strings.Contains(line, "measured") {
			t.Log(strings.TrimSpace(line))
		}
	}
	if !strings.Contains(string(out), "--- PASS: TestBattery") {
		t.Errorf("the battery did not run:\n%s", out)
	}
}

// reachablePath is PATH without folders that another user cannot enter.
func reachablePath() string {
	var out []string
	for _, p := range filepath.SplitList(os.Getenv("PATH")) {
		if !strings.HasPrefix(p, "/root") {
			out = append(out, p)
		}
	}
	return strings.Join(out, ":")
}
