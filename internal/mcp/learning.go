package mcp

import (
	"slices"

	"git-ralph/loop/session"
	"git-ralph/notes"
)

// maxRecords bounds what one run can record of one kind. Every later agent
// reads what is recorded, so a run that has more to say than this has said
// nothing.
const maxRecords = 100

func appendLearning() tool {
	return tool{
		name: "ralph_append_learning",
		help: "Record something that later iterations on this project should know. It is kept whatever becomes of this " +
			"iteration.",
		where: "every run",
		args: object{
			{name: "learning", help: "one fact, in one or two sentences that make sense alone", required: true,
				max: notes.MaxKnowledgeText},
			{name: "category", help: "what kind of fact it is", kind: kText, required: true, enum: notes.Categories()}},
		offered: everyone,
		run: func(b *Box, v values) (any, error) {
			l := session.Learning{Text: text(v.text("learning")), Category: v.text("category")}
			// The limit of an entry is in bytes.
			if len(l.Text) > notes.MaxKnowledgeText {
				return nil, refuse("say it in one or two sentences", "learning has %d bytes, at most %d are taken",
					len(l.Text), notes.MaxKnowledgeText)
			}
			_, fresh, err := notes.Learn(l.Category, l.Text, b.scope.Iteration, b.taskID(), b.scope.State.Knowledge)
			if err != nil {
				return nil, refuse("say what was learned, in words", "%v", err)
			}
			if !fresh || slices.Contains(b.got.Learnings, l) {
				return learned{Recorded: true, Known: true}, nil
			}
			if len(b.got.Learnings) >= maxRecords {
				return nil, refuse("put the rest into the handoff",
					"%d learnings were recorded in this run, more are not taken", maxRecords)
			}
			b.got.Learnings = append(b.got.Learnings, l)
			return learned{Recorded: true}, nil
		},
	}
}

type learned struct {
	Recorded bool `json:"recorded"`
	// Known reports whether the project's knowledge says so already.
	Known bool `json:"already_known"`
}

func (b *Box) taskID() string {
	if b.scope.Task == nil {
		return ""
	}
	return string(b.scope.Task.ID)
}
