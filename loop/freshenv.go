package loop

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"git-ralph/internal/proc"
	"git-ralph/internal/text"
)

// PathInside are the entries of PATH that lie in the worktree, or that depend
// on the folder that a command is started in. What is there may have been
// written by an agent without a trace in any commit.
func PathInside(env []string, root string) []string {
	var out []string
	for _, kv := range env {
		if name, value, _ := strings.Cut(kv, "="); isPath(name) {
			for _, entry := range filepath.SplitList(value) {
				if _, inside := insideOf(entry, root); inside || !filepath.IsAbs(entry) {
					out = append(out, entry)
				}
			}
		}
	}
	return out
}

// Inside says whether a path lies in root, by its name or by where its links
// lead.
func Inside(path, root string) bool {
	_, inside := insideOf(path, root)
	return inside
}

func isPath(name string) bool {
	return name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH")
}

// insideOf is path as seen from root, when it lies there by its name or by what
// its links lead to.
func insideOf(path, root string) (string, bool) {
	if !filepath.IsAbs(path) {
		return "", false
	}
	for _, p := range []string{filepath.Clean(path), resolveKnown(path)} {
		if rel, err := filepath.Rel(root, p); err == nil && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	return "", false
}

// resolveKnown follows the links of the part of a path that exists.
func resolveKnown(path string) string {
	rest := ""
	for p := filepath.Clean(path); ; p = filepath.Dir(p) {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(real, rest)
		}
		if p == filepath.Dir(p) {
			return path
		}
		rest = filepath.Join(filepath.Base(p), rest)
	}
}

// heldBy are the folders of PATH inside the worktree that a commit checked out
// at dir holds itself.
func heldBy(root, dir string, env []string) map[string]bool {
	held := map[string]bool{}
	for _, entry := range PathInside(env, root) {
		if rel, inside := insideOf(entry, root); inside {
			if _, err := os.Lstat(filepath.Join(dir, rel)); err == nil {
				held[rel] = true
			}
		}
	}
	return held
}

// checkoutEnv is the environment of a command in the checkout dir. Paths into the
// worktree at root are changed to the same paths of the checkout, or dropped
// while nothing is there. So an activated virtual environment only works if the
// set-up commands create it again.
//
// PATH entries that are relative or part of the commit (held) are dropped: a file
// of the commit must not replace a program.
func checkoutEnv(env []string, root, dir string, held map[string]bool) []string {
	if home := proc.Getenv(env, "HOME"); home != "" {
		if _, inside := insideOf(home, root); inside {
			return env // the worktree is or contains the home folder
		}
	}
	// moved maps a path in the worktree to the same path in the checkout.
	moved := func(path string) (to string, inside, there bool) {
		rel, inside := insideOf(path, root)
		if !inside {
			return path, false, true
		}
		to = filepath.Join(dir, rel)
		_, err := os.Stat(to)
		return to, true, err == nil
	}
	var out []string
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if !isPath(name) && !leadsInto(value, root) {
			out = append(out, kv)
			continue
		}
		var parts []string
		for _, entry := range filepath.SplitList(value) {
			to, inside, there := moved(entry)
			rel, _ := filepath.Rel(dir, to)
			switch {
			case isPath(name) && (!filepath.IsAbs(entry) || inside && held[rel]):
			case inside && !there:
			case inside:
				parts = append(parts, to)
			default: // also text around a path, such as --require=/work/hook.js
				parts = append(parts, text.ReplacePath(entry, root, dir))
			}
		}
		if len(parts) > 0 {
			out = append(out, name+"="+strings.Join(parts, string(filepath.ListSeparator)))
		}
	}
	return out
}

// leadsInto says whether a value names the worktree or something in it.
func leadsInto(value, root string) bool {
	for _, entry := range filepath.SplitList(value) {
		if _, inside := insideOf(entry, root); inside {
			return true
		}
	}
	return text.ReplacePath(value, root, "") != value
}
