package cli

import (
	"cmp"
	"encoding/json"
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
	"git-ralph/internal/proc"
	"git-ralph/internal/text"
	"git-ralph/loop"
	"git-ralph/plan"
)

// StatusCmd is `git ralph status`.
type StatusCmd struct {
	JSON bool `name:"json" help:"Print one object; its keys are documented."`
}

// Help says more.
func (StatusCmd) Help() string {
	return "With -v the last ten iterations, too. It takes no lock and changes nothing, also while a loop is running."
}

// statusDoc is `status --json`.
type statusDoc struct {
	Branch         string           `json:"branch"`
	Phase          state.Phase      `json:"phase"`
	Status         state.Status     `json:"status"`
	Iteration      int              `json:"iteration"`
	Session        int              `json:"session"`
	Task           plan.TaskID      `json:"task"`
	Attempt        int              `json:"attempt"`
	Tasks          plan.Counts      `json:"tasks"`
	Cost           costDoc          `json:"cost_usd"`
	Tokens         tokensDoc        `json:"tokens"`
	ContextPercent int              `json:"context_percent"`
	Breaker        breakerDoc       `json:"breaker"`
	Paused         bool             `json:"paused"`
	Running        *runningDoc      `json:"running"`
	Workers        []workerDoc      `json:"workers"`
	Sandbox        string           `json:"sandbox"`
	Journal        string           `json:"journal"`
	Head           string           `json:"head"`
	StartedAt      *time.Time       `json:"started_at"`
	LastActivity   *time.Time       `json:"last_activity_at"`
	Mode           string           `json:"mode"`
	Driver         string           `json:"driver"`
	Model          string           `json:"model"`
	LastTask       string           `json:"last_task"`
	WaitingUntil   *time.Time       `json:"waiting_until"`
	Questions      []state.Question `json:"questions"`
	Percent        int              `json:"percent_complete"`
	SessionDone    int              `json:"tasks_completed_this_session"`
	HaltReason     string           `json:"halt_reason"`
	Linked         *linkedDoc       `json:"linked,omitempty"`
	Activity       *loop.Doing      `json:"activity,omitempty"` // of the agent at work, when something is known
	// Asked is what a person asked the running loop for and what is still to come.
	Asked string `json:"asked,omitempty"`
}

type costDoc struct {
	Iteration json.Number `json:"iteration"`
	Session   json.Number `json:"session"`
	Total     json.Number `json:"total"`
}

type tokensDoc struct {
	state.Tokens
	Total int64 `json:"total"`
}

type breakerDoc struct {
	State      string `json:"state"`
	Failures   int    `json:"failures"`
	Stagnation int    `json:"stagnation"`
	Reason     string `json:"reason"`
}

type runningDoc struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
	// Log has the output of a loop that works without a terminal.
	Log string `json:"log,omitempty"`
}

type workerDoc struct {
	Actor     string      `json:"actor"`
	Host      string      `json:"host"`
	PID       int         `json:"pid"`
	Task      plan.TaskID `json:"task"`
	Iteration int         `json:"iteration"`
	Attempt   int         `json:"attempt"`
	Since     time.Time   `json:"since"`
	// Worker is its number, of several of one run; Activity is what its agent does.
	Worker   int         `json:"worker,omitempty"`
	Activity *loop.Doing `json:"activity,omitempty"`
}

func dollars(micro int64) json.Number { return json.Number(plan.Dollars(micro)) }

