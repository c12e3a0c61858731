package gitstate

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"git-ralph/gitstate/object"
	"git-ralph/internal/proc"
	"git-ralph/internal/text"
)

// ErrRefMoved says that a ref did not have the expected value.
var ErrRefMoved = errors.New("the ref has moved")

// ErrRefLocked says that somebody else holds a ref's lock.
var ErrRefLocked = errors.New("the ref is locked by another process")

// RefUpdate moves one ref. Old = Zero: it must not exist. New = Zero: delete.
type RefUpdate struct {
	Name     string
	Old, New object.ID
}

// ReadRef returns a ref's value, Zero when it does not exist. It does not exist
// only if it is neither loose nor packed.
func (r *Repo) ReadRef(ctx context.Context, name string) (object.ID, error) {
	if err := oneRef(name); err != nil {
		return object.Zero, err
	}
	data, err := os.ReadFile(filepath.Join(r.CommonDir, filepath.FromSlash(name)))
	if err == nil {
		value := strings.TrimSpace(string(data))
		if id, err := object.ParseID(value); err == nil {
			return id, nil
		}
		if strings.HasPrefix(value, "ref: ") {
			return r.askRef(ctx, name)
		}
		return object.Zero, fmt.Errorf("ref %s is damaged: it holds %q", name, text.Clip(value, 50))
	}
	if !errors.Is(err, fs.ErrNotExist) && !isNotDir(err) {
		return object.Zero, fmt.Errorf("read ref %s: %w", name, err)
	}
	packed, err := os.Open(filepath.Join(r.CommonDir, "packed-refs"))
	if errors.Is(err, fs.ErrNotExist) {
		return object.Zero, nil
	}
	if err != nil {
		return object.Zero, fmt.Errorf("read packed refs: %w", err)
	}
	defer packed.Close()
	sc := bufio.NewScanner(packed)
	sc.Buffer(make([]byte, 64<<10), 1<<20)
	want := []byte(" " + name)
	for sc.Scan() {
		if line := sc.Bytes(); bytes.HasSuffix(line, want) && len(line) == 40+len(want) {
			return object.ParseID(string(line[:40]))
		}
	}
	if err := sc.Err(); err != nil {
		return object.Zero, fmt.Errorf("read packed refs: %w", err)
	}
	return object.Zero, nil
}

// isNotDir: refs/heads/a/b is absent when refs/heads/a is a file, and
// refs/heads/a is when it is a folder.
func isNotDir(err error) bool {
	return strings.Contains(err.Error(), "not a directory") || strings.Contains(err.Error(), "is a directory")
}

func (r *Repo) askRef(ctx context.Context, name string) (object.ID, error) {
	line, err := r.Git.Line(ctx, "rev-parse", "-q", "--verify", name)
	if err != nil {
		if proc.ExitCode(err) == 1 {
			return object.Zero, nil
		}
		return object.Zero, err
	}
	return object.ParseID(line)
}

// ListRefs returns the refs below a folder of refs.
func (r *Repo) ListRefs(ctx context.Context, prefix string) (map[string]object.ID, error) {
	refs := map[string]object.ID{}
	add := func(name string, value string) error {
		if plumbing.ReferenceName(name).Validate() != nil {
			return nil // git does not list it either
		}
		id, err := object.ParseID(value)
		if err != nil && value != "link" && !strings.HasPrefix(value, "ref: ") {
			return nil
		}
		if err != nil {
			if id, err = r.askRef(ctx, name); err != nil {
				return err
			}
		}
		if !id.IsZero() {
			refs[name] = id
		}
		return nil
	}
	below := strings.TrimSuffix(prefix, "/")
	if err := oneRef(below); err != nil {
		return nil, err
	}
	err := eachRef(r.CommonDir, below, refWalk{ref: add})
	return refs, err
}

