package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// link is a symbolic link as it stands in the file system.
type link struct{ path, to string }

// resolved is where a path leads.
type resolved struct {
	path  string // as given, cleaned
	real  string // without symbolic links
	links []link // those that were followed, in order; each path is itself real up to its last part
	dir   bool
	mode  os.FileMode
}

// resolve follows a path part by part and remembers the links, so that they
// can be made again where their folder is covered by an empty mount.
func resolve(path string) (resolved, error) { return resolveBy(path, os.Lstat) }

// statOnce is os.Lstat that reads each path once: the paths of one sandbox
// share most of their parts. It is valid while nothing is mounted or made.
func statOnce() func(string) (os.FileInfo, error) {
	type answer struct {
		st  os.FileInfo
		err error
	}
	known := map[string]answer{}
	return func(path string) (os.FileInfo, error) {
		a, ok := known[path]
		if !ok {
			a.st, a.err = os.Lstat(path)
			known[path] = a
		}
		return a.st, a.err
	}
}

func resolveBy(path string, lstat func(string) (os.FileInfo, error)) (resolved, error) {
	r := resolved{path: filepath.Clean(path)}
	rest := strings.Split(strings.TrimPrefix(r.path, "/"), "/")
	cur := "/"
	for hops := 0; len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			cur = filepath.Dir(cur)
			continue
		}
		next := filepath.Join(cur, part)
		st, err := lstat(next)
		if err != nil {
			return r, fmt.Errorf("resolve %q: %w", path, err)
		}
		r.mode = st.Mode()
		if st.Mode()&os.ModeSymlink == 0 {
			cur = next
			continue
		}
		if hops++; hops > 40 {
			return r, fmt.Errorf("resolve %q: too many symbolic links", path)
		}
		to, err := os.Readlink(next)
		if err != nil {
			return r, fmt.Errorf("resolve %q: %w", path, err)
		}
		r.links = append(r.links, link{next, to})
		if filepath.IsAbs(to) {
			cur = "/"
		}
		rest = append(strings.Split(to, "/"), rest...)
	}
	if cur == "/" {
		r.mode = os.ModeDir
	}
	r.real, r.dir = cur, r.mode.IsDir()
	return r, nil
}

// behind returns further places that programs of dir, a folder of PATH, need
// when they lie in a private folder: the targets of links, or the
// node_modules folder that a target is part of.
func behind(dir string, private []string) []string {
	if !withinAny(dir, private) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	const most = 4096 // a folder made to stall us is not a folder of programs
	var out []string
	for _, e := range entries[:min(len(entries), most)] {
		if e.Type()&os.ModeSymlink == 0 {
			continue
		}
		r, err := resolve(filepath.Join(dir, e.Name()))
		if err != nil || !withinAny(r.real, private) || within(r.real, dir) {
			continue
		}
		out = append(out, packageRoot(r.real))
	}
	return out
}

// packageRoot is the outermost node_modules folder that holds file, or file.
func packageRoot(file string) string {
	const name = "/node_modules/"
	if i := strings.Index(file, name); i >= 0 {
		return file[:i+len(name)-1]
	}
	return file
}
