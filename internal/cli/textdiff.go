package cli

import (
	"fmt"
	"slices"
	"strings"

	"git-ralph/gitstate/journal"
	"git-ralph/gitstate/object"
	"git-ralph/internal/text/diff"
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

// entryDifference shows what an entry changed of the plan, its tasks, what is
// remembered and what was set: the files of the journal's tree without those
// that change with every entry.
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
		if strings.HasPrefix(name, "event/") || strings.HasPrefix(name, "recent/") || name == "run.toml" ||
			name == "handoff.json" {
			continue // counters, and what the entry's event says already
		}
		was, err := a.textOf(before[name])
		if err != nil {
			return err
		}
		now, err := a.textOf(after[name])
		if err != nil {
			return err
		}
		a.printf("    %s\n%s", a.colour(a.Out, "1", name), a.difference(was, now, 3, "    "))
	}
	return nil
}

// textOf reads a blob; "" is what is not there.
func (a *App) textOf(id object.ID) (string, error) {
	if id.IsZero() {
		return "", nil
	}
	data, err := a.journal.Repo.Store.ReadType(id, object.Blob)
	return string(data), err
}
