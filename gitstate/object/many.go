package object

import (
	"bufio"
	"fmt"
	"io"
	"os"
)

// ReadMany reads many blobs, in the order of ids. Packed ones are asked for
// all at once: a thousand answers cost one conversation with git and not a
// thousand. An absent, damaged or other object is an error that names it.
func (s *Store) ReadMany(ids []ID) ([][]byte, error) {
	out := make([][]byte, len(ids))
	var packed []int
	for i, id := range ids {
		if !s.atHand(id) {
			packed = append(packed, i)
			continue
		}
		var err error
		if out[i], err = s.ReadType(id, Blob); err != nil {
			return nil, err
		}
	}
	if len(packed) < 4 {
		for _, i := range packed {
			var err error
			if out[i], err = s.ReadType(ids[i], Blob); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return out, s.readPacked(ids, packed, out)
}

// atHand says whether the object can be read without git.
func (s *Store) atHand(id ID) bool {
	s.mu.Lock()
	_, waiting := s.pending[id]
	s.mu.Unlock()
	if waiting {
		return true
	}
	_, err := os.Lstat(s.path(id))
	return err == nil
}

func (s *Store) readPacked(ids []ID, want []int, out [][]byte) error {
	s.catMu.Lock()
	defer s.catMu.Unlock()
	if err := s.openCat(); err != nil {
		return err
	}
	cat := s.cat
	asked := make(chan error, 1)
	go func() {
		w := bufio.NewWriter(cat.child.In)
		for _, i := range want {
			fmt.Fprintf(w, "contents %s\n", ids[i])
		}
		asked <- w.Flush()
	}()
	err := func() error {
		for _, i := range want {
			t, size, err := s.answer(ids[i])
			switch {
			case err != nil:
				return err
			case t != Blob:
				return fmt.Errorf("object %s is a %s, not a %s", ids[i], t, Blob)
			case size > 1<<31:
				return fmt.Errorf("read object %s: %d bytes are too many at once", ids[i], size)
			}
			data := make([]byte, size+1) // and the line end after it
			if _, err := io.ReadFull(cat.out, data); err != nil {
				return fmt.Errorf("read object %s: %w", ids[i], err)
			}
			out[i] = data[:size:size]
		}
		return nil
	}()
	if err != nil {
		// Answers that nobody reads are on their way: this child is of no use.
		if s.cat == cat {
			s.cat = nil
		}
		_ = cat.child.Close() // it complains when it is ended in the middle of an answer
	}
	if aerr := <-asked; err == nil && aerr != nil {
		err = fmt.Errorf("ask git for objects: %w", aerr)
	}
	return err
}
