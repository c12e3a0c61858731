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

// Sizes says how many bytes each blob has, in the order of ids, without reading
// them. An absent, damaged or other object is an error that names it.
func (s *Store) Sizes(ids []ID) ([]int64, error) {
	out := make([]int64, len(ids))
	var packed []int
	for i, id := range ids {
		if !s.atHand(id) {
			packed = append(packed, i)
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
	err := s.askPacked("info", ids, packed, func(i int, size int64) error {
		out[i] = size
		return nil
	})
	return out, err
}

func (s *Store) readPacked(ids []ID, want []int, out [][]byte) error {
	return s.askPacked("contents", ids, want, func(i int, size int64) error {
		if size > 1<<31 {
			return fmt.Errorf("read object %s: %d bytes are too many at once", ids[i], size)
		}
		data := make([]byte, size+1) // and the line end after it
		if _, err := io.ReadFull(s.cat.out, data); err != nil {
			return fmt.Errorf("read object %s: %w", ids[i], err)
		}
		out[i] = data[:size:size]
		return nil
	})
}

// askPacked asks git for many blobs in one conversation. Each is called with
// every answer's first line, and reads the rest of it from s.cat.
func (s *Store) askPacked(verb string, ids []ID, want []int, each func(i int, size int64) error) error {
	if len(want) == 0 {
		return nil
	}
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
			fmt.Fprintf(w, "%s %s\n", verb, ids[i])
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
			}
			if err := each(i, size); err != nil {
				return err
			}
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
