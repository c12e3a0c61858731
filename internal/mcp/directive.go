package mcp

import (
	"encoding/json"
	"slices"

	agentctx "git-ralph/context"
	"git-ralph/loop/session"
)

func submitDirective() tool {
	return tool{
		name:     "ralph_submit_directive",
		help:     "Answer what shall happen next. The last one counts.",
		where:    "the agents that prepare the context and keep the memory",
		describe: directiveSchema,
		offered:  directing,
		run: func(b *Box, v values) (any, error) {
			role := agentctx.Role(b.scope.Role)
			raw := unwrap(v.raw, "directive")
			d, err := agentctx.ParseDirective(role, raw)
			if err != nil {
				return nil, refuse("send {action, reason}", "%v", err)
			}
			b.got.Directive = slices.Clone(raw)
			return directed{Action: d.Action, Recorded: true}, nil
		},
	}
}

type directed struct {
	Action   agentctx.Action `json:"action"`
	Recorded bool            `json:"recorded"`
}

// directiveSchema names the actions of the role; more members are taken,
// because a directive is also what an agent may write as one document.
func directiveSchema(s session.Scope) json.RawMessage {
	actions := []agentctx.Action{agentctx.Proceed, agentctx.Skip, agentctx.HumanReview, agentctx.Research}
	if s.Role == session.RoleContextPost {
		actions = []agentctx.Action{agentctx.Proceed, agentctx.SkipTask, agentctx.ModifyPlan, agentctx.HumanReview,
			agentctx.IncreaseRetries}
	}
	type m = map[string]any
	list := func(help string) m {
		return m{"type": "array", "items": m{"type": "string"}, "description": help}
	}
	return encode(m{"type": "object", "required": []string{"action"}, "properties": m{
		"action":           m{"type": "string", "enum": actions, "description": "what shall happen next"},
		"reason":           m{"type": "string", "description": "why; needed for everything but proceed"},
		"topics":           list("what to research"),
		"is_stuck":         m{"type": "boolean", "description": "the task goes in circles"},
		"plan_suggestions": list("what to change in the plan"),
	}})
}
