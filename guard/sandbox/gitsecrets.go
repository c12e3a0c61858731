package sandbox

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"git-ralph/internal/proc"
)

// GitSecret names a credential in git's configuration. It never holds the
// value.
type GitSecret struct {
	File string
	Key  string
}

// cover is a file and what a command in the sandbox reads in its place.
type cover struct {
	Path     string `json:"path"`
	Contents []byte `json:"contents"`
}

// GitSecrets are the secrets in the files of git's configuration that the
// command of spec could read: those of its repositories, of the user and of the
// system, and the files that they include. Namespaces cover them; every other
// mechanism leaves them readable. env is the command's.
func GitSecrets(spec Spec, env []string) []GitSecret {
	_, _, found := gitCovers(spec, env)
	return found
}

// limits of what is followed: git itself gives up at ten levels.
const (
	maxConfigFiles = 200
	maxConfigSize  = 1 << 20
)

// gitCovers finds the files with secrets and their contents without them, and the
// files outside of the worktree that git logs in with.
func gitCovers(spec Spec, env []string) (covers []cover, logins []string, found []GitSecret) {
	expand := func(path, file string) string {
		if rest, ok := strings.CutPrefix(path, "~/"); ok && spec.Home != "" {
			return filepath.Join(spec.Home, rest)
		}
		if !filepath.IsAbs(path) {
			return filepath.Join(filepath.Dir(file), path)
		}
		return path
	}
	seen := map[string]bool{}
	var follow func(path string, depth int)
	follow = func(path string, depth int) {
		if len(seen) >= maxConfigFiles || depth > 10 {
			return
		}
		path = filepath.Clean(path)
		if _, err := os.Lstat(path); err != nil {
			return
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil || seen[real] {
			return
		}
		seen[real] = true
		// What lies in the worktree is the work itself.
		if within(real, spec.Worktree) && !withinAny(real, spec.GitDirs) && !withinAny(real, spec.ReadOnlyPaths) {
			return
		}
		data, ok := readConfig(real)
		if !ok {
			return
		}
		c, err := parseGitConfig(data)
		if err != nil { // git cannot parse it, but a command can print it
			c = cleanLines(data)
		}
		if len(c.secrets) > 0 {
			covers = append(covers, cover{real, c.clean})
			for _, k := range slices.Compact(c.secrets) {
				found = append(found, GitSecret{path, k})
			}
		}
		for _, login := range c.logins {
			login = expand(login, real)
			if st, err := os.Stat(login); err == nil && st.Mode().IsRegular() && !within(login, spec.Worktree) {
				logins = append(logins, login)
			}
		}
		for _, inc := range c.includes {
			follow(expand(inc, real), depth+1)
		}
	}
	for _, path := range configFiles(spec, env) {
		follow(path, 0)
	}
	return covers, logins, found
}

// cleanLines is parseGitConfig for a file that git could not parse: line by line.
func cleanLines(data []byte) gitConfig {
	var out strings.Builder
	for line := range strings.Lines(string(data)) {
		clean := cleanURLs(line)
		if looksSecret(clean) || strings.Contains(strings.ToLower(line), "extraheader") {
			clean = "\n"
		}
		out.WriteString(clean)
	}
	c := gitConfig{clean: []byte(out.String())}
	if out.String() != string(data) {
		c.secrets = []string{"a line"}
	}
	return c
}

// configFiles are the files that git begins with.
func configFiles(spec Spec, env []string) []string {
	var out []string
	for _, dir := range slices.Concat(spec.GitDirs, spec.ReadOnlyPaths) {
		out = append(out, filepath.Join(dir, "config"), filepath.Join(dir, "config.worktree"),
			filepath.Join(dir, ".git", "config"), filepath.Join(dir, ".git", "config.worktree"))
		out = append(out, configsBelow(filepath.Join(dir, "modules"))...)
		out = append(out, configsBelow(filepath.Join(dir, "worktrees"))...)
	}
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"} {
		if p := proc.Getenv(env, name); filepath.IsAbs(p) {
			out = append(out, p)
		}
	}
	if spec.Home != "" {
		out = append(out, filepath.Join(spec.Home, ".gitconfig"), filepath.Join(spec.Home, ".config", "git", "config"))
	}
	if xdg := proc.Getenv(env, "XDG_CONFIG_HOME"); filepath.IsAbs(xdg) {
		out = append(out, filepath.Join(xdg, "git", "config"))
	}
	return append(out, "/etc/gitconfig", "/usr/local/etc/gitconfig")
}

// configsBelow are the configurations of submodules and linked worktrees.
func configsBelow(dir string) (out []string) {
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // not readable for us, so not for the command
		case !d.IsDir():
			if name := d.Name(); name == "config" || name == "config.worktree" {
				out = append(out, path)
			}
		case slices.Contains([]string{"objects", "refs", "logs", "hooks", "info", "lfs"}, d.Name()) && path != dir:
			return fs.SkipDir
		}
		if len(out) >= maxConfigFiles {
			return fs.SkipAll
		}
		return nil
	})
	return out
}

// readConfig reads a regular file of the size of a configuration.
func readConfig(path string) ([]byte, bool) {
	st, err := os.Lstat(path)
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxConfigSize {
		return nil, false
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfigSize))
	return data, err == nil
}
