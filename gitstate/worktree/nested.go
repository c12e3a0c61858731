package worktree

import (
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"git-ralph/gitstate/object"
	"git-ralph/internal/stable"
)

// nested handles a folder with a `.git`. It returns true if the folder is
// another repository, whose contents we leave alone. A folder with files in the
// index is scanned all the same, as git does.
func (s *scan) nested(t *task, dir folder, out *node) bool {
	if !s.e.isRepository(t.path) {
		return false // an empty or damaged .git: git skips the name, nothing else
	}
	if t.base != nil && t.base.hasTracked {
		out.extras = append(out.extras, extra{name: ".git", what: extraNested, kind: kindDir,
			mark: s.e.fingerprint(join(t.path, ".git")), ino: inoOf(dir, ".git")})
		return false
	}
	t.nested = &extra{name: t.name, what: extraNested, kind: kindDir, mark: s.e.fingerprint(t.path)}
	if st, err := dir.stat(); err == nil {
		t.nested.ino = st.ino
	}
	t.out = &node{path: t.path, name: t.name}
	return true
}

// isRepository reports whether the folder's `.git` leads to a repository: a
// directory with HEAD, objects and refs, or a file that names one.
func (e *Engine) isRepository(path string) bool {
	dir := filepath.Join(e.repo.Root, filepath.FromSlash(path), ".git")
	fi, err := os.Stat(dir)
	if err != nil {
		return false
	}
	if fi.Mode().IsRegular() {
		in, err := os.Open(dir)
		if err != nil {
			return true // git takes a file that it may not read for a repository
		}
		defer in.Close()
		b, err := readAtMost(in, 1<<20)
		to, ok := strings.CutPrefix(string(b), "gitdir: ")
		if err != nil || !ok {
			return false
		}
		to = strings.TrimRight(to, "\r\n")
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(dir), to)
		}
		dir = to
	}
	return isGitDir(dir)
}

// readSettled reads a small file of another repository, bounded. It must be
// regular, as a FIFO would block.
func readSettled(path string) ([]byte, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, errNotRegular
	}
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return readAtMost(in, 1<<16)
}

func isGitDir(dir string) bool {
	head, err := os.Lstat(filepath.Join(dir, "HEAD"))
	if err != nil {
		return false
	}
	if head.Mode().IsRegular() {
		b, err := readSettled(filepath.Join(dir, "HEAD"))
		if err != nil {
			return false
		}
		text := strings.TrimSpace(string(b))
		if ref, ok := strings.CutPrefix(text, "ref:"); ok {
			if !strings.HasPrefix(strings.TrimSpace(ref), "refs/") {
				return false
			}
		} else if _, err := object.ParseID(text); err != nil {
			return false
		}
	}
	common := dir
	if b, err := readSettled(filepath.Join(dir, "commondir")); err == nil {
		c := strings.TrimSpace(string(b))
		if !filepath.IsAbs(c) {
			c = filepath.Join(dir, c)
		}
		common = c
	}
	for _, sub := range []string{"objects", "refs"} {
		if fi, err := os.Stat(filepath.Join(common, sub)); err != nil || !fi.IsDir() {
			return false
		}
	}
	return true
}

// fingerprint identifies in 20 bytes what is below path, by names, modes, sizes and
// times: enough to know that somebody worked in another repository. The files
// that git itself rewrites when it only looks (the index) do not count.
func (e *Engine) fingerprint(path string) object.ID {
	h := sha1.New()
	e.addFingerprint(h, path, 0)
	var id object.ID
	h.Sum(id[:0])
	return id
}

func (e *Engine) addFingerprint(w io.Writer, path string, depth int) {
	dir, err := e.disk.open(path)
	if err != nil {
		st, err := e.disk.lstat(path, "")
		fmt.Fprintf(w, "%d %d %d %v\n", st.kind, st.size, st.mtime, err != nil)
		return
	}
	defer dir.close()
	type item struct {
		name string
		k    kind
	}
	var names []item
	_ = dir.list(func(d dirent) error {
		names = append(names, item{string(d.name), d.kind})
		return nil
	})
	stable.Sort(names, func(a, b item) int { return strings.Compare(a.name, b.name) })
	inGit := strings.HasSuffix(path, "/.git") || path == ".git"
	for _, n := range names {
		if inGit && (n.name == "index" || n.name == "index.lock" || n.name == "objects" || n.name == "modules" ||
			n.name == "FETCH_HEAD") {
			continue
		}
		st, err := dir.lstat(n.name)
		if err != nil {
			continue
		}
		var b []byte
		b = binary.BigEndian.AppendUint64(b, uint64(st.kind)<<32|uint64(st.perm))
		if st.kind != kindDir {
			b = binary.BigEndian.AppendUint64(b, uint64(st.size))
			b = binary.BigEndian.AppendUint64(b, uint64(st.mtime))
		}
		w.Write(append(append([]byte(n.name), 0), b...))
		if st.kind == kindDir && depth < 1000 {
			e.addFingerprint(w, join(path, n.name), depth+1)
		}
	}
}

// submodule looks at a folder that the index has as a submodule. Its contents
// are left alone; what counts is the commit that is checked out and whether
// anything in it changed.
func (s *scan) submodule(t *task, f *file, nf file) (file, bool, error) {
	path := join(t.path, f.name)
	nf.mode, nf.form = object.ModeGitlink, formBlob
	nf.size, nf.mtime, nf.ctime = 0, 0, 0
	nf.raw = s.e.fingerprint(path)
	nf.bits &^= bitRacy | bitIndex
	nf.id = f.id
	if s.purpose == forRestore || !s.e.isRepository(path) || nf.raw == f.raw {
		return nf, true, nil
	}
	if id, err := s.e.nestedHead(path); err == nil {
		nf.id = id
	}
	return nf, true, nil
}

// nestedHead is the commit that another repository has checked out. Its
// configuration cannot make git run anything here: nothing but a ref is read.
func (e *Engine) nestedHead(path string) (object.ID, error) {
	dir := filepath.Join(e.repo.Root, filepath.FromSlash(path))
	g := *e.repo.Git
	g.GitDir, g.WorkTree, g.Dir = filepath.Join(dir, ".git"), "", dir
	line, err := g.Line(ctxBackground(), "rev-parse", "--verify", "-q", "HEAD")
	if err != nil {
		return object.Zero, err
	}
	return object.ParseID(line)
}
