package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"git-ralph/fixtures/ram"
	"git-ralph/fixtures/repo"
	"git-ralph/gitstate"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/guard"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

// TestMain keeps the repositories of tests in memory, and checkouts of them out of
// the user's cache.
func TestMain(m *testing.M) { os.Exit(ram.Tests(apart{m}).Run()) }

type apart struct{ m *testing.M }

func (a apart) Run() int {
	dir, err := os.MkdirTemp("", "git-ralph-loop-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_CACHE_HOME", dir)
	return a.m.Run()
}

// rig is a loop over a real repository. Its agent is a function, its checks look
// at the files of the folder that they are given, and no process runs but git.
type rig struct {
	*Loop
	t    *testing.T
	repo *repo.Repo
	said []string // what the loop told people
	mu   sync.Mutex
	late time.Duration // by how much the clock was put forward
	box  *box          // of the session that runs
}

// client plays one session.
type client func(r *rig, req session.Request, box *box, tell func(session.AgentEvent)) session.Result

func (c client) over(r *rig) session.Agent { return &played{r, c} }

type played struct {
	r *rig
	c client
}

func (p *played) Run(_ context.Context, req session.Request, events func(session.AgentEvent)) (session.Result, error) {
	return p.c(p.r, req, p.r.box, events), nil
}

// box records what an agent says; the loop's own code reads it.
type box struct {
	mu sync.Mutex
	c  session.Collected
}

func (b *box) Specs() []session.ToolSpec { return nil }
func (b *box) Connected() bool           { return true }
func (b *box) Open() int                 { return 0 }
func (b *box) Env() []string             { return nil }
func (b *box) Close() error              { return nil }
func (b *box) Collected() session.Collected {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.c
}
func (b *box) say(f func(*session.Collected)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(&b.c)
}
func (b *box) done(req session.Request) {
	b.say(func(c *session.Collected) { c.Complete = &session.Claim{TaskID: plan.TaskID(req.TaskID), Text: "done"} })
}

func (*box) Call(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, nil }

// filesProver looks at files: the check is red if a file "broken" exists, and a
// verify command is the name of a file that has to exist.
type filesProver struct{ steps map[string]string }

func (p filesProver) look(req ProofRequest, name, kind, command string, pass bool) state.CheckRun {
	c := state.CheckRun{Name: name, Kind: kind, Command: command, Passed: pass}
	if !pass {
		c.ExitCode = 1
	}
	if req.Result != nil {
		req.Result(c)
	}
	return c
}

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

func (p filesProver) Prove(_ context.Context, req ProofRequest) (ProofReport, error) {
	rep := ProofReport{Pass: true, Outputs: map[string][]byte{"01-test.txt": []byte("ran\n")}}
	runs := []state.CheckRun{p.look(req, "test", "test", "test", !exists(req.Dir, "broken"))}
	tasks := req.Done
	if req.Task != nil {
		tasks = append(tasks, *req.Task)
	}
	for _, t := range tasks {
		for _, v := range t.Verify {
			if v != "test" {
				runs = append(runs, p.look(req, v, "criterion", v, exists(req.Dir, v)))
			}
		}
	}
	for _, c := range runs {
		if !c.Passed {
			rep.Pass, rep.FailText = false, c.Name+" failed"
			rep.Reasons = append(rep.Reasons, "checks: "+c.Name)
		}
	}
	rep.Runs, rep.Baseline = runs, []state.CheckState{{Name: "test", Command: "test", Red: !runs[0].Passed}}
	return rep, nil
}

func (p filesProver) Steps(_ context.Context, when string, _ ProofRequest) (StepReport, error) {
	if p.steps[when] == "" {
		return StepReport{}, nil
	}
	return StepReport{Runs: []state.CheckRun{{Name: p.steps[when], Kind: "step", ExitCode: 1}}, Failed: p.steps[when],
		FailText: "it broke"}, nil
}

func (p filesProver) Replay(_ context.Context, req ProofRequest, recorded []state.CheckRun) ([]state.CheckRun, error) {
	var out []state.CheckRun
	for _, c := range recorded {
		out = append(out, p.look(req, c.Name, c.Kind, c.Command, c.Kind == "criterion" && exists(req.Dir, c.Command) ||
			c.Kind != "criterion" && !exists(req.Dir, "broken")))
	}
	return out, nil
}

func (p filesProver) Repeat(_ context.Context, req ProofRequest, command string, _ time.Duration) (state.CheckRun,
	[]byte, error) {
	return p.look(req, command, "criterion", command, exists(req.Dir, command)), nil, nil
}

func (p filesProver) Demands(_ []byte, verify []string) ([]state.CheckRun, error) {
	out := []state.CheckRun{{Name: "test", Kind: "test", Command: "test"}}
	for _, v := range verify {
		out = append(out, state.CheckRun{Name: v, Kind: "criterion", Command: v})
	}
	return out, nil
}

func (filesProver) Setup(context.Context, ProofRequest) error { return nil }

func (filesProver) Weakened(_ context.Context, req WeakenRequest) (WeakenReport, error) {
	for _, f := range req.Files {
		if strings.HasSuffix(f.Path, "_test.txt") && f.After == nil {
			return WeakenReport{Findings: []string{"removed " + f.Path}}, nil
		}
	}
	return WeakenReport{}, nil
}

