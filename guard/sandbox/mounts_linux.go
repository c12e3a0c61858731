package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// item is one mount of the sandbox. All sources are taken as detached trees
// before anything is covered or made read-only; then items are attached from
// the shortest path to the longest, so that the most specific one counts.
type item struct {
	target string
	rank   int // among equal targets the higher rank lies on top
	dir    bool
	tree   int          // detached tree; -1 = make is called
	make   func() error // mounts at target by itself
	links  []link       // to be made again on the way
	what   string       // for errors
}

// Ranks: what is stricter lies on top.
const (
	rankBase = iota
	rankVisible
	rankWritable
	rankWorktree
	rankShare
	rankReadOnly
	rankGit
	rankHidden
	rankBind
)

// privateRoots are covered by empty folders of the sandbox's own.
var privateRoots = []struct {
	path string
	mode os.FileMode
}{
	{"/tmp", 0o777 | os.ModeSticky}, {"/var/tmp", 0o777 | os.ModeSticky}, {"/run", 0o755},
	{"/dev/shm", 0o777 | os.ModeSticky},
}

// mounter builds the mounts of one sandbox. It runs as the first process of
// the namespaces, before the command exists.
type mounter struct {
	spec    Spec
	covers  []cover
	hide    []string      // what hidden found
	private []string      // real paths of privateRoots
	modes   []os.FileMode // of private
	emptied []string      // real paths of Spec.Emptied
	kept    string        // real path of a home folder with what earlier commands left, or ""
	items   []item
	lstat   func(string) (os.FileInfo, error) // while sources are collected
	ground  ground
	layer   <-chan homeLayer
	shades  shades // while items are attached
	// uid 0: everything that root may touch by its uid alone must be covered, too
	root bool
}

// build makes all mounts.
func (m *mounter) build() error {
	m.root = os.Getuid() == 0
	m.lstat = statOnce()
	for _, p := range privateRoots {
		if r, err := m.resolve(p.path); err == nil && r.dir && !slices.Contains(m.private, r.real) {
			m.private, m.modes = append(m.private, r.real), append(m.modes, p.mode)
		}
	}
	if err := m.collect(); err != nil {
		return err
	}
	if err := m.homeOverlay(); err != nil {
		return err
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{
		Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV,
	}); err != nil {
		return fmt.Errorf("make the tree read-only (Linux 5.12 or newer is needed): %w", err)
	}
	if err := m.ground.mountDev(); err != nil {
		return err
	}
	if err := m.mountPrivate(); err != nil {
		return err
	}
	if err := m.mountProc(); err != nil {
		return err
	}
	return m.attach()
}

// resolve is the function resolve, for sources.
func (m *mounter) resolve(path string) (resolved, error) { return resolveBy(path, m.lstat) }

// collect clones every source.
func (m *mounter) collect() error {
	s := m.spec
	if s.Home != "" {
		if err := m.home(); err != nil {
			return err
		}
	}
	for _, p := range s.Emptied {
		if r, err := m.resolve(p); err == nil && r.dir {
			m.items = append(m.items, item{target: r.real, rank: rankBase, dir: true, tree: -1, what: "empty",
				make: func() error { return mountFolder(r.real) }})
			m.emptied = append(m.emptied, r.real)
		}
	}
	for _, p := range m.visible() {
		m.optional(p, rankVisible, "show")
	}
	for _, p := range s.Writable {
		if err := m.required(p, rankWritable, readWrite, "writable"); err != nil {
			return err
		}
	}
	if err := m.required(s.Worktree, rankWorktree, access(!s.WorktreeReadOnly), "worktree"); err != nil {
		return err
	}
	if err := m.shares(); err != nil {
		return err
	}
	for _, p := range s.ReadOnlyPaths {
		m.optional(p, rankReadOnly, "read-only")
	}
	for _, p := range s.GitDirs {
		if err := m.required(p, rankGit, readOnly, "git directory"); err != nil {
			return err
		}
	}
	for _, p := range s.Sockets {
		if err := m.required(p, rankBind, readWrite, "socket"); err != nil {
			return err
		}
	}
	for _, b := range s.Binds {
		r, err := m.resolve(b.Source)
		if err != nil {
			return fmt.Errorf("bind: %w", err)
		}
		tree, err := cloneTree(r.real, access(b.Writable))
		if err != nil {
			return err
		}
		m.items = append(m.items, item{target: filepath.Clean(b.Target), rank: rankBind, dir: r.dir, tree: tree,
			what: "bind"})
	}
	m.hidden()
	m.covered()
	if err := m.ancestors(); err != nil {
		return err
	}
	m.hideCgroups(m.ground.mounts)
	return nil
}

