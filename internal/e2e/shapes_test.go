package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"git-ralph/fixtures/long"
)

// shape is a kind of repository that people have. The commands make it from a plain one.
type shape struct {
	why    string
	make   string
	code   int    // of start; 0 = all works
	says   string // of start, where it refuses
	broken bool   // git fsck has complaints of its own
	short  bool   // also in the short form
}

var shapes = []shape{
	{why: "a sparse checkout in cone mode", make: "git sparse-checkout set --cone src"},
	{why: "a sparse checkout of patterns", make: "git sparse-checkout set --no-cone '/*' '!/other/'"},
	{why: "a split index", make: "git update-index --split-index"},
	{why: "an index of version 4", make: "git update-index --index-version 4"},
	{why: "an untracked cache",
		make: "git config core.untrackedCache true; git update-index --untracked-cache; git status"},
	{why: "a monitor of the file system", make: "git config core.fsmonitor true"},
	{why: "a shallow clone",
		make: "git fetch -q --depth 1 file://$PWD HEAD; git rev-parse HEAD > .git/shallow"},
	{why: "a git directory elsewhere", make: "mv .git ../gitdir; git --git-dir=../gitdir config core.worktree \"$PWD\"; " +
		"echo \"gitdir: $(cd .. && pwd)/gitdir\" > .git"},
	{why: "an object of the past is gone", make: "rm -f .git/objects/$(git rev-parse HEAD~1^{tree} | sed 's#^..#&/#')",
		broken: true},
	{why: "filters of the repository", short: true, make: `printf '*.txt filter=up\n' > .gitattributes; ` +
		`git config filter.up.clean 'tr A-Z a-z'; git config filter.up.smudge 'tr a-z A-Z'; again`},
	{why: "ends of lines are converted", make: `printf '*.txt text eol=crlf\n' > .gitattributes; again`},
	{why: "an ident", make: `printf '*.txt ident\n' > .gitattributes; printf '$Id$\n' > src/a.txt; again`},

	{why: "a bare repository", code: 8, says: "a bare repository has no worktree", make: "git config core.bare true"},
	{why: "a detached HEAD", code: 8, says: "HEAD is detached", make: "git checkout -q --detach"},
	{why: "an index that is garbage", code: 8, says: "damaged index", make: "printf garbage > .git/index", broken: true},
	{why: "a submodule with changes", code: 8, says: `the submodule "mod" has changes of its own`,
		make: "git init -q ../mod; git -C ../mod commit -q --allow-empty -m s; touch ../mod/x; git -C ../mod add x; " +
			"git -C ../mod commit -qm x; git -c protocol.file.allow=always submodule --quiet add ../mod mod; " +
			"git commit -qm mod; echo dirty > mod/x"},
	{why: "a bisect", code: 8, says: "a bisect is in progress", make: "git bisect start -q HEAD HEAD~2"},
	{why: "an am", code: 8, says: "an am is in progress\nhint: finish it with `git am --continue`",
		make: "git format-patch -q -1 -o ../patches HEAD~1; git am ../patches/* || true"},
	{why: "a filter that fails", short: true, code: 8, says: "hint: git status fails as well", broken: true,
		make: `git config filter.up.clean false; git config filter.up.required true; ` +
			`printf '*.txt filter=up\n' > .git/info/attributes; touch -d 2001-01-01 src/a.txt`},
	{why: "names of SHA-256", code: 8, says: "sha256",
		make: "rm -rf .git; git init -q -b main --object-format=sha256 .; " +
			"git add -A; git commit -qm first"},
}

// TestShapesOfRepositories: in each, a rejected attempt changes no byte, a kept one is a commit
// with a clean worktree, and rewind brings the bytes back. Otherwise start refuses, says why and
// changes nothing.
func TestShapesOfRepositories(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("skipped: the repositories are made by a shell")
	}
	for _, row := range shapes {
		if !row.short && !long.On() {
			continue
		}
		t.Run(strings.ReplaceAll(row.why, " ", "-"), func(t *testing.T) {
			t.Parallel()
			row.try(t)
		})
	}
}

func (row shape) try(t *testing.T) {
	agent := "echo made >> src/a.txt\necho new > src/new.txt\n" +
		"test \"$RALPH_ITERATION\" = 1 || echo '{\"fully_complete\": true}' > \"$RALPH_HANDOFF_FILE\"\n"
	p := newProject(t, agent, check, map[string]string{"src/a.txt": "one\n", "other/b.txt": "b\n"})
	p.Write("src/a.txt", "one\ntwo\n")
	p.Git("commit", "-qam", "second")
	p.Write("other/b.txt", "b\nc\n")
	p.Git("commit", "-qam", "third")
	p.must(t, "add", "change a")
	script := "set -e\nagain() { git add -A; git commit -qm again; " +
		"git rm -q -r --cached src; rm -r src; git reset -q --hard; }\n"
	c := exec.Command("bash", "-c", script+row.make)
	c.Dir = p.Dir
	c.Env = append(append([]string{}, p.Env...), "GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=A",
		"GIT_COMMITTER_EMAIL=a@b")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	before := bytesOf(t, p.Dir)
	if row.code != 0 {
		r := p.run(t, nil, "start")
		if r.code != row.code || !strings.Contains(r.err, row.says) || !strings.Contains(r.err, "hint: ") {
			t.Errorf("start: exit %d, want %d with %q\n%s", r.code, row.code, row.says, r.err)
		}
		same(t, "a start that refuses", before, bytesOf(t, p.Dir))
		return
	}
	r := p.run(t, nil, "start", "--max-iterations", "1")
	if r.code != 4 || !strings.Contains(r.out, "reject: not_claimed") {
		t.Fatalf("the first start: exit %d\n%s%s", r.code, r.out, r.err)
	}
	same(t, "an attempt that is rejected", before, bytesOf(t, p.Dir))
	if r = p.run(t, nil, "start"); r.code != 0 || !strings.Contains(r.out, "\n  keep") {
		t.Fatalf("the second start: exit %d\n%s%s", r.code, r.out, r.err)
	}
	if out := p.Git("status", "--porcelain"); out != "" {
		t.Errorf("after a kept attempt git status says\n%s", out)
	}
	if out := p.Git("show", "HEAD:src/new.txt"); strings.TrimSpace(out) != "new" {
		t.Errorf("the commit has %q", out)
	}
	if out := p.must(t, "restore", "1"); strings.Contains(out, "left out") {
		t.Errorf("restore of the attempt that was rejected:\n%s", out)
	}
	p.Git("reset", "-q", "--hard")
	p.must(t, "rewind", "0", "--yes")
	same(t, "a rewind", before, bytesOf(t, p.Dir))
	if row.broken {
		return
	}
	p.sound(t)
}

// bytesOf are the files of a worktree, without what belongs to git.
func bytesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == ".git" {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func same(t *testing.T, what string, before, after map[string]string) {
	t.Helper()
	for path, text := range before {
		if got, there := after[path]; !there || got != text {
			t.Errorf("%s: %s is %q (there: %v), want %q", what, path, got, there, text)
		}
	}
	for path := range after {
		if _, there := before[path]; !there {
			t.Errorf("%s: %s is new", what, path)
		}
	}
}