func countTokens(t state.Tokens) tokensDoc { return tokensDoc{t, t.Total()} }

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// status puts together what is known, from the journal and from the lock of
// the process that holds the branch.
func (a *App) status() (statusDoc, state.State, error) {
	j, err := a.Journal()
	if err != nil {
		return statusDoc{}, state.State{}, err
	}
	// The lock is read first: a loop that ends between the two reads is then
	// shown as running once more, never as interrupted.
	holder, alive := a.holder(j, j.Branch)
	snap, err := j.Load(a.Ctx)
	if errors.Is(err, journal.ErrNone) {
		return statusDoc{}, state.State{}, a.noJournalHere(j)
	}
	if err != nil {
		return statusDoc{}, state.State{}, err
	}
	s := snap.State
	s = s.For(j.Actor, j.Repo.WorktreeName())
	s.Run = withSpend(s.Run, j.Repo)
	r := s.Run
	head, err := j.Repo.ReadRef(a.Ctx, gitstate.BranchRef(j.Branch))
	if err != nil {
		return statusDoc{}, s, err
	}
	d := statusDoc{Branch: j.Branch, Phase: r.Phase, Status: r.Status, Iteration: r.Iteration, Session: r.Session,
		Tasks: s.Plan.Counts(), Cost: costDoc{dollars(r.Cost.Iteration), dollars(r.Cost.Session), dollars(r.Cost.Total)},
		Tokens: countTokens(r.Tokens), ContextPercent: r.ContextPct,
		Breaker: breakerDoc{r.Breaker.State, r.Breaker.Failures, r.Breaker.Stagnation, r.Breaker.Reason},
		Paused:  r.PauseAsked, Workers: []workerDoc{}, Sandbox: r.Sandbox, Journal: s.Journal.ID,
		StartedAt: timeOrNil(r.StartedAt), LastActivity: timeOrNil(r.LastAt), Mode: r.Mode, Driver: r.Driver, Model: r.Model,
		LastTask: r.LastTask, WaitingUntil: r.WaitUntil, Questions: []state.Question{}, Percent: s.Plan.PercentComplete(),
		SessionDone: r.SessionDone}
	if !head.IsZero() {
		d.Head = head.String()
	}
	for _, q := range s.Questions {
		if !q.Answered {
			q.Options = list(q.Options)
			d.Questions = append(d.Questions, q)
		}
	}
	switch r.Status {
	case state.HaltedStatus, state.NeedsReview, state.BlockedStatus, state.Interrupted:
		d.HaltReason = r.Reason
	case state.Complete:
		d.HaltReason = s.Report.Unmet()
	}
	if alive {
		d.Running, d.Asked = &runningDoc{PID: holder.Pid, Host: holder.Host, Since: holder.Since}, asked(s)
		if x, ok := readDetached(j.Repo, j.Branch); ok && x.PID == holder.Pid {
			d.Running.Log = x.Log
		}
		w := workerDoc{Actor: j.Actor, Host: holder.Host, PID: holder.Pid, Since: holder.Since}
		if c := r.Current; c != nil {
			if now, ok := loop.ReadSpend(j.Repo, c.EventID); ok {
				d.Activity = now.Doing
			}
			d.Task, d.Attempt = c.Task, c.Attempt
			w.Task, w.Iteration, w.Attempt, w.Since = c.Task, c.Iteration, c.Attempt, c.Since
		}
		d.Workers = append(a.workers(s, j), w)
		if n := len(d.Workers) - 1; n > 0 { // the run itself works on nothing
			d.Workers = d.Workers[:n]
			d.Task, d.Attempt = d.Workers[0].Task, d.Workers[0].Attempt
		}
	} else if r.Status == state.Running || r.Status == state.Waiting {
		d.Status, d.HaltReason = state.Interrupted, "the process that ran the loop is gone"
	}
	for _, c := range s.Claims {
		if c.Actor == j.Actor {
			continue // named above
		}
		d.Workers = append(d.Workers, workerDoc{Actor: c.Actor, Host: c.Host, PID: c.PID, Task: c.Task,
			Iteration: c.Iteration, Attempt: c.Attempt, Since: c.Since})
		if alive && r.Current == nil && d.Status == state.Running && len(s.Plan.Runnable()) == 0 {
			d.Status = state.Waiting // for what others have claimed
		}
	}
	d.Linked, err = a.linkedStatus(j)
	return d, s, err
}

