//go:build linux

package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// program reads decisions from bytes; behind the end all are zero.
type program struct {
	data      []byte
	log       strings.Builder
	committed bool   // names that git refuses may be used now
	fork      string // a repository with a commit, to be copied
	converts  bool   // line ends or encodings may be converted
	sly       bool   // bytes may have changed unseen by git, which compares seconds
	hidden    bool   // entries of the index have flags
	edited    bool   // info/exclude, which no restore brings back, was changed after the checkpoint
	moved     bool   // conversions changed after the commit
	settled   bool   // at the commit no file was so young that git distrusts its times
	attrs     []string
}

// comparable reports whether git can be the oracle for the worktree. With
// conversions its answer depends on more than the files: it reads only those that
// are young, and it may have staged the removal of an attribute file.
func (p *program) comparable() bool {
	if !p.converts {
		return true
	}
	for _, a := range p.attrs {
		if fi, err := os.Lstat(a); err != nil || !fi.Mode().IsRegular() {
			return false
		}
	}
	return !p.sly && (p.settled || !p.moved)
}

// atCommit is called just before everything is committed.
func (p *program) atCommit(root string) {
	if p.settled = p.next(2) == 0; !p.settled {
		return
	}
	old := time.Now().Add(-time.Hour)
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case d.Name() == ".git":
			return filepath.SkipDir
		case d.Type().IsRegular():
			_ = os.Chtimes(path, old, old)
		case d.Type()&fs.ModeSymlink != 0:
			_ = unix.Lutimes(path, []unix.Timeval{unix.NsecToTimeval(old.UnixNano()), unix.NsecToTimeval(old.UnixNano())})
		}
		return nil
	})
}

// committedAll notes the files with git's attributes.
func (p *program) committedAll(root string) {
	p.committed = true
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == ".gitattributes" && d.Type().IsRegular() {
			p.attrs = append(p.attrs, path)
		}
		return nil
	})
}

// configure makes the repository an unusual one.
func (p *program) configure(pl *place) {
	scripts := []string{
		"git update-index --index-version 4",
		"git config core.fileMode false",
		"git config core.autocrlf true",
		"git config core.autocrlf input",
		"git update-index --split-index",
		"git update-index --untracked-cache",
		"git ls-files -z | head -z -n 2 | xargs -0 -r git update-index --assume-unchanged --",
		"git ls-files -z | head -z -n 2 | xargs -0 -r git update-index --skip-worktree --",
		"git config core.trustctime false; git config core.checkStat minimal",
		"git rm -q --cached -r a; git reset -q; new staged; git add staged",
	}
	n := p.next(2 * len(scripts))
	if n >= len(scripts) {
		return
	}
	fmt.Fprintln(&p.log, scripts[n])
	_, _ = pl.try(scripts[n])
	if n == 2 || n == 3 {
		p.converts, p.moved = true, true
	}
	p.hidden = n == 6 || n == 7
}

// start is what git adds to its index at the checkpoint; nil if it refuses.
func (p *program) start(pl *place) map[string]string {
	pl.distrust = p.sly
	if !p.comparable() {
		return nil
	}
	// git add only fails here for a FIFO that git reads, a name that it refuses, or
	// a repository without a commit.
	_, start, err := pl.oracle(pl.repo.IndexPath())
	if err != nil {
		return nil
	}
	for path, x := range start {
		if strings.HasPrefix(x, "160000") {
			delete(start, path) // other repositories are left alone
		}
	}
	return start
}

func (p *program) next(n int) int {
	if len(p.data) == 0 {
		return 0
	}
	b := p.data[0]
	p.data = p.data[1:]
	return int(b) % n
}

func pick[T any](p *program, list []T) T { return list[p.next(len(list))] }

var (
	folderNames = []string{"a", "b", "c", "d", "A", "a-b", "a.b", "a b", "nest"}
	fileNames   = append(folderNames[:8:8], "x.log", "keep.log", "\xff", "é", "e\u0301", "[z]", "*", "#h", "!n",
		"back\\s", "dot.",
		"n\nl", "blank ", "\ttab", "-rf", ":(top)x", "CON", ".gitkeep", strings.Repeat("long", 63)+"est")
	// git refuses to add these names, so none is used before the commit.
	refusedNames = []string{".g\u200cit", "git~1", ".Git", ".git ", ".git::$INDEX_ALLOCATION", "GIT~1"}
)

