package proc

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// HungError says that a git was ended because it did not come to its end.
type HungError struct {
	Args  []string
	After time.Duration
}

func (e *HungError) Error() string {
	return fmt.Sprintf("git %s had said nothing for %s and was ended", subcommand(e.Args), e.After)
}

// endGently lets git give its locks back when its time is over.
func (g *Git) endGently(c *exec.Cmd) {
	c.Cancel = func() error { return interrupt(c.Process) }
	c.WaitDelay = g.grace()
}

func (g *Git) grace() time.Duration {
	if g.Grace > 0 {
		return g.Grace
	}
	return 2 * time.Second
}

// subcommand is the word that says what git does.
func subcommand(args []string) string {
	for i := 0; i < len(args); i++ {
		switch {
		case args[i] == "-c" || args[i] == "-C":
			i++
		case !strings.HasPrefix(args[i], "-"):
			return args[i]
		}
	}
	return ""
}

// quick are the commands whose work does not grow with the repository.
var quick = []string{"rev-parse", "symbolic-ref", "config", "var", "version", "check-ref-format", "update-ref",
	"cat-file"}

// slow are those that may read or write all of it.
var slow = []string{"maintenance", "gc", "worktree", "reset", "checkout", "switch", "rev-list", "log", "fsck", "fetch",
	"push", "clone",
	"merge-tree", "commit", "add", "rm", "status", "ls-files"}

func (g *Git) answerWithin() time.Duration {
	if g.Patience > 0 {
		return g.Patience
	}
	return time.Minute
}

func (g *Git) patience(args []string) time.Duration {
	name := subcommand(args)
	switch {
	case g.Patience > 0:
		return g.Patience
	case slices.Contains(quick, name):
		return time.Minute
	case slices.Contains(slow, name):
		return 2 * time.Hour
	}
	return 10 * time.Minute
}

// lockless are the commands that take no lock of the repository: they read, or
// write objects alone.
var lockless = []string{"rev-parse", "for-each-ref", "cat-file", "ls-files", "ls-tree", "log", "rev-list", "merge-base",
	"merge-tree", "diff",
	"diff-tree", "diff-index", "diff-files", "show", "status", "check-attr", "check-ignore", "symbolic-ref", "var",
	"version", "help", "grep",
	"commit-tree", "hash-object", "fsck", "count-objects", "check-ref-format", "interpret-trailers", "mktree", "ls-remote"}

// mayLock says whether a git command may leave a lock behind when it is killed.
func (g *Git) mayLock(args []string) bool {
	name := subcommand(args)
	switch {
	case g.Writers == "" || g.Index != "" || name == "" || slices.Contains(lockless, name):
		return false
	case name == "config":
		return slices.ContainsFunc(args, func(s string) bool {
			return s == "--add" || strings.HasPrefix(s, "--unset") ||
				s == "--replace-all"
		})
	}
	return true
}

// runNoted runs git, with a note if it may hold locks. The note of a killed
// git stays.
func (g *Git) runNoted(c *exec.Cmd, args []string) error {
	if !g.mayLock(args) {
		return c.Run()
	}
	n, err := NewWriter(g.Writers, "git "+subcommand(args))
	if err != nil {
		return c.Run() // where we cannot write a note, git cannot write either
	}
	if err := c.Start(); err != nil {
		n.Done()
		return err
	}
	n.WorksBy(c.Process.Pid)
	err = c.Wait()
	if c.ProcessState == nil || c.ProcessState.ExitCode() != -1 {
		n.Done()
	}
	return err
}

// Writer is the note of a process that may hold lock files. It lies in a folder
// as long as the locks may exist, so that locks of a dead process can be told
// from those of a living one. The process is named in the file's name: a power
// cut loses unflushed contents, but no name that was given before the lock was
// made.
type Writer struct {
	Owner Identity `json:"-"`
	Child Identity `json:"-"` // the git that works for it; Pid 0 = none yet
	// Space is where the process's number means something: a container has
	// numbers of its own.
	Space string `json:"-"`

	What  string    `json:"what"`
	Since time.Time `json:"since"`
	// Locks are lock files known by their inode; Refs are the values that lock
	// files of refs hold, by path.
	Locks map[string]uint64 `json:"locks,omitempty"`
	Refs  map[string]string `json:"refs,omitempty"`
	// Idle says that a living process holds no lock at the moment.
	Idle bool `json:"idle,omitempty"`

	path string
	f    *os.File
}