func (filesProver) Lacking(context.Context, ProofRequest, []plan.Task) ([]Lack, error) {
	return nil, nil
}
func (filesProver) BaseTests(context.Context, BaseTestsRequest) ([]string, error) { return nil, nil }
func (filesProver) TestFiles(WeakenRequest) (tests, data []ChangedFile)           { return nil, nil }
func (filesProver) RunTests(context.Context, plan.Task, func(func(ProofRequest) error) error) ([]TestRun, error) {
	return nil, nil
}
func (filesProver) Provable(plan.Task, []state.CheckState) bool { return true }
func (filesProver) Excuses() []string                           { return nil }

// newRig makes a loop over files with a plan of tasks.
func newRig(t *testing.T, play client, tasks ...plan.Task) *rig {
	t.Helper()
	r := &rig{t: t, repo: repo.New(t, map[string]string{"a.txt": "a\n", "old_test.txt": "t\n"})}
	ctx := context.Background()
	g, err := gitstate.Open(ctx, r.repo.Dir, r.repo.Env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	j, err := journal.Open(ctx, g, "main")
	if err != nil {
		t.Fatal(err)
	}
	j.Now = r.now
	for i := range tasks {
		tasks[i].Title, tasks[i].Status = "task "+string(tasks[i].ID), plan.Pending
	}
	for _, e := range []state.Event{
		{Type: state.EvInit, Init: &state.Init{JournalID: gitstate.NewID(j.Now()), Branch: "main",
			Base: r.repo.Git("rev-parse", "HEAD")}},
		{Type: state.EvPlan, Plan: &state.PlanChange{Reason: "import", Upsert: tasks}},
	} {
		if _, err := j.Record(ctx, e); err != nil {
			t.Fatal(err)
		}
	}
	r.over(g, j, play)
	return r
}

// over makes the rig's loop in this repository and journal.
func (r *rig) over(g *gitstate.Repo, j *journal.Journal, play client) {
	t := r.t
	t.Helper()
	e, err := worktree.New(worktree.Repo{Root: g.Root, GitDir: g.GitDir, CommonDir: g.CommonDir, Git: g.Git,
		Store: g.Store},
		worktree.Options{Aside: filepath.Join(g.Dir(), "aside")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	binary := filepath.Join(t.TempDir(), "git-ralph")
	if err := os.WriteFile(binary, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	r.Loop = &Loop{Engine: e, Agent: play.over(r), Prover: filesProver{}, Policy: guard.New(g.Root, t.TempDir())}
	r.Host = session.Host{Repo: g, Journal: j, Sandbox: noSandbox("off"),
		OpenTools: func(session.Scope) (session.Toolbox, error) { r.box = &box{}; return r.box, nil },
		Binary:    binary,
		RunBase:   t.TempDir(), Log: r.log, Now: r.now, Sleep: r.sleep}
	r.Emit = func(e session.Live) { r.log("%s %s", e.Event, e.Message) }
	r.Settings = Settings{Driver: "played", Mode: "handoff-only", BaselineMode: "record", TestGuard: true,
		Fresh:  "complete",
		Limits: Limits{MaxAttempts: 2, Failures: 5, MaxPartial: 2}, Rounds: 2}
}

func (r *rig) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Add(r.late).UTC().Truncate(time.Millisecond)
}

// sleep puts the clock forward by d and waits 1 ms at most.
func (r *rig) sleep(ctx context.Context, d time.Duration) {
	r.mu.Lock()
	r.late += d
	r.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-time.After(time.Millisecond):
	}
}

// waited is how long the loop has slept by its own clock.
func (r *rig) waited() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.late
}

func (r *rig) log(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

// told reports whether a line for people has a text.
func (r *rig) told(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Contains(strings.Join(r.said, "\n"), text)
}

func (r *rig) run(c RunOptions) End {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	end, err := r.Run(ctx, c)
	if err != nil {
		r.t.Fatalf("%v\n%s", err, strings.Join(r.said, "\n"))
	}
	return end
}

// results are the ends of all iterations, oldest first.
func (r *rig) results() []*state.Result {
	r.t.Helper()
	var out []*state.Result
	err := r.Journal.Walk(context.Background(), func(e journal.Entry) (bool, error) {
		if e.Event.Result != nil {
			out = append([]*state.Result{e.Event.Result}, out...)
		}
		return true, nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// handoff is a valid handoff about a task.
func handoff(id string, done bool) []byte {
	data, _ := json.Marshal(notes.Handoff{Summary: "half of " + id,
		Freeform:      strings.Repeat("this is what was done and what is left. ", 3),
		TaskCompleted: notes.TaskCompleted{TaskID: id, Summary: "s", FullyComplete: done}})
	return []byte(strings.ReplaceAll(string(data), ":null", ":[]"))
}

// noSandbox is a sandbox in name only.
type noSandbox string

func (n noSandbox) Mechanism() string                { return string(n) }
func (n noSandbox) Wrapper(session.Use) proc.Wrapper { return nil }
func (n noSandbox) OwnLayer(string) string           { return "" }
func (n noSandbox) HasLayer(string) bool             { return true }
func (n noSandbox) DropLayer(string)                 {}
func (n noSandbox) Inside(_, path string) string     { return path }