// workers are those of a run that are at work now.
func (a *App) workers(s state.State, j *journal.Journal) []workerDoc {
	out := []workerDoc{}
	host, _ := os.Hostname()
	numbers := map[string]int{}
	if len(s.Claims) > 0 {
		all, err := j.Repo.Workers(j.Branch)
		if err != nil {
			a.logLine("debug", "the workers have no numbers: %v", err)
		}
		for _, l := range all {
			numbers[filepath.Base(l.GitDir)] = l.Worker
		}
	}
	for _, c := range s.Claims {
		by := proc.Identity{Pid: c.PID, BootID: c.BootID, StartTime: c.StartTime}
		if c.Actor != j.Actor || c.Worker == j.Repo.WorktreeName() || c.Host == host && !by.Alive() {
			continue
		}
		w := workerDoc{Actor: c.Actor, Host: c.Host, PID: c.PID, Task: c.Task, Iteration: c.Iteration, Attempt: c.Attempt,
			Since: c.Since, Worker: numbers[c.Worker]}
		if c.Current != nil {
			w.Iteration, w.Since = c.Current.Iteration, c.Current.Since
			if now, ok := loop.ReadSpend(j.Repo, c.Current.EventID); ok {
				w.Activity = now.Doing
			}
		}
		out = append(out, w)
	}
	slices.SortStableFunc(out, func(x, y workerDoc) int { return cmp.Compare(x.Worker, y.Worker) })
	return out
}

// workerLine says what a worker is at.
func workerLine(w workerDoc, p plan.Plan, now time.Time) string {
	line := string(w.Task)
	if i := p.Find(w.Task); i >= 0 {
		line += " " + text.Clip(p.Tasks[i].Title, 60)
	}
	line += fmt.Sprintf(", attempt %d, begun %s, process %d", w.Attempt, ago(w.Since, now), w.PID)
	if w.Activity != nil {
		line += ": " + text.Clip(w.Activity.Text, 60)
	}
	return line
}

// withSpend adds what the iteration at work has used so far, which the journal
// gets at its end.
func withSpend(r state.Run, repo *gitstate.Repo) state.Run {
	if r.Current == nil {
		return r
	}
	now, ok := loop.ReadSpend(repo, r.Current.EventID)
	if !ok {
		return r
	}
	r.Tokens = r.Tokens.Plus(now.Tokens)
	r.Cost.Iteration = 0
	if now.CostMicro != nil {
		r.Cost.Iteration = *now.CostMicro
		r.Cost.Session += *now.CostMicro
		r.Cost.Total += *now.CostMicro
	}
	if now.ContextWindow > 0 {
		r.ContextPct = int(100 * now.ContextTokens / now.ContextWindow)
	}
	return r
}

// noJournalHere is noJournal, and asks the remotes whether one of them has a
// journal of this branch: a fresh clone does not bring it.
func (a *App) noJournalHere(j *journal.Journal) error {
	if err := a.lostJournal(j, 1); err != nil {
		return err
	}
	err := a.noJournal(j)
	if _, ok := adviceOf(err); !ok {
		return err
	}
	if remote, _ := a.remoteJournal(j); remote != "" {
		return gitstate.Hint(1, fetchJournal(remote), "the branch %s has no journal here; %s has one", j.Branch, remote)
	}
	return err
}

