// Package gemini drives Google's Gemini CLI: one process a prompt, which reports
// what it does as JSON lines on its standard output. Our hook is asked before
// every tool call. A call that ran without the hook's permission ends the run,
// and so does one that the guard refuses. The ralph_* tools come from git ralph
// mcp.
//
// The client gets a home folder of its own beside the handoff, with nothing of
// the user's but a link to the login. What the repository has for it (.gemini,
// .env) is hidden from it, because it could switch the hook off.
package gemini

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"git-ralph/internal/agent/client"
	"git-ralph/internal/proc"
	"git-ralph/loop/session"
)

// Agent runs Gemini CLI.
type Agent struct {
	// Path of the client; "" = "gemini" in PATH of the request.
	Path string
	// Grace is the time between asking the client to end and killing it; 0 = 5 s.
	Grace time.Duration
	// Clock is for the limits of time; nil = the system's.
	Clock *proc.Clock
}

// Run runs the client once. What the client does wrong is an Outcome; an error
// means that it could not be started.
func (a *Agent) Run(ctx context.Context, req session.Request, events func(session.AgentEvent)) (session.Result, error) {
	result := session.Result{Client: "gemini"}
	if req.Judge == nil || req.Self == "" {
		return result, errors.New("run gemini: nobody judges its tool calls")
	}
	if len(req.MCP) > 0 {
		return result, errors.New("run gemini: this driver does not serve the MCP servers of the settings")
	}
	dir := client.HomeDir(req, req.Env, "gemini")
	env := environ(req, dir)
	found := find(a.Path, env)
	if found == nil {
		return result, errors.New("run gemini: the client was not found on PATH, or there is no node")
	}
	folder, err := home(req, env, []string{req.Self, "hook", "gemini"})
	if err != nil {
		return result, fmt.Errorf("run gemini: %w", err)
	}
	stream := &stream{req: req, version: packageVersion(found[len(found)-1]), open: map[string]call{},
		allowed: map[string]int{}}
	prompts := client.Prompts{Request: req, Events: events, Env: env, Reader: stream, Clock: a.Clock, Grace: a.Grace,
		Argv: func(further bool) []string {
			argv := append(folder.Argv(req, env, dir), commandLine(found, dir, req.Model)...)
			if further {
				argv = append(argv, "--resume", "latest") // of this folder: there is no other
			}
			return argv
		}}
	if result, err = prompts.Run(ctx); err != nil {
		return result, fmt.Errorf("run gemini: %w", err)
	}
	return result, nil
}

// commandLine is the client's, without what makes its home.
func commandLine(found []string, dir, model string) []string {
	argv := append([]string{found[0], "--require", filepath.Join(dir, "preload.cjs")}, found[1:]...)
	argv = append(argv, "--approval-mode", "yolo", "--output-format", "stream-json", "--extensions", "none")
	if model != "" {
		argv = append(argv, "--model", model)
	}
	return argv
}
