package object

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"git-ralph/internal/proc"
)

// LittleMemory are options for a git that reads a whole long history. git then maps
// only a few megabytes of a pack at a time and keeps a small cache of delta bases.
// 400,000 objects are still read as fast as with git's defaults.
var LittleMemory = []string{"-c", "core.deltaBaseCacheLimit=8m", "-c", "core.packedGitWindowSize=1m", "-c",
	"core.packedGitLimit=8m"}

type catFile struct {
	child *proc.Child
	out   *bufio.Reader
}

func (s *Store) openCat() error {
	if s.cat != nil {
		return nil
	}
	// It answers when it is told to flush: a thousand answers leave in a few writes.
	child, err := s.git.Child(append(slices.Clone(LittleMemory), "cat-file", "--batch-command", "--buffer")...)
	if err != nil {
		return err
	}
	s.cat = &catFile{child, bufio.NewReaderSize(child.Out, 64<<10)}
	return nil
}

func (s *Store) ask(verb string, id ID) (Type, int64, error) {
	if err := s.openCat(); err != nil {
		return 0, 0, err
	}
	if _, err := fmt.Fprintf(s.cat.child.In, "%s %s\nflush\n", verb, id); err != nil {
		return s.catDied(id, err)
	}
	return s.answer(id)
}

// catDied ends a child that does not answer as it should.
func (s *Store) catDied(id ID, err error) (Type, int64, error) {
	if cerr := s.cat.child.Close(); cerr != nil {
		err = cerr
	}
	s.cat = nil
	return 0, 0, fmt.Errorf("read object %s: %w", id, err)
}

// answer reads the first line of the child's next answer.
func (s *Store) answer(id ID) (Type, int64, error) {
	line, err := s.cat.out.ReadString('\n')
	if err != nil {
		return s.catDied(id, err)
	}
	f := strings.Fields(line)
	if len(f) == 2 && f[1] == "missing" {
		return 0, 0, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	if len(f) != 3 {
		return s.catDied(id, fmt.Errorf("cat-file said %q", strings.TrimSpace(line)))
	}
	t, err := plumbing.ParseObjectType(f[1])
	if err != nil {
		return s.catDied(id, err)
	}
	size, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil {
		return s.catDied(id, err)
	}
	return t, size, nil
}

func (s *Store) info(id ID) (Type, int64, error) {
	s.catMu.Lock()
	defer s.catMu.Unlock()
	return s.ask("info", id)
}

func (s *Store) catOpen(id ID) (Type, int64, io.ReadCloser, error) {
	s.catMu.Lock()
	t, size, err := s.ask("contents", id)
	if err != nil {
		s.catMu.Unlock()
		return 0, 0, nil, err
	}
	return t, size, &catReader{s: s, left: size}, nil
}

// catReader is one answer of cat-file; it holds the child until it is closed.
type catReader struct {
	s    *Store
	left int64
	done bool
}

func (c *catReader) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	n, err := c.s.cat.out.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (c *catReader) Close() error {
	if c.done {
		return nil
	}
	c.done = true
	defer c.s.catMu.Unlock()
	if _, err := io.CopyN(io.Discard, c.s.cat.out, c.left+1); err != nil {
		c.s.cat.child.Close()
		c.s.cat = nil
		return err
	}
	return nil
}
