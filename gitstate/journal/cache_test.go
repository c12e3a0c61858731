package journal

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"git-ralph/fixtures/repo"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
	"git-ralph/plan"
)

// large is a journal with enough tasks to be cached.
func large(t testing.TB) (*repo.Repo, *Journal) {
	t.Helper()
	r := repo.New(t, nil)
	j := open(t, r)
	begin(t, j)
	var tasks []plan.Task
	for i := range 2 * cacheFiles {
		tasks = append(tasks, plan.Task{ID: plan.TaskID(fmt.Sprintf("T-%03d", i)), Title: fmt.Sprint("task ", i),
			Status: plan.Pending, Description: "words"})
	}
	if _, err := j.Record(context.Background(), state.Event{Type: state.EvPlan,
		Plan: &state.PlanChange{Reason: "import", Upsert: tasks}}); err != nil {
		t.Fatal(err)
	}
	return r, j
}

// A wrong or absent cache makes Load slower. It still returns what git has.
func TestCacheIsNeverTruth(t *testing.T) {
	ctx := context.Background()
	rows := []struct {
		why      string
		damage   func(data []byte) []byte
		uncached int // at least
	}{
		{"as it was written", func(d []byte) []byte { return d }, 0},
		{"it is gone", func([]byte) []byte { return nil }, 2 * cacheFiles},
		{"its end is torn", func(d []byte) []byte { return d[:len(d)-3] }, 1},
		{"other contents under an id", func(d []byte) []byte {
			return bytes.ReplaceAll(d, []byte("words"),
				[]byte("weird"))
		}, 2 * cacheFiles},
		{"no record of ours", func(d []byte) []byte { return append([]byte("not a cache"), d...) }, 2 * cacheFiles},
		{"a length beyond its end", func(d []byte) []byte { d[21] = 0xff; return d }, 1},
	}
	for _, r := range rows {
		t.Run(r.why, func(t *testing.T) {
			rp, j := large(t)
			want, err := j.Load(ctx)
			if err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(j.cachePath())
			if err != nil {
				t.Fatal(err)
			}
			if data = r.damage(data); data == nil {
				err = os.Remove(j.cachePath())
			} else {
				err = os.WriteFile(j.cachePath(), data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			again := open(t, rp)
			got, err := again.Load(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.State.Plan, got.State.Plan); diff != "" {
				t.Error(diff)
			}
			if again.uncached < r.uncached || r.uncached == 0 && again.uncached > 0 {
				t.Errorf("%d files were not in the cache, want %d", again.uncached, r.uncached)
			}
			// The next writer repairs it.
			if _, err := again.Record(ctx, inject("x")); err != nil {
				t.Fatal(err)
			}
			last := open(t, rp)
			if _, err := last.Load(ctx); err != nil || r.uncached != 1 && last.uncached > 0 {
				t.Errorf("after the next write %d files are missing, %v", last.uncached, err)
			}
		})
	}
}

// A reader writes nothing, and a small journal needs no cache.
func TestCacheIsWrittenByWriters(t *testing.T) {
	r, j := large(t)
	if err := os.RemoveAll(filepath.Dir(j.cachePath())); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, r).Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(j.cachePath()); err == nil {
		t.Error("a reader has written the cache")
	}
	small := open(t, repo.New(t, nil))
	begin(t, small)
	if _, err := os.Stat(small.cachePath()); err == nil {
		t.Error("a journal without tasks has a cache")
	}
}

// However long the history is, the cache stays bounded.
func TestCacheIsBounded(t *testing.T) {
	_, j := large(t)
	ctx := context.Background()
	if err := os.Truncate(j.cachePath(), maxCache+1); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Record(ctx, inject("x")); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(j.cachePath())
	if err != nil || st.Size() > 1<<20 {
		t.Errorf("the cache has %d bytes, %v", st.Size(), err)
	}
}

func FuzzCache(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("B"))
	f.Add(append(append([]byte{cacheMark}, make([]byte, 20)...), 0, 0, 0, 1, 'x'))
	f.Add(append(append([]byte{cacheMark}, make([]byte, 20)...), 0xff, 0xff, 0xff, 0xff, 'x'))
	f.Fuzz(func(t *testing.T, data []byte) {
		c := parseCache(data)
		for id := range c.blobs {
			if got, ok := c.get(id); ok && object.Sum(object.Blob, got) != id {
				t.Errorf("%s has other contents", id)
			}
		}
	})
}
