package gitstate

import (
	"os"
	"path/filepath"
	"time"
)

// Queue waits in line with the other writers of a journal, for at most wait.
// It is politeness and nothing else: the compare-and-swap decides, and a
// writer that got no turn goes ahead without one. release is never nil.
func (r *Repo) Queue(branch string, wait time.Duration) (release func()) {
	none := func() {}
	if r.EnsureDir() != nil {
		return none
	}
	f, err := os.OpenFile(filepath.Join(r.Dir(), "queue-"+FileName(branch)), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return none
	}
	if flock(f) == nil {
		return func() { f.Close() }
	}
	// The kernel serves blocked processes in order. The later of this call and
	// the lock's goroutine closes the file.
	turn, gone := make(chan struct{}), make(chan struct{})
	go func() {
		err := flockWait(f)
		select {
		case <-gone:
			f.Close()
		default:
			if err != nil {
				<-gone
				f.Close()
				return
			}
			select {
			case turn <- struct{}{}:
			case <-gone:
				f.Close()
			}
		}
	}()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-turn:
		return func() { f.Close() }
	case <-timer.C:
		close(gone)
		return none
	}
}
