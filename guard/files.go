package guard

import (
	"path"
	"slices"
	"strings"
)

const (
	insteadGitFiles = "leave the git directory to the harness; read it with `git log`, `git show`, `git config --get`"
	insteadOutside  = "write inside the worktree, or below /tmp"
	insteadWipe     = "name the folder inside the worktree to delete, as a literal path"
)

// write judges writing, making, moving or removing a path. When the path is
// only partly known, only the certain part counts.
func (j *judge) write(sc *scope, a arg, verb string) {
	if j.done || a.s == "" {
		return
	}
	if f := a.s; strings.HasPrefix(f, "/dev/fd/") || f == "-" {
		return
	}
	for _, p := range sc.resolve(a.s) {
		at := spot{path: p, glob: a.glob, dotglob: sc.dotglob, folder: verb == "make"}
		if class, reason, instead := j.place(at); class != "" {
			j.deny(class, "this would "+verb+" "+clip(a.s)+", "+reason, instead)
			return
		}
	}
}

// spot is an absolute, clean path that a command would change.
type spot struct {
	path    string
	glob    bool // it is a pattern
	dotglob bool // patterns mean hidden names too
	folder  bool // a folder is made there, which leaves protected files as they are
	temp    bool // it is in a temporary folder
}

// place says what is wrong with changing a path; class "" means nothing is.
func (j *judge) place(at spot) (class, reason, instead string) {
	p := at.path
	inTree := below(p, j.p.Worktree)
	at.temp = !inTree && belowAny(p, j.p.temp())
	if class, reason, instead = j.gitPlace(at); class != "" {
		return class, reason, instead
	}
	for _, s := range j.p.State {
		if below(p, slash(s)) {
			return ClassState, "which belongs to the loop", "tell the loop through its tools (ralph_*), it keeps its own state"
		}
	}
	if below(p, "/run/git-ralph") || strings.Contains(p+"/", "/.ralph/") || at.glob && globMeans(p, ".ralph", at.dotglob) {
		return ClassState, "which belongs to the loop", "tell the loop through its tools (ralph_*), it keeps its own state"
	}
	if inTree {
		if !at.folder {
			return j.protectedPlace(p, at.glob)
		}
		return "", "", ""
	}
	if at.temp || belowAny(p, j.p.Writable) {
		return "", "", ""
	}
	if rest, ok := strings.CutPrefix(p, "/dev/"); ok {
		first, _, _ := strings.Cut(rest, "/")
		switch first {
		case "null", "zero", "full", "random", "urandom", "tty", "stdin", "stdout", "stderr", "fd", "shm", "pts",
			"ptmx", "tcp", "udp":
			return "", "", ""
		}
		if !known(first) {
			return "", "", ""
		}
		return ClassDestructive, "which is a device", "write to a file in the worktree or below /tmp"
	}
	if rel, ok := j.inHome(p); ok {
		return j.homePlace(rel)
	}
	if j.system(p) {
		return ClassOutside, "which belongs to the system", insteadOutside
	}
	return "", "", ""
}

// gitPlace recognises git directories: the ones of this repository, anything
// with a .git part outside temporary folders, and git's own settings.
func (j *judge) gitPlace(at spot) (class, reason, instead string) {
	for _, d := range j.p.GitDirs {
		if below(at.path, slash(d)) {
			return ClassGitFiles, "which is part of the git directory", insteadGitFiles
		}
	}
	if at.temp {
		return "", "", ""
	}
	for rest := at.path; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "/")
		if len(part) >= 4 && (strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1")) ||
			at.glob && partMeans(part, ".git", at.dotglob) {
			return ClassGitFiles, "which is or may be part of a git directory", insteadGitFiles
		}
	}
	return "", "", ""
}

// partMeans reports whether a pattern can stand for name as the shell expands it.
func partMeans(pat, name string, dotglob bool) bool {
	return strings.ContainsAny(pat, "*?[") && (strings.HasPrefix(pat, ".") || dotglob) && matchGlob(pat, name)
}

