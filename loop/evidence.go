package loop

import (
	"fmt"
	"io"
	"maps"
	"strings"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/worktree"
	"git-ralph/notes"
)

// evidenceFiles are the files of an evidence commit besides worktree/.
type evidenceFiles map[string][]byte

func (e *evidenceFiles) add(path string, data []byte) {
	if *e == nil {
		*e = evidenceFiles{}
	}
	if data == nil {
		data = []byte{}
	}
	(*e)[path] = data
}

// record is the evidence of an iteration as it is gathered, and the commit that
// holds the checkpoint and what restores found until the evidence is written.
type record struct {
	anchor     object.ID // the commit on the checkpoint's ref
	evidence   evidenceFiles
	foundIndex object.ID        // entries that were put back, as a tree
	found      []worktree.Saved // what restores took out of the worktree and stored
	spoiled    []worktree.Saved // large ignored files that changed, as they were
	first      object.ID        // tree of the first of two tries, Zero = there was one
	more       bool             // some of it is in no evidence that was written before
	back       []string         // what restores changed back and kept
	own        []string         // what they put back of files that git does not track
}

// addOutputs adds the whole outputs of checks and steps.
func (r *record) addOutputs(outputs map[string][]byte) {
	for name, output := range outputs {
		r.evidence.add("checks/"+name, output)
	}
}

// writeEvidence makes the evidence commit of an iteration: what the worktree
// was, the prompt, the transcript, the outputs of the checks. Parents are
// where it started and, when kept, the code commit.
func (l *Loop) writeEvidence(it *Ready, attempt, commit object.ID) (object.ID, error) {
	edits := map[string]*object.TreeEntry{"worktree": {Mode: object.ModeDir, ID: attempt}}
	if attempt == object.EmptyTree || attempt.IsZero() {
		delete(edits, "worktree")
	}
	if !it.foundIndex.IsZero() && it.foundIndex != object.EmptyTree {
		edits["index"] = &object.TreeEntry{Mode: object.ModeDir, ID: it.foundIndex}
	}
	found, err := l.foundEdits(it)
	if err != nil {
		return object.Zero, err
	}
	maps.Copy(edits, found)
	maps.Copy(edits, it.tryEdits())
	for path, data := range it.evidence {
		// Evidence may be shared, and nobody reads ten megabytes for a password.
		id, err := l.Repo.Store.Write(object.Blob, []byte(notes.Redact(string(data))))
		if err != nil {
			return object.Zero, err
		}
		edits[path] = &object.TreeEntry{Mode: object.ModeRegular, ID: id}
	}
	tree, err := l.Repo.EditRecord(object.EmptyTree, edits)
	if err != nil {
		return object.Zero, err
	}
	if tree == object.EmptyTree {
		if _, err := l.Repo.Store.Write(object.Tree, nil); err != nil {
			return object.Zero, err
		}
	}
	var parents []object.ID
	if !it.tip.IsZero() {
		parents = append(parents, it.tip)
	}
	if !commit.IsZero() {
		parents = append(parents, commit)
	}
	sig := ourSignature(l.Now())
	return l.Repo.Store.WriteCommit(object.CommitData{Tree: tree, Parents: parents, Author: sig, Committer: sig,
		Message: fmt.Sprintf("evidence of iteration %d\n\nRalph-Event-Id: %s\n", it.number, it.id)})
}

func (l *Loop) evidenceRef(it *Ready) string {
	return gitstate.EvidenceRef(it.state.Journal.ID, it.id)
}

// blob reads a file of a tree for comparison, nil when it is absent, no file,
// or too large to be looked at.
func (l *Loop) blob(mode object.Mode, id object.ID) ([]byte, error) {
	if id.IsZero() || mode != object.ModeRegular && mode != object.ModeExecutable {
		return nil, nil
	}
	_, size, r, err := l.Repo.Store.Open(id)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if size > maxCompared {
		return nil, nil
	}
	return io.ReadAll(r)
}

// fileNameOf makes a name safe as one path component of evidence.
func fileNameOf(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			b.WriteRune(r)
		} else {
			b.WriteByte('-')
		}
	}
	name := strings.Trim(b.String(), ".-")
	if name == "" {
		name = "output"
	}
	return name[:min(len(name), 60)]
}
