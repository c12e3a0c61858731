package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text"
	"git-ralph/internal/view"
	"git-ralph/notes"
)

// KnowledgeCmd is `git ralph knowledge`.
type KnowledgeCmd struct {
	List      KnowledgeListCmd      `cmd:"" default:"withargs" help:"List what is known (the default)."`
	Show      KnowledgeShowCmd      `cmd:"" help:"Print an entry."`
	Add       KnowledgeAddCmd       `cmd:"" help:"Add an entry."`
	Supersede KnowledgeSupersedeCmd `cmd:"" help:"Put a new text in the place of an entry; the old one stays on record."`
	Search    KnowledgeSearchCmd    `cmd:"" help:"Find entries by words."`
	Promote   KnowledgePromoteCmd   `cmd:"" help:"Write an entry into AGENTS.md, for you to commit."`
}

// KnowledgeListCmd is `git ralph knowledge list`.
type KnowledgeListCmd struct {
	Type string `placeholder:"TYPE" help:"constraint, decision, pattern, gotcha or unresolved."`
	All  bool   `help:"Superseded entries, too."`
	JSON bool   `name:"json" help:"Print an array."`
}

// Run lists entries.
func (c *KnowledgeListCmd) Run(a *App) error {
	if c.Type != "" {
		if _, err := knowledgeType(c.Type); err != nil {
			return err
		}
	}
	snap, err := a.Load()
	if err != nil {
		return err
	}
	shown := []notes.Knowledge{}
	for _, t := range notes.KnowledgeTypes() {
		for _, k := range snap.State.Knowledge {
			if k.Type == t && (c.All || k.Live()) && (c.Type == "" || strings.EqualFold(c.Type, string(k.Type))) {
				shown = append(shown, k)
			}
		}
	}
	return a.listKnowledge(shown, c.JSON,
		"nothing is known yet: agents add what they learn, and git ralph knowledge add does")
}

func (a *App) listKnowledge(shown []notes.Knowledge, asJSON bool, none string) error {
	if asJSON {
		for i := range shown {
			shown[i].Source = view.List(shown[i].Source)
		}
		return a.printJSON(view.List(shown))
	}
	if len(shown) == 0 {
		a.printf("%s\n", none)
		return nil
	}
	defer a.page()()
	var rows [][]string
	for _, k := range shown {
		id := k.ID
		switch {
		case !k.Live():
			id = a.colour(a.Out, "2", id+" (superseded)")
		case k.Hard():
			id = a.colour(a.Out, "31", id)
		}
		rows = append(rows, []string{id, text.Clip(notes.OneLine(k.Text, 200), 100)})
	}
	a.printer().Table(rows)
	return nil
}

func knowledgeType(name string) (notes.KnowledgeType, error) {
	t := notes.KnowledgeType(strings.ToLower(strings.TrimSpace(name)))
	if slices.Contains(notes.KnowledgeTypes(), t) {
		return t, nil
	}
	return "", usage("types: constraint, decision, pattern, gotcha, unresolved", "%q is no type of knowledge", name)
}

// findKnowledge finds an entry by its id; the leading K- may be left out.
func findKnowledge(all []notes.Knowledge, id string) (notes.Knowledge, error) {
	for _, k := range all {
		if strings.EqualFold(k.ID, id) || strings.EqualFold(k.ID, "K-"+id) {
			return k, nil
		}
	}
	var near []string
	for _, k := range all {
		if strings.Contains(strings.ToLower(k.ID), strings.ToLower(id)) ||
			distance(strings.ToLower(k.ID), strings.ToLower(id)) <= 3 {
			near = append(near, k.ID)
		}
	}
	hint := "git ralph knowledge lists them"
	if len(near) > 0 {
		hint = "did you mean " + strings.Join(near[:min(3, len(near))], ", ") + "? " + hint
	}
	return notes.Knowledge{}, gitstate.Hint(1, hint, "there is no entry %s", id)
}