// Run prints the status.
func (c *StatusCmd) Run(a *App) error {
	brief()
	d, s, err := a.status()
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(d)
	}
	now := a.journal.Now()
	word, code := string(d.Status), statusColour(d.Status)
	a.printf("%s: %s, %s", a.colour(a.Out, "1", d.Branch), a.colour(a.Out, code, strings.ReplaceAll(word, "_", " ")),
		d.Phase)
	if d.Iteration > 0 {
		a.printf(", iteration %d, session %d", d.Iteration, d.Session)
	}
	a.printf("\n")
	if d.HaltReason != "" {
		a.printf("%s\n", a.colour(a.Out, code, d.HaltReason))
	}
	var rows [][]string
	row := func(name, format string, args ...any) {
		rows = append(rows, []string{"  " + name, fmt.Sprintf(format, args...)})
	}
	if s.Plan.Goal != "" {
		row("goal", "%s", text.Clip(s.Plan.Goal, 100))
	}
	if d.Running != nil {
		row("process", "%d on %s, since %s", d.Running.PID, d.Running.Host, ago(d.Running.Since, now))
		if d.Running.Log != "" {
			row("output", "%s; it has no terminal", d.Running.Log)
		}
		if d.Asked != "" {
			row("asked for", "%s", d.Asked)
		}
		if len(d.Workers) > 0 && d.Workers[0].Worker > 0 {
			for _, w := range d.Workers {
				row(fmt.Sprintf("worker %d", w.Worker), "%s", workerLine(w, s.Plan, now))
			}
		} else if d.Task != "" {
			title := ""
			if i := s.Plan.Find(d.Task); i >= 0 {
				title = s.Plan.Tasks[i].Title
			}
			row("working on", "%s %s, attempt %d, begun %s", d.Task, text.Clip(title, 60), d.Attempt,
				ago(d.Workers[0].Since, now))
		}
		if do := d.Activity; do != nil {
			row("the agent", "%s, %s", text.Clip(do.Text, 100), ago(do.Since, now))
		}
	} else if d.LastTask != "" {
		row("last task", "%s", d.LastTask)
	}
	if d.WaitingUntil != nil {
		row("waiting", "until %s: %s", d.WaitingUntil.Local().Format("15:04:05"), s.Run.Reason)
	}
	if d.Tasks.Total == 0 {
		row("plan", "empty")
	} else {
		row("plan", "%s", countLine(s.Plan))
		if pace := paceLine(s); pace != "" {
			row("pace", "%s", pace)
		}
	}
	if d.Driver != "" {
		row("agent", "%s, %s", strings.TrimSpace(d.Driver+" "+d.Model), d.Mode)
	}
	if d.Sandbox != "" {
		row("sandbox", "%s", sandboxLine(d.Sandbox, a.openSockets()))
	}
	if d.Tokens.Total > 0 || s.Run.Cost.Total > 0 {
		unknown := ""
		if s.Run.Cost.Unknown {
			unknown = " (some runs reported none)"
		}
		row("cost", "$%s this iteration, $%s this session, $%s in all%s", usd(s.Run.Cost.Iteration),
			usd(s.Run.Cost.Session), usd(s.Run.Cost.Total), unknown)
		row("tokens", "%s in all: %s in, %s out, %s from cache", thousands(d.Tokens.Total), thousands(d.Tokens.Input),
			thousands(d.Tokens.Output), thousands(d.Tokens.CacheRead))
	}
	if d.ContextPercent > 0 {
		row("context", "%d %% of the window in the last iteration", d.ContextPercent)
	}
	if b := d.Breaker; b.State != "closed" || b.Failures > 0 || b.Stagnation > 0 {
		line := fmt.Sprintf("%s; %s in a row, %s without a task done", b.State, plural(b.Failures, "failure"),
			plural(b.Stagnation, "iteration"))
		if b.Reason != "" {
			line += " (" + b.Reason + ")"
		}
		row("breaker", "%s", line)
	}
	if d.LastActivity != nil {
		row("last entry", "%s", ago(*d.LastActivity, now))
	}
	table(a.Out, append(rows, d.Linked.rows(d.Branch, now)...))
	for _, q := range d.Questions {
		a.printf("  %s %s\n", a.colour(a.Out, "33", "question "+q.ID+":"), q.Text)
	}
	a.asideLines(s.Plan)
	if d.Status == state.BlockedStatus {
		for _, b := range s.Plan.Blockers() {
			a.printf("  %s: %s\n", b.ID, b.Reason)
		}
	}
	if a.Verbose > 0 {
		if err := a.lastIterations(10); err != nil {
			return err
		}
	}
	a.printf("%s %s\n", a.colour(a.Out, "36", "next:"), a.nextCommand(d, s))
	return nil
}

