package object

import (
	"errors"
	"os"
	"sync"
)

// opener opens the i-th file to be flushed; nil without an error = it is gone.
type opener = func(i int) (*os.File, error)

// FlushFiles makes the contents of n files of the file system of dir permanent.
// On a file system with one log (ext4, XFS) that includes every name that was
// given before the call; on others FlushFolders does that.
func FlushFiles(dir string, n int, open opener) error { return flushAll(dir, n, open) }

// FlushFolders makes the names in folders permanent, in order. Missing folders
// are skipped.
func FlushFolders(dirs ...string) error {
	for _, d := range dirs {
		if err := FlushDir(d); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Journalled reports whether the file system of dir writes one log, in order.
func Journalled(dir string) bool { return journalled(dir) }

// each runs f for 0..n-1 on a few goroutines: the file system joins the
// flushes of one moment into one write of its log.
func each(n int, f func(int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, n)
	next := make(chan int)
	for range min(n, 32) {
		wg.Go(func() {
			for i := range next {
				errs[i] = f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}

func flush(open opener, i int) error {
	f, err := open(i)
	if err != nil || f == nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
