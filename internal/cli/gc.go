package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/guard/sandbox"
	"git-ralph/internal/agent"
	"git-ralph/internal/view"
	"git-ralph/loop/recovery"
	"git-ralph/loop/session"
)

// GCCmd is `git ralph gc`.
type GCCmd struct {
	Keep   *int `placeholder:"N" help:"Keep the evidence of N iterations instead of evidence.keep."`
	Home   bool `default:"true" negatable:"" help:"Remove what agents and checks left in their home folder: build caches start cold."`
	Aside  bool `help:"Remove what was moved aside, too: repositories that agents made, and files that a restore could not store."`
	DryRun bool `help:"Count what would be removed; change nothing."`
	JSON   bool `name:"json" help:"Print what was removed as JSON."`
}

// Help says more.
func (GCCmd) Help() string {
	return "The journal stays whole. Evidence of rejected attempts of unfinished tasks stays, too. The refs of git " +
		"ralph are packed, unless gc.packRefs is false. Objects that nothing reaches any more are git's to collect: " +
		"git gc."
}

// gcDoc is `gc --json`.
type gcDoc struct {
	Evidence    int      `json:"evidence"`
	Checkpoints int      `json:"checkpoints"`
	Homes       int      `json:"homes"`
	Checkouts   int      `json:"checkouts"`
	Sessions    int      `json:"sessions"` // of clients, that no run goes on in any more
	Folders     []string `json:"folders"`  // temporary ones of processes that were killed
	Aside       []string `json:"aside"`
	Refs        int      `json:"refs"` // that were in files of their own and were packed
}

// Run removes what is not needed any more.
func (c *GCCmd) Run(a *App) error {
	if _, err := a.Load(); err != nil {
		return err
	}
	lock, err := a.journal.Repo.LockBranch(a.journal.Branch)
	if err != nil {
		return err
	}
	defer lock.Release()
	tree, err := a.journal.Repo.LockWorktree()
	if err != nil {
		return err
	}
	defer tree.Release()
	set, err := a.Settings(nil, nil)
	if err != nil {
		return err
	}
	engine, err := a.engine(set)
	if err != nil {
		return err
	}
	if !c.DryRun {
		if err := a.recoverRun(a.journal, engine, set); err != nil {
			return err
		}
	}
	keep := set.Evidence.Keep
	if c.Keep != nil {
		if keep = *c.Keep; keep < 1 {
			return usage("git ralph gc --keep 1", "--keep %d would keep nothing to look at", keep)
		}
	}
	snap, err := a.Load()
	if err != nil {
		return err
	}
	d, err := c.collect(a, snap.State, keep)
	if err != nil {
		return err
	}
	if c.JSON {
		d.Aside, d.Folders = view.List(d.Aside), view.List(d.Folders)
		return a.printJSON(d)
	}
	c.print(a, d)
	return nil
}

// collect removes, or counts, what is not needed.
func (c *GCCmd) collect(a *App, s state.State, keep int) (d gcDoc, err error) {
	if d.Evidence, err = c.evidence(a, s, keep); err != nil {
		return d, err
	}
	if d.Checkpoints, err = c.checkpoints(a, s); err != nil {
		return d, err
	}
	if c.Home {
		if d.Homes, err = c.homes(a); err != nil {
			return d, err
		}
	}
	if d.Checkouts, err = c.checkouts(a); err != nil {
		return d, err
	}
	if d.Sessions, err = c.sessions(time.Now()); err != nil {
		return d, err
	}
	cache, err := os.UserCacheDir()
	if err == nil {
		cache = filepath.Join(cache, "git-ralph", "runs")
	}
	if d.Folders = session.DeadFolders(cache); !c.DryRun {
		session.RemoveFolders(d.Folders)
	}
	if d.Aside, err = c.aside(a); err != nil {
		return d, err
	}
	if d.Refs, err = a.repo.PackRefs(a.Ctx, !c.DryRun); err != nil {
		return d, err
	}
	return d, nil
}

func (c *GCCmd) print(a *App, d gcDoc) {
	what, packed := "removed", "packed"
	if c.DryRun {
		what, packed = "this would remove", "this would pack"
	}
	a.printf("%s the evidence of %s, %s, %s, %s, %s, %s\n", what, view.Plural(d.Evidence, "iteration"),
		view.Plural(d.Checkpoints, "checkpoint"),
		view.Plural(d.Homes, "home folder"), view.Plural(d.Checkouts, "checkout"), view.Plural(d.Sessions, "old session"),
		view.Plural(len(d.Folders), "temporary folder"))
	for _, path := range d.Folders {
		if c.DryRun {
			a.printf("  %s\n", path)
		}
	}
	if d.Refs > 0 {
		a.printf("%s %s\n", packed, view.Plural(d.Refs, "ref"))
	}
	if len(d.Aside) > 0 && !c.Aside {
		a.printf("moved aside and kept, --aside removes them: %s\n", strings.Join(d.Aside, ", "))
	}
}