// KnowledgeShowCmd is `git ralph knowledge show`.
type KnowledgeShowCmd struct {
	ID   string `complete:"knowledge" arg:"" name:"id" help:"The entry."`
	JSON bool   `name:"json" help:"Print an object."`
}

// Run prints an entry.
func (c *KnowledgeShowCmd) Run(a *App) error {
	snap, err := a.Load()
	if err != nil {
		return err
	}
	k, err := findKnowledge(snap.State.Knowledge, c.ID)
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(k)
	}
	a.printf("%s\n", a.colour(a.Out, "1", k.ID))
	var rows [][]string
	row := func(name, text string) {
		if text != "" {
			rows = append(rows, []string{"  " + name, text})
		}
	}
	row("status", k.Status)
	if k.Hard() {
		row("hard", "stays until an entry supersedes it")
	}
	var from []string
	for _, n := range k.Source {
		from = append(from, "iteration "+strconv.Itoa(n))
	}
	row("from", strings.Join(from, ", "))
	row("task", k.Task)
	row("tags", strings.Join(k.Tags, ", "))
	row("supersedes", strings.Join(k.Supersedes, ", "))
	for _, other := range snap.State.Knowledge {
		if slices.ContainsFunc(other.Supersedes, func(id string) bool { return strings.EqualFold(id, k.ID) }) {
			row("superseded by", other.ID)
		}
	}
	a.printer().Table(rows)
	a.printf("\n%s\n", k.Text)
	return nil
}

// KnowledgeAddCmd is `git ralph knowledge add`.
type KnowledgeAddCmd struct {
	Type string   `arg:"" help:"constraint, decision, pattern, gotcha or unresolved."`
	Text []string `arg:"" help:"What is to be known; - reads standard input."`
	Slug string   `placeholder:"NAME" help:"The end of the id, when it is not to be made of the text."`
	Tag  []string `sep:"," placeholder:"NAME" help:"Tags."`
	Task string   `placeholder:"ID" help:"The task it comes from."`
}

// Run adds an entry.
func (c *KnowledgeAddCmd) Run(a *App) error {
	t, err := knowledgeType(c.Type)
	if err != nil {
		return err
	}
	return a.putKnowledge(notes.Put{Type: string(t), Slug: c.Slug, Tags: trimmed(c.Tag)}, c.Text, c.Task)
}

// KnowledgeSupersedeCmd is `git ralph knowledge supersede`.
type KnowledgeSupersedeCmd struct {
	ID   string   `complete:"knowledge" arg:"" name:"id" help:"The entry that is no longer true."`
	Text []string `arg:"" help:"What is true now; - reads standard input."`
	Type string   `placeholder:"TYPE" help:"Another type than the old entry's."`
	Slug string   `placeholder:"NAME" help:"The end of the new id."`
}

// Run supersedes an entry.
func (c *KnowledgeSupersedeCmd) Run(a *App) error {
	snap, err := a.Load()
	if err != nil {
		return err
	}
	old, err := findKnowledge(snap.State.Knowledge, c.ID)
	if err != nil {
		return err
	}
	t := old.Type
	if c.Type != "" {
		if t, err = knowledgeType(c.Type); err != nil {
			return err
		}
	}
	if !old.Live() {
		return gitstate.Hint(1, "git ralph knowledge show "+old.ID, "%s is superseded already", old.ID)
	}
	return a.putKnowledge(notes.Put{Type: string(t), Slug: c.Slug, Tags: old.Tags, Supersedes: []string{old.ID}},
		c.Text, old.Task)
}

