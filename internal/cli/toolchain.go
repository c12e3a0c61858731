package cli

import (
	"fmt"
	"runtime"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/internal/config"
	"git-ralph/internal/proc"
	"git-ralph/internal/view"
)

// TestCmd is `git ralph test`.
type TestCmd struct {
	Args []string `arg:"" optional:"" passthrough:"" help:"Further words for the command."`
}

// LintCmd is `git ralph lint`.
type LintCmd struct {
	Args []string `arg:"" optional:"" passthrough:"" help:"Further words for the command."`
}

// TypecheckCmd is `git ralph typecheck`.
type TypecheckCmd struct {
	Args []string `arg:"" optional:"" passthrough:"" help:"Further words for the command."`
}

// DepsCmd is `git ralph deps`.
type DepsCmd struct {
	Add  DepsAddCmd  `cmd:"" help:"Add dependencies."`
	Sync DepsSyncCmd `cmd:"" help:"Install what the project names."`
}

// DepsAddCmd is `git ralph deps add`.
type DepsAddCmd struct {
	Names []string `arg:"" passthrough:"" help:"What to add, and options of the command."`
}

// DepsSyncCmd is `git ralph deps sync`.
type DepsSyncCmd struct {
	Args []string `arg:"" optional:"" passthrough:"" help:"Further words for the command."`
}

// Run runs the project's tests.
func (c *TestCmd) Run(a *App) error { return a.toolchain("test", c.Args) }

// Run runs the project's linter.
func (c *LintCmd) Run(a *App) error { return a.toolchain("lint", c.Args) }

// Run runs the project's type checker.
func (c *TypecheckCmd) Run(a *App) error { return a.toolchain("typecheck", c.Args) }

// Run adds dependencies.
func (c *DepsAddCmd) Run(a *App) error { return a.toolchain("add", c.Names) }

// Run installs dependencies.
func (c *DepsSyncCmd) Run(a *App) error { return a.toolchain("sync", c.Args) }

// toolchain runs a command of the settings in the root of the worktree, at the
// terminal of the person. Without one of [toolchain] the checks of that kind
// are run, in their order, until one fails.
func (a *App) toolchain(name string, words []string) error {
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	repo, err := a.Repo()
	if err != nil {
		return err
	}
	set, err := a.Settings(nil, nil)
	if err != nil {
		return err
	}
	if !a.trusted(set) {
		return gitstate.Hint(8, "git ralph trust shows what would run and trusts it",
			"the %s of this repository is not trusted", config.FileName)
	}
	t := set.Toolchain.Commands()
	line := map[string]string{"test": t.Test, "lint": t.Lint, "typecheck": t.Typecheck, "add": t.Add, "sync": t.Sync}[name]
	lines := []string{line}
	if line == "" {
		lines = nil
		for _, c := range set.Checks {
			if c.Kind == name && !c.Hidden {
				lines = append(lines, c.Run)
			}
		}
	}
	if len(lines) == 0 {
		return gitstate.Hint(1, "set toolchain."+name+
			" in ralph.toml, or toolchain.preset = \"go\", \"python-uv\", \"node-pnpm\" or \"rust\"",
			"no command is configured for %s", name)
	}
	for _, line := range lines {
		a.say("%s", strings.TrimSpace(line+" "+strings.Join(words, " ")))
		exit, err := proc.Attach(a.Ctx, proc.Command{Argv: shellArgv(line, words), Dir: repo.Root, Env: a.Env,
			Stdin: a.In, Stdout: view.Behind(a.Out), Stderr: view.Behind(a.Err)})
		if err != nil {
			return err
		}
		if !exit.Success() {
			return &ExitError{Code: exit.Code}
		}
	}
	return nil
}

// say tells a person at the terminal what is being done.
func (a *App) say(format string, args ...any) {
	if terminal(a.Err) {
		a.Err.Write([]byte(a.colour(a.Err, "2", "$ "+fmt.Sprintf(format, args...)) + "\n"))
	}
}

// shellArgv has the shell run a line with further words behind it. Without any the line
// stays as it is: no words behind the end of a line are a command that succeeds, and the
// end of a loop takes none.
func shellArgv(line string, words []string) []string {
	switch {
	case runtime.GOOS == "windows":
		return append([]string{"cmd", "/C", line}, words...)
	case len(words) == 0:
		return []string{"/bin/sh", "-c", line}
	}
	return append([]string{"/bin/sh", "-c", strings.TrimRight(line, "; \t\n") + ` "$@"`, "sh"}, words...)
}