func (p *program) path() string {
	path := pick(p, fileNames)
	if p.committed && p.next(60) == 59 {
		path = pick(p, refusedNames)
	}
	for range p.next(4) {
		path = pick(p, folderNames) + "/" + path
	}
	return path
}

func (p *program) pattern() string {
	parts := []string{"a", "b", "*", "?", "**", "/", "*.log", "[a-c]", "[!a]", "\\", "!", "d/", "x", "/", ".b",
		"[[:alpha:]]", " ", "#", "\\ ", "\t",
		"**/", "/**", "nest", "[]a]", "[^b-d]", "A", "\xff", "."}
	s := ""
	for range 1 + p.next(5) {
		s += pick(p, parts)
	}
	return s
}

// rules is the text of an ignore file.
func (p *program) rules() string {
	text := pick(p, []string{"", "", "", "\xef\xbb\xbf", "# what is built\n"})
	for range 1 + p.next(4) {
		text += p.pattern() + pick(p, []string{"\n", "\n", "\r\n", "\n\n", "  \n", ""})
	}
	fmt.Fprintf(&p.log, "  %q\n", text)
	return text
}

// attributes is the text of an attribute file.
func (p *program) attributes() string {
	text := ""
	for range 1 + p.next(3) {
		text += pick(p, []string{"*", "*.log", "a", "b", "/c", "d/*", "[[:alpha:]]", "a*"}) + " " +
			pick(p, []string{"text", "-text", "text=auto", "eol=crlf", "eol=lf", "text eol=crlf", "binary", "ident",
				"!text", "export-ignore", "diff=x",
				"-text ident", "text=auto eol=crlf", "working-tree-encoding=UTF-16LE"}) + "\n"
	}
	fmt.Fprintf(&p.log, "  %q\n", text)
	return text
}

