package exchange

import (
	"bytes"
	"fmt"
	"strings"

	"git-ralph/internal/text"
	"git-ralph/plan"
)

// exportMarkdown writes a checklist as a person would: the box, the id in bold,
// below it the text, boxes for criteria, and bullets for the few facts that
// decide the order of work.
func exportMarkdown(p plan.Plan) []byte {
	var b bytes.Buffer
	if p.Goal != "" {
		b.WriteString("# " + text.OneLine(p.Goal) + "\n\n")
	}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		box := "- [ ] "
		if t.Status == plan.Done || t.Status == plan.Skipped {
			box = "- [x] "
		}
		head := "**" + string(t.ID) + "** " + text.OneLine(t.Title)
		if id, title := cutTaskID(head); id == t.ID && title == text.OneLine(t.Title) {
			b.WriteString(box + head + "\n")
		} else { // an id that would not be taken for one
			b.WriteString(box + text.OneLine(t.Title) + "\n  - id: " + string(t.ID) + "\n")
		}
		if t.Priority != 1 {
			fmt.Fprintf(&b, "  - priority: %d\n", t.Priority)
		}
		if len(t.DependsOn) > 0 {
			names := make([]string, len(t.DependsOn))
			for i, id := range t.DependsOn {
				names[i] = string(id)
			}
			b.WriteString("  - depends on: " + strings.Join(names, ", ") + "\n")
		}
		for _, c := range t.Criteria {
			b.WriteString("  " + box + flat(c) + "\n")
		}
		for _, v := range t.Verify {
			if !strings.Contains(v, "\n") { // joined lines would be another command
				b.WriteString("  - verify: " + codeSpan(v) + "\n")
			}
		}
		if t.Description != "" {
			b.WriteByte('\n')
			for line := range strings.SplitSeq(strings.TrimRight(t.Description, "\n"), "\n") {
				if strings.TrimSpace(line) != "" {
					b.WriteString("  " + line)
				}
				b.WriteByte('\n')
			}
			if mark := openFence(t.Description, ""); mark != "" {
				b.WriteString("  " + mark + "\n")
			}
		}
		if t.Description != "" && i+1 < len(p.Tasks) {
			b.WriteByte('\n')
		}
	}
	return b.Bytes()
}

// codeSpan puts s between as many back-ticks as it needs.
func codeSpan(s string) string {
	if !strings.Contains(s, "`") {
		return "`" + s + "`"
	}
	longest, run := 0, 0
	for _, c := range s {
		if c == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	ticks := strings.Repeat("`", longest+1)
	return ticks + " " + s + " " + ticks
}

// flat is s on one line, untouched when it is.
func flat(s string) string {
	if strings.Contains(s, "\n") {
		return text.OneLine(s)
	}
	return s
}

// openFence is the mark that closes a code block left open by text, so that
// what follows is not part of it; it follows sep.
func openFence(text, sep string) string {
	fence := ""
	for line := range strings.SplitSeq(text, "\n") {
		fence = fenceAfter(fence, line)
	}
	if fence == "" {
		return ""
	}
	return sep + fence
}
