// Package journal joins the journal's mechanics (gitstate) with its meaning
// (state): it reads a branch's State from the newest entry, appends events by
// compare-and-swap until a deadline, and walks history. It owns the actor id
// of this machine and the cache of decoded states in <common dir>/ralph/.
package journal

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"git-ralph/gitstate"
	"git-ralph/gitstate/object"
	"git-ralph/gitstate/state"
)

// ErrNone says that the branch has no journal.
var ErrNone = errors.New("no journal")

// Journal is the journal of one branch. Several goroutines may use one.
type Journal struct {
	Repo   *gitstate.Repo
	Branch string
	// Actor is this machine's id, in every event.
	Actor string
	// Now is the clock.
	Now func() time.Time
	// Deadline bounds how long an append tries again, default 30 s.
	Deadline time.Duration
	// Fail is told where an append stands; tests end the process there.
	Fail func(step string)

	mu     sync.Mutex // of what follows
	author object.Signature
	last   *Snapshot // the one that was read or written last
	newest object.ID // of the branch, as far as this process knows
	onward bool      // see OnlyForward
	draft  draft     // the entry that was written last
	// tornCache: the cache ends in a torn record; uncached: files it lacked.
	tornCache bool
	uncached  int
}

// AppendSteps are the places where an append can be stopped.
var AppendSteps = []string{"append:objects", "append:ref"}

// Open gives access to a branch's journal, whether it exists or not.
func Open(ctx context.Context, repo *gitstate.Repo, branch string) (*Journal, error) {
	// A reader makes nothing, not even a name for this machine: the first
	// append does that.
	return &Journal{Repo: repo, Branch: branch, Actor: knownActor(repo),
		Now:      func() time.Time { return time.Now().UTC().Truncate(time.Millisecond) },
		Deadline: 30 * time.Second}, nil
}

// Snapshot is the state at one entry.
type Snapshot struct {
	Tip   object.ID
	Tree  object.ID
	State state.State
}

// Ref is the journal's ref.
func (j *Journal) Ref() string { return gitstate.JournalRef(j.Branch) }

// Tip is the newest entry, Zero when there is no journal.
func (j *Journal) Tip(ctx context.Context) (object.ID, error) { return j.Repo.ReadRef(ctx, j.Ref()) }

// Load reads the newest state. ErrNone when there is no journal; a
// *state.FormatError when a newer program wrote it.
func (j *Journal) Load(ctx context.Context) (*Snapshot, error) {
	known := j.Newest() // before the tip, which only moves forward meanwhile
	tip, err := j.Tip(ctx)
	if err != nil {
		return nil, err
	}
	if tip.IsZero() {
		return nil, ErrNone
	}
	snap, err := j.At(tip)
	if err != nil {
		return nil, err
	}
	if err := j.comesFrom(ctx, known, tip); err != nil {
		return nil, err
	}
	j.mu.Lock()
	if j.newest == known {
		j.newest = tip
	}
	j.mu.Unlock()
	return snap, nil
}

// OnlyForward makes Load, and so every append, refuse a tip that does not descend from
// the newest known entry. It is for the holder of the branch: nobody else may rewrite
// the journal then, and an append on top of an older entry would drop the later ones.
func (j *Journal) OnlyForward() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.onward = true
}

// comesFrom refuses a tip that does not come from a known entry, where the journal may
// only go forward.
func (j *Journal) comesFrom(ctx context.Context, known, tip object.ID) error {
	j.mu.Lock()
	onward := j.onward
	j.mu.Unlock()
	if !onward || known.IsZero() || tip == known {
		return nil
	}
	// Nearly always it is the next entry, and git need not be asked.
	if c, err := j.Repo.Store.Records().ReadCommit(tip); err == nil && slices.Contains(c.Parents, known) {
		return nil
	}
	in, err := j.Repo.IsAncestor(ctx, known, tip)
	if err != nil {
		return damaged(tip, err)
	}
	if !in {
		return &UnreadableError{Back, known, fmt.Errorf("%s was moved to %s, which does not come from %s, the newest entry",
			j.Ref(), tip.String()[:12], known.String()[:12])}
	}
	return nil
}

// At reads the state at an entry.
func (j *Journal) At(entry object.ID) (*Snapshot, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.at(entry)
}

// at is At while j.mu is held.
func (j *Journal) at(entry object.ID) (*Snapshot, error) {
	if j.last != nil && j.last.Tip == entry {
		return j.last, nil
	}
	c, err := j.Repo.Store.Records().ReadCommit(entry)
	if err != nil {
		return nil, damaged(entry, err)
	}
	files, err := j.stateFiles(c.Tree)
	if err != nil {
		return nil, damaged(entry, err)
	}
	st, err := state.Decode(files)
	if err != nil {
		return nil, asFormat(entry, err)
	}
	j.last = &Snapshot{Tip: entry, Tree: c.Tree, State: st}
	return j.last, nil
}

// Cause is why a journal cannot be used.
type Cause int

// The causes.
const (
	Foreign Cause = iota + 1 // the entry has no format of git ralph
	Newer                    // the entry is of a format of a later version
	Damaged                  // an object of the entry is missing or cannot be read
	Gone                     // the ref is gone, although the journal had begun
	Back                     // the ref no longer descends from the entry
)

