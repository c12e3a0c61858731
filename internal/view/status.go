package view

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/state"
	"git-ralph/internal/proc"
	"git-ralph/internal/stable"
	"git-ralph/internal/text"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// StatusDoc is `status --json`.
type StatusDoc struct {
	Branch         string           `json:"branch"`
	Phase          state.Phase      `json:"phase"`
	Status         state.Status     `json:"status"`
	Iteration      int              `json:"iteration"`
	Session        int              `json:"session"`
	Task           plan.TaskID      `json:"task"`
	Attempt        int              `json:"attempt"`
	Tasks          plan.Counts      `json:"tasks"`
	Cost           CostDoc          `json:"cost_usd"`
	Tokens         TokensDoc        `json:"tokens"`
	ContextPercent int              `json:"context_percent"`
	ContextAt      *time.Time       `json:"context_at,omitempty"` // when the agent at work told of it
	Breaker        breakerDoc       `json:"breaker"`
	Paused         bool             `json:"paused"`
	Running        *RunningDoc      `json:"running"`
	Workers        []WorkerDoc      `json:"workers"`
	Sandbox        string           `json:"sandbox"`
	Shared         []string         `json:"shared,omitempty"`     // folders that workers have without a setup of their own
	NotShared      string           `json:"not_shared,omitempty"` // why they have none although worktree.share asks for them
	Journal        string           `json:"journal"`
	Head           string           `json:"head"`
	StartedAt      *time.Time       `json:"started_at"`
	LastActivity   *time.Time       `json:"last_activity_at"`
	Mode           string           `json:"mode"`
	Driver         string           `json:"driver"`
	Model          string           `json:"model"`
	LastTask       string           `json:"last_task"`
	WaitingUntil   *time.Time       `json:"waiting_until"`
	WaitingFor     string           `json:"waiting_for,omitempty"`
	Questions      []state.Question `json:"questions"`
	Percent        int              `json:"percent_complete"`
	SessionDone    int              `json:"tasks_completed_this_session"`
	HaltReason     string           `json:"halt_reason"`
	Linked         *LinkedDoc       `json:"linked,omitempty"`
	Activity       *session.Doing   `json:"activity,omitempty"` // of the agent at work, when something is known
	// Asked is what a person asked the running loop for and what is still to come.
	Asked string `json:"asked,omitempty"`
}

type CostDoc struct {
	Iteration json.Number `json:"iteration"`
	Session   json.Number `json:"session"`
	Total     json.Number `json:"total"`
}

type TokensDoc struct {
	state.Tokens
	Total int64 `json:"total"`
}

type breakerDoc struct {
	State      string `json:"state"`
	Failures   int    `json:"failures"`
	Stagnation int    `json:"stagnation"`
	Reason     string `json:"reason"`
}

type RunningDoc struct {
	PID   int       `json:"pid"`
	Host  string    `json:"host"`
	Since time.Time `json:"since"`
	// Log has the output of a loop that works without a terminal.
	Log string `json:"log,omitempty"`
}

type WorkerDoc struct {
	Actor     string      `json:"actor"`
	Host      string      `json:"host"`
	PID       int         `json:"pid"`
	Task      plan.TaskID `json:"task"`
	Iteration int         `json:"iteration"`
	Attempt   int         `json:"attempt"`
	Since     time.Time   `json:"since"`
	// Worker is its number, of several of one run; Activity is what its agent does.
	Worker   int            `json:"worker,omitempty"`
	Activity *session.Doing `json:"activity,omitempty"`
}

// Cost is what a run has cost, for programs.
func Cost(c state.Costs) CostDoc {
	return CostDoc{Dollars(c.Iteration), Dollars(c.Session), Dollars(c.Total)}
}

