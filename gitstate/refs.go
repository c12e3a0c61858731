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
