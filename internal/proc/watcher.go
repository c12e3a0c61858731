package proc

import (
	"sync"
	"time"
)

// watcher asks while a process runs whether a limit was crossed, and ends the
// process then.
type watcher struct {
	ask func() (limit string, next time.Duration)

	mu    sync.Mutex
	limit string
}

// look asks once and remembers the answer.
func (w *watcher) look() (string, time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ask == nil || w.limit != "" {
		return w.limit, 0
	}
	var next time.Duration
	w.limit, next = w.ask()
	return w.limit, next
}

// last is the answer when the process has ended.
func (w *watcher) last() string {
	limit, _ := w.look()
	return limit
}

func (w *watcher) run(p *Process) {
	for {
		limit, next := w.look()
		if limit != "" {
			p.Stop(0)
			return
		}
		t := time.NewTimer(next)
		select {
		case <-p.Done():
			t.Stop()
			return
		case <-t.C:
		}
	}
}

// diskRate and fileRate are the assumed speed at which a disk fills, in bytes
// and files a second. They decide how often free space is checked.
const (
	diskRate = 4 << 30
	fileRate = 500_000
)

// filesFree is the largest number of files that must stay free.
const filesFree = 50_000

// WatchDisk is a Wrapped.Watch for the file systems of some folders. It names
// LimitDisk when one of them has less than reserve bytes free, or less than a
// quarter of what was free at the beginning, if that is less. The same holds
// for the number of free files. Folders that cannot be read are left out. It is
// nil when there is nothing to watch.
func WatchDisk(reserve int64, folders ...string) func() (string, time.Duration) {
	type disk struct {
		folder       string
		bytes, files int64 // that must stay free
		countsFiles  bool
	}
	var disks []disk
	for _, folder := range folders {
		free, files, total, err := FreeSpace(folder)
		if err != nil || reserve <= 0 {
			continue
		}
		disks = append(disks, disk{folder: folder, bytes: min(reserve, free/4), files: min(filesFree, files/4),
			countsFiles: total > 0})
	}
	if len(disks) == 0 {
		return nil
	}
	return func() (string, time.Duration) {
		const most, least = 200 * time.Millisecond, 5 * time.Millisecond
		next := most
		for _, d := range disks {
			free, files, _, err := FreeSpace(d.folder)
			if err != nil {
				continue
			}
			if free < d.bytes || d.countsFiles && files < d.files {
				return LimitDisk, 0
			}
			next = min(next, time.Duration(float64(free-d.bytes)/diskRate*float64(time.Second)))
			if d.countsFiles {
				next = min(next, time.Duration(float64(files-d.files)/fileRate*float64(time.Second)))
			}
		}
		return "", max(next, least)
	}
}