func countTokens(t state.Tokens) TokensDoc { return TokensDoc{t, t.Total()} }

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// Status puts together what is known, from the journal and from the lock of
// the process that holds the branch. Without a journal it is journal.ErrNone.
func (r Reader) Status(ctx context.Context) (StatusDoc, state.State, error) {
	j := r.Journal
	// The lock is read first: a loop that ends between the two reads is then
	// shown as running once more, never as interrupted.
	holder, alive := r.Holder(ctx, j.Branch)
	snap, err := j.Load(ctx)
	if err != nil {
		return StatusDoc{}, state.State{}, err
	}
	s := snap.State
	s = s.For(j.Actor, j.Repo.WorktreeName())
	var contextAt time.Time
	s.Run, contextAt = WithSpend(s, j.Repo)
	run := s.Run
	head, err := j.Repo.ReadRef(ctx, gitstate.BranchRef(j.Branch))
	if err != nil {
		return StatusDoc{}, s, err
	}
	breaker := run.Breaker
	d := StatusDoc{Branch: j.Branch, Phase: run.Phase, Status: run.Status, Iteration: run.Iteration, Session: run.Session,
		Tasks: s.Plan.Counts(), Cost: Cost(run.Cost),
		Tokens: countTokens(run.Tokens), ContextPercent: run.ContextPct, ContextAt: timeOrNil(contextAt),
		Breaker: breakerDoc{breaker.State, breaker.Failures, breaker.Stagnation, breaker.Reason},
		Paused:  run.PauseAsked, Workers: []WorkerDoc{}, Sandbox: run.Sandbox, Shared: run.Shared,
		NotShared: run.NotShared, Journal: s.Journal.ID,
		StartedAt: timeOrNil(run.StartedAt), LastActivity: timeOrNil(run.LastAt), Mode: run.Mode, Driver: run.Driver,
		Model: run.Model, LastTask: run.LastTask, WaitingUntil: run.WaitUntil, Questions: []state.Question{},
		Percent: s.Plan.PercentComplete(), SessionDone: run.SessionDone}
	if d.WaitingUntil != nil {
		d.WaitingFor = WaitFor(run)
	}
	if !head.IsZero() {
		d.Head = head.String()
	}
	for _, q := range s.Questions {
		if !q.Answered {
			q.Options = List(q.Options)
			d.Questions = append(d.Questions, q)
		}
	}
	switch run.Status {
	case state.HaltedStatus, state.NeedsReview, state.BlockedStatus, state.Interrupted:
		d.HaltReason = run.Reason
	case state.Complete:
		d.HaltReason = s.Report.Unmet()
	}
	if alive {
		d.Running, d.Asked = &RunningDoc{PID: holder.Pid, Host: holder.Host, Since: holder.Since}, Asked(s)
		if x, ok := j.Repo.Detached(j.Branch); ok && x.PID == holder.Pid {
			d.Running.Log = x.Log
		}
		w := WorkerDoc{Actor: j.Actor, Host: holder.Host, PID: holder.Pid, Since: holder.Since}
		if c := run.Current; c != nil {
			if now, ok := session.ReadSpend(j.Repo, c.EventID); ok {
				d.Activity = now.Doing
			}
			d.Task, d.Attempt = c.Task, c.Attempt
			w.Task, w.Iteration, w.Attempt, w.Since = c.Task, c.Iteration, c.Attempt, c.Since
		}
		d.Workers = append(r.Workers(s), w)
		if n := len(d.Workers) - 1; n > 0 { // the run itself works on nothing
			d.Workers = d.Workers[:n]
			d.Task, d.Attempt = d.Workers[0].Task, d.Workers[0].Attempt
		}
	} else if run.Status == state.Running || run.Status == state.Waiting {
		d.Status, d.HaltReason = state.Interrupted, "the process that ran the loop is gone"
	}
	for _, c := range s.Claims {
		if c.Actor == j.Actor {
			continue // named above
		}
		d.Workers = append(d.Workers, WorkerDoc{Actor: c.Actor, Host: c.Host, PID: c.PID, Task: c.Task,
			Iteration: c.Iteration, Attempt: c.Attempt, Since: c.Since})
		if alive && run.Current == nil && d.Status == state.Running && len(s.Plan.Runnable()) == 0 {
			d.Status = state.Waiting // for what others have claimed
		}
	}
	d.Linked, err = r.linked(ctx)
	return d, s, err
}

