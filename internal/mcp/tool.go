package mcp

import (
	"context"
	"encoding/json"
	"slices"

	"git-ralph/gitstate/state"
	"git-ralph/loop/session"
)

// tool is one tool. Of run and waits exactly one is set: run is called with the
// box locked and answers at once, waits is called without the lock.
type tool struct {
	name, help string
	// where is completed from "it belongs to …".
	where string
	// args checks and describes the arguments; nil = describe does, and the tool
	// reads values.raw itself.
	args     object
	describe func(session.Scope) json.RawMessage
	offered  func(session.Scope) bool
	run      func(b *Box, v values) (any, error)
	waits    func(ctx context.Context, b *Box, v values) (any, error)
}

// allTools is every tool in the order in which they are documented.
func allTools() []tool {
	return []tool{
		getNextTask(), markInProgress(), markComplete(), markBlocked(), appendLearning(), getPlanSummary(),
		getStateSummary(), addTask(), incrementRetry(), updateMemory(), submitHandoff(), askUserTool(), reportCriterion(),
		putKnowledge(), submitPrompt(), submitDirective(),
	}
}

func (t tool) schema(s session.Scope) json.RawMessage {
	if t.args == nil {
		return t.describe(s)
	}
	return t.args.schema()
}

// Who a tool is for. A helper run (context agents, indexer, passes) has the
// phase of the iteration that it serves, which is why the role decides: a
// reviewer in the building phase must not report the task complete.

func everyone(session.Scope) bool { return true }

func coding(s session.Scope) bool { return s.Role == session.RoleCoding && s.Phase == state.Building }

func planning(s session.Scope) bool {
	return s.Role == session.RolePlanning && s.Phase == state.Planning
}

func validating(s session.Scope) bool {
	return s.Role == session.RoleValidation && s.Phase == state.Validation
}

func asking(s session.Scope) bool {
	return s.Ask != nil && (coding(s) || s.Role == session.RoleDiscovery && s.Phase == state.Discovery)
}

// working is an agent that works for a phase itself and hands over to the next.
func working(s session.Scope) bool {
	return slices.Contains([]session.Role{session.RoleCoding, session.RoleDiscovery, session.RolePlanning,
		session.RoleValidation},
		s.Role)
}

func helping(s session.Scope) bool { return !working(s) }

func preparing(s session.Scope) bool { return s.Role == session.RoleContextPrep }

func directing(s session.Scope) bool {
	return s.Role == session.RoleContextPrep || s.Role == session.RoleContextPost
}
