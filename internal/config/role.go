package config

import "time"

// RoleSettings is what one agent run uses, with everything filled in.
type RoleSettings struct {
	Driver        string
	Model         string // empty = the client's own choice
	Effort        string // the same
	FallbackModel string
	MaxTurns      int           // 0 = the client's own limit
	Timeout       time.Duration // 0 = none
	IdleTimeout   time.Duration // 0 = none
	Tools         []string      // canonical names; nil = those of the phase or pass
	MCP           []string      // names in Settings.MCP
}

// Role is the settings of a role or pass: [agent.roles.<name>], then what the
// pass or the indexer has of its own, then [agent]. For coding, which is what
// [agent] is mostly set for, a value of [agent] from a higher layer wins over
// the role's: `start --model` means the coding agent also where ralph.toml has
// a model for it.
func (r *Resolved) Role(name string) RoleSettings {
	a := r.Agent
	out := RoleSettings{
		Driver: a.Driver, Model: a.Model, Effort: a.Effort, FallbackModel: a.FallbackModel,
		MaxTurns: a.MaxTurns, Timeout: a.Timeout, IdleTimeout: a.IdleTimeout,
	}
	if name == "indexer" {
		out.MaxTurns = r.Index.MaxTurns
	}
	for _, p := range r.Passes {
		if p.Name != name {
			continue
		}
		out.MaxTurns, out.Tools = p.MaxTurns, p.Tools
		if p.Model != "" {
			out.Model = p.Model
		}
	}
	role := r.Agent.Roles[name]
	wins := func(key string) bool {
		own := r.Origin[joinKey([]string{"agent", "roles", name, key})]
		return name != "coding" || own.Layer >= r.Origin["agent."+key].Layer
	}
	if role.Driver != "" && wins("driver") {
		out.Driver = role.Driver
	}
	if role.Model != "" && wins("model") {
		out.Model = role.Model
	}
	if role.Effort != "" && wins("effort") {
		out.Effort = role.Effort
	}
	if role.MaxTurns != nil && wins("max_turns") {
		out.MaxTurns = *role.MaxTurns
	}
	if role.Timeout != nil && wins("timeout") {
		out.Timeout = *role.Timeout
	}
	if role.Tools != nil {
		out.Tools = role.Tools
	}
	out.MCP = role.MCP
	return out
}

// Preflight is what must hold before an agent is started, beyond what makes
// the settings valid: a project may be read and planned without a client. The
// error is an *Error with everything that is missing.
func (r *Resolved) Preflight() error {
	e := &Error{}
	missing := func(key, msg, hint string) {
		e.Problems = append(e.Problems, Problem{Key: key, Msg: msg + " (" + key + " comes from " +
			r.Origin[key].String() + ")", Hint: hint})
	}
	needs := map[string]string{"command": "write agent.command = [\"sh\", \"agent.sh\"] in " + FileName,
		"acp": "write agent.command = [\"opencode\", \"acp\"] in " + FileName}
	if len(r.Agent.Command) == 0 {
		keys := map[string]string{"agent.driver": r.Agent.Driver, "agent.fallback_driver": r.Agent.FallbackDriver}
		for _, name := range sorted(r.Agent.Roles) {
			keys[joinKey([]string{"agent", "roles", name, "driver"})] = r.Agent.Roles[name].Driver
		}
		for _, key := range sorted(keys) {
			driver := keys[key]
			if driver == "acp" || driver == "command" && r.Agent.Preset == "" {
				missing(key, "the driver is "+driver+", and agent.command is empty", needs[driver])
			}
		}
	}
	if r.Agent.OnLimit == "fallback" && r.Agent.FallbackModel == "" && r.Agent.FallbackDriver == "" {
		missing("agent.on_limit", "a limit is to be met by the fallback, and there is none",
			"set agent.fallback_model or agent.fallback_driver")
	}
	if len(e.Problems) == 0 {
		return nil
	}
	return e
}