func (c *GCCmd) evidence(a *App, s state.State, keep int) (int, error) {
	prefix := gitstate.EvidencePrefix + s.Journal.ID + "/"
	if c.DryRun {
		drop, err := recovery.Prunable(a.repo, a.journal, keep)
		return len(drop), err
	}
	before, err := a.repo.ListRefs(a.Ctx, prefix)
	if err != nil {
		return 0, err
	}
	if err := recovery.Prune(a.repo, a.journal, keep); err != nil {
		return 0, fmt.Errorf("prune the evidence: %w", err)
	}
	after, err := a.repo.ListRefs(a.Ctx, prefix)
	return len(before) - len(after), err
}

// checkpoints drops the checkpoints of ended iterations. If a worktree was
// left alone after a crash, its checkpoint is the only way back: it stays
// while its iteration is the newest.
func (c *GCCmd) checkpoints(a *App, s state.State) (int, error) {
	prefix := gitstate.LocalPrefix + s.Journal.ID + "/"
	refs, err := a.repo.ListRefs(a.Ctx, prefix)
	if err != nil || len(refs) == 0 {
		return 0, err
	}
	newest := ""
	ended := map[string]bool{}
	if err := a.journal.WalkBrief(a.Ctx, func(e journal.Entry) (bool, error) {
		if e.Event.Result != nil {
			ended[e.Event.ID] = true
			if newest == "" {
				newest = e.Event.ID
			}
		}
		return true, nil
	}); err != nil {
		return 0, err
	}
	n := 0
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		id := strings.TrimPrefix(name, prefix)
		if id == newest || !ended[id] {
			continue
		}
		if !c.DryRun {
			if err := a.repo.UpdateRefs("", gitstate.RefUpdate{Name: name, Old: refs[name]}); err != nil {
				return n, fmt.Errorf("drop a checkpoint: %w", err)
			}
		}
		n++
	}
	return n, nil
}

func (c *GCCmd) homes(a *App) (int, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return 0, nil
	}
	n := 0
	var dirs []string
	for _, isAgent := range []bool{true, false} {
		what := purpose(homeOwner(isAgent), a.repo)
		// Without a place for one there is nothing in it.
		if dir, err := sandbox.HomeUpperDir(home, a.repo.CommonDir, what); err == nil {
			dirs = append(dirs, dir)
		}
		if dir, err := landlockHome(a.repo, what); err == nil {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		if _, err := os.Lstat(dir); err != nil {
			continue
		}
		if c.DryRun {
			n++
			continue
		}
		if err := sandbox.RemoveHomeUpper(dir); err != nil {
			return n, fmt.Errorf("remove the home folder of a run: %w", err)
		}
		n++
	}
	return n, nil
}

// checkouts removes fresh checkouts of this repository that a crash left.
func (c *GCCmd) checkouts(a *App) (int, error) {
	// A loop on another branch may be using one at this moment.
	others, err := journal.Others(a.Ctx, a.repo)
	if err != nil {
		return 0, err
	}
	for name := range others {
		if _, alive := a.repo.BranchHolder(name); alive && name != a.journal.Branch {
			return 0, nil
		}
	}
	out, err := a.repo.Git.Run(a.Ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return 0, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	base := filepath.Join(cache, "git-ralph", "checkouts")
	if real, err := filepath.EvalSymlinks(base); err == nil {
		base = real
	}
	n := 0
	for _, field := range strings.Split(string(out), "\x00") {
		path, ok := strings.CutPrefix(field, "worktree ")
		if !ok {
			continue
		}
		rel, err := filepath.Rel(base, filepath.FromSlash(path))
		if err != nil || strings.HasPrefix(rel, "..") || rel == "." {
			continue
		}
		if c.DryRun {
			n++
			continue
		}
		if _, err := a.repo.Git.Run(a.Ctx, "worktree", "remove", "--force", "--force", path); err != nil {
			return n, fmt.Errorf("remove a checkout: %w", err)
		}
		os.Remove(filepath.Dir(path)) // made for this checkout alone
		n++
	}
	return n, nil
}

// sessionAge is the age after which no run continues a client's session: only the
// loop that made it would, at the next attempt of the same task.
const sessionAge = 7 * 24 * time.Hour

// sessions removes what clients kept for a retry, of any repository of the user.
func (c *GCCmd) sessions(now time.Time) (int, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return 0, nil
	}
	n := 0
	for _, rel := range agent.SessionFolders() {
		root, err := os.OpenRoot(filepath.Join(home, rel))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return n, fmt.Errorf("look for old sessions: %w", err)
		}
		defer root.Close()
		err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			info, err := d.Info()
			if err != nil || now.Sub(info.ModTime()) < sessionAge {
				return err
			}
			if n++; c.DryRun {
				return nil
			}
			return root.Remove(path)
		})
		if err != nil {
			return n, fmt.Errorf("remove old sessions: %w", err)
		}
	}
	return n, nil
}

func (c *GCCmd) aside(a *App) ([]string, error) {
	dir := filepath.Join(a.repo.Dir(), "aside")
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		names = append(names, path)
		if c.Aside && !c.DryRun {
			if err := os.RemoveAll(path); err != nil {
				return names, err
			}
		}
	}
	return names, nil
}
