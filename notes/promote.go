package notes

import (
	"bytes"
	"fmt"
	"strings"
)

// PromotedHeading is where promoted entries go in AGENTS.md.
const PromotedHeading = "## Learned Patterns"

// MaxAgentsLines is the length of AGENTS.md above which Promote warns: every
// agent reads all of it in every run.
const MaxAgentsLines = 60

// Promote returns agentsMD with the entry's text as a new item at the end of
// its section "Learned Patterns", which is made when there is none. A text
// that stands there already is not added again. Line ends stay as they are;
// nothing else changes. The warning is "" when there is nothing to say.
func Promote(k Knowledge, agentsMD []byte) ([]byte, string) {
	eol := "\n"
	if bytes.Contains(agentsMD, []byte("\r\n")) {
		eol = "\r\n"
	}
	lines := strings.SplitAfter(string(agentsMD), "\n")
	if n := len(lines); lines[n-1] == "" {
		lines = lines[:n-1]
	} else {
		lines[n-1] += eol
	}
	item := "- " + strings.ReplaceAll(strings.TrimSpace(Clean(k.Text)), "\n", eol+"  ") + eol

	start, end := learnedSection(lines)
	if start < 0 {
		if len(lines) > 0 {
			lines = append(lines, eol)
		}
		lines = append(lines, PromotedHeading+eol, eol, item)
	} else {
		body := strings.Join(lines[start+1:end], "")
		if strings.Contains(strings.ReplaceAll("\n"+body, "\r", ""), "\n"+strings.ReplaceAll(item, "\r", "")) {
			return agentsMD, warnLength(lines)
		}
		at := end
		for at > start+1 && strings.TrimSpace(lines[at-1]) == "" {
			at--
		}
		add := []string{item}
		if at == start+1 {
			add = []string{eol, item}
		}
		if at == end && end < len(lines) {
			add = append(add, eol)
		}
		lines = append(lines[:at], append(add, lines[at:]...)...)
	}
	out := strings.Join(lines, "")
	return []byte(out), warnLength(strings.SplitAfter(strings.TrimSuffix(out, "\n"), "\n"))
}

func warnLength(lines []string) string {
	if len(lines) <= MaxAgentsLines {
		return ""
	}
	return fmt.Sprintf("AGENTS.md has %d lines, more than %d: every agent reads all of it in every run", len(lines),
		MaxAgentsLines)
}

// learnedSection returns the line of the heading and the line behind the
// section, -1 when there is none. Headings inside fenced code do not count.
func learnedSection(lines []string) (start, end int) {
	start = -1
	fenced := false
	for i, l := range lines {
		t := strings.TrimSpace(l)
		if strings.HasPrefix(t, "```") || strings.HasPrefix(t, "~~~") {
			fenced = !fenced
		}
		if fenced || !strings.HasPrefix(l, "# ") && !strings.HasPrefix(l, "## ") {
			continue
		}
		if start >= 0 {
			return start, i
		}
		if strings.EqualFold(t, PromotedHeading) {
			start = i
		}
	}
	return start, len(lines)
}
