package config

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode"

	"git-ralph/internal/proc"
)

// FuzzLoad: for any sources Load returns settings that can be listed, hashed and
// read back, or problems with a text and without control characters.
func FuzzLoad(f *testing.F) {
	design, err := os.ReadFile("testdata/design.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(design), "ralph.loop.maxIterations\n20\x00", "loop.delay", "5s", "RALPH_MODE", "handoff-only")
	f.Add("[[checks]]\nname='a'\nrun='b'\n[[checks.x]]\n", "ralph.guard.deny\na\x00ralph.guard.deny\x00", "checks", "[",
		"RALPH_VALIDATION_COMMANDS", "a\nb")
	f.Add("a.b.c = [[[[{d.e = 1979-05-27}]]]]\n", "ralph.pricing.a.b.input\n1e30\x00", "agent.command", "'",
		"RALPH_AGENT_ROLES__MODEL", "x")
	f.Add("[mcp.\"${A}\"]\nenv = {A = \"${B}\"}\n", "ralph.mcp..env\nA\x00", "limits.total_usd", "1e-30",
		"RALPH_LIMITS_TOTAL_USD", "1e309")
	f.Fuzz(func(t *testing.T, text, git, key, value, env, envValue string) {
		src := Sources{
			Files: file(text),
			Run:   map[string]string{key: value},
			Env:   map[string]string{env: envValue, "A": "x", "B": "y\n"},
		}
		for entry := range strings.SplitSeq(git, "\x00") {
			key, value, has := strings.Cut(entry, "\n")
			src.Git = append(src.Git, proc.Setting{Key: key, Value: value, Bare: !has})
		}
		for _, flags := range []map[string]string{nil, {key: value}} {
			src.Flags = flags
			r, err := Load(src)
			if err != nil {
				for _, line := range strings.Split(err.Error(), "\n") {
					if line == "" || strings.ContainsFunc(line, unicode.IsControl) {
						t.Fatalf("a problem that is no line of text in %q", err)
					}
				}
				continue
			}
			again, err := Load(src)
			if err != nil || again.Hash != r.Hash || strings.Join(again.Warnings, "\n") != strings.Join(r.Warnings, "\n") {
				t.Fatalf("the same sources gave something else: %v", err)
			}
			if strings.ContainsFunc(strings.Join(r.Warnings, ""), unicode.IsControl) {
				t.Fatalf("warnings %q", r.Warnings)
			}
			for _, e := range r.List() {
				if _, err := json.Marshal(e); err != nil {
					t.Fatalf("%s: %v", e.Key, err)
				}
			}
		}
	})
}

// FuzzRoundTrip: a string that is accepted as a goal or command is written so
// that TOML reads the same string back.
func FuzzRoundTrip(f *testing.F) {
	f.Add("plain", "a\nb")
	f.Add(`"\`, "\x1b[0m\u0085\ufeff")
	f.Fuzz(func(t *testing.T, goal, setup string) {
		r, err := Load(Sources{Env: map[string]string{"RALPH_PROJECT_GOAL": goal, "RALPH_PROJECT_SETUP": setup}})
		if err != nil {
			return
		}
		var text strings.Builder
		for _, e := range r.List()[:2] {
			text.WriteString(strings.ReplaceAll(e.Text(), "${", "$${") + "\n")
		}
		back, err := Load(Sources{Files: file(text.String())})
		if err != nil {
			t.Fatalf("%v in %q", err, text.String())
		}
		if back.Project.Goal != r.Project.Goal {
			t.Fatalf("goal %q came back as %q", r.Project.Goal, back.Project.Goal)
		}
	})
}
