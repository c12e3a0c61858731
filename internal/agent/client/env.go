package client

import (
	"strconv"
	"strings"

	"git-ralph/loop/session"
)

// Environ is the request's environment with the RALPH_* variables that every
// agent gets. RALPH_EVENT_ID is also what a left-over process is known by.
func Environ(req session.Request) []string {
	role := req.Role
	if role == "" {
		role = session.RoleCoding
	}
	return Set(req.Env,
		"RALPH_ROLE="+string(role),
		"RALPH_PHASE="+req.Phase,
		"RALPH_TASK_ID="+req.TaskID,
		"RALPH_ITERATION="+strconv.Itoa(req.Iteration),
		"RALPH_ATTEMPT="+strconv.Itoa(req.Attempt),
		"RALPH_PROMPT_FILE="+req.PromptFile,
		"RALPH_HANDOFF_FILE="+req.HandoffFile,
		"RALPH_EVENT_ID="+req.EventID,
	)
}

// Set is env with each NAME=VALUE of more in it once, in place of others of
// that name. env is not changed.
func Set(env []string, more ...string) []string {
	out := make([]string, 0, len(env)+len(more))
	names := make(map[string]bool, len(more))
	for _, kv := range more {
		name, _, _ := strings.Cut(kv, "=")
		names[name] = true
	}
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); !names[name] {
			out = append(out, kv)
		}
	}
	return append(out, more...)
}

// Get is the value of name in env, the last one when there are several.
func Get(env []string, name string) string {
	value := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}
