package journal

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/fixtures/repo"
	"git-ralph/gitstate"
	"git-ralph/gitstate/state"
)

// started records the beginning of an iteration.
func started(t *testing.T, j *Journal, n int) {
	t.Helper()
	_, err := j.Record(context.Background(), state.Event{Type: state.EvStart, Phase: state.Building, Iteration: n,
		Start: &state.Start{IterationID: gitstate.NewID(j.Now()), Branch: "main", Agent: "command"}})
	if err != nil {
		t.Fatal(err)
	}
}

// entriesOf are the entries that an index file names, each once, in its order.
func entriesOf(t *testing.T, j *Journal) []string {
	t.Helper()
	data, err := os.ReadFile(j.indexPath())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var out []string
	for line := range strings.Lines(string(data)) {
		hash, _, _ := strings.Cut(line, " ")
		if !seen[hash] {
			seen[hash] = true
			out = append(out, hash)
		}
	}
	return out
}

// TestWritersKeepTheIndex: every append adds its entry to the index, so that no
// lookup has to build one.
func TestWritersKeepTheIndex(t *testing.T) {
	ctx := context.Background()
	r := repo.New(t, nil)
	one, other := open(t, r), open(t, r)
	begin(t, one)
	const entries = 26 // more than a walk reads one by one
	for n := 1; n <= entries; n++ {
		started(t, []*Journal{one, other}[n%2], n)
	}
	history := func() []string {
		return strings.Fields(r.Git("rev-list", "--first-parent", "--reverse", "refs/ralph/heads/main"))
	}
	if d := cmp.Diff(history(), entriesOf(t, one)); d != "" {
		t.Fatal(d)
	}
	whole, err := os.ReadFile(one.indexPath())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	n := entries
	for _, row := range []struct{ why, text string }{
		{"another program appended a few entries without it", strings.Join(lines[:entries-5], "")},
		{"another program appended many entries without it", lines[0]},
		{"a line is torn", string(whole[:len(whole)-20])},
		{"a version before this wrote it", lines[24] + lines[25] + "tip " + history()[25] + "\n"},
		{"a power cut left zeros", strings.Join(lines[:4], "") + "\x00\x00\x00\x00" + strings.Join(lines[4:], "")},
		{"another history", strings.Repeat("1", 40) + " iteration 3 T-001\n"},
	} {
		t.Run(row.why, func(t *testing.T) {
			if err := os.WriteFile(one.indexPath(), []byte(row.text), 0o600); err != nil {
				t.Fatal(err)
			}
			n++
			started(t, one, n)
			at := history()
			if index := entriesOf(t, one); index[len(index)-1] != at[len(at)-1] {
				t.Errorf("the last line is of %s, the newest entry is %s", index[len(index)-1], at[len(at)-1])
			}
			for _, want := range []int{n - 1, n} {
				if found, err := one.Starts(ctx, want); err != nil || len(found) != 1 {
					t.Errorf("iteration %d: %d found, %v", want, len(found), err)
				}
			}
		})
	}
}

// TestIndexAfterAMerge: after a merge each machine finds the entries of both,
// whether or not it had looked before.
func TestIndexAfterAMerge(t *testing.T) {
	ctx := context.Background()
	for _, looked := range []bool{false, true} {
		r := repo.New(t, nil)
		ann := open(t, r)
		begin(t, ann)
		started(t, ann, 1)
		c := clone(t, r)
		bob := open(t, c)
		if _, _, err := bob.Join(ctx, fetched(t, c, r)); err != nil {
			t.Fatal(err)
		}
		for n := 2; n <= 30; n += 2 {
			started(t, ann, n)
			started(t, bob, n+1)
		}
		for _, j := range []*Journal{ann, bob} {
			if !looked {
				os.Remove(j.indexPath())
			} else if _, err := j.Starts(ctx, 1); err != nil {
				t.Fatal(err)
			}
		}
		atAnn, atBob := fetched(t, c, r), fetched(t, r, c)
		if _, _, err := bob.Join(ctx, atAnn); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ann.Join(ctx, atBob); err != nil {
			t.Fatal(err)
		}
		for _, j := range []*Journal{ann, bob} {
			for n := 1; n <= 31; n++ {
				if found, err := j.Starts(ctx, n); err != nil || len(found) == 0 {
					t.Errorf("looked before: %v; iteration %d in %s: %d found, %v", looked, n, j.Repo.Dir(), len(found), err)
				}
			}
		}
	}
}

// TestWritersCatchUpAtOnce: writers that find the index far behind at the same time
// leave a complete one.
func TestWritersCatchUpAtOnce(t *testing.T) {
	r := repo.New(t, nil)
	first := open(t, r)
	begin(t, first)
	const before, each = 30, 4
	for n := 1; n <= before; n++ {
		started(t, first, n)
	}
	whole, err := os.ReadFile(first.indexPath())
	if err == nil {
		line, _, _ := strings.Cut(string(whole), "\n")
		err = os.WriteFile(first.indexPath(), []byte(line+"\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for w := range 3 {
		j := open(t, r)
		all.Go(func() {
			for n := range each {
				started(t, j, before+1+w*each+n)
			}
		})
	}
	all.Wait()
	for n := 1; n <= before+3*each; n++ {
		if found, err := first.Starts(t.Context(), n); err != nil || len(found) != 1 {
			t.Errorf("iteration %d: %d found, %v", n, len(found), err)
		}
	}
	if d := cmp.Diff(len(strings.Fields(r.Git("rev-list", "refs/ralph/heads/main"))), len(entriesOf(t, first))); d != "" {
		t.Error(d)
	}
}
