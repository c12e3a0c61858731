package plan

import (
	"fmt"
	"strings"
)

// Problem is one thing that is wrong, or doubtful, in a plan.
type Problem struct {
	// Source is the file as the user named it; empty when there is none.
	Source string
	// Line in Source, from 1; 0 when it is not known.
	Line int
	// Task the problem belongs to; empty when it is about the whole.
	Task TaskID
	// Text is the whole sentence, the task's id included.
	Text string
	// Warning reports whether the plan can be used all the same.
	Warning bool

	Hint string
}

// String is "plan.toml:12: T-003 depends on T-009, which is not in the plan".
func (p Problem) String() string {
	switch {
	case p.Source == "":
		return p.Text
	case p.Line > 0:
		return fmt.Sprintf("%s:%d: %s", p.Source, p.Line, p.Text)
	default:
		return p.Source + ": " + p.Text
	}
}

// Problems is every problem of a plan at once, in the order of the file. As an
// error it is one sentence when there is one, else a count and one line each,
// maxShown at most.
type Problems []Problem

// maxShown is how many problems a message lists: more than anyone repairs by hand.
const maxShown = 200

func (ps Problems) Error() string {
	errs := ps.Errors()
	if len(errs) == 1 {
		return errs[0].String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the plan has %d problems", len(errs))
	for i, p := range errs {
		if i == maxShown {
			fmt.Fprintf(&b, "\n  and %d more", len(errs)-i)
			break
		}
		b.WriteString("\n  ")
		b.WriteString(p.String())
	}
	return b.String()
}

// Hint is the one next move for all of them.
func (ps Problems) Hint() string {
	hint := ""
	for _, p := range ps.Errors() {
		if p.Hint == "" || hint != "" && p.Hint != hint {
			return "fix these places and try again; nothing was changed"
		}
		hint = p.Hint
	}
	return hint
}

// Errors are the problems that are not warnings.
func (ps Problems) Errors() Problems {
	var out Problems
	for _, p := range ps {
		if !p.Warning {
			out = append(out, p)
		}
	}
	return out
}

// Warnings are the others.
func (ps Problems) Warnings() Problems {
	var out Problems
	for _, p := range ps {
		if p.Warning {
			out = append(out, p)
		}
	}
	return out
}

// Err is ps as an error, nil when there are at most warnings.
func (ps Problems) Err() error {
	if len(ps.Errors()) == 0 {
		return nil
	}
	return ps
}

// Places says where in a file the tasks of a plan stand, so that a problem can
// name the line. The zero value knows no lines.
type Places struct {
	// Source is the file's name as problems show it.
	Source string

	Tasks []Place // as the plan's Tasks
}

// Place is where one task of a file stands.
type Place struct {
	ID     TaskID
	Line   int
	Fields map[string]int // line of a field, by its name in Task
}

// Line is where the field of the i-th task stands, else the task, else 0.
func (p Places) Line(i int, field string) int {
	if i < 0 || i >= len(p.Tasks) {
		return 0
	}
	if line, ok := p.Tasks[i].Fields[field]; ok {
		return line
	}
	return p.Tasks[i].Line
}

// For orders the places for another plan that holds tasks of the same file,
// for example the one they were merged into. Tasks of elsewhere get no line.
func (p Places) For(other Plan) Places {
	byID := make(map[string]Place, len(p.Tasks))
	for _, t := range p.Tasks {
		if _, twice := byID[Fold(t.ID)]; !twice {
			byID[Fold(t.ID)] = t
		}
	}
	out := Places{Source: p.Source, Tasks: make([]Place, len(other.Tasks))}
	for i, t := range other.Tasks {
		out.Tasks[i] = byID[Fold(t.ID)]
	}
	return out
}

func (p Places) problem(i int, field string, task TaskID, format string, args ...any) Problem {
	return Problem{Source: p.Source, Line: p.Line(i, field), Task: task, Text: fmt.Sprintf(format, args...)}
}
