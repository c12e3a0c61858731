package cli

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	agentctx "git-ralph/context"
	"git-ralph/internal/view"
)

// MemoryCmd is `git ralph memory`.
type MemoryCmd struct {
	Show  bool `help:"Print what the next agent is reminded of (the default)."`
	Stats bool `help:"Print how large each part is."`
	JSON  bool `name:"json" help:"Print one object."`
}

// memoryDoc is `memory --json`.
type memoryDoc struct {
	Active    string          `json:"active"`
	Chars     int             `json:"chars"`
	Limit     int             `json:"limit"`
	Texts     []memoryTextDoc `json:"texts"`
	Handoffs  int             `json:"recent_handoffs"`
	Knowledge map[string]int  `json:"knowledge"`
	Guidance  int             `json:"guidance"`
}

type memoryTextDoc struct {
	Name  string `json:"name"`
	Chars int    `json:"chars"`
	Text  string `json:"text"`
}

// Run shows the memory.
func (c *MemoryCmd) Run(a *App) error {
	snap, err := a.Load()
	if err != nil {
		return err
	}
	set, err := a.Settings(nil, nil)
	if err != nil {
		return err
	}
	s := snap.State
	d := memoryDoc{Limit: set.Context.MemoryChars, Texts: []memoryTextDoc{}, Handoffs: len(s.Recent),
		Knowledge: map[string]int{"superseded": 0}, Guidance: len(s.Guidance)}
	d.Active = agentctx.ActiveMemory(s, agentctx.Options{MemoryChars: set.Context.MemoryChars})
	d.Chars = utf8.RuneCountInString(d.Active)
	for name, text := range s.Memory {
		d.Texts = append(d.Texts, memoryTextDoc{name, utf8.RuneCountInString(text), text})
	}
	sort.Slice(d.Texts, func(i, j int) bool { return d.Texts[i].Name < d.Texts[j].Name })
	for _, k := range s.Knowledge {
		if k.Live() {
			d.Knowledge[string(k.Type)]++
		} else {
			d.Knowledge["superseded"]++
		}
	}
	switch {
	case c.JSON:
		return a.printJSON(d)
	case c.Stats:
		rows := [][]string{{"active memory", fmt.Sprintf("%d of %d characters", d.Chars, d.Limit)}}
		for _, t := range d.Texts {
			rows = append(rows, []string{"memory of the " + strings.ReplaceAll(t.Name, "-", " "),
				fmt.Sprintf("%d characters", t.Chars)})
		}
		rows = append(rows, []string{"recent handoffs", fmt.Sprint(d.Handoffs)})
		var parts []string
		for name, n := range d.Knowledge {
			if n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", n, name))
			}
		}
		sort.Strings(parts)
		if len(parts) == 0 {
			parts = []string{"none"}
		}
		rows = append(rows, []string{"knowledge", strings.Join(parts, ", ")})
		if d.Guidance > 0 {
			rows = append(rows, []string{"guidance of yours", view.Plural(d.Guidance, "note")})
		}
		a.printer().Table(rows)
		return nil
	}
	defer a.page()()
	if d.Active == "" && len(d.Texts) == 0 {
		a.printf("nothing is remembered yet\n")
		return nil
	}
	a.printf("%s\n", strings.TrimRight(d.Active, "\n"))
	for _, t := range d.Texts {
		a.printf("\n%s\n\n%s\n", a.colour(a.Out, "1", "memory/"+t.Name+".md"), strings.TrimRight(t.Text, "\n"))
	}
	return nil
}
