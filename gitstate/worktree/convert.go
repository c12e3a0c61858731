package worktree

import (
	"bufio"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"git-ralph/gitstate/object"
	"git-ralph/gitstate/worktree/index"
	"git-ralph/internal/proc"
)

// converter applies git's conversions (line ends, filters, encodings, ident) to
// files. git itself computes the id of a file in the tree, by adding it to a
// private copy of the index. The bytes on disk are recorded too, because a
// smudge filter may not restore them.
type converter struct {
	e       *Engine
	lenient bool     // what git cannot convert goes to refused and is no error
	refused []string // paths
}

// mayConvert reports whether git could convert the file at path.
func (c *converter) mayConvert(root *node, path string) bool {
	return root != nil && c.attributesOf(root).match(path) && !trapped(root)
}

// unsettled is a file whose conversion is not known yet.
type unsettled struct {
	n *node // a copy that may be changed
	i int
}

func (u unsettled) file() *file  { return &u.n.files[u.i] }
func (u unsettled) path() string { return join(u.n.path, u.n.files[u.i].name) }

// settle returns the snapshot with the right ids and forms of every file that
// git could convert.
func (c *converter) settle(ctx context.Context, root, base *node) (*node, error) {
	if root == base {
		return root, nil // settled already
	}
	a := c.attributesSince(root, base)
	if !a.possible() || trapped(root) {
		return root, nil
	}
	if base != nil && base.attributes != a.key {
		base = nil
	}
	var work []unsettled
	out := c.collect(root, base, a, &work)
	if out == root {
		cp := *root
		out = &cp
	}
	out.attributes = a.key
	if len(work) == 0 {
		return out, nil
	}
	for _, u := range work {
		u.n.treeOK = u.n.treeOK && !u.file().has(bitRead|bitLarge)
	}
	work, err := c.asTheyAre(c.resolveBySize(ctx, work, a), a)
	if err != nil {
		return nil, err
	}
	if err := c.resolve(ctx, work); err != nil {
		return nil, err
	}
	c.refresh(out, base)
	return out, nil
}

// trapped reports whether something that is no file lies where git reads settings:
// git would wait for ever to open a FIFO. Such a thing is the agent's, and named.
func trapped(root *node) bool {
	found := false
	_ = root.walk(oddExtra, func(n *node) error {
		for _, name := range []string{".gitattributes", ".gitignore"} {
			x := n.extra(name)
			found = found || x != nil && x.kind > kindDir
		}
		return nil
	})
	return found
}

// collect copies the folders of all files that have to be settled.
func (c *converter) collect(n, base *node, a *attributes, work *[]unsettled) *node {
	if n == base {
		return n
	}
	out := n
	own := func() {
		if out == n {
			cp := *n
			cp.files, cp.dirs = slices.Clone(n.files), slices.Clone(n.dirs)
			out = &cp
		}
	}
	for i := range n.files {
		f := &n.files[i]
		if f.kind != kindFile || f.mode == object.ModeSymlink || f.class == ignored || !f.present() ||
			f.has(bitSettled|bitHidden) {
			continue
		}
		if p := join(n.path, f.name); f.has(bitLarge) && !a.filtered(p) || !f.has(bitLarge) &&
			(f.id.IsZero() || !a.match(p) && !a.was(p, f)) {
			continue
		}
		own()
		*work = append(*work, unsettled{out, i})
	}
	for i, d := range n.dirs {
		if sub := c.collect(d, base.dir(d.name), a, work); sub != d {
			own()
			out.dirs[i] = sub
		}
	}
	return out
}

// refresh updates the subtree summaries of folders above resolved files.
func (c *converter) refresh(n, base *node) {
	if n == base {
		return
	}
	for _, d := range n.dirs {
		c.refresh(d, base.dir(d.name))
		n.treeOK = n.treeOK && d.treeOK
	}
	own := n.odd & oddOwnTree
	n.summarize(c.e.modes)
	n.odd |= own
}

