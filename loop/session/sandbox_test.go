package session

import (
	"os"
	"testing"
	"time"

	"git-ralph/fixtures/repo"
	"git-ralph/gitstate"
	"git-ralph/internal/proc"
)

type none struct{ Sandbox }

func (none) Wrapper(Use) proc.Wrapper { return nil }

// TestSandboxedMakesWhatIsNeeded: the first process makes one folder of the run
// and one note. Without a process there is neither. The end removes both, and
// nothing starts after it.
func TestSandboxedMakesWhatIsNeeded(t *testing.T) {
	r := repo.New(t, nil)
	g, err := gitstate.Open(t.Context(), r.Dir, r.Env)
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{Repo: g, Sandbox: none{}, RunBase: t.TempDir()}
	count := func(dir string) int {
		list, err := os.ReadDir(dir)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return len(list)
	}
	want := func(when string, n int) {
		t.Helper()
		if runs, notes := count(h.RunBase), count(g.Dir()+"/running"); runs != n || notes != n {
			t.Errorf("%s: %d folders and %d notes, want %d of each", when, runs, notes, n)
		}
	}
	id := gitstate.NewID(time.Now())
	var kept Starter
	if err := h.Sandboxed(id, Use{}, func(start Starter) error {
		kept = start
		want("before a process", 0)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := proc.Command{Argv: []string{self, "-test.run=^$"}, Dir: r.Dir, Env: r.Env}
	if _, err := kept(t.Context(), cmd); err == nil {
		t.Error("a process was started after the end")
	}
	if err := h.Sandboxed(id, Use{}, func(start Starter) error {
		for range 2 {
			p, err := start(t.Context(), cmd)
			if err != nil {
				return err
			}
			want("beside a process", 1)
			if _, err := p.Wait(); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want("after the end", 0)
}
