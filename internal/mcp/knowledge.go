package mcp

import (
	"encoding/json"
	"slices"
	"strings"

	"git-ralph/notes"
)

const maxPuts = 500

func putKnowledge() tool {
	var types []string
	for _, t := range notes.KnowledgeTypes() {
		types = append(types, string(t))
	}
	return tool{
		name: "ralph_put_knowledge",
		help: "Add an entry to the project's memory. Entries are append-only: to reword or correct one, add another with a " +
			"new slug that names the old id in supersedes. " +
			"A constraint that says must, must not or never is only ever dropped that way.",
		where: "the agents that keep the project's memory",
		args: object{
			{name: "type", help: "part of the id K-<type>-<slug>", required: true, enum: types},
			{name: "slug", help: "a few words joined by hyphens; made from the text when it is left out", max: 200},
			{name: "text", help: "one fact, in one or two sentences that make sense alone", required: true,
				max: notes.MaxKnowledgeText},
			{name: "source_iterations", help: "the iterations that it comes from; the present one when it is left out",
				kind: kInts, items: 100, min: 1, max: 1 << 30},
			{name: "supersedes", help: "ids of the entries that it replaces", kind: kTexts, items: 50, max: 100},
			{name: "tags", help: "words to find it by", kind: kTexts, items: notes.MaxKnowledgeTags, max: 60}},
		offered: helping,
		run: func(b *Box, v values) (any, error) {
			p := notes.Put{Type: v.text("type"), Slug: v.text("slug"), Text: text(v.text("text")),
				Source:     v.ints("source_iterations"),
				Supersedes: v.texts("supersedes"), Tags: v.texts("tags")}
			if i := slices.IndexFunc(b.puts, func(o notes.Put) bool { return samePut(o, p) }); i >= 0 {
				return put{ID: b.got.Knowledge[i].ID, Recorded: true}, nil
			}
			if len(b.puts) >= maxPuts {
				return nil, refuse("end your run", "%d entries were recorded in this run, more are not taken", maxPuts)
			}
			// All entries of a run are judged together, as they will be when it ends.
			puts := append(slices.Clip(b.puts), p)
			all := notes.Entries(puts, b.scope.Iteration, b.scope.State.Knowledge)
			if err := notes.CheckKnowledge(b.scope.State.Knowledge, all); err != nil {
				return nil,
					several(
						"nothing was recorded: add an entry with a slug of its own, and name the id that it replaces in supersedes",
						strings.Split(err.Error(), "\n"))
			}
			b.puts, b.got.Knowledge = puts, all
			return put{ID: all[len(all)-1].ID, Recorded: true}, nil
		},
	}
}

type put struct {
	ID       string `json:"id"`
	Recorded bool   `json:"recorded"`
}

func samePut(a, b notes.Put) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
