package config

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// oldNames are variables of other loops for coding agents, in the order in which they
// are applied. Of two for one key the later wins; the derived name wins over both.
func oldNames() []struct{ env, key string } {
	return []struct{ env, key string }{
		{"RALPH_MAX_ITERATIONS", "loop.max_iterations"},
		{"RALPH_MAX_COST_USD", "limits.total_usd"},
		{"RALPH_CONTEXT_BUDGET_PERCENT", "context.handoff_percent"},
		{"RALPH_CIRCUIT_BREAKER_FAILURES", "breaker.failures"},
		{"RALPH_CIRCUIT_BREAKER_STAGNATION", "breaker.stagnation"},
		{"RALPH_PRIMARY_MODEL", "agent.model"},
		{"RALPH_MODEL", "agent.model"},
		{"RALPH_PLANNING_MODEL", "agent.roles.planning.model"},
		{"RALPH_CONTEXT_AGENT_MODEL", "agent.roles.context-prep.model"},
		{"RALPH_FALLBACK_MODEL", "agent.fallback_model"},
		{"RALPH_MODE", "loop.mode"},
		{"RALPH_VALIDATION_STRATEGY", "validation.strategy"},
		{"RALPH_CONTEXT_BUDGET_TOKENS", "context.budget_tokens"},
		{"RALPH_CONTEXT_BUDGET_TOKENS_HPI", "context.index_budget_tokens"},
		{"RALPH_COMPACTION_INTERVAL", "index.interval"},
		{"RALPH_COMPACTION_THRESHOLD_BYTES", "index.bytes"},
		{"RALPH_COMPACTION_MAX_TURNS", "index.max_turns"},
		{"RALPH_NOVELTY_OVERLAP_THRESHOLD", "index.novelty"},
		{"RALPH_NOVELTY_RECENT_HANDOFFS", "index.recent"},
		{"RALPH_MIN_DELAY_SECONDS", "loop.delay"},
		{"RALPH_DEFAULT_MAX_TURNS", "agent.max_turns"},
		{"RALPH_COMMIT_PREFIX", "loop.commit_prefix"},
	}
}

// envCommands holds one check a line and replaces all configured ones.
const envCommands = "RALPH_VALIDATION_COMMANDS"

// notSettings are our own variables with another meaning: switches of a single
// call, and values that agents get.
func notSettings() []string {
	return []string{
		"RALPH_TRUST", "RALPH_LOG", "RALPH_LOG_FILE", "RALPH_FAILPOINT",
		"RALPH_ROLE", "RALPH_PHASE", "RALPH_TASK_ID", "RALPH_ITERATION", "RALPH_ATTEMPT", "RALPH_EVENT_ID",
		"RALPH_PROMPT_FILE", "RALPH_HANDOFF_FILE", "RALPH_CONTEXT_DIR", "RALPH_TOOL_SOCKET", "RALPH_TOOL_TOKEN",
		"RALPH_GUARD_POLICY", "RALPH_RUN_MODEL", "RALPH_RUN_EFFORT",
	}
}

// retired are variables of other loops that mean nothing here, and why. Ignoring
// them silently would let people believe that they still work.
func retired() map[string]string {
	return map[string]string{
		"RALPH_PLAN_FILE":            "the plan lives in the journal; use git ralph import",
		"RALPH_SKIP_PERMISSIONS":     "the guard decides about every call",
		"RALPH_AUTO_COMMIT":          "what passed is always committed by the harness",
		"RALPH_AGENT_PASSES_ENABLED": "each of [[passes]] has its own enabled",
		"RALPH_LOG_LEVEL":            "use RALPH_LOG or -v",
		"RALPH_PAUSED":               "use git ralph pause",
		"RALPH_PAUSE_POLL_SECONDS":   "nothing is polled",
	}
}

// envNames are the derived names of the plain settings.
var envNames = sync.OnceValue(func() map[string]*spec {
	m := map[string]*spec{}
	schema().leaves(func(s *spec) { m[envName(s.key)] = s })
	return m
})

// envName derives the variable from a key: loop.max_iterations is
// RALPH_LOOP_MAX_ITERATIONS.
func envName(key string) string {
	return "RALPH_" + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, key)
}

// env applies RALPH_* variables. An empty variable counts as unset, as shells
// and CI systems make them.
func (l *loader) env() {
	known := map[string]bool{envCommands: true}
	for _, name := range append(notSettings(), l.src.IgnoreEnv...) {
		known[name] = true
	}
	for _, old := range oldNames() {
		if envNames()[old.env] != nil {
			continue // the derived name happens to be the old one
		}
		known[old.env] = true
		value := l.src.Env[old.env]
		if value == "" || l.src.Env[envName(old.key)] != "" {
			continue
		}
		if old.key == "loop.delay" {
			if _, err := strconv.ParseFloat(value, 64); err == nil {
				value += "s"
			}
		}
		path := strings.Split(old.key, ".")
		l.text(path, specAt(path), value, old.env, Origin{Layer: LayerEnv, Where: old.env})
	}
	if commands := lines(l.src.Env[envCommands]); len(commands) > 0 {
		l.envChecks(commands)
	}
	for _, name := range sorted(l.src.Env) {
		if !strings.HasPrefix(name, "RALPH_") || known[name] {
			continue
		}
		value := l.src.Env[name]
		path, s := l.envPath(name)
		switch {
		case s != nil && value != "":
			l.text(path, s, value, name, Origin{Layer: LayerEnv, Where: name})
		case s != nil:
		case retired()[name] != "":
			l.warn("%s has no meaning here: %s", name, retired()[name])
		case len(l.res.Warnings) < maxProblems:
			l.warn("%s is not a setting%s", cut(name), suggest(name, slices.Concat(sorted(envNames()), sorted(known))))
		}
	}
}

// envPath finds the setting that a derived name stands for. Names of roles are
// known; those of servers and models only count when another source has them,
// because the spelling cannot be told from the variable.
func (l *loader) envPath(name string) ([]string, *spec) {
	if s := envNames()[name]; s != nil {
		return strings.Split(s.key, "."), s
	}
	for _, m := range namedTables() {
		for _, elem := range l.names(m) {
			for _, f := range m.fields {
				path := append(strings.Split(m.key, "."), elem, f.name)
				if f.leaf() && envName(strings.Join(path, ".")) == name {
					return path, f
				}
			}
		}
	}
	return nil, nil
}

// specAt is the spec of a path in which names stand for themselves.
func specAt(path []string) *spec {
	s := schema()
	for i := 0; i < len(path) && s != nil; i++ {
		s = s.child(path[i])
		if s != nil && (s.kind == kindMap || s.kind == kindList) {
			i++
		}
	}
	return s
}

// envChecks replaces the checks by commands, named after their kinds.
func (l *loader) envChecks(commands []string) {
	l.res.Checks = nil
	for key := range l.res.Origin {
		if strings.HasPrefix(key, "checks.") {
			delete(l.res.Origin, key)
		}
	}
	used := map[string]int{}
	from := Origin{Layer: LayerEnv, Where: envCommands}
	for _, command := range commands {
		name := GuessKind(command)
		used[name]++
		if n := used[name]; n > 1 {
			name += "-" + strconv.Itoa(n)
		}
		path := []string{"checks", name}
		l.ensure(path)
		l.origin(path, from)
		l.text(append(path, "run"), specAt([]string{"checks", name, "run"}), command, envCommands, from)
	}
}
