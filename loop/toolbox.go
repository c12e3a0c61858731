package loop

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"git-ralph/internal/text"
)

// Folders that git ignores hold programs that checks call by a bare name:
// node_modules/.bin, .venv/bin. No checkpoint restores them, so a program that
// an agent takes away there would look like one that the machine lacks, and end
// the run. The toolbox remembers what lay in such folders before an agent came.

// What is remembered of one toolbox at most. Links and start scripts are small;
// a larger program is remembered by its size and time only.
const (
	maxTools    = 5000
	maxToolFile = 64 << 10
	maxToolData = 16 << 20
)

// tool is one program of a folder: a link, or a file with its bytes where they
// are few.
type tool struct {
	link  string
	data  []byte
	mode  fs.FileMode // of the file itself, or of what the link leads to
	size  int64
	mtime int64
}

func (t tool) same(o tool) bool {
	if t.link != o.link || t.mode != o.mode {
		return false
	}
	return t.data != nil && bytes.Equal(t.data, o.data) || t.size == o.size && t.mtime == o.mtime
}

// projectTools is the runnable programs by folder and name.
type projectTools map[string]map[string]tool

// toolFolders are the folders of programs in ignored folders, and those of PATH
// in the worktree.
func toolFolders(root string, ignored, env []string) []string {
	var out []string
	for _, dir := range ignored {
		switch path.Base(dir) {
		case "bin", ".bin", "Scripts":
			out = append(out, dir)
		}
		out = append(out, path.Join(dir, "bin"), path.Join(dir, ".bin"), path.Join(dir, "Scripts"))
	}
	for _, entry := range PathInside(env, root) {
		rel, inside := insideOf(entry, root)
		if !inside && filepath.IsLocal(entry) {
			rel, inside = filepath.Clean(entry), true
		}
		if inside && rel != "." {
			out = append(out, filepath.ToSlash(rel))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// plainFolder says that no part of a path is a link or anything else than a
// folder, and names the first part that is.
func plainFolder(root *os.Root, dir string) (wrong string, ok bool) {
	for i := range len(dir) + 1 {
		if i < len(dir) && dir[i] != '/' {
			continue
		}
		if st, err := root.Lstat(filepath.FromSlash(dir[:i])); err != nil || !st.IsDir() {
			return dir[:i], false
		}
	}
	return "", true
}

// readTools lists the programs of a folder. Links out of the worktree are
// followed for what they lead to, and never written through.
func readTools(root *os.Root, dir string, room *int) map[string]tool {
	if _, ok := plainFolder(root, dir); !ok {
		return nil
	}
	d, err := root.Open(filepath.FromSlash(dir))
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(maxTools)
	slices.Sort(names)
	out := map[string]tool{}
	for _, name := range names {
		if t, ok := readTool(root, path.Join(dir, name), room); ok {
			out[name] = t
		}
	}
	return out
}

func readTool(root *os.Root, name string, room *int) (tool, bool) {
	name = filepath.FromSlash(name)
	own, err := root.Lstat(name)
	if err != nil {
		return tool{}, false
	}
	var t tool
	if own.Mode()&fs.ModeSymlink != 0 {
		if t.link, err = root.Readlink(name); err != nil {
			return tool{}, false
		}
	}
	st, err := os.Stat(filepath.Join(root.Name(), name))
	if err != nil || !st.Mode().IsRegular() || st.Mode()&0o111 == 0 {
		return tool{}, false
	}
	t.mode, t.size, t.mtime = st.Mode(), st.Size(), st.ModTime().UnixNano()
	if t.link == "" && t.size <= maxToolFile && t.size <= int64(*room) {
		if data, err := root.ReadFile(name); err == nil && int64(len(data)) == t.size {
			t.data = data
			*room -= len(data)
		}
	}
	return t, true
}

// noteTools adds what the ignored folders of the worktree hold before an agent
// works. What was noted earlier in this run and is gone stays noted.
func (l *Loop) noteTools(ignored []string) {
	root, err := os.OpenRoot(l.Repo.Root)
	if err != nil {
		return
	}
	defer root.Close()
	if l.tools == nil {
		l.tools = projectTools{}
	}
	room, count := maxToolData, 0
	for _, dir := range toolFolders(l.Repo.Root, ignored, l.Settings.CheckEnv) {
		found := readTools(root, dir, &room)
		if count += len(found); len(found) == 0 || count > maxTools {
			continue
		}
		if l.tools[dir] == nil {
			l.tools[dir] = map[string]tool{}
		}
		for name, t := range found {
			l.tools[dir][name] = t
		}
	}
}

// spoiled are the folders that held a program before the agent worked and have
// changed since. A check that does not find the program then says something
// about the attempt, not about the machine.
func (l *Loop) spoiled(program string) []string {
	root, err := os.OpenRoot(l.Repo.Root)
	if err != nil {
		return nil
	}
	defer root.Close()
	var out []string
	in, name := toolName(program, l.Repo.Root)
	for dir, had := range l.tools {
		if _, ok := had[name]; !ok || in != "" && in != dir {
			continue
		}
		room := maxToolData
		now := readTools(root, dir, &room)
		for name, t := range had {
			if x, ok := now[name]; !ok || !t.same(x) {
				out = append(out, dir)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

// toolName is the folder in the worktree that a command names, "" = any of PATH, and the
// program.
func toolName(program, root string) (in, name string) {
	if rel, inside := insideOf(program, root); inside {
		program = rel
	}
	if in, name = path.Split(path.Clean(filepath.ToSlash(program))); in != "" {
		in = path.Clean(in)
	}
	return in, name
}

// sharedTool is the worker's shared folder that contains a program. If a check does not
// find it there, the worker's own writes hide it.
func (l *Loop) sharedTool(program string) (string, bool) {
	shared := l.shared()
	if len(shared.Names) == 0 {
		return "", false
	}
	root, err := os.OpenRoot(shared.From)
	if err != nil {
		return "", false
	}
	defer root.Close()
	in, name := toolName(program, l.Repo.Root)
	for _, dir := range toolFolders(l.Repo.Root, shared.Names, l.Settings.CheckEnv) {
		ours := slices.ContainsFunc(shared.Names, func(s string) bool { return dir == s || strings.HasPrefix(dir, s+"/") })
		room := maxToolData
		if !ours || in != "" && in != dir {
			continue
		}
		if _, ok := readTools(root, dir, &room)[name]; ok {
			return dir, true
		}
	}
	return "", false
}

// putToolsBack restores the programs of a folder whose bytes are known. gone
// are those that cannot be restored: a link's target or the rest of the file is
// lost.
func (l *Loop) putToolsBack(dir string) (back, gone []string, err error) {
	root, err := os.OpenRoot(l.Repo.Root)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	var errs []error
	for name, t := range l.tools[dir] {
		file, room := path.Join(dir, name), maxToolData
		if now, ok := readTool(root, file, &room); ok && t.same(now) {
			continue
		}
		if t.link != "" || t.data != nil {
			if err := writeTool(root, filepath.FromSlash(file), t); err != nil {
				errs = append(errs, fmt.Errorf("put %s back: %w", file, err))
			}
		}
		if now, ok := readTool(root, file, &room); ok && t.same(now) {
			back = append(back, file)
		} else {
			gone = append(gone, file)
		}
	}
	slices.Sort(back)
	slices.Sort(gone)
	return back, gone, errors.Join(errs...)
}

// writeTool replaces a name in the worktree; no link in its way is followed out
// of it.
func writeTool(root *os.Root, name string, t tool) error {
	dir := filepath.Dir(name)
	if wrong, ok := plainFolder(root, filepath.ToSlash(dir)); !ok {
		if err := root.Remove(filepath.FromSlash(wrong)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if t.link != "" {
		if now, err := root.Readlink(name); err == nil && now == t.link {
			return nil
		}
	}
	if err := root.RemoveAll(name); err != nil {
		return err
	}
	if t.link != "" {
		return root.Symlink(t.link, name)
	}
	if err := root.WriteFile(name, t.data, t.mode.Perm()); err != nil {
		return err
	}
	return root.Chmod(name, t.mode.Perm())
}

// blameTools finds out whether the attempt removed a missing program from an
// ignored folder. Then the attempt is blamed, not the environment. It restores
// what it can and tells people and the next attempt.
func (l *Loop) blameTools(program string) (f findings, blamed bool) {
	dirs := l.spoiled(program)
	if dir, ok := l.sharedTool(program); ok {
		if err := l.shared().Drop(); err != nil {
			l.Log("%v", err)
		}
		f.note("gone, checks call %s: %s; what this worker has written to the shared folders is dropped", program,
			path.Join(dir, path.Base(program)))
		dirs = []string{dir}
	}
	for _, dir := range dirs {
		if len(l.tools[dir]) == 0 {
			continue
		}
		back, gone, err := l.putToolsBack(dir)
		if err != nil {
			l.Log("%v", err)
		}
		if len(back) > 0 {
			f.note("put back, because checks call %s: %s", program, text.List(back))
		}
		if len(gone) > 0 {
			text := fmt.Sprintf("gone, checks call %s: %s", program, text.List(gone))
			if l.setUpAgain = len(l.Settings.Setup) > 0; l.setUpAgain {
				text += "; the setup is done again"
			}
			f.note("%s", text)
		}
	}
	if len(dirs) > 0 {
		f.advice = fmt.Sprintf(
			"\n\n`%s` lay in %s before the attempt and could be run: leave what is installed there alone.",
			program, text.List(dirs))
	}
	return f, len(dirs) > 0
}
