//go:build !linux

package object

func flushFiles(_ string, paths []string) error {
	return each(len(paths), func(i int) error { return flush(paths[i]) })
}

func flushDirs(_ string, dirs []string) error {
	return each(len(dirs), func(i int) error { return flushDir(dirs[i]) })
}