// each calls f for all files, several at a time.
func (c *converter) each(work []unsettled, f func(unsettled) error) error {
	var mu sync.Mutex
	var errs []error
	var wg sync.WaitGroup
	next := make(chan unsettled)
	for range c.e.opts.Workers {
		wg.Go(func() {
			for u := range next {
				if err := f(u); err != nil {
					mu.Lock()
					errs = append(errs, fmt.Errorf("read %q: %w", u.path(), err))
					mu.Unlock()
				}
			}
		})
	}
	for _, u := range work {
		next <- u
	}
	close(next)
	wg.Wait()
	return errors.Join(errs...)
}

// resolve settles files: those that were read need an id from git, those that
// the index says are unchanged need to be read.
func (c *converter) resolve(ctx context.Context, work []unsettled) error {
	var dirty []unsettled
	for _, u := range work {
		if u.file().has(bitRead | bitLarge) {
			dirty = append(dirty, u)
		}
	}
	if len(dirty) > 0 {
		if err := c.ids(ctx, dirty); err != nil {
			return err
		}
	}
	return c.each(work, c.form) // reading is what takes the time
}

// form finds out how the bytes on disk are made from the tree's blob.
func (c *converter) form(u unsettled) error {
	f := u.file()
	d, err := c.e.disk.open(u.n.path)
	if absent(err) {
		return nil
	}
	if permission(err) && c.lenient {
		f.bits |= bitRacy // the agent has locked its folder, which is named
		return nil
	}
	if err != nil {
		return err
	}
	defer d.close()
	in, err := d.openFile(f.name)
	if absent(err) || errors.Is(err, errNotRegular) || permission(err) && c.lenient {
		f.bits |= bitRacy // it is gone: the next scan sees it
		return nil
	}
	if err != nil {
		return err
	}
	defer in.Close()
	fi, err := in.Stat()
	if err != nil {
		return err
	}
	size := fi.Size()
	lines := &lineEnds{}
	sum := newBlobHash(size)
	n, err := io.Copy(io.MultiWriter(sum, lines), io.LimitReader(in, size))
	if err != nil || n != size {
		f.bits |= bitRacy
		return err
	}
	f.raw = sumOf(sum)
	f.bits |= bitSettled | bitRead
	f.form = formBlob
	if f.raw == f.id {
		return nil
	}
	if lines.crlf > 0 && lines.lf == 0 {
		if _, err := in.Seek(0, io.SeekStart); err != nil {
			return err
		}
		unix := newBlobHash(size - lines.crlf)
		if _, err := io.Copy(&toLF{w: unix}, io.LimitReader(in, size)); err == nil && sumOf(unix) == f.id {
			f.form = formCRLF
			return nil
		}
	}
	f.form = formOwn
	if max := c.e.opts.MaxFile; max > 0 && size > max {
		f.form = formFilter
		return nil
	}
	if c.e.repo.Store.Freshen(f.raw) {
		return nil
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	f.raw, err = c.e.repo.Store.WriteFrom(object.Blob, size, in)
	return err
}

func newBlobHash(size int64) hash.Hash {
	h := sha1.New()
	io.WriteString(h, "blob "+strconv.FormatInt(size, 10)+"\x00")
	return h
}

func sumOf(h hash.Hash) (id object.ID) {
	h.Sum(id[:0])
	return id
}

// ids asks git for the files' ids in the tree. It adds them to a private copy of
// the index, under the worktree's present attributes.
func (c *converter) ids(ctx context.Context, work []unsettled) error {
	var plain []unsettled
	for _, u := range work {
		if !u.file().has(bitAssume | bitSkip) {
			plain = append(plain, u)
			continue
		}
		// git would not look at it: its contents alone are converted, if they can be.
		id, err := c.hash(ctx, u.path())
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err == nil {
			u.file().id = id
		}
		u.file().bits &^= bitLarge
	}
	if len(plain) == 0 {
		return nil
	}
	return c.add(ctx, plain)
}

// mostRefused is how many files are tried one by one: an agent may break the
// conversion of all of them at once.
const mostRefused = 20

// add lets git add files. Of several that it cannot all convert, a lenient
// converter finds those that it can.
func (c *converter) add(ctx context.Context, work []unsettled) error {
	var paths []string
	for _, u := range work {
		paths = append(paths, u.path())
	}
	f, err := c.addPrivately(ctx, paths)
	if err != nil && c.lenient && ctx.Err() == nil {
		if len(work) == 1 || len(c.refused) >= mostRefused {
			c.refused = append(c.refused, paths...) // they keep the ids of their bytes
			return nil
		}
		half := len(work) / 2
		return errors.Join(c.add(ctx, work[:half]), c.add(ctx, work[half:]))
	}
	if err != nil {
		return err
	}
	for _, u := range work {
		i, ok := f.Find(u.path(), 0)
		if !ok {
			return fmt.Errorf("git did not add %q", u.path())
		}
		u.file().id = f.Entries[i].ID
		u.file().bits &^= bitLarge
	}
	return nil
}

func (c *converter) addPrivately(ctx context.Context, paths []string) (*index.File, error) {
	return unpruned(func() (*index.File, error) { return c.addOnce(ctx, paths) })
}

// unpruned writes again, some times, what a prune beside us has taken before it was held.
func unpruned[T any](write func() (T, error)) (written T, err error) {
	for range 20 {
		if written, err = write(); !errors.Is(err, object.ErrNotFound) {
			break
		}
	}
	return written, err
}

func (c *converter) addOnce(ctx context.Context, paths []string) (*index.File, error) {
	tmp, err := proc.TempDir("index")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(tmp)
	private := filepath.Join(tmp, "index")
	data, err := os.ReadFile(c.e.repo.IndexPath())
	if err == nil {
		// The copy keeps the time of the original: git's racy rule depends on it.
		if err = os.WriteFile(private, data, 0o600); err == nil {
			if fi, serr := os.Stat(c.e.repo.IndexPath()); serr == nil {
				err = os.Chtimes(private, fi.ModTime(), fi.ModTime())
			}
		}
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	git := c.e.repo.Git.WithIndex(private)
	_, err = git.RunWith(ctx, strings.NewReader(strings.Join(paths, "\x00")+"\x00"), nil, "-c", "core.splitIndex=false",
		"-c", "core.safecrlf=false", "-c", "core.fsync=loose-object", "update-index", "-z", "--no-split-index", "--add",
		"--replace", "--stdin")
	if err != nil {
		return nil, fmt.Errorf("convert %q and %d more: %w", paths[0], len(paths)-1, err)
	}
	if data, err = os.ReadFile(private); err != nil {
		return nil, err
	}
	f, err := index.Decode(data)
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		if i, ok := f.Find(path, 0); ok && f.Entries[i].Mode != object.ModeGitlink {
			if err := c.e.repo.Store.HoldNew(f.Entries[i].ID); err != nil {
				return nil, fmt.Errorf("convert %q: %w", path, err)
			}
		}
	}
	return f, nil
}

// clean is the id that git would give to the file at path.
func (c *converter) clean(ctx context.Context, path string) (object.ID, error) {
	f, err := c.addPrivately(ctx, []string{path})
	if err != nil {
		return object.Zero, err
	}
	if i, ok := f.Find(path, 0); ok {
		return f.Entries[i].ID, nil
	}
	return object.Zero, fmt.Errorf("git did not add %q", path)
}

func (c *converter) hash(ctx context.Context, path string) (object.ID, error) {
	return unpruned(func() (object.ID, error) { return c.hashOnce(ctx, path) })
}

func (c *converter) hashOnce(ctx context.Context, path string) (object.ID, error) {
	dir, name := split(path)
	d, err := c.e.disk.open(dir)
	if err != nil {
		return object.Zero, err
	}
	defer d.close()
	in, err := d.openFile(name)
	if err != nil {
		return object.Zero, err
	}
	defer in.Close()
	out, err := c.e.repo.Git.RunWith(ctx, in, nil, "-c", "core.safecrlf=false", "hash-object", "-w", "--stdin",
		"--path="+path)
	if err != nil {
		return object.Zero, fmt.Errorf("convert %q: %w", path, err)
	}
	id, err := object.ParseID(strings.TrimSpace(string(out)))
	if err == nil {
		err = c.e.repo.Store.HoldNew(id)
	}
	return id, err
}

// copyRaw writes the bytes on disk of a file whose blob is converted.
func (c *converter) copyRaw(out io.Writer, path string, want *file) error {
	if want.form == formFilter {
		h := sha1.New()
		var b countWriter
		err := c.e.repo.Git.Stream(ctxBackground(), nil, io.MultiWriter(out, h, &b), nil, "cat-file", "--filters",
			"--path="+path, want.id.String())
		if err != nil {
			return fmt.Errorf("convert: %w", err)
		}
		if !want.raw.IsZero() && int64(b) != want.size {
			return fmt.Errorf("git's filters made %d bytes of it, there were %d", b, want.size)
		}
		return nil
	}
	_, _, in, err := c.e.repo.Store.Open(want.id)
	if err != nil {
		return err
	}
	defer in.Close()
	w := bufio.NewWriter(out)
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadSlice('\n')
		if n := len(line); n > 0 && line[n-1] == '\n' {
			w.Write(line[:n-1])
			w.WriteString("\r\n")
		} else {
			w.Write(line)
		}
		if err == io.EOF {
			return w.Flush()
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

type countWriter int64

func (c *countWriter) Write(p []byte) (int, error) {
	*c += countWriter(len(p))
	return len(p), nil
}

// smudged makes f, a file that a tree has, the file that git would check out.
func (c *converter) smudged(root *node, f *file, path string) error {
	if f.kind != kindFile || f.mode == object.ModeSymlink || !c.mayConvert(root, path) {
		return nil
	}
	f.form, f.raw = formFilter, object.Zero
	return nil
}

// inspect says which conversions are in reach.
func (c *converter) inspect(ctx context.Context, i *inspection, root *node) error {
	a := c.attributesOf(root)
	if !a.possible() {
		return nil
	}
	var names, filters []string
	for r := range a.reasons {
		if name, ok := strings.CutPrefix(r, "filter="); ok {
			filters = append(filters, name)
			continue
		}
		names = append(names, r)
	}
	sort.Strings(names)
	sort.Strings(filters)
	if len(names) > 0 {
		i.add("conversion", ThroughGit, "git converts contents ("+strings.Join(names, ", ")+
			"); ids come from git, the bytes on disk are kept beside them", "")
	}
	config, err := c.e.repo.Git.Config(ctx)
	if err != nil {
		return err
	}
	for _, name := range filters {
		clean, _ := config.Get("filter." + name + ".clean")
		process, _ := config.Get("filter." + name + ".process")
		required, _ := c.e.repo.Git.Line(ctx, "config", "--type=bool", "filter."+name+".required")
		switch {
		case clean == "" && process == "" && required == "true":
			i.add("filter", Refused, fmt.Sprintf("the attribute filter=%s is required and not configured", name),
				"install it, for example `git lfs install`")
		case clean == "" && process == "" && name == "lfs":
			i.add("filter", Refused, "files are stored with git lfs, which is not configured",
				"`git lfs install`, or `git config filter.lfs.clean cat` if that is meant")
		case clean == "" && process == "":
		default:
			i.add("filter", ThroughGit, fmt.Sprintf(
				"filter=%s converts contents; ids come from git, the bytes on disk are kept beside them", name), "")
		}
	}
	return nil
}
