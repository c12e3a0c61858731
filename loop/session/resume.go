package session

import "git-ralph/plan"

// A retry begins in a fresh session of the client. Where the settings say so,
// it goes on in the session of the attempt before instead, as long as less than
// resumeBelow percent of that session's window were in use.
const resumeBelow = 60

// Resumer is a driver whose client can go on in a session that has ended.
type Resumer interface{ Resumes() bool }

// resumable is the session of the attempt before.
type resumable struct {
	task    plan.TaskID
	attempt int
	agent   Agent
	model   string
	session ClientSession
}

// resumedPrompt stands before the prompt of a retry in the same session,
// because the model's memory of its files is outdated.
const resumedPrompt = "Your attempt in this session was rejected, and its changes were taken back: the files are " +
	"as they were " +
	"before it, and nothing that you changed is there. What follows is the task once more, with the reasons.\n\n"

// resume lets a request go on in the session of the attempt before.
func (h *Host) resume(ss *Session, req *Request) {
	r, ok := ss.Agent.(Resumer)
	if !ss.Resume || !ok || !r.Resumes() {
		return
	}
	req.KeepSession = true
	was := h.resumable
	h.resumable = nil
	if was == nil || string(was.task) != req.TaskID || was.attempt != req.Attempt-1 || was.agent != ss.Agent ||
		was.model != req.Model {
		return
	}
	req.Resume, req.Prompt = &was.session, resumedPrompt+req.Prompt
	h.emit(ss, "agent", map[string]any{"resumed": was.session.ID}, "going on in the session of attempt %d", was.attempt)
}

// keepSession keeps the session that has just ended for a retry, unless a fresh one
// follows it because its window was full.
func (h *Host) keepSession(ss *Session, req Request, r Result) {
	u, s := r.Usage, r.Session
	if req.KeepSession && s != nil && r.Outcome == Completed && u.ContextWindow > 0 &&
		u.ContextTokens*100 < resumeBelow*u.ContextWindow {
		h.resumable = &resumable{plan.TaskID(req.TaskID), req.Attempt, ss.Agent, req.Model, *s}
	}
}

// ForgetSession leaves the session of the attempt before alone.
func (h *Host) ForgetSession() { h.resumable = nil }
