package guard

import (
	"path"
	"strings"
)

// dispatch hands a command to whatever knows it, and returns what it prints.
// ok is false for commands of which nothing is known.
func (j *judge) dispatch(sc *scope, base string, args []arg, in stream) (out string, ok bool) {
	if j.blocked(sc, base, args) {
		return "", true
	}
	if out, ok := j.builtin(sc, base, args, in); ok || j.done {
		return out, true
	}
	switch {
	case base == "git" || base == "hub":
		return j.git(sc, args, in), true
	case base == "git-ralph":
		j.ralph(sc, args[1:])
		return string(holeForeign), true
	case strings.HasPrefix(base, "git-"):
		return j.git(sc, append([]arg{{s: "git"}, {s: base[4:]}}, args[1:]...), in), true
	case isShell(base):
		return j.shell(sc, args, in), true
	}
	if out, ok := j.known(j.table, sc, base, args, in); ok {
		return out, true
	}
	return j.known(j.tools, sc, base, args, in)
}

// skipOptions drops leading words that are options.
func skipOptions(args []arg) []arg {
	for len(args) > 0 && strings.HasPrefix(args[0].s, "-") {
		args = args[1:]
	}
	return args
}

// prints is what a command prints, as far as a judgement can use it.
func (j *judge) prints(sc *scope, base string, args []arg, in stream) string {
	switch base {
	case "ls", "fd", "fdfind":
		if a := skipOptions(args[1:]); len(a) == 1 && a[0].glob {
			return globName(a[0].s) // a pattern is listed with its folder
		}
		return string(holeName)
	case "rg", "ag":
		for _, a := range args[1:] {
			if a.s == "-l" || a.s == "--files" || a.s == "--files-with-matches" {
				return string(holeName)
			}
		}
		return filtered(in)
	case "grep", "egrep", "fgrep":
		for _, a := range args[1:] {
			if strings.HasPrefix(a.s, "-") && !strings.HasPrefix(a.s, "--") && strings.ContainsAny(a.s, "lL") ||
				a.s == "--files-with-matches" {
				return string(holeName)
			}
		}
		return filtered(in)
	case "find":
		root := "."
		if len(args) > 1 && !strings.HasPrefix(args[1].s, "-") && args[1].s != "(" && args[1].s != "!" {
			root = args[1].s
		}
		if root == "/" {
			return "/" + string(holeName)
		}
		return root + "/" + string(holeName)
	case "wc", "nproc", "id", "seq", "expr", "date", "cksum", "stat", "du", "df", "md5sum", "sha1sum", "sha256sum",
		"sha512sum", "pgrep", "lsof":
		return string(holeNum)
	case "whoami", "hostname", "uname", "arch", "go", "locale", "getconf":
		return string(holeEnv)
	case "head", "tail", "sort", "uniq", "sed", "gsed", "cut", "shuf", "nl", "column", "tee", "sponge", "less", "more":
		return filtered(in)
	case "awk", "gawk", "mawk":
		if in.set && !known(in.text) && !foreign(in.text) {
			return dissolve(in.text)
		}
	case "basename":
		if len(args) == 2 && !strings.HasPrefix(args[1].s, "-") {
			return path.Base(args[1].s)
		}
		return string(holeName)
	case "dirname":
		if len(args) == 2 && !strings.HasPrefix(args[1].s, "-") {
			return path.Dir(args[1].s)
		}
		return string(holeForeign)
	case "realpath", "readlink":
		if a := skipOptions(args[1:]); len(a) == 1 && !a[0].glob {
			return sc.resolve(a[0].s)[0]
		}
	case "ssh-agent", "direnv", "brew", "pyenv", "rbenv", "nodenv", "goenv", "fnm", "mise", "rtx", "asdf", "starship",
		"zoxide", "opam", "dircolors", "keychain", "lesspipe", "lesspipe.sh", "luarocks", "kubectl", "helm", "minikube",
		"docker-machine", "tset", "resize", "register-python-argcomplete", "rustup", "uv", "gh", "npm", "pnpm", "op",
		"atuin", "fzf", "thefuck", "nix", "devbox", "volta", "vfox", "just", "deno", "argocd", "flux", "k3d", "kind",
		"terraform", "task":
		return j.setup(args)
	}
	return string(holeForeign)
}

// setup is shell code that a well-known tool prints for eval: agents do run
// eval "$(ssh-agent -s)". Only the verbs made for that count.
func (j *judge) setup(args []arg) string {
	if len(args) == 1 {
		switch args[0].s {
		case "ssh-agent", "dircolors", "lesspipe", "lesspipe.sh", "resize", "tset", "keychain":
			return string(holeSetup)
		}
	}
	for _, a := range args[1:] {
		switch a.s {
		case "-s", "-b", "--sh", "-c", "-":
			if b := baseName(args[0].s); b == "ssh-agent" || b == "dircolors" || b == "tset" {
				return string(holeSetup)
			}
		case "export", "hook", "shellenv", "init", "env", "activate", "completion", "completions", "docker-env",
			"podman-env", "path", "generate-shell-completion", "print-dev-env", "--bash", "signin":
			return string(holeSetup)
		}
	}
	if b := baseName(args[0].s); b == "register-python-argcomplete" || b == "lesspipe" || b == "keychain" ||
		b == "dircolors" || b == "ssh-agent" {
		return string(holeSetup)
	}
	return string(holeForeign)
}

// filtered is what a filter prints: some of what it read.
func filtered(in stream) string {
	if !in.set || known(in.text) || in.file {
		return string(holeForeign)
	}
	if strings.Count(in.text, "\n") == 0 && !foreign(in.text) {
		return in.text // one line of names: ./<name>
	}
	return dissolve(in.text)
}
