package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/internal/view"
	"git-ralph/plan"
)

// logFilter is what git ralph log was asked for.
type logFilter struct {
	events    map[state.EventType]bool
	task      plan.TaskID
	iteration int
	verdict   state.Verdict
	since     time.Time
}

func (f logFilter) takes(e state.Event) bool {
	switch {
	case len(f.events) > 0 && !f.events[e.Type],
		f.iteration > 0 && e.Iteration != f.iteration,
		f.task != "" && !concerns(e, f.task),
		f.verdict != "" && (e.Result == nil || e.Result.Verdict != f.verdict),
		e.Time.Before(f.since):
		return false
	}
	return true
}

// concerns says whether an event has to do with a task.
func concerns(e state.Event, id plan.TaskID) bool {
	if strings.EqualFold(string(e.Task), string(id)) {
		return true
	}
	var ids []plan.TaskID
	switch {
	case e.TaskSet != nil:
		ids = e.TaskSet.IDs
	case e.Plan != nil:
		ids = append(append(ids, e.Plan.IDs...), e.Plan.Remove...)
	case e.Amend != nil:
		ids = []plan.TaskID{e.Amend.TaskID}
	}
	for _, x := range ids {
		if strings.EqualFold(string(x), string(id)) {
			return true
		}
	}
	return false
}

// parseSince reads a moment as people say it: 90m, 2h, 3d, 1w, yesterday, a
// date, or a date and a time, in the zone of now.
func parseSince(text string, now time.Time) (time.Time, error) {
	word := strings.ToLower(strings.TrimSuffix(strings.TrimSpace(text), " ago"))
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch word {
	case "today":
		return midnight, nil
	case "yesterday":
		return midnight.AddDate(0, 0, -1), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if at, err := time.ParseInLocation(layout, strings.TrimSpace(text), now.Location()); err == nil {
			return at, nil
		}
	}
	digits := strings.TrimRight(word, "abcdefghijklmnopqrstuvwxyz ")
	n, err := strconv.Atoi(digits)
	if err == nil && n >= 0 && n < 100_000 {
		switch strings.TrimSuffix(strings.TrimSpace(word[len(digits):]), "s") {
		case "m", "min", "minute":
			return now.Add(-time.Duration(n) * time.Minute), nil
		case "h", "hour":
			return now.Add(-time.Duration(n) * time.Hour), nil
		case "d", "day":
			return now.AddDate(0, 0, -n), nil
		case "w", "week":
			return now.AddDate(0, 0, -7*n), nil
		}
	}
	return time.Time{}, usage("--since 2h, 3d, 1w, yesterday, 2026-11-22 or \"2026-11-22 18:00\"",
		"%q is no time that --since knows", text)
}

// workDifference prints what an attempt did to the worktree, as git shows it.
func (a *App) workDifference(s state.State, e journal.Entry, flags ...string) error {
	r := e.Event.Result
	if r == nil || len(r.Files) == 0 {
		return nil
	}
	before, after, err := a.reader().Attempt(a.Ctx, s, e)
	if errors.Is(err, view.ErrPruned) {
		a.printf("    the files of this attempt were removed with old evidence\n")
		return nil
	}
	if err != nil {
		return err
	}
	args := append([]string{"--no-pager", "diff", "--no-color", "--no-ext-diff", "--no-textconv"}, flags...)
	out, err := a.repo.Git.Run(a.Ctx, append(args, before.String(), after.String(), "--")...)
	if err != nil {
		return fmt.Errorf("show what iteration %d changed: %w", e.Event.Iteration, err)
	}
	// We add the colours. Any other that appears came from an agent and is escaped.
	inHunk := false
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\r\n")
		code := "0"
		switch {
		case strings.HasPrefix(line, "diff --git "):
			inHunk, code = false, "1"
		case strings.HasPrefix(line, "@@ "):
			inHunk, code = true, "36"
		case inHunk && strings.HasPrefix(line, "+"):
			code = "32"
		case inHunk && strings.HasPrefix(line, "-"):
			code = "31"
		}
		a.printf("    %s\n", a.colour(a.Out, code, line))
	}
	return nil
}
