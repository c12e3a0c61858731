package loop

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
	session Session
}

// resumedPrompt stands before the prompt of a retry in the same session: what
// the model remembers of its files is not true any more.
const resumedPrompt = "Your attempt in this session was rejected, and its changes were taken back: the files are " +
	"as they were " +
	"before it, and nothing that you changed is there. What follows is the task once more, with the reasons.\n\n"

// resume lets a request go on in the session of the attempt before.
func (l *Loop) resume(it *session, agent Agent, req *Request) {
	r, ok := agent.(Resumer)
	if !l.Settings.Resume || it.role != RoleCoding || it.task.ID == "" || !ok || !r.Resumes() {
		return
	}
	req.KeepSession = true
	was := l.resumable
	l.resumable = nil
	if was == nil || was.task != it.task.ID || was.attempt != it.attempt-1 || was.agent != agent ||
		was.model != req.Model {
		return
	}
	req.Resume, req.Prompt = &was.session, resumedPrompt+req.Prompt
	l.emit("agent", it.state, it.task.ID, map[string]any{"resumed": was.session.ID},
		"going on in the session of attempt %d", was.attempt)
}

// keepSession keeps the session that has just ended for a retry.
func (l *Loop) keepSession(it *session, agent Agent, req Request, r Result) {
	u, s := r.Usage, r.Session
	if req.KeepSession && s != nil && r.Outcome == Completed && u.ContextWindow > 0 &&
		u.ContextTokens*100 < resumeBelow*u.ContextWindow {
		l.resumable = &resumable{it.task.ID, it.attempt, agent, req.Model, *s}
	}
}
