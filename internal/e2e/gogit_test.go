package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"

	"git-ralph/fixtures/long"
)

// secondReader is unmodified go-git with its own storage and walkers.
type secondReader struct {
	*testing.T
	p    *project
	repo *gogit.Repository
}

// TestReadByGoGit reads the whole journal, the evidence and the notes with
// unmodified go-git: other implementations of git can read them, too. Git itself
// gives the expected values.
func TestReadByGoGit(t *testing.T) {
	t.Parallel()
	long.Only(t, "another program reads what the others have tried")
	agent := doTask + "test \"$RALPH_ITERATION\" != 2 || touch broken\n"
	p := newProject(t, agent, check, map[string]string{"sub/naïve name.txt": "x\n"})
	for _, title := range []string{"the first thing", "the second thing", "the third thing, ünïcode"} {
		p.must(t, "add", title)
	}
	p.must(t, "inject", "a hint for the agent")
	if r := p.run(t, nil, "start"); r.code != 0 {
		t.Fatalf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	for _, packed := range []bool{false, true} {
		if packed {
			p.Git("gc", "-q", "--prune=now")
		}
		r, err := gogit.PlainOpen(p.Dir)
		if err != nil {
			t.Fatal(err)
		}
		s := secondReader{t, p, r}
		if n := s.journal(); n < 10 {
			t.Errorf("only %d entries were read", n)
		}
		if n := s.evidence(); n != 4 {
			t.Errorf("the evidence of %d iterations was read, expected 4", n)
		}
		if n := s.notes(); n != 3 {
			t.Errorf("%d notes were read, expected 3", n)
		}
	}
}

// commit reads a commit and compares it with git's view, also after go-git
// writes it again.
func (s secondReader) commit(id plumbing.Hash) *object.Commit {
	s.Helper()
	c, err := s.repo.CommitObject(id)
	if err != nil {
		s.Fatalf("commit %s: %v", id, err)
	}
	want := s.p.Git("log", "--no-walk", "--format=%T|%P|%an|%ae|%at|%cn|%ce|%ct%n%B", id.String())
	var parents []string
	for _, h := range c.ParentHashes {
		parents = append(parents, h.String())
	}
	got := fmt.Sprintf("%s|%s|%s|%s|%d|%s|%s|%d\n%s", c.TreeHash, strings.Join(parents, " "), c.Author.Name,
		c.Author.Email, c.Author.When.Unix(), c.Committer.Name, c.Committer.Email, c.Committer.When.Unix(), c.Message)
	if got = strings.TrimSpace(got); got != want {
		s.Errorf("commit %s:\n%s\ngit says:\n%s", id, got, want)
	}
	again := &plumbing.MemoryObject{}
	if err := c.Encode(again); err != nil || again.Hash() != id {
		s.Errorf("commit %s is %s when go-git writes it again (%v)", id, again.Hash(), err)
	}
	return c
}

// files reads every file of a tree and compares the list with git's.
func (s secondReader) files(id plumbing.Hash) map[string]string {
	s.Helper()
	tree, err := s.repo.TreeObject(id)
	if err != nil {
		s.Fatalf("tree %s: %v", id, err)
	}
	again := &plumbing.MemoryObject{}
	if err := tree.Encode(again); err != nil || again.Hash() != id {
		s.Errorf("tree %s is %s when go-git writes it again (%v)", id, again.Hash(), err)
	}
	files := map[string]string{}
	var list []string
	err = tree.Files().ForEach(func(f *object.File) error {
		list = append(list, f.Hash.String()+" "+f.Name)
		files[f.Name], err = f.Contents()
		return err
	})
	if err != nil {
		s.Fatalf("tree %s: %v", id, err)
	}
	var want []string
	for _, line := range strings.Split(s.p.Git("ls-tree", "-r", "-z", id.String()), "\x00") {
		if meta, name, ok := strings.Cut(line, "\t"); ok {
			want = append(want, strings.Fields(meta)[2]+" "+name)
		}
	}
	if strings.Join(list, "\n") != strings.Join(want, "\n") {
		s.Errorf("tree %s:\n%s\ngit says:\n%s", id, strings.Join(list, "\n"), strings.Join(want, "\n"))
	}
	return files
}

func (s secondReader) tip(ref string) plumbing.Hash {
	s.Helper()
	at, err := s.repo.Reference(plumbing.ReferenceName(ref), true)
	if err != nil {
		s.Fatalf("%s: %v", ref, err)
	}
	return at.Hash()
}

// journal follows the first parents from the newest entry to the first.
func (s secondReader) journal() int {
	n := 0
	for id := s.tip("refs/ralph/heads/main"); ; n++ {
		c := s.commit(id)
		files := s.files(c.TreeHash)
		var event struct{ ID, Type string }
		if err := json.Unmarshal([]byte(files["event/event.json"]), &event); err != nil ||
			!strings.Contains(c.Message, "Ralph-Event-Id: "+event.ID) {
			s.Errorf("entry %s has the event %+v (%v) and the message %q", id, event, err, c.Message)
		}
		if files["format"] == "" || files["run.toml"] == "" {
			s.Errorf("entry %s has no state", id)
		}
		if c.NumParents() == 0 {
			return n + 1
		}
		id = c.ParentHashes[0]
	}
}

func (s secondReader) evidence() int {
	refs, err := s.repo.References()
	if err != nil {
		s.Fatal(err)
	}
	n := 0
	err = refs.ForEach(func(r *plumbing.Reference) error {
		if strings.HasPrefix(r.Name().String(), "refs/ralph/evidence/") {
			n++
			files := s.files(s.commit(r.Hash()).TreeHash)
			if files["prompt.md"] == "" || files["worktree/agent.sh"] == "" {
				s.Errorf("%s lacks the prompt or the worktree", r.Name())
			}
		}
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	return n
}

// notes finds the note of each commit on the branch by its name in the tree.
func (s secondReader) notes() int {
	found := s.files(s.commit(s.tip("refs/notes/ralph")).TreeHash)
	for path, text := range found {
		commit := strings.ReplaceAll(path, "/", "")
		if want := s.p.Git("notes", "--ref=ralph", "show", commit); strings.TrimSpace(text) != want {
			s.Errorf("the note of %s is\n%s\ngit says\n%s", commit, text, want)
		}
	}
	log, err := s.repo.Log(&gogit.LogOptions{From: s.tip("refs/heads/main")})
	if err != nil {
		s.Fatal(err)
	}
	for {
		c, err := log.Next()
		if err == io.EOF {
			return len(found)
		}
		if err != nil {
			s.Fatal(err)
		}
		if strings.HasPrefix(c.Message, "ralph[") && found[c.Hash.String()] == "" {
			s.Errorf("%.12s of the branch has no note", c.Hash)
		}
	}
}
