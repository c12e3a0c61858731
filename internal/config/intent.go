package config

import (
	"slices"
	"strings"

	"git-ralph/loop"
)

// An intent is one line that sets many keys: what fits a client best for a cheap, a
// usual or a thorough run. It sets the models of the roles, the ladder and the
// review. Every key that is set anywhere else wins over it.
type intent struct {
	model, effort string // of coding
	think         string // planning and validation
	help          string // the agents that prepare and organise
	ladder        []string
	review        bool // the pass of that name, in agent-orchestrated mode
}

// intents is what agent.intent means for each driver. The model names are the
// clients' own: aliases if they have some, else the models that they list. There
// are none for opencode, which takes models of many providers, or for commands.
func intents(driver, name string) (intent, bool) {
	tables := map[string]map[string]intent{
		"claude": {
			"economic": {model: "haiku", think: "sonnet", help: "haiku", ladder: []string{"model:sonnet", "approach"}},
			"balanced": {model: "sonnet", think: "opus", help: "haiku",
				ladder: []string{"model:opus", "effort:high", "approach"}},
			"strong": {model: "opus", effort: "high", think: "opus", help: "sonnet",
				ladder: []string{"effort:max", "approach", "best-of-2"}, review: true},
		},
		"codex": {
			"economic": {model: "gpt-6-luna", think: "gpt-6.1-sol", help: "gpt-6-luna",
				ladder: []string{"model:gpt-6.1-sol", "approach"}},
			"balanced": {model: "gpt-6.1-sol", think: "gpt-6-astra", help: "gpt-6-luna",
				ladder: []string{"model:gpt-6-astra", "effort:high", "approach"}},
			"strong": {model: "gpt-6-astra", effort: "high", think: "gpt-6-astra", help: "gpt-6.1-sol",
				ladder: []string{"effort:xhigh", "approach", "best-of-2"}, review: true},
		},
		"gemini": {
			"economic": {model: "flash", think: "flash", help: "flash-lite", ladder: []string{"model:pro", "approach"}},
			"balanced": {model: "flash", think: "pro", help: "flash-lite", ladder: []string{"model:pro", "approach"}},
			"strong": {model: "pro", think: "pro", help: "flash", ladder: []string{"approach", "best-of-2"},
				review: true},
		},
	}
	other := map[string]intent{"economic": {}, "balanced": {ladder: []string{"approach"}},
		"strong": {ladder: []string{"approach", "best-of-2"}, review: true}}
	if tables[driver] != nil {
		other = tables[driver]
	}
	i, ok := other[name]
	return i, ok
}

// intent sets what agent.intent stands for, where no place has set it.
func (l *loader) intent() {
	a := &l.res.Agent
	name := a.Intent
	i, ok := intents(a.Driver, name)
	if !ok {
		return
	}
	from := Origin{Layer: LayerIntent, Where: "agent.intent = \"" + name + "\""}
	text := func(value string, path ...string) {
		if _, given := l.res.Origin[joinKey(path)]; !given && value != "" {
			l.text(path, specAt(path), value, from.Where, from)
		}
	}
	// A role with a client of its own takes the models of that client.
	of := func(role string) intent {
		driver := a.Driver
		if d := a.Roles[role].Driver; d != "" {
			driver = d
		}
		own, _ := intents(driver, name)
		return own
	}
	// The ladder is the coding agent's, and so is what it is made for.
	coding := of("coding")
	if a.Roles["coding"].Driver == "" {
		text(i.model, "agent", "model")
	} else {
		text(coding.model, "agent", "roles", "coding", "model")
	}
	text(coding.effort, "agent", "roles", "coding", "effort")
	if _, given := l.res.Origin["agent.ladder"]; !given && len(coding.ladder) > 0 {
		a.Ladder = slices.Clone(coding.ladder)
		l.origin([]string{"agent", "ladder"}, from)
	}
	for _, role := range []string{"planning", "validation"} {
		text(of(role).think, "agent", "roles", role, "model")
	}
	for _, role := range []string{"context-prep", "context-post", "indexer"} {
		text(of(role).help, "agent", "roles", role, "model")
	}
	if i.review {
		text("true", "passes", "review", "enabled")
		text(of("review").think, "passes", "review", "model")
	}
}

// checkLadder reports steps that are none.
func (l *loader) checkLadder() {
	for _, step := range l.res.Agent.Ladder {
		if _, err := loop.ParseStep(step); err != nil {
			l.at([]string{"agent", "ladder"}, "%s "+strings.ReplaceAll(err.Error(), "%", ""))
		}
	}
}
