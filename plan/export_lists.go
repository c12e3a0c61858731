package plan

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

type taskMasterJSON struct {
	Master struct {
		Tasks    []taskMasterTask `json:"tasks"`
		Metadata struct {
			Created     *time.Time `json:"created,omitempty"`
			Description string     `json:"description,omitempty"`
		} `json:"metadata"`
	} `json:"master"`
}

type taskMasterTask struct {
	ID           int                 `json:"id"`
	Title        string              `json:"title"`
	Description  string              `json:"description"`
	Details      string              `json:"details"`
	TestStrategy string              `json:"testStrategy"`
	Priority     string              `json:"priority"`
	Status       string              `json:"status"`
	Dependencies []int               `json:"dependencies"`
	Subtasks     []struct{}          `json:"subtasks"`
	Metadata     *taskMasterMetadata `json:"metadata,omitempty"`
}

// taskMasterMetadata is where task-master keeps what users add to a task.
type taskMasterMetadata struct {
	ID TaskID `json:"git_ralph_id"`
}

func exportTaskMaster(p Plan) taskMasterJSON {
	var out taskMasterJSON
	out.Master.Tasks = []taskMasterTask{}
	out.Master.Metadata.Description = oneLine(p.Goal)
	out.Master.Metadata.Created = jsonTime(p.Created)
	number := numbers(p)
	for i := range p.Tasks {
		t := &p.Tasks[i]
		w := taskMasterTask{
			ID: number[t.ID], Title: t.Title, Description: t.Description, TestStrategy: bullets(proofs(t, true)),
			Dependencies: []int{}, Subtasks: []struct{}{},
		}
		if fmt.Sprint(w.ID) != string(t.ID) {
			w.Metadata = &taskMasterMetadata{ID: t.ID}
		}
		for _, dep := range t.DependsOn {
			if n, ok := number[dep]; ok {
				w.Dependencies = append(w.Dependencies, n)
			}
		}
		switch {
		case t.Priority <= 1:
			w.Priority = "high"
		case t.Priority == 2:
			w.Priority = "medium"
		default:
			w.Priority = "low"
		}
		switch t.Status {
		case InProgress:
			w.Status = "in-progress"
		case Done:
			w.Status = "done"
		case Blocked:
			w.Status = "blocked"
		case Skipped:
			w.Status = "cancelled"
		default:
			w.Status = "pending"
		}
		out.Master.Tasks = append(out.Master.Tasks, w)
	}
	return out
}

type issueJSON struct {
	Number int         `json:"number"`
	Title  string      `json:"title"`
	Body   string      `json:"body"`
	Labels []labelJSON `json:"labels"`
	State  string      `json:"state"`
}

type labelJSON struct {
	Name string `json:"name"`
}

// exportIssues writes what `gh issue list --json number,title,body,labels,state`
// prints, so that a script can make issues of it.
func exportIssues(p Plan) []issueJSON {
	out := []issueJSON{}
	number := numbers(p)
	for i := range p.Tasks {
		t := &p.Tasks[i]
		var b strings.Builder
		b.WriteString(t.Description + openFence(t.Description, "\n"))
		box := "- [ ] "
		state := "OPEN"
		if t.Status == Done || t.Status == Skipped {
			box, state = "- [x] ", "CLOSED"
		}
		for n, c := range proofs(t, true) {
			if n == 0 && b.Len() > 0 {
				b.WriteString("\n\n")
			}
			b.WriteString(box + c + "\n")
		}
		w := issueJSON{
			Number: number[t.ID], Title: t.Title, Body: strings.TrimRight(b.String(), "\n"),
			Labels: []labelJSON{}, State: state,
		}
		if t.Priority >= 0 && t.Priority <= 9 && t.Priority != 1 {
			w.Labels = append(w.Labels, labelJSON{fmt.Sprintf("priority:%d", t.Priority)})
		}
		out = append(out, w)
	}
	return out
}

// exportMarkdown writes a checklist that a person would write: the box, the id
// in bold, below it the text, boxes for criteria, and the few facts that decide
// the order of work as bullets.
func exportMarkdown(p Plan) []byte {
	var b bytes.Buffer
	if p.Goal != "" {
		b.WriteString("# " + oneLine(p.Goal) + "\n\n")
	}
	for i := range p.Tasks {
		t := &p.Tasks[i]
		box := "- [ ] "
		if t.Status == Done || t.Status == Skipped {
			box = "- [x] "
		}
		head := "**" + string(t.ID) + "** " + oneLine(t.Title)
		if id, title := cutTaskID(head); id == t.ID && title == oneLine(t.Title) {
			b.WriteString(box + head + "\n")
		} else { // an id that would not be taken for one
			b.WriteString(box + oneLine(t.Title) + "\n  - id: " + string(t.ID) + "\n")
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
		return oneLine(s)
	}
	return s
}

// openFence is the mark that closes a code block which text leaves open, so
// that what follows is not read as part of it; after sep, when there is one.
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
