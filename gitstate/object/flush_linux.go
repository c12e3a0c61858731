package object

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// journalled reports whether one fsync makes everything permanent that was handed
// to the disk before it: ext4 and XFS write their logs in order. btrfs and
// others keep a log a file, so that every file has to be flushed by itself.
func journalled(dir string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC:
		return true
	}
	return false
}

// flushAll makes the contents of n files permanent. On a journalling file
// system it first writes the data of all files, then the fsync of the last one
// commits all their changes. 80 files then cost one disk flush instead of
// twenty. The last file's blocks are allocated last, so its commit is not older
// than the others'.
func flushAll(dir string, n int, open opener) error {
	if n < 4 || !journalled(dir) {
		return each(n, func(i int) error { return flush(open, i) })
	}
	var last *os.File
	for at := 0; at < n; at += 256 { // open files are limited
		f, err := writeOut(at, min(n, at+256), open)
		if err != nil {
			return err
		}
		if f == nil {
			continue
		}
		if last != nil {
			last.Close()
		}
		last = f
	}
	if last == nil {
		return nil
	}
	defer last.Close()
	return last.Sync()
}

// writeOut hands the data of files to the disk, waits for it, and returns the
// last file, open.
func writeOut(from, to int, open opener) (*os.File, error) {
	files := make([]*os.File, 0, to-from)
	fail := func(err error) (*os.File, error) {
		for _, f := range files {
			f.Close()
		}
		return nil, err
	}
	for i := from; i < to; i++ {
		f, err := open(i)
		if err != nil {
			return fail(err)
		}
		if f == nil {
			continue
		}
		files = append(files, f)
		if err := unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE); err != nil {
			return fail(err)
		}
	}
	if len(files) == 0 {
		return nil, nil
	}
	const all = unix.SYNC_FILE_RANGE_WAIT_BEFORE | unix.SYNC_FILE_RANGE_WRITE | unix.SYNC_FILE_RANGE_WAIT_AFTER
	for _, f := range files {
		if err := unix.SyncFileRange(int(f.Fd()), 0, 0, all); err != nil {
			return fail(err)
		}
	}
	last := files[len(files)-1]
	files = files[:len(files)-1]
	_, _ = fail(nil)
	return last, nil
}

// flushDirs makes the names in folders permanent. On a journalling file system
// it has nothing to do: an object matters only once a ref leads to it, and git
// flushes the file of a new ref before it gets its name, which writes out the
// log with all changes of names before it. (git's core.fsyncMethod = batch
// relies on the same.) That holds where refs and objects lie on one file system.
func flushDirs(root string, dirs []string) error {
	if len(dirs) == 0 || journalled(root) && oneDevice(root, filepath.Join(filepath.Dir(root), "refs")) {
		return nil
	}
	return each(len(dirs), func(i int) error { return FlushFolders(dirs[i]) })
}

func oneDevice(a, b string) bool {
	var x, y unix.Stat_t
	return unix.Stat(a, &x) == nil && unix.Stat(b, &y) == nil && x.Dev == y.Dev
}
