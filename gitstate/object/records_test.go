package object

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestRecordsReadAlike: go-git and our decoders for foreign objects read the same
// from what go-git writes for us, and git fsck accepts it.
func TestRecordsReadAlike(t *testing.T) {
	s, git := newStore(t, "")
	records := s.Records()
	r := rand.New(rand.NewPCG(3, 4))
	blob, err := s.Write(Blob, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	var parents []ID
	for n := range 60 {
		var entries []TreeEntry
		names := map[string]bool{}
		for range n {
			// These names sort differently as folders and as files.
			name := strings.Repeat("a", 1+r.IntN(3)) + []string{"", "-", ".", "0", "é", " b"}[r.IntN(6)] + fmt.Sprint(r.IntN(40))
			if names[name] {
				continue
			}
			names[name] = true
			e := TreeEntry{Name: name, Mode: []Mode{ModeRegular, ModeExecutable, ModeSymlink}[r.IntN(3)], ID: blob}
			if r.IntN(4) == 0 {
				e.Mode, e.ID = ModeDir, EmptyTree
			}
			entries = append(entries, e)
		}
		data, err := EncodeRecordTree(entries)
		if err != nil {
			t.Fatal(err)
		}
		if own := EncodeTree(entries); string(own) != string(data) {
			t.Fatalf("a tree of %d entries is written as\n%q\nand by us as\n%q", n, data, own)
		}
		tree, err := records.WriteTree(entries)
		if err != nil {
			t.Fatal(err)
		}
		a, errA := records.ReadTree(tree)
		b, errB := s.ReadTree(tree)
		if d := cmp.Diff(a, b); errA != nil || errB != nil || d != "" && len(a)+len(b) > 0 {
			t.Fatalf("tree %s is read differently: %v %v\n%s", tree, errA, errB, d)
		}
		who := Signature{"A Ü Thor", "a@example.com", time.Unix(1700000000+int64(n), 0).In(time.FixedZone("", (n-30)*1800))}
		ours := Signature{"git-ralph", "git-ralph@localhost", time.Unix(1700000000, 0).UTC()}
		id, err := records.WriteCommit(CommitData{Tree: tree, Parents: parents, Author: who, Committer: ours,
			Message: fmt.Sprintf("entry %d\n\ntext: ünïcode\n\nRalph-Event: x\n", n)})
		if err != nil {
			t.Fatal(err)
		}
		c, err := records.ReadCommit(id)
		if err != nil {
			t.Fatal(err)
		}
		d, err := s.ReadCommit(id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, d); diff != "" {
			t.Errorf("commit %s is read differently:\n%s", id, diff)
		}
		if parents = append(parents, id); len(parents) > 3 {
			parents = parents[1:]
		}
	}
	if _, err := s.Write(Tree, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Sync(); err != nil {
		t.Fatal(err)
	}
	git("", "fsck", "--strict", parents[len(parents)-1].String())
}

// TestDamagedRecords: anything that cannot be one of our records is an error, and
// is never read in part.
func TestDamagedRecords(t *testing.T) {
	tree, err := EncodeRecordTree([]TreeEntry{{Name: "a", Mode: ModeRegular, ID: EmptyTree},
		{Name: "b", Mode: ModeDir, ID: EmptyTree}})
	if err != nil {
		t.Fatal(err)
	}
	first := len("100644 a\x00") + len(EmptyTree)
	for n := 1; n < len(tree); n++ {
		if n == first {
			continue // a tree of one entry
		}
		if got, err := DecodeRecordTree(tree[:n]); err == nil {
			t.Errorf("%d of %d bytes are read as %v", n, len(tree), got)
		}
	}
	slash := strings.Replace(string(tree), "a\x00", "../a\x00", 1)
	if _, err := DecodeRecordTree([]byte(slash)); err == nil || !strings.Contains(err.Error(), "damaged tree") {
		t.Errorf("a name with a slash: %v", err)
	}
	for _, text := range []string{"", "\n", "no commit", "author A <a@b> 1 +0000\n\nx",
		"parent " + EmptyTree.String() + "\n\nx"} {
		if c, err := DecodeRecord([]byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, c)
		}
	}
}
