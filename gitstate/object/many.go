package object

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// ReadMany reads many blobs, in the order of ids. Packed ones are requested
// together, so a thousand blobs take one round trip to git. An absent, damaged
// or other object is an error that names it.
func (s *Store) ReadMany(ids []ID) ([][]byte, error) { return s.ReadManyOf(Blob, ids) }

// mostTogether bounds the bytes that are read at once: a journal that somebody else has
// pushed may hold gigabytes of zeros, which are small on their way here.
const mostTogether = 256 << 20

// ReadManyOf is ReadMany for objects of any one type.
func (s *Store) ReadManyOf(t Type, ids []ID) ([][]byte, error) {
	out := make([][]byte, len(ids))
	left := int64(mostTogether)
	one := func(i int) error {
		found, data, err := s.readAtMost(ids[i], left)
		if err == nil && found != t {
			err = fmt.Errorf("object %s is a %s, not a %s", ids[i], found, t)
		}
		out[i] = data
		left -= int64(len(data))
		return err
	}
	var packed []int
	for i, id := range ids {
		if !s.atHand(id, len(ids)) {
			packed = append(packed, i)
			continue
		}
		if err := one(i); err != nil {
			return nil, err
		}
	}
	if len(packed) < 4 {
		for _, i := range packed {
			if err := one(i); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	err := s.readPacked(t, ids, packed, out, left)
	if errors.Is(err, ErrNotFound) {
		// A repack may be running: read them one by one, with retries.
		for _, i := range packed {
			if err = one(i); err != nil {
				break
			}
		}
	}
	return out, err
}

// gitFirst is the number of objects from which git is asked at once. A stat of
// each loose file would take longer.
const gitFirst = 64

// atHand reports whether one of n objects is read without git.
func (s *Store) atHand(id ID, n int) bool {
	s.mu.Lock()
	_, waiting := s.pending[id]
	s.mu.Unlock()
	if waiting || n >= gitFirst {
		return waiting
	}
	_, err := os.Lstat(s.path(id))
	return err == nil
}

// Sizes says how many bytes each blob has, in the order of ids, without reading
// them. An absent, damaged or other object is an error that names it.
func (s *Store) Sizes(ctx context.Context, ids []ID) ([]int64, error) {
	out := make([]int64, len(ids))
	var list bytes.Buffer
	var asked []int
	for i, id := range ids {
		s.mu.Lock()
		_, waiting := s.pending[id]
		s.mu.Unlock()
		if !waiting {
			fmt.Fprintln(&list, id)
			asked = append(asked, i)
			continue
		}
		t, size, r, err := s.Open(id)
		if err != nil {
			return nil, err
		}
		r.Close()
		if t != Blob {
			return nil, fmt.Errorf("object %s is a %s, not a %s", id, t, Blob)
		}
		out[i] = size
	}
	if len(asked) == 0 {
		return out, nil
	}
	// A separate process, which may buffer its answers.
	text, err := s.git.RunWith(ctx, &list, nil, "cat-file", "--buffer", "--batch-check=%(objecttype) %(objectsize)")
	if err != nil {
		return nil, fmt.Errorf("ask git for the sizes of objects: %w", err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) != len(asked) {
		return nil, fmt.Errorf("cat-file gave %d answers to %d questions", len(lines), len(asked))
	}
	for k, i := range asked {
		kind, size, _ := strings.Cut(lines[k], " ")
		switch {
		case size == "missing":
			return nil, fmt.Errorf("%w: %s", ErrNotFound, ids[i])
		case kind != "blob":
			return nil, fmt.Errorf("object %s is a %s, not a %s", ids[i], kind, Blob)
		}
		if out[i], err = strconv.ParseInt(size, 10, 64); err != nil {
			return nil, fmt.Errorf("cat-file said %q", lines[k])
		}
	}
	return out, nil
}

func (s *Store) readPacked(kind Type, ids []ID, want []int, out [][]byte, left int64) error {
	_, err := s.askMany("contents", ids, want, func(i int, t Type, size int64, err error) error {
		switch {
		case err != nil:
			return err
		case t != kind:
			return fmt.Errorf("object %s is a %s, not a %s", ids[i], t, kind)
		case size > left:
			return tooMany(ids[i], size)
		}
		left -= size
		data := make([]byte, size+1) // and the line end after it
		if _, err := io.ReadFull(s.cat.out, data); err != nil {
			return fmt.Errorf("read object %s: %w", ids[i], err)
		}
		out[i] = data[:size:size]
		return nil
	})
	return err
}

// ReadWhole is ReadManyOf. It also fails if an object's contents do not match
// its name, or if a tree has an entry that git would not check out.
func (s *Store) ReadWhole(t Type, ids []ID) ([][]byte, error) {
	out, err := s.ReadManyOf(t, ids)
	c := newChecker(checkTrees)
	for i, data := range out {
		if err == nil {
			if err = c.check(ids[i], t, int64(len(data)), bytes.NewReader(data)); err != nil {
				err = fmt.Errorf("object %s: %w", ids[i], err)
			}
		}
	}
	return out, err
}

// askMany asks the same of many objects in one conversation with git. The
// answers go to f in the order of want, with ErrNotFound for an absent object; f
// reads the contents. An error of f, or an answer that cannot be read, ends the
// conversation; done is how many f was content with.
func (s *Store) askMany(verb string, ids []ID, want []int,
	f func(i int, t Type, size int64, err error) error) (done int, err error) {
	s.catMu.Lock()
	defer s.catMu.Unlock()
	if len(want) == 0 {
		return 0, nil
	}
	if err := s.openCat(); err != nil {
		return 0, err
	}
	cat := s.cat
	asked := make(chan error, 1)
	go func() {
		w := bufio.NewWriter(cat.child.In)
		line := append([]byte(verb), ' ')
		n := len(line)
		for _, i := range want {
			line = append(hex.AppendEncode(line[:n], ids[i][:]), '\n')
			w.Write(line)
		}
		io.WriteString(w, "flush\n")
		asked <- w.Flush()
	}()
	for ; done < len(want) && err == nil; done++ {
		i := want[done]
		var t Type
		var size int64
		if t, size, err = s.answer(ids[i]); err == nil || errors.Is(err, ErrNotFound) {
			err = f(i, t, size, err)
		}
	}
	if err != nil {
		done--
		// Unread answers are in the pipe: this child cannot be used again.
		if s.cat == cat {
			s.cat = nil
		}
		_ = cat.child.Close() // it fails when it is ended in the middle of an answer
	}
	if aerr := <-asked; err == nil && aerr != nil {
		err = fmt.Errorf("ask git for objects: %w", aerr)
	}
	return done, err
}

// HasMany says of each object, in the order of ids, whether it exists.
func (s *Store) HasMany(ids []ID) []bool {
	out, all := make([]bool, len(ids)), make([]int, len(ids))
	for i := range all {
		all[i] = i
	}
	done, _ := s.askMany("info", ids, all, func(i int, _ Type, _ int64, err error) error {
		out[i] = err == nil
		return nil
	})
	for i := range ids {
		if !out[i] || i >= done { // it may be one that git does not see
			out[i] = s.Has(ids[i])
		}
	}
	return out
}

// errContents says that an object's bytes do not have its name.
var errContents = errors.New("its contents are not what its name says")

// CheckMany reads objects of any type whole and says of each, in the order of
// ids, what is wrong with it; nil = nothing.
func (s *Store) CheckMany(ids []ID) []error { return s.checkMany(ids, checkTrees) }

// CheckNames is CheckMany for objects of which the caller made the contents
// itself: only the hash is checked, and trees are not parsed.
func (s *Store) CheckNames(ids []ID) []error { return s.checkMany(ids, namesOnly) }

// treeCheck says whether the entries of trees are checked, or only that an object's bytes have its name.
type treeCheck bool

const (
	checkTrees treeCheck = true
	namesOnly  treeCheck = false
)

func (s *Store) checkMany(ids []ID, trees treeCheck) []error {
	out := make([]error, len(ids))
	c := newChecker(trees)
	var packed []int
	for i, id := range ids {
		if s.atHand(id, len(ids)) {
			out[i] = s.checkOne(id, c)
		} else {
			packed = append(packed, i)
		}
	}
	for _, i := range packed[s.checkPacked(ids, packed, c, out):] {
		out[i] = s.checkOne(ids[i], c)
	}
	return out
}

func (s *Store) checkOne(id ID, c checker) error {
	t, size, r, err := s.Open(id)
	if err != nil {
		return err
	}
	defer r.Close()
	return c.check(id, t, size, r)
}

// checker reads objects for CheckMany.
type checker struct {
	trees bool // their entries are looked at
	buf   []byte
}

func newChecker(trees treeCheck) checker { return checker{bool(trees), make([]byte, 32<<10)} }

func (c checker) check(id ID, t Type, size int64, r io.Reader) error {
	sum := sha1.New()
	fmt.Fprintf(sum, "%s %d\x00", t, size)
	var tree bytes.Buffer
	to := io.Writer(sum)
	if t == Tree && c.trees {
		to = io.MultiWriter(sum, &tree)
	}
	n, err := io.CopyBuffer(to, io.LimitReader(r, size), c.buf)
	if err == nil && n < size {
		err = io.EOF
	}
	if err != nil {
		return err
	}
	if ID(sum.Sum(nil)) != id {
		return errContents
	}
	entries, err := DecodeTree(tree.Bytes())
	for _, e := range entries {
		err = errors.Join(err, CheckEntry(e))
	}
	if err != nil {
		return treeError{err}
	}
	return nil
}

// treeError says that a tree is whole but no tree for a worktree.
type treeError struct{ error }

// checkPacked checks objects in one conversation with git and returns how many
// of want it got through: a child that ends in the middle leaves the rest.
func (s *Store) checkPacked(ids []ID, want []int, c checker, out []error) (done int) {
	done, _ = s.askMany("contents", ids, want, func(i int, t Type, size int64, err error) error {
		if err == nil {
			err = c.check(ids[i], t, size, s.cat.out)
			if err == nil || errors.Is(err, errContents) || errors.As(err, new(treeError)) {
				out[i] = err
				_, err = s.cat.out.Discard(1)
			}
			return err
		}
		out[i] = err
		return nil
	})
	return done
}