// ancestors binds every folder between the worktree, or another writable folder,
// and a part of it that is read-only or hidden onto itself. A mount cannot be
// renamed or removed, so the part cannot be moved away with its folder. Inside, a
// rename or hard link from such a folder to another part of the worktree fails as
// between two file systems.
func (m *mounter) ancestors() error {
	open := map[string]bool{} // real paths of what is writable and not covered as a whole
	for _, it := range m.items {
		if it.rank == rankWritable || it.rank == rankWorktree && !m.spec.WorktreeReadOnly {
			open[it.target] = true
		}
	}
	for _, it := range m.items {
		if it.rank > rankWorktree {
			delete(open, it.target)
		}
	}
	done := map[string]bool{}
	for _, it := range slices.Clone(m.items) {
		switch it.rank {
		case rankWorktree, rankReadOnly, rankGit, rankHidden:
		default:
			continue
		}
		root := m.around(it.target)
		if !open[root] {
			continue // nothing is writable there, or it is a folder of the sandbox's own
		}
		for dir := filepath.Dir(it.target); dir != root && !done[dir]; dir = filepath.Dir(dir) {
			done[dir] = true
			tree, err := cloneTree(dir, readWrite)
			if err != nil {
				return fmt.Errorf("keep %q in its place: %w", dir, err)
			}
			m.items = append(m.items, item{target: dir, rank: rankWorktree, dir: true, tree: tree, what: "folder"})
		}
	}
	return nil
}

// around is the innermost folder that is mounted around path, or "".
func (m *mounter) around(path string) (root string) {
	for _, it := range m.items {
		if it.dir && it.target != path && len(it.target) > len(root) && within(path, it.target) && it.what != "folder" {
			root = it.target
		}
	}
	return root
}

// visible are paths that the private folders would cover.
func (m *mounter) visible() []string {
	// The name service's files may be links into /run.
	out := []string{"/etc/resolv.conf", "/etc/hosts", "/etc/localtime", "/etc/ssl/certs/ca-certificates.crt"}
	for _, p := range m.spec.CommandFiles {
		out = append(out, p)
		out = append(out, behind(p, m.private)...)
	}
	// What lies in a writable folder is there already, and stays writable.
	open := append([]string{m.spec.Worktree}, m.spec.Writable...)
	for i, p := range open {
		if r, err := m.resolve(p); err == nil {
			open[i] = r.real
		}
	}
	return slices.DeleteFunc(out, func(p string) bool {
		r, err := m.resolve(p)
		return err != nil || withinAny(r.real, open) || withinAny(r.real, m.emptied)
	})
}

// required adds a bind of path at path. Its links are kept.
func (m *mounter) required(path string, rank int, writable access, what string) error {
	r, err := m.resolve(path)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	tree, err := cloneTree(r.real, writable)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	m.items = append(m.items, item{target: r.real, rank: rank, dir: r.dir, tree: tree, links: r.links, what: what})
	return nil
}

