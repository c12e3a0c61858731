package mcp

import (
	"encoding/json"
	"slices"

	"git-ralph/loop/session"
	"git-ralph/notes"
	"git-ralph/plan"
)

func submitHandoff() tool {
	return tool{
		name: "ralph_submit_handoff",
		help: "Leave the handoff of this run for the next one. The arguments are the handoff itself. The last valid one " +
			"counts. " +
			"freeform is what matters most: brief a colleague who picks up tomorrow.",
		where:    "an agent that works for a phase",
		describe: func(session.Scope) json.RawMessage { return handoffSchema() },
		offered:  working,
		run: func(b *Box, v values) (any, error) {
			raw := unwrap(v.raw, "handoff")
			h, problems := notes.ParseHandoff(raw)
			if len(problems) > 0 {
				b.keepHandoff(raw, refusedHandoff)
				list := make([]string, len(problems))
				for i, p := range problems {
					list[i] = p.String()
				}
				return nil,
					several("fix it and submit it again, whole; the file named by $RALPH_HANDOFF_FILE is another way", list)
			}
			if id := h.TaskCompleted.TaskID; b.scope.Task != nil && id != "" {
				if _, err := b.current(id); err != nil {
					b.keepHandoff(raw, refusedHandoff)
					return nil, err
				}
			}
			b.keepHandoff(raw, acceptedHandoff)
			return handedOver{Recorded: true, Amendments: b.amendments(h.PlanAmendments)}, nil
		},
	}
}

type handedOver struct {
	Recorded bool `json:"recorded"`
	// Amendments is what would become of the proposed ones as the plan stands now.
	Amendments []plan.AmendResult `json:"amendments,omitempty"`
}

// handoffState says whether a handoff counts.
type handoffState bool

const (
	acceptedHandoff handoffState = true
	refusedHandoff  handoffState = false
)

// keepHandoff stores a handoff as it came. One that was refused is stored only
// while there is none, so that the harness can name what is wrong with it.
func (b *Box) keepHandoff(raw json.RawMessage, valid handoffState) {
	if valid == acceptedHandoff || !b.handoffValid {
		b.got.Handoff = slices.Clone(raw)
		b.handoffValid = bool(valid)
	}
}

func (b *Box) amendments(list []json.RawMessage) []plan.AmendResult {
	if len(list) == 0 || b.scope.Task == nil {
		return nil
	}
	batch := make([]plan.Amendment, len(list))
	for i, raw := range list {
		// What cannot be read stays empty and is refused by Amend with the reason.
		if json.Unmarshal(raw, &batch[i]) != nil {
			batch[i] = plan.Amendment{}
		}
	}
	_, results := plan.Amend(b.scope.State.Plan, b.scope.Task.ID, batch)
	return results
}

// unwrap is the value of the only member when it has the given name: some
// clients put the document into an argument of that name.
func unwrap(raw json.RawMessage, name string) json.RawMessage {
	if m, err := topLevel(raw); err == nil && len(m.keys) == 1 && m.keys[0] == name {
		return m.values[name]
	}
	return raw
}

// handoffSchema is the handoff's schema as arguments. Keys that only documents
// have are left out: some clients refuse tools whose schema names a dialect.
func handoffSchema() json.RawMessage {
	var doc map[string]any
	raw := notes.HandoffSchema()
	if json.Unmarshal(raw, &doc) != nil {
		return raw
	}
	delete(doc, "$schema")
	delete(doc, "title")
	return encode(doc)
}
