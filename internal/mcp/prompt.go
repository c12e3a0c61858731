package mcp

import (
	agentctx "git-ralph/context"
)

func submitPrompt() tool {
	return tool{
		name:    "ralph_submit_prompt",
		help:    "Submit the prepared context for the coding agent, in Markdown. The last one counts.",
		where:   "the agent that prepares the context",
		args:    object{{name: "markdown", help: "the context", required: true, max: MaxRequest}},
		offered: preparing,
		run: func(b *Box, v values) (any, error) {
			// Blanks at the start of a line are Markdown; only those around it go.
			markdown := text(v.text("markdown"))
			if err := agentctx.CheckPrepared(markdown); err != nil {
				return nil,
					refuse("write what the coding agent needs to know, or answer with ralph_submit_directive alone", "%v", err)
			}
			b.got.Prompt = markdown
			return prepared{Recorded: true, Bytes: len(markdown), Tokens: agentctx.Tokens(len(markdown), 0)}, nil
		},
	}
}

type prepared struct {
	Recorded bool `json:"recorded"`
	Bytes    int  `json:"bytes"`
	// Tokens is an estimate.
	Tokens int `json:"tokens"`
}
