package cli

import (
	"os"
	"path/filepath"
	"strings"

	"git-ralph/guard/sandbox"
	"git-ralph/loop/session"
)

// mendGitSecrets is how they come out of git's configuration.
const mendGitSecrets = "git remote set-url NAME URL without the password, and git config credential.helper to keep " +
	"it; or use the sandbox"

// gitSecrets names the secrets in git's configuration, never their values:
// "remote.origin.url (.git/config)". "" = there are none. covered says whether
// the sandbox keeps them from its commands.
func (a *App) gitSecrets(box session.Sandbox) (names string, covered bool) {
	repo, err := a.Repo()
	if err != nil {
		return "", false
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	found := sandbox.GitSecrets(sandbox.Spec{Worktree: repo.Root, GitDirs: []string{repo.GitDir, repo.CommonDir},
		Home: home}, a.Env)
	var list []string
	for _, s := range found {
		file := s.File
		if rel, err := filepath.Rel(repo.Root, file); err == nil && filepath.IsLocal(rel) {
			file = rel
		} else if rel, err := filepath.Rel(home, file); err == nil && home != "" && filepath.IsLocal(rel) {
			file = filepath.Join("~", rel)
		}
		list = append(list, s.Key+" ("+file+")")
	}
	return strings.Join(list, ", "), box.Mechanism() == string(sandbox.Namespaces)
}

// warnGitSecrets says at a start what the agent will be able to read.
func (a *App) warnGitSecrets(box session.Sandbox) {
	if names, covered := a.gitSecrets(box); names != "" && !covered {
		a.warn("the agent can read secrets in git's configuration: %s; %s", names, mendGitSecrets)
	}
}
