package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/config"
	"git-ralph/internal/text/diff"
	"git-ralph/internal/view"
)

// doubt is what would run here without anybody's consent.
type doubt struct {
	file     *config.File    // the ralph.toml; nil = trusted, or none
	commands []state.Command // of the journal
}

func (d doubt) none() bool { return d.file == nil && len(d.commands) == 0 }

// what names it in an error.
func (d doubt) what() string {
	var parts []string
	if d.file != nil {
		parts = append(parts, "the "+config.FileName+" of this repository is not trusted")
	}
	if n := len(d.commands); n > 0 {
		parts = append(parts, fmt.Sprintf("%s of the journal came from elsewhere and %s not trusted",
			view.Plural(n, "command"), isOrAre(n)))
	}
	return strings.Join(parts, "; ")
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// trusted says whether the worktree's ralph.toml counts: there is none, or init
// or a person trusted it.
func (a *App) trusted(r *config.Resolved) bool { return a.doubtedFile(r) == nil }

// doubtedFile is the ralph.toml that nobody here has trusted, nil when there is
// none.
func (a *App) doubtedFile(r *config.Resolved) *config.File {
	if a.getenv("RALPH_TRUST") == "1" {
		return nil
	}
	var values []string
	if git, err := a.gitConfig(); err == nil {
		values = config.TrustValues(git)
	}
	for i, f := range r.Files {
		if f.Name == config.FileName && !config.IsTrusted(f.Hash(), values) {
			return &r.Files[i]
		}
	}
	return nil
}

// doubts is what a run with these settings would execute or obey, besides the
// given commands, and nobody here has trusted.
func (a *App) doubts(r *config.Resolved, commands []state.Command) (doubt, error) {
	if a.getenv("RALPH_TRUST") == "1" {
		return doubt{}, nil
	}
	d := doubt{file: a.doubtedFile(r)}
	j, err := a.Journal()
	if err != nil {
		return d, err
	}
	snap, err := j.Load(a.Ctx)
	switch {
	case errors.Is(err, journal.ErrNone):
		return d, nil
	case err != nil:
		return d, err
	}
	d.commands, err = journal.Untrusted(j.Repo, append(snap.State.Commands(), commands...))
	for _, c := range r.Checks { // those stand in the settings, which have a question of their own
		d.commands = slices.DeleteFunc(d.commands, func(one state.Command) bool { return one.Text == c.Run })
	}
	return d, err
}

// askTrust shows what nobody here has trusted and asks once on a terminal;
// elsewhere it refuses. What was shown and what this run uses is trusted,
// even if the file has changed meanwhile.
func (a *App) askTrust(ctx context.Context, set *config.Resolved, yes bool, commands ...state.Command) error {
	d, err := a.doubts(set, commands)
	if err != nil || d.none() {
		return err
	}
	if terminal(a.In) && terminal(a.Err) && !yes {
		if !terminal(a.Out) {
			out := a.Out // programs read it: what a person has to see goes beside the question
			a.Out = a.Err
			defer func() { a.Out = out }()
		}
		a.showDoubt(d)
		ok, err := a.askWithin(ctx, "trust it? [y/N] ")
		if err != nil {
			return err
		}
		if ok {
			return a.trust(d)
		}
	}
	return gitstate.Hint(8, "git ralph trust shows what would run and trusts it; --trust does so for one call", "%s",
		d.what())
}

// trust remembers what was in doubt as trusted.
func (a *App) trust(d doubt) error {
	repo, err := a.Repo()
	if err != nil {
		return err
	}
	if err := journal.Trust(repo, d.commands); err != nil || d.file == nil {
		return err
	}
	if err := repo.EnsureDir(); err != nil {
		return err
	}
	// A later change is compared with this copy.
	copied := a.trustedCopy(repo, d.file.Hash())
	if err := os.MkdirAll(filepath.Dir(copied), 0o700); err != nil {
		return fmt.Errorf("keep a copy of the trusted settings: %w", err)
	}
	if err := gitstate.WriteFile(copied, d.file.Data, 0o600); err != nil {
		return err
	}
	if _, err := repo.Git.Run(a.Ctx, "config", "--local", "--add", config.TrustKey, d.file.Hash()); err != nil {
		return err
	}
	a.git = nil
	return nil
}

func (a *App) trustedCopy(repo *gitstate.Repo, hash string) string {
	return filepath.Join(repo.Dir(), "trusted", filepath.Base(hash)+".toml")
}

// lastTrusted is the ralph.toml that was trusted last, nil when no copy of it is
// left.
func (a *App) lastTrusted() []byte {
	repo, err := a.Repo()
	if err != nil {
		return nil
	}
	git, err := a.gitConfig()
	if err != nil {
		return nil
	}
	for _, hash := range slices.Backward(config.TrustValues(git)) {
		data, err := os.ReadFile(a.trustedCopy(repo, strings.ToLower(strings.TrimSpace(hash))))
		if err == nil && config.IsTrusted(hash, []string{config.TrustHash(data)}) {
			return data
		}
	}
	return nil
}

// showDoubt prints what is in doubt: only what runs something or opens the
// sandbox, and after a change only the difference. What would scroll away before
// the question goes through the pager.
func (a *App) showDoubt(d doubt) {
	var text string
	if d.file != nil {
		text = settingsDoubt(d.file.Data, a.lastTrusted())
	}
	if len(d.commands) > 0 {
		text += a.commandsDoubt(d.commands)
	}
	const screen = 20 // lines that surely fit
	if strings.Count(text, "\n") > screen {
		defer a.page()()
	}
	fmt.Fprint(a.Out, text)
}

// settingsDoubt is the question about a ralph.toml; before is the one that was
// trusted last, nil = none.
func settingsDoubt(data, before []byte) string {
	now, err := config.Powerful(data)
	if err != nil {
		return fmt.Sprintf("nobody here has trusted this %s, which cannot be read as settings:\n%s", config.FileName,
			shown(data))
	}
	if before == nil {
		if len(now) == 0 {
			return fmt.Sprintf(
				"nobody here has trusted this %s; it names nothing that runs or that opens the sandbox\n", config.FileName)
		}
		return fmt.Sprintf("nobody here has trusted this %s; it says what runs on this machine:\n%s", config.FileName,
			shown([]byte(strings.Join(now, "\n")+"\n")))
	}
	was, _ := config.Powerful(before)
	changed := diff.Lines(strings.Join(was, "\n"), strings.Join(now, "\n"), 0)
	if len(changed) == 0 {
		return fmt.Sprintf(
			"%s has changed since you trusted it; what it runs and how the sandbox is set are the same\n", config.FileName)
	}
	var b strings.Builder
	for _, l := range changed {
		if l.Mark != '@' {
			fmt.Fprintf(&b, "%c %s\n", l.Mark, l.Text)
		}
	}
	return fmt.Sprintf("%s has changed since you trusted it:\n%s", config.FileName,
		shown([]byte(b.String())))
}

// commandsDoubt is the question about commands of the journal.
func (a *App) commandsDoubt(commands []state.Command) string {
	const most = 200
	authors := map[string]bool{}
	told := map[string]bool{} // a command of the plan is recorded with its iteration too
	ctx, cancel := context.WithTimeout(a.Ctx, 2*time.Second)
	defer cancel()
	var b strings.Builder
	for i, c := range commands {
		if i == most {
			fmt.Fprintf(&b, "and %d more\n", len(commands)-most)
			break
		}
		where := string(c.Task)
		if where == "" {
			where = "the run"
		} else if j, err := a.Journal(); err == nil && i < 5 {
			if who := j.AuthorOf(ctx, c.Task); who != "" {
				authors[who] = true
			}
		}
		if line := fmt.Sprintf("%s: %s\n", where, strings.ReplaceAll(c.Text, "\n", "\n    ")); !told[line] {
			told[line] = true
			b.WriteString(line)
		}
	}
	by := ""
	if len(authors) > 0 {
		var names []string
		for name := range authors {
			names = append(names, name)
		}
		by = ", written by " + strings.Join(sortedStrings(names), ", ")
	}
	return fmt.Sprintf("these commands came with the journal from elsewhere%s:\n%s", by, shown([]byte(b.String())))
}

// TrustCmd is `git ralph trust`.
type TrustCmd struct {
	Yes bool `short:"y" help:"Do not ask on a terminal."`
}

// Help says more.
func (TrustCmd) Help() string {
	return "Shows what the ralph.toml and the journal would run on this machine and remembers them as trusted. " +
		"After a change of ralph.toml it shows the difference. On a terminal it asks first."
}

// Run shows the doubts and trusts them.
func (c TrustCmd) Run(a *App) error {
	src, err := a.sources(nil, nil)
	if err != nil {
		return err
	}
	set, err := config.Load(src)
	if err != nil { // a value that cannot be used yet, such as a variable that is not set
		set = &config.Resolved{Files: src.Files}
	}
	var recorded []state.Command
	if j, err := a.Journal(); err == nil {
		if recorded, err = j.RecordedCommands(a.Ctx); err != nil && !errors.Is(err, journal.ErrNone) {
			return err
		}
	}
	d, err := a.doubts(set, recorded)
	if err != nil {
		return err
	}
	if d.none() {
		if len(set.Files) == 0 && len(recorded) == 0 {
			return gitstate.Hint(1, "git ralph init writes one", "there is no %s here", config.FileName)
		}
		a.printf("the present %s was trusted already\n", config.FileName)
		return nil
	}
	a.showDoubt(d)
	if terminal(a.In) && terminal(a.Err) && !c.Yes {
		ok, err := a.askWithin(a.Ctx, "trust it? [y/N] ")
		if err != nil {
			return err
		}
		if !ok {
			return gitstate.Hint(8, "change it, or ask whoever wrote it", "nothing was trusted")
		}
	}
	if err := a.trust(d); err != nil {
		return err
	}
	if j, err := a.Journal(); err == nil {
		if err := j.Looked(a.Ctx); err != nil {
			return err
		}
	}
	if d.file != nil {
		a.printf("the present %s is trusted; a change of it has to be trusted again\n", config.FileName)
	}
	if n := len(d.commands); n > 0 {
		a.printf("%s of the journal %s trusted\n", view.Plural(n, "command"), isOrAre(n))
	}
	return nil
}
