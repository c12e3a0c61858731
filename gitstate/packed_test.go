//go:build unix

package gitstate

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// TestSnapshotBesidePackRefs: a snapshot taken while git packs refs has all refs. A
// missing one would look like a deletion by the agent.
func TestSnapshotBesidePackRefs(t *testing.T) {
	t.Parallel()
	r, g := watchedRepo(t)
	r.Write("a", "a\n")
	r.Git("add", "a")
	r.Git("commit", "-qm", "a")
	r.Git("commit", "-qm", "b", "--allow-empty")
	const refs = 100
	at := [2]string{strings.TrimSpace(r.Git("rev-parse", "HEAD")), strings.TrimSpace(r.Git("rev-parse", "HEAD~1"))}
	write := func(round int) {
		var b strings.Builder
		for i := range refs {
			fmt.Fprintf(&b, "update refs/heads/b%d %s\n", i, at[round%2])
		}
		c := exec.Command("git", "update-ref", "--stdin")
		c.Dir, c.Env, c.Stdin = r.Dir, r.Env, strings.NewReader(b.String())
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("update-ref: %v\n%s", err, out)
		}
	}
	write(0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for round := range 5 {
			r.Git("pack-refs", "--all")
			write(round + 1)
		}
	}()
	for taken := 0; ; taken++ {
		select {
		case <-done:
			if taken == 0 {
				t.Error("no snapshot was taken meanwhile")
			}
			return
		default:
		}
		s, err := g.TakeSnapshot(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range refs {
			if _, ok := s.Refs[fmt.Sprintf("refs/heads/b%d", i)]; !ok {
				s.Close()
				<-done
				t.Fatalf("snapshot %d lacks refs/heads/b%d", taken, i)
			}
		}
		s.Close()
	}
}
