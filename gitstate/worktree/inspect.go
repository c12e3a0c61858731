package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/worktree/index"
)

// How is what the engine does about something unusual.
type How string

// The ways.
const (
	Native     How = "native"  // by the engine itself
	ThroughGit How = "git"     // by git's own plumbing, on a private index
	LeftAlone  How = "left"    // not part of the checkpoint, and named
	Refused    How = "refused" // nothing is started
)

// Peculiarity is one unusual thing about a repository.
type Peculiarity struct {
	Name   string // a stable word: autocrlf, filter, sparse-index, …
	How    How
	Reason string // one sentence, lower case
	Hint   string // what to do about it; "" when nothing has to be done
	Paths  []string
}

// Peculiarities are all of them, the refused ones first.
type Peculiarities []Peculiarity

// Refused are those that forbid a start.
func (p Peculiarities) Refused() Peculiarities {
	var out Peculiarities
	for _, x := range p {
		if x.How == Refused {
			out = append(out, x)
		}
	}
	return out
}

// inspection collects peculiarities.
type inspection struct {
	repo  Repo
	set   settings
	found Peculiarities
}

func (i *inspection) add(name string, how How, reason, hint string, paths ...string) {
	p := Peculiarity{name, how, reason, hint, paths}
	if how == Refused {
		n := 0
		for n < len(i.found) && i.found[n].How == Refused {
			n++
		}
		i.found = append(i.found[:n], append(Peculiarities{p}, i.found[n:]...)...)
		return
	}
	i.found = append(i.found, p)
}

// Inspect says what is unusual about the repository and its worktree, before
// anything is changed. It writes nothing.
func Inspect(ctx context.Context, repo Repo, opts Options) (Peculiarities, error) {
	set, err := readSettings(ctx, repo.Git)
	if err != nil {
		return nil, fmt.Errorf("inspect the repository: %w", err)
	}
	i := &inspection{repo: repo, set: set}
	i.format()
	i.operations()
	i.fileSystem()
	if set.objectFormat == "" || set.objectFormat == "sha1" {
		if err := i.index(ctx); err != nil {
			return nil, fmt.Errorf("inspect the repository: %w", err)
		}
		if err := i.tree(ctx, opts); err != nil {
			return nil, fmt.Errorf("inspect the repository: %w", err)
		}
	}
	return i.found, nil
}

// Unfinished is an operation of the user that git has not finished, such as a merge.
func Unfinished(repo Repo) Peculiarities {
	i := &inspection{repo: repo}
	i.begun()
	return i.found
}

func (i *inspection) format() {
	if f := i.set.objectFormat; f != "" && f != "sha1" {
		i.add("sha256", Refused, "the repository's object format is "+f,
			"git ralph works on sha1 repositories; use a clone with that format")
	}
	if i.set.refStorage != "" && i.set.refStorage != "files" {
		i.add("reftable", Refused, "refs are stored as "+i.set.refStorage, "git refs migrate --ref-format=files")
	}
	if i.set.coreWorktree != "" {
		i.add("core.worktree", Native, "core.worktree places the files at "+i.repo.Root, "")
	}
}

func (i *inspection) operations() {
	i.begun()
	if _, err := os.Lstat(i.repo.IndexPath() + ".lock"); err == nil {
		i.add("index.lock", Refused, "index.lock exists: another git process is running, or one crashed",
			"wait for it, or remove "+i.repo.IndexPath()+".lock when no git process runs")
	}
}

func (i *inspection) begun() {
	for _, o := range []struct{ file, name, hint string }{
		{"MERGE_HEAD", "merge", "finish it with `git commit`, or `git merge --abort`"},
		{"rebase-merge", "rebase", "finish it with `git rebase --continue`, or `git rebase --abort`"},
		{"rebase-apply/applying", "am", "finish it with `git am --continue`, or `git am --abort`"},
		{"rebase-apply/rebasing", "rebase", "finish it with `git rebase --continue`, or `git rebase --abort`"},
		{"CHERRY_PICK_HEAD", "cherry-pick", "finish it with `git cherry-pick --continue`, or `git cherry-pick --abort`"},
		{"REVERT_HEAD", "revert", "finish it with `git revert --continue`, or `git revert --abort`"},
		{"BISECT_LOG", "bisect", "end it with `git bisect reset`"},
	} {
		if _, err := os.Lstat(filepath.Join(i.repo.GitDir, filepath.FromSlash(o.file))); err == nil {
			i.add(o.name, Refused, article(o.name)+" is in progress", o.hint)
		}
	}
}

