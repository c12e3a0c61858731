package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// homeError says that the home mode was refused; the probe then tries the next.
type homeError struct{ err error }

func (e *homeError) Error() string { return fmt.Sprintf("make a home folder: %v", e.err) }
func (e *homeError) Unwrap() error { return e.err }

// home adds the home folder and, read-only, the mounts below it.
func (m *mounter) home() error {
	r, err := m.resolve(m.spec.Home)
	if err != nil {
		return &homeError{err}
	}
	if !r.dir || r.real == "/" {
		return &homeError{fmt.Errorf("%q is no folder to work in", m.spec.Home)}
	}
	switch m.spec.HomeMode {
	case HomeReadOnly:
		if withinAny(r.real, m.private) {
			return m.required(m.spec.Home, rankBase, readOnly, "home")
		}
		return nil
	}
	m.kept = r.real
	if m.spec.HomeMode == HomeCopy {
		return m.homeCopy(r)
	}
	m.items = append(m.items, item{target: r.real, rank: rankBase, dir: true, tree: -1, links: r.links, what: overlaid})
	for _, p := range mountsBelow(m.ground.mounts, r.real) {
		m.optional(p, rankBase, "mount in the home folder")
	}
	return nil
}

// overlaid is item.what of a home folder whose tree homeOverlay sets.
const overlaid = "home overlay"

// homeOverlay waits for the overlay of the home folder. It must exist before the tree
// becomes read-only.
func (m *mounter) homeOverlay() error {
	at := slices.IndexFunc(m.items, func(it item) bool { return it.what == overlaid })
	if at < 0 {
		return nil
	}
	l := <-m.layer
	if l.err != nil {
		return &homeError{l.err}
	}
	m.items[at].tree = l.tree
	return nil
}

// overlay makes a detached overlay of folders, the uppermost first. What is written
// goes into the folder upper of dir. Paths are given as descriptors: commas and
// colons in them would be options.
func overlay(dir string, lowers ...string) (int, error) {
	names := make([]string, 0, len(lowers)+2)
	for _, p := range append([]string{filepath.Join(dir, "upper"), filepath.Join(dir, "work")}, lowers...) {
		fd, err := unix.Open(p, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, fmt.Errorf("open %q: %w", p, err)
		}
		defer unix.Close(fd)
		names = append(names, fdPath(fd))
	}
	return newFS("overlay", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, "lowerdir="+strings.Join(names[2:], ":"),
		"upperdir="+names[0], "workdir="+names[1], "userxattr", "volatile") // volatile: see keepHome
}

// mountPoint is one line of mountinfo.
type mountPoint struct{ path, fs string }

// readMounts lists the mounts.
func readMounts() ([]mountPoint, error) {
	b, err := os.ReadFile("/proc/self/mountinfo")
	var all []mountPoint
	for line := range strings.Lines(string(b)) {
		place, source, ok := strings.Cut(line, " - ")
		f, kind := strings.Fields(place), strings.Fields(source)
		if ok && len(f) > 4 && len(kind) > 0 {
			all = append(all, mountPoint{unescapeMount(f[4]), kind[0]})
		}
	}
	return all, err
}

// mountsBelow are the mount points inside dir, without those inside others of
// them. An overlay does not show them by itself.
func mountsBelow(mounts []mountPoint, dir string) []string {
	var all []string
	for _, m := range mounts {
		if m.path != dir && within(m.path, dir) {
			all = append(all, m.path)
		}
	}
	slices.Sort(all)
	var out []string
	for _, p := range all {
		if len(out) == 0 || !within(p, out[len(out)-1]) {
			out = append(out, p)
		}
	}
	return out
}

