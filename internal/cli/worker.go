package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/config"
	"git-ralph/internal/proc"
	"git-ralph/loop"
	"git-ralph/loop/session"
	"git-ralph/plan"
)

// maxWorkers is how many workers a run may have.
const maxWorkers = 16

// WorkerCmd is `git ralph worker`, which a run with several workers starts for each
// iteration. It is typed where the run was.
type WorkerCmd struct {
	RunFlags
	Slot int         `required:"" help:"Which of the workers it is."`
	Task plan.TaskID `required:"" help:"What it works on."`
	Over string      `help:"The claim of another machine that has run out."`

	WithOthers bool `help:"The run shares the plan with other machines."`

	Share     []string `sep:"none" help:"A folder that it shares."`
	NotShared string   `help:"Why it shares none."`
}

// args are the flags as they were given, for a worker's command line.
func (f *RunFlags) args() []string {
	var out []string
	put := func(name, val string) {
		if val != "" {
			out = append(out, "--"+name+"="+val)
		}
	}
	put("max-cost", f.MaxCost)
	put("mode", f.Mode)
	put("agent", f.Agent)
	put("model", f.Model)
	put("on-limit", f.OnLimit)
	put("script", f.Script)
	for _, name := range f.Config {
		put("config", name)
	}
	for name, on := range map[string]bool{"unchecked": f.Unchecked, "trust": f.Trust, "yes": f.Yes} {
		if on {
			out = append(out, "--"+name)
		}
	}
	return out
}

// team makes the workers of a run: their worktrees, and the way to start them.
func (a *App) team(ctx context.Context, f *RunFlags, set *config.Resolved, l *loop.Loop) (*loop.Team, error) {
	j := a.journal
	base, err := cacheFolder("workers")
	if err != nil {
		return nil, err
	}
	if err := a.checkShared(ctx, set, j.Repo); err != nil {
		return nil, err
	}
	var making sync.WaitGroup
	errs := make([]error, f.Workers)
	for i := range errs {
		making.Go(func() {
			var w gitstate.Linked
			w, errs[i] = j.Repo.MakeWorker(ctx, j.Branch, i+1, j.Repo.WorkerPlace(base, j.Branch, i+1), a.Env)
			if errs[i] == nil {
				errs[i] = dropLayer(w.Root) // of a run that died
			}
		})
	}
	making.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	t := &loop.Team{Size: f.Workers, Recover: func(slot int) error { return a.recoverWorker(set, slot) }}
	// The setup of the run has filled the folders before the first worker is started.
	var once sync.Once
	var share []string
	t.Start = func(ctx context.Context, slot int, task plan.TaskID, over string) (<-chan loop.WorkerEnd, error) {
		once.Do(func() { share = a.shareArgs(ctx, set, l.Sandbox, base) })
		argv := slices.Concat([]string{binary, "worker", "--slot=" + strconv.Itoa(slot), "--task=" + string(task), "--json"},
			share, f.args())
		if over != "" {
			argv = append(argv, "--over="+over)
		}
		if l.Share != nil {
			argv = append(argv, "--with-others")
		}
		if a.typed != "" {
			argv = append(argv, "--worktree")
		}
		ends := make(chan loop.WorkerEnd, 1)
		go func() {
			end := loop.WorkerEnd{Slot: slot, Task: task}
			end.Err = a.runWorker(ctx, argv, l, &end)
			ends <- end
		}()
		return ends, nil
	}
	return t, nil
}

// runWorker starts the process of a worker and passes on what it reports.
func (a *App) runWorker(ctx context.Context, argv []string, l *loop.Loop, end *loop.WorkerEnd) error {
	var said bytes.Buffer
	p, err := proc.Start(ctx, proc.Command{Argv: argv, Dir: a.Dir, Env: a.Env, StdoutPipe: true,
		Stderr: io.Writer(&limited{&said, 16 << 10}), Grace: 2 * time.Minute})
	if err != nil {
		return err
	}
	finished := tellWorker(p.Stdout, l, end.Slot, end)
	exit, err := p.Wait()
	if err == nil && !finished {
		err = errors.New(strings.TrimSpace(exit.String() + " " + workerError(said.Bytes())))
	}
	return err
}

// limited keeps the first bytes of what it is told.
type limited struct {
	to   *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.to.Write(p[:n])
	l.left -= n
	return len(p), nil
}

// workerError is what a worker said on standard error.
func workerError(said []byte) string {
	var d struct{ Error, Hint string }
	if json.Unmarshal(said, &d) == nil && d.Error != "" {
		return strings.TrimSuffix(d.Error+" ("+d.Hint+")", " ()")
	}
	return strings.TrimSpace(string(said))
}