func globMeans(p, name string, dotglob bool) bool {
	return slices.ContainsFunc(strings.Split(p, "/"), func(part string) bool { return partMeans(part, name, dotglob) })
}

func (j *judge) protectedPlace(p string, glob bool) (class, reason, instead string) {
	rel := strings.TrimPrefix(strings.TrimPrefix(p, path.Clean(j.p.Worktree)), "/")
	if rel == "" {
		return "", "", ""
	}
	prot := j.p.protected()
	g, ok := prot.Match(rel)
	if !ok && glob {
		for _, x := range prot.Globs {
			if !strings.ContainsAny(x, "*?[") && matchGlob(rel, x) {
				g, ok = x, true
			}
		}
	}
	if !ok {
		return "", "", ""
	}
	if _, free := (Protected{Globs: j.p.AllowProtected, FoldCase: j.p.FoldCase}).Match(rel); free {
		return "", "", ""
	}
	return ClassProtected, "which is protected by " + g, "leave it; say in the handoff what should change there"
}

// inHome returns the part of p below a home folder.
func (j *judge) inHome(p string) (rel string, ok bool) {
	if j.p.Home != "" && below(p, j.p.Home) {
		return strings.TrimPrefix(strings.TrimPrefix(p, path.Clean(j.p.Home)), "/"), true
	}
	for _, h := range []string{"/home/", "/Users/"} {
		if rest, found := strings.CutPrefix(p, h); found {
			_, rel, _ = strings.Cut(rest, "/")
			return rel, true
		}
	}
	if below(p, "/root") {
		return strings.TrimPrefix(p[5:], "/"), true
	}
	return "", false
}

func (j *judge) isHome(p string) bool {
	rel, ok := j.inHome(p)
	return ok && rel == ""
}

func (j *judge) homePlace(rel string) (class, reason, instead string) {
	first, rest, _ := strings.Cut(rel, "/")
	second, _, _ := strings.Cut(rest, "/")
	switch {
	case first == ".gitconfig", first == ".git-credentials", first == ".gitignore_global", first == ".gitattributes",
		first == ".git-templates", first == ".config" && second == "git":
		return ClassGitFiles, "which are git's own settings", "leave git as it is configured"
	case first == ".config" && (second == "gh" || second == "fish" || second == "systemd" || second == "autostart"):
		return ClassOutside, "which is the user's own", insteadOutside
	}
	switch first {
	case ".ssh", ".gnupg", ".aws", ".kube", ".docker", ".netrc", ".pypirc", ".npmrc", ".bashrc", ".bash_profile",
		".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
		".inputrc", ".pam_environment", ".claude", ".claude.json", ".codex", ".gemini", ".xprofile", ".login", ".cshrc":
		return ClassOutside, "which is the user's own", insteadOutside
	case ".ralph":
		return ClassState, "which belongs to the loop", insteadOutside
	}
	return "", "", ""
}

// system reports whether p is one of the system's folders or in it.
func (j *judge) system(p string) bool {
	if below(p, j.p.Worktree) {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(p, "/"), "/")
	switch first {
	case "etc", "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "boot", "sys", "var", "opt", "srv", "snap",
		"nix", "run", "System", "Library", "Applications", "private", "C:":
		return true
	case "proc":
		return !strings.HasPrefix(p, "/proc/self/fd")
	}
	return false
}

// unknownPaths says how to judge a path that begins with an unknown variable.
type unknownPaths bool

const (
	denyUnknown  unknownPaths = true
	allowUnknown unknownPaths = false
)

// remove judges the removal, or another sweeping change, of a whole tree.
func (j *judge) remove(sc *scope, a arg, strict unknownPaths) {
	if j.done || a.s == "" {
		return
	}
	j.write(sc, a, "change")
	if j.done {
		return
	}
	s := a.s
	if strict == denyUnknown && (s[0] == holeEnv || s[0] == holeForeign) {
		j.deny(ClassDestructive, "it is not known what this would remove: the variable may be empty", insteadWipe)
		return
	}
	for _, p := range sc.resolve(s) {
		if len(p) > 1 && (p[1] == holeEnv || p[1] == holeForeign) && p[0] == '/' && strict == denyUnknown {
			j.deny(ClassDestructive, "it is not known which folder this would sweep", insteadWipe)
			return
		}
		if a.glob {
			// "x/*" does as much damage as x.
			if base := path.Base(p); strings.Trim(base, "*?.") == "" || base == "[!.]*" || base == ".[!.]*" {
				p = path.Dir(p)
			}
		}
		if why := j.precious(p); why != "" {
			j.deny(ClassDestructive, "this would sweep "+clip(s)+", "+why, insteadWipe)
			return
		}
	}
}

