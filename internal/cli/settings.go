package cli

import (
	"errors"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/internal/config"
	"git-ralph/internal/proc"
)

// gitConfig is the user's git configuration as the command met it.
func (a *App) gitConfig() (proc.Config, error) {
	if a.git != nil {
		return a.git, nil
	}
	repo, err := a.Repo()
	if err != nil {
		return nil, err
	}
	a.git, err = repo.Git.Config(a.Ctx)
	return a.git, err
}

// sources gathers every layer but the flags.
func (a *App) sources(extra []string, run map[string]string) (config.Sources, error) {
	var src config.Sources
	repo, err := a.Repo()
	if err != nil {
		return src, err
	}
	root := repo.Root
	if a.typed != "" {
		root = a.typed // the settings are those of the place where the command was typed
	}
	project, err := config.ReadProject(root)
	if err != nil {
		return src, err
	}
	if project != nil {
		src.Files = append(src.Files, *project)
	}
	for _, path := range extra {
		f, err := config.ReadFile(path)
		if err != nil {
			return src, err
		}
		src.Files = append(src.Files, *f)
	}
	if src.Git, err = a.gitConfig(); err != nil {
		return src, err
	}
	src.Run = run
	src.Env = map[string]string{}
	for _, kv := range a.Env {
		if name, val, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(name, "RALPH_") {
			src.Env[name] = val
		} else if ok {
			src.Env[name] = val
		}
	}
	return src, nil
}

// Settings loads the configuration. Run overrides come from the journal when
// there is one. Warnings are shown.
func (a *App) Settings(flags map[string]string, extra []string) (*config.Resolved, error) {
	var run map[string]string
	if j, err := a.Journal(); err == nil {
		if snap, err := j.Load(a.Ctx); err == nil {
			run = snap.State.Run.Overrides
		} else if !errors.Is(err, journal.ErrNone) {
			return nil, err
		}
	}
	src, err := a.sources(extra, run)
	if err != nil {
		return nil, err
	}
	src.Flags = flags
	res, err := config.Load(src)
	if err != nil {
		return nil, &gitstate.HintError{Err: err, Hint: hintOf(err), Code: 8}
	}
	for _, w := range res.Warnings {
		a.warn("%s", w)
	}
	return res, nil
}

func hintOf(err error) string {
	var ce *config.Error
	if errors.As(err, &ce) {
		return ce.Hint()
	}
	return ""
}
