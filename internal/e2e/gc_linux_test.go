package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"git-ralph/fixtures/long"
)

// TestPruneBesideALoop prunes everything unreachable, again and again and in
// several ways, while a loop works and a person writes. Nothing that was
// acknowledged is missing afterwards, and every object is whole.
func TestPruneBesideALoop(t *testing.T) {
	t.Parallel()
	long.Only(t, "a prune at a chosen moment")
	n := rounds(t, 1)
	lost, pruned := 0, 0
	for range n {
		p := newProject(t, doTask, check+"[guard]\nsandbox = \"off\"\n[validation]\nbaseline = \"off\"\nfresh = \"never\"\n",
			map[string]string{"README": "hello\n"})
		p.Write("notes.txt", "the user's own, untracked\n")
		for i := range 6 {
			p.must(t, "add", fmt.Sprintf("thing %d", i))
		}
		done := make(chan struct{})
		var wg sync.WaitGroup
		for _, line := range []string{"git gc --quiet --prune=now", "git prune --expire=now",
			"git repack -a -d -q && git prune-packed -q"} {
			wg.Go(func() {
				for {
					select {
					case <-done:
						return
					default:
						c := exec.Command("sh", "-c", line)
						c.Dir, c.Env = p.Dir, p.Env
						c.Run()
						pruned++
					}
				}
			})
		}
		var notes []string
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
					text := fmt.Sprintf("note-%03d-end", i)
					if r := p.run(t, nil, "inject", text); r.code == 0 {
						notes = append(notes, text)
					} else {
						t.Errorf("inject: exit %d\n%s%s", r.code, r.out, r.err)
					}
				}
			}
		})
		r := p.run(t, nil, "start")
		close(done)
		wg.Wait()
		if r.code != 0 {
			t.Errorf("start beside a gc: exit %d\n%s%s", r.code, r.out, r.err)
		}
		// The next command repairs what was pruned at the very end.
		p.must(t, "inject", "the last word")
		log := p.Git("log", "--format=%B", "refs/ralph/heads/main")
		for _, text := range notes {
			if !strings.Contains(log, text) {
				lost++
				t.Errorf("the acknowledged %q is lost", text)
			}
		}
		p.must(t, "fsck")
		if out, err := p.Try("-c", "core.commitGraph=false", "fsck", "--strict", "--no-dangling"); err != nil {
			t.Errorf("git fsck: %v\n%s", err, out)
		}
		if got := p.Read("notes.txt"); got != "the user's own, untracked\n" {
			t.Errorf("the user's file is %q", got)
		}
	}
	t.Logf("%d times pruned beside %d loops, %d acknowledged notes lost", pruned, n, lost)
}