// NewWriter leaves a note in dir.
func NewWriter(dir, what string) (*Writer, error) {
	w := &Writer{Owner: Self(), Space: pidSpace(), What: what, Since: time.Now()}
	w.path = filepath.Join(dir, w.name())
	var err error
	for range 2 {
		w.f, err = os.OpenFile(w.path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if !os.IsNotExist(err) {
			break
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("leave a note of a writer: %w", err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("leave a note of a writer: %w", err)
	}
	if err := w.Save(); err != nil {
		w.Done()
		return nil, err
	}
	return w, nil
}

// name holds pid and start time of the owner and of its git, the boot id, the
// pid namespace, and a random number.
func (w *Writer) name() string {
	return fmt.Sprintf("%d.%d.%d.%d.%s.%s.%x", w.Owner.Pid, w.Owner.StartTime, w.Child.Pid, w.Child.StartTime,
		w.Owner.BootID, w.Space, rand.Uint32())
}

func (w *Writer) parseName(name string) bool {
	f := strings.Split(name, ".")
	if len(f) != 7 {
		return false
	}
	var n [4]uint64
	for i := range n {
		var err error
		if n[i], err = strconv.ParseUint(f[i], 10, 64); err != nil {
			return false
		}
	}
	w.Owner = Identity{Pid: int(n[0]), StartTime: n[1], BootID: f[4]}
	w.Child, w.Space = Identity{Pid: int(n[2]), StartTime: n[3], BootID: f[4]}, f[5]
	return w.Owner.Pid != 0
}

// WorksBy adds the git that works for the process.
func (w *Writer) WorksBy(pid int) {
	w.Child = IdentityOf(pid)
	if path := filepath.Join(filepath.Dir(w.path), w.name()); os.Rename(w.path, path) == nil {
		w.path = path
	}
}

// Save writes what the note says anew, in place.
func (w *Writer) Save() error {
	data, err := json.Marshal(w)
	if err == nil {
		if _, err = w.f.WriteAt(append(data, '\n'), 0); err == nil {
			err = w.f.Truncate(int64(len(data)) + 1)
		}
	}
	if err != nil {
		return fmt.Errorf("leave a note of a writer: %w", err)
	}
	return nil
}

// Done takes the note away: no lock is held any more.
func (w *Writer) Done() {
	if w == nil || w.f == nil {
		return
	}
	os.Remove(w.path)
	w.f.Close()
	w.f = nil
}

// Leave keeps the note for the sweep: locks may have been left.
func (w *Writer) Leave() {
	if w != nil && w.f != nil {
		w.f.Close()
		w.f = nil
	}
}

// Dead says whether both the process and its git are gone. A note of this very
// process counts as dead when its git is gone. One of another container counts
// only after a reboot.
func (w *Writer) Dead() bool {
	if w.Space != pidSpace() {
		return w.Owner.BootID != "" && bootID() != "" && w.Owner.BootID != bootID()
	}
	if w.Child.Pid != 0 && w.Child.Alive() {
		return false
	}
	if w.Owner == Self() {
		return w.Child.Pid != 0
	}
	return !w.Owner.Alive()
}

// ReadWriters reads all notes of a folder, by path. Of one whose contents are
// torn or lost the name is known.
func ReadWriters(dir string) map[string]Writer {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	out := map[string]Writer{}
	for _, e := range entries {
		var w Writer
		path := filepath.Join(dir, e.Name())
		data, err := os.ReadFile(path)
		if err != nil && os.IsNotExist(err) || json.Unmarshal(data, &w) != nil {
			w = Writer{}
		}
		if w.parseName(e.Name()) {
			out[path] = w
		}
	}
	return out
}
