package gitstate

import (
	"context"
	"path/filepath"
	"strings"
)

// workPlaces are the folders in which a git of this repository can be at work: all its worktrees
// and the git directory. Any of those gits may hold a lock or remove objects, whichever worktree
// this is.
func (r *Repo) workPlaces() []string {
	out := []string{r.Root, r.CommonDir}
	if r.GitDir != r.CommonDir {
		out = append(out, r.mainWorktree()...)
	}
	linked, _ := linkedDirs(r.CommonDir)
	for _, dir := range linked {
		data, err := readPlain(filepath.Join(dir, "gitdir"), 1<<16)
		if err != nil {
			continue
		}
		place := strings.TrimSpace(string(data)) // ends with .git
		if !filepath.IsAbs(place) {
			place = filepath.Join(dir, place)
		}
		out = append(out, filepath.Dir(place))
	}
	return out
}

// mainWorktree is where the main worktree is, seen from a linked one; none for a bare repository,
// and everywhere where it cannot be told.
func (r *Repo) mainWorktree() []string {
	cfg, err := r.Git.Config(context.Background())
	if at, set := cfg.Get("core.worktree"); err == nil && set && at != "" {
		if !filepath.IsAbs(at) {
			at = filepath.Join(r.CommonDir, at)
		}
		return []string{at}
	}
	bare, _ := cfg.Get("core.bare")
	switch {
	case filepath.Base(r.CommonDir) == ".git":
		return []string{filepath.Dir(r.CommonDir)}
	case err == nil && strings.EqualFold(bare, "true"):
		return nil
	}
	return []string{string(filepath.Separator)}
}