// UnreadableError is a journal that cannot be used at an entry.
type UnreadableError struct {
	Cause Cause
	Entry object.ID // Zero when it is Gone
	Err   error
}

func (e *UnreadableError) Error() string { return e.Err.Error() }
func (e *UnreadableError) Unwrap() error { return e.Err }

// asFormat tells a journal of a newer program from a damaged one.
func asFormat(entry object.ID, err error) error {
	var fe *state.FormatError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &fe) && fe.Format == "":
		return &UnreadableError{Foreign, entry,
			fmt.Errorf("the journal cannot be used at entry %s: %w", entry.String()[:12], err)}
	case errors.As(err, &fe):
		return &UnreadableError{Newer, entry, err}
	}
	return damaged(entry, err)
}

func damaged(entry object.ID, err error) error {
	return &UnreadableError{Damaged, entry,
		fmt.Errorf("the journal cannot be read at entry %s: %w", entry.String()[:12], err)}
}

// stateFiles reads every file of an entry's tree but the event.
func (j *Journal) stateFiles(tree object.ID) (state.Files, error) {
	root, err := j.Repo.Store.Records().ReadTree(tree)
	if err != nil {
		return nil, err
	}
	files := state.Files{}
	known := j.readCache()
	j.tornCache, j.uncached = !known.whole, 0
	var names []string
	var ids []object.ID
	for _, e := range root {
		switch {
		case e.Name == "event":
		case e.Mode == object.ModeDir:
			if err := j.readKnown(files, e.ID, e.Name+"/", known); err != nil {
				return nil, err
			}
		default:
			names, ids = append(names, e.Name), append(ids, e.ID)
		}
	}
	blobs, err := j.Repo.Store.ReadMany(ids)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		files[name] = blobs[i]
	}
	return files, nil
}

func (j *Journal) readDir(files state.Files, tree object.ID, prefix string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.readKnown(files, tree, prefix, cache{})
}

// readKnown reads the files below a tree, from the cache where it has them.
func (j *Journal) readKnown(files state.Files, tree object.ID, prefix string, known cache) error {
	list, err := j.Repo.RecordFiles(tree, prefix)
	if err != nil {
		return err
	}
	var names []string
	var ids []object.ID
	for _, e := range list {
		if data, ok := known.get(e.ID); ok {
			files[e.Name] = data
			continue
		}
		names, ids = append(names, e.Name), append(ids, e.ID)
	}
	j.uncached += len(ids)
	blobs, err := j.Repo.Store.ReadMany(ids)
	if err != nil {
		return err
	}
	for i, name := range names {
		files[name] = blobs[i]
	}
	return nil
}

// Build makes the next event from the newest state. It is called again when
// the journal moved meanwhile. ErrNothing ends the append without an entry.
type Build func(s state.State) (state.Event, error)

// ErrNothing says that there is nothing to record any more.
var ErrNothing = errors.New("nothing to record")

// Stamp fills in id, actor and time of an event where they are empty.
func (j *Journal) Stamp(e *state.Event) {
	if e.Time.IsZero() {
		e.Time = j.Now()
	}
	if e.ID == "" {
		e.ID = gitstate.NewID(e.Time)
	}
	if e.Actor == "" {
		e.Actor = j.Actor
	}
}

// named makes sure that this machine has its name before it is written.
func (j *Journal) named() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.Actor != "" {
		return nil
	}
	var err error
	j.Actor, err = Actor(j.Repo)
	return err
}

// Draft applies an event to a snapshot and writes the entry's objects, synced
// but not yet visible. Snap nil = the first entry.
func (j *Journal) Draft(ctx context.Context, snap *Snapshot, e state.Event) (*Snapshot, error) {
	if err := j.named(); err != nil {
		return nil, err
	}
	j.Stamp(&e)
	var old state.State
	var parents []object.ID
	if snap != nil {
		old, parents = snap.State, []object.ID{snap.Tip}
	}
	if snap == nil {
		if next, _ := state.Apply(old, e); next.Journal.ID == "" {
			// Only what begins a journal may be its first entry.
			return nil, &UnreadableError{Gone, object.Zero,
				fmt.Errorf("the journal of %s is gone: nothing is at %s", j.Branch, j.Ref())}
		}
	}
	// Before the entry can be seen: a command that was written here needs no
	// question here.
	if err := Trust(j.Repo, state.NewCommands(old, e)); err != nil {
		return nil, err
	}
	author, err := j.signature(ctx)
	if err != nil {
		return nil, err
	}
	author.When = e.Time
	return j.write(old, parents, e, author)
}

