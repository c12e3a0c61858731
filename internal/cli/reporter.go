package cli

import (
	"fmt"
	"strings"
	"sync"

	"git-ralph/gitstate/state"
	"git-ralph/internal/config"
	"git-ralph/internal/livefeed"
	"git-ralph/internal/ui"
	"git-ralph/internal/view"
	"git-ralph/loop/session"
	"git-ralph/notes"
)

// reporter shows what a run does: lines, and a live view below them on a
// terminal. Elsewhere a long silence is broken by a line that says what is
// being done.
type reporter struct {
	a      *App
	json   bool
	mu     sync.Mutex
	detail bool            // what the agent says and calls is shown
	told   map[string]bool // explanations of reasons that were printed
	pulse  pulse
	// speaker tells who watches from elsewhere; nil = there is no socket.
	speaker *livefeed.Speaker
}

func newReporter(a *App, asJSON bool) *reporter {
	return &reporter{a: a, json: asJSON, detail: a.Verbose > 0, told: map[string]bool{}}
}

// open begins to show, here and to who watches from elsewhere.
func (r *reporter) open(set *config.Resolved) {
	r.a.isDetached()
	var err error
	if r.speaker, err = livefeed.Speak(r.a.getenv("XDG_RUNTIME_DIR"), r.a.repo.CommonDir, r.a.journal.Branch); err != nil {
		r.a.logLine("debug", "who watches follows the journal alone: %v", err)
	}
	switch {
	case r.a.wantsView(r.json):
		r.a.openView(set, func(on bool) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.detail = on
		})
	case !r.json:
		r.pulse.start(func() ui.Snapshot { return r.a.look(set) }, func(text string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.a.printf("  %s\n", r.a.colour(r.a.Out, "2", text))
		})
	}
}

func (r *reporter) emit(l session.Live) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.speaker != nil {
		r.speaker.Say(spoken(l))
	}
	if e, ok := agentEvent(l); ok {
		tool := ""
		if e.Kind == ui.Tool {
			tool = e.Text
		}
		r.pulse.heard(l.Time, e.Kind != ui.Tool && e.Kind != ui.Said || r.detail, tool)
		if r.a.view != nil {
			r.a.view.Event(e)
		}
	}
	if data, ok := l.Data.(map[string]any); ok && r.a.linked != nil && (l.Event == "start" || l.Event == "end") {
		data["worktree"], data["branch"] = r.a.linked.Root, r.a.linked.Branch
	}
	r.a.logLine(l.Event, "%s", l.Message)
	if r.json {
		r.a.printLine(l)
		return
	}
	if l.Worker > 0 {
		l.Message = fmt.Sprintf("[%d] %s", l.Worker, l.Message)
	}
	paint := func(code, s string) string { return r.a.colour(r.a.Out, code, s) }
	switch l.Event {
	case "start":
		r.a.printf("%s\n", paint("1", l.Message))
	case "iteration_start":
		r.a.printf("\n%s\n", paint("1", l.Message))
	case "agent":
		denied := strings.HasPrefix(l.Message, "denied ")
		if r.detail || denied {
			r.a.printf("  %s\n", paint("2", l.Message))
		}
	case "check":
		r.a.printf("  check %s\n", l.Message)
		if c, ok := l.Data.(state.CheckRun); ok && !c.Passed {
			for _, line := range c.Tail {
				r.a.printf("      %s\n", paint("2", line))
			}
		}
	case "verdict":
		code := "32"
		if !strings.HasPrefix(l.Message, "keep") {
			code = "33"
		}
		r.a.printf("  %s\n", paint(code, l.Message))
		r.explain(strings.TrimPrefix(l.Message, "reject: "))
	case "pull_request":
		r.a.printf("  %s\n", l.Message)
	case "end":
	case "iteration_end":
		if r.a.Verbose > 0 {
			r.a.printf("  %s\n", l.Message)
		}
		r.notices(l)
	default:
		r.a.printf("  %s: %s\n", l.Event, l.Message)
	}
}

// explain says what the reasons of a reject mean, each once in a run.
func (r *reporter) explain(reasons string) {
	for reason := range strings.SplitSeq(reasons, "; ") {
		if why := view.Why(reason); why != "" && !r.told[why] {
			r.told[why] = true
			r.a.printer().Say("      %s\n", r.a.colour(r.a.Out, "2", why))
		}
	}
}

// maxNotices is how many lines the end of one iteration prints of them.
const maxNotices = 8

// notices prints what a person should know of an iteration besides its verdict:
// what was put back above all, which may have been theirs.
func (r *reporter) notices(l session.Live) {
	res, ok := l.Data.(*state.Result)
	if !ok {
		return
	}
	lines := res.Notices
	if n := len(res.Files); res.Verdict == state.Reject && n > 0 && !res.Untouched {
		var names []string
		for _, f := range res.Files[:min(n, 5)] {
			names = append(names, f.Path)
		}
		if n > 5 {
			names = append(names, fmt.Sprintf("%d more", n-5))
		}
		lines = append([]string{fmt.Sprintf("put back: %s (git ralph restore %d brings the attempt)",
			strings.Join(names, ", "), l.Iteration)}, lines...)
	}
	for i, text := range lines {
		if i == maxNotices {
			r.a.printf("  %d more: git ralph show %d\n", len(lines)-i, l.Iteration)
			break
		}
		r.a.printf("  %s\n", r.a.colour(r.a.Out, "2", text))
	}
}

func (r *reporter) close() {
	r.pulse.end()
	r.a.closeView()
	r.mu.Lock()
	speaker := r.speaker
	r.speaker = nil
	r.mu.Unlock()
	if speaker != nil {
		speaker.Close()
	}
}

// spoken is an event as those hear it who watch from elsewhere: short, and
// without secrets that are known by their form.
func spoken(l session.Live) livefeed.Line {
	line := livefeed.Line{Time: l.Time, Event: l.Event, Iteration: l.Iteration, Task: l.Task, Worker: l.Worker,
		Message: notes.Redact(notes.CutBytes(l.Message, 4000)), Data: map[string]string{}}
	switch data := l.Data.(type) {
	case map[string]string:
		for key, value := range data {
			line.Data[key] = notes.Redact(notes.CutBytes(value, 4000))
		}
	case state.CheckRun:
		line.Data["check"] = data.Name
		if !data.Passed && !data.Hidden {
			line.Data["tail"] = notes.Redact(notes.CutBytes(strings.Join(data.Tail, "\n"), 4000))
		}
	}
	return line
}