// step does one thing to the tree. Errors are part of the game: a file may be
// in the way of a folder.
func (p *program) step(root string) {
	rel := p.path()
	path := filepath.Join(root, rel)
	act := p.next(24)
	fmt.Fprintf(&p.log, "%d %q\n", act, rel)
	parent := func() { _ = os.MkdirAll(filepath.Dir(path), 0o755) }
	switch act {
	case 0, 1, 2:
		parent()
		_ = writeNew(path, pick(p, []string{"one\n", "two\n", "", "crlf\r\nx\r\n", "three and more\n",
			"mixed\r\nends\n", "$Id$\n", "no end", "\x00bin\r\n"}))
	case 3:
		_ = os.Remove(path)
	case 4:
		// RemoveAll opens the parent and would wait for a FIFO there.
		if _, err := os.Lstat(path); err == nil {
			_ = os.RemoveAll(path)
		}
	case 5:
		_ = os.MkdirAll(path, 0o755)
	case 6:
		parent()
		_ = os.Symlink(pick(p, []string{"a", "/etc", "../main", "nowhere", "b/c", ".", "..", "nest"}), path)
	case 7:
		if fi, err := os.Lstat(path); err == nil && fi.Mode()&fs.ModeSymlink == 0 {
			_ = os.Chmod(path, pick(p, []os.FileMode{0o755, 0o644, 0o600, 0o700, 0o711 | fs.ModeSticky, 0o444,
				0o755 | fs.ModeSetuid, 0o2775, 0o000}))
		}
	case 8:
		_ = os.Rename(path, filepath.Join(root, p.path()))
	case 9:
		// The size and the times stay, the bytes change.
		if fi, err := os.Lstat(path); err == nil && fi.Mode().IsRegular() {
			if b, err := os.ReadFile(path); err == nil && len(b) > 0 {
				b[0] ^= 1
				p.sly = p.sly || time.Since(fi.ModTime()) > time.Second
				_ = os.WriteFile(path, b, 0o644)
				_ = os.Chtimes(path, fi.ModTime(), fi.ModTime())
			}
		}
	case 10, 11:
		parent()
		_ = writeNew(filepath.Join(filepath.Dir(path), ".gitignore"), p.rules())
	case 12:
		parent()
		_ = syscall.Mkfifo(path, 0o644)
	case 13:
		// A folder and a file change places.
		tmp := filepath.Join(root, "swap-tmp")
		other := filepath.Join(root, p.path())
		if os.Rename(path, tmp) == nil {
			_ = os.Rename(other, path)
			_ = os.Rename(tmp, other)
			_ = os.RemoveAll(tmp)
		}
	case 14:
		parent()
		p.converts, p.moved = true, p.committed
		_ = writeNew(filepath.Join(filepath.Dir(path), ".gitattributes"), p.attributes())
	case 15:
		if p.committed && p.next(2) == 1 {
			parent()
			p.nest(root, path)
		}
	case 16:
		_ = writeNew(filepath.Join(root, ".git", "info", "exclude"), p.rules())
		p.edited = p.committed
	case 17:
		_ = os.Link(path, filepath.Join(root, p.path()))
	case 18:
		t := time.Unix(pick(p, []int64{2, -1e8, 1e9, 7e9}), 500)
		if fi, err := os.Lstat(path); err == nil && fi.Mode()&fs.ModeSymlink == 0 {
			_ = os.Chtimes(path, t, t)
		}
	case 19:
		// Another file of the same size and times is renamed to path.
		if fi, err := os.Lstat(path); err == nil && fi.Mode().IsRegular() && fi.Size() > 0 {
			tmp := filepath.Join(root, "other-tmp")
			if b, err := os.ReadFile(path); err == nil {
				b[len(b)-1] ^= 3
				p.sly = p.sly || time.Since(fi.ModTime()) > time.Second
				_ = os.WriteFile(tmp, b, fi.Mode().Perm())
				_ = os.Chtimes(tmp, fi.ModTime(), fi.ModTime())
				_ = os.Rename(tmp, path)
			}
		}
	case 20:
		// Only the case of the name changes.
		dir, name := filepath.Split(path)
		if up := strings.ToUpper(name); up != name {
			_ = os.Rename(path, dir+up)
		}
	case 21:
		if f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0); err == nil {
			_, _ = f.WriteString("more\n")
			f.Close()
		}
	case 22:
		// An ignore or attribute file becomes a folder or a link.
		parent()
		name := filepath.Join(filepath.Dir(path), pick(p, []string{".gitignore", ".gitattributes"}))
		if p.next(2) == 0 {
			_ = os.Mkdir(name, 0o755)
		} else {
			_ = os.Remove(name)
			_ = os.Symlink(pick(p, []string{"a", "x.log", "/etc/hostname"}), name)
		}
	case 23:
		// A folder gets a new file and its old times back.
		dir := filepath.Dir(path)
		if fi, err := os.Lstat(dir); err == nil && fi.IsDir() {
			_ = writeNew(path, "late\n")
			_ = os.Chtimes(dir, fi.ModTime(), fi.ModTime())
		}
	}
}

// nest makes another repository at path.
func (p *program) nest(root, path string) {
	if p.fork == "" {
		p.fork = filepath.Join(filepath.Dir(root), "home", "fork")
		c := exec.Command("sh", "-c", `git init -q --template= "$0" && cd "$0" && echo f > f && git add f &&
			git -c user.name=n -c user.email=n@example.com commit -q -m nested`, p.fork)
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "HOME=" + filepath.Dir(p.fork)}
		if out, err := c.CombinedOutput(); err != nil {
			fmt.Fprintf(&p.log, "  %v %s\n", err, out)
		}
	}
	if fi, err := os.Lstat(path); err != nil || fi.IsDir() {
		_ = os.CopyFS(path, os.DirFS(p.fork))
	}
}

// writeNew writes a file, never through a link or into a FIFO.
func writeNew(path, text string) error {
	if fi, err := os.Lstat(path); err == nil && !fi.Mode().IsRegular() {
		return errors.New("it is no file")
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
