package guard

import (
	"strings"
)

// toolRunner judges "uv run X", "npx X", "bundle exec X" and their like. It
// reports false when base was given no command to run, so that others look.
func (j *judge) toolRunner(sc *scope, base string, args []arg, in stream) bool {
	rest := args[1:]
	verb := ""
	if len(rest) > 0 {
		verb = rest[0].s
	}
	after := func(n int) []arg { return rest[min(n, len(rest)):] }
	switch base {
	case "uvx", "pipx", "uv":
		if base == "uv" {
			for len(rest) > 0 && strings.HasPrefix(rest[0].s, "-") {
				n := 1
				if strings.Contains(" --project --directory --config-file --cache-dir --color ", " "+rest[0].s+" ") {
					n = 2
				}
				rest = after(n)
			}
			if len(rest) == 0 {
				return true
			}
			verb = rest[0].s
		}
		switch {
		case base == "uvx":
			j.uvRun(sc, rest, in, true)
		case base == "pipx" && verb == "run":
			j.uvRun(sc, after(1), in, true)
		case verb == "run":
			j.uvRun(sc, after(1), in, false)
		case verb == "tool" && len(rest) > 1 && rest[1].s == "run":
			j.uvRun(sc, after(2), in, true)
		default:
			return false
		}
	case "npx", "bunx", "dlx":
		j.npx(sc, rest, in)
	case "npm", "pnpm", "yarn", "bun":
		if verb, _ = verbs(rest); verb != "" {
			rest = rest[indexWord(rest, verb):]
		}
		for i, a := range rest { // npm pkg set scripts.x='…', npm set-script x '…'
			if k, v, ok := strings.Cut(a.s, "="); ok && strings.HasPrefix(k, "scripts.") || verb == "set-script" && i > 1 {
				if verb == "set-script" {
					v = a.s
				}
				j.maybeShell(sc, v)
			}
		}
		switch verb {
		case "exec", "x", "dlx":
			j.npx(sc, after(1), in)
		case "create", "init":
			return false
		default:
			for i, a := range rest {
				if (a.s == "-c" || a.s == "--call" || a.s == "--script-shell") && i+1 < len(rest) {
					j.maybeShell(sc, rest[i+1].s)
				}
			}
			if (base == "yarn" || base == "pnpm" || base == "bun") && len(rest) > 0 {
				switch baseName(verb) {
				case "husky", "lerna", "lefthook", "release-it", "standard-version", "semantic-release", "git":
					j.runCommand(sc, rest, in)
					return true
				}
			}
			return false
		}
	case "bundle", "rbenv", "nodenv", "goenv", "pyenv", "jenv", "mise", "rtx", "asdf", "direnv", "fnm", "volta", "nvm",
		"corepack", "rye", "pdm", "hatch", "pixi", "poetry", "lerna", "conda-run", "toolbox", "distrobox",
		"flatpak-spawn", "devbox":
		for i, a := range rest {
			switch a.s {
			case "exec", "run", "x", "enter":
				cmd := rest[i+1:]
				if base == "mise" || base == "rtx" || base == "pyenv" || base == "rbenv" || base == "devbox" {
					for k, c := range cmd {
						if c.s == "--" {
							cmd = cmd[k+1:]
							break
						}
					}
				}
				if base == "asdf" || base == "nvm" || base == "fnm" {
					for len(cmd) > 0 && (strings.HasPrefix(cmd[0].s, "-") || cmd[0].known() &&
						strings.Trim(cmd[0].s, "v0123456789.") == "") {
						cmd = cmd[1:]
					}
				}
				cmd = skipOptions(cmd)
				j.runCommand(sc, cmd, in)
				return base != "lerna"
			}
		}
		return base != "lerna"
	case "nix", "nix-shell", "guix", "flox", "bwrap":
		for i, a := range rest {
			switch a.s {
			case "--run", "--command", "-c":
				if i+1 >= len(rest) {
					break
				}
				if base == "nix-shell" {
					j.script(sc.clone(), rest[i+1].s, in, base)
				} else {
					j.runCommand(sc, rest[i+1:], in)
				}
				return true
			case "--":
				j.runCommand(sc, rest[i+1:], in)
				return true
			}
		}
		j.generic(sc, args)
	case "cargo":
		return false
	default:
		j.generic(sc, args)
	}
	return true
}

// uvRun skips the options of "uv run", "uvx" and "pipx run". tool says that
// the command names a package, possibly with a version.
func (j *judge) uvRun(sc *scope, rest []arg, in stream, tool bool) {
	i := 0
	for ; i < len(rest); i++ {
		s := rest[i].s
		if s == "--" {
			i++
			break
		}
		if len(s) < 2 || s[0] != '-' {
			break
		}
		switch s {
		case "-m", "--module":
			if i+1 < len(rest) {
				j.runCommand(sc, append([]arg{{s: "python3"}, {s: "-m"}}, rest[i+1:]...), in)
			}
			return
		case "--with", "--with-editable", "--with-requirements", "-p", "--python", "--extra", "--group", "--no-group",
			"--only-group", "--env-file", "--project", "--directory", "--package", "--from", "--index", "--index-url",
			"-i", "--default-index", "--spec", "--refresh-package", "--no-extra", "--cache-dir", "-w",
			"--python-platform", "--exclude-newer":
			i++
		}
	}
	if i >= len(rest) {
		return
	}
	cmd := append([]arg(nil), rest[i:]...)
	if tool {
		if k := strings.IndexAny(cmd[0].s, "@=<>["); k > 0 {
			cmd[0].s = cmd[0].s[:k]
		}
	}
	j.runCommand(sc, cmd, in)
}

func (j *judge) npx(sc *scope, rest []arg, in stream) {
	i := 0
	for ; i < len(rest); i++ {
		s := rest[i].s
		if s == "--" {
			i++
			break
		}
		if len(s) < 2 || s[0] != '-' {
			break
		}
		switch {
		case s == "-c" || s == "--call":
			if i+1 < len(rest) {
				j.script(sc.clone(), rest[i+1].s, in, "npx")
			}
			return
		case strings.HasPrefix(s, "--call="):
			j.script(sc.clone(), s[len("--call="):], in, "npx")
			return
		case s == "-p" || s == "--package" || s == "-w" || s == "--workspace" || s == "--filter":
			i++
		}
	}
	if i >= len(rest) {
		return
	}
	cmd := append([]arg(nil), rest[i:]...)
	if k := strings.LastIndexByte(cmd[0].s, '@'); k > 0 {
		cmd[0].s = cmd[0].s[:k]
	}
	j.runCommand(sc, cmd, in)
}