// Workers are those of a run that are at work now.
func (r Reader) Workers(s state.State) []WorkerDoc {
	j := r.Journal
	out := []WorkerDoc{}
	host, _ := os.Hostname()
	numbers := map[string]int{}
	if len(s.Claims) > 0 {
		all, err := j.Repo.Workers(j.Branch)
		if err != nil {
			r.Log("debug", "the workers have no numbers: %v", err)
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
		w := WorkerDoc{Actor: c.Actor, Host: c.Host, PID: c.PID, Task: c.Task, Iteration: c.Iteration, Attempt: c.Attempt,
			Since: c.Since, Worker: numbers[c.Worker]}
		if c.Current != nil {
			w.Iteration, w.Since = c.Current.Iteration, c.Current.Since
			if now, ok := session.ReadSpend(j.Repo, c.Current.EventID); ok {
				w.Activity = now.Doing
			}
		}
		out = append(out, w)
	}
	stable.Sort(out, func(x, y WorkerDoc) int { return cmp.Compare(x.Worker, y.Worker) })
	return out
}

// workerLine says what a worker is at.
func workerLine(w WorkerDoc, p plan.Plan, now time.Time) string {
	line := string(w.Task)
	if i := p.Find(w.Task); i >= 0 {
		line += " " + text.Clip(p.Tasks[i].Title, 60)
	}
	line += fmt.Sprintf(", attempt %d, started %s, process %d", w.Attempt, Ago(w.Since, now), w.PID)
	if w.Activity != nil {
		line += ": " + text.Clip(w.Activity.Text, 60)
	}
	return line
}

// Asked is what a person asked a running loop for and what it has not done yet.
func Asked(s state.State) string {
	r, atWork := s.Run, len(s.InWork()) > 0
	switch {
	case r.StopAsked == r.Session && r.Session > 0 && r.StopNow:
		return "stopping now"
	case r.StopAsked == r.Session && r.Session > 0:
		return "stopping after this iteration"
	case r.PauseAsked && !atWork:
		return "paused"
	case r.PauseAsked:
		return "pausing after this iteration"
	}
	return ""
}

// WithSpend adds what the iterations at work have used so far, which the journal
// gets at their end, and when the agent reported how full its window is. The
// figure of the previous iteration is not used. With several workers there is
// none.
func WithSpend(s state.State, repo *gitstate.Repo) (state.Run, time.Time) {
	r := s.Run
	add := func(c *state.Current) (session.Spend, bool) {
		now, ok := session.ReadSpend(repo, c.EventID)
		r.Tokens = r.Tokens.Plus(now.Tokens)
		if now.CostMicro != nil {
			r.Cost.Iteration += *now.CostMicro
			r.Cost.Session += *now.CostMicro
			r.Cost.Total += *now.CostMicro
		}
		return now, ok
	}
	if r.Current != nil {
		r.Cost.Iteration, r.ContextPct = 0, 0
		now, ok := add(r.Current)
		if ok && now.ContextWindow > 0 {
			r.ContextPct = int(100 * now.ContextTokens / now.ContextWindow)
		}
		return r, now.ContextAt
	}
	if len(s.Claims) > 0 {
		r.Cost.Iteration, r.ContextPct = 0, 0
	}
	for _, c := range s.Claims {
		if c.Current != nil {
			add(c.Current)
		}
	}
	return r, time.Time{}
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

// SandboxLine says which mechanism was in force and what it leaves open.
func SandboxLine(mechanism string, sockets []string) string {
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

// Bound says whether a mechanism keeps git read-only for the agent.
func Bound(mechanism string) bool { return mechanism == "namespaces" || mechanism == "landlock" }

// PrintStatus writes the status for people; detail adds the newest iterations.
func (r Reader) PrintStatus(ctx context.Context, p Printer, d StatusDoc, s state.State, detail bool) error {
	now := r.Journal.Now()
	word, code := string(d.Status), statusColour(d.Status)
	head := fmt.Sprintf("%s: %s, %s", p.Paint("1", d.Branch), p.Paint(code, strings.ReplaceAll(word, "_", " ")), d.Phase)
	if d.Iteration > 0 {
		head += fmt.Sprintf(", iteration %d, session %d", d.Iteration, d.Session)
	}
	p.Say("%s\n", head)
	if d.HaltReason != "" {
		p.Say("%s\n", p.Paint(code, d.HaltReason))
		if why := Why(d.HaltReason); why != "" {
			p.Say("  %s\n", p.Paint("2", why))
		}
	}
	p.Table(append(r.statusRows(d, s, now), d.Linked.rows(d.Branch, now)...))
	for _, q := range d.Questions {
		p.Say("  %s %s\n", p.Paint("33", "question "+q.ID+":"), q.Text)
	}
	p.Aside(s.Plan)
	if d.Status == state.BlockedStatus {
		p.Blockers(s.Plan)
	}
	if detail {
		if err := r.printNewest(ctx, p, 10); err != nil {
			return err
		}
	}
	p.Say("%s %s\n", p.Paint("36", "next:"), r.Next(d, s))
	return nil
}

// runningRows say what the run does at this moment.
func runningRows(row func(name, format string, args ...any), d StatusDoc, s state.State, now time.Time) {
	row("process", "%d on %s, since %s", d.Running.PID, d.Running.Host, Ago(d.Running.Since, now))
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
		row("working on", "%s %s, attempt %d, started %s", d.Task, text.Clip(title, 60), d.Attempt,
			Ago(d.Workers[0].Since, now))
	}
	if do := d.Activity; do != nil {
		row("the agent", "%s, %s", text.Clip(do.Text, 100), Ago(do.Since, now))
	}
}

// statusRows are the facts of the status, by name.
func (r Reader) statusRows(d StatusDoc, s state.State, now time.Time) (rows [][]string) {
	row := func(name, format string, args ...any) {
		rows = append(rows, []string{"  " + name, fmt.Sprintf(format, args...)})
	}
	if s.Plan.Goal != "" {
		row("goal", "%s", text.Clip(s.Plan.Goal, 100))
	}
	if d.Running != nil {
		runningRows(row, d, s, now)
	} else if d.LastTask != "" {
		row("last task", "%s", d.LastTask)
	}
	if d.WaitingUntil != nil {
		row("waiting", "until %s: %s", d.WaitingUntil.Local().Format("15:04:05"), d.WaitingFor)
	}
	if d.Tasks.Total == 0 {
		row("plan", "empty")
	} else {
		row("plan", "%s", CountLine(s.Plan))
		if pace := PaceLine(s); pace != "" {
			row("pace", "%s", pace)
		}
	}
	if d.Driver != "" {
		agent := strings.TrimSpace(d.Driver + " " + d.Model)
		if d.Mode != "" { // none is chosen until a run begins
			agent += ", " + d.Mode
		}
		row("agent", "%s", agent)
	}
	if d.Sandbox != "" {
		row("sandbox", "%s", SandboxLine(d.Sandbox, r.sockets()))
	}
	if len(d.Shared) > 0 {
		row("shared", "%s: workers run no setup of their own", strings.Join(d.Shared, ", "))
	} else if d.NotShared != "" {
		row("shared", "nothing, each worker runs the setup: %s", d.NotShared)
	}
	if d.Tokens.Total > 0 || s.Run.Cost.Total > 0 {
		unknown := ""
		if s.Run.Cost.Unknown {
			unknown = " (some runs reported none)"
		}
		which := "this"
		if d.Running == nil {
			which = "in the last"
		}
		row("cost", "$%s %s iteration, $%s this session, $%s in all%s", USD(s.Run.Cost.Iteration), which,
			USD(s.Run.Cost.Session), USD(s.Run.Cost.Total), unknown)
		row("tokens", "%s in all: %s in, %s out, %s from cache", Thousands(d.Tokens.Total), Thousands(d.Tokens.Input),
			Thousands(d.Tokens.Output), Thousands(d.Tokens.CacheRead))
	}
	if d.ContextPercent > 0 {
		when := "in the last iteration"
		if d.ContextAt != nil {
			when = Ago(*d.ContextAt, now)
		}
		row("context", "%d %% of the window, %s", d.ContextPercent, when)
	}
	if b := d.Breaker; b.State != "closed" || b.Failures > 0 || b.Stagnation > 0 {
		line := fmt.Sprintf("%s; %s in a row, %s without a task done", b.State, Plural(b.Failures, "failure"),
			Plural(b.Stagnation, "iteration"))
		if b.Reason != "" {
			line += " (" + b.Reason + ")"
		}
		row("breaker", "%s", line)
	}
	if d.LastActivity != nil {
		row("last entry", "%s", Ago(*d.LastActivity, now))
	}
	return rows
}

// printNewest writes the newest iterations, one line each.
func (r Reader) printNewest(ctx context.Context, p Printer, n int) error {
	var rows [][]string
	found, err := r.newest(ctx, n)
	for _, e := range found {
		rows = append(rows, p.LogRow(e))
	}
	if len(rows) > 0 {
		p.Say("\n")
		p.Table(rows)
		p.Say("\n")
	}
	return err
}
