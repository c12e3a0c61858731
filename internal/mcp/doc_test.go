package mcp

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"git-ralph/loop/session"
)

// reference is the part of doc/tools.md that comes from the code: the arguments,
// and who is offered which tool.
func reference(t *testing.T) string {
	names := []string{"coding", "discovery", "planning", "validation", "context-prep", "context-post", "indexer", "pass"}
	var b strings.Builder
	fmt.Fprintf(&b, "| tool | %s |\n|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	for _, tool := range allTools() {
		fmt.Fprintf(&b, "| `%s` |", tool.name)
		for _, name := range names {
			mark := ""
			if tool.offered(scope(roleNamed(t, name))) {
				mark = "yes"
			} else if s := scope(roleNamed(t, "coding that may ask")); name == "coding" && tool.offered(s) {
				mark = "if `agent.ask`"
			}
			fmt.Fprintf(&b, " %s |", mark)
		}
		b.WriteByte('\n')
	}
	for _, tool := range allTools() {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", tool.name, tool.help)
		if len(tool.args) > 0 {
			b.WriteByte('\n')
		}
		for _, f := range tool.args {
			need := ""
			if f.required {
				need = ", required"
			}
			fmt.Fprintf(&b, "- `%s` (%s%s): %s\n", f.name, kindName(f), need, f.help)
		}
	}
	return b.String()
}

func kindName(f field) string {
	switch {
	case f.enum != nil:
		return strings.Join(f.enum, " or ")
	case f.kind == kInt:
		return "whole number"
	case f.kind == kBool:
		return "true or false"
	case f.kind == kTexts:
		return fmt.Sprintf("list of at most %d texts", f.items)
	case f.kind == kInts:
		return fmt.Sprintf("list of at most %d whole numbers", f.items)
	case f.cut:
		return fmt.Sprintf("text, %d characters are kept", f.max)
	}
	return fmt.Sprintf("text of at most %d characters", f.max)
}

// TestDocumented: doc/tools.md says what the code does. MCP_UPDATE_DOC=1 writes it.
func TestDocumented(t *testing.T) {
	const file, begin = "../../doc/tools.md", "## The tools\n\n"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, tail, found := strings.Cut(strings.ReplaceAll(string(data), "\r\n", "\n"), begin)
	want := reference(t)
	if found && os.Getenv("MCP_UPDATE_DOC") != "" {
		if err := os.WriteFile(file, []byte(head+begin+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if tail != want {
		t.Errorf("%s does not say what the code does; run the test with MCP_UPDATE_DOC=1", file)
	}
	for _, name := range []string{SocketVar, TokenVar, string(session.RoleIndexer)} {
		if !strings.Contains(head+tail, name) {
			t.Errorf("%s does not name %s", file, name)
		}
	}
}