// workerEnd is the last word of a worker.
const workerEnd = "worker_end"

// told is a line of a worker, with the data of the types that a loop gives them.
func told(line []byte) (session.Live, bool) {
	var raw struct {
		session.Live
		Data json.RawMessage `json:"data"`
	}
	if len(line) == 0 || json.Unmarshal(line, &raw) != nil {
		return session.Live{}, false
	}
	l := raw.Live
	if len(raw.Data) == 0 {
		return l, true
	}
	switch l.Event {
	case "agent":
		data := map[string]string{}
		if json.Unmarshal(raw.Data, &data) == nil {
			l.Data = data
			return l, true
		}
	case "check":
		data := state.CheckRun{}
		if json.Unmarshal(raw.Data, &data) == nil {
			l.Data = data
			return l, true
		}
	case "iteration_end":
		data := &state.Result{}
		if json.Unmarshal(raw.Data, data) == nil {
			l.Data = data
			return l, true
		}
	}
	return l, json.Unmarshal(raw.Data, &l.Data) == nil
}

// tellWorker passes on what a worker reports, and says whether it came to its end.
func tellWorker(from io.Reader, l *loop.Loop, slot int, end *loop.WorkerEnd) bool {
	finished := false
	in := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := in.ReadBytes('\n')
		if live, ok := told(line); ok {
			if live.Event == workerEnd {
				finished = true
				if data, ok := live.Data.(map[string]any); ok && data["status"] != nil {
					status, _ := data["status"].(string)
					reason, _ := data["reason"].(string)
					end.Halt = &loop.Action{Kind: loop.Halt, Status: state.Status(status), Reason: reason}
				}
			} else if l.Emit != nil {
				live.Worker = slot
				l.Emit(live)
			}
			end.Iterated = end.Iterated || live.Event == "iteration_end"
		}
		if err != nil {
			return finished
		}
	}
}

// Run works on the task.
func (c *WorkerCmd) Run(a *App) error {
	home, j, mine, err := c.place(a)
	if err != nil {
		return err
	}
	set, err := a.Settings(c.flags(), c.Config)
	if err != nil {
		return err
	}
	he, err := a.engine(set)
	if err != nil {
		return err
	}
	if _, err := home.RepairLinked(mine); err != nil {
		return err
	}
	repo, err := gitstate.Open(a.Ctx, mine.Root, a.Env)
	if err != nil {
		return err
	}
	free, err := lockAll(func() (*gitstate.Lock, error) { return repo.LockBranch(mine.Branch) }, repo.LockWorktree)
	if err != nil {
		return err
	}
	defer free()
	tip, err := home.ReadRef(a.Ctx, gitstate.BranchRef(j.Branch))
	if err != nil {
		return err
	}
	if err := c.enter(a, repo, mine, j.Branch, tip); err != nil {
		return err
	}
	ctx, cancel := a.interrupts()
	defer cancel()
	snap, err := a.journal.Load(ctx)
	if err != nil {
		return err
	}
	if set, err = a.Settings(c.flags(), c.Config); err != nil {
		return err
	}
	w, err := a.preflight(ctx, set, snap.State, &c.RunFlags, otherWork)
	if err != nil {
		return err
	}
	w.Worker = &loop.Worker{Name: repo.WorktreeName(), Home: home, Engine: he}
	if c.WithOthers {
		if w.Share, err = a.sharingOf(ctx, set, j, he); err != nil {
			return err
		}
		w.Share.Over = c.Over
	}
	if err := c.warm(w, home, mine.Root); err != nil {
		return err
	}
	w.Emit = func(e session.Live) { a.printLine(e) }
	w.Settings.Unchecked = c.Unchecked
	halt, err := w.WorkOn(ctx, c.Task)
	if err != nil {
		return err
	}
	data := map[string]any{}
	if halt != nil && !(halt.Status == state.Interrupted && ctx.Err() != nil) {
		data["status"], data["reason"] = halt.Status, halt.Reason
	}
	return a.printLine(session.Live{Time: time.Now().UTC(), Event: workerEnd, Task: c.Task, Data: data})
}

