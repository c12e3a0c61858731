package mcp

import (
	"slices"

	"git-ralph/notes"
)

func updateMemory() tool {
	return tool{
		name: "ralph_update_memory",
		help: "Add a note to the memory of this session, which later agents of the session are shown. At most 2,000 " +
			"characters are kept of one note. " +
			"The harness remembers what happened by itself; use this for what it cannot see.",
		where:   "every run",
		args:    object{{name: "content", help: "the note", required: true, max: notes.MaxUpdate, cut: true}},
		offered: everyone,
		run: func(b *Box, v values) (any, error) {
			note, cut := cutRunes(text(v.text("content")), notes.MaxUpdate)
			if note == "" {
				return nil, refuse("say what shall be remembered", "content is empty")
			}
			answer := remembered{Recorded: true, Characters: len([]rune(note)), Cut: cut}
			if slices.Contains(b.got.Memory, note) {
				return answer, nil
			}
			if len(b.got.Memory) >= maxRecords {
				return nil, refuse("put the rest into the handoff",
					"%d notes were recorded in this run, more are not taken", maxRecords)
			}
			b.got.Memory = append(b.got.Memory, note)
			return answer, nil
		},
	}
}

type remembered struct {
	Recorded   bool `json:"recorded"`
	Characters int  `json:"characters"`
	Cut        bool `json:"cut"`
}
