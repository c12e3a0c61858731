package notes

import (
	"strings"
	"unicode/utf8"

	"git-ralph/internal/text"
)

// ActiveInput is what active memory is made of. Every part is a ready text, ""
// for none.
type ActiveInput struct {
	// Phase is the memory of the phase that was just left.
	Phase string
	// Iterations are the last ones, oldest first.
	Iterations []string
	// Session is what the harness captured of the session.
	Session string
	// SessionTitle stands above it; "" = This session.
	SessionTitle string
	// Said is what agents asked to be remembered. It goes last but for the phase.
	Said    string
	Tasks   string
	Metrics string
	Max     int // characters
}

// ActiveMemory joins the parts: previous phase, iterations, session, tasks,
// metrics. Above Max characters it loses whole parts: the oldest iteration
// first, then the younger ones, the session, metrics, tasks, the agents' notes,
// and the previous phase last. A single part above Max is cut.
func ActiveMemory(in ActiveInput) string {
	iterations := append([]string{}, in.Iterations...)
	parts := []*string{&in.Session, &in.Metrics, &in.Tasks, &in.Said}
	for {
		whole := activeText(in, iterations)
		if in.Max <= 0 || utf8.RuneCountInString(whole) <= in.Max {
			return whole
		}
		dropped := false
		if len(iterations) > 0 {
			iterations, dropped = iterations[1:], true
		}
		for i := 0; i < len(parts) && !dropped; i++ {
			if *parts[i] != "" {
				*parts[i], dropped = "", true
			}
		}
		if !dropped {
			return text.Clip(whole, in.Max)
		}
	}
}

func activeText(in ActiveInput, iterations []string) string {
	var parts []string
	add := func(title, text string) {
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, title+"\n\n"+text)
		}
	}
	add("#### Previous phase", in.Phase)
	add("#### Last iterations", strings.Join(iterations, "\n"))
	title := in.SessionTitle
	if title == "" {
		title = "This session"
	}
	add("#### "+title, in.Session)
	add("#### Notes from agents", in.Said)
	add("#### State of the tasks", in.Tasks)
	add("#### Session figures", in.Metrics)
	return strings.Join(parts, "\n\n")
}
