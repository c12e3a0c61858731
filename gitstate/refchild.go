package gitstate

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"git-ralph/internal/proc"
	"git-ralph/internal/text"
)

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
