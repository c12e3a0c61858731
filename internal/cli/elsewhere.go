package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/internal/proc"
	"git-ralph/internal/stable"
)

// remoteJournal is the first remote with a journal of j's branch, "" when
// there is none. silent are the remotes without an answer in ten seconds.
func (a *App) remoteJournal(j *journal.Journal) (remote string, silent []string) {
	out, err := j.Repo.Git.Line(a.Ctx, "remote")
	if err != nil {
		return "", nil
	}
	remotes := strings.Fields(out)
	stable.Sort(remotes, func(x, y string) int { return rankRemote(x) - rankRemote(y) })
	ctx, cancel := context.WithTimeout(a.Ctx, 10*time.Second)
	defer cancel()
	// Perhaps nobody is there to type a password that git asks for.
	env := []string{"GIT_TERMINAL_PROMPT=0"}
	if proc.Getenv(a.Env, "GIT_SSH_COMMAND") == "" && proc.Getenv(a.Env, "GIT_SSH") == "" {
		git, err := a.gitConfig()
		if own, _ := git.Get("core.sshcommand"); err != nil || own == "" {
			env = append(env, "GIT_SSH_COMMAND=ssh -oBatchMode=yes")
		}
	}
	for _, name := range remotes {
		if strings.HasPrefix(name, "-") {
			continue
		}
		found, err := j.Repo.Git.RunWith(ctx, nil, env, "ls-remote", "--", name, gitstate.JournalRef(j.Branch))
		switch {
		case err != nil:
			silent = append(silent, name)
		case len(found) > 0:
			return name, silent
		}
	}
	return "", silent
}

// lostJournal says that the journal's ref is gone while entries of it are still
// there, and how they come back; nil when there are none.
func (a *App) lostJournal(j *journal.Journal, code int) error {
	id, from := j.Lost(a.Ctx)
	if id.IsZero() {
		return nil
	}
	at := ""
	if e, err := j.Read(id); err == nil {
		at = fmt.Sprintf(" of %s", e.Event.Time.Local().Format("2006-01-02 15:04:05"))
		if e.Event.Iteration > 0 {
			at += fmt.Sprintf(", iteration %d", e.Event.Iteration)
		}
	}
	return gitstate.Hint(code, fmt.Sprintf("git update-ref %s %s '' brings it back\ngit ralph init --new begins another "+
		"one", j.Ref(), id),
		"the branch %s has no journal any more: its ref is gone; the newest entry%s was found in %s", j.Branch, at, from)
}

// rankRemote sorts origin first.
func rankRemote(name string) int {
	if name == "origin" {
		return 0
	}
	return 1
}

// fetchJournal is the command that brings the journal of a remote here.
func fetchJournal(remote string) string {
	command := "git ralph pull"
	if remote != "origin" {
		command += " " + remote
	}
	return command + " brings it here, then git ralph start continues"
}

// journalThere says that a remote has the journal of the branch, and how to fetch it; nil
// when none has one.
func (a *App) journalThere(j *journal.Journal, code int) error {
	remote, _ := a.remoteJournal(j)
	if remote == "" {
		return nil
	}
	return gitstate.Hint(code, fetchJournal(remote), "the branch %s has no journal here; %s has one", j.Branch, remote)
}

// noneElsewhere refuses to begin a journal beside the one that a remote has of
// the same branch: two journals that were begun apart can never be joined. On a
// terminal it asks.
func (a *App) noneElsewhere(j *journal.Journal) error {
	if a.newJournal {
		return nil
	}
	if err := a.lostJournal(j, 8); err != nil {
		return err
	}
	remote, silent := a.remoteJournal(j)
	if remote == "" {
		for _, name := range silent {
			a.warn("%s did not answer, so it is not known whether it has a journal of %s", name, j.Branch)
		}
		return nil
	}
	if terminal(a.In) && terminal(a.Err) {
		fmt.Fprintf(a.Err, "%s has a journal of %s, and two with different origins cannot be merged\n%s\n", remote,
			j.Branch, fetchJournal(remote))
		ok, err := a.askWithin(a.Ctx, "start a second one here anyway? [y/N] ")
		if err != nil || ok {
			return err
		}
	}
	return gitstate.Hint(8, fetchJournal(remote)+
		"\ngit ralph init --new begins a second one, which can never be joined with it",
		"%s has a journal of %s, and there is none here", remote, j.Branch)
}
