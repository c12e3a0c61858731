package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"git-ralph/guard/sandbox"
	"git-ralph/internal/agent"
)

// KeepLogin copies the client's login back into the home folder when the client
// has renewed it inside: what it had is of no use any more. Nothing else of the
// sandbox's home ever comes back.
func (b *boundary) KeepLogin() error {
	rel := agent.LoginOf(b.set.Agent.Driver).File
	if rel == "" || b.base.Home == "" || b.report.Mechanism == sandbox.None {
		return nil
	}
	_, err := sandbox.ReturnCredential(b.base.Home, b.uppers[true], rel, func(renewed []byte) error {
		now, err := os.ReadFile(filepath.Join(b.base.Home, rel))
		if err != nil {
			return err
		}
		return sameShape(now, renewed)
	})
	return err
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
			return fmt.Errorf("%q is no text any more", at)
		}
	case float64:
		if _, ok := b.(float64); !ok {
			return fmt.Errorf("%q is no number any more", at)
		}
	case bool:
		if _, ok := b.(bool); !ok {
			return fmt.Errorf("%q is no yes or no any more", at)
		}
	case []any:
		if _, ok := b.([]any); !ok {
			return fmt.Errorf("%q is no list any more", at)
		}
	}
	return nil
}