// write applies an event to the state of the first parent and writes the entry's
// objects.
func (j *Journal) write(old state.State, parents []object.ID, e state.Event, author object.Signature) (*Snapshot,
	error) {
	next, dropped := state.Apply(old, e)
	e.Superseded = dropped
	files := state.Changes(old, next)
	for path, data := range state.EncodeEvent(e) {
		files[path] = data
	}
	commit, tree, err := j.Repo.WriteEntry(parents, gitstate.Draft{Files: files, Message: state.Message(e, next),
		Author: author, Committer: object.Ours(e.Time)})
	if err != nil {
		return nil, fmt.Errorf("write the entry: %w", err)
	}
	if err := j.Repo.Store.Sync(); err != nil {
		return nil, fmt.Errorf("write the entry: %w", err)
	}
	j.cacheState(old, next)
	var d draft // empty for a merge: the index also needs the merged entries
	if len(parents) < 2 {
		d = draft{tip: commit, line: indexLine(commit, e)}
	}
	if len(parents) == 1 {
		d.parent = parents[0]
	}
	j.mu.Lock()
	j.draft = d
	j.mu.Unlock()
	return &Snapshot{Tip: commit, Tree: tree, State: next}, nil
}

func (j *Journal) signature(ctx context.Context) (object.Signature, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.author.Name == "" {
		author, err := j.Repo.Identity(ctx)
		if err != nil {
			return author, err
		}
		j.author = author
	}
	return j.author, nil
}

// Append records one event. When it returns without error the event is in the
// journal for good.
func (j *Journal) Append(ctx context.Context, build Build) (*Snapshot, error) {
	deadline := time.Now().Add(j.Deadline)
	defer j.Repo.Queue(j.Branch, j.Deadline/3)()
	for {
		snap, err := j.Load(ctx)
		if err != nil && !errors.Is(err, ErrNone) {
			return nil, err
		}
		var old state.State
		tip := object.Zero
		if snap != nil {
			old, tip = snap.State, snap.Tip
		}
		e, err := build(old)
		if err != nil {
			return snap, err
		}
		next, err := j.Draft(ctx, snap, e)
		if err != nil {
			return nil, err
		}
		j.fail("append:objects")
		err = j.Repo.UpdateRefs("", gitstate.RefUpdate{Name: j.Ref(), Old: tip, New: next.Tip})
		if err == nil {
			j.fail("append:ref")
			j.Moved(next)
			return next, nil
		}
		if !errors.Is(err, gitstate.ErrRefMoved) && !errors.Is(err, gitstate.ErrRefLocked) {
			return nil, fmt.Errorf("append to the journal: %w", err)
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("append to the journal: gave up after %s: %w", j.Deadline, err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(gitstate.Jitter()):
		}
	}
}

// Record appends an event that does not depend on the state.
func (j *Journal) Record(ctx context.Context, e state.Event) (*Snapshot, error) {
	if err := j.named(); err != nil {
		return nil, err
	}
	j.Stamp(&e)
	return j.Append(ctx, func(state.State) (state.Event, error) { return e, nil })
}

func (j *Journal) fail(step string) {
	if j.Fail != nil {
		j.Fail(step)
	}
}

// Newest is the newest entry that this process has read or written.
func (j *Journal) Newest() object.ID {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.newest
}

// Moved tells the journal that this process has set the tip.
func (j *Journal) Moved(s *Snapshot) {
	j.mu.Lock()
	j.last, j.newest = s, s.Tip
	d := j.draft
	j.mu.Unlock()
	if d.tip == s.Tip {
		j.addToIndex(d)
	}
}

// readAnew drops the cached state, so that the objects are read again.
func (j *Journal) readAnew() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.last = nil
}

// knownActor is the name that this machine has here already, "" before the
// first event.
func knownActor(repo *gitstate.Repo) string {
	data, err := os.ReadFile(filepath.Join(repo.Dir(), "actor"))
	if id := strings.TrimSpace(string(data)); err == nil && isActor(id) {
		return id
	}
	return ""
}

// isActor says that id is 4 to 63 lower case letters, digits and dashes, no
// dash first. (As an expression it cost every process, hooks included, 0.2 ms.)
func isActor(id string) bool {
	for i := range len(id) {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c != '-' || i == 0) {
			return false
		}
	}
	return len(id) >= 4 && len(id) <= 63
}

// Actor is the id of this machine for this repository: a short host name and
// random digits, made once.
func Actor(repo *gitstate.Repo) (string, error) {
	if id := knownActor(repo); id != "" {
		return id, nil
	}
	path := filepath.Join(repo.Dir(), "actor")
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(strings.ToLower(host), ".")
	host = strings.Trim(regexp.MustCompile(`[^a-z0-9-]+`).ReplaceAllString(host, "-"), "-")
	if host == "" {
		host = "machine"
	}
	b := make([]byte, 4)
	rand.Read(b)
	id := host[:min(len(host), 40)] + "-" + hex.EncodeToString(b)
	if err := repo.EnsureDir(); err != nil {
		return "", err
	}
	// Two processes may be the first at once; the one that links wins.
	tmp := path + "." + id
	if err := os.WriteFile(tmp, []byte(id+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("name this machine: %w", err)
	}
	defer os.Remove(tmp)
	if err := os.Link(tmp, path); err != nil {
		if id := knownActor(repo); id != "" {
			return id, nil
		}
		if err := os.Rename(tmp, path); err != nil {
			return "", fmt.Errorf("name this machine: %w", err)
		}
	}
	return id, nil
}