// place finds where the run has its branch, and the worker's own worktree.
func (c *WorkerCmd) place(a *App) (home *gitstate.Repo, j *journal.Journal, mine gitstate.Linked, err error) {
	home, j, err = a.repoAndJournal()
	if err == nil && c.Worktree { // the run works in a linked worktree of the branch
		l, ok, err := home.LinkedOf(j.Branch)
		if err == nil && !ok {
			err = fmt.Errorf("there is no linked worktree of %s", j.Branch)
		}
		if err == nil {
			err = a.moveTo(home, l, &c.RunFlags)
		}
		if err != nil {
			return nil, nil, mine, err
		}
		if home, j, err = a.repoAndJournal(); err != nil {
			return nil, nil, mine, err
		}
	}
	if err != nil {
		return nil, nil, mine, err
	}
	all, err := home.Workers(j.Branch)
	if err != nil {
		return nil, nil, mine, err
	}
	for _, l := range all {
		if l.Worker == c.Slot {
			return home, j, l, nil
		}
	}
	return nil, nil, mine, gitstate.Hint(2, "git ralph start --workers N starts it", "there is no worker %d", c.Slot)
}

// repoAndJournal opens the repository of the present folder and the journal of its branch.
func (a *App) repoAndJournal() (*gitstate.Repo, *journal.Journal, error) {
	repo, err := a.Repo()
	if err != nil {
		return nil, nil, err
	}
	j, err := a.Journal()
	return repo, j, err
}

// enter makes the worker's worktree the one of this process, at the branch's tip,
// with the branch's journal.
func (c *WorkerCmd) enter(a *App, repo *gitstate.Repo, l gitstate.Linked, of string, tip object.ID) error {
	if err := repo.Begin(a.Ctx, l.Branch, tip); err != nil {
		return err
	}
	j, err := journal.Open(a.Ctx, repo, of)
	if err != nil {
		return err
	}
	j.Fail = a.failpoint()
	if c.Script != "" && !strings.HasPrefix(c.Script, "/") {
		c.Script = a.repo.Root + "/" + c.Script
	}
	home := a.repo
	a.closeFunctions = append(a.closeFunctions, func() { home.Close() })
	if a.typed == "" {
		a.typed = home.Root
	}
	a.linked, a.wantsLinked = &l, true
	a.repo, a.journal, a.git = repo, j, nil
	return nil
}

// recoverWorker repairs what the worker in a slot left.
func (a *App) recoverWorker(set *config.Resolved, slot int) error {
	all, err := a.journal.Repo.Workers(a.journal.Branch)
	if err != nil {
		return err
	}
	for _, l := range all {
		if l.Worker == slot {
			return a.recoverLinked(set, l)
		}
	}
	return nil
}

func (a *App) recoverLinked(set *config.Resolved, l gitstate.Linked) error {
	if !l.There() {
		return nil
	}
	if _, err := a.journal.Repo.RepairLinked(l); err != nil {
		return err
	}
	repo, err := gitstate.Open(a.Ctx, l.Root, a.Env)
	if err != nil {
		return fmt.Errorf("open the worktree of worker %d: %w", l.Worker, err)
	}
	defer repo.Close()
	j, err := journal.Open(a.Ctx, repo, l.Of)
	if err != nil {
		return err
	}
	e, err := a.engineOf(repo, set)
	if err != nil {
		return err
	}
	r := a.recovery(j, e)
	r.Worker = repo.WorktreeName()
	return r.Run(a.Ctx)
}

// recoverWorkers repairs what the workers of a dead run left, and ends their iterations in
// worktrees that are gone.
func (a *App) recoverWorkers(j *journal.Journal, e *worktree.Engine, set *config.Resolved) error {
	all, err := j.Repo.Workers(j.Branch)
	if err != nil {
		return err
	}
	var there []string
	for _, l := range all {
		if err := a.recoverLinked(set, l); err != nil {
			return err
		}
		if l.There() {
			there = append(there, filepath.Base(l.GitDir))
		}
	}
	return a.recovery(j, e).EndWithout(a.Ctx, there)
}

// dropWorkers removes the worktrees of the workers at the end of a run. One that
// still has something of an iteration stays for the next start.
func (a *App) dropWorkers() {
	all, err := a.journal.Repo.Workers(a.journal.Branch)
	if err != nil {
		a.warn("%v", err)
		return
	}
	snap, err := a.journal.Load(a.Ctx)
	if err != nil {
		return
	}
	for _, l := range all {
		claimed := false
		for _, c := range snap.State.Claims {
			claimed = claimed || c.Current != nil && c.Current.Start.Worktree == l.Root
		}
		if !claimed {
			if err := dropLayer(l.Root); err != nil {
				a.warn("%v", err)
			}
			if err := a.journal.Repo.DropWorker(a.Ctx, l); err != nil {
				a.warn("%v", err)
			}
		}
	}
}
