package guard

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Shim is a program of the run's shim folder that stands before a real one on
// the agent's PATH: for clients without hooks and for what their tools start.
type Shim struct {
	Name     string // what it is called as
	File     string // its file name (Name, or Name.cmd on Windows)
	Contents string // a script that calls the harness: <binary> hook shim NAME words…
}

// dangerous are programs of which some calls are refused in every project and
// that builds seldom run, so that a shim costs nothing. rm and its like are left
// to the sandbox: a shim for them would slow down every script.
var dangerous = []string{"docker", "podman", "nerdctl", "docker-compose", "kubectl", "oc", "ssh", "mosh", "rsh",
	"shutdown", "reboot", "halt", "poweroff", "telinit", "systemctl", "loginctl", "launchctl", "systemd-run",
	"crontab", "at", "batch",
	"mkfs", "wipefs", "fdisk", "sfdisk", "parted", "mount", "umount",
	"useradd", "userdel", "usermod", "passwd", "chpasswd", "killall", "pkill"}

// Shims returns the shims of a policy, by name: git, the dangerous programs, the
// blocked managers and the commands that the toolchain rewrites. binary is the absolute path of
// git-ralph. When "hook shim NAME" has allowed the call it runs the real
// program, looked up without the shim folder, or the rewritten one.
func (p *Policy) Shims(binary, goos string) map[string]Shim {
	names := append([]string{"git"}, dangerous...)
	for _, b := range p.Toolchain.blocks() {
		if f := strings.Fields(string(b.Pattern)); len(f) > 0 && !strings.ContainsAny(f[0], "*?[/") {
			names = append(names, f[0])
		}
	}
	for _, d := range p.Deny { // what a person denies holds for scripts as well
		if f := strings.Fields(d); len(f) > 0 && !strings.ContainsAny(f[0], "*?[/\\") {
			names = append(names, f[0])
		}
	}
	if p.namesBlock("pip") { // also pip3 and python -m pip
		names = append(names, "pip3", "python", "python3")
		for minor := 8; minor <= 20; minor++ {
			names = append(names, fmt.Sprintf("pip3.%d", minor), fmt.Sprintf("python3.%d", minor))
		}
	}
	for _, r := range p.Toolchain.Rewrites {
		if f := strings.Fields(r.Name); len(f) > 0 {
			names = append(names, f[0])
		}
	}
	slices.Sort(names)
	out := make(map[string]Shim, len(names))
	for _, n := range slices.Compact(names) {
		s := Shim{Name: n, File: n, Contents: "#!/bin/sh\nexec " + quoteWord(binary) + " hook shim \"${0##*/}\" \"$@\"\n"}
		if goos == "windows" {
			s.File = n + ".cmd"
			s.Contents = "@\"" + strings.ReplaceAll(binary, "%", "%%") + "\" hook shim " + n + " %*\r\n"
		}
		out[n] = s
	}
	return out
}

func (p *Policy) namesBlock(name string) bool {
	_, ok := p.Toolchain.block([]string{name})
	return ok
}

// JudgeArgv decides about a program that a shim was called as, in the folder
// cwd; nothing is parsed, argv is what would run.
func (p *Policy) JudgeArgv(argv []string, cwd string) Verdict {
	return p.JudgeExec(argv, nil, cwd)
}

