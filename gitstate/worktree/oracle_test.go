//go:build linux

package worktree

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"git-ralph/gitstate/object"
)

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

// keepOracle finds with git alone what a commit of the agent's work must be.
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
	g := exec.Command(k.p.git.Path, "--git-dir="+gitDir, "--work-tree="+k.rules, "check-ignore", "--no-index", "-z",
		"--stdin")
	g.Dir, g.Env = k.rules, k.p.env
	g.Stdin = strings.NewReader(plainPaths(fresh))
	out, _ := g.Output()
	for _, f := range strings.Split(string(out), "\x00") {
		delete(after, strings.TrimPrefix(f, "./"))
	}
	// A new name that git's own fsck refuses is not committed, but named.
	for _, f := range fresh {
		if object.CheckPath(f, object.ModeRegular) != nil {
			delete(after, f)
		}
	}
	for f, e := range after {
		if k.onDisk[f] || strings.HasPrefix(e, "160000") && !k.tracked[f] {
			delete(after, f)
		}
	}
	// The user's file comes back. Files in its or its folder's place are removed.
	for f := range after {
		if !k.tracked[f] && slices.ContainsFunc(k.own, func(o string) bool {
			return strings.HasPrefix(f, o+"/") || strings.HasPrefix(o, f+"/")
		}) {
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
	// A file in the place of a folder replaces the folder's files, and vice versa,
	// even if somebody else had removed them before.
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
