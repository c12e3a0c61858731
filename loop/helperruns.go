package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	agentctx "git-ralph/context"
	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/gitstate/worktree"
	"git-ralph/internal/text"
	"git-ralph/loop/session"
	"git-ralph/notes"
)

// ContextDirVar names the folder in which a helper agent finds the files of
// its manifest.
const ContextDirVar = "RALPH_CONTEXT_DIR"

// helperRun is one run of an agent that serves an iteration: the indexer, the
// two context agents, a pass. It shares the number and the evidence of the
// iteration and has a cost line of its own. What it says is material for the
// next agent and advice for the loop; nothing that it does can end the loop.
type helperRun struct {
	role session.Role
	kind agentctx.Role // of its template and its answers
	job  agentctx.Job
	// known is the state that its tools see.
	known state.State
	// readOnly mounts the worktree read-only as well.
	readOnly bool
	// after is the worktree that is put back when it has run; nil = that of the checkpoint.
	after *worktree.Capture
	// writes reports whether its changes stay until the caller has judged them.
	writes bool
}

// answer is the result of a helper run.
type answer struct {
	contribution
	directive *agentctx.Directive
	prompt    string
	knowledge []notes.Knowledge
	text      string // what it said last
	failed    error  // of the run, or of its answer
}

// help runs a helper agent and puts back what it changed. An error is one of the
// harness that leaves the iteration unsafe; everything else is in the answer.
func (l *Loop) help(ctx context.Context, it *Ready, h helperRun) (answer, error) {
	ans, err := l.runHelper(ctx, it, h)
	if err == nil && !h.writes {
		err = l.putBackAfter(it, h, &ans.contribution)
	}
	return ans, err
}

func (l *Loop) runHelper(ctx context.Context, it *Ready, h helperRun) (answer, error) {
	var ans answer
	dir, err := session.NewRunDir(l.RunBase)
	if err != nil {
		ans.failed = err
		return ans, nil
	}
	defer removeRunDir(dir)
	files, err := layOut(dir, h.job.Files)
	if err != nil {
		ans.failed = err
		return ans, nil
	}
	use := session.Use{Agent: true, Driver: l.driver(h.role), Dir: l.Repo.Root, RunDir: dir, Files: l.AgentFiles,
		ReadOnly:      h.readOnly,
		ReadOnlyPaths: it.use.ReadOnlyPaths}
	ss, err := l.newSession(it, h.role, h.job.Prompt, h.known, use)
	if err != nil {
		ans.failed = err
		return ans, nil
	}
	said := &finalText{}
	ss.Calls, ss.Hear = &session.CallWatch{}, said.hear
	ss.Request.Env = append(slices.Clip(ss.Request.Env), ContextDirVar+"="+l.Sandbox.Inside(dir, files))
	l.emit("agent", it.state, it.task.ID, map[string]string{"role": string(h.role)}, "%s begins", h.role)
	var end session.End
	err = l.sandboxed(it, use, func(start session.Starter) error {
		ss.Start = start
		end, ans.failed = l.RunSession(ctx, ss)
		return nil
	})
	if err != nil {
		return ans, fmt.Errorf("run the %s: %w", h.role, err)
	}
	if ans.failed != nil {
		return ans, nil // it did not begin
	}
	ans.contribution = l.helperLeft(it, h, end)
	if ans.text = said.text(); ans.text == "" {
		ans.text = printed(end.Transcript)
	}
	if c := end.Cause; errors.Is(c, session.ErrSkipped) || errors.Is(c, session.ErrStopNow) || errors.Is(c,
		session.ErrInterrupted) {
		ans.halted = c
	}
	switch {
	case end.Failed != nil:
		ans.failed = end.Failed
	case end.Cause != nil && !errors.Is(end.Cause, session.ErrEndedByTool):
		ans.failed = end.Cause
	case end.Result.Outcome != session.Completed && end.Result.Outcome != session.MaxTurns:
		ans.failed = errors.New(withDetail(string(end.Result.Outcome), end.Result.Detail))
	default:
		ans.failed = l.readAnswer(it, use.RunDir, end.Tools, h, &ans)
	}
	return ans, nil
}