// article puts a or an in front of an operation of git.
func article(name string) string {
	if name == "am" {
		return "an " + name
	}
	return "a " + name
}

func (i *inspection) fileSystem() {
	if !i.set.fileMode {
		i.add("filemode", Native, "core.fileMode is off: the executable bit of a file is the index's", "")
	}
	if !i.set.symlinks {
		i.add("symlinks", Native, "core.symlinks is off: symbolic links are checked out as plain files", "")
	}
	if i.set.ignoreCase {
		if folds, err := foldsCase(i.repo.GitDir); err == nil && !folds {
			i.add("ignorecase", Refused, "core.ignoreCase is on, but this file system tells cases apart",
				"`git config core.ignoreCase false`")
		} else {
			i.add("ignorecase", Native, "the file system does not tell cases apart", "")
		}
	}
	if i.set.precompose && runtime.GOOS == "darwin" {
		i.add("precomposeunicode", Native, "names are taken as the file system returns them", "")
	}
}

// foldsCase asks the file system of a git directory, which has a file HEAD.
func foldsCase(gitDir string) (bool, error) {
	a, err := os.Lstat(filepath.Join(gitDir, "HEAD"))
	if err != nil {
		return false, err
	}
	b, err := os.Lstat(filepath.Join(gitDir, "hEaD"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(a, b), err
}

func (i *inspection) index(ctx context.Context) error {
	_, data, err := readIndexFile(i.repo.IndexPath(), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := index.Decode(data)
	switch {
	case errors.Is(err, index.ErrSplit):
		i.add("split-index", ThroughGit, "the index is split; git joins it in a private copy", "")
		e := &Engine{repo: i.repo, settings: i.set}
		if f, err = e.unsplit(ctx, data); err != nil {
			i.add("index", Refused, err.Error(), "`git update-index --no-split-index`")
			return nil
		}
	case err != nil:
		i.add("index", Refused, err.Error(), "`git status` says more; `git reset` makes a new index")
		return nil
	}
	var unmerged, gitlinks, hidden []string
	staged := map[string]object.ID{}
	sparse := false
	for k := range f.Entries {
		x := &f.Entries[k]
		switch {
		case x.Stage != 0:
			if n := len(unmerged); n == 0 || unmerged[n-1] != x.Path {
				unmerged = append(unmerged, x.Path)
			}
		case x.SparseDir():
			sparse = true
		case x.Mode == object.ModeGitlink:
			gitlinks = append(gitlinks, x.Path)
			staged[x.Path] = x.ID
		case x.Flags&index.AssumeUnchanged != 0, x.Flags&index.SkipWorktree != 0 && !i.set.sparse:
			hidden = append(hidden, x.Path)
		}
	}
	if len(unmerged) > 0 {
		i.add("unmerged", Refused, fmt.Sprintf("%d paths are unmerged, %q first", len(unmerged), unmerged[0]),
			"resolve them and `git add` them", unmerged...)
	}
	if sparse {
		i.add("sparse-index", Native, "the index is sparse: whole folders are one entry", "")
	} else if i.set.sparse {
		i.add("sparse-checkout", Native, "only a part of the tree is checked out", "")
	}
	if len(hidden) > 0 {
		i.add("hidden", Native,
			"the index says not to look at some files (assume-unchanged, skip-worktree); what differs in them is put back, "+
				"never committed", "", hidden...)
	}
	return i.submodules(ctx, gitlinks, staged)
}

// cleanSubmodule reports whether a submodule has the staged commit checked out and
// nothing else. It compares bytes itself: the configuration of a repository in
// the worktree may be an agent's work, and git status would run its filters.
func (i *inspection) cleanSubmodule(ctx context.Context, path string, staged object.ID) (bool, error) {
	dir := filepath.Join(i.repo.Root, filepath.FromSlash(path))
	g := *i.repo.Git
	g.GitDir, g.WorkTree, g.Dir, g.Index = filepath.Join(dir, ".git"), dir, dir, ""
	var lines []string
	for _, what := range [][]string{{"--absolute-git-dir"}, {"--path-format=absolute", "--git-common-dir"},
		{"--verify", "-q", "HEAD"}} {
		line, err := g.Line(ctx, append([]string{"rev-parse"}, what...)...)
		if err != nil {
			return false, err
		}
		lines = append(lines, line)
	}
	if lines[2] != staged.String() {
		return false, nil
	}
	g.GitDir = lines[0]
	e, err := New(Repo{Root: dir, GitDir: lines[0], CommonDir: lines[1], Git: &g, Store: object.Open(&g, lines[1], "")},
		Options{Workers: 1})
	if err != nil {
		return false, err
	}
	defer e.repo.Store.Close()
	defer e.Close()
	f, key, err := e.readIndex(ctx)
	if err != nil {
		return false, err
	}
	have, err := stateOf(f, e.repo.Store)
	if err != nil {
		return false, err
	}
	if tree, err := e.treeOf(staged); err != nil || tree != have.Tree {
		return false, err
	}
	base := e.nodesOf(f, key.mtime)
	s := &scan{e: e, ctx: ctx, purpose: forCompare, started: now()}
	root, err := s.run(base)
	if err != nil {
		return false, err
	}
	clean := true
	diffNodes(base, root, func(_ string, a, b *file, _, y *extra) {
		switch {
		case y != nil:
			clean = clean && y.what == extraIgnored
		case a == nil && b != nil:
			clean = clean && b.class == ignored
		case a != nil && (b == nil || !b.present()):
			clean = clean && a.has(bitSkip|bitAssume)
		case a != nil:
			clean = clean && (a.raw == b.raw || a.mode == object.ModeGitlink)
		}
	})
	return clean, nil
}

func (i *inspection) submodules(ctx context.Context, paths []string, staged map[string]object.ID) error {
	if len(paths) == 0 {
		return nil
	}
	var dirty []string
	for _, p := range paths {
		dir := filepath.Join(i.repo.Root, filepath.FromSlash(p))
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
			continue // not checked out
		}
		if clean, err := i.cleanSubmodule(ctx, p, staged[p]); err != nil || !clean {
			dirty = append(dirty, p)
		}
	}
	if len(dirty) > 0 {
		i.add("submodule-dirty", Refused, fmt.Sprintf("the submodule %q has changes of its own", dirty[0]),
			"commit them there, or `git submodule update`", dirty...)
	}
	i.add("submodules", LeftAlone, "the contents of submodules are left alone", "", paths...)
	return nil
}

// tree looks at the worktree itself, by a scan that stores nothing.
func (i *inspection) tree(ctx context.Context, opts Options) error {
	e, err := New(i.repo, opts)
	if err != nil {
		return err
	}
	defer e.Close()
	f, key, err := e.readIndex(ctx)
	if err != nil {
		return nil // said already
	}
	base := e.nodesOf(f, key.mtime)
	s := &scan{e: e, ctx: ctx, purpose: forLook, started: now()}
	root, err := s.run(base)
	if err != nil {
		i.add("unreadable", Refused, err.Error(), "give yourself the right to read it")
		return nil
	}
	c := &Checkpoint{e: e, root: root}
	c.lists()
	for _, x := range []struct {
		name, what string
		paths      []string
	}{
		{"nested", "other repositories in the worktree are left alone", c.Nested},
		{"oversized", fmt.Sprintf("untracked files above %d bytes are left alone and cannot be restored", opts.MaxFile),
			c.Oversized},
		{"special", "sockets, FIFOs, devices and names that git refuses are left alone", c.Special},
		{"unreadable", "untracked files that may not be read are left alone", c.Unreadable},
	} {
		if len(x.paths) > 0 {
			i.add(x.name, LeftAlone, x.what, "", x.paths...)
		}
	}
	return e.conv.inspect(ctx, i, root)
}

// now is the time in the form that stats use.
func now() int64 { return time.Now().UnixNano() }
