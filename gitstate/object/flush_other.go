//go:build !linux

package object

func flushAll(_ string, n int, open opener) error {
	return each(n, func(i int) error { return flush(open, i) })
}

func flushDirs(_ string, dirs []string) error {
	return each(len(dirs), func(i int) error { return FlushFolders(dirs[i]) })
}

func journalled(string) bool { return false }