// helperLeft is what a helper's run has used and learned; its texts are evidence.
func (l *Loop) helperLeft(it *Ready, h helperRun, end session.End) contribution {
	folder := "agents/" + text.FileName(string(h.role)) + "/"
	it.Add(folder+"prompt.md", []byte(h.job.Prompt.Text))
	it.Add(folder+"transcript.jsonl", end.Transcript)
	left := contribution{runs: []state.AgentRun{end.Record},
		aside: session.Collected{Learnings: end.Tools.Learnings, Memory: end.Tools.Memory}}
	if end.Warning != "" {
		left.remark(end.Warning)
	}
	return left
}

// putBackAfter makes the worktree what it was before a helper ran: at the
// checkpoint, or after the coding agent.
func (l *Loop) putBackAfter(it *Ready, h helperRun, left *contribution) error {
	restore := it.RestoreBefore
	if h.after != nil {
		restore = it.RestoreCaptured
	}
	back, err := restore(h.after)
	left.remark(back.Notices...)
	if err != nil {
		return fmt.Errorf("put back what the %s changed: %w", h.role, err)
	}
	if back.Paths > 0 {
		left.remark(fmt.Sprintf("%s changed %d paths of the worktree; they were put back", h.role, back.Paths))
	}
	return nil
}

// readAnswer takes what a helper left by its tools and, for agents that answer
// in one document, in the file of the handoff.
func (l *Loop) readAnswer(it *Ready, runDir string, c session.Collected, h helperRun, ans *answer) error {
	ans.prompt, ans.knowledge = c.Prompt, c.Knowledge
	if c.Directive != nil {
		d, err := agentctx.ParseDirective(h.kind, c.Directive)
		if err != nil {
			return err
		}
		ans.directive = &d
	}
	raw, err := session.ReadHandoff(session.HandoffFile(runDir))
	if err != nil || raw == nil {
		return err
	}
	d, err := agentctx.ParseDirective(h.kind, raw)
	if err != nil {
		if ans.directive != nil || ans.prompt != "" {
			return nil // the tools have answered
		}
		return err
	}
	if ans.directive == nil {
		ans.directive = &d
	}
	if ans.prompt == "" {
		ans.prompt = notes.Redact(notes.Clean(d.Prompt))
	}
	if len(d.Knowledge) > 0 {
		ans.knowledge = append(ans.knowledge, notes.Entries(d.Knowledge, it.number,
			append(h.known.Knowledge, ans.knowledge...))...)
	}
	return nil
}

// driver names the driver of a role at this moment.
func (l *Loop) driver(role session.Role) string {
	if l.FallbackAgent != nil && l.limited(l.Now()) {
		return l.Settings.FallbackDriver
	}
	return cmp.Or(l.Settings.Roles[role].Driver, l.Settings.Driver)
}

// agentFor is the client of a role in a sandbox that was made for a driver.
func (l *Loop) agentFor(role session.Role, driver string) (session.Agent, error) {
	if l.FallbackAgent != nil && driver == l.Settings.FallbackDriver {
		return l.FallbackAgent, nil
	}
	if l.AgentFor == nil {
		return l.Agent, nil
	}
	return l.AgentFor(role)
}

// finalText is what an agent says after its last tool call: its conclusion.
type finalText struct {
	mu   sync.Mutex
	said []string
	size int
}

const maxWords = 8000

func (w *finalText) hear(e session.AgentEvent) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e.Kind {
	case session.EventToolCall:
		w.said, w.size = nil, 0
	case session.EventText:
		if w.size < maxWords {
			w.said = append(w.said, e.Text)
			w.size += len(e.Text)
		}
	}
}

func (w *finalText) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.TrimSpace(notes.CutBytes(notes.Redact(notes.Clean(strings.Join(w.said, "\n"))), maxWords))
}

