package exchange

import (
	"fmt"
	"strings"

	"git-ralph/plan"
)

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
func exportIssues(p plan.Plan) []issueJSON {
	out := []issueJSON{}
	number := numbers(p)
	for i := range p.Tasks {
		t := &p.Tasks[i]
		var b strings.Builder
		b.WriteString(t.Description + openFence(t.Description, "\n"))
		box := "- [ ] "
		state := "OPEN"
		if t.Status == plan.Done || t.Status == plan.Skipped {
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