// unescapeMount undoes the octal escapes of mountinfo.
func unescapeMount(s string) string {
	if !strings.Contains(s, `\`) {
		return s // making the replacer takes longer than all the rest
	}
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// ownFolders are folders of a copied home that start empty and can be written:
// caches and the state of tools. Everything else is read-only.
var ownFolders = map[string]bool{
	".cache": true, ".npm": true, ".pnpm-store": true, ".yarn": true, ".bun": true, "go": true,
	".gradle": true, ".m2": true, ".nuget": true, ".local": true, ".config": true, ".node-gyp": true,
	".claude": true, ".codex": true, ".gemini": true, ".opencode": true,
}

// copyMax is the size of files that a copied home gets; larger ones are bound.
const copyMax = 1 << 20

// homeCopy builds a home folder in HomeUpper where an overlay is refused.
// Folders of ownFolders get the files of the real ones once, as far as they are
// small: settings and logins, not caches. The folder belongs to the command of
// an earlier run, which may have left links there: os.Root does not follow them
// out.
func (m *mounter) homeCopy(r resolved) error {
	home := filepath.Join(m.spec.HomeUpper, "home")
	binds, err := copyHome(r.real, home, m.spec)
	if err != nil {
		return &homeError{err}
	}
	tree, err := cloneTree(home, readWrite)
	if err != nil {
		return &homeError{err}
	}
	m.items = append(m.items, item{target: r.real, rank: rankBase, dir: true, tree: tree, links: r.links, what: "home"})
	for _, p := range binds {
		m.optional(p, rankBase, "part of the home")
	}
	return nil
}

// copyHome fills the folder home from the folder from and returns what is too
// large to be copied. What is hidden is not copied, and goes when it was copied
// before.
func copyHome(from, home string, spec Spec) (large []string, err error) {
	root, err := os.OpenRoot(home)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	c := copier{root: root, from: from, hidden: map[string]bool{}}
	if r, err := resolve(from); err == nil {
		from = r.real
	}
	for _, p := range hiddenPlaces(spec) {
		r, err := resolve(p)
		if err != nil {
			continue // it is not there to be copied
		}
		if rel, err := filepath.Rel(from, r.real); err == nil && filepath.IsLocal(rel) {
			c.hidden[rel] = true
		}
	}
	return c.top()
}

// hides leaves out a hidden file or folder.
func (c *copier) hides(rel string) bool {
	if c.hidden[rel] {
		c.root.RemoveAll(rel)
	}
	return c.hidden[rel]
}

// copier fills a copied home.
type copier struct {
	root   *os.Root
	from   string
	hidden map[string]bool
}

// top handles the first level and returns what is to be bound read-only.
func (c *copier) top() (binds []string, err error) {
	entries, err := os.ReadDir(c.from)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name, from := e.Name(), filepath.Join(c.from, e.Name())
		st, err := os.Lstat(from)
		if err != nil || c.hides(name) {
			continue
		}
		switch {
		case st.Mode()&os.ModeSymlink != 0:
			to, rerr := os.Readlink(from)
			if rerr != nil {
				continue
			}
			err = c.root.Symlink(to, name)
		case st.IsDir() && ownFolders[name]:
			err = c.folder(name)
		case st.Mode().IsRegular() && st.Size() <= copyMax:
			err = c.file(name, st.Mode().Perm())
		case st.IsDir() || st.Mode().IsRegular():
			binds = append(binds, from)
		}
		if err != nil && !errors.Is(err, os.ErrExist) {
			return nil, err
		}
	}
	return binds, nil
}

// folder copies a folder of settings: three levels, small regular files,
// nothing that is there already, no caches, nothing hidden.
func (c *copier) folder(rel string) error {
	if err := c.root.Mkdir(rel, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if rel == ".cache" || rel == "go" || strings.Count(rel, "/") > 2 {
		return nil
	}
	entries, err := os.ReadDir(filepath.Join(c.from, rel))
	if err != nil {
		return nil // not readable for us, so not for the command
	}
	const most = 256 // more is a cache, not settings
	for _, e := range entries[:min(len(entries), most)] {
		sub := rel + "/" + e.Name()
		st, err := os.Lstat(filepath.Join(c.from, sub))
		if err != nil || c.hides(sub) {
			continue
		}
		switch {
		case st.IsDir():
			err = c.folder(sub)
		case st.Mode().IsRegular() && st.Size() <= copyMax:
			err = c.file(sub, st.Mode().Perm())
		}
		if err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

// file copies a file unless there is one.
func (c *copier) file(rel string, perm os.FileMode) error {
	in, err := os.Open(filepath.Join(c.from, rel))
	if err != nil {
		return nil // not readable for us, so not for the command
	}
	defer in.Close()
	out, err := c.root.OpenFile(rel, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, io.LimitReader(in, copyMax)); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
