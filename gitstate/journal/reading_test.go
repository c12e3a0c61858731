package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/fixtures/history"
	"git-ralph/fixtures/repo"
	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
)

// number lists entries as type, iteration and task.
func number(list []Entry) string {
	var out []string
	for _, e := range list {
		out = append(out, fmt.Sprintf("%s %d %s", e.Event.Type, e.Event.Iteration, e.Event.Task))
	}
	return strings.Join(out, ", ")
}

// TestEntriesAreFound: by number and by task, whatever the state of the index.
func TestEntriesAreFound(t *testing.T) {
	ctx := context.Background()
	r := repo.New(t, nil)
	history.Make(t, r, history.Options{Iterations: 40, Tasks: 10, Plain: true})
	j := open(t, r)
	look := func(t *testing.T) {
		t.Helper()
		for _, row := range []struct {
			why  string
			look func() ([]Entry, error)
			want string
		}{
			{"the end of an iteration", func() ([]Entry, error) { return j.Iterations(ctx, 7) }, "iteration 7 T-008"},
			{"its number is not the beginning of another", func() ([]Entry, error) { return j.Iterations(ctx, 4) },
				"iteration 4 T-005"},
			{"its start", func() ([]Entry, error) { return j.Starts(ctx, 7) }, "iteration-start 7 T-008"},
			{"the iterations of a task", func() ([]Entry, error) { return j.TaskIterations(ctx, "T-003") },
				"iteration 34 T-003, iteration 26 T-003, iteration 18 T-003, iteration 10 T-003, iteration 2 T-003"},
			{"none", func() ([]Entry, error) { return j.Iterations(ctx, 41) }, ""},
			{"no such task", func() ([]Entry, error) { return j.TaskIterations(ctx, "T-0") }, ""},
		} {
			if got, err := row.look(); err != nil || number(got) != row.want {
				t.Errorf("%s: %s, %v; want %s", row.why, number(got), err, row.want)
			}
		}
	}
	path := filepath.Join(r.Dir, ".git", "ralph", "cache", "index-main")
	for _, row := range []struct {
		why  string
		make func() error
	}{
		{"without an index", func() error { return nil }},
		{"with the index of before", func() error { return nil }},
		{"the journal went on", func() error { _, err := j.Record(ctx, inject("x")); return err }},
		{"a torn index", func() error { return os.Truncate(path, 100) }},
		{"an index of another history", func() error {
			return os.WriteFile(path, []byte("tip "+strings.Repeat("1", 40)+"\n"), 0o600)
		}},
		{"an index with nonsense", func() error { return os.WriteFile(path, []byte("tip x\n"), 0o600) }},
		{"an index that names what is not there", func() error {
			return os.WriteFile(path, []byte("no-hash iteration 7 T-008\n"+strings.Repeat("2", 40)+"\n"), 0o600)
		}},
		{"no place for an index", func() error {
			return errors.Join(os.RemoveAll(filepath.Dir(path)), os.WriteFile(filepath.Dir(path), nil, 0o600))
		}},
	} {
		if err := row.make(); err != nil {
			t.Fatal(err)
		}
		t.Run(row.why, look)
	}
	seven, err := j.Iterations(ctx, 7)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := j.Find(ctx, 7, seven[0].Event.ID); err != nil || e.ID != seven[0].ID {
		t.Errorf("by its event: %v %v", e.ID, err)
	}
	if _, err := j.Find(ctx, 7, "other"); err == nil || err.Error() != "iteration 7 (other) is not in the journal" {
		t.Error(err)
	}
	var walked []string
	if err := j.WalkFrom(ctx, seven[0].ID, func(e Entry) (bool, error) {
		walked = append(walked, number([]Entry{e}))
		return len(walked) < 3, nil
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{"iteration 7 T-008", "iteration-start 7 T-008", "iteration 6 T-007"}
	if d := cmp.Diff(want, walked); d != "" {
		t.Error(d)
	}
	if err := j.Readable(ctx); err != nil {
		t.Error(err)
	}
	if got := j.AuthorOf(ctx, "T-003"); got != "history-0001" {
		t.Errorf("the author is %q", got)
	}
	if got := j.AuthorOf(ctx, "T-999"); got != "" {
		t.Errorf("the author of nothing is %q", got)
	}
	for _, want := range []string{"go test ./...", ""} {
		list, err := j.RecordedCommands(ctx)
		var got string
		for _, c := range list {
			got += c.Text
		}
		if err != nil || got != want {
			t.Errorf("recorded commands: %q %v, want %q", got, err, want)
		}
		if err := j.Looked(ctx); err != nil { // afterwards no recorded command is new
			t.Fatal(err)
		}
	}
}

// TestNoJournal: every way to read reports that there is no journal.
func TestNoJournal(t *testing.T) {
	ctx := context.Background()
	j := open(t, repo.New(t, nil))
	_, checked := j.Check(ctx, nil)
	_, found := j.Iterations(ctx, 1)
	_, recorded := j.RecordedCommands(ctx)
	for what, err := range map[string]error{"readable": j.Readable(ctx), "walk": j.Walk(ctx, nil),
		"check": checked, "look up": found, "commands": recorded} {
		if !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if id, from := j.Lost(ctx); !id.IsZero() || from != "" {
		t.Errorf("something was lost: %s %s", id, from)
	}
	if forks, err := Forks(ctx, j.Repo, "x"); err != nil || forks != nil {
		t.Errorf("%v %v", forks, err)
	}
}

// TestForks finds the journals with one id, on branches and in the archive.
func TestForks(t *testing.T) {
	ctx := context.Background()
	r := repo.New(t, nil)
	j := open(t, r)
	begin(t, j)
	snap, err := j.Load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	id := snap.State.Journal.ID
	for _, ref := range []string{"refs/ralph/heads/other", gitstate.ArchivePrefix + "x"} {
		r.Git("update-ref", ref, "refs/ralph/heads/main")
	}
	r.Git("update-ref", "refs/ralph/heads/broken", "HEAD") // not a journal; a command on that branch reports it
	forks, err := Forks(ctx, j.Repo, id)
	var got []string
	for _, f := range forks {
		got = append(got, f.Branch)
	}
	slices.Sort(got)
	if d := cmp.Diff([]string{"", "main", "other"}, got); d != "" || err != nil {
		t.Errorf("%s %v", d, err)
	}
	others, err := Others(ctx, j.Repo)
	if d := cmp.Diff([]string{"broken", "main", "other"}, slices.Sorted(maps.Keys(others))); d != "" || err != nil {
		t.Errorf("%s %v", d, err)
	}
	if forks, err := Forks(ctx, j.Repo, "of another journal"); err != nil || len(forks) > 0 {
		t.Errorf("%v %v", forks, err)
	}
}

// write puts an entry on the journal's ref, whatever is in it.
func write(t *testing.T, j *Journal, files state.Files, message string) object.ID {
	t.Helper()
	ctx := context.Background()
	tip, err := j.Tip(ctx)
	if err != nil {
		t.Fatal(err)
	}
	commit, _, err := j.Repo.WriteEntry([]object.ID{tip}, gitstate.Draft{Files: files, Message: message})
	if err == nil {
		err = j.Repo.Store.Sync()
	}
	if err == nil {
		err = j.Repo.UpdateRefs("", gitstate.RefUpdate{Name: j.Ref(), Old: tip, New: commit})
	}
	if err != nil {
		t.Fatal(err)
	}
	return commit
}

// TestDamageIsNamed: Check names what another program did to a journal, and still
// checks the entries behind it.
func TestDamageIsNamed(t *testing.T) {
	ctx := context.Background()
	rows := []struct {
		why    string
		change func(files state.Files, e *state.Event, message *string)
		want   []string
	}{
		{"nothing", func(state.Files, *state.Event, *string) {}, nil},
		{"a file that no event makes", func(f state.Files, _ *state.Event, _ *string) { f["more.toml"] = []byte("x") },
			[]string{"more.toml should not be there"}},
		{"a folder that no event makes", func(f state.Files, _ *state.Event, _ *string) { f["more/deep/x"] = []byte("x") },
			[]string{"more/deep/x should not be there"}},
		{"a file is gone", func(f state.Files, _ *state.Event, _ *string) { f["plan.toml"] = nil },
			[]string{"plan.toml is missing"}},
		{"another state", func(f state.Files, _ *state.Event, _ *string) { f["plan.toml"] = []byte("goal = \"x\"\n") },
			[]string{"plan.toml is not what the events make of it"}},
		{"a trailer lies", func(_ state.Files, _ *state.Event, m *string) {
			*m = strings.ReplaceAll(*m, "Ralph-Event: operator", "Ralph-Event: plan")
		}, []string{`trailer Ralph-Event says "plan", the event "operator"`}},
		{"no such thing was superseded", func(f state.Files, e *state.Event, _ *string) {
			e.Superseded = []state.Superseded{{What: "A", Reason: "x"}}
			maps.Copy(f, state.EncodeEvent(*e))
		}, []string{"what the event superseded is not what it says"}},
		{"an event that cannot be read", func(f state.Files, _ *state.Event,
			_ *string) {
			f["event/event.json"] = []byte("{")
		},
			[]string{"event/event.json"}},
	}
	for _, row := range rows {
		t.Run(row.why, func(t *testing.T) {
			j := open(t, repo.New(t, nil))
			begin(t, j)
			snap, err := j.Load(ctx)
			if err != nil {
				t.Fatal(err)
			}
			e := inject("two")
			j.Stamp(&e)
			next, _ := state.Apply(snap.State, e)
			files := state.Changes(snap.State, next)
			maps.Copy(files, state.EncodeEvent(e))
			message := state.Message(e, next)
			row.change(files, &e, &message)
			id := write(t, j, files, message)
			found, err := j.Check(ctx, func(int, Entry) {})
			faults, n := found.Faults, found.Entries
			if err != nil || len(faults) < len(row.want) || len(row.want) == 0 && (len(faults) > 0 || n != 2) {
				t.Fatalf("%d entries, %v %v", n, faults, err)
			}
			for i, want := range row.want {
				if got := faults[i].String(); !strings.HasPrefix(got, id.String()[:12]+": ") || !strings.Contains(got, want) {
					t.Errorf("fsck says %q, want %q", got, want)
				}
			}
		})
	}
}

// TestLostJournals: the newest completely readable entry is found, and its source.
func TestLostJournals(t *testing.T) {
	ctx := context.Background()
	loose := func(r *repo.Repo, id string) string { return filepath.Join(r.Dir, ".git", "objects", id[:2], id[2:]) }
	rows := []struct {
		why  string
		lose func(t *testing.T, r *repo.Repo, tip object.ID)
		want int // of the two entries
		from string
		lost bool // the ref is gone
	}{
		{"the ref is deleted", func(_ *testing.T, r *repo.Repo, _ object.ID) {
			r.Git("update-ref", "-d",
				"refs/ralph/heads/main")
		},
			1, "entries that no ref leads to", true},
		{"and a remote has a copy of before", func(_ *testing.T, r *repo.Repo, tip object.ID) {
			r.Git("update-ref", "refs/ralph/remotes/origin/main", tip.String()+"^")
			r.Git("update-ref", "-d", "refs/ralph/heads/main")
		}, 0, "refs/ralph/remotes/origin/main", true},
		{"the tip cannot be read", func(t *testing.T, r *repo.Repo, tip object.ID) {
			if err := os.Remove(loose(r, r.Git("rev-parse", tip.String()+":event"))); err != nil {
				t.Fatal(err)
			}
		}, 0, "its history", false},
		{"something else stands there", func(_ *testing.T, r *repo.Repo, _ object.ID) {
			r.Git("update-ref", "--create-reflog", "refs/ralph/heads/main", "HEAD")
		}, 1, "the log of its ref", false},
		{"the log is not a file", func(t *testing.T, r *repo.Repo, tip object.ID) {
			r.Git("update-ref", "refs/ralph/remotes/origin/main", tip.String())
			r.Git("update-ref", "refs/ralph/heads/main", "HEAD")
			if err := os.RemoveAll(filepath.Join(r.Dir, ".git", "logs", "refs", "ralph")); err != nil {
				t.Fatal(err)
			}
		}, 1, "refs/ralph/remotes/origin/main", false},
	}
	for _, row := range rows {
		t.Run(row.why, func(t *testing.T) {
			r := repo.New(t, nil)
			j := open(t, r)
			begin(t, j)
			var ids []object.ID
			for i := range 2 {
				if i > 0 {
					if _, err := j.Record(ctx, inject("x")); err != nil {
						t.Fatal(err)
					}
				}
				tip, err := j.Tip(ctx)
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, tip)
			}
			row.lose(t, r, ids[1])
			j = open(t, r)
			find := j.Salvage
			if row.lost {
				find = j.Lost
			}
			id, from := find(ctx)
			if id != ids[row.want] || from != row.from {
				t.Errorf("%s from %s; want entry %d from %s", id, from, row.want, row.from)
			}
		})
	}
}

// TestTreesThatHoldTooMuch: a journal from elsewhere may claim to have more files, or more
// bytes, than there is memory. It is refused, and nothing waits.
func TestTreesThatHoldTooMuch(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := repo.New(t, nil)
	j := open(t, r)
	begin(t, j)
	tip, err := j.Tip(ctx)
	if err != nil {
		t.Fatal(err)
	}
	store := j.Repo.Store
	blob := func(text string) object.ID {
		id, err := store.Write(object.Blob, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	// times is a tree that holds the same thing often.
	times := func(n int, mode object.Mode, id object.ID) object.ID {
		var list []object.TreeEntry
		for i := range n {
			list = append(list, object.TreeEntry{Name: fmt.Sprintf("f%03d.toml", i), Mode: mode, ID: id})
		}
		tree, err := store.WriteTree(list)
		if err != nil {
			t.Fatal(err)
		}
		return tree
	}
	wide := times(100, object.ModeRegular, blob("x"))
	for range 4 {
		wide = times(100, object.ModeDir, wide)
	}
	deep := times(1, object.ModeRegular, blob("x"))
	for range 1000 {
		deep = times(1, object.ModeDir, deep)
	}
	large := blob(strings.Repeat("#", 8<<20))
	for why, entry := range map[string]object.TreeEntry{
		"many files": {Name: "tasks", Mode: object.ModeDir, ID: wide}, "an event of many files": {Name: "event",
			Mode: object.ModeDir, ID: wide}, "deep folders": {Name: "tasks", Mode: object.ModeDir, ID: deep},
		"many bytes": {Name: "tasks", Mode: object.ModeDir, ID: times(40, object.ModeRegular, large)},
	} {
		c, err := store.ReadCommit(tip)
		if err != nil {
			t.Fatal(err)
		}
		if c.Tree, err = j.Repo.EditTree(c.Tree, map[string]*object.TreeEntry{
			entry.Name: {Mode: entry.Mode, ID: entry.ID}}); err != nil {
			t.Fatal(err)
		}
		c.Parents = []object.ID{tip}
		at, err := store.WriteCommit(c)
		if err == nil {
			err = store.Sync()
		}
		if err != nil {
			t.Fatal(err)
		}
		_, _, joined := j.Join(ctx, at)
		_, read := j.Read(at)
		_, many := j.readEntries([]object.ID{at}, inFull, store.ReadManyOf)
		failed := []bool{joined != nil, read != nil, many != nil}
		want := []bool{true, false, false}
		if entry.Name == "event" {
			want = []bool{false, true, true}
		}
		if !slices.Equal(failed, want) {
			t.Errorf("%s: %v; %v; %v", why, joined, read, many)
		}
		r.Git("update-ref", j.Ref(), tip.String())
	}
}

// TestListingAfterAPrune: git lists the history although a prune has removed its newest
// entry, of which there is a spare.
func TestListingAfterAPrune(t *testing.T) {
	ctx := t.Context()
	r := repo.New(t, nil)
	j := open(t, r)
	begin(t, j)
	tip, err := j.Tip(ctx)
	if err != nil {
		t.Fatal(err)
	}
	reader := open(t, r)
	j.Repo.Close() // the process that has written it has ended
	objects := filepath.Join(j.Repo.CommonDir, "objects")
	spare := filepath.Join(objects, "ralph", tip.String())
	if err := os.MkdirAll(filepath.Dir(spare), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(objects, tip.String()[:2], tip.String()[2:]), spare); err != nil {
		t.Fatal(err)
	}
	n := 0
	err = reader.list(ctx, tip.String(), func(ids []object.ID) (bool, error) {
		n += len(ids)
		return true, nil
	})
	if err != nil || n != 1 {
		t.Errorf("%d entries, %v", n, err)
	}
}