// putKnowledge records one entry of a person.
func (a *App) putKnowledge(p notes.Put, words []string, task string) error {
	p.Text = strings.TrimSpace(strings.Join(words, " "))
	if p.Text == "-" {
		data, err := a.readInput("-")
		if err != nil {
			return err
		}
		p.Text = strings.TrimSpace(string(data))
	}
	if p.Text == "" {
		return usage(`git ralph knowledge add decision "we use SQLite"`, "an entry needs a text")
	}
	var k notes.Knowledge
	_, _, err := a.change(func(s state.State) (state.Event, error) {
		k = notes.Entries([]notes.Put{p}, 0, s.Knowledge)[0]
		for _, have := range s.Knowledge {
			if have.Live() && have.Type == k.Type && have.Text == k.Text {
				return state.Event{}, gitstate.Hint(1, "git ralph knowledge show "+have.ID, "that is known already")
			}
		}
		slug := strings.TrimPrefix(k.ID, notes.KnowledgeID(k.Type, ""))
		k.ID = notes.FreeID(s.Knowledge, k.Type, slug)
		if task != "" {
			ids, err := taskIDs(s.Plan, []string{task})
			if err != nil && len(p.Supersedes) == 0 {
				return state.Event{}, err
			}
			if err == nil {
				k.Task = string(ids[0])
			}
		}
		if err := notes.CheckKnowledge(s.Knowledge, []notes.Knowledge{k}); err != nil {
			return state.Event{}, err
		}
		return state.Event{Type: state.EvKnowledge, Knowledge: &state.KnowledgeChange{Add: []notes.Knowledge{k},
			Source: "person"}}, nil
	})
	if err != nil {
		return err
	}
	if len(k.Supersedes) > 0 {
		a.printf("%s supersedes %s\n", k.ID, strings.Join(k.Supersedes, ", "))
	} else {
		a.printf("added %s\n", k.ID)
	}
	return nil
}

// KnowledgeSearchCmd is `git ralph knowledge search`.
type KnowledgeSearchCmd struct {
	Words []string `arg:"" help:"All of them must occur, in any case."`
	All   bool     `help:"Superseded entries, too."`
	JSON  bool     `name:"json" help:"Print an array."`
}

// Run searches.
func (c *KnowledgeSearchCmd) Run(a *App) error {
	snap, err := a.Load()
	if err != nil {
		return err
	}
	found := []notes.Knowledge{}
	words := strings.Fields(strings.ToLower(strings.Join(c.Words, " ")))
	for _, k := range snap.State.Knowledge {
		text := strings.ToLower(k.ID + " " + strings.Join(k.Tags, " ") + " " + k.Task + " " + k.Text)
		all := c.All || k.Live()
		for _, w := range words {
			all = all && strings.Contains(text, w)
		}
		if all {
			found = append(found, k)
		}
	}
	return a.listKnowledge(found, c.JSON, "nothing is known about that")
}

// KnowledgePromoteCmd is `git ralph knowledge promote`.
type KnowledgePromoteCmd struct {
	ID string `complete:"knowledge" arg:"" name:"id" help:"The entry."`
}

// Run writes the entry into AGENTS.md of the worktree.
func (c *KnowledgePromoteCmd) Run(a *App) error {
	snap, err := a.Load()
	if err != nil {
		return err
	}
	k, err := findKnowledge(snap.State.Knowledge, c.ID)
	if err != nil {
		return err
	}
	if !k.Live() {
		return gitstate.Hint(1, "git ralph knowledge show "+k.ID, "%s is superseded", k.ID)
	}
	if h, alive := a.journal.Repo.BranchHolder(a.journal.Branch); alive {
		return gitstate.Hint(7, "git ralph pause, or wait for the end",
			"process %d is working in this worktree; a change now would count as the agent's", h.Pid)
	}
	file := filepath.Join(a.repo.Root, "AGENTS.md")
	mode := fs.FileMode(0o644)
	st, err := os.Lstat(file)
	switch {
	case err == nil && !st.Mode().IsRegular():
		return gitstate.Hint(1, "make it a regular file", "AGENTS.md is not a regular file")
	case err == nil:
		mode = st.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, warning := notes.Promote(k, old)
	if warning != "" {
		a.warn("%s", warning)
	}
	if string(text) == string(old) {
		a.printf("AGENTS.md says so already\n")
		return nil
	}
	if err := gitstate.WriteFile(file, text, mode); err != nil {
		return err
	}
	a.printf("wrote %s to AGENTS.md under %q; it is yours to commit\n", k.ID,
		strings.TrimPrefix(notes.PromotedHeading, "## "))
	return nil
}
