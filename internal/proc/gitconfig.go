package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Setting is one value of git's configuration.
type Setting struct {
	Scope string // system, global, local, worktree or command
	File  string // the file it is from, "" = none
	Key   string // as git prints it: section and variable in lower case
	Value string
	Bare  bool // a key without "=", git's short form of true
}

// Config is git's configuration in git's own order: of several values of a key the
// last one counts.
type Config []Setting

// Get is the effective value of a key; key is in the form of Setting.Key. For the
// keys that we pin in every call it is the value from the user's files.
func (c Config) Get(key string) (value string, ok bool) {
	ours := slices.ContainsFunc(pinned, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return strings.EqualFold(name, key)
	})
	for _, s := range slices.Backward(c) {
		if s.Key == key && !(ours && s.Scope == "command") {
			return s.Value, true
		}
	}
	return "", false
}

// KnownConfig is the configuration as it was last read. It is valid while its files
// have the same content. They are compared at every use, because starting git costs
// fifty times as much as reading them.
type KnownConfig struct {
	common string // the git directory whose config counts for all worktrees

	mu    sync.Mutex
	files []string // existing ones, and missing ones that git would read
	texts [][]byte // their contents, nil = there is no such file
	list  Config
}

// NewKnownConfig remembers the configuration of a repository with this common git
// directory.
func NewKnownConfig(common string) *KnownConfig { return &KnownConfig{common: common} }

// Config returns git's configuration as it is now. The caller does not change it.
func (g *Git) Config(ctx context.Context) (Config, error) {
	k := g.Known
	if k == nil {
		return g.readConfig(ctx)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.list != nil && slices.EqualFunc(k.texts, contents(k.files), same) {
		return k.list, nil
	}
	k.list = nil
	if k.files == nil {
		k.files = k.usual(g)
	}
	before := contents(k.files)
	list, err := g.readConfig(ctx)
	if err != nil {
		return nil, err
	}
	files, ok := k.sources(g, list)
	if ok && slices.Equal(files, k.files) && slices.EqualFunc(before, contents(files), same) {
		k.texts, k.list = before, list
	}
	k.files = files
	return list, nil
}

// usual are the files that git reads where nothing says otherwise.
func (k *KnownConfig) usual(g *Git) []string {
	files := []string{filepath.Join(k.common, "config"), filepath.Join(g.GitDir, "config.worktree")}
	for _, name := range []string{"GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL"} {
		if path := Getenv(g.Env, name); path != "" {
			files = append(files, path)
		}
	}
	if Getenv(g.Env, "GIT_CONFIG_NOSYSTEM") == "" {
		files = append(files, "/etc/gitconfig")
	}
	home := Getenv(g.Env, "HOME")
	if home != "" {
		files = append(files, filepath.Join(home, ".gitconfig"))
	}
	if xdg := Getenv(g.Env, "XDG_CONFIG_HOME"); xdg != "" {
		files = append(files, filepath.Join(xdg, "git", "config"))
	} else if home != "" {
		files = append(files, filepath.Join(home, ".config", "git", "config"))
	}
	return files
}

// sources are the usual files, those of the settings, and those to be included. ok =
// false says that not only their content decides what git reads, but also, for example,
// the branch.
func (k *KnownConfig) sources(g *Git, list Config) (files []string, ok bool) {
	files, ok = k.usual(g), true
	add := func(path string) {
		if !filepath.IsAbs(path) {
			ok = false
		} else if !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	for _, s := range list {
		if s.File != "" {
			add(s.File)
		}
		section, condition, _ := strings.Cut(s.Key, ".")
		switch {
		case section != "include" && section != "includeif":
		case section == "includeif" && !strings.HasPrefix(condition, "gitdir"):
			ok = false
		default:
			add(included(s, Getenv(g.Env, "HOME")))
		}
	}
	return files, ok
}

// Included are the files that settings include, whatever the condition, and whether they
// exist or not.
func (c Config) Included(home string) []string {
	var files []string
	for _, s := range c {
		section, _, _ := strings.Cut(s.Key, ".")
		if path := included(s, home); (section == "include" || section == "includeif") && filepath.IsAbs(path) {
			files = append(files, filepath.Clean(path))
		}
	}
	return files
}

// included is the file that a setting includes, which need not exist; if not absolute it
// is unknown.
func included(s Setting, home string) string {
	if rest, ok := strings.CutPrefix(s.Value, "~/"); ok {
		return filepath.Join(home, rest)
	}
	if filepath.IsAbs(s.Value) || s.File == "" || strings.HasPrefix(s.Value, "~") || strings.HasPrefix(s.Value, "%(") {
		return s.Value
	}
	return filepath.Join(filepath.Dir(s.File), s.Value)
}

// maxConfig bounds what is read of a file to compare it.
const maxConfig = 1 << 20

// contents reads files, nil = there is none.
func contents(files []string) [][]byte {
	out := make([][]byte, len(files))
	for i, path := range files {
		out[i] = content(path)
	}
	return out
}

// unreadable stands for a file that cannot be compared: it is never the same.
var unreadable = []byte{}

// content is the content of a file followed by a full stop, nil = there is no file. It
// never blocks: an agent without a sandbox may put a pipe there.
func content(path string) []byte {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unreadable
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxConfig {
		return unreadable
	}
	data, err := io.ReadAll(io.LimitReader(f, maxConfig))
	if err != nil {
		return unreadable
	}
	return append(data, '.')
}

func same(a, b []byte) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return len(a) > 0 && bytes.Equal(a, b)
}

func (g *Git) readConfig(ctx context.Context) (Config, error) {
	out, err := g.Run(ctx, "config", "--includes", "--list", "--show-scope", "--show-origin", "-z")
	if err != nil {
		return nil, fmt.Errorf("read git's configuration: %w", err)
	}
	return ParseConfig(out)
}

// ParseConfig reads what `git config --list --show-scope --show-origin -z` prints:
// scope, origin, and key and value with a line feed between them, each of the three
// ended by NUL.
func ParseConfig(out []byte) (Config, error) {
	fields := strings.Split(string(out), "\x00")
	if len(fields)%3 != 1 || fields[len(fields)-1] != "" {
		return nil, errors.New("read git's configuration: the list ends within a setting")
	}
	list := make(Config, 0, len(fields)/3)
	for i := 0; i+2 < len(fields); i += 3 {
		s := Setting{Scope: fields[i]}
		if path, ok := strings.CutPrefix(fields[i+1], "file:"); ok {
			s.File = path
		}
		value := false
		if s.Key, s.Value, value = strings.Cut(fields[i+2], "\n"); s.Key == "" {
			return nil, errors.New("read git's configuration: a setting has no key")
		}
		s.Bare = !value
		list = append(list, s)
	}
	return list, nil
}