// optional is required, read-only, for paths that need not exist. Visible ones are bound
// only where a private folder covers them; elsewhere they are in view anyway.
func (m *mounter) optional(path string, rank int, what string) {
	r, err := m.resolve(path)
	if err != nil {
		return
	}
	it := item{target: r.real, rank: rank, dir: r.dir, tree: -1, links: r.links, what: what}
	if rank == rankVisible && (!withinAny(r.real, m.private) || slices.Contains(m.private, r.real)) {
		if len(r.links) > 0 {
			it.make = func() error { return nil } // the links alone
			it.target = r.links[len(r.links)-1].path
			m.items = append(m.items, it)
		}
		return
	}
	if it.tree, err = cloneTree(r.real, readOnly); err == nil {
		m.items = append(m.items, it)
	}
}

// hidden covers credentials. A folder becomes an empty one, a file an empty
// file; links are followed, so that what is behind them is covered.
func (m *mounter) hidden() {
	for _, p := range m.hide {
		r, err := m.resolve(p)
		if err != nil || slices.ContainsFunc(m.items, func(it item) bool {
			return it.rank == rankHidden && within(r.real, it.target)
		}) {
			continue
		}
		m.items = append(m.items, item{target: r.real, rank: rankHidden, dir: r.dir, tree: -1, what: "hide",
			make: func() error {
				if r.dir {
					return bind(m.shades.folder(), r.real)
				}
				return bind(m.shades.file(), r.real)
			}})
	}
}

// covered shows other contents in the place of files.
func (m *mounter) covered() {
	for i, c := range m.covers {
		r, err := m.resolve(c.Path)
		if err != nil || r.dir || slices.ContainsFunc(m.items, func(it item) bool {
			return it.rank == rankHidden && within(r.real, it.target)
		}) {
			continue
		}
		m.items = append(m.items, item{target: r.real, rank: rankHidden, tree: -1, what: "cover", make: func() error {
			return bind(m.shades.cover(i), r.real)
		}})
	}
}

// attach puts the items into place.
func (m *mounter) attach() error {
	slices.SortStableFunc(m.items, func(a, b item) int {
		if d := strings.Count(a.target, "/") - strings.Count(b.target, "/"); d != 0 {
			return d
		}
		return a.rank - b.rank
	})
	if slices.ContainsFunc(m.items, func(it item) bool { return it.rank == rankHidden }) {
		var err error
		if m.shades, err = newShades(m.covers); err != nil {
			return fmt.Errorf("make what covers files: %w", err)
		}
	}
	for _, it := range m.items {
		if it.rank == rankHidden && withinAny(it.target, m.emptied) {
			if _, err := os.Lstat(it.target); errors.Is(err, os.ErrNotExist) {
				continue // it lay in a folder that is empty now
			}
		}
		if it.rank == rankHidden && m.replaced(it) {
			continue
		}
		for _, l := range it.links {
			m.remake(l)
		}
		if it.make == nil || it.rank == rankHidden {
			if err := m.place(it.target, it.dir); err != nil {
				return fmt.Errorf("%s %q: %w", it.what, it.target, err)
			}
		}
		if it.make != nil {
			if err := it.make(); err != nil {
				return fmt.Errorf("%s %q: %w", it.what, it.target, err)
			}
			continue
		}
		if err := moveTree(it.tree, it.target); err != nil {
			return fmt.Errorf("%s %q: %w", it.what, it.target, err)
		}
	}
	if err := m.shades.gone(); err != nil {
		return fmt.Errorf("unmount what covers files: %w", err)
	}
	return nil
}

// replaced says whether an earlier command left something of another kind in the
// home folder, in the place of what is to be hidden or of a folder around it. That
// hides the user's for good: when it is removed, the place is empty.
func (m *mounter) replaced(it item) bool {
	if m.kept == "" || !within(it.target, m.kept) || it.target == m.kept {
		return false
	}
	for path, dir := m.kept, true; dir; {
		rest := strings.TrimPrefix(it.target[len(path):], "/")
		name, _, more := strings.Cut(rest, "/")
		path, dir = filepath.Join(path, name), more
		st, err := os.Lstat(path)
		if err != nil {
			return false
		}
		if st.Mode()&os.ModeSymlink != 0 || st.IsDir() != (more || it.dir) {
			return true
		}
	}
	return false
}