// oneRef refuses a name that leads to another file than its own: it may contain an id
// that came from elsewhere.
func oneRef(name string) error {
	if path.Clean(name) != name || strings.Contains(name, "..") || strings.Contains(name, `\`) {
		return fmt.Errorf("%q is no name of a ref", text.Clip(name, 100))
	}
	return nil
}

// refWalk has the callbacks for the refs of a git directory; nil = not called.
type refWalk struct {
	// folder may return fs.SkipDir.
	folder func(name string) error
	// ref is told of a loose ref before a packed one of the same name, which is then
	// left out. value is the first line of its file, or "link".
	ref  func(name, value string) error
	lock func(path string) error
	only func(name string) bool // which refs are read
}

// eachRef reads the refs below a folder of a git directory: the loose ones before the
// packed ones, as git does. While refs are packed they are in both for a moment, and in
// the other order in neither.
func eachRef(common, below string, w refWalk) error {
	loose := map[string]bool{}
	folder := filepath.Join(common, filepath.FromSlash(below))
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return fmt.Errorf("read refs: %w", err)
		}
		name := below + filepath.ToSlash(path[len(folder):])
		switch {
		case d.IsDir() && w.folder != nil:
			return w.folder(name)
		case d.IsDir():
		case strings.HasSuffix(name, ".lock"):
			if w.lock != nil {
				return w.lock(path)
			}
		case w.only != nil && !w.only(name):
		case d.Type() == fs.ModeSymlink:
			loose[name] = true
			return w.ref(name, "link")
		case d.Type().IsRegular():
			data, err := readPlain(path, 4096)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("read ref %s: %w", name, err)
			}
			loose[name] = true
			return w.ref(name, strings.TrimSpace(string(data)))
		}
		return nil
	})
	if err != nil {
		return err
	}
	packed, err := readPlain(filepath.Join(common, "packed-refs"), maxPacked)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read packed refs: %w", err)
	}
	for line := range bytes.Lines(packed) {
		hash, rest, ok := bytes.Cut(bytes.TrimRight(line, "\n"), []byte(" "))
		if !ok || len(hash) != 40 || !bytes.HasPrefix(rest, []byte(below+"/")) {
			continue
		}
		if name := string(rest); !loose[name] && (w.only == nil || w.only(name)) {
			if err := w.ref(name, string(hash)); err != nil {
				return err
			}
		}
	}
	return nil
}

// refChild is a `git update-ref --stdin` that stays: a transaction through it
// costs a third of a millisecond, and its locks vanish when we are killed.
type refChild struct {
	msg   string // for the reflogs, "" = it writes none
	child *proc.Child
	out   *bufio.Reader
	note  *proc.Writer // of the locks that it holds; nil = none could be left
	held  map[string]os.FileInfo
}

// ReadyRefs starts the git that PrepareRefs will need for a message, so that it starts
// beside other work. The caller calls the function that it returns at the end.
func (r *Repo) ReadyRefs(msg string) (end func()) {
	swap := func(c *refChild) {
		if old := r.named.Swap(c); old != nil {
			old.close()
		}
	}
	started := make(chan struct{})
	go func() {
		defer close(started)
		if c, err := r.startRefs(msg); err == nil { // else PrepareRefs says why
			swap(c)
		}
	}()
	return func() {
		<-started
		swap(nil)
	}
}

func (r *Repo) startRefs(msg string) (*refChild, error) {
	// An id is never a name here: git would look for a ref of that name in six places.
	args := []string{"-c", "core.fsync=reference", "-c", "core.warnAmbiguousRefs=false", "-c"}
	if msg == "" {
		args = append(args, "core.logAllRefUpdates=false", "update-ref", "--stdin")
	} else {
		args = append(args, "core.logAllRefUpdates=always", "update-ref", "--create-reflog", "-m",
			strings.ReplaceAll(msg, "\n", " "), "--stdin")
	}
	c, err := r.Git.Child(args...)
	if err != nil {
		return nil, err
	}
	rc := &refChild{msg: msg, child: c, out: bufio.NewReader(c.Out)}
	if r.EnsureDir() == nil {
		if rc.note, err = proc.NewWriter(r.writersDir(), "git update-ref"); err == nil {
			rc.note.WorksBy(c.Pid)
			rc.note.Idle = true
			rc.note.Save()
		}
	}
	return rc, nil
}

// begins says in the note which locks are about to be taken.
func (c *refChild) begins(r *Repo, ups []RefUpdate) {
	if c.note == nil {
		return
	}
	c.note.Since, c.note.Idle, c.note.Locks, c.note.Refs = time.Now(), false, nil, map[string]string{}
	for _, u := range ups {
		c.note.Refs[r.refLock(u.Name)] = u.New.String()
	}
	c.note.Save()
}

// holds adds the inodes of the locks, which a prepared transaction has for sure.
func (c *refChild) holds(r *Repo, ups []RefUpdate) {
	if c.note == nil {
		return
	}
	c.note.Locks, c.held = map[string]uint64{}, map[string]os.FileInfo{}
	add := func(path string) {
		if st, err := os.Lstat(path); err == nil {
			c.note.Locks[path], c.held[path] = inode(st), st
		}
	}
	head, _ := os.ReadFile(filepath.Join(r.GitDir, "HEAD"))
	for _, u := range ups {
		add(r.refLock(u.Name))
		if u.New.IsZero() {
			add(filepath.Join(r.CommonDir, "packed-refs.lock"))
		}
		if strings.TrimSpace(string(head)) == "ref: "+u.Name {
			add(filepath.Join(r.GitDir, "HEAD.lock"))
		}
	}
	c.note.Save()
}

// idle says that the locks were given back.
func (c *refChild) idle() {
	if c.note != nil {
		c.removeKept()
		c.note.Idle, c.note.Locks, c.note.Refs = true, nil, nil
		c.note.Save()
	}
}

// removeKept removes locks that git failed to remove after its transaction. git reports ok all the
// same, and later nobody could tell whose they are. Inodes are reused at once, so a lock of another
// git may look the same; that one lasts only milliseconds.
func (c *refChild) removeKept() {
	for path, st := range c.held {
		for till := time.Now().Add(lockAge); ; time.Sleep(lockAge / 50) {
			now, err := os.Lstat(path)
			if err != nil || !os.SameFile(st, now) || !now.ModTime().Equal(st.ModTime()) {
				break
			}
			if time.Now().After(till) {
				os.Remove(path)
				break
			}
		}
	}
	c.held = nil
}

func (r *Repo) refLock(name string) string {
	return filepath.Join(r.CommonDir, filepath.FromSlash(name)+".lock")
}

// say sends commands and reads what git is to answer.
func (c *refChild) say(cmds string, answers ...string) error {
	if _, err := c.child.In.Write([]byte(cmds)); err != nil {
		return c.fail(err)
	}
	for _, answer := range answers {
		line, err := c.out.ReadString('\n')
		if err != nil {
			return c.fail(err)
		}
		if strings.TrimSpace(line) != answer {
			return c.fail(fmt.Errorf("git update-ref said %q", strings.TrimSpace(line)))
		}
	}
	return nil
}

// fail ends the child and explains why, in the terms of a compare-and-swap.
func (c *refChild) fail(err error) error {
	var hung *proc.HungError
	if cerr := c.close(); cerr != nil && !errors.As(err, &hung) {
		err = cerr
	}
	if hung != nil {
		return fmt.Errorf("move refs: %w", hung)
	}
	msg := err.Error()
	switch {
	case strings.Contains(msg, "but expected"), strings.Contains(msg, "reference already exists"),
		strings.Contains(msg, "unable to resolve reference"), strings.Contains(msg, "reference is missing"):
		return fmt.Errorf("%w: %s", ErrRefMoved, msg)
	case strings.Contains(msg, ".lock': File exists"), strings.Contains(msg, ".lock': No such file or directory"):
		// The second: git pack-refs removes folders of refs that became empty.
		return fmt.Errorf("%w: %s", ErrRefLocked, text.Clip(msg, 200))
	}
	return fmt.Errorf("move refs: %s", text.Clip(msg, 400))
}

// close ends the child. If it was killed, its locks may remain, so its note
// stays for whoever finds them.
func (c *refChild) close() error {
	err := c.child.Close()
	if c.child.Killed() {
		c.note.Leave()
	} else {
		c.note.Done()
	}
	return err
}

// RefTx is a prepared transaction: every ref is locked and had its expected
// value. Exactly one of Commit and Abort follows.
type RefTx struct {
	r    *Repo
	c    *refChild
	ups  []RefUpdate
	back *atomic.Pointer[refChild] // where the child is given back to; nil = it ends
}

// PrepareRefs locks and checks refs. Msg is for their reflogs. The order of
// updates is the order of the renames in Commit.
func (r *Repo) PrepareRefs(msg string, ups ...RefUpdate) (*RefTx, error) {
	for try := 0; ; try++ {
		tx, err := r.prepareRefs(msg, ups)
		if err == nil || try == 20 || !pruned(err) {
			return tx, err
		}
		// A gc has just removed what no ref led to.
		if err := r.Store.EnsureAll(); err != nil {
			return nil, err
		}
	}
}

// brief reports whether a ref is written once and then only removed. A reflog of it would
// be a file an iteration that nobody reads.
func brief(name string) bool {
	return strings.HasPrefix(name, LocalPrefix) || strings.HasPrefix(name, EvidencePrefix)
}

func (r *Repo) prepareRefs(msg string, ups []RefUpdate) (*RefTx, error) {
	waits := &r.named
	switch {
	case msg != "":
	case slices.ContainsFunc(ups, func(u RefUpdate) bool { return !brief(u.Name) }):
		waits, msg = &r.child, "git ralph"
	default:
		waits = &r.quiet
	}
	c := waits.Swap(nil) // concurrent callers start their own
	if c != nil && c.msg != msg {
		c.close()
		c = nil
	}
	if c == nil {
		var err error
		if c, err = r.startRefs(msg); err != nil {
			return nil, err
		}
	}
	var b strings.Builder
	for _, u := range ups {
		switch {
		case u.New.IsZero():
			fmt.Fprintf(&b, "delete %s %s\n", u.Name, u.Old)
		case u.Old.IsZero():
			fmt.Fprintf(&b, "create %s %s\n", u.Name, u.New)
		default:
			fmt.Fprintf(&b, "update %s %s %s\n", u.Name, u.New, u.Old)
		}
	}
	c.begins(r, ups)
	err := c.say("start\n"+b.String()+"prepare\n", "start: ok", "prepare: ok")
	if err != nil {
		var hung *proc.HungError
		if c.child.Killed() && !errors.As(err, &hung) {
			// Nothing was moved. Its locks must be removed; we try first.
			err = fmt.Errorf("%w: git update-ref was killed", ErrRefLocked)
		}
		if errors.Is(err, ErrRefLocked) {
			err = r.unjam(err)
		}
		return nil, err
	}
	c.holds(r, ups)
	if err := r.Store.Ensure(); err != nil {
		return nil, errors.Join(err, (&RefTx{r: r, c: c}).Abort())
	}
	tx := &RefTx{r: r, c: c, ups: ups}
	if waits != &r.named {
		tx.back = waits
	}
	// Under the locks the values are compared once more with what lies on disk.
	// git trusts its copy of packed-refs when size, inode and the second of its
	// time are the same, and a file system gives an inode out again at once:
	// eight writers beside a loop of pack-refs lost 3 of 320 events that way.
	for _, u := range ups {
		now, err := r.ReadRef(context.Background(), u.Name)
		if err == nil && now != u.Old {
			err = fmt.Errorf("%w: %s is at %s, expected %s", ErrRefMoved, u.Name, now, u.Old)
		}
		if err != nil {
			tx.back = nil // its copy is stale
			return nil, errors.Join(err, tx.Abort())
		}
	}
	return tx, nil
}

// unjam removes the locks of dead processes; its caller tries again until a
// deadline. Locks that stay are named.
func (r *Repo) unjam(locked error) error {
	gone, left, err := r.SweepLocks()
	if err != nil || len(gone) > 0 || len(left) == 0 {
		return errors.Join(locked, err)
	}
	return &JammedError{locked, left}
}

// JammedError is a ref lock that cannot be proved stale.
type JammedError struct {
	Err  error
	Left []LeftLock
}

func (e *JammedError) Error() string {
	return fmt.Sprintf("%v (%s: %s)", e.Err, e.Left[0].Path, e.Left[0].Why)
}
func (e *JammedError) Unwrap() error { return e.Err }

// Commit makes the new values visible.
func (t *RefTx) Commit() error {
	if err := t.c.say("commit\n", "commit: ok"); err != nil {
		return err
	}
	return errors.Join(t.r.Store.Settle(), t.r.flushRefs(t.ups), t.done())
}

// flushRefs makes moved refs permanent. git flushes the file with the new value
// but not its name, so a power cut could bring back the old value after the
// writer was told of the new one. A deleted ref that comes back does no harm.
// Logs are flushed first, so that the newest change of a name is the ref's own.
func (r *Repo) flushRefs(ups []RefUpdate) error {
	var logs, dirs []string
	for _, u := range ups {
		if u.New.IsZero() {
			continue
		}
		logs = append(logs, filepath.Join(r.CommonDir, "logs", filepath.FromSlash(u.Name)))
		dirs = append(dirs, filepath.Dir(filepath.Join(r.CommonDir, filepath.FromSlash(u.Name))))
	}
	if len(dirs) == 0 {
		return nil
	}
	err := object.FlushFiles(r.CommonDir, len(logs), func(i int) (*os.File, error) {
		f, err := os.Open(logs[i])
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return f, err
	})
	slices.Sort(dirs)
	if err = errors.Join(err, object.FlushFolders(slices.Compact(dirs)...)); err != nil {
		return fmt.Errorf("flush refs: %w", err)
	}
	return nil
}

// Abort gives the locks back.
func (t *RefTx) Abort() error {
	if err := t.c.say("abort\n", "abort: ok"); err != nil {
		return err
	}
	return t.done()
}

func (t *RefTx) done() error {
	t.c.idle()
	if t.back != nil && t.back.CompareAndSwap(nil, t.c) {
		return nil
	}
	return t.c.close()
}

// UpdateRefs moves refs in one transaction.
func (r *Repo) UpdateRefs(msg string, ups ...RefUpdate) error {
	tx, err := r.PrepareRefs(msg, ups...)
	if err != nil {
		return err
	}
	return tx.Commit()
}
