package config

import "time"

// RoleSettings is what one agent run uses, with everything filled in.
type RoleSettings struct {
	Driver        string
	Model         string // empty = the client's own choice
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
		Driver: a.Driver, Model: a.Model, FallbackModel: a.FallbackModel,
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