// remake recreates a link whose folder has been covered. It is best effort: a
// missing link becomes an error of the command.
func (m *mounter) remake(l link) {
	if _, err := os.Lstat(l.path); err == nil || !withinAny(l.path, m.private) {
		return
	}
	if os.MkdirAll(filepath.Dir(l.path), 0o755) == nil {
		os.Symlink(l.to, l.path)
	}
}

// place makes sure that there is something to mount on.
func (m *mounter) place(target string, dir bool) error {
	if _, err := os.Lstat(target); err == nil {
		return nil
	}
	if dir {
		return os.MkdirAll(target, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(target, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// mountPrivate covers the shared temporary folders with parts of one tmpfs, so
// that one size limit holds for all: ending a process does not free the memory
// of files that it wrote there.
func (m *mounter) mountPrivate() error {
	if len(m.private) == 0 {
		return nil
	}
	top := m.private[0]
	const inode = 1 << 10 // bytes of memory that the kernel takes for a file's or folder's own data
	size := max(m.spec.TempBytes, 1<<20)
	options := fmt.Sprintf("mode=700,size=%d,nr_inodes=%d", size, size/inode)
	if err := unix.Mount("tmpfs", top, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount a private %s: %w", top, err)
	}
	trees := make([]int, len(m.private))
	for i := range m.private {
		part := filepath.Join(top, strconv.Itoa(i))
		if err := os.Mkdir(part, 0o700); err != nil {
			return fmt.Errorf("make a private %s: %w", m.private[i], err)
		}
		if err := os.Chmod(part, m.modes[i]); err != nil {
			return fmt.Errorf("make a private %s: %w", m.private[i], err)
		}
		var err error
		if trees[i], err = openTree(part); err != nil {
			return err
		}
	}
	for i, p := range m.private {
		if err := moveTree(trees[i], p); err != nil {
			return fmt.Errorf("mount a private %s: %w", p, err)
		}
	}
	return nil
}

// mountFolder covers a folder by an empty one in which things can be bound.
func mountFolder(path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	return unix.Mount("tmpfs", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC,
		"mode=755,size=1m,nr_inodes=1024")
}

// shades is one read-only tmpfs with all that covers files and folders: an
// empty folder, an empty file and the files of covers. Binding one of them
// takes a single call, because a bind keeps the flags of its source.
type shades string // where they are mounted while the sandbox is built

func newShades(covers []cover) (shades, error) {
	s := shades(filepath.Join(RunDir, ".git-ralph-shades"))
	if err := os.MkdirAll(string(s), 0o755); err != nil {
		return s, err
	}
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	if err := unix.Mount("tmpfs", string(s), "tmpfs", flags, "mode=755"); err != nil {
		return s, err
	}
	err := errors.Join(os.Mkdir(s.folder(), 0o555), os.WriteFile(s.file(), nil, 0o644))
	for i, c := range covers {
		err = errors.Join(err, os.WriteFile(s.cover(i), c.Contents, 0o644))
	}
	if err == nil {
		err = unix.Mount("", string(s), "", flags|unix.MS_REMOUNT|unix.MS_RDONLY, "")
	}
	return s, err
}

func (s shades) folder() string { return filepath.Join(string(s), "folder") }

// file is empty. It has to be a file and not /dev/null, which would swallow what
// is written to it.
func (s shades) file() string       { return filepath.Join(string(s), "file") }
func (s shades) cover(i int) string { return filepath.Join(string(s), "cover"+strconv.Itoa(i)) }

// gone removes the mount when everything is covered.
func (s shades) gone() error {
	if s == "" {
		return nil
	}
	return errors.Join(unix.Unmount(string(s), unix.MNT_DETACH), os.Remove(string(s)))
}
