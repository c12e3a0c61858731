package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"git-ralph/guard/sandbox"
	"git-ralph/internal/agent"
	"git-ralph/internal/config"
)

// KeepLogin copies a login that a client renewed in the sandbox back into the
// home folder, for each client that may have run: the old login is useless then.
// Nothing else of the sandbox's home ever comes back.
func (b *boundary) KeepLogin() error {
	if b.base.Home == "" || b.report.Mechanism == sandbox.None {
		return nil
	}
	var problems []error
	for _, driver := range drivers(b.set) {
		rel := agent.LoginOf(driver).File
		if rel == "" {
			continue
		}
		_, err := sandbox.ReturnCredential(b.base.Home, b.uppers[true], rel, func(renewed []byte) error {
			now, err := os.ReadFile(filepath.Join(b.base.Home, rel))
			if err != nil {
				return err
			}
			return sameShape(now, renewed)
		})
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// drivers are those whose clients may run with these settings.
func drivers(set *config.Resolved) []string {
	out := []string{set.Agent.Driver}
	if set.Agent.OnLimit == "fallback" {
		out = append(out, set.Agent.FallbackDriver)
	}
	for _, r := range set.Agent.Roles {
		out = append(out, r.Driver)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sameShape accepts a login that has the fields of the one it replaces, of the
// same kinds, and no others: new values, nothing more.
func sameShape(now, renewed []byte) error {
	var a, b any
	if json.Unmarshal(now, &a) != nil || json.Unmarshal(renewed, &b) != nil {
		return errors.New("it is not JSON")
	}
	if _, ok := a.(map[string]any); !ok {
		return errors.New("it is no object")
	}
	return alike("", a, b)
}

func alike(at string, a, b any) error {
	switch a := a.(type) {
	case map[string]any:
		other, ok := b.(map[string]any)
		if !ok || len(a) != len(other) {
			return fmt.Errorf("%q has other fields", at)
		}
		for name, v := range a {
			w, ok := other[name]
			if !ok {
				return fmt.Errorf("%q is missing", at+"/"+name)
			}
			if err := alike(at+"/"+name, v, w); err != nil {
				return err
			}
		}
	case string:
		if s, ok := b.(string); !ok || s == "" && a != "" {
			return fmt.Errorf("%q is no longer a text", at)
		}
	case float64:
		if _, ok := b.(float64); !ok {
			return fmt.Errorf("%q is no longer a number", at)
		}
	case bool:
		if _, ok := b.(bool); !ok {
			return fmt.Errorf("%q is no longer true or false", at)
		}
	case []any:
		if _, ok := b.([]any); !ok {
			return fmt.Errorf("%q is no longer a list", at)
		}
	}
	return nil
}