// JudgeExec is JudgeArgv with the environment (NAME=value) the program would
// get. git is judged only when it addresses this repository, by folder, -C,
// --git-dir, --work-tree, GIT_DIR or GIT_WORK_TREE: tests make repositories of
// their own. Only variables that change what git runs count; the harness has
// set the environment, and a script may have changed it.
func (p *Policy) JudgeExec(argv, env []string, cwd string) (v Verdict) {
	defer func() {
		if r := recover(); r != nil {
			v = denied(ClassUndecidable, "the guard could not follow this call", "call the program in a plain way")
		}
	}()
	if len(argv) == 0 {
		return denied(ClassInput, "there is no command", "name a command")
	}
	j := newJudge(p)
	sc := newScope(p, slash(cwd))
	args := make([]arg, len(argv))
	for i, a := range argv {
		if strings.ContainsAny(a, "\x00"+holes) {
			return denied(ClassUnparsable, "the words hold control characters", "write them as escapes")
		}
		args[i] = arg{s: a}
	}
	args[0].s = baseName(argv[0])
	if args[0].s == "git" {
		if !p.addressed(sc, argv[1:], env) {
			return allowed()
		}
		for _, e := range env {
			if name, val, ok := strings.Cut(e, "="); ok && strings.HasPrefix(name, "GIT_") && known(val) {
				sc.set(name, value{s: val})
			}
		}
	}
	j.runCommand(sc, args, stream{})
	if j.done {
		return j.v
	}
	return allowed()
}

// made returns the folders that "git init DIR" and "git clone URL DIR" write. ok
// is false when no folder is certain; then the current folder counts.
func made(verb string, args []string) (dirs []string, ok bool) {
	var words []string
	for i, a := range args {
		switch {
		case strings.HasPrefix(a, "--separate-git-dir="):
			dirs = append(dirs, strings.TrimPrefix(a, "--separate-git-dir="))
		case strings.HasPrefix(a, "-"):
		case i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.Contains(args[i-1], "=") && !quietFlag(args[i-1]):
			words = append(words[:0], "", "") // the value of an option, or not
		default:
			words = append(words, a)
		}
	}
	if n := len(words); verb == "init" && n == 1 || verb == "clone" && n == 2 && words[0] != "" {
		return append(dirs, words[n-1]), true
	}
	return nil, false
}

// quietFlag are the options of init and clone that take no value.
func quietFlag(s string) bool {
	switch s {
	case "-q", "--quiet", "--bare", "--mirror", "-n", "--no-checkout", "-l", "--local", "--no-local", "--no-tags", "--":
		return true
	}
	return false
}

// addressed reports whether a git call is about this repository: by the folder
// it runs in unless a git directory is named, by any of the folders it names,
// or as the address of a push.
func (p *Policy) addressed(sc *scope, args, env []string) bool {
	var named []string
	elsewhere, pushes := false, false
	for i := 0; i < len(args); i++ {
		next := ""
		if i+1 < len(args) {
			next = args[i+1]
		}
		name, val, has := strings.Cut(args[i], "=")
		if !has {
			val = next
		}
		switch {
		case pushes:
			named = append(named, strings.TrimPrefix(args[i], "file://"))
		case args[i] == "-C":
			dir := slash(next)
			if !isAbs(dir) {
				dir = path.Join(sc.cwd(), dir)
			}
			sc = &scope{cwds: []string{path.Clean(dir)}}
			i++
		case args[i] == "-c":
			if _, val, ok := strings.Cut(next, "="); ok {
				named = append(named, val)
			}
			i++
		case name == "--git-dir" || name == "--work-tree":
			elsewhere = elsewhere || name == "--git-dir"
			named = append(named, val)
			if !has {
				i++
			}
		case strings.HasPrefix(args[i], "-"):
		case args[i] == "push" || args[i] == "send-pack" || args[i] == "http-push":
			pushes = true
		case args[i] == "init" || args[i] == "clone":
			if dirs, ok := made(args[i], args[i+1:]); ok {
				elsewhere, named = true, append(named, dirs...)
			}
			i = len(args)
		default:
			i = len(args)
		}
	}
	for _, e := range env {
		name, val, _ := strings.Cut(e, "=")
		switch name {
		case "GIT_DIR":
			elsewhere = elsewhere || val != ""
			named = append(named, val)
		case "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE":
			named = append(named, val)
		}
	}
	if !elsewhere {
		named = append(named, ".")
	}
	for _, n := range named {
		if n == "" || strings.HasPrefix(n, "-") {
			continue
		}
		for _, d := range sc.resolve(n) {
			if below(d, p.Worktree) || belowAny(d, p.GitDirs) {
				return true
			}
		}
	}
	return false
}