// precious says why a whole tree must not go; "" when it may.
func (j *judge) precious(p string) string {
	wt := path.Clean(j.p.Worktree)
	switch {
	case p == "/" || strings.Count(p, "/") == 1 && !below(p, wt) && known(p):
		if !belowAny(p, j.p.temp()) || belowSelf(p, j.p.temp()) {
			return "a folder at the root of the system"
		}
	case p == wt && j.p.Worktree != "":
		return "the whole worktree"
	case j.p.Worktree != "" && below(wt, p):
		return "a parent of the worktree"
	}
	if below(p, wt) && j.p.Worktree != "" {
		return ""
	}
	if belowSelf(p, j.p.temp()) {
		return "all temporary files, others' included"
	}
	if belowAny(p, j.p.temp()) || belowAny(p, j.p.Writable) {
		return ""
	}
	if rel, ok := j.inHome(p); ok {
		for _, c := range []string{".cache/", ".npm/", "go/pkg/", ".cargo/registry/", ".gradle/caches/",
			".m2/repository/", "Library/Caches/", ".local/share/pnpm/", ".pnpm-store/", ".bun/install/cache/"} {
			if strings.HasPrefix(rel+"/", c) {
				return ""
			}
		}
		return "a folder of the user's"
	}
	if j.system(p) {
		return "a folder of the system"
	}
	if p[0] == '/' && len(p) > 1 && strings.IndexByte(holes, p[1]) >= 0 {
		if p[1] == holeName && strings.Count(p, "/") == 1 {
			return "something at the root of the system"
		}
		return ""
	}
	return "a folder outside the worktree"
}

func belowSelf(p string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return p == path.Clean(slash(d)) })
}

// judgeWrite decides whether one of the client's file tools may write name,
// which is absolute or relative to cwd ("" = the worktree). These tools have no business
// outside the worktree, the temporary folders and guard.writable.
func (p *Policy) judgeWrite(name, cwd string) Verdict {
	if name == "" || strings.ContainsAny(name, "\x00"+holes) {
		return denied(ClassInput, "the path to be written is empty or holds control characters",
			"name a file in the worktree")
	}
	j := newJudge(p)
	sc := newScope(p, slash(cwd))
	if strings.HasPrefix(name, "~/") && p.Home != "" {
		name = p.Home + name[1:]
	}
	full := sc.resolve(name)[0]
	if len(p.WriteOnly) > 0 {
		rel, _ := p.relative(full) // "" outside, which no glob matches
		if class, reason, instead := j.gitPlace(spot{path: full}); class != "" {
			return denied(class, "this would write to "+clip(name)+", "+reason, instead)
		}
		if _, free := (Protected{Globs: p.WriteOnly, FoldCase: p.FoldCase}).Match(rel); free {
			return allowed()
		}
		return denied(ClassTool, "this phase writes only "+strings.Join(p.WriteOnly, ", "),
			"put it there, or into the handoff")
	}
	if class, reason, instead := j.place(spot{path: full}); class != "" {
		return denied(class, "this would write to "+clip(name)+", "+reason, instead)
	}
	if !below(full, p.Worktree) && !belowAny(full, p.temp()) && !belowAny(full, p.Writable) {
		return denied(ClassOutside, "this would write to "+clip(name)+", which is outside the worktree", insteadOutside)
	}
	return allowed()
}

func (p *Policy) relative(full string) (string, bool) {
	if !below(full, p.Worktree) {
		return "", false
	}
	return strings.TrimPrefix(strings.TrimPrefix(full, path.Clean(p.Worktree)), "/"), true
}
