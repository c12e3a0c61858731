package e2e

import (
	"crypto/sha1"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// acts are what a person does in the repository while a command runs.
var acts = []string{"nothing", "edit", "edit of a committed file", "commit", "stash", "stash and pop", "switch",
	"commit elsewhere"}

// aPerson works in a repository with plain git. Each of their files has a unique name and
// text, so that a loss can be noticed.
type aPerson struct {
	p     *project
	calm  *sync.Mutex // held during an act: git itself loses objects to a concurrent prune=now
	n     int
	texts map[string]string // written in the present act, by path
	did   map[string]int
}

func newPerson(p *project, calm *sync.Mutex) *aPerson {
	p.Git("branch", "aside")
	return &aPerson{p: p, calm: calm, did: map[string]int{}}
}

func (a *aPerson) choose(random *rand.Rand) string { return acts[random.IntN(len(acts))] }

// does performs one act. A git command may fail while another process holds the index; the
// person then gives up on it.
func (a *aPerson) does(t *testing.T, act string) {
	a.texts = map[string]string{}
	if act == "nothing" {
		return
	}
	a.calm.Lock()
	defer a.calm.Unlock()
	a.did[act]++
	a.n++
	a.p.Try("commit", "-q", "-m", "by hand", "--", "mine.txt") // from the last time
	path, text := fmt.Sprintf("person-%d.txt", a.n), fmt.Sprintf("the person's text %d\n", a.n)
	write := func() {
		a.texts[path] = text
		if err := os.WriteFile(filepath.Join(a.p.Dir, path), []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
	commit := func() {
		a.p.Try("add", "--", path)
		a.p.Try("commit", "-q", "-m", "by hand", "--", path)
	}
	switch act {
	case "edit of a committed file":
		path = "mine.txt"
		write()
	case "edit":
		write()
	case "commit":
		write()
		commit()
	case "stash", "stash and pop":
		write()
		if _, err := a.p.Try("stash", "push", "-q", "-u", "--", path); err == nil && act != "stash" {
			a.p.Try("stash", "pop", "-q")
		}
	default:
		if _, err := a.p.Try("switch", "-q", "aside"); err == nil && act == "commit elsewhere" {
			write()
			commit()
		}
		a.p.Try("switch", "-q", "main")
	}
}

// comesHome brings the person back to main, where the test goes on.
func (a *aPerson) comesHome(t *testing.T, where string) {
	t.Helper()
	var said string
	for range 5 {
		if head, _ := a.p.Try("symbolic-ref", "--short", "HEAD"); strings.TrimSpace(head) == "main" {
			return
		}
		var err error
		if said, err = a.p.Try("switch", "-q", "main"); err == nil {
			continue
		}
		// The next command removes the lock of a killed one. Changes are stashed.
		a.p.run(t, nil, "inject", "I am elsewhere")
		a.p.Try("stash", "push", "-q")
	}
	t.Fatalf("%s: the person cannot go back to main: %s", where, said)
}

// lostNothing looks for each text of the last act in the worktree, in git, and in git ralph's
// folder for files too large for git.
func (a *aPerson) lostNothing(t *testing.T, where string) {
	t.Helper()
	var objects string
	for path, text := range a.texts {
		if data, err := os.ReadFile(filepath.Join(a.p.Dir, path)); err == nil && string(data) == text {
			continue
		}
		if objects == "" {
			objects = a.p.Git("rev-list", "--objects", "--all", "--reflog")
		}
		id := fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "blob %d\x00%s", len(text), text)))
		if !strings.Contains(objects, id) && !inFiles(filepath.Join(a.p.Dir, ".git", "ralph", "aside"), text) {
			t.Errorf("%s: the person's %s is nowhere: %s\n%s", where, path, id, a.p.must(t, "log"))
		}
	}
}

// inFiles reports whether one of the files below dir holds just this text.
func inFiles(dir, text string) (found bool) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			data, _ := os.ReadFile(path)
			found = found || string(data) == text
		}
		return nil
	})
	return found
}