// lastIterations prints the newest iterations, one line each.
func (a *App) lastIterations(n int) error {
	var rows [][]string
	err := a.journal.WalkBrief(a.Ctx, func(e journal.Entry) (bool, error) {
		if e.Event.Type == state.EvIteration {
			rows = append(rows, a.logRow(e))
		}
		return len(rows) < n, nil
	})
	if len(rows) > 0 {
		a.printf("\n")
		table(a.Out, rows)
		a.printf("\n")
	}
	return err
}

func statusColour(s state.Status) string {
	switch s {
	case state.Complete, state.Running:
		return "32"
	case state.HaltedStatus, state.BlockedStatus:
		return "31"
	case state.New, state.Ready:
		return "0"
	}
	return "33"
}

// sandboxLine says which mechanism was in force and what it leaves open.
func sandboxLine(mechanism string, sockets []string) string {
	line := mechanism
	switch mechanism {
	case "off", "none":
		return "off: only the command guard stands between the agent and git; what it does is noticed afterwards"
	case "landlock":
		line = "landlock: git is read-only for the agent; not covered: modes of files, the .git file of the worktree (it " +
			"is put back), processes (they are searched for), the network, unix sockets"
	case "namespaces":
		line = "namespaces: git is read-only for the agent; not covered: the network, unix sockets outside of /run and /tmp"
	}
	if len(sockets) > 0 {
		line += "; and through " + strings.Join(sockets, ", ") + " the boundary is gone"
	}
	return line
}

// boundTo says whether a mechanism keeps git read-only for the agent.
func boundTo(mechanism string) bool { return mechanism == "namespaces" || mechanism == "landlock" }

// openSockets are those that the settings leave within the agent's reach.
func (a *App) openSockets() []string {
	set, err := a.settingsQuietly(nil)
	if err != nil {
		return nil // another command says what is wrong with them
	}
	return set.Guard.Sockets
}

// settingsQuietly are the settings, under the overrides of a run, for commands
// that only tell.
func (a *App) settingsQuietly(overrides map[string]string) (*config.Resolved, error) {
	src, err := a.sources(nil, overrides)
	if err != nil {
		return nil, err
	}
	return config.Load(src)
}

// nextCommand is the one thing to do next.
func (a *App) nextCommand(d statusDoc, s state.State) string {
	switch {
	case len(d.Questions) > 0:
		return "git ralph answer " + d.Questions[0].ID + ` "…"`
	case d.Running != nil && d.Paused:
		return "git ralph resume"
	case d.Running != nil:
		return "git ralph log -n 5; git ralph stop ends it after this iteration"
	case d.Status == state.NeedsReview && strings.HasPrefix(d.HaltReason, state.SetAside):
		return asideHint
	case d.Status == state.NeedsReview:
		return "look at it, then git ralph approve or git ralph reject \"why\", and git ralph " + goesOn(d.Phase)
	case d.Tasks.Total == 0 && s.Run.Request != "":
		return "git ralph run goes on"
	case d.Tasks.Total == 0:
		return `git ralph import FILE, or git ralph add "a task"`
	case d.Paused:
		return "git ralph resume, then git ralph start"
	}
	switch d.Status {
	case state.Complete:
		return "git log --notes=ralph shows the work; git ralph log how it came about"
	case state.BlockedStatus:
		return "git ralph retry --failed, git ralph unblock ID, or git ralph edit"
	case state.HaltedStatus:
		return a.nextMove(loop.End{Status: d.Status, Reason: d.HaltReason, State: s})
	case state.Interrupted:
		return "git ralph " + goesOn(d.Phase) + " mends what was left and goes on"
	}
	if goesOn(d.Phase) == "run" && s.Run.Request != "" {
		return "git ralph run goes on"
	}
	if next, ok := plan.Next(s.Plan); ok {
		return "git ralph start begins with " + string(next)
	}
	if s.Plan.Complete() {
		return "everything is done"
	}
	return "git ralph tasks shows what waits on what"
}

// thousands is 12345 as 12k.
func thousands(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprint(n)
	case n < 10_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%dM", n/1_000_000)
}
