package detect

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"git-ralph/internal/config"
)

// folder is one place that may be a project, and what was found there.
type folder struct {
	fsys fs.FS
	dir  string // slashes, relative to the repository; "." = its root
	out  Found
}

func (f *folder) note(text string) { f.out.Notes = append(f.out.Notes, text) }

func (f *folder) check(name, run, kind string) {
	f.out.Checks = append(f.out.Checks, config.Check{Name: name, Run: run, Kind: kind})
}

func (f *folder) test(run string) { f.check("test", run, "test") }

// has says whether one of the files is there and regular.
func (f *folder) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		info, err := fs.Stat(f.fsys, path.Join(f.dir, name))
		return err == nil && info.Mode().IsRegular()
	})
}

func (f *folder) hasDir(name string) bool {
	info, err := fs.Stat(f.fsys, path.Join(f.dir, name))
	return err == nil && info.IsDir()
}

// any says whether a regular file matches one of the patterns of path.Match.
func (f *folder) any(patterns ...string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		found, _ := fs.Glob(f.fsys, path.Join(f.dir, p))
		return slices.ContainsFunc(found, func(name string) bool {
			info, err := fs.Stat(f.fsys, name)
			return err == nil && info.Mode().IsRegular()
		})
	})
}

// read is the text of a file, empty when it cannot be read or is larger than
// any file of its sort.
func (f *folder) read(name string) string {
	if !f.has(name) {
		return ""
	}
	file, err := f.fsys.Open(path.Join(f.dir, name))
	if err != nil {
		return ""
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, config.MaxFile+1))
	if err != nil || len(data) > config.MaxFile {
		return ""
	}
	return strings.TrimPrefix(string(data), "\ufeff")
}

// mentions says whether one of the files has one of the words.
func (f *folder) mentions(files, words []string) bool {
	return slices.ContainsFunc(files, func(name string) bool {
		text := f.read(name)
		return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
	})
}

// decodeTOML reads a file of another tool; nil when it is broken, which that
// tool will report.
func decodeTOML(text string) map[string]any {
	var m map[string]any
	if err := toml.Unmarshal([]byte(text), &m); err != nil {
		return nil
	}
	return m
}

// dig goes down tables; nil when one is missing.
func dig(v any, path ...string) any {
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// plainName says that the name of a script needs no quotes in a shell.
func plainName(name string) bool {
	return strings.Trim(name, letters+":_-") == "" && name != "" && name[0] != '-'
}

// plainPath says the same of a path, and that it is no option.
func plainPath(name string) bool {
	return strings.Trim(name, letters+"._-/") == "" && name != "" && name[0] != '-'
}
