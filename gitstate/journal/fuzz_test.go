package journal

import (
	"context"
	"maps"
	"testing"

	"git-ralph/fixtures/repo"
	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
)

// FuzzEntry puts a tree or a commit of another program on a journal's ref. The
// result is a named error or fault, never a panic or an endless search. The entry
// before it can still be found and read. raw is a whole commit; if it is empty, the
// entry is that of an event with one changed file and message.
func FuzzEntry(f *testing.F) {
	r := repo.New(f, nil)
	j := open(f, r)
	begin(f, j)
	ctx := context.Background()
	whole, err := j.Load(ctx)
	if err != nil {
		f.Fatal(err)
	}
	_, commit, err := j.Repo.Store.Read(whole.Tip)
	if err != nil {
		f.Fatal(err)
	}
	e := inject("two")
	j.Stamp(&e)
	next, _ := state.Apply(whole.State, e)
	base := state.Changes(whole.State, next)
	maps.Copy(base, state.EncodeEvent(e))
	message := state.Message(e, next)
	f.Add("", []byte{}, "", commit)
	f.Add("", []byte{}, message, []byte{})
	f.Add("event/event.json", []byte(`{"type":"merge","merge":{}}`), message, []byte{})
	f.Add("plan.toml", []byte("goal = 1"), "x\n\nRalph-Event: plan\n", []byte{})
	f.Add("tasks/T-1.toml/x", []byte("x"), "", []byte{})
	f.Add("journal.toml", []byte("id = ''"), "\x00", []byte("tree 0\nparent x\n\n"))
	f.Fuzz(func(t *testing.T, path string, data []byte, text string, raw []byte) {
		var id object.ID
		var err error
		if len(raw) > 0 {
			id, err = j.Repo.Store.Write(object.Commit, raw)
		} else {
			files := maps.Clone(base)
			if path != "" {
				files[path] = data
			}
			id, _, err = j.Repo.WriteEntry([]object.ID{whole.Tip}, gitstate.Draft{Files: files, Message: text})
		}
		if err != nil {
			return // not a valid path in a tree
		}
		if s, err := j.At(id); err == nil {
			state.Apply(s.State, e)
		}
		entry, readable := j.Read(id)
		if readable == nil {
			state.Message(entry.Event, whole.State)
		}
		j.Whole(id)
		if err := j.Repo.UpdateRefs("", gitstate.RefUpdate{Name: j.Ref(), Old: whole.Tip, New: id}); err != nil {
			return // git refuses an object that is not a commit
		}
		found, err := j.Check(ctx, func(int, Entry) {})
		if err == nil && len(found.Faults) == 0 && readable != nil {
			t.Errorf("fsck finds nothing, and reading says %v", readable)
		}
		j.WalkBrief(ctx, func(Entry) (bool, error) { return true, nil })
		j.Salvage(ctx)
		if err := j.Repo.UpdateRefs("", gitstate.RefUpdate{Name: j.Ref(), Old: id, New: whole.Tip}); err != nil {
			t.Fatal(err)
		}
		if _, err := j.Load(ctx); err != nil {
			t.Fatalf("the entry before it: %v", err)
		}
	})
}