// printed is what a plain program wrote to its standard output, its end.
func printed(transcript []byte) string {
	var lines []string
	for line := range strings.Lines(string(transcript)) {
		var x struct{ Type, Stream, Text string }
		if json.Unmarshal([]byte(line), &x) == nil && x.Type == "output" && x.Stream == "" {
			lines = append(lines, x.Text)
		}
	}
	text := strings.Join(lines, "\n")
	if len(text) > maxWords {
		text = text[len(text)-maxWords:]
		_, text, _ = strings.Cut(text, "\n")
	}
	return strings.TrimSpace(notes.Redact(notes.Clean(text)))
}

// layOut writes the files of a manifest below the folder of a run, for reading
// only, and returns where they lie.
func layOut(runDir string, files []agentctx.File) (string, error) {
	dir := filepath.Join(runDir, "context")
	err := os.Mkdir(dir, 0o700)
	for _, f := range files {
		if err != nil {
			break
		}
		if !fs.ValidPath(f.Path) {
			err = fmt.Errorf("%q is no path", f.Path)
			break
		}
		name := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err = os.MkdirAll(filepath.Dir(name), 0o700); err == nil {
			err = os.WriteFile(name, f.Data, 0o400)
		}
	}
	if err != nil {
		return "", fmt.Errorf("lay out the context: %w", err)
	}
	// Without a sandbox this keeps an agent from writing there by mistake.
	return dir, eachFolder(dir, 0o500)
}

func eachFolder(dir string, mode fs.FileMode) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(name, mode)
		}
		return err
	})
}

func removeRunDir(dir string) {
	if err := eachFolder(filepath.Join(dir, "context"), 0o700); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return // it is private and lies in a temporary folder
	}
	os.RemoveAll(dir)
}

// helperOptions is what every helper of an iteration is told.
func (l *Loop) helperOptions(it *Ready) agentctx.HelperOptions {
	return agentctx.HelperOptions{Options: l.promptOptions(it, "")}
}

// remember records entries as a whole; refused says which rule they break.
func (l *Loop) remember(it *Ready, add []notes.Knowledge, source string) (refused, err error) {
	if len(add) == 0 {
		return nil, nil
	}
	snap, err := l.Journal.Append(l.background(), func(s state.State) (state.Event, error) {
		if _, refused = notes.ApplyKnowledge(s.Knowledge, add); refused != nil {
			return state.Event{}, journal.ErrNothing
		}
		return state.Event{Type: state.EvKnowledge, Phase: it.phase, Iteration: it.number, Task: it.task.ID,
			Knowledge: &state.KnowledgeChange{Add: add, Source: source}}, nil
	})
	if refused != nil || err != nil {
		if refused != nil {
			err = nil
		}
		return refused, err
	}
	it.state = snap.State
	return nil, nil
}

// note records what a helper did.
func (l *Loop) note(it *Ready, n state.ContextNote) error {
	snap, err := l.Journal.Record(l.background(), state.Event{Type: state.EvContext, Phase: it.phase, Iteration: it.number,
		Task: it.task.ID, Context: &n})
	if err != nil {
		return err
	}
	it.state = snap.State
	return nil
}

// lastOutputs are the complete check outputs of the previous attempt, from its
// evidence; none when that is gone.
func (l *Loop) lastOutputs(ctx context.Context, it *Ready) []agentctx.Output {
	if it.task.Failure == "" {
		return nil
	}
	list, err := l.Journal.TaskIterations(ctx, it.task.ID)
	if err != nil || len(list) == 0 {
		return nil
	}
	last := list[0].Event
	at, err := l.Repo.EvidenceOf(ctx, it.state.Journal.ID, last.ID, last.Result.Evidence)
	if err != nil || at.IsZero() {
		return nil
	}
	tree, err := l.Repo.TreeOf(at)
	if err != nil {
		return nil
	}
	checks, ok, err := l.Repo.Lookup(tree, "checks")
	if err != nil || !ok {
		return nil
	}
	files, err := l.Repo.TreeFiles(checks.ID, "")
	if err != nil {
		return nil
	}
	var out []agentctx.Output
	for _, f := range files {
		if data, err := l.Repo.Store.ReadType(f.ID, object.Blob); err == nil {
			out = append(out, agentctx.Output{Name: strings.TrimSuffix(f.Name, path.Ext(f.Name)), Text: string(data)})
		}
	}
	return out
}
