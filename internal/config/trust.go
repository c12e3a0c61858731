package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"git-ralph/internal/proc"
)

// TrustKey is the key in git config that holds the hashes of the trusted
// ralph.toml files of a repository, one value each, the newest last.
const TrustKey = "ralph.trust"

// TrustHash names the exact bytes of a settings file: their sha256 in hex.
func TrustHash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// IsTrusted says whether the hash is among the values of TrustKey.
func IsTrusted(hash string, values []string) bool {
	return hash != "" && slices.ContainsFunc(values, func(v string) bool {
		return strings.EqualFold(strings.TrimSpace(v), hash)
	})
}

// TrustValues picks the values of TrustKey.
func TrustValues(git proc.Config) []string {
	var out []string
	for _, g := range git {
		if strings.EqualFold(g.Key, TrustKey) {
			out = append(out, g.Value)
		}
	}
	return out
}

// powerful are the settings that run something, that decide whether it is
// judged, or that open the boundary around it. A name ends at a dot or covers
// everything below it.
var powerful = []string{
	"agent.command", "agent.driver", "agent.env_allow", "agent.env_deny", "agent.fallback_driver", "agent.preset",
	"agent.roles", "agent.script", "checks", "commit", "context.templates", "guard", "mcp", "notify", "passes", "pr",
	"project.setup", "project.setup_prompt", "share", "steps", "toolchain", "validation", "worktree",
}

// Powerful lists the settings of a file that a person wants to have read before
// they count: those that run something or that open the sandbox. Each is one
// line "key = value", sorted; a table of a list is named by its name, or by its
// number. A file that is not TOML is an error.
func Powerful(data []byte) ([]string, error) {
	var tree map[string]any
	if err := toml.Unmarshal(data, &tree); err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	var out []string
	flatten("", tree, func(key, value string) {
		for _, p := range powerful {
			if key == p || strings.HasPrefix(key, p+".") {
				out = append(out, key+" = "+value)
				return
			}
		}
	})
	return out, nil
}

// flatten visits every value with its dotted key, in the order of the keys.
func flatten(key string, value any, visit func(key, value string)) {
	under := func(part string) string {
		if key == "" {
			return part
		}
		return key + "." + part
	}
	switch v := value.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			flatten(under(k), v[k], visit)
		}
	case []any:
		tables := len(v) > 0 && !slices.ContainsFunc(v, func(e any) bool { _, ok := e.(map[string]any); return !ok })
		if !tables {
			visit(key, inline(v))
			return
		}
		for i, e := range v {
			table, name := maps.Clone(e.(map[string]any)), strconv.Itoa(i+1)
			if n, ok := table["name"].(string); ok && n != "" {
				name = n
				delete(table, "name")
			}
			flatten(under(name), table, visit)
		}
	default:
		visit(key, inline(v))
	}
}

// inline is a value on one line, as TOML writes it.
func inline(value any) string {
	switch v := value.(type) {
	case string:
		return strconv.Quote(v)
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = inline(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(value)
}
