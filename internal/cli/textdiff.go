package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/internal/text/diff"
	"git-ralph/internal/view"
)

// difference shows how a text of git ralph's own changed, with the colours that
// git uses. What the lines hold is escaped by the display, as all output is.
func (a *App) difference(before, after string, around int, indent string) string {
	var b strings.Builder
	for _, l := range diff.Lines(before, after, around) {
		code := map[byte]string{'-': "31", '+': "32", '@': "36", ' ': "0"}[l.Mark]
		fmt.Fprintf(&b, "%s%s\n", indent, a.colour(a.Out, code, strings.TrimRight(string(l.Mark)+" "+l.Text, " ")))
	}
	return b.String()
}

// entryDifference shows what an entry changed in the plan, its tasks, the
// memory and the settings: the files of the journal's tree, except those that
// change with every entry.
func (a *App) entryDifference(e journal.Entry) error {
	before, after := map[string]object.ID{}, map[string]object.ID{}
	for i, into := range []map[string]object.ID{after, before} {
		tree := e.Commit.Tree
		if i == 1 {
			if len(e.Commit.Parents) == 0 {
				break
			}
			parent, err := a.journal.Repo.Store.Records().ReadCommit(e.Commit.Parents[0])
			if err != nil {
				return err
			}
			tree = parent.Tree
		}
		files, err := a.journal.Repo.RecordFiles(tree, "")
		if err != nil {
			return err
		}
		for _, f := range files {
			into[f.Name] = f.ID
		}
	}
	var names []string
	for name, id := range after {
		if before[name] != id {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, stays := after[name]; !stays {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.HasPrefix(name, "event/") || strings.HasPrefix(name, "recent/") || name == "handoff.json" {
			continue // the entry's event says it already
		}
		was, err := a.textOf(before[name])
		if err != nil {
			return err
		}
		now, err := a.textOf(after[name])
		if err != nil {
			return err
		}
		if name == "run.toml" { // the rest of it are counters
			was, now = tomlTable(was, "overrides"), tomlTable(now, "overrides")
		}
		a.printDifference(name, was, now)
	}
	return nil
}

// promptDifference shows how the prompt of an iteration differs from the prompt of the
// iteration before. It shows nothing when the evidence of either was pruned.
func (a *App) promptDifference(s state.State, e journal.Entry) error {
	n := e.Event.Iteration
	if e.Event.Type != state.EvIteration || n < 2 {
		return nil
	}
	earlier, err := a.reader().Iterations(a.Ctx, n-1)
	if err != nil || len(earlier) == 0 {
		return err
	}
	var prompts [2]string
	for i, entry := range []journal.Entry{earlier[0], e} {
		text, err := a.reader().Text(a.Ctx, s, entry, "prompt", "")
		if errors.Is(err, view.ErrPruned) || errors.Is(err, view.ErrNoText) {
			return nil
		}
		if err != nil {
			return err
		}
		prompts[i] = string(text)
	}
	a.printDifference(fmt.Sprintf("the prompt, compared with iteration %d", n-1), prompts[0], prompts[1])
	return nil
}

// printDifference prints a difference under its name, and nothing when the texts are the same.
func (a *App) printDifference(name, before, after string) {
	if before != after {
		a.printf("    %s\n%s", a.colour(a.Out, "1", name), a.difference(before, after, 3, "    "))
	}
}

// tomlTable returns the lines of one table of a TOML file that was written by git ralph,
// with its head; "" when the file has no such table.
func tomlTable(text, name string) string {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "[") {
			inside = strings.TrimSpace(line) == "["+name+"]"
		}
		if inside {
			b.WriteString(line)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// textOf reads a blob; "" is what is not there.
func (a *App) textOf(id object.ID) (string, error) {
	if id.IsZero() {
		return "", nil
	}
	data, err := a.journal.Repo.Store.ReadType(id, object.Blob)
	return string(data), err
}
