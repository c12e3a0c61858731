package gitstate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// place is a folder that must not be replaced. An agent that can write beside
// it may put a link, a .git file or another folder there, and every later git
// command would work on something else.
type place struct {
	path string
	was  os.FileInfo
	open *os.File // keeps its identity from being reused, and says where it went
}

// GoneError says that the worktree or its git directory is not what it was and
// could not be put back: nothing may be read or written there any more.
type GoneError struct {
	Path string
	Now  string // where it lies now; "" = not known, or removed
}

func (e *GoneError) Error() string {
	if e.Now != "" {
		return fmt.Sprintf("%s was moved to %s, and something else is in its place", e.Path, e.Now)
	}
	return e.Path + " is not the folder that it was"
}

func takePlace(path string) (place, error) {
	p := place{path: path}
	var err error
	if p.was, err = os.Lstat(path); err != nil {
		return p, err
	}
	if p.open, err = os.Open(path); err != nil {
		return p, err
	}
	return p, nil
}

func (p place) same() bool {
	st, err := os.Lstat(p.path)
	return err == nil && os.SameFile(st, p.was)
}

// Places puts the git directory back when the agent moved it and left
// something else in its place, and says so by moved. A *GoneError means that
// the repository cannot be used. It comes before anything else is read.
func (s *Snapshot) Places() (moved bool, err error) {
	for _, p := range s.places {
		if p.same() {
			continue
		}
		now := whereIs(p.open)
		if now == "" || now == p.path || p.path == s.root {
			return moved, &GoneError{Path: p.path, Now: now}
		}
		if err := p.putBack(now, s.aside); err != nil {
			return moved, errors.Join(&GoneError{Path: p.path, Now: now}, err)
		}
		moved = true
	}
	return moved, nil
}

// putBack moves the folder back from its present place. Whatever replaced it is
// moved aside.
func (p place) putBack(now, aside string) error {
	if st, err := os.Lstat(now); err != nil || !os.SameFile(st, p.was) {
		return errors.New("it moves")
	}
	// A planted link must not be followed: renames do not.
	planted := p.path + ".planted-" + strconv.Itoa(os.Getpid())
	there := true
	if err := os.Rename(p.path, planted); errors.Is(err, os.ErrNotExist) {
		there = false
	} else if err != nil {
		return err
	}
	if err := os.Rename(now, p.path); err != nil {
		return err
	}
	if !there {
		return nil
	}
	if err := os.MkdirAll(aside, 0o700); err != nil {
		return err
	}
	to, err := os.MkdirTemp(aside, "planted-")
	if err != nil {
		return err
	}
	return os.Rename(planted, filepath.Join(to, filepath.Base(p.path)))
}

// Close lets the folders go that the snapshot watches; of nil, nothing.
func (s *Snapshot) Close() {
	if s == nil {
		return
	}
	for _, p := range s.places {
		p.open.Close()
	}
	s.places = nil
}
